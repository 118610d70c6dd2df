import Testing
import TortureKit

/// The bookkeeping of the long mode: a broken promise must not get lost on its way to the exit code.
@Suite struct TortureKitTests {
  /// Holds three cases in even rounds and breaks a promise in odd ones.
  private struct Coin: TortureKind {
    static let name = "coin"
    static let cases = "tosses"
    let seed: UInt64
    init(seed: UInt64) { self.seed = seed }
    var details: [String: Int] { ["heads up": 2] }
    mutating func round() throws -> Int {
      if seed % 2 == 1 { throw TortureViolation("tails") }
      return 3
    }
  }

  @Test func violationsAreCountedWithTheirSeeds() {
    var limit = TortureLimit()
    limit.rounds = 20
    var seeds: [UInt64] = []
    var failed: [UInt64] = []
    let totals = Coin.run(seed: 4, until: limit) {
      seeds.append($0)
    } report: { seed, one, failure in
      if failure != nil { failed.append(seed) }
      #expect((failure == nil) == (one.violations == 0))
    }
    #expect(seeds.count == 20 && Set(seeds).count == 20 && seeds[0] == 4)
    #expect(failed == seeds.filter { $0 % 2 == 1 } && !failed.isEmpty)
    #expect(totals.rounds == 20 && totals.violations == failed.count)
    #expect(totals.cases == 3 * (20 - failed.count))
    #expect(totals.details == ["heads up": 40])
    #expect(TortureTotals(line: totals.line) == totals)
  }

  @Test func writerEndsWhenTheProcessThatStartedItIsGone() async throws {
    let stand = try LiveStand()
    let child = try stand.startElsewhere(["churn-until:never"])
    #expect(child.readLine() == "churning")
    child.abandon()
    #expect(await eventually { child.isGone() })
  }

  @Test func roundsEndAtTheirLimits() {
    var limit = TortureLimit()
    limit.cases = 7
    let totals = Coin.run(seed: 2, until: limit) { _, _, _ in }
    #expect(totals.cases == 9)
    limit = TortureLimit()
    limit.deadline = .now
    #expect(Coin.run(seed: 2, until: limit) { _, _, _ in }.rounds == 1)
  }

  @Test func otherLinesAreNoTotals() {
    for line in ["", "seed 3", "total", "total 1 2", "total 1 2 x", "total 1 2 3 word"] {
      #expect(TortureTotals(line: line) == nil, "\(line)")
    }
  }
}
