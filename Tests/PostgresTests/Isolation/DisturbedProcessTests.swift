import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// Processes that write to one store at once while sessions are killed, the server crashes or is started again, connections are cut and processes are killed: nothing that was acknowledged is lost,
/// nothing is there twice, and nothing happens that the isolation forbids.
///
/// `STRATA_TRANSACTIONS=5000` makes so many transactions in each process; `STRATA_SEED=7` others.
@Suite(.serialized) struct DisturbedProcessTests {
  private typealias Manner = RecordedTransaction.Manner

  private func check(_ run: RecordedRun) {
    let violations = run.violations
    print("DisturbedProcessTests: \(run.summary)")
    #expect(violations.isEmpty, "seed \(run.seed): \(violations.map(\.description).joined(separator: "\n"))")
    // Something was done, in spite of all.
    let acknowledged = run.records.count { $0.outcome == .acknowledged }
    #expect(acknowledged > run.records.count / 4)
  }

  /// Ends a session of the workers, or all of them.
  private static func killSessions(_ connection: PostgresConnection, _ random: inout SeededGenerator) throws {
    let result = try connection.runText(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'worker' ORDER BY pid")
    guard let result, result.rowCount > 0 else { return }
    // One, or all.
    let chosen = random.chance(30) ? Array(0..<result.rowCount) : [random.below(result.rowCount)]
    let sessions = try chosen.map { try result.text($0, 0) }.joined(separator: ",")
    _ = try connection.runText("SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[\(sessions)]) AS pid")
  }

  @Test func sessionsServerAndProcessesAreKilled() throws {
    let seed = RecordedRun.seed()
    let server = try TestServer.own()
    let manners = [Manner(.together, checksReads: true), Manner(.pinned), Manner(.separate)]
    for (place, manner) in manners.enumerated() {
      var random = SeededGenerator(seed: seed &+ UInt64(place))
      let namespace = TestServer.freshNamespace()
      let way = RecordedRun.Way(url: try server.url(namespace, ["application_name": "worker"]))
      let run = RecordedRun(
        try server.url(namespace), [way, way, way], manner, transactions: RecordedRun.transactions(40),
        seed: seed)
      func connect() throws -> PostgresConnection {
        try PostgresConnection(
          ServerAddress(try server.url(namespace)), password: nil,
          deadline: ContinuousClock.now + .seconds(30))
      }
      var connection = try connect()
      var crashes = 0
      try run.run { saves in
        if saves % 5 == 0 { try Self.killSessions(connection, &random) }
        // A worker may be done by the time that it is killed: then the next one is due.
        if run.killed < saves / 43 { try run.killWorker(&random) }
        if saves % 50 == 0 {
          // By turns in order and not.
          if crashes % 2 == 0 { try server.crash() } else { try server.restart() }
          crashes += 1
          connection = try connect()
        }
      }
      #expect(crashes > 0)
      #expect(run.killed > 0)
      check(run)
    }
  }

  @Test func connectionsAreCutInEveryMessage() throws {
    let seed = RecordedRun.seed()
    var random = SeededGenerator(seed: seed)
    let server = try TestServer.required()
    let namespace = TestServer.freshNamespace()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "px\(UInt16.random(in: 0 ... .max))")
    let proxy = try CuttingProxy(folder: folder, serverFolder: server.folder, direction: .toServer)
    let way = RecordedRun.Way(url: try server.url(namespace, host: folder.path))
    let run = RecordedRun(
      try server.url(namespace), [way, way], Manner(.together), transactions: RecordedRun.transactions(90),
      seed: seed)
    defer { try? PostgresStores.destroy(at: server.url(namespace)) }
    var turns: [MessageCut.Kind: Int] = [:]
    try run.run { _ in
      // The kind whose turn was longest ago; before it, inside of it, and behind it by turns.
      let kind = proxy.seen.min {
        (turns[$0] ?? 0, $0.description) < (turns[$1] ?? 0, $1.description)
      }
      guard let kind else { return }
      let turn = turns[kind] ?? 0
      turns[kind] = turn + 1
      let places = MessageCut.Place.allCases
      proxy.cut(at: MessageCut(kind: kind, place: places[turn % places.count], left: random.below(2)))
    }
    check(run)
    let kinds = proxy.cutKinds
    print(
      "DisturbedProcessTests: \(proxy.cuts) cuts: \(kinds.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", "))"
    )
    // First messages, parse, bind, execute, and the end of what is sent together; and what the server answers to each.
    for (direction, types) in [(CuttingProxy.Direction.toServer, "-PBES"), (.toClient, "RSKZ12C")] {
      for type in types {
        #expect(kinds[MessageCut.Kind(direction: direction, type: type)] != nil, "\(type) \(direction)")
      }
    }
  }

  /// The mutant: conflicts are overwritten, and the check finds it.
  @Test func processesThatOverwriteConflictsAreFoundOut() throws {
    let seed = RecordedRun.seed()
    let server = try TestServer.required()
    var manner = Manner(.together)
    manner.ignoresConflicts = true
    var kinds: Set<Anomaly.Kind> = []
    // Where the machine is busy the processes take turns, and conflicts are few: then once more.
    for round in 0..<20 where !kinds.isSuperset(of: [.lostUpdate, .lost]) {
      let namespace = TestServer.freshNamespace()
      let way = RecordedRun.Way(url: try server.url(namespace))
      let run = RecordedRun(
        try server.url(namespace), [way, way], manner, transactions: RecordedRun.transactions(60),
        seed: seed &+ UInt64(round))
      defer { try? PostgresStores.destroy(at: server.url(namespace)) }
      try run.run()
      print("DisturbedProcessTests: \(run.summary)")
      kinds.formUnion(run.violations.map(\.kind))
    }
    #expect(kinds.isSuperset(of: [.lostUpdate, .lost]))
  }

  @Test func messagesAreFoundInBytesHoweverTheyArrive() {
    // A first message of eight bytes, then one with five bytes behind its letter and length, then one with none.
    let bytes: [UInt8] =
      [0, 0, 0, 8, 1, 2, 3, 4] + [UInt8(ascii: "B"), 0, 0, 0, 9, 1, 2, 3, 4, 5]
      + [UInt8(ascii: "S"), 0, 0, 0, 4] + [UInt8(ascii: "X"), 0, 0]
    for step in 1...bytes.count {
      var follower = MessageFollower(.toServer)
      var found: [MessageFollower.Message] = []
      for start in stride(from: 0, to: bytes.count, by: step) {
        found += follower.follow(bytes[start..<min(start + step, bytes.count)])
      }
      #expect(found.map(\.kind.type) == ["-", "B", "S"])
      #expect(found.map(\.start) == [0, 8, 18])
      #expect(found.map(\.end) == [8, 18, 23])
    }
  }
}
