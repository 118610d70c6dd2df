import Foundation
import StoreInterposer
import Strata
import StrataCore
import TortureKit

/// Lets calls of each function fail with each error, in each task of a store with a log: the first call and every twelfth of the others, which of them
/// the seed decides; all of them with `STRATA_LONG_TESTS=1`.
struct LogFaults: TortureKind {
  static let name = "log-faults"
  static let cases = "faults with a log"

  private let seed: UInt64
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) { self.seed = seed }

  /// What LMDB asks for memory fails as it does without a log.
  private static let functions = Fault.Function.allCases.filter { $0 != .malloc }

  mutating func round() throws -> Int {
    let folder = try ScratchFolder()
    let durability = seed % 2 == 0 ? Durability.relaxed : .full
    let stride = ProcessInfo.processInfo.environment["STRATA_LONG_TESTS"] == nil ? 12 : 1
    var count = 0
    var violations: [String] = []
    // Threads and descriptors that this process keeps.
    if try LogFaultCase.probe(in: folder, durability) {
      throw TortureViolation("a call failed that was not to")
    }
    for stage in LogFaultCase.Stage.allCases {
      for fault in Fault.faults(Self.functions) {
        do {
          var nth = 1
          while try LogFaultCase(
            stage: stage, fault: fault, nth: nth, durability: durability, folder: folder
          ).run() {
            count += 1
            details["in \(fault.function.rawValue)", default: 0] += 1
            details["while \(stage.rawValue)", default: 0] += 1
            nth += nth == 1 ? 1 + Int(seed % UInt64(stride)) : stride
          }
        } catch {
          violations.append("\(error)")
        }
      }
    }
    if !violations.isEmpty {
      throw TortureViolation("\(violations.count): " + violations.prefix(40).joined(separator: "\n"))
    }
    return count
  }
}

/// One fault in one task: the error has the right name or the task was done in another way, nothing that was acknowledged is lost, nothing that failed
/// comes back, and once the disk is well again the task succeeds.
///
/// The power is cut, too: after the failure and at the end. What the medium has then is not what the system has in its memory: pages whose flush has failed
/// may never have reached it, although the system calls them clean and later flushes succeed.
struct LogFaultCase {
  enum Stage: String, CaseIterable {
    /// The log is made.
    case beginning
    /// Records are appended.
    case committing
    /// Each commit makes a checkpoint.
    case checkpointing
    /// The log grows.
    case growing
    /// A commit is too large for the log.
    case large = "committing much"
    case flushing
    case closing
    /// A flush, and nothing else before the store is closed.
    case flushingLast = "flushing last"
    /// The checkpoint of a quiet moment, of whose failure nobody is told, and nothing else before the store is closed.
    case resting
    /// A store that was not closed is opened.
    case recovering
  }

  let stage: Stage
  let fault: Fault
  let nth: Int
  let durability: Durability
  let folder: ScratchFolder
  var isCounting = true

  private static let keyspaces = ["journal", "rows", "still"]
  /// The first commits write to the last keyspace, whose page no later one writes anew.
  private static let firstCount = 3
  private static let key = Array("n".utf8)
  private var path: String { folder("Log.strata") }

  private func settings() -> LogProbe.Settings {
    var settings = LogProbe.Settings()
    settings.durability = durability
    settings.mapSize = 1 << 22
    settings.writerDeadline = .seconds(5)
    settings.commitsBefore = stage == .beginning ? 1 : 0
    if stage == .checkpointing { settings.mostPages = 1 }
    return settings
  }

  /// All stages without a fault.
  static func probe(in folder: ScratchFolder, _ durability: Durability) throws -> Bool {
    try Stage.allCases.reduce(false) { didFire, stage in
      let fault = Fault(function: .rename, code: EIO, manner: .once)
      let one = LogFaultCase(
        stage: stage, fault: fault, nth: .max, durability: durability, folder: folder, isCounting: false)
      return try one.run() || didFire
    }
  }

