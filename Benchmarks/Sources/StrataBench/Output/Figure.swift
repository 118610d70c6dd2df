import Foundation

/// One figure of a card: a time, an amount of memory, or how many times another contender's it is.
struct Figure: Equatable, Sendable {
  /// Names a figure within one run of a card.
  struct Key: Hashable, Sendable {
    var operation: String
    /// Rows or members; nil where the operation says it all.
    var size: Int?
    var contender: String
    var measure: Measure
    /// Whose figure this is a multiple of; nil for a figure with a unit of its own.
    var against: String?
  }

  enum Measure: String, CaseIterable, Sendable {
    case time, stall, release, written, file, memory
    case timePerRow = "time per row"
    case processorTime = "processor time"
    case peakMemory = "peak memory"
    case memoryPerObject = "memory per object"
    case latency50 = "latency of 50 %"
    case latency99 = "latency of 99 %"
    case latency999 = "latency of 99.9 %"
    case slowest = "slowest save"
    /// Always a multiple: how many times as fast. A multiple of `time` says how many times as long.
    case speed
  }

  var key: Key
  /// `×` for a multiple.
  var unit: String
  var median: Amount?
  var lowest: Amount?
  var highest: Amount?
  var required: Bound?
  /// How many runs were counted; nil when that is not known.
  var counted: Int?
}

/// A number as it is written in a file of results: what a page shows is what the file says, digit by digit.
struct Amount: Equatable, Sendable {
  let text: String
  let value: Double

  /// Nil unless it is written as digits, with a point and digits behind them or without.
  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let isWritten =
      (1...2).contains(parts.count) && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(Self.isDigit) }
    guard isWritten, let value = Double(text), value.isFinite else { return nil }
    (self.text, self.value) = (String(text), value)
  }

  /// To three digits that count, as far as two places behind the point will do. Nil for what is no number, or a negative one.
  init?(measured value: Double) {
    guard value.isFinite, value >= 0 else { return nil }
    let places = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.0995 || value == 0 ? 2 : 4
    self.init(String(format: "%.\(places)f", value))
  }

  private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }
}

/// What is required of a figure.
struct Bound: Equatable, Sendable {
  enum Side: String, Sendable {
    case atLeast = "≥"
    case atMost = "≤"
  }

  var side: Side
  var amount: Amount

  init(_ side: Side, _ amount: Amount) { (self.side, self.amount) = (side, amount) }

  /// Nil unless it is written like `≥ 4`.
  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 2, let side = Side(rawValue: String(parts[0])), let amount = Amount(parts[1]) else {
      return nil
    }
    self.init(side, amount)
  }

  var text: String { "\(side.rawValue) \(amount.text)" }

  func isMet(by value: Double) -> Bool {
    switch side {
    case .atLeast: value >= amount.value
    case .atMost: value <= amount.value
    }
  }
}
