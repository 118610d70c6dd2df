/// One edge on its way into or out of the keyspace "edges".
struct Edge: EdgeEntry, Hashable {
  var prefix: UInt64
  var member: UInt64
}

/// What happens to one member of an ordered relationship.
struct EdgePlacement: EdgeEntry {
  enum Kind: UInt8 {
    /// Comes last, or stays where it is.
    case append
    /// Belongs to the relationship, at this position.
    case add
    /// Goes to this position if it belongs to the relationship.
    case move
    case remove
    /// The same as `append`; a row refers to the owner.
    case derived
  }
  var prefix: UInt64
  var member: UInt64
  var position: UInt64
  /// The place in the change set.
  var sequence: UInt32
  var kind: Kind
}

/// Something that belongs to an edge; sorts by prefix and member.
protocol EdgeEntry: Sendable, PrefixSortable {
  var member: UInt64 { get }
  /// Keeps entries of one edge in the order of the change set.
  var sequence: UInt32 { get }
}

extension Edge {
  var sequence: UInt32 { 0 }
}

/// Edges that one change set takes out and puts in: flat arrays, no object per edge.
struct EdgeChanges {
  var removals: ContiguousArray<Edge> = []
  /// Of relationships without order.
  var additions: ContiguousArray<Edge> = []
  /// Of ordered relationships; each edge at most once after `settle`.
  var placements: ContiguousArray<EdgePlacement> = []

  var isEmpty: Bool { removals.isEmpty && additions.isEmpty && placements.isEmpty }
  /// How many there are.
  var count: Int { removals.count + additions.count + placements.count }

  /// Sorts everything and leaves one entry per edge.
  mutating func settle() {
    EdgeSort.sort(&removals)
    EdgeSort.sort(&additions)
    Self.removeTwins(&removals)
    Self.removeTwins(&additions)
    settlePlacements()
  }

  private static func removeTwins(_ edges: inout ContiguousArray<Edge>) {
    guard edges.count > 1 else { return }
    let count = edges.withUnsafeMutableBufferPointer { edges in
      var kept = 1
      for place in 1..<edges.count where edges[place] != edges[kept - 1] {
        edges[kept] = edges[place]
        kept += 1
      }
      return kept
    }
    edges.removeLast(edges.count - count)
  }

  /// What was said last of an edge counts; one that follows from a row takes over the position it was given.
  private mutating func settlePlacements() {
    if placements.isEmpty { return }
    EdgeSort.sort(&placements)
    var settled: ContiguousArray<EdgePlacement> = []
    settled.reserveCapacity(placements.count)
    var place = 0
    while place < placements.count {
      var current = placements[place]
      place += 1
      while place < placements.count, placements[place].prefix == current.prefix,
        placements[place].member == current.member
      {
        current = current.followed(by: placements[place])
        place += 1
      }
      if current.kind == .derived { current.kind = .append }
      if current.kind == .remove {
        removals.append(Edge(prefix: current.prefix, member: current.member))
      } else {
        settled.append(current)
      }
    }
    placements = settled
    EdgeSort.sort(&removals)
  }
}

extension EdgePlacement {
  /// The one that does what both do, one after the other. What follows from rows comes first.
  fileprivate func followed(by other: EdgePlacement) -> EdgePlacement {
    switch (kind, other.kind) {
    case (.derived, .move), (.add, .move):
      var both = other
      both.kind = .add
      return both
    // It stays where it has just been put.
    case (.add, .append): return self
    default: return other
    }
  }
}

/// Sorts edges: by prefix with a radix sort where there are many, stably, then each run of one prefix by member.
enum EdgeSort {
  static func sort<E: EdgeEntry>(_ entries: inout ContiguousArray<E>) {
    guard entries.count > 1 else { return }
    entries.withUnsafeMutableBufferPointer { entries in
      if isSorted(entries) { return }
      if entries.count < 512 {
        sortRun(entries, start: 0, end: entries.count)
        return
      }
      PrefixSort.sort(entries)
      var start = 0
      while start < entries.count {
        var end = start + 1
        var isSorted = true
        while end < entries.count, entries[end].prefix == entries[start].prefix {
          if precedes(entries[end], entries[end - 1]) { isSorted = false }
          end += 1
        }
        if !isSorted { sortRun(entries, start: start, end: end) }
        start = end
      }
    }
  }

  @inline(__always)
  static func precedes<E: EdgeEntry>(_ a: E, _ b: E) -> Bool {
    if a.prefix != b.prefix { return a.prefix < b.prefix }
    return a.member != b.member ? a.member < b.member : a.sequence < b.sequence
  }

  private static func isSorted<E: EdgeEntry>(_ entries: UnsafeMutableBufferPointer<E>) -> Bool {
    for place in 1..<entries.count where precedes(entries[place], entries[place - 1]) { return false }
    return true
  }

  private static func sortRun<E: EdgeEntry>(
    _ entries: UnsafeMutableBufferPointer<E>, start: Int, end: Int
  ) {
    var run = UnsafeMutableBufferPointer(rebasing: entries[start..<end])
    run.sort(by: precedes)
  }
}
