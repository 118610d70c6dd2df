/// A store that can tell the sort keys of what it fetches from an index alone.
protocol SortKeyReading: StoreReading {
  /// Calls `body` with the sort keys of all matches. Nil when no index has them all, or when `body` answers so.
  func withSortKeys<R>(_ request: ResolvedFetchRequest, _ body: (SortKeysOnPages) throws -> R?) throws -> R?
}

/// The sort keys of what a request finds, in order, as they lie on the pages of an index. Valid inside the closure that received them, there in
/// any thread.
struct SortKeysOnPages: @unchecked Sendable {
  // Unchecked: pages of a read transaction do not change.

  /// The keys, page by page. The last eight bytes of each are the primary key, see `PrimaryKeyBytes`; before it are the bytes that the match
  /// sorts by, as ``KeyBuilder`` makes them.
  let runs: [PageTree.Run]
  private let shape: IndexKeyShape
  private let values: IndexKeyReader

  fileprivate init(_ runs: [PageTree.Run], _ index: IndexSchema) {
    self.runs = runs
    shape = IndexKeyShape(index)
    values = IndexKeyReader(index)
  }

  /// No shorter sort key has a part that was cut.
  var shortestCut: Int { shape.shortestCut }

  /// How many bytes the first sort key's part takes; nil when a part was too long for the key, or the key is none of the index's.
  func lengthOfFirst(_ sortKey: UnsafeRawBufferPointer) -> Int? { shape.lengthOfFirst(sortKey) }

  /// The value of the first sort key, from a key with its primary key.
  func firstValue(_ key: UnsafeRawBufferPointer) -> AttributeValue? {
    var found: [AttributeValue] = []
    return values.values(key, into: &found) ? found.first : nil
  }
}

extension LMDBStore: SortKeyReading {
  func withSortKeys<R>(_ request: ResolvedFetchRequest, _ body: (SortKeysOnPages) throws -> R?) throws -> R? {
    try read { reader, transaction in
      // Begins again when the catalogue turns out to be old: then nothing has been handed over yet.
      let generation = try parts.meta.number("generation", UInt64.self, transaction) ?? 0
      if generation != reader.catalogue.generation {
        throw UnknownCode(detail: "The catalogue changes again and again.")
      }
      guard let keys = try StoredView(reader, transaction).sortKeys(request, transaction) else { return nil }
      return try body(keys)
    }
  }
}

extension StoredView {
  fileprivate func sortKeys(_ request: ResolvedFetchRequest, _ transaction: borrowing ReadTransaction) throws
    -> SortKeysOnPages?
  {
    guard request.entityNumbers.count == 1, request.limit == 0, request.offset == 0, request.start == nil,
      !request.keysDescend
    else { return nil }
    guard let (index, ranges) = try wayInOrder(request),
      let keyspace = reader.catalogue.indexes.keyspaces[index.number],
      let tree = PageTree(keyspace, transaction)
    else { return nil }
    var runs: [PageTree.Run] = []
    for range in ranges {
      let found = range.lower.withUnsafeBytes { lower in
        guard let upper = range.upper else { return tree.runs(from: lower, below: nil) }
        return upper.withUnsafeBytes { tree.runs(from: lower, below: $0) }
      }
      guard let found else { return nil }
      runs += found
    }
    return SortKeysOnPages(runs, index)
  }
}

extension StoredView {
  /// The index whose parts are the sort keys, and where the matches are in it.
  private func wayInOrder(_ request: ResolvedFetchRequest) throws -> (IndexSchema, [KeyRange])? {
    func isInOrder(_ index: IndexSchema) -> Bool {
      index.parts.count == request.sorts.count
        && zip(index.parts, request.sorts).allSatisfy {
          $0.slot == $1.slot && $1.steps.isEmpty && $0.isAscending == $1.isAscending && $0.kind != .decimal
            && $1.isByBytes
        }
    }
    if request.predicate == .all {
      // The planner takes no index whose keys may be cut; a walk along this one checks that.
      let indexes = request.entity.indexes + reader.catalogue.indexes.addedByEntity[request.entity.number]
      let found = indexes.first { index in
        isInOrder(index) && !index.isUnique && index.condition == nil
          && reader.catalogue.indexes.isUsable(index.number)
          && schema.entities[index.owner].subtree.allSatisfy(request.entityNumbers.contains)
      }
      return found.map { ($0, [KeyRange(prefix: [])]) }
    }
    let plan = try plan(request, mode: .identifiers)
    guard plan.isOrdered, plan.residual == nil, !plan.filtersEntities, plan.alternative == nil,
      case .index(let number, let ranges, isReversed: false) = plan.access,
      case let index = reader.catalogue.indexes.all[number], isInOrder(index)
    else { return nil }
    return (index, ranges)
  }
}

/// Where the parts of an index's keys end.
private struct IndexKeyShape {
  private let parts: [IndexSchema.Part]
  /// No shorter key has a part that was cut.
  let shortestCut: Int

  init(_ index: IndexSchema) {
    parts = index.parts
    shortestCut = index.parts.lazy.filter { KeyLimits.isCut($0.kind) }.map(\.keyLimit).min() ?? .max
  }

  /// How many bytes the first part takes; nil when a part was too long for the key, or the key is none of the index's.
  func lengthOfFirst(_ key: UnsafeRawBufferPointer) -> Int? {
    var place = 0
    var first = 0
    for (number, part) in parts.enumerated() {
      guard place < key.count else { return nil }
      let mask: UInt8 = part.isAscending ? 0 : 0xFF
      let tag = key[place] ^ mask
      place += 1
      // Nil has no bytes of its own.
      if tag == 0x10 {
        guard let end = end(of: part.kind, key, place, mask) else { return nil }
        place = end
      } else if tag != 0x05 {
        return nil
      }
      if number == 0 { first = place }
    }
    return place == key.count ? first : nil
  }

  @inline(__always)
  private func end(of kind: SlotKind, _ key: UnsafeRawBufferPointer, _ start: Int, _ mask: UInt8) -> Int? {
    switch kind {
    case .int16, .int32, .int64, .double, .date, .reference: return start + 8
    case .float: return start + 4
    case .boolean: return start + 1
    case .uuid: return start + 16
    case .decimal, .transient: return nil
    case .string, .data, .url:
      var place = start
      while place + 1 < key.count {
        guard key[place] ^ mask == 0 else {
          place += 1
          continue
        }
        switch key[place + 1] ^ mask {
        case 0xFF: place += 2
        case 0x01: return place + 2
        default: return nil
        }
      }
      return nil
    }
  }
}
