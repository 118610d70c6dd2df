/// What rounds of one kind have added up to.
public struct TortureTotals: Sendable, Hashable {
  public var rounds = 0
  public var cases = 0
  public var violations = 0
  public var details: [String: Int] = [:]

  public init() {}

  public mutating func add(_ other: TortureTotals) {
    rounds += other.rounds
    cases += other.cases
    violations += other.violations
    details.merge(other.details, uniquingKeysWith: +)
  }

  // MARK: As lines between processes

  /// What a worker writes after each round: `total <rounds> <cases> <violations> <detail>=<n>…`.
  public var line: String {
    let words = details.sorted { $0.key < $1.key }.map { "\($0.key.replacing(" ", with: "_"))=\($0.value)" }
    return (["total", "\(rounds)", "\(cases)", "\(violations)"] + words).joined(separator: " ")
  }

  /// The totals in a line of a worker; nil for other lines.
  public init?(line: String) {
    let words = line.split(separator: " ")
    guard words.count >= 4, words[0] == "total", let rounds = Int(words[1]), let cases = Int(words[2]),
      let violations = Int(words[3])
    else { return nil }
    self.rounds = rounds
    self.cases = cases
    self.violations = violations
    for word in words.dropFirst(4) {
      let parts = word.split(separator: "=")
      guard parts.count == 2, let count = Int(parts[1]) else { return nil }
      details[String(parts[0]).replacing("_", with: " "), default: 0] += count
    }
  }
}

/// Where rounds stop.
public struct TortureLimit: Sendable {
  /// After so many rounds.
  public var rounds = Int.max
  /// After the round that reaches so many cases.
  public var cases = Int.max
  /// After the round in which this moment lies.
  public var deadline: ContinuousClock.Instant?

  public init() {}

  func isReached(_ totals: TortureTotals) -> Bool {
    totals.rounds >= rounds || totals.cases >= cases || deadline.map { $0 <= .now } == true
  }
}

extension TortureKind {
  /// Runs rounds in this process, each with a seed of its own drawn from `seed` (the first is `seed` itself), and tells
  /// `report` after each what it was; `begin` before each with which seed.
  public static func run(
    seed: UInt64, until limit: TortureLimit, begin: (UInt64) -> Void = { _ in },
    report: (UInt64, TortureTotals, (any Error)?) -> Void
  ) -> TortureTotals {
    var totals = TortureTotals()
    var seeds = SeededGenerator(seed: seed)
    var roundSeed = seed
    repeat {
      begin(roundSeed)
      var one = TortureTotals()
      one.rounds = 1
      var failure: (any Error)?
      do {
        var kind = try Self(seed: roundSeed)
        defer { one.details = kind.details }
        one.cases = try kind.round()
      } catch {
        one.violations = 1
        failure = error
      }
      totals.add(one)
      report(roundSeed, one, failure)
      roundSeed = seeds.next() >> 16
    } while !limit.isReached(totals)
    return totals
  }
}
