import StrataCore

/// What tables of somebody else's ask of rows that take values over from each other which must be unique: the server looks at each row by itself, and not all columns may be
/// empty for a moment. Not all that keeps nulls away is known: checks, triggers and renamed columns are not. So rows are emptied only where no order helps.
struct ExchangeRules {
  /// The numbers of the uniqueness constraints that are looked at by the commit only.
  private var deferred: Set<Int> = []
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
        "\(mapping.adoptedRelations) SELECT t.place, i.indexrelid::bigint, i.indimmediate, a.attname::text FROM t JOIN pg_catalog.pg_index i ON i.indrelid = t.relation AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL JOIN pg_catalog.pg_attribute a ON a.attrelid = t.relation AND a.attnum = ANY((i.indkey::smallint[])[0:i.indnkeyatts - 1])"
      ),
    ])
    for row in 0..<answers[0].rowCount {
      required[Int(try answers[0].integer(row, 0)), default: []].insert(try answers[0].text(row, 1))
    }
    struct Index {
      let hierarchy: Int
      let isImmediate: Bool
      var columns: Set<String>
    }
    var indexes: [Int64: Index] = [:]
    for row in 0..<answers[1].rowCount {
      let (hierarchy, number) = (Int(try answers[1].integer(row, 0)), try answers[1].integer(row, 1))
      let isImmediate = answers[1][row, 2]?.bytes.first == 1
      indexes[number, default: Index(hierarchy: hierarchy, isImmediate: isImmediate, columns: [])].columns
        .insert(try answers[1].text(row, 3))
    }
    for index in mapping.schema.indexes where index.isUnique {
      let table = mapping.table(ofEntity: index.owner)
      let names = index.parts.compactMap {
        table.column(index.owner, $0.slot).map { Identifier.plain($0.name) }
      }
      let found = indexes.values.filter { $0.hierarchy == table.hierarchy && $0.columns == Set(names) }
      if !found.isEmpty, !found.contains(where: \.isImmediate) { deferred.insert(index.number) }
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

  /// In which order updates are written.
  struct Order {
    /// One part after the other.
    var parts: [[RowChange]] = []
    /// By the number of the constraint: rows that are emptied before, since they are in a circle.
    var emptied: [Int: [RowChange]] = [:]
  }

  /// The updates in parts: a row gives its values up before another one takes them. Where they do so in a circle, those that may are emptied before.
  /// - Parameter stored: The row as it is now; nil when that is not known: then it is emptied if it may be.
  /// - Throws: ``StorageError`` `.refused` for a circle in which no row may be empty.
  func ordered(_ updates: [RowChange], stored: (RowChange) -> RowSnapshot?) throws -> Order {
    var order = Order()
    var links: [Link] = []
    for index in mapping.schema.indexes where index.isUnique && !isDeferred(index) {
      let found = self.links(index, updates, stored)
      links += found.links
      if !found.unordered.isEmpty { order.emptied[index.number] = found.unordered.map { updates[$0] } }
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
        order.parts.append(current.map { updates[$0] })
        left.subtract(current)
        var next: [Int] = []
        for link in current.flatMap({ held[$0] }).map({ links[$0] }) where link.counts {
          waiting[link.taker] -= 1
          if waiting[link.taker] == 0 { next.append(link.taker) }
        }
        current = next.sorted()
      }
      if left.isEmpty { return order }
      let circles = Self.circles(left, links, held)
      guard circles.contains(where: { links[$0].mayBeEmpty }) else {
        throw circle(circles.first.map { links[$0] }, updates)
      }
      for number in circles where links[number].mayBeEmpty && links[number].counts {
        let (holder, index) = (links[number].holder, links[number].index)
        order.emptied[index.number, default: []].append(updates[holder])
        for other in held[holder] where links[other].counts && links[other].index.number == index.number {
          links[other].counts = false
          waiting[links[other].taker] -= 1
        }
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
    for place in places {
      let entity = schema.entities[updates[place].entity]
      if let values = RowStatements.values(updates[place].row, slots, entity) {
        takers[values, default: []].append(place)
      }
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
      guard let old = RowStatements.values(row, slots, schema.entities[change.entity]) else { continue }
      let others = takers[old] ?? []
      if old.contains(nil) {
        // Large values are not known here: they may be the same ones.
        if mayBeEmpty, others.contains(where: { $0 != place }) { unordered.append(place) }
        continue
      }
      for taker in others where taker != place {
        links.append(Link(holder: place, taker: taker, index: index, mayBeEmpty: mayBeEmpty))
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
