import CoreData
import StoreInterposer

/// Lets calls of this process fail that concern files of one folder.
struct BrokenDisk: FailingDisk {
  init(_ folder: URL) { si_watch(folder.path) }

  func failWrites(nth: Int, code: Int32) {
    let calls = SI_WRITE | SI_PWRITE | SI_WRITEV | SI_FDATASYNC | SI_FSYNC
    si_arm(UInt32(calls), Int64(nth), 0, code)
  }

  func failReads(nth: Int) {
    si_arm(UInt32(SI_MALLOC | SI_MMAP | SI_OPEN), Int64(nth), UInt32(SI_FOREVER), ENOMEM)
  }

  func heal() -> Int {
    si_disarm()
    return Int(si_fired())
  }
}
