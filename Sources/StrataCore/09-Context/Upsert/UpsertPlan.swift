import Foundation

/// The records of an upsert, looked at and brought together by key, before anything is changed.
struct UpsertPlan {
  /// What a record says of one property.
  private enum Change {
    case value(AttributeValue)
    /// Of an attribute that is not stored.
    case transient(Any?)
    /// Of a composite or transformable attribute.
    case keyed(Any)
    case members([Target])
  }

  /// The other end of a relationship.
  private enum Target: Hashable {
    case object(ManagedObject)
    case identifier(ManagedObjectID)
  }

  private let context: ManagedObjectContext
  private let entity: EntitySchema
  private let index: IndexSchema
  /// The relationships whose members are added to those that are there, by slot.
  private var merged = SlotBitmap()
  /// Distinct keys, in the order of the records.
  private var keys: [[AttributeValue]] = []
  private var places: [[AttributeValue]: Int] = [:]
  /// By place in `keys`, then by slot.
  private var changes: [[Int: Change]] = []
  /// The store that references in keys lead to.
  private var keyStore: Int?
  /// The place in `keys` of each record.
  private var records: [Int] = []

  init(
    _ entity: EntitySchema, by keys: [String], _ relationships: [String: UpsertRelationshipRule],
    in context: ManagedObjectContext
  ) throws {
    self.context = context
    self.entity = entity
    if entity.isAbstract {
      throw CoreDataError(
        .coreData, "\(entity.name) is abstract: name the entity that new records are to have.")
    }
    let slots = keys.compactMap { entity.slot(named: $0) }
    let constraint = entity.indexes.first { index in
      index.isUnique && index.parts.count == keys.count && Set(index.parts.map(\.slot)) == Set(slots)
    }
    guard let constraint else {
      let known = entity.indexes.filter(\.isUnique).map { index in
        "[" + index.parts.map { entity.attributes[$0.slot].name }.joined(separator: ", ") + "]"
      }
      throw CoreDataError(
        .coreData,
        "[\(keys.joined(separator: ", "))] is no uniqueness constraint of \(entity.name), so it does not tell records apart; "
          + (known.isEmpty ? "it has none." : "there are \(known.joined(separator: ", "))."))
    }
    index = constraint
    for (name, rule) in relationships {
      guard let slot = entity.slot(named: name), let relationship = entity.relationship(slot: slot),
        relationship.isToMany
      else { throw CoreDataError(.coreData, "\(entity.name) has no to-many relationship “\(name)”.") }
      if rule == .merge { merged.insert(slot) }
    }
  }

  // MARK: Looking at records

  mutating func add(_ record: [String: Any]) throws {
    var found: [Int: Change] = [:]
    for (name, value) in record {
      guard let slot = entity.slot(named: name) else {
        throw CoreDataError(.coreData, "\(here): \(entity.name) has no property “\(name)”.")
      }
      found[slot] = try change(of: slot, to: value)
    }
    let key = try index.parts.map { part in
      switch found[part.slot] {
      case .value(let value)? where !value.isNull: return value
      case .members(let targets)? where targets.count == 1: return try reference(to: targets[0])
      default: break
      }
      let name = entity.attributes[part.slot].name
      throw CoreDataError(
        .validationMissingMandatoryProperty,
        "\(here) has no value for \(entity.name).\(name), which is part of its key.",
        userInfo: [CoreDataError.Key.validationKey: name])
    }
    guard let place = places[key] else {
      places[key] = keys.count
      records.append(keys.count)
      keys.append(key)
      changes.append(found)
      return
    }
    records.append(place)
    for (slot, change) in found {
      if merged.contains(slot), case .members(let more) = change,
        case .members(let old)? = changes[place][slot]
      {
        changes[place][slot] = .members(old + more)
      } else {
        changes[place][slot] = change
      }
    }
  }

  /// What a to-one relationship to `target` has as its value, for a key.
  private mutating func reference(to target: Target) throws -> AttributeValue {
    let (bound, primaryKey): (BoundEntity, UInt64)
    switch target {
    case .object(let object): (bound, primaryKey) = (object.home, object.primaryKey)
    case .identifier(let id):
      guard let place = context.locate(id) else {
        throw CoreDataError(.coreData, "\(here): \(id) is of no store of this stack.")
      }
      (bound, primaryKey) = (place.bound, id.primaryKey)
    }
    // The same reference leads to another record in another store.
    if let keyStore, keyStore != bound.storeIndex {
      throw CoreDataError(
        .coreData,
        "\(here): its key leads to another store than those of the records before. Put records of one store in at a time."
      )
    }
    keyStore = bound.storeIndex
    return .reference(Reference.bits(primaryKey, entityCode: bound.stamp.entityCode))
  }

