import Foundation

/// Walks a range of an index.
enum IndexWalk {
  /// Calls `body` with the primary key of each entry, ascending; false when `body` ended the walk.
  @inline(__always)
  static func forwards(
    _ range: KeyRange, _ cursor: inout Cursor, _ counters: FetchCounters? = nil,
    _ body: (UInt64) throws -> Bool
  ) throws -> Bool {
    try forwards(range, &cursor, counters) { key, _ in try body(key) }
  }

  /// The same with the bytes of each entry.
  @inline(__always)
  static func forwards(
    _ range: KeyRange, _ cursor: inout Cursor, _ counters: FetchCounters? = nil,
    _ body: (UInt64, UnsafeRawBufferPointer) throws -> Bool
  ) throws -> Bool {
    try range.lower.withUnsafeBytes { lower in
      try (range.upper ?? []).withUnsafeBytes { upper in
        var isWhole = true
        try cursor.forEach(from: try cursor.seek(atLeast: lower)) { found in
          if range.upper != nil && KeyOrder.order(found.key, upper) >= 0 { return false }
          counters?.walked += 1
          isWhole = try body(PrimaryKeyBytes.last(of: found.key), found.key)
          return isWhole
        }
        return isWhole
      }
    }
  }

  /// How many entries there are in the range.
  static func count(_ range: KeyRange, _ cursor: inout Cursor) throws -> Int {
    try range.lower.withUnsafeBytes { lower in
      try (range.upper ?? []).withUnsafeBytes { upper in
        let isOpen = range.upper == nil
        return try cursor.count(from: try cursor.seek(atLeast: lower)) {
          isOpen || KeyOrder.order($0, upper) < 0
        }
      }
    }
  }

  /// The same from the end, except that entries of equal values come in ascending order of primary keys: that is
  /// how ties are always broken. Costs what `body` is called for, and some entries more, however many are equal.
  @inline(__always)
  static func backwards(
    _ range: KeyRange, _ cursor: inout Cursor, _ counters: FetchCounters? = nil,
    _ body: (UInt64) throws -> Bool
  ) throws -> Bool {
    try backwards(range, &cursor, counters) { key, _ in try body(key) }
  }

  /// The same with the bytes of each entry.
  @inline(__always)
  static func backwards(
    _ range: KeyRange, _ cursor: inout Cursor, _ counters: FetchCounters? = nil,
    _ body: (UInt64, UnsafeRawBufferPointer) throws -> Bool
  ) throws -> Bool {
    try range.lower.withUnsafeBytes { lower in
      var group: [(key: UInt64, bytes: UnsafeRawBufferPointer)] = []
      var entry = try start(range, &cursor)
      while let last = entry, KeyOrder.order(last.key, lower) >= 0 {
        let value = UnsafeRawBufferPointer(rebasing: last.key.dropLast(8))
        group.append((PrimaryKeyBytes.last(of: last.key), last.key))
        entry = try cursor.previous()
        while group.count < mostGathered, let found = entry, IndexEntries.isEntry(found.key, of: value),
          KeyOrder.order(found.key, lower) >= 0
        {
          group.append((PrimaryKeyBytes.last(of: found.key), found.key))
          entry = try cursor.previous()
        }
        counters?.walked += group.count
        if group.count < mostGathered {
          for entry in group.reversed() where try !body(entry.key, entry.bytes) { return false }
        } else {
          // There may be any number of them: they are walked from the first one on, and no further than is asked for.
          let first = KeyOrder.order(value, lower) < 0 ? lower : value
          var isWhole = true
          try cursor.forEach(from: try cursor.seek(atLeast: first)) { found in
            if KeyOrder.order(found.key, last.key) > 0 { return false }
            counters?.walked += 1
            isWhole = try body(PrimaryKeyBytes.last(of: found.key), found.key)
            return isWhole
          }
          if !isWhole { return false }
          entry = try cursor.seek(atLeast: first) == nil ? nil : cursor.previous()
        }
        group.removeAll(keepingCapacity: true)
      }
      return true
    }
  }

  /// Of so many entries of equal values, and more, the first one is looked for; fewer are turned round.
  private static var mostGathered: Int { 32 }

  private static func start(_ range: KeyRange, _ cursor: inout Cursor) throws -> Cursor.Entry? {
    guard let upper = range.upper else { return try cursor.last() }
    return try upper.withUnsafeBytes { try cursor.seek(atLeast: $0) } == nil
      ? cursor.last() : cursor.previous()
  }
}
