import StrataCore

/// What tables of somebody else's ask of rows that take values over from each other which must be unique: the server looks at each row by itself, and not all columns may be
/// empty for a moment. Not all that keeps nulls away is known: checks, triggers and renamed columns are not. So rows are emptied only where no order helps.
struct ExchangeRules {
  /// The numbers of the uniqueness constraints that are looked at by the commit only.
  private var deferred: Set<Int> = []
  /// The numbers of those by which NULL is a value as others: one row alone may be empty for a moment.
  private var takingNulls: Set<Int> = []
  /// By hierarchy: the columns, without quotes, that must have a value.
  private var required: [Int: Set<String>] = [:]
  private let mapping: StoreMapping

  /// - Throws: what `ask` throws.
  init(_ mapping: StoreMapping, _ ask: ChangeSetWork.Ask) throws {
    self.mapping = mapping
    let answers = try ask([
      SQLStatement(
        "\(mapping.adoptedRelations) SELECT t.place, a.attname::text FROM t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.relation AND a.attnum > 0 AND a.attnotnull"
      ),
      SQLStatement(
        "\(mapping.adoptedRelations) SELECT t.place, i.indexrelid::bigint, i.indimmediate, a.attname::text, \(ForeignIndex.takesNulls) FROM t JOIN pg_catalog.pg_index i ON i.indrelid = t.relation AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL JOIN pg_catalog.pg_attribute a ON a.attrelid = t.relation AND a.attnum = ANY((i.indkey::smallint[])[0:i.indnkeyatts - 1])"
      ),
    ])
    for row in 0..<answers[0].rowCount {
      required[Int(try answers[0].integer(row, 0)), default: []].insert(try answers[0].text(row, 1))
    }
    struct Index {
      let hierarchy: Int
      let isImmediate: Bool
      let takesNulls: Bool
      var columns: Set<String>
    }
    var indexes: [Int64: Index] = [:]
    for row in 0..<answers[1].rowCount {
      let (hierarchy, number) = (Int(try answers[1].integer(row, 0)), try answers[1].integer(row, 1))
      func isTrue(_ column: Int) -> Bool { answers[1][row, column]?.bytes.first == 1 }
      let index = Index(hierarchy: hierarchy, isImmediate: isTrue(2), takesNulls: isTrue(4), columns: [])
      indexes[number, default: index].columns.insert(try answers[1].text(row, 3))
    }
    for index in mapping.schema.indexes where index.isUnique {
      let table = mapping.table(ofEntity: index.owner)
      let names = index.parts.compactMap {
        table.column(index.owner, $0.slot).map { Identifier.plain($0.name) }
      }
      let found = indexes.values.filter { $0.hierarchy == table.hierarchy && $0.columns == Set(names) }
      if !found.isEmpty, !found.contains(where: \.isImmediate) { deferred.insert(index.number) }
      if found.contains(where: \.takesNulls) { takingNulls.insert(index.number) }
    }
  }

  /// Whether the commit alone looks whether values are unique.
  func isDeferred(_ index: IndexSchema) -> Bool { deferred.contains(index.number) }

  /// Whether a column of an entity's table must have a value.
  func isRequired(_ column: ColumnMapping, _ entity: Int) -> Bool {
    required[mapping.schema.entities[entity].hierarchyNumber]?.contains(Identifier.plain(column.name)) == true
  }

  /// A row that has what another one takes over.
  private struct Link {
    let holder: Int
    let taker: Int
    let index: IndexSchema
    /// Whether a column of the holder's may be empty for a moment.
    let mayBeEmpty: Bool
    /// Whether the taker has to wait for the holder still.
    var counts = true
  }

  /// One after the other: rows are written, or emptied for a moment, since they are in a circle.
  enum Step {
    case write([RowChange])
    case empty(IndexSchema, [RowChange])
  }

  /// The updates in parts: a row gives its values up before another one takes them. Where they do so in a circle, those that may are emptied before; one alone where NULL is a
  /// value as others, and the next one when it has its values.
  /// - Parameter stored: The row as it is now; nil when that is not known: then it is emptied if it may be.
  /// - Throws: ``StorageError`` `.refused` for a circle in which no row may be empty.
  func ordered(_ updates: [RowChange], stored: (RowChange) -> RowSnapshot?) throws -> [Step] {
    var steps: [Step] = []
    var links: [Link] = []
    for index in mapping.schema.indexes where index.isUnique && !isDeferred(index) {
      let found = self.links(index, updates, stored)
      links += found.links
      // Where one row alone may be empty, several that perhaps exchange nothing must not be.
      if takingNulls.contains(index.number), found.unordered.count > 1 { continue }
      if !found.unordered.isEmpty { steps.append(.empty(index, found.unordered.map { updates[$0] })) }
    }
    // By place among the updates: its links as the holder, and how many rows come before it.
    var held = [[Int]](repeating: [], count: updates.count)
    var waiting = [Int](repeating: 0, count: updates.count)
    for (number, link) in links.enumerated() {
      held[link.holder].append(number)
      waiting[link.taker] += 1
    }
    var left = Set(updates.indices)
    var current = updates.indices.filter { waiting[$0] == 0 }
    while true {
      while !current.isEmpty {
        steps.append(.write(current.map { updates[$0] }))
        left.subtract(current)
        var next: [Int] = []
        for link in current.flatMap({ held[$0] }).map({ links[$0] }) where link.counts {
          waiting[link.taker] -= 1
          if waiting[link.taker] == 0 { next.append(link.taker) }
        }
        current = next.sorted()
      }
      if left.isEmpty { return steps }
      let circles = Self.circles(left, links, held)
      guard circles.contains(where: { links[$0].mayBeEmpty }) else {
        throw circle(circles.first.map { links[$0] }, updates)
      }
      var emptied: [Int: [RowChange]] = [:]
      for number in circles where links[number].mayBeEmpty && links[number].counts {
        let (holder, index) = (links[number].holder, links[number].index)
        if takingNulls.contains(index.number), emptied[index.number] != nil { continue }
        emptied[index.number, default: []].append(updates[holder])
        for other in held[holder] where links[other].counts && links[other].index.number == index.number {
          links[other].counts = false
          waiting[links[other].taker] -= 1
        }
      }
      for index in mapping.schema.indexes {
        if let rows = emptied[index.number] { steps.append(.empty(index, rows)) }
      }
      current = left.filter { waiting[$0] == 0 }.sorted()
    }
  }

