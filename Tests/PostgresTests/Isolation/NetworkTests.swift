import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// Processes in two network namespaces, with a server between them, and links that are cut: what the others do goes on, and what was cut off loses and doubles nothing.
@Suite(.serialized) struct NetworkTests {
  private static let skip = Comment(rawValue: NetworkStand.obstacle ?? "")

  @Test(.enabled(if: NetworkStand.obstacle == nil, skip), arguments: [false, true])
  func processesInTwoNetworksWhoseLinksAreCut(isPinned: Bool) throws {
    let seed = RecordedRun.seed()
    var random = SeededGenerator(seed: seed)
    let network = try NetworkStand()
    let server = try TestServer.own(
      TestServer.Network(addresses: network.places.map(\.address), clients: network.range))
    let namespace = TestServer.freshNamespace()
    // A peer that is gone is noticed within seconds.
    let parameters = [
      "sslmode": "disable", "gssencmode": "disable", "tcp_user_timeout": "1000", "keepalives_idle": "1",
      "keepalives_interval": "1", "keepalives_count": "2",
    ]
    let ways = try (0..<4).map { worker in
      RecordedRun.Way(
        url: try server.url(namespace, host: network.places[worker % 2].address, parameters),
        before: network.words(worker % 2))
    }
    let manner =
      isPinned
      ? RecordedTransaction.Manner(.pinned) : RecordedTransaction.Manner(.together, checksReads: true)
    let run = RecordedRun(
      try server.url(namespace), ways, manner, transactions: RecordedRun.transactions(30), seed: seed)
    /// The place whose link is cut, and how far those behind the other one must come before it is brought back.
    var cut: (place: Int, goal: Int)?
    var (cuts, endured) = (0, 0)
    /// After how many saves the next cut is due.
    var due = 12
    func workers(_ place: Int) -> [Int] { [place, place + 2] }
    try run.run { saves in
      guard cut == nil, saves >= due else { return }
      let place = random.below(2)
      guard run.isBusy(workers(0)), run.isBusy(workers(1)) else { return }
      try network.setLink(place, isUp: false)
      cut = (place, run.made(workers(1 - place)) + 1 + random.below(6))
      cuts += 1
      due = saves + 12
    } hasHeard: {
      guard let (place, goal) = cut else { return }
      let others = workers(1 - place)
      let isReached = run.made(others) >= goal
      guard isReached || !run.isBusy(others) else { return }
      if isReached { endured += 1 }
      try network.setLink(place, isUp: true)
      cut = nil
    }
    let violations = run.violations
    print("NetworkTests: \(cuts) cuts, \(endured) while the others went on; \(run.summary)")
    #expect(violations.isEmpty, "seed \(seed): \(violations.map(\.description).joined(separator: "\n"))")
    // How many there are depends on how far the others come while one lasts. The first comes while all are busy.
    #expect(cuts > 0)
  }
}
