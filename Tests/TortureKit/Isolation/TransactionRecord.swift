import Foundation

/// What one transaction has read and written, when, and what it was told: a line of the record that ``IsolationCheck`` looks at.
///
/// Lists are only appended to, and no element is appended twice: so each list that was read tells in which order all appends before it took place. The idea is Elle's
/// (Kingsbury and Alvaro, “Elle: Inferring Isolation Anomalies from Experimental Observations”, VLDB 2020).
public struct TransactionRecord: Codable, Hashable, Sendable {
  public enum Outcome: String, Codable, Sendable {
    /// The save returned, or nothing was written.
    case acknowledged
    /// The save threw, and nothing may be there.
    case failed
    /// Nobody knows: all of it may be there, or nothing.
    case unknown
  }

  public enum Operation: Codable, Hashable, Sendable {
    case read(list: Int, elements: [Int])
    case append(list: Int, element: Int)
    case transfer(Transfer)
    /// All accounts, from one state of the store.
    case balances([Int])
    /// Adds one to a counter, which becomes this.
    case increment(counter: Int, becomes: Int)
  }

  /// Money that goes from one account to another.
  public struct Transfer: Codable, Hashable, Sendable {
    /// No two have the same.
    public let serial: Int
    public let from: Int
    public let to: Int
    public let amount: Int

    public init(serial: Int, from: Int, to: Int, amount: Int) {
      self.serial = serial
      self.from = from
      self.to = to
      self.amount = amount
    }
  }

  /// Who made it; the transactions of a session come one after the other.
  public let session: Int
  public let number: Int
  /// Nanoseconds of a clock that all processes of the machine share.
  public let begin: UInt64
  public var end: UInt64
  public var outcome: Outcome
  public var operations: [Operation]
  /// Why it failed.
  public var refusal: String?

  public init(
    session: Int, number: Int, begin: UInt64, end: UInt64, outcome: Outcome = .acknowledged,
    operations: [Operation]
  ) {
    self.session = session
    self.number = number
    self.begin = begin
    self.end = end
    self.outcome = outcome
    self.operations = operations
  }

  /// What it is called in anomalies.
  public var name: String { "T\(session).\(number)" }

  /// Now, in nanoseconds of the clock that ``begin`` and ``end`` are told in.
  public static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  // MARK: As lines between processes

  public var line: String {
    get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
  }

  public init(line: some StringProtocol) throws {
    self = try JSONDecoder().decode(Self.self, from: Data(line.utf8))
  }
}

extension TransactionRecord: CustomStringConvertible {
  public var description: String {
    let words = operations.map { operation in
      switch operation {
      case .read(let list, let elements): "read l\(list)=\(elements)"
      case .append(let list, let element): "append \(element) to l\(list)"
      case .transfer(let transfer):
        "transfer \(transfer.serial): \(transfer.amount) from a\(transfer.from) to a\(transfer.to)"
      case .balances(let balances): "balances \(balances)"
      case .increment(let counter, let value): "c\(counter) becomes \(value)"
      }
    }
    return "\(name) \(outcome.rawValue) [\(begin)…\(end)] \(words.joined(separator: ", "))"
  }
}