  /// The record that is being looked at, for messages: the first is record 1, as in batches.
  private var here: String { "Record \(records.count + 1)" }

  private func change(of slot: Int, to value: Any) throws -> Change {
    if let relationship = entity.relationship(slot: slot) {
      return .members(try targets(value, relationship))
    }
    let attribute = entity.attributes[slot]
    if entity.derivedSlots.contains(slot) { throw wrong(attribute.name, value, "is derived") }
    if attribute.type == .composite || attribute.type == .transformable { return .keyed(value) }
    guard let converted = AttributeValue(value is NSNull ? nil : value, type: attribute.type) else {
      if attribute.isTransient, attribute.type == .undefined { return .transient(value) }
      throw wrong(attribute.name, value, "is of type \(attribute.type)")
    }
    return attribute.isTransient ? .transient(converted.isNull ? nil : value) : .value(converted)
  }

  private func targets(_ value: Any, _ relationship: RelationshipSchema) throws -> [Target] {
    let elements: [Any]
    if isNil(value) || value is NSNull {
      elements = []
    } else if !relationship.isToMany {
      elements = [value]
    } else {
      guard let found = FoundationCollections.elements(of: value) else {
        throw wrong(relationship.name, value, "is a to-many relationship, takes an array or a set")
      }
      elements = found
    }
    return try elements.map { element in
      let target: Target
      let bound: BoundEntity
      switch element {
      case let object as ManagedObject:
        guard object.context === context else {
          throw wrong(
            relationship.name, element, "takes objects of this context or IDs",
            found: "one of another context")
        }
        target = .object(object)
        bound = object.home
      case let id as ManagedObjectID:
        guard let place = context.locate(id) else {
          throw wrong(relationship.name, element, "takes IDs of this stack's stores")
        }
        target = .identifier(id)
        bound = place.bound
      default: throw wrong(relationship.name, element, "is a relationship")
      }
      let destination = context.schema.entities[relationship.destination]
      guard destination.subtree.contains(bound.entityNumber) else {
        throw wrong(
          relationship.name, element, "leads to \(destination.name)",
          found: "an object of \(bound.entity.name)")
      }
      return target
    }
  }

  /// - Parameter found: What the value is called; by its type and as text unless given.
  private func wrong(_ name: String, _ value: Any, _ sentence: String, found: String? = nil) -> CoreDataError
  {
    // Swift's numbers can be cast to Foundation's, so the type is asked: what holds a number on its way here has no name in the program.
    let isNumber = type(of: value) is NSNumber.Type
    let words = found ?? (isNumber ? "\(value)" : "\(type(of: value)) \(value)")
    return CoreDataError(
      .managedObjectValidation, "\(here): \(entity.name).\(name) \(sentence) and cannot take \(words).",
      userInfo: [CoreDataError.Key.validationKey: name, CoreDataError.Key.validationValue: value])
  }

  // MARK: Changing objects

  /// - Throws: with nothing changed, for what cannot be read or is of another entity. Once changes are made nothing throws: what a hook of a new
  ///   object cannot read is told to the context's handler.
  func run<T: ManagedObject>() throws -> UpsertResult<T> {
    var (objects, ahead) = try context.throwingFailures {
      let objects = try find()
      return (objects, readAhead(objects))
    }
    defer { withExtendedLifetime(ahead) {} }
    var (inserted, updated) = (0, 0)
    context.tellingAfterwards {
      for place in keys.indices {
        if let object = objects[place] {
          if apply(changes[place], to: object, ahead.members[place]) { updated += 1 }
        } else {
          let object = context.insertNew(entity)
          if let keyStore, object.home.storeIndex != keyStore,
            let binding = context.coordinator.binding(keyStore)
          {
            // It belongs beside what its key leads to. Where that store takes none, the save says so.
            try? context.assign(object, to: binding.store)
          }
          _ = apply(changes[place], to: object, nil)
          objects[place] = object
          inserted += 1
        }
      }
    }
    // Every place has an object by now, of a class that was checked to be a T.
    let results = records.compactMap { objects[$0] as? T }
    return UpsertResult(
      objects: results, insertedCount: inserted, updatedCount: updated,
      unchangedCount: keys.count - inserted - updated)
  }

  /// The objects that have the keys, by place in `keys`.
  private func find() throws -> [ManagedObject?] {
    let objects = try KeyedRecords.find(
      keys, index, in: context, store: keyStore.flatMap { context.coordinator.binding($0) })
    for object in objects.lazy.compactMap({ $0 }) where !entity.subtree.contains(object.home.entityNumber) {
      throw CoreDataError(
        .managedObjectConstraintMerge,
        "\(object.home.entity.name)/p\(object.primaryKey) has the key of a record of \(entity.name), which is another entity.",
        userInfo: [CoreDataError.Key.affectedObjects: [object]])
    }
    return objects
  }