  /// Tries it; false when there is no such call, and then the task succeeded.
  func run() throws -> Bool {
    do {
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) { unlink(folder(name)) }
      si_watch(folder.path)
      guard si_record(1) == 0 else { throw TortureViolation("this system cannot record") }
      defer {
        _ = Fault.heal()
        _ = si_record(0)
        si_watch(nil)
      }
      let descriptors = try Self.descriptorCount()
      let didFire = try perform()
      let left = try Self.descriptorCount()
      guard left == descriptors || !isCounting else {
        throw TortureViolation("\(descriptors) descriptors became \(left)")
      }
      return didFire
    } catch {
      throw TortureViolation("\(stage.rawValue), .\(durability), \(fault), call \(nth): \(error)")
    }
  }

  /// Does the task; whether the fault occurred.
  private func perform() throws -> Bool {
    var medium = Medium(folder: folder.path)
    var store = try LogProbe(path, keyspaces: Self.keyspaces, settings())
    var saved = 0
    for _ in 0..<(stage == .beginning ? 1 : 3) {
      saved += 1
      try Self.commit(store, saved, size: 100)
    }
    if stage == .recovering {
      let image = try files()
      store.close()
      medium = Medium(folder: folder.path, try put(image))
    }
    fault.arm(nth)
    var failure: (any Error)?
    do {
      switch stage {
      case .beginning, .committing, .checkpointing:
        for _ in 0..<3 {
          try Self.commit(store, saved + 1, size: 100)
          saved += 1
        }
      case .growing:
        for _ in 0..<4 {
          try Self.commit(store, saved + 1, size: 30_000)
          saved += 1
        }
      case .large:
        try Self.commit(store, saved + 1, size: 1_100_000)
        saved += 1
        try Self.commit(store, saved + 1, size: 100)
        saved += 1
      case .flushing: try store.flush()
      case .closing: store.close()
      case .flushingLast, .resting:
        do { if stage == .resting { store.rest() } else { try store.flush() } } catch { failure = error }
        _ = Fault.heal()
        store.close()
      case .recovering: store = try LogProbe(path, keyspaces: Self.keyspaces, settings())
      }
    } catch {
      failure = error
    }
    let count = Fault.heal()
    if let failure { try check(failure, count) }
    let isClosed =
      [.closing, .flushingLast, .resting].contains(stage) || stage == .recovering && failure != nil
    try cut(&medium, saved, orNext: isOpen(failure), isCertain: stage == .recovering)
    if isClosed {
      store = try LogProbe(path, keyspaces: Self.keyspaces, settings())
    } else if failure != nil {
      let found = try Self.number(store)
      // A commit that failed is there only when that could not be helped, and then as a whole.
      guard found == saved || isOpen(failure) && found == saved + 1 else {
        throw TortureViolation(
          "after a failed commit \(saved + 1) the store has \(found): \(failure.map { "\($0)" } ?? "")")
      }
      saved = found
    }
    // What is there after a kill, or an opening by another process.
    if !isClosed { try examine(try files(), saved, orNext: isOpen(failure)) }
    guard try Self.number(store) == saved else { throw TortureViolation("\(saved) is not there any more") }
    do {
      saved += 1
      try Self.commit(store, saved, size: 200)
      saved += 1
      try Self.commit(store, saved, size: 200)
      try store.flush()
    } catch {
      throw TortureViolation(
        "failed again once all was well: \(error) (before: \(failure.map { "\($0)" } ?? "no error"))")
    }
    try examine(try files(), saved)
    store.close()
    guard access(path + "-log", F_OK) != 0 else { throw TortureViolation("the log is left after closing") }
    try examine(try files(), saved)
    try cut(&medium, saved, orNext: false, isCertain: true)
    return count > 0
  }

  private func isOpen(_ failure: (any Error)?) -> Bool {
    (failure as? StorageError)?.isOutcomeUnknown == true
  }

  private func check(_ failure: any Error, _ count: Int) throws {
    if failure is TortureViolation { throw failure }
    guard count > 0 else { throw TortureViolation("a failure without a fault: \(failure)") }
    guard let storage = failure as? StorageError else {
      throw TortureViolation("not a StorageError: \(failure)")
    }
    guard fault.kinds.contains(storage.kind) else {
      throw TortureViolation("called \(storage.kind): \(storage)")
    }
  }

  // MARK: The store

  private static func commit(_ store: LogProbe, _ number: Int, size: Int) throws {
    let text = Array("\(number)".utf8)
    let value = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
    var changes: [LogProbe.Change] = [
      .put(keyspace: 0, key: key, value: text), .put(keyspace: 1, key: text, value: value),
    ]
    if number <= firstCount { changes.append(.put(keyspace: 2, key: text, value: text)) }
    try store.commit(changes)
  }

  /// The last commit in the store, which has all those before, too.
  private static func number(_ store: LogProbe) throws -> Int {
    let contents = try store.contents()
    let number = contents[0][key].flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    let expected = Set((1..<number + 1).map { Array("\($0)".utf8) })
    guard Set(contents[1].keys) == expected else {
      throw TortureViolation("commit \(number) is not whole: \(contents[1].count) rows")
    }
    guard contents[2].count == min(number, firstCount) else {
      throw TortureViolation("commit \(number) is not whole: \(contents[2].count) of the first rows")
    }
    return number
  }

  // MARK: Files

  /// What a store finds that is opened after this process was killed now.
  private func files() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in ["", "-log"] {
      if let data = FileManager.default.contents(atPath: path + name) { files[name] = data }
    }
    return files
  }

  /// Puts files there that the medium has. Returns them by name.
  private func put(_ files: [String: Data]) throws -> [String: [UInt8]] {
    for name in ["", "-log", "-lock"] { unlink(path + name) }
    for (name, data) in files { try data.write(to: URL(fileURLWithPath: path + name)) }
    guard si_record(1) == 0 else { throw TortureViolation("this system cannot record") }
    return Dictionary(uniqueKeysWithValues: files.map { ("Log.strata" + $0, [UInt8]($1)) })
  }

  private func examine(_ files: [String: Data], _ expected: Int, orNext: Bool = false) throws {
    let found = try found(files)
    guard found == expected || orNext && found == expected + 1 else {
      throw TortureViolation("after a kill the store has \(found), not \(expected)")
    }
  }

  /// The last commit that is in the files.
  private func found(_ files: [String: Data]) throws -> Int {
    let copy = try ScratchFolder()
    for (name, data) in files { try data.write(to: copy.url("Log.strata" + name)) }
    let store = try LogProbe(copy("Log.strata"), keyspaces: Self.keyspaces, settings())
    defer { store.close() }
    return try Self.number(store)
  }

  /// What the medium has for certain, and may have.
  private struct Medium {
    var disk: SimulatedDisk
    /// How many events of the record it knows.
    var count = 0

    init(folder: String) { disk = SimulatedDisk(folder: folder) }

    init(folder: String, _ files: [String: [UInt8]]) { disk = SimulatedDisk(folder: folder, files: files) }
  }

  /// Cuts the power: no unflushed write has reached the medium, all have, and some.
  ///
  /// - Parameter isCertain: Whether all commits are durable, also those that were not flushed one by one.
  private func cut(_ medium: inout Medium, _ expected: Int, orNext: Bool, isCertain: Bool) throws {
    let events = si_event_count() > 0 ? try DiskRecord.events() : []
    for event in events.dropFirst(medium.count) {
      // A call that was interrupted has done nothing, and is made again.
      if case .refused = event, fault.code == EINTR { continue }
      try medium.disk.apply(event)
    }
    medium.count = events.count
    var random = SeededGenerator(seed: UInt64(events.count))
    try medium.disk.forEachState(atMost: 3, &random) { state in
      var files: [String: Data] = [:]
      for name in ["", "-log"] {
        if let bytes = state.files["Log.strata" + name] { files[name] = Data(bytes) }
      }
      guard files[""] != nil else { throw TortureViolation("after a power cut the store is gone") }
      let found = try found(files)
      let isEnough = durability == .full || isCertain ? found == expected : found <= expected
      guard isEnough || orNext && found == expected + 1 else {
        throw TortureViolation("after a power cut the store has \(found), not \(expected)")
      }
    }
  }

  /// How many descriptors this process has open.
  private static func descriptorCount() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
  }
}
