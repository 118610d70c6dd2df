/// One way of stressing a store, repeatedly.
///
/// A value is made for one seed and asked for one round; all that a round does depends on the seed, as far as
/// threads and processes allow, so that a violation is seen again with `torture --only <name> --seed <seed>
/// --rounds 1`. A round lasts seconds at most. Add a kind to `Torture.kinds` (`Tests/Torture/Torture.swift`); it then runs in a
/// process of its own, so that a crash is counted as a violation and not the end of everything.
public protocol TortureKind: SendableMetatype {
  /// What `--only` calls it: lower-case words with hyphens.
  static var name: String { get }
  /// What `round` counts, in the plural: “crash states”.
  static var cases: String { get }
  /// Prepares a round.
  init(seed: UInt64) throws
  /// Does it and returns how many cases held.
  ///
  /// - Throws: ``TortureViolation`` when a promise was broken; anything else counts as a violation, too.
  mutating func round() throws -> Int
  /// Further figures of the round, added up over all rounds and printed with the totals.
  var details: [String: Int] { get }
}

extension TortureKind {
  public var details: [String: Int] { [:] }
}

/// A promise of the store that did not hold.
public struct TortureViolation: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
