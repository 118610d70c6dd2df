import StoreInterposer
import TortureKit

/// What may be in the store after a power cut when several processes write to it, from the marks in their common record.
///
/// Commits form a tree: each attempt says, inside its transaction, on which one it builds. Of the attempts that build on the same one only the last can have
/// been committed, or be committed still: the ones before were given up, or their process was killed before the commit.
///
/// ```
///   0 ── 1001 ── 1002 ── 2001          1003: killed before its commit, and 2001 has taken its place
///                   └─── 1003 (dead)   certain: 1001, acknowledged with .full; allowed: 1001, 1002, 2001
/// ```
///
/// A power cut may leave any attempt that is not dead, and to which the certain one leads. It need not have been acknowledged: its process may have been killed, or the
/// power was cut, between the record and the acknowledgement.
struct LogCrewPromises {
  enum Mark: UInt32 {
    /// The store was opened.
    case opened = 101
    /// An attempt builds on another one: both numbers in one.
    case built
    /// A commit returned; with `.full` it is durable.
    case acknowledged, acknowledgedFully
    /// An attempt begins to flush, or to close, by the member's number; and has done so.
    case flushing, flushed, closing, closed

    func note(_ value: UInt64) { DiskRecord.mark(rawValue, value) }

    /// Both numbers of `built` in one.
    static func pair(_ attempt: Int, on previous: Int) -> UInt64 { UInt64(attempt) << 32 | UInt64(previous) }
  }

  private(set) var isOpened = false
  /// By attempt, the one that it builds on.
  private(set) var previous: [Int: Int] = [:]
  /// The last attempt, which may not be committed yet.
  private(set) var lastBuilt: Int?
  /// By attempt, the last one that builds on it.
  private var successor: [Int: Int] = [:]
  /// The newest one that was acknowledged by anybody.
  private var acknowledged = 0
  /// By member, the last one that it was told of.
  private var own: [Int: Int] = [:]
  /// By member, what will be certain when it has flushed or closed.
  private var pending: [Int: Int] = [:]
  /// The newest one that must not be lost.
  private(set) var certain = 0

  /// Which member has made an attempt.
  static func member(_ attempt: Int) -> Int { attempt / 1_000 }

  mutating func take(kind: UInt32, value: UInt64) throws {
    let number = Int(value)
    switch Mark(rawValue: kind) {
    case .opened: isOpened = true
    case .built:
      let (attempt, base) = (number >> 32, number & 0xFFFF_FFFF)
      // Processes die, and the system does not: what was acknowledged is there.
      guard leads(acknowledged, to: base) else {
        throw TortureViolation("attempt \(attempt) builds on \(base), but \(acknowledged) was acknowledged")
      }
      previous[attempt] = base
      lastBuilt = attempt
      successor[base] = attempt
    case .acknowledged, .acknowledgedFully:
      guard previous[number] != nil, !isDead(number) else {
        throw TortureViolation(
          "attempt \(number) was acknowledged, but \(liveSibling(number)) took its place")
      }
      own[Self.member(number)] = number
      acknowledged = try newer(acknowledged, number)
      if kind == Mark.acknowledgedFully.rawValue { certain = try newer(certain, number) }
    // Flushing is for the commits of all.
    case .flushing: pending[number] = acknowledged
    // Closing is for those of the process that closes.
    case .closing: pending[number] = own[number] ?? 0
    case .flushed, .closed: certain = try newer(certain, pending[number] ?? 0)
    case nil: throw TortureViolation("an unknown mark \(kind)")
    }
  }

  /// Whether `attempt` is `other` or comes before it.
  private func leads(_ attempt: Int, to other: Int) -> Bool {
    var place = other
    while place != attempt {
      guard let next = previous[place] else { return false }
      place = next
    }
    return true
  }

  private func newer(_ one: Int, _ other: Int) throws -> Int {
    if leads(one, to: other) { return other }
    guard leads(other, to: one) else {
      throw TortureViolation(
        "attempts \(one) and \(other) are both committed, and neither builds on the other")
    }
    return one
  }

  private func liveSibling(_ attempt: Int) -> Int { previous[attempt].flatMap { successor[$0] } ?? 0 }

  /// Whether an attempt, or one that it builds on, was given up.
  private func isDead(_ attempt: Int) -> Bool {
    var place = attempt
    while let base = previous[place] {
      if successor[base] != place { return true }
      place = base
    }
    return false
  }

  /// How many attempts were given up.
  var deadCount: Int { previous.keys.count { isDead($0) } }

  /// Why attempt `found` must not be the last one in the store, or nil.
  func objection(to found: Int?) -> String? {
    guard let found else { return isOpened ? "the store is gone" : nil }
    guard found == 0 || previous[found] != nil else { return "there was no attempt \(found) yet" }
    if isDead(found) { return "attempt \(found) is there, whose place was taken by another (\(line))" }
    if !leads(certain, to: found) {
      return "the last attempt is \(found), and \(certain) was certain (\(line))"
    }
    return nil
  }

  /// The last attempts that can have been committed.
  private var line: String {
    var last = 0
    while let next = successor[last] { last = next }
    var line: [Int] = [last]
    while line.count < 10, let base = previous[line[0]] { line.insert(base, at: 0) }
    return "live: \(line.map(String.init).joined(separator: " "))"
  }
}
