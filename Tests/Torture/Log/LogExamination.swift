import Foundation
import StoreInterposer
import Strata
import StrataCore
import TortureKit

/// Opens what a power cut has left of a data file and its log, once for each distinct pair.
final class LogExamination {
  static let name = "Log.strata"
  static let logName = name + "-log"

  private let folder: ScratchFolder
  private var random: SeededGenerator
  /// What the store has after an attempt.
  private let states: (Int) -> LogProbe.Contents?
  private let settings: LogProbe.Settings
  /// By a hash of both files, the last commit that was found.
  private var seen: [UInt64: Result<Int, TortureViolation>] = [:]
  /// How many distinct pairs were opened.
  var count: Int { seen.count }
  private(set) var details: [String: Int] = [:]
  /// Cuts of a recovery are tried for so many images of a hundred.
  private let recoveryCuts: Int
  private let tear: Int

  init(
    seed: UInt64, states: @escaping (Int) -> LogProbe.Contents?, mutant: LogProbe.Mutant?, tear: Int,
    recoveryCuts: Int = 4
  ) throws {
    self.tear = tear
    folder = try ScratchFolder()
    random = SeededGenerator(seed: seed)
    self.states = states
    self.recoveryCuts = recoveryCuts
    var settings = LogProbe.Settings()
    settings.createsIfMissing = false
    settings.mutant = mutant
    self.settings = settings
  }

  /// The last commit that is in the files; nil when there is no store.
  func examine(_ files: [String: [UInt8]], cutsRecovery: Bool = true) throws(TortureViolation) -> Int? {
    guard let data = files[Self.name] else { return nil }
    let log = files[Self.logName]
    let hash = Self.hash(data) &* 0x9E37_79B9_7F4A_7C15 ^ (log.map(Self.hash) ?? 1)
    if let known = seen[hash] { return try known.get() }
    let result: Result<Int, TortureViolation>
    do {
      result = .success(try open(data, log, cutsRecovery: cutsRecovery))
    } catch {
      result = .failure(error as? TortureViolation ?? TortureViolation("opening failed: \(error)"))
    }
    seen[hash] = result
    return try result.get()
  }

  /// Appends the hashes of all pairs, 8 bytes each, to the file `STRATA_PAIRS`, where it is set: to count those that are distinct over all stories.
  func notePairs() throws {
    guard let path = ProcessInfo.processInfo.environment["STRATA_PAIRS"] else { return }
    let descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(descriptor) }
    let hashes = Array(seen.keys)
    let count = hashes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
    guard count == hashes.count * 8 else { throw POSIXError(.ENOSPC) }
  }

  private static func hash(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { si_hash($0.baseAddress, UInt64($0.count)) }
  }

  private func open(_ data: [UInt8], _ log: [UInt8]?, cutsRecovery: Bool) throws -> Int {
    let look = LogProbe.Look(data: data, log: log)
    if look.isInForce { details["with a log in force", default: 0] += 1 }
    if look.hasMark && log == nil {
      throw TortureViolation("the store would say that its log is missing")
    }
    if look.recordCount > 0 { details["with records", default: 0] += 1 }
    let path = folder(Self.name)
    try Self.write(data, path)
    if let log { try Self.write(log, path + "-log") }
    defer { for name in ["", "-log", "-lock"] { unlink(path + name) } }
    guard cutsRecovery, look.isInForce, random.chance(recoveryCuts) else { return try reopen(path) }
    var found = 0
    let events = try DiskRecord.of(folder.path) { found = try reopen(path, saves: false) }
    try cutRecovery(
      SimulatedDisk(
        folder: folder.path, files: [Self.name: data, Self.logName: log ?? []], tears: [Self.logName: tear]),
      events, found)
    return found
  }

  /// Opens the store, reads it, makes a further commit, and reads again.
  private func reopen(_ path: String, saves: Bool = true) throws -> Int {
    let store = try LogProbe(path, keyspaces: LogStory.keyspaces, settings)
    defer { store.close() }
    var contents = try store.contents()
    let found = try LogStory.lastAttempt(contents)
    guard let expected = states(found) else { throw TortureViolation("there was no attempt \(found)") }
    guard contents == expected else { throw TortureViolation("commit \(found) is not whole") }
    guard saves else { return found }
    contents[2][LogStory.attemptKey] = [1]
    try store.commit([.put(keyspace: 2, key: LogStory.attemptKey, value: [1])])
    guard try store.contents() == contents else { throw TortureViolation("a further commit is not whole") }
    return found
  }

  /// Cuts the power after each call of a recovery: the next one must come to the same.
  private func cutRecovery(_ start: SimulatedDisk, _ events: [DiskEvent], _ found: Int) throws {
    var disk = start
    for (number, event) in events.enumerated() {
      try disk.apply(event)
      try disk.forEachState(atMost: 4, &random) { state in
        details["cuts of recoveries", default: 0] += 1
        let again = try examine(state.files, cutsRecovery: false)
        guard again == found else {
          throw TortureViolation(
            "a recovery that was cut after event \(number) of \(events.count) led to \(again ?? -1), not \(found)"
          )
        }
      }
    }
  }

  private static func write(_ bytes: [UInt8], _ path: String) throws {
    let descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { close(descriptor) }
    let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    guard count == bytes.count else { throw POSIXError(.ENOSPC) }
  }
}
