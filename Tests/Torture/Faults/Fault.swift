import Foundation
import StoreInterposer
import Strata

/// A way in which calls of the operating system fail.
struct Fault: CustomStringConvertible {
  enum Function: String, CaseIterable {
    case open, write, pwrite, writev, fdatasync, fsync, mmap, rename, ftruncate, unlink, malloc, stat, pread,
      flock

    var mask: UInt32 {
      let bit =
        switch self {
        case .open: SI_OPEN
        case .write: SI_WRITE
        case .pwrite: SI_PWRITE
        case .writev: SI_WRITEV
        case .fdatasync: SI_FDATASYNC
        case .fsync: SI_FSYNC
        case .mmap: SI_MMAP
        case .rename: SI_RENAME
        case .ftruncate: SI_FTRUNCATE
        case .unlink: SI_UNLINK
        case .malloc: SI_MALLOC
        case .stat: SI_STAT
        case .pread: SI_PREAD
        case .flock: SI_FLOCK
        }
      return UInt32(bit)
    }

    /// The errors to try; 0 is a short write.
    var codes: [Int32] {
      let ordinary = [EIO, ENOSPC, EDQUOT, EROFS]
      return switch self {
      case .open: ordinary + [EMFILE, EINTR]
      case .write, .pwrite, .writev: ordinary + [EINTR, 0]
      case .fdatasync, .fsync: ordinary + [EINTR]
      case .mmap: ordinary + [ENOMEM]
      case .rename, .ftruncate, .unlink: ordinary
      case .malloc: [ENOMEM]
      case .stat: [EIO, EACCES]
      case .pread: [EIO, EINTR]
      case .flock: [EIO, ENOLCK, EINTR]
      }
    }
  }

  /// When it fails.
  enum Manner: String {
    case once
    case forever
    /// Once, and the system has taken the bytes all the same.
    case late

    var flags: UInt32 {
      switch self {
      case .once: 0
      case .forever: UInt32(SI_FOREVER)
      case .late: UInt32(SI_LATE)
      }
    }
  }

  let function: Function
  let code: Int32
  let manner: Manner

  /// All faults in what stores without a log call, in order.
  static let all = faults(Function.allCases.filter { ![.stat, .pread, .flock].contains($0) })

  /// All faults in some functions, in order.
  static func faults(_ functions: [Function]) -> [Fault] {
    functions.flatMap(faults)
  }

  private static func faults(_ function: Function) -> [Fault] {
    function.codes.flatMap { code -> [Fault] in
      var manners: [Manner] = [.once]
      // An interrupted call is tried again, without limit.
      if code != EINTR { manners.append(.forever) }
      if function == .pwrite && code == EIO { manners.append(.late) }
      return manners.map { Fault(function: function, code: code, manner: $0) }
    }
  }

  /// Makes the `nth` call from now on fail.
  func arm(_ nth: Int) { si_arm(function.mask, Int64(nth), manner.flags, code) }

  /// Makes everything work again; how many calls had failed.
  static func heal() -> Int {
    si_disarm()
    return Int(si_fired())
  }

  /// What the error must be called.
  var kinds: Set<StorageError.Kind> {
    switch code {
    case ENOSPC, EDQUOT: [.diskFull]
    case EROFS: [.readOnlyMedia]
    case ENOMEM, EMFILE: [.outOfMemory]
    case EACCES: [.permission]
    case ENOLCK: [.other]
    // Half a write: the cause is unspecified, but a full disk does so.
    case 0: [.io, .diskFull]
    default: [.io]
    }
  }

  var description: String {
    let name = code == 0 ? "short" : String(cString: strerror(code))
    return "\(function.rawValue) \(manner.rawValue) “\(name)”"
  }
}
