import StrataCore

/// What is noted of a change set: for those who follow the store, and for its history.
///
/// It is told from the change set and from what has been asked about it anyway. Only large values that stay of deleted rows are asked for, and the entity of
/// rows of which nothing but a link tells.
struct ChangeNotes {
  private struct Update: Hashable {
    let entity: Int
    let slots: SlotBitmap
  }

  private let work: ChangeSetWork
  private var schema: Schema { work.schema }
  /// Rows that have other members, or the same in another order.
  private var related: [RowAddress: SlotBitmap] = [:]
  private var entities: [RowAddress: Int] = [:]
  private var deletes: [NotedChange] = []

  /// - Parameters:
  ///   - preserved: By entity number, the slots whose values stay when a row is deleted.
  ///   - ask: Asks the server before anything of the change set is written.
  /// - Throws: what `ask` throws.
  init(
    _ work: ChangeSetWork, _ links: LinkChanges, _ found: ReferenceQuestions.Found, preserved: [Int: [Int]],
    _ ask: ChangeSetWork.Ask
  ) throws {
    self.work = work
    relateReferences()
    relateLinks(links, found)
    for touch in work.set.touched {
      let address = work.address(touch.entity, touch.primaryKey)
      entities[address] = touch.entity
      if related[address] == nil { related[address] = SlotBitmap() }
    }
    try findEntities(found, ask)
    try noteDeletes(preserved, ask)
  }

  /// - Parameter others: Rows that the change set does not name, with other derived values.
  func changes(derived others: [RowChange]) -> [NotedChange] {
    var related = related
    var derived: Set<RowAddress> = []
    var entities = entities
    for row in others {
      let address = work.address(row.entity, row.primaryKey)
      derived.insert(address)
      entities[address] = row.entity
      related[address, default: SlotBitmap()].formUnion(
        row.changedSlots.intersection(schema.entities[row.entity].derivedSlots))
    }
    return insertNotes() + updateNotes() + notes(of: related, derived, entities) + deletes
  }

  // MARK: Who has other members

  private mutating func relate(_ address: RowAddress, _ slot: Int, entity: Int? = nil) {
    related[address, default: SlotBitmap()].insert(slot)
    if let entity { entities[address] = entity }
  }

  /// The row that a reference leads to has another member at its end.
  private mutating func relate(_ relationship: RelationshipSchema, _ reference: UInt64) {
    guard reference != 0, let number = relationship.inverse else { return }
    let inverse = schema.relationships[number]
    guard inverse.isToMany, !inverse.isTransient else { return }
    relate(
      RowAddress(hierarchy: relationship.destinationHierarchy, key: StoreReference.primaryKey(reference)),
      inverse.slot, entity: work.mapping.entity(ofCode: StoreReference.entityCode(reference)))
  }

  private mutating func relateReferences() {
    for change in work.referenceChanges {
      relate(change.relationship, change.old)
      relate(change.relationship, change.new)
    }
    for row in work.deletes.values {
      guard let snapshot = row.snapshot else { continue }
      let entity = schema.entities[row.entity]
      for relationship in entity.relationships where !relationship.isToMany && !relationship.isTransient {
        relate(relationship, snapshot.reference(relationship.slot, of: entity))
      }
    }
  }

  private mutating func relateLinks(_ links: LinkChanges, _ found: ReferenceQuestions.Found) {
    for link in links.order { relate(link) }
    for lost in found.lostLinks {
      let relationship = schema.relationships[lost.link.relationship]
      let staying = lost.isSourceGone ? lost.link.target : lost.link.source
      if !lost.isSourceGone {
        relate(work.address(lost.entity, staying), relationship.slot, entity: lost.entity)
      } else if let inverse = relationship.inverse {
        relate(
          work.address(lost.entity, staying), schema.relationships[inverse].slot, entity: lost.entity)
      }
    }
    for move in links.moves {
      relate(work.address(move.relationship.owner, move.owner), move.relationship.slot)
    }
  }

  private mutating func relate(_ link: Link) {
    let relationship = schema.relationships[link.relationship]
    relate(work.address(relationship.owner, link.source), relationship.slot)
    if let inverse = relationship.inverse {
      relate(
        RowAddress(hierarchy: relationship.destinationHierarchy, key: link.target),
        schema.relationships[inverse].slot)
    }
  }

  /// Finds the entities of related rows, by asking where nothing else tells.
  private mutating func findEntities(_ found: ReferenceQuestions.Found, _ ask: ChangeSetWork.Ask) throws {
    var unknown: [Int: [UInt64]] = [:]
    for address in related.keys
    where work.inserts[address] == nil && work.updates[address] == nil && work.deletes[address] == nil {
      if let row = work.stored[address] {
        entities[address] = row.entity
      } else if let code = found.codes[address] {
        entities[address] = try work.mapping.entity(code: Int64(code))
      } else if entities[address] == nil {
        let members = schema.hierarchies[address.hierarchy].memberNumbers
        if members.count == 1 {
          entities[address] = members[0]
        } else {
          unknown[address.hierarchy, default: []].append(address.key)
        }
      }
    }
    if unknown.isEmpty { return }
    let sorted = unknown.sorted { $0.key < $1.key }
    let answers = try ask(
      sorted.map { hierarchy, keys in
        var statement = SQLStatement(
          "SELECT t.pk, t.entity FROM \(work.mapping.tables[hierarchy].name) t WHERE ")
        statement.add("t.pk", isAnyOf: keys.sorted())
        return statement
      })
    for (question, answer) in zip(sorted, answers) {
      for row in 0..<answer.rowCount {
        entities[RowAddress(hierarchy: question.key, key: try answer.key(row, 0))] = try work.mapping.entity(
          code: try answer.integer(row, 1))
      }
    }
  }

