import Foundation
import struct StrataCore.Mutex

/// What programs that were killed have left.
enum Leftovers {
  /// How names of unfinished dumps and of rehearsals begin.
  static let dumps = ".strata-dump-"
  static let rehearsals = ".strata-rehearsal-"
  /// What keeps drafts locked until the program ends.
  private static let held = Mutex<[Int32]>([])

  /// A name in the folder of `path` that tells this process, and that nobody has.
  static func name(_ prefix: String, beside path: String) -> String {
    let name = "\(prefix)\(getpid())-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    return URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent(name).path
  }

  /// Locks a draft, which has just been made, until the program ends: one of another container's process, whose number means nothing here, is known by that.
  static func hold(_ path: String) {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    // Without the lock there is still the number of the process.
    if descriptor < 0 { return }
    _ = flock(descriptor, LOCK_EX | LOCK_NB)
    held.withLock { $0.append(descriptor) }
  }

  /// Removes the drafts in the folder of `path` whose processes have died, and no file whose name is not made as theirs are.
  static func remove(beside path: String, prefix: String) {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
      guard let process = process(of: name, prefix), process != getpid(), kill(process, 0) != 0,
        errno == ESRCH
      else { continue }
      let draft = folder.appendingPathComponent(name)
      let descriptor = open(draft.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      if descriptor < 0 { continue }
      defer { close(descriptor) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { continue }
      try? FileManager.default.removeItem(at: draft)
    }
  }

  /// The process in the name of a draft; nil for other names.
  private static func process(of name: String, _ prefix: String) -> Int32? {
    guard name.hasPrefix(prefix) else { return nil }
    let parts = name.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let process = Int32(parts[0]), process > 0, String(process) == parts[0],
      let number = UInt64(parts[1], radix: 36), String(number, radix: 36) == parts[1]
    else { return nil }
    return process
  }
}
