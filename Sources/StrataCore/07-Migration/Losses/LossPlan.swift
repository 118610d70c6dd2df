/// What a migration by inference has no place for: found by comparing the models, before looking whether anything is there.
///
/// Entities that go; attributes that go, or become transient or derived; relationships of which neither end stays; order that goes. Not
/// what is derived, which is no value of its own, and not relationships to entities that go, which go with them.
package struct LossPlan: Sendable {
  /// What an object of one entity may lose.
  package struct Loss: Sendable, Hashable {
    package enum Kind: Sendable, Hashable { case object, value, members, order }
    package let kind: Kind
    /// `Entity`, `Entity.attribute` or `Entity.relationship`, as the store's model has them; of an inherited property the entity that declares it.
    package let name: String
    /// The names by which it may be permitted: that one; of a property also with the object's own entity; the composites that an element is part of; the relationship's inverse.
    package let permittedBy: Set<String>
  }

  /// Where it shows in a row.
  package enum Place: Sendable {
    case row
    case slot(Int)
    /// So many members at least; without members of entities that keep the relationship from their end.
    case members(MigrationPlan.Path, atLeast: Int, exceptOf: Set<Int>)
  }

  /// By number of the source's entity.
  package let places: [[(loss: Int, place: Place)]]
  package let losses: [Loss]

  package var isEmpty: Bool { losses.isEmpty }

  init(_ pairing: ModelPairing, _ plan: MigrationPlan) {
    var losses: [Loss] = []
    var places = [[(loss: Int, place: Place)]](repeating: [], count: plan.source.entities.count)
    let kept = KeptRelationships(pairing, plan)
    for entity in plan.source.entities where !entity.isAbstract {
      func add(_ kind: Loss.Kind, _ name: String, _ others: [String], _ place: Place) {
        losses.append(Loss(kind: kind, name: name, permittedBy: Set(others + [name])))
        places[entity.number].append((losses.count - 1, place))
      }
      guard let target = plan.entities[entity.number] else {
        if plan.holds(entity) { add(.object, entity.name, [], .row) }
        continue
      }
      for slot in Self.lostSlots(entity, target) {
        let (name, declared) = (entity.attributes[slot].name, Self.declared(slot, entity))
        let own = "\(entity.name).\(name)"
        // Of an element also what it is an element of.
        let wholes = Self.composites(of: own, name) + Self.composites(of: declared, name)
        add(.value, declared, [own] + wholes, .slot(slot))
      }
      for relationship in entity.relationships where !relationship.isTransient {
        let inverse = relationship.inverse.map { plan.source.relationships[$0] }
        let others =
          ["\(entity.name).\(relationship.name)"] + (inverse.map { [$0.qualifiedName] } ?? [])
        let path = MigrationPlan.path(to: relationship, in: plan.source)
        switch kept[entity.number, relationship.number] {
        case .ordered?: break
        case .unordered?:
          if relationship.isOrdered {
            add(.order, relationship.qualifiedName, others, .members(path, atLeast: 2, exceptOf: []))
          }
        case nil:
          let keeping = inverse.map { kept.entities(keeping: $0.number) } ?? []
          add(.members, relationship.qualifiedName, others, .members(path, atLeast: 1, exceptOf: keeping))
          if relationship.isOrdered, !keeping.isEmpty {
            add(.order, relationship.qualifiedName, others, .members(path, atLeast: 2, exceptOf: []))
          }
        }
      }
    }
    self.losses = losses
    self.places = places
  }

  /// The slots of stored values that no slot of the later entity takes over.
  private static func lostSlots(_ entity: EntitySchema, _ target: MigrationPlan.Entity) -> [Int] {
    var taken = SlotBitmap()
    for (slot, value) in target.values.enumerated() where !target.destination.derivedSlots.contains(slot) {
      if case .slot(let old, _) = value { taken.insert(old) }
    }
    return entity.attributes.indices.filter { slot in
      let attribute = entity.attributes[slot]
      return attribute.relationship == nil && !attribute.isTransient && slot != entity.baselineSlot
        && !entity.derivedSlots.contains(slot) && !taken.contains(slot)
    }
  }

  /// `Entity.address` and `Entity.address.place` of `Entity.address.place.latitude`, whose key path is `path`.
  private static func composites(of name: String, _ path: String) -> [String] {
    let keys = path.split(separator: ".", omittingEmptySubsequences: false)
    return keys.indices.dropFirst().map { place in
      String(name.dropLast(keys[place...].reduce(0) { $0 + $1.count + 1 }))
    }
  }

  /// `Entity.name` with the entity that declares the property in the slot.
  private static func declared(_ slot: Int, _ entity: EntitySchema) -> String {
    let slots = entity.entityDescription.slotDescriptions
    let owner = slots.indices.contains(slot) ? slots[slot].property.entity?.name : nil
    return "\(owner ?? entity.name).\(entity.attributes[slot].name)"
  }
}

extension MigrationPlan {
  /// Whether the store holds rows of the entity at all.
  package func holds(_ entity: EntitySchema) -> Bool { held.contains(entity.name) }
}

/// Which relationships of the source the destination has too, entity by entity: a property may go from one subentity and stay in another.
private struct KeptRelationships {
  enum Form { case ordered, unordered }
  private var forms: [Int: [Int: Form]] = [:]

  init(_ pairing: ModelPairing, _ plan: MigrationPlan) {
    for pair in pairing.pairs {
      guard let old = plan.source.entity(named: pair.source.name ?? "") else { continue }
      for relationship in pair.relationships where !relationship.destination.isTransient {
        guard let source = relationship.source, !source.isTransient,
          let known = old.relationships.first(where: { $0.name == source.name }),
          let new = relationship.destination.property as? RelationshipDescription
        else { continue }
        forms[old.number, default: [:]][known.number] = new.isOrdered ? .ordered : .unordered
      }
    }
  }

  subscript(entity: Int, relationship: Int) -> Form? { forms[entity]?[relationship] }

  /// The entities whose objects keep the relationship.
  func entities(keeping relationship: Int) -> Set<Int> {
    Set(forms.filter { $0.value[relationship] != nil }.keys)
  }
}
