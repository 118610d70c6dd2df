import Foundation
import Testing

/// A store that root has installed, read by somebody else.
@Suite("Installed stores", .enabled(if: Tool.asNobody != nil, "only root can become somebody else"))
struct InstalledStoreTests {
  private let stand: Stand
  private let nobody: [String]
  private var lock: String { stand.path + "-lock" }

  init() throws {
    stand = try Stand.people()
    nobody = try #require(Tool.asNobody)
    chmod(stand.folder.path, 0o755)
    chmod(stand.path, 0o644)
    unlink(lock)
  }

  /// Whether the program can be run as nobody, who may not reach it.
  private func canRun() throws -> Bool { try Tool.spawn(["--version"], prefix: nobody).code == 0 }

  private func count() throws -> Said { try Tool.spawn(["count", stand.path, "Person"], prefix: nobody) }

  private func makeLock(_ mode: mode_t) {
    _ = FileManager.default.createFile(atPath: lock, contents: nil)
    chmod(lock, mode)
  }

  @Test("A store that its owner may write is refused with both remedies, which help")
  func writable() throws {
    guard try canRun() else { return }
    for mode in [nil, 0o600, 0o644] as [mode_t?] {
      if let mode { makeLock(mode) } else { unlink(lock) }
      let refused = try count()
      #expect(refused.code == 7, "\(refused)")
      for remedy in ["chmod a+rw \(lock)", "chmod a-w \(stand.path)"] {
        #expect(refused.error.contains(remedy), "\(refused)")
      }
      #expect(refused.error.contains("touch") == (mode == nil), "\(refused)")
      // One remedy, and the other one.
      makeLock(0o666)
      let locked = try count()
      #expect(locked.code == 0 && locked.output == "3\n", "\(locked)")
      if let mode { chmod(lock, mode) } else { unlink(lock) }
      chmod(stand.path, 0o444)
      let unlocked = try count()
      #expect(unlocked.code == 0 && unlocked.output == "3\n", "\(unlocked)")
      chmod(stand.path, 0o644)
    }
  }

  @Test("A store that nobody may write is read without a lock file, and none is made")
  func fixed() throws {
    guard try canRun() else { return }
    chmod(stand.path, 0o444)
    #expect(try count().output == "3\n")
    #expect(try Tool.spawn(["check", stand.path], prefix: nobody).code == 0)
    #expect(try names(in: stand.folder) == ["People.strata"])
  }

  @Test("While another process has it open, it is not read without a lock")
  func inUse() throws {
    guard try canRun() else { return }
    makeLock(0o644)
    chmod(stand.path, 0o444)
    let descriptor = open(lock, O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    // As LMDB holds it while a store is open.
    var first = flock()
    first.l_type = Int16(F_RDLCK)
    first.l_whence = Int16(SEEK_SET)
    first.l_len = 1
    #expect(fcntl(descriptor, F_SETLK, &first) == 0)
    let refused = try count()
    #expect(refused.code == 6 && refused.error.contains("(\(getpid()))"), "\(refused)")
    first.l_type = Int16(F_UNLCK)
    #expect(fcntl(descriptor, F_SETLK, &first) == 0)
    #expect(try count().output == "3\n")
  }
}