  /// The links in circles, and between circles, of the rows that are left: each of them waits for another one of them.
  private static func circles(_ left: Set<Int>, _ links: [Link], _ held: [[Int]]) -> [Int] {
    var rows = left
    var counts: [Int: Int] = [:]
    var holders: [Int: [Int]] = [:]
    for row in left {
      let own = held[row].filter { links[$0].counts }
      counts[row] = own.count
      for number in own { holders[links[number].taker, default: []].append(row) }
    }
    // Those for whom nobody waits are behind the circles.
    var ends = left.filter { counts[$0] == 0 }
    while let end = ends.popFirst() {
      rows.remove(end)
      for holder in holders[end] ?? [] {
        counts[holder, default: 0] -= 1
        if counts[holder] == 0 { ends.insert(holder) }
      }
    }
    return rows.sorted().flatMap { held[$0] }.filter { links[$0].counts && rows.contains(links[$0].taker) }
  }

  /// The pairs of rows of which one takes over what the other has, by a constraint; and the rows of which that is not known, and which may be empty.
  private func links(_ index: IndexSchema, _ updates: [RowChange], _ stored: (RowChange) -> RowSnapshot?) -> (
    links: [Link], unordered: [Int]
  ) {
    let schema = mapping.schema
    let (owner, table) = (schema.entities[index.owner], mapping.table(ofEntity: index.owner))
    let slots = index.parts.map(\.slot)
    let places = updates.indices.filter { place in
      owner.subtree.contains(updates[place].entity)
        && slots.contains { updates[place].changedSlots.contains($0) }
    }
    guard places.count > 1 else { return ([], []) }
    var takers: [[AttributeValue?]: [Int]] = [:]
    func values(_ row: RowSnapshot, _ change: RowChange) -> [AttributeValue?]? {
      RowStatements.values(
        row, slots, schema.entities[change.entity], takesNulls: takingNulls.contains(index.number))
    }
    for place in places {
      if let values = values(updates[place].row, updates[place]) { takers[values, default: []].append(place) }
    }
    var (links, unordered): ([Link], [Int]) = ([], [])
    for place in places {
      let change = updates[place]
      let mayBeEmpty = slots.contains { slot in
        change.changedSlots.contains(slot)
          && table.column(index.owner, slot).map { !isRequired($0, index.owner) } ?? false
      }
      guard let row = stored(change) else {
        if mayBeEmpty { unordered.append(place) }
        continue
      }
      guard let old = values(row, change) else { continue }
      let others = takers[old] ?? []
      if old.contains(nil) {
        // Large values are not known here: they may be the same ones.
        if mayBeEmpty, others.contains(where: { $0 != place }) { unordered.append(place) }
        continue
      }
      // What is NULL already gives nothing up by being emptied.
      let helps = zip(slots, old).contains { slot, value in
        value != .some(.null) && change.changedSlots.contains(slot)
          && table.column(index.owner, slot).map { !isRequired($0, index.owner) } ?? false
      }
      for taker in others where taker != place {
        links.append(Link(holder: place, taker: taker, index: index, mayBeEmpty: helps))
      }
    }
    return (links, unordered)
  }

  private func circle(_ link: Link?, _ updates: [RowChange]) -> StorageError {
    var words = "values"
    if let link {
      let table = mapping.table(ofEntity: link.index.owner)
      // What both keep is not what they exchange.
      let columns = link.index.parts.filter { updates[link.holder].changedSlots.contains($0.slot) }
        .compactMap { table.column(link.index.owner, $0.slot).map { Identifier.plain($0.name) } }
      words = "the values of \(columns.joined(separator: ", ")) in “\(table.plainName)”"
    }
    return StorageError(
      .refused, operation: "commit", path: "",
      detail:
        "Rows exchange \(words), which must be unique and NOT NULL: the server looks at each row by itself, and takes them in no order. Save them in two steps with another value in between, or have the constraint made DEFERRABLE. Nothing was saved."
    )
  }
}
