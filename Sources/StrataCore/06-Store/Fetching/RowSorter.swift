import CLMDBShim
import Foundation

/// Brings rows into the order of a request: by encoded keys, which are compared as bytes.
///
/// ```
///   sort part · sort part · … · primary key · place among the candidates
/// ```
///
/// Of primary keys that descend all bits are turned.
///
/// A single key that is a number, which most are, is kept as one instead: sorting by it is stable, and rows come in the order of
/// their primary keys.
///
/// With a window, only the keys that can still get into it are kept: candidates behind the last place are
/// rejected by one comparison. Rows stay where they lie in the store until the order is known.
struct RowSorter: ~Copyable {
  private let sorts: [ResolvedSort]
  private let windowEnd: Int?
  private let view: StoredView
  private let reader: RowReader
  /// Per sort key the relationships that lead to the row whose value it is.
  private let steps: [[RelationshipSchema]]
  private let partLimit: Int
  /// What primary keys are combined with, so that they ascend in the order wanted: all bits where they descend.
  private let keyMask: UInt64
  private var builder = KeyBuilder()
  private let keys = SortKeys()
  /// Whether bytes do not tell the order: a value was too long for its key, or texts are ordered otherwise.
  private var hasCutKeys: Bool
  /// The rows that may be in the result, in the order they came.
  private(set) var candidates: ContiguousArray<(key: UInt64, row: StoredRow)> = []

  /// May end the sort; nil when it cannot be ended.
  private let monitor: FetchMonitor?
  /// The only sort key, when it is a number and all rows are wanted.
  private let number: ResolvedSort?
  private var numbers: ContiguousArray<NumberedPlace> = []
  /// The places of rows that have no number.
  private var nils: [UInt64] = []

  private struct NumberedPlace: PrefixSortable {
    /// The number, so that numbers without a sign are in order.
    var prefix: UInt64
    var place: Int
  }

  init(_ request: ResolvedFetchRequest, view: StoredView) {
    monitor = request.monitor
    let sorts = request.sorts
    self.sorts = sorts
    hasCutKeys = !sorts.allSatisfy(\.isByBytes)
    self.view = view
    steps = sorts.map { $0.steps.map { view.schema.relationships[$0] } }
    // A window of millions is no reason to sort again and again.
    let windowEnd = request.windowEnd.flatMap { (1...1 << 20).contains($0) ? $0 : nil }
    self.windowEnd = windowEnd
    keyMask = request.keysDescend ? .max : 0
    number =
      windowEnd == nil && !request.keysDescend && sorts.count == 1 && sorts[0].steps.isEmpty
        && KeyBuilder.isNumber(request.entity.layout.kind(of: sorts[0].slot)) ? sorts[0] : nil
    reader = view.reader
    // Keys are not stored: they may be longer than those of an index, but not without limit.
    partLimit = sorts.count > 100 ? 16 : KeyBuilder.maximumVariableLength
  }

  /// Says that a candidate will be needed soon.
  @inline(__always)
  func prefetchCandidate(_ place: UInt64) {
    candidates.withUnsafeBufferPointer { candidates in
      if Int(place) < candidates.count, let base = candidates.baseAddress {
        strata_prefetch(base + Int(place))
      }
    }
  }

