import Foundation

/// Walks a range of an index.
enum IndexWalk {
  /// Calls `body` with the primary key of each entry, ascending; false when `body` ended the walk.
  @inline(__always)
  static func forwards(
    _ range: KeyRange, _ cursor: inout Cursor, _ body: (UInt64) throws -> Bool
  ) throws -> Bool {
    try forwards(range, &cursor) { key, _ in try body(key) }
  }

  /// The same with the bytes of each entry.
  @inline(__always)
  static func forwards(
    _ range: KeyRange, _ cursor: inout Cursor, _ body: (UInt64, UnsafeRawBufferPointer) throws -> Bool
  ) throws -> Bool {
    try range.lower.withUnsafeBytes { lower in
      try (range.upper ?? []).withUnsafeBytes { upper in
        var isWhole = true
        try cursor.forEach(from: try cursor.seek(atLeast: lower)) { found in
          if range.upper != nil && IndexEntries.order(found.key, upper) >= 0 { return false }
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
          isOpen || IndexEntries.order($0, upper) < 0
        }
      }
    }
  }

  /// The same from the end, except that entries of equal values come in ascending order of primary keys: that is
  /// how ties are always broken.
  @inline(__always)
  static func backwards(
    _ range: KeyRange, _ cursor: inout Cursor, _ body: (UInt64) throws -> Bool
  ) throws -> Bool {
    try backwards(range, &cursor) { key, _ in try body(key) }
  }

  /// The same with the bytes of each entry.
  @inline(__always)
  static func backwards(
    _ range: KeyRange, _ cursor: inout Cursor, _ body: (UInt64, UnsafeRawBufferPointer) throws -> Bool
  ) throws -> Bool {
    var group: [(key: UInt64, bytes: UnsafeRawBufferPointer)] = []
    return try range.lower.withUnsafeBytes { lower in
      var entry = try start(range, &cursor)
      var value = UnsafeRawBufferPointer(start: nil, count: 0)
      while let found = entry, IndexEntries.order(found.key, lower) >= 0 {
        if !IndexEntries.isEntry(found.key, of: value) {
          for entry in group.reversed() where try !body(entry.key, entry.bytes) { return false }
          group.removeAll(keepingCapacity: true)
          value = UnsafeRawBufferPointer(rebasing: found.key.dropLast(8))
        }
        group.append((PrimaryKeyBytes.last(of: found.key), found.key))
        entry = try cursor.previous()
      }
      for entry in group.reversed() where try !body(entry.key, entry.bytes) { return false }
      return true
    }
  }

  private static func start(_ range: KeyRange, _ cursor: inout Cursor) throws -> Cursor.Entry? {
    guard let upper = range.upper else { return try cursor.last() }
    return try upper.withUnsafeBytes { try cursor.seek(atLeast: $0) } == nil
      ? cursor.last() : cursor.previous()
  }
}