  /// What was read before anything is changed.
  private struct Ahead {
    /// The other ends that were read, held until the changes are made.
    var held: [ManagedObject] = []
    /// By place in `keys`, then by slot: which of the members to be merged are there. A look-up in the store is not remembered otherwise.
    var members: [Int: [Int: Set<ObjectIdentifier>]] = [:]
  }

  /// Reads what the changes will look at.
  ///
  /// What cannot be read is kept among the context's failures.
  private func readAhead(_ objects: [ManagedObject?]) -> Ahead {
    var ahead = Ahead()
    for (place, object) in objects.enumerated() {
      object?.fire()
      for (slot, change) in changes[place] {
        switch change {
        case .value:
          guard let object, object.snapshot?.externalReference(slot, object.home.layout) != nil else {
            continue
          }
          _ = object.currentValue(slot)
        case .transient, .keyed: continue
        case .members(let targets):
          guard let relationship = entity.relationship(slot: slot) else { continue }
          let others = targets.map(self.object)
          ahead.held += others
          if let object {
            readAhead(object, relationship, others, place, &ahead)
          } else {
            for other in others { other.fire() }
          }
        }
      }
    }
    return ahead
  }

  /// Reads what `relate` compares with, and the other ends that it edits.
  private func readAhead(
    _ object: ManagedObject, _ relationship: RelationshipSchema, _ others: [ManagedObject], _ place: Int,
    _ ahead: inout Ahead
  ) {
    let inverse = context.schema.inverse(of: relationship)
    let isOrdered = relationship.isOrdered || inverse?.isOrdered == true
    var members: [ManagedObject] = []
    if !relationship.isToMany {
      members = object.relatedObject(relationship).map { [$0] } ?? []
    } else if isOrdered || !merged.contains(relationship.slot) {
      members = object.members(relationship)
    }
    ahead.held += members
    if merged.contains(relationship.slot) {
      let there = others.filter { object.hasMember(relationship, $0) }
      if inverse?.isToMany != false {
        ahead.members[place, default: [:]][relationship.slot] = Set(there.map(ObjectIdentifier.init))
      }
      for other in Set(others).subtracting(there) { other.fire() }
    } else {
      for other in Set(members).symmetricDifference(others) { other.fire() }
    }
  }

  /// Whether something had another value.
  private func apply(
    _ changes: [Int: Change], to object: ManagedObject, _ known: [Int: Set<ObjectIdentifier>]?
  ) -> Bool {
    var hasChanged = false
    for slot in changes.keys.sorted() {
      switch changes[slot] {
      case .value(let value):
        if ManagedObject.isSame(object.currentValue(slot), value) { continue }
        object.edit(slot, value)
      case .transient(let value):
        let type = entity.attributes[slot].type
        let old = object.value(forKey: entity.attributes[slot].name)
        if type != .undefined, AttributeValue(old, type: type) == AttributeValue(value, type: type) {
          continue
        }
        object.setTransient(value, slot)
      case .keyed(let value):
        object.setKeyedValue(value, slot, isPrimitive: false)
      case .members(let targets):
        guard let relationship = entity.relationship(slot: slot) else { continue }
        if !relate(object, relationship, targets.map(self.object), known?[slot]) { continue }
      case nil: continue
      }
      hasChanged = true
    }
    return hasChanged
  }

  private func object(_ target: Target) -> ManagedObject {
    switch target {
    case .object(let object): object
    case .identifier(let id): context.object(with: id)
    }
  }

  private func relate(
    _ object: ManagedObject, _ relationship: RelationshipSchema, _ targets: [ManagedObject],
    _ known: Set<ObjectIdentifier>?
  ) -> Bool {
    if !relationship.isToMany {
      if object.relatedObject(relationship) === targets.first { return false }
      object.setRelatedObject(relationship, targets.first)
      return true
    }
    if merged.contains(relationship.slot) {
      let state = known == nil ? nil : object.relationState(relationship)
      let missing = targets.filter { target in
        // What this upsert has changed since counts.
        if let known, state?.lastChange(target.referenceBits) == nil {
          return !known.contains(ObjectIdentifier(target))
        }
        return !object.hasMember(relationship, target)
      }
      for target in missing { object.addMember(relationship, target) }
      return !missing.isEmpty
    }
    let members = object.members(relationship)
    let isSame = relationship.isOrdered ? members == targets.withoutTwins : Set(members) == Set(targets)
    if !isSame { object.setMembers(relationship, targets) }
    return !isSame
  }
}

extension [ManagedObject] {
  /// Each object where it stands first.
  fileprivate var withoutTwins: [ManagedObject] {
    var seen = Set<ObjectIdentifier>()
    return filter { seen.insert(ObjectIdentifier($0)).inserted }
  }
}
