import Foundation

extension EdgeChanges {
  /// Writes what was collected and settled: through one cursor, owner by owner, then the order lists.
  ///
  /// A count is changed once per owner. What is there already, and what is not there any more, changes nothing.
  func write(
    _ keyspace: Keyspace, _ parts: StoreParts, _ codes: RelationshipCodes,
    _ transaction: borrowing WriteTransaction
  ) throws {
    var writing = EdgeWriting(changes: self, parts: parts, codes: codes)
    try transaction.withCursor(keyspace) { try writing.run(&$0) }
  }
}

/// One run of writing edges.
private struct EdgeWriting {
  let parts: StoreParts
  private let removals: ContiguousArray<Edge>
  private let additions: ContiguousArray<Edge>
  private var placements: ContiguousArray<EdgePlacement>
  /// Entries of order lists. The sequence says nothing here.
  private var orderRemovals: ContiguousArray<OrderEntry> = []
  private var orderAdditions: ContiguousArray<OrderEntry> = []
  private var packed: PackedEdgeWriting
  private let codes: RelationshipCodes
  /// No key of the keyspace begins with a larger word.
  private var end: UInt64 = 0
  private var isEmpty = false

  private struct OrderEntry {
    let prefix: UInt64
    let position: UInt64
    let member: UInt64

    static func precedes(_ a: OrderEntry, _ b: OrderEntry) -> Bool {
      (a.prefix, a.position, a.member) < (b.prefix, b.position, b.member)
    }
  }

  init(changes: EdgeChanges, parts: StoreParts, codes: RelationshipCodes) {
    self.parts = parts
    self.codes = codes
    packed = PackedEdgeWriting(parts)
    removals = changes.removals
    additions = changes.additions
    placements = changes.placements
  }

  mutating func run(_ cursor: inout Cursor) throws {
    try findEnd(&cursor)
    var (removal, addition, placement) = (0, 0, 0)
    while true {
      var prefix = UInt64.max
      if removal < removals.count { prefix = min(prefix, removals[removal].prefix) }
      if addition < additions.count { prefix = min(prefix, additions[addition].prefix) }
      if placement < placements.count { prefix = min(prefix, placements[placement].prefix) }
      // No code has all bits set: that of an order list never comes here.
      if prefix == .max { break }
      let isNew = isEmpty || prefix > end
      let firstRemoval = removal
      while removal < removals.count, removals[removal].prefix == prefix { removal += 1 }
      if !codes.isOrdered(code: EdgeKey.code(prefix)) {
        let firstAddition = addition
        while addition < additions.count, additions[addition].prefix == prefix { addition += 1 }
        let new = additions[firstAddition..<addition]
        if !isNew {
          try packed.change(prefix, removals[firstRemoval..<removal], new, &cursor)
        } else if !new.isEmpty {
          try packed.write(prefix, new, append: true, &cursor)
          (end, isEmpty) = (prefix, false)
        }
        continue
      }
      var change = 0
      for place in firstRemoval..<removal {
        if try !isNew && remove(removals[place], &cursor) { change -= 1 }
      }
      if placement < placements.count, placements[placement].prefix == prefix {
        change += try place(prefix, &placement, isNew: isNew, &cursor)
      }
      if change != 0 { try changeCount(prefix, by: change, &cursor) }
    }
    try writeOrder(&cursor)
  }

  private mutating func findEnd(_ cursor: inout Cursor) throws {
    guard let entry = try cursor.last() else {
      isEmpty = true
      return
    }
    guard entry.key.count >= 8 else { throw parts.damaged("The last edge has a short key.") }
    end = EdgeKey.word(entry.key, 0)
  }

  // MARK: Ordered edges

  /// Whether the edge was there.
  private mutating func remove(_ edge: Edge, _ cursor: inout Cursor) throws -> Bool {
    let found = try EdgeKey.withEdge(edge.prefix, edge.member) { try cursor.seek(exactly: $0) }
    guard let found else { return false }
    if let position = EdgeKey.number(found.value) {
      orderRemovals.append(OrderEntry(prefix: edge.prefix, position: position, member: edge.member))
    }
    try cursor.delete()
    return true
  }

  private mutating func changeCount(_ prefix: UInt64, by change: Int, _ cursor: inout Cursor) throws {
    let found = try EdgeKey.withCount(prefix) { try cursor.seek(exactly: $0) }
    let old = found.map { EdgeKey.number($0.value).flatMap { Int(exactly: $0) } ?? -1 } ?? 0
    guard old >= 0, old + change >= 0 else {
      throw parts.damaged("The number of members of p\(EdgeKey.owner(prefix)) is wrong.")
    }
    if old + change == 0 {
      if found != nil { try cursor.delete() }
      return
    }
    try EdgeKey.withCount(prefix) { key in
      try withUnsafeBytes(of: UInt64(old + change).littleEndian) { try cursor.put(key, $0) }
    }
  }

