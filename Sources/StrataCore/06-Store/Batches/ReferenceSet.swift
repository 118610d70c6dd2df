/// References to rows, eight bytes each: which rows go, in a batch that may delete millions.
///
/// ```
///   sorted   [ref ref ref …]      the bulk
///   recent   {key key}            a quarter of it at most, then it is merged in
/// ```
struct ReferenceSet {
  private var sorted: ContiguousArray<UInt64> = []
  private var recent: Set<UInt64> = []
  /// Those in `recent` with their entity codes.
  private var recentReferences: ContiguousArray<UInt64> = []

  var count: Int { sorted.count + recent.count }
  var isEmpty: Bool { count == 0 }

  /// Whether a row with the primary key of `reference` is in the set, of whatever entity.
  func contains(_ reference: UInt64) -> Bool {
    recent.contains(Reference.primaryKey(reference)) || isSorted(Reference.primaryKey(reference))
  }

  private func isSorted(_ key: UInt64) -> Bool {
    let wanted = Reference.bits(key, entityCode: 0)
    return sorted.withUnsafeBufferPointer { sorted in
      let place = sorted.indices.partitioningIndex { sorted[$0] >= wanted }
      return place < sorted.count && Reference.primaryKey(sorted[place]) == key
    }
  }

  /// Puts a reference in; whether it was new.
  mutating func insert(_ reference: UInt64) -> Bool {
    if contains(reference) { return false }
    recent.insert(Reference.primaryKey(reference))
    recentReferences.append(reference)
    if recent.count > max(4_096, sorted.count / 4) { merge() }
    return true
  }

  /// Takes over references that are sorted already, when there are none yet.
  mutating func begin(with references: ContiguousArray<UInt64>) {
    precondition(isEmpty, "the set has begun")
    sorted = references
    if !zip(sorted, sorted.dropFirst()).allSatisfy({ $0 < $1 }) { sorted.sort() }
  }

  private mutating func merge() {
    recentReferences.sort()
    var merged: ContiguousArray<UInt64> = []
    merged.reserveCapacity(count)
    var (left, right) = (0, 0)
    while left < sorted.count || right < recentReferences.count {
      if right == recentReferences.count || left < sorted.count && sorted[left] < recentReferences[right] {
        merged.append(sorted[left])
        left += 1
      } else {
        merged.append(recentReferences[right])
        right += 1
      }
    }
    sorted = merged
    recent = []
    recentReferences = []
  }

  /// All of them in ascending order.
  mutating func all() -> ContiguousArray<UInt64> {
    if !recent.isEmpty { merge() }
    return sorted
  }
}

extension [ReferenceSet] {
  /// Whether the set of the row's hierarchy has the row; false where there are no sets.
  func goes(_ row: RowAddress) -> Bool {
    indices.contains(row.hierarchy)
      && self[row.hierarchy].contains(Reference.bits(row.key, entityCode: 0))
  }
}
