/// Something that a record of transactions shows and that some isolation forbids.
public struct Anomaly: Hashable, Sendable, CustomStringConvertible {
  /// Names in brackets are those of Adya (“Weak Consistency”, 1999) and Elle (Kingsbury and Alvaro, 2020).
  public enum Kind: String, CaseIterable, Sendable {
    /// What was acknowledged is not there.
    case lost
    /// Something is there twice.
    case doubled
    /// Something that nobody has written.
    case strange
    /// The sum of all accounts, or what a counter or an account has come to, is not what the transfers and increments make of it.
    case wrongSum = "wrong sum"
    /// A transaction has read what another wrote that failed (G1a).
    case abortedRead = "G1a"
    /// A transaction has read what another had written in between (G1b).
    case intermediateRead = "G1b"
    /// Two reads of a list are no two moments of one list (“incompatible order”).
    case divergentOrder = "divergent order"
    /// Two transactions have read the same version and both replaced it.
    case lostUpdate = "lost update"
    /// A transaction has read a list twice and found it otherwise (“internal”).
    case changedRead = "changed read"
    /// A transaction has not seen what was acknowledged before it began.
    case staleRead = "stale read"
    /// A cycle of writes over writes.
    case writeCycle = "G0"
    /// A cycle of writes over writes and reads of what was written.
    case informationCycle = "G1c"
    /// A cycle with one transaction that has read what another then replaced: read skew.
    case readSkew = "G-single"
    /// A cycle with several of those, no two of which follow each other.
    case nonadjacent = "G-nonadjacent"
    /// A cycle with two that follow each other, as in write skew.
    case writeSkew = "G2"
  }

  public let kind: Kind
  /// Whether the cycle needs that one transaction had ended before another began.
  public let isRealTime: Bool
  /// What happened, with the transactions concerned.
  public let description: String

  init(_ kind: Kind, isRealTime: Bool = false, _ words: String) {
    self.kind = kind
    self.isRealTime = isRealTime
    description = "\(kind.rawValue)\(isRealTime ? " (real time)" : ""): \(words)"
  }
}

/// What a transaction, that is the reads of one context and its save, is promised; it depends on how it reads.
public enum Isolation: String, CaseIterable, Sendable {
  /// Several reads, each of the newest state then.
  case separateReads
  /// All is read from one state: with one fetch, or pinned to a generation.
  case oneState
  /// The same, and the save checks that all that was read is still so.
  case checkedReads

  public func forbids(_ anomaly: Anomaly) -> Bool { forbids(anomaly.kind) }

  public func forbids(_ kind: Anomaly.Kind) -> Bool {
    switch kind {
    case .readSkew, .nonadjacent: self != .separateReads
    case .writeSkew: self == .checkedReads
    default: true
    }
  }
}