  /// Places the members of one owner; how many were not there.
  private mutating func place(
    _ prefix: UInt64, _ place: inout Int, isNew: Bool, _ cursor: inout Cursor
  ) throws -> Int {
    let start = place
    while place < placements.count, placements[place].prefix == prefix { place += 1 }
    var added = 0
    /// Places of members that come last.
    var appended: [Int] = []
    var largest: UInt64?
    for index in start..<place {
      let (member, kind) = (placements[index].member, placements[index].kind)
      let old = isNew ? nil : try position(prefix, member, &cursor)
      if placements[index].isProvisional {
        if kind == .move, old == nil {
          placements[index].kind = .remove
          continue
        }
        if let old {
          orderRemovals.append(OrderEntry(prefix: prefix, position: old, member: member))
        } else {
          added += 1
        }
        appended.append(index)
        continue
      }
      switch (kind, old) {
      case (.append, nil):
        appended.append(index)
        added += 1
        continue
      case (.append, _?), (.move, nil):
        placements[index].kind = .remove
        continue
      case (_, let old?) where old == placements[index].position:
        placements[index].kind = .remove
      case (_, let old?):
        orderRemovals.append(OrderEntry(prefix: prefix, position: old, member: member))
      case (_, nil):
        added += 1
      }
      largest = max(largest ?? 0, placements[index].position)
    }
    if !appended.isEmpty {
      if !isNew, let stored = try lastPosition(prefix, &cursor) { largest = max(largest ?? 0, stored) }
      appended.sort { placements[$0].appendOrder < placements[$1].appendOrder }
      for index in appended {
        let position = largest.map(EdgePosition.after) ?? EdgePosition.first
        placements[index].position = position
        largest = position
      }
    }
    // `remove` marks those that stay as they are.
    for index in start..<place where placements[index].kind != .remove {
      let (member, position) = (placements[index].member, placements[index].position)
      try EdgeKey.withEdge(prefix, member) { key in
        try withUnsafeBytes(of: position.littleEndian) { try cursor.put(key, $0) }
      }
      orderAdditions.append(OrderEntry(prefix: prefix, position: position, member: member))
    }
    return added
  }

  private func position(_ prefix: UInt64, _ member: UInt64, _ cursor: inout Cursor) throws -> UInt64? {
    let found = try EdgeKey.withEdge(prefix, member) { try cursor.seek(exactly: $0) }
    guard let found else { return nil }
    guard let position = EdgeKey.number(found.value) else {
      throw parts.damaged("The position of a member of p\(EdgeKey.owner(prefix)) is damaged.")
    }
    return position
  }

  /// The largest position in the order list as it was before the change set.
  private func lastPosition(_ prefix: UInt64, _ cursor: inout Cursor) throws -> UInt64? {
    let start = prefix | EdgeKey.orderPrefix
    let behind = try EdgeKey.withCount(start + 1) { try cursor.seek(atLeast: $0) }
    guard let entry = behind == nil ? try cursor.last() : try cursor.previous(),
      entry.key.count == EdgeKey.orderLength, EdgeKey.word(entry.key, 0) == start
    else { return nil }
    return EdgeKey.word(entry.key, 1)
  }

  private mutating func writeOrder(_ cursor: inout Cursor) throws {
    orderRemovals.sort(by: OrderEntry.precedes)
    orderAdditions.sort(by: OrderEntry.precedes)
    for entry in orderRemovals {
      let found = try EdgeKey.withOrder(entry.prefix, entry.position, entry.member) {
        try cursor.seek(exactly: $0)
      }
      if found != nil { try cursor.delete() }
    }
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    // Entries behind everything are appended: from the first prefix on that is.
    let end = try cursor.last().map { EdgeKey.word($0.key, 0) } ?? 0
    for entry in orderAdditions {
      let append = entry.prefix | EdgeKey.orderPrefix > end
      try EdgeKey.withOrder(entry.prefix, entry.position, entry.member) {
        try cursor.put($0, none, append: append)
      }
    }
  }
}

extension EdgePosition {
  /// The position of a member that comes behind one at `last`. Where the numbers run out, the rest is halved, and at
  /// the very end members stand in order of their references.
  static func after(_ last: UInt64) -> UInt64 {
    let end = firstProvisional - 1
    if last >= end { return last }
    return end - last > gap ? last + gap : last + (end - last + 1) / 2
  }
}

extension EdgePlacement {
  /// Whether the position only says in which order members are appended.
  fileprivate var isProvisional: Bool { position >= EdgePosition.firstProvisional && kind != .append }
  /// The order of appending: by provisional positions, then those without a position.
  fileprivate var appendOrder: (UInt64, UInt32) { (isProvisional ? position : .max, sequence) }
}
