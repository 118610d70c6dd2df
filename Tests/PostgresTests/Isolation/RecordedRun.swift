import Foundation
import Strata
import StrataCore
import StrataPostgres
import Testing
import TortureKit

/// Worker processes that use one store at once, with faults in between, and the record of what they did.
final class RecordedRun {
  /// How a worker reaches the store.
  struct Way {
    let url: URL
    /// Words before the worker's own, such as those that run it in a network namespace.
    var before: [String] = []
  }

  let seed: UInt64
  let size: RecordedModel.Size
  /// Of each worker.
  let transactions: Int
  private let manner: RecordedTransaction.Manner
  private let ways: [Way]
  private let store: URL
  private let patience: Int
  private var workers: [Worker] = []
  private(set) var records: [TransactionRecord] = []
  private(set) var final = FinalState()
  private var sessions = 0
  /// How many workers were killed.
  private(set) var killed = 0

  private final class Worker {
    let process: ChildProcess
    let way: Int
    /// How many transactions it is to make.
    let goal: Int
    var isDone = false
    var isKilled = false
    /// What it was about to save.
    var intent: TransactionRecord?
    var made = 0

    init(_ process: ChildProcess, way: Int, goal: Int) {
      self.process = process
      self.way = way
      self.goal = goal
    }
  }

  /// `STRATA_TRANSACTIONS=5000`: so many of each worker.
  static func transactions(_ usual: Int) -> Int {
    ProcessInfo.processInfo.environment["STRATA_TRANSACTIONS"].flatMap { Int($0) } ?? usual
  }

  /// `STRATA_SEED=7`: with this seed.
  static func seed(_ name: String = #function) -> UInt64 {
    let seed = ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) } ?? 715_170_541
    print("\(name): STRATA_SEED=\(seed)")
    return seed
  }

  /// - Parameters:
  ///   - store: The address of the store, which is made; reached without faults.
  ///   - ways: One for each worker.
  ///   - patience: How many seconds a save of a worker waits for the server.
  init(
    _ store: URL, _ ways: [Way], _ manner: RecordedTransaction.Manner, transactions: Int, seed: UInt64,
    patience: Int = 30
  ) {
    self.store = store
    self.ways = ways
    self.manner = manner
    self.transactions = transactions
    size = RecordedModel.Size(transactions: transactions)
    self.seed = seed
    self.patience = patience
  }

  private func start(_ way: Int, _ count: Int) throws {
    sessions += 1
    var words =
      ways[way].before + [
        ChildProcess.program("PostgresWorker"), ways[way].url.absoluteString, "\(sessions)", "\(seed)",
        "\(transactions)", "\(transactions - count + 1)", "\(patience)", manner.reading.rawValue,
      ]
    if manner.checksReads { words.append("checked") }
    if manner.ignoresConflicts { words.append("overwriting") }
    let process = try ChildProcess(words[0], Array(words.dropFirst()))
    workers.append(Worker(process, way: way, goal: count))
  }

  /// Kills one that is at work, and starts another in its place, which reaches the store in the same way.
  func killWorker(_ random: inout SeededGenerator) throws {
    guard let worker = workers.filter({ !$0.isDone && !$0.isKilled }).randomElement(using: &random) else {
      return
    }
    worker.process.kill()
    // What it has said by then counts.
    for line in worker.process.readLines() { try take(line, of: worker) }
    if worker.isDone { return }
    worker.isKilled = true
    killed += 1
    if let intent = worker.intent { records.append(intent) }
    try start(worker.way, max(1, worker.goal - worker.made))
  }

  /// How many transactions those that reach the store in these ways have made.
  func made(_ ways: [Int]) -> Int {
    workers.filter { ways.contains($0.way) }.reduce(0) { $0 + $1.made }
  }

  /// Whether one of them is at work still.
  func isBusy(_ ways: [Int]) -> Bool {
    workers.contains { ways.contains($0.way) && !$0.isDone && !$0.isKilled }
  }

  /// Runs all workers to their end.
  /// - Parameters:
  ///   - willSave: Called whenever a worker is about to save, with how many times that was.
  ///   - hasHeard: Called whenever workers have said something.
  func run(willSave: (Int) throws -> Void = { _ in }, hasHeard: () throws -> Void = {}) throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: RecordedModel.make())
    let opened = try coordinator.addPostgresStore(at: store)
    try RecordedModel.fill(coordinator, size)
    for way in ways.indices { try start(way, transactions) }
    for worker in workers {
      let line = worker.process.readLine()
      guard line == "open" else { throw TortureViolation("a worker does not begin: \(line ?? "it ended")") }
    }
    for worker in workers { worker.process.say("go") }
    var saves = 0
    while true {
      let busy = workers.filter { !$0.isDone && !$0.isKilled }
      if busy.isEmpty { break }
      guard ChildProcess.haveOutput(busy.map(\.process), within: 180_000) else {
        throw TortureViolation("no worker has said anything for three minutes")
      }
      for worker in busy where !worker.isKilled {
        var intents = 0
        for line in worker.process.linesAtHand() where try take(line, of: worker) { intents += 1 }
        if worker.process.isSilenced && !worker.isDone && !worker.isKilled {
          throw TortureViolation("a worker has ended before its time, with \(worker.process.wait())")
        }
        for _ in 0..<intents {
          saves += 1
          try willSave(saves)
        }
      }
      try hasHeard()
    }
    let last = try RecordedModel.look(coordinator, size)
    records.append(last.record)
    final = last.state
    try coordinator.remove(opened)
  }

  /// Whether it is about to save.
  @discardableResult
  private func take(_ line: String, of worker: Worker) throws -> Bool {
    let (word, rest) = (line.prefix { $0 != " " }, line.drop { $0 != " " }.dropFirst())
    switch word {
    case "open":
      // One that replaces another.
      worker.process.say("go")
    case "intent":
      worker.intent = try TransactionRecord(line: rest)
      return true
    case "record":
      worker.intent = nil
      worker.made += 1
      records.append(try TransactionRecord(line: rest))
    case "done": worker.isDone = true
    default: throw TortureViolation("a worker says: \(line)")
    }
    return false
  }

  /// What must not have happened.
  var violations: [Anomaly] { anomalies.filter(manner.isolation.forbids) }

  var anomalies: [Anomaly] {
    IsolationCheck(records).anomalies
      + MoneyCheck(records, final, start: size.start, hasOneState: manner.reading != .separate).anomalies
  }

  /// What has become of the transactions, for people.
  var summary: String {
    let outcomes = Dictionary(grouping: records, by: \.outcome).mapValues(\.count)
    let conflicts = records.count { $0.refusal == "conflict" }
    let kinds = Dictionary(grouping: anomalies, by: \.kind).sorted { $0.key.rawValue < $1.key.rawValue }
    let refusals = Set(records.compactMap(\.refusal)).subtracting(["conflict"]).sorted()
    return
      "\(manner.reading)\(manner.checksReads ? ", checked" : ""): \(outcomes[.acknowledged] ?? 0) acknowledged, \(outcomes[.failed] ?? 0) failed (\(conflicts) conflicts), \(outcomes[.unknown] ?? 0) unknown, \(killed) workers killed; anomalies: \(kinds.map { "\($0.key.rawValue) \($0.value.count)" }); refusals: \(refusals)"
  }
}