  // MARK: Notes

  private func insertNotes() -> [NotedChange] {
    var keys: [Int: [UInt64]] = [:]
    for insert in work.set.inserts { keys[insert.entity, default: []].append(insert.primaryKey) }
    return keys.sorted { $0.key < $1.key }.map { entity, keys in
      NotedChange(.inserted, schema.entities[entity].name, keys: keys.sorted())
    }
  }

  private func updateNotes() -> [NotedChange] {
    var keys: [Update: [UInt64]] = [:]
    for update in work.set.updates {
      // What has been derived of a row is no change of its own.
      var slots = update.changedSlots
      for derived in schema.entities[update.entity].derived { slots.remove(derived.slot) }
      if let baseline = schema.entities[update.entity].baselineSlot { slots.remove(baseline) }
      related[work.address(update.entity, update.primaryKey)]?.forEach { slots.insert($0) }
      keys[Update(entity: update.entity, slots: slots), default: []].append(update.primaryKey)
    }
    return notes(.updated, keys)
  }

  private func notes(
    of related: [RowAddress: SlotBitmap], _ derived: Set<RowAddress>, _ entities: [RowAddress: Int]
  ) -> [NotedChange] {
    var keys: [Update: [UInt64]] = [:]
    var changed: [Update: [UInt64]] = [:]
    for (address, slots) in related
    where work.inserts[address] == nil && work.updates[address] == nil && work.deletes[address] == nil {
      guard let entity = entities[address] else { continue }
      let update = Update(entity: entity, slots: slots)
      if derived.contains(address) {
        changed[update, default: []].append(address.key)
      } else {
        keys[update, default: []].append(address.key)
      }
    }
    return notes(.updated, changed) + notes(.related, keys)
  }

  private func notes(_ kind: NotedChange.Kind, _ keys: [Update: [UInt64]]) -> [NotedChange] {
    let sorted = keys.map { (update: $0.key, keys: $0.value.sorted()) }.sorted {
      ($0.update.entity, $0.keys[0]) < ($1.update.entity, $1.keys[0])
    }
    return sorted.map { update, keys in
      let entity = schema.entities[update.entity]
      var names: [String] = []
      update.slots.forEach { slot in
        if slot != entity.baselineSlot, slot < entity.attributes.count {
          names.append(entity.attributes[slot].name)
        }
      }
      return NotedChange(kind, entity.name, keys: keys, properties: names)
    }
  }

  private mutating func noteDeletes(_ preserved: [Int: [Int]], _ ask: ChangeSetWork.Ask) throws {
    var keys: [Int: [UInt64]] = [:]
    var values: [Int: [String: [String: String]]] = [:]
    var outside: [OutsideColumn: [UInt64]] = [:]
    for (address, row) in work.deletes {
      keys[row.entity, default: []].append(address.key)
      let entity = schema.entities[row.entity]
      for slot in preserved[row.entity] ?? [] {
        switch row.snapshot?.content(slot, of: entity) {
        case .value(let value)?:
          if let text = NotedValue.text(value) {
            values[row.entity, default: [:]]["\(address.key)", default: [:]][entity.attributes[slot].name] =
              text
          }
        case .outside?:
          outside[OutsideColumn(entity: row.entity, slot: slot), default: []].append(address.key)
        case nil: break
        }
      }
    }
    try readOutside(outside, &values, ask)
    for (entity, keys) in keys.sorted(by: { $0.key < $1.key }) {
      deletes.append(
        NotedChange(
          .deleted, schema.entities[entity].name, keys: keys.sorted(), values: values[entity]))
    }
  }

  private struct OutsideColumn: Hashable {
    let entity: Int
    let slot: Int
  }

  /// Reads the large values that stay, while their rows are there.
  private func readOutside(
    _ outside: [OutsideColumn: [UInt64]], _ values: inout [Int: [String: [String: String]]],
    _ ask: ChangeSetWork.Ask
  ) throws {
    if outside.isEmpty { return }
    let questions = outside.compactMap {
      place, keys -> (place: OutsideColumn, column: ColumnMapping, keys: [UInt64])? in
      work.mapping.table(ofEntity: place.entity).column(place.entity, place.slot).map { (place, $0, keys) }
    }
    let answers = try ask(
      questions.map { place, column, keys in
        var statement = SQLStatement(
          "SELECT t.pk, t.\(column.name) FROM \(work.mapping.table(ofEntity: place.entity).name) t WHERE t.pk = ANY("
        )
        statement += statement.bind(keys: keys.sorted()) + ")"
        return statement
      })
    for (question, answer) in zip(questions, answers) {
      let name = schema.entities[question.place.entity].attributes[question.place.slot].name
      for row in 0..<answer.rowCount {
        guard let value = answer[row, 1]?.attribute(question.column.kind), let text = NotedValue.text(value)
        else { continue }
        values[question.place.entity, default: [:]]["\(try answer.key(row, 0))", default: [:]][name] = text
      }
    }
  }
}
