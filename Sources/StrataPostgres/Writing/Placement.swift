import StrataCore

/// Where the members of ordered relationships stand. Pure.
///
/// Positions ascend along the order and leave gaps. A member that is appended comes behind all that were there before the change set and behind all that
/// it places; provisional positions only say in which order members are appended.
enum Placement {
  enum Kind: Sendable {
    /// Comes last, or stays where it is.
    case append
    /// Belongs to the relationship, at this position.
    case add(UInt64)
    /// Goes to this position if it belongs to the relationship.
    case move(UInt64)

    /// What both do, one after the other.
    func followed(by other: Kind) -> Kind {
      switch (self, other) {
      case (.add, .move(let position)): .add(position)
      // It stays where it has just been put.
      case (.add, .append): self
      default: other
      }
    }
  }

  /// One member of one owner.
  struct Entry: Sendable {
    let member: UInt64
    var kind: Kind
    /// The place in the change set.
    let sequence: Int
    /// Where it stands now; nil when it does not belong to the owner, or leaves it.
    var old: UInt64?

    fileprivate var position: UInt64? {
      switch kind {
      case .append: nil
      case .add(let position), .move(let position): position
      }
    }

    fileprivate var isProvisional: Bool { position.map { $0 >= EdgePosition.firstProvisional } ?? false }
  }

  /// The members of one owner that get a position, or another one.
  ///
  /// - Parameter last: The largest position among the owner's members before the change set; nil when it had none.
  static func place(_ entries: [Entry], last: UInt64?) -> [(member: UInt64, position: UInt64)] {
    var placed: [(member: UInt64, position: UInt64)] = []
    var appended: [Entry] = []
    var largest: UInt64?
    for entry in entries {
      if entry.isProvisional {
        if case .move = entry.kind, entry.old == nil { continue }
        appended.append(entry)
        continue
      }
      switch (entry.kind, entry.old) {
      case (.append, nil): appended.append(entry)
      case (.append, _?), (.move, nil): continue
      case (.add(let position), let old), (.move(let position), let old):
        if old != position { placed.append((entry.member, position)) }
        largest = max(largest ?? 0, position)
      }
    }
    if appended.isEmpty { return placed }
    if let last { largest = max(largest ?? 0, last) }
    appended.sort { left, right in
      let (first, second) = (
        left.isProvisional ? left.position ?? .max : .max, right.isProvisional ? right.position ?? .max : .max
      )
      return first != second ? first < second : left.sequence < right.sequence
    }
    for entry in appended {
      let position = largest.map(after) ?? EdgePosition.first
      placed.append((entry.member, position))
      largest = position
    }
    return placed
  }

  /// The position of a member that comes behind one at `last`. Where the numbers run out, the rest is halved, and at the very end members stand in
  /// order of their references.
  static func after(_ last: UInt64) -> UInt64 {
    let end = EdgePosition.firstProvisional - 1
    if last >= end { return last }
    return end - last > EdgePosition.gap ? last + EdgePosition.gap : last + (end - last + 1) / 2
  }
}
