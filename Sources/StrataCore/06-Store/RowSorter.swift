import Foundation

/// Brings rows into the order of a request: by encoded keys, which are compared as bytes.
///
/// ```
///   sort part · sort part · … · primary key · place among the candidates
/// ```
///
/// With a window, only the keys that can still get into it are kept: candidates behind the last place are
/// rejected by one comparison. Rows stay where they lie in the store until the order is known.
struct RowSorter: ~Copyable {
  private let sorts: [ResolvedSort]
  private let windowEnd: Int?
  private let reader: RowReader
  private let partLimit: Int
  private var builder = KeyBuilder()
  private let keys = SortKeys()
  /// Whether a value was too long for its key: then bytes do not tell the order.
  private var hasCutKeys = false
  /// The rows that may be in the result, in the order they came.
  private(set) var candidates: ContiguousArray<(key: UInt64, row: StoredRow)> = []

  init(sorts: [ResolvedSort], windowEnd: Int?, reader: RowReader) {
    self.sorts = sorts
    // A window of millions is no reason to sort again and again.
    self.windowEnd = windowEnd.flatMap { (1...1 << 20).contains($0) ? $0 : nil }
    self.reader = reader
    // Keys are not stored: they may be longer than those of an index, but not without limit.
    partLimit = sorts.count > 100 ? 16 : KeyBuilder.maximumVariableLength
  }

  @inline(__always)
  mutating func add(_ row: StoredRow, _ key: UInt64, _ transaction: borrowing ReadTransaction) throws {
    builder.reset()
    let layout = reader.layout(of: row)
    for sort in sorts {
      var made = builder.append(
        fromRow: row.base, slot: sort.slot, layout: layout, isAscending: sort.isAscending, limit: partLimit)
      if made == .external {
        let value = try reader.value(row, sort.slot, primaryKey: key, externals: [], transaction)
        made = builder.append(value, isAscending: sort.isAscending, limit: partLimit)
      }
      if made == .truncated { hasCutKeys = true }
    }
    builder.appendPrimaryKey(key)
    builder.appendPrimaryKey(UInt64(candidates.count))
    let isAdded = keys.add(builder.bytes, windowEnd: hasCutKeys ? nil : windowEnd)
    if isAdded { candidates.append((key, row)) }
  }

  /// The places of the candidates in order.
  mutating func sorted(_ transaction: borrowing ReadTransaction) throws -> [UInt64] {
    keys.sort()
    let places = keys.places
    return hasCutKeys ? try sortedByValues(places, transaction) : places
  }

  /// Sorts by the values themselves.
  private func sortedByValues(
    _ places: [UInt64], _ transaction: borrowing ReadTransaction
  ) throws -> [UInt64] {
    var values: [UInt64: [AttributeValue]] = [:]
    for place in places {
      let (key, row) = candidates[Int(place)]
      values[place] = try sorts.map {
        try reader.value(row, $0.slot, primaryKey: key, externals: [], transaction)
      }
    }
    return places.sorted { left, right in
      for (part, sort) in sorts.enumerated() {
        let order = AttributeValue.compare(values[left]?[part] ?? .null, values[right]?[part] ?? .null)
        if order != 0 { return (order < 0) == sort.isAscending }
      }
      return candidates[Int(left)].key < candidates[Int(right)].key
    }
  }
}

/// The keys of a ``RowSorter``, in a box: they are flat memory that is not copied.
private final class SortKeys {
  private var entries = IndexEntries()
  /// Whether `entries` are the best so far, sorted, the last one being the one to beat.
  private var isFull = false

  /// Adds a key unless it lies behind the window; whether it did.
  @inline(__always)
  func add(_ key: UnsafeRawBufferPointer, windowEnd: Int?) -> Bool {
    guard let windowEnd else {
      entries.append(key, isTruncated: false, isConstrained: false)
      return true
    }
    if isFull && IndexEntries.order(key, entries.key(windowEnd - 1)) >= 0 { return false }
    entries.append(key, isTruncated: false, isConstrained: false)
    if entries.count >= windowEnd * 2 + 512 {
      entries.sort()
      entries.keep(first: windowEnd)
      isFull = true
    }
    return true
  }

  func sort() { entries.sort() }

  var places: [UInt64] { (0..<entries.count).map { PrimaryKeyBytes.last(of: entries.key($0)) } }
}
