import Foundation

/// Which processes a process number can be compared with.
///
/// Containers that share a file can have processes of the same number, and so can virtual machines that share a folder.
enum ProcessSpace {
  /// A number that processes of this container and this start of the system have in common; nil when it cannot be found out.
  static func current() -> UInt64? {
    #if os(Linux)
      // A number for the table of processes that the system gives to one container.
      var status = stat()
      guard stat("/proc/self/ns/pid", &status) == 0, let start = startOfSystem else { return nil }
      return number(container: UInt64(status.st_ino), device: UInt64(status.st_dev), start: start)
    #else
      // There are no containers, and no other system reaches a local file.
      return 1
    #endif
  }

  /// All of it in one number.
  static func number(container: UInt64, device: UInt64, start: String) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    for word in [container, device] {
      for shift in stride(from: 0, to: 64, by: 8) { add(UInt8(truncatingIfNeeded: word >> shift)) }
    }
    for byte in start.utf8 { add(byte) }
    // The upper bits depend on all bytes, too.
    return hash ^ hash >> 32
  }

  #if os(Linux)
    /// A text that each start of the system makes anew, also that of each virtual machine.
    private static let startOfSystem: String? = {
      let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
      return text.flatMap { $0.count >= 32 ? $0 : nil }
    }()
  #endif
}