  /// Adds a row; rows come in the order of their primary keys.
  @inline(__always)
  mutating func add(_ row: StoredRow, _ key: UInt64, _ transaction: borrowing ReadTransaction) throws {
    let layout = reader.layout(of: row)
    if let number {
      if let word = KeyBuilder.number(fromRow: row.base, slot: number.slot, layout: layout) {
        numbers.append(NumberedPlace(prefix: number.isAscending ? word : ~word, place: candidates.count))
      } else {
        nils.append(UInt64(candidates.count))
      }
      candidates.append((key, row))
      return
    }
    builder.reset()
    for (place, sort) in sorts.enumerated() {
      if !sort.steps.isEmpty {
        try addRelated(row, key, place)
        continue
      }
      var made = builder.append(
        fromRow: row.base, slot: sort.slot, layout: layout, isAscending: sort.isAscending, limit: partLimit)
      if made == .external {
        let value = try reader.value(row, sort.slot, primaryKey: key, externals: [], transaction)
        made = builder.append(value, isAscending: sort.isAscending, limit: partLimit)
      }
      if made == .truncated { hasCutKeys = true }
    }
    builder.appendPrimaryKey(key ^ keyMask)
    builder.appendPrimaryKey(UInt64(candidates.count))
    let isAdded = keys.add(builder.bytes, windowEnd: hasCutKeys ? nil : windowEnd)
    if isAdded { candidates.append((key, row)) }
  }

  /// The part of a key that another row has.
  @inline(never)
  private mutating func addRelated(_ row: StoredRow, _ key: UInt64, _ place: Int) throws {
    let sort = sorts[place]
    guard let other = try view.follow(StoredNode(row: row, primaryKey: key), steps[place]) else {
      builder.append(.null, isAscending: sort.isAscending, limit: partLimit)
      return
    }
    var made = builder.append(
      fromRow: other.row.base, slot: sort.slot, layout: reader.layout(of: other.row),
      isAscending: sort.isAscending, limit: partLimit)
    if made == .external {
      made = builder.append(try view.value(other, sort.slot), isAscending: sort.isAscending, limit: partLimit)
    }
    if made == .truncated { hasCutKeys = true }
  }

  /// The places of the candidates in order.
  mutating func sorted(_ transaction: borrowing ReadTransaction) throws -> [UInt64] {
    if let number { return try sortedByNumber(number) }
    try keys.sort { try monitor?.checkWhetherStopped() }
    let places = keys.places
    return hasCutKeys ? try sortedByValues(places, transaction) : places
  }

  private mutating func sortedByNumber(_ number: ResolvedSort) throws -> [UInt64] {
    try monitor?.checkWhetherStopped()
    numbers.withUnsafeMutableBufferPointer { PrefixSort.sort($0) }
    try monitor?.checkWhetherStopped()
    var places: [UInt64] = []
    places.reserveCapacity(candidates.count)
    if number.isAscending { places += nils }
    for entry in numbers { places.append(UInt64(entry.place)) }
    if !number.isAscending { places += nils }
    return places
  }

  /// Sorts by the values themselves.
  private func sortedByValues(
    _ places: [UInt64], _ transaction: borrowing ReadTransaction
  ) throws -> [UInt64] {
    var values: [UInt64: [AttributeValue]] = [:]
    let ticker = monitor.map { FetchTicker($0, countsRows: false) }
    for place in places {
      try ticker?.step()
      let (key, row) = candidates[Int(place)]
      values[place] = try sorts.indices.map { part in
        let node = try view.follow(StoredNode(row: row, primaryKey: key), steps[part])
        return try node.map { try view.value($0, sorts[part].slot) } ?? .null
      }
    }
    return try places.sorted { left, right in
      try ticker?.step()
      for (part, sort) in sorts.enumerated() {
        let order = sort.comparator.order(values[left]?[part] ?? .null, values[right]?[part] ?? .null)
        if order != 0 { return (order < 0) == sort.isAscending }
      }
      return candidates[Int(left)].key ^ keyMask < candidates[Int(right)].key ^ keyMask
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
    if isFull && KeyOrder.order(key, entries.key(windowEnd - 1)) >= 0 { return false }
    entries.append(key, isTruncated: false, isConstrained: false)
    if entries.count >= windowEnd * 2 + 512 {
      entries.sort()
      entries.keep(first: windowEnd)
      isFull = true
    }
    return true
  }

  func sort(_ mayGoOn: () throws -> Void) rethrows { try entries.sort(mayGoOn) }

  var places: [UInt64] { (0..<entries.count).map { PrimaryKeyBytes.last(of: entries.key($0)) } }
}
