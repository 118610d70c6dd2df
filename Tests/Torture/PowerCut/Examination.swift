import Foundation
import StoreInterposer
import Strata
import TortureKit

/// Opens what a power cut left, once for each distinct content.
final class Examination {
  private let folder: ScratchFolder
  private let keepsLog: Bool
  private var random: SeededGenerator
  /// By a hash of the content, what was found in it.
  private var seen: [UInt64: Result<LedgerState, TortureViolation>] = [:]
  /// How many distinct stores and backups were opened.
  var count: Int { seen.count }

  init(seed: UInt64, keepsLog: Bool) throws {
    self.keepsLog = keepsLog
    folder = try ScratchFolder()
    random = SeededGenerator(seed: seed)
  }

  /// Whether `content` was examined before; its state.
  func examine(
    _ content: [UInt8], log: [UInt8]? = nil
  ) throws(TortureViolation) -> (isNew: Bool, state: LedgerState) {
    var hash = content.withUnsafeBytes { si_hash($0.baseAddress, UInt64($0.count)) }
    if let log { hash = hash &* 31 ^ log.withUnsafeBytes { si_hash($0.baseAddress, UInt64($0.count)) } }
    if let known = seen[hash] { return (false, try known.get()) }
    let path = folder("Ledger.strata")
    let result: Result<LedgerState, TortureViolation>
    do {
      try put(content, at: path)
      if let log { try Self.write(log, path + "-log") }
      result = .success(try reopen(path))
    } catch {
      result = .failure(error as? TortureViolation ?? TortureViolation("reopening failed: \(error)"))
    }
    unlink(path)
    unlink(path + "-lock")
    unlink(path + "-log")
    seen[hash] = result
    return (true, try result.get())
  }

  /// Opens the store, reads and checks it, and makes a further save.
  private func reopen(_ path: String) throws -> LedgerState {
    let container = try Ledger.open(path, createsIfMissing: false, keepsLog: keepsLog)
    defer { try? Ledger.close(container) }
    let state = try LedgerState(container)
    let writer = random.pick([1, 2, 3, 4])
    let plan = LedgerPlan(writer: writer, after: state.lastSaves[writer] ?? 0)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      try plan.change(context)
      try context.save()
    }
    // The whole check costs as much as all the rest, so not every time.
    let after = try random.chance(10) ? LedgerState(container) : Self.read(container)
    var expected = state.lastSaves
    expected[writer] = plan.lastSave + 1
    guard after.lastSaves == expected else {
      throw TortureViolation("after a further save the store has \(after.lastSaves), not \(expected)")
    }
    return state
  }

  private static func read(_ container: PersistentContainer) throws -> LedgerState {
    let context = container.newBackgroundContext()
    return try context.performAndWait { try LedgerState(reading: context) }
  }

  /// Writes the files: the store, and what may have become of its lock file.
  private func put(_ content: [UInt8], at path: String) throws {
    try Self.write(content, path)
    switch random.below(4) {
    case 0: try Self.write(Array(repeating: 0, count: 8_192), path + "-lock")
    case 1: try Self.write((0..<random.below(300)).map { _ in UInt8(random.below(256)) }, path + "-lock")
    default: break
    }
  }

  private static func write(_ bytes: [UInt8], _ path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(descriptor) }
    let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    guard count == bytes.count else { throw POSIXError(.ENOSPC) }
  }
}
