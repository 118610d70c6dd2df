/// A store that can tell the sort keys of what it fetches from an index alone.
protocol SortKeyReading: StoreReading {
  /// Calls `body` with each match in order: its primary key, the bytes that it sorts by, as ``KeyBuilder`` makes them, without the
  /// primary key behind them, how many of them are the first sort key's, and what reads its value.
  ///
  /// False when no index has it all: what has been handed over until then does not count.
  func forEachSortKey(
    _ request: ResolvedFetchRequest,
    _ body: (UInt64, UnsafeRawBufferPointer, Int, () -> AttributeValue?) throws -> Void
  ) throws -> Bool
}

extension LMDBStore: SortKeyReading {
  func forEachSortKey(
    _ request: ResolvedFetchRequest,
    _ body: (UInt64, UnsafeRawBufferPointer, Int, () -> AttributeValue?) throws -> Void
  ) throws -> Bool {
    try read { reader, transaction in
      // Begins again when the catalogue turns out to be old: then nothing has been handed over yet.
      let generation = try parts.meta.number("generation", UInt64.self, transaction) ?? 0
      if generation != reader.catalogue.generation {
        throw UnknownCode(detail: "The catalogue changes again and again.")
      }
      return try StoredView(reader, transaction).forEachSortKey(request, transaction, body)
    }
  }
}

extension StoredView {
  fileprivate func forEachSortKey(
    _ request: ResolvedFetchRequest, _ transaction: borrowing ReadTransaction,
    _ body: (UInt64, UnsafeRawBufferPointer, Int, () -> AttributeValue?) throws -> Void
  ) throws -> Bool {
    guard request.entityNumbers.count == 1, request.limit == 0, request.offset == 0, request.start == nil
    else { return false }
    guard let (index, ranges) = try wayInOrder(request),
      let keyspace = reader.catalogue.indexes.keyspaces[index.number]
    else { return false }
    let shape = IndexKeyShape(index)
    let values = IndexKeyReader(index)
    return try transaction.withCursor(keyspace) { cursor in
      for range in ranges {
        let isWhole = try IndexWalk.forwards(range, &cursor) { key, bytes in
          let sortKey = UnsafeRawBufferPointer(rebasing: bytes.dropLast(8))
          guard let first = shape.lengthOfFirst(sortKey) else { return false }
          try body(key, sortKey, first) {
            var found: [AttributeValue] = []
            return values.values(bytes, into: &found) ? found.first : nil
          }
          return true
        }
        if !isWhole { return false }
      }
      return true
    }
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

  init(_ index: IndexSchema) { parts = index.parts }

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
