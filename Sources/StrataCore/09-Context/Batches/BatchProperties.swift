import Foundation

/// What the names and values of a batch request mean in one store: slots, and values as rows hold them.
struct BatchProperties {
  let entity: EntitySchema
  private let store: StoreBinding
  private let bound: BoundEntity
  private let schema: Schema
  /// Whether numbers are cut off to what an integer or Boolean attribute holds, as `setValue(_:forKey:)` does it in a context that is used by Core Data's names.
  private let cutsNumbers: Bool

  init(_ bound: BoundEntity, _ store: StoreBinding, in context: ManagedObjectContext) {
    self.bound = bound
    self.store = store
    schema = context.schema
    cutsNumbers = context.speaksFoundation
    entity = bound.entity
  }

  /// Where `name` goes.
  /// - Throws: `CoreDataError` for an unknown name, and for what a batch does not write.
  func slot(_ name: String) throws -> Int {
    guard let slot = entity.slot(named: name) else {
      throw CoreDataError(
        .coreData, "\(entity.name) has no property “\(name)”.",
        userInfo: [CoreDataError.Key.validationKey: name])
    }
    if bound.persistentSlots.contains(slot) || entity.attributes[slot].type == .composite { return slot }
    if entity.relationship(slot: slot)?.isToMany == true {
      throw refusal(
        name, "is a to-many relationship, which a batch does not set; set its inverse, or save objects")
    }
    if entity.derivedSlots.contains(slot) {
      throw refusal(name, "is derived and cannot be set; set what it follows from")
    }
    throw refusal(name, "is transient, and a batch writes what is stored")
  }

  /// Calls `body` with every slot that `value` under `name` goes to, and what goes there.
  @inline(__always)
  func forEachValue(
    _ name: String, _ value: Any?, _ body: (_ slot: Int, _ value: AttributeValue) throws -> Void
  ) throws {
    try forEachCommonValue(try slot(name), value, body)
  }

  /// The same as `forEachValue` of a slot, quicker for the most common values.
  @inline(__always)
  func forEachCommonValue(
    _ slot: Int, _ value: Any?, _ body: (_ slot: Int, _ value: AttributeValue) throws -> Void
  ) throws {
    if let value = plainValue(value, entity.attributes[slot].type) { return try body(slot, value) }
    try forEachValue(slot, value, body)
  }

  /// The most common values, without a question too many.
  @inline(__always)
  private func plainValue(_ value: Any?, _ type: AttributeType) -> AttributeValue? {
    switch type {
    case .string: return (value as? String).map { .string($0) }
    case .integer64: return (value as? Int).map { .integer(Int64($0)) }
    case .double: return (value as? Double).map { .double($0) }
    case .boolean: return (value as? Bool).map { .boolean($0) }
    case .date: return (value as? Date).map { .date($0) }
    case .uuid: return (value as? UUID).map { .uuid($0) }
    default: return nil
    }
  }

  /// The type whose values go into `slot` as they are; nil for relationships, composite and transformable attributes.
  func plainType(_ slot: Int) -> AttributeType? {
    let type = entity.attributes[slot].type
    return switch type {
    case .composite, .transformable, .objectID, .undefined: nil
    default: type
    }
  }

  /// Calls `body` with every slot that `value` for `slot` goes to, and what goes there.
  func forEachValue(
    _ slot: Int, _ value: Any?, _ body: (_ slot: Int, _ value: AttributeValue) throws -> Void
  ) throws {
    let attribute = entity.attributes[slot]
    let isNil = value.map { isNilValue($0) || ($0 as? AttributeValue)?.isNull == true } ?? true
    if let relationship = entity.relationship(slot: slot) {
      return try body(slot, isNil ? .null : .reference(try reference(value, relationship)))
    }
    switch attribute.type {
    case .composite: try forEachElement(attribute, isNil ? nil : value, body)
    case .transformable: try body(slot, isNil ? .null : try transformed(value, slot))
    default:
      guard
        let converted = AttributeValue(isNil ? nil : value, type: attribute.type)
          ?? cut(value, attribute.type)
      else {
        throw refusal(attribute.name, "is of type \(attribute.type) and cannot take \(text(value))", value)
      }
      try body(slot, converted)
    }
  }

  /// What is left of a number where Core Data's names are used; nil for one that is out of range, and for what is no number.
  private func cut(_ value: Any?, _ type: AttributeType) -> AttributeValue? {
    guard cutsNumbers, let value else { return nil }
    let number = (value as? AttributeValue)?.anyValue ?? value
    guard case .cut(let rest)? = NumberFit(number, type: type) else { return nil }
    return rest
  }

  private func forEachElement(
    _ attribute: AttributeSchema, _ value: Any?,
    _ body: (_ slot: Int, _ value: AttributeValue) throws -> Void
  ) throws {
    var values: [String: Any] = [:]
    if let value {
      guard let dictionary = FoundationCollections.castable(value) as? [String: Any] else {
        throw refusal(
          attribute.name, "is composite and takes a dictionary of its elements, not \(text(value))", value)
      }
      values = dictionary
    }
    for slot in attribute.elements {
      try forEachValue(slot, values.removeValue(forKey: entity.attributes[slot].elementName), body)
    }
    if let stranger = values.keys.min() { throw refusal(attribute.name, "has no element “\(stranger)”") }
  }

  private func transformed(_ value: Any?, _ slot: Int) throws -> AttributeValue {
    let name = entity.attributes[slot].name
    guard let transformer = bound.transformers[slot], let value else { throw UnknownTransformer() }
    do {
      return .data(try transformer.transform(value))
    } catch {
      throw refusal(
        name,
        "cannot be stored: the transformer “\(bound.transformerNames[slot] ?? AttributeTransformers.secureName)” refuses "
          + "the value: \(error)", value)
    }
  }

  /// An expression, whose names are looked up; its values are checked row by row.
  /// - Throws: `FetchError` for what cannot be looked up; `CoreDataError` for what no slot takes.
  func resolved(_ expression: FetchExpression, _ slot: Int) throws -> BatchUpdate.Assignment.Value {
    let attribute = entity.attributes[slot]
    if attribute.type == .composite || attribute.type == .transformable {
      throw refusal(attribute.name, "takes a value, not an expression")
    }
    let (resolved, type) = try PredicateResolver(entity: entity, schema: schema).expression(expression)
    if type.kind == .entity {
      throw refusal(attribute.name, "takes a value, and \(expression) is an entity; entity.name is its name")
    }
    if type.isMany {
      throw refusal(attribute.name, "takes one value, and \(expression) has those of many objects")
    }
    let isObject =
      switch type.kind {
      case .object, .anyObject: true
      case .unknown, .value, .entity: false
      }
    if case .object(let number) = type.kind, let relationship = entity.relationship(slot: slot),
      schema.entities[number].hierarchyNumber != relationship.destinationHierarchy
    {
      throw refusal(
        attribute.name,
        "leads to \(schema.entities[relationship.destination].name) and cannot take \(expression), which is a "
          + schema.entities[number].name)
    }
    let isNothing = type.kind == .unknown
    if !isNothing, isObject != (attribute.relationship != nil) {
      throw refusal(
        attribute.name,
        attribute.relationship == nil
          ? "takes a value, and \(expression) is an object" : "takes an object, and \(expression) is none")
    }
    guard let relationship = entity.relationship(slot: slot) else { return .expression(resolved) }
    // Objects that are named are looked for where the relationship leads.
    let rootName = schema.hierarchies[relationship.destinationHierarchy].rootName
    return .expression(resolved.rooted(rootName))
  }

  // MARK: References

  /// The reference to an object given by its ID, or by itself.
  private func reference(_ value: Any?, _ relationship: RelationshipSchema) throws -> UInt64 {
    let identifier: ManagedObjectID
    switch value {
    case let id as ManagedObjectID: identifier = id
    case let object as ManagedObject: identifier = object.objectID
    default:
      throw refusal(
        relationship.name, "is a relationship and takes an object's ID, not \(text(value))", value)
    }
    guard identifier.storeIdentifier == store.store.identifier,
      let target = schema.entity(named: identifier.entityName), let bound = store.entities[target.number]
    else {
      throw CoreDataError(
        .managedObjectExternalRelationship,
        "\(entity.name).\(relationship.name) cannot lead to \(identifier), which belongs to another store.",
        userInfo: [CoreDataError.Key.validationKey: relationship.name])
    }
    let destination = schema.entities[relationship.destination]
    guard destination.hierarchyNumber == target.hierarchyNumber else {
      throw refusal(relationship.name, "leads to \(destination.name) and cannot take \(identifier)", value)
    }
    var code = bound.stamp.entityCode
    if target.subtree.count > 1 || !destination.subtree.contains(target.number) {
      // The ID may name a superentity: the row knows better.
      let row = try store.store.row(hierarchy: target.hierarchyNumber, primaryKey: identifier.primaryKey)
      guard let row, let own = store.entities[row.entity] else { throw missing(identifier, relationship) }
      guard destination.subtree.contains(row.entity) else {
        throw refusal(relationship.name, "leads to \(destination.name) and cannot take \(identifier)", value)
      }
      code = own.stamp.entityCode
    }
    return Reference.bits(identifier.primaryKey, entityCode: code)
  }

  private func missing(_ identifier: ManagedObjectID, _ relationship: RelationshipSchema) -> CoreDataError {
    CoreDataError(
      .managedObjectReferentialIntegrity,
      "\(entity.name).\(relationship.name) cannot lead to \(identifier), which does not exist.",
      userInfo: [CoreDataError.Key.validationKey: relationship.name])
  }

  // MARK: What is required

  /// - Throws: `CoreDataError` 1570 when a required value is missing.
  func requireValues(_ isNil: (_ slot: Int) -> Bool) throws {
    if bound.hasRequiredSlots {
      var missing: Int?
      bound.requiredSlots.forEach { if missing == nil, isNil($0) { missing = $0 } }
      if let missing { throw required(entity.attributes[missing].name) }
    }
    if entity.hasComposites, let missing = entity.missingCompositeValue(isNil: isNil) {
      throw required(missing.name)
    }
  }

  /// - Throws: `CoreDataError` 1570 when nil is to go where a value is required.
  func requireValue(_ value: AttributeValue, _ slot: Int) throws {
    if value.isNull, bound.requiredSlots.contains(slot) { throw required(entity.attributes[slot].name) }
  }

  private func required(_ name: String) -> CoreDataError {
    CoreDataError(
      .validationMissingMandatoryProperty, "\(entity.name).\(name) is a required value.",
      userInfo: [CoreDataError.Key.validationKey: name])
  }

  private func refusal(_ name: String, _ sentence: String, _ value: Any? = nil) -> CoreDataError {
    var userInfo: [String: Any] = [CoreDataError.Key.validationKey: name]
    userInfo[CoreDataError.Key.validationValue] =
      cutsNumbers ? FoundationNumbers.handedOut(optional: value) : value
    return CoreDataError(.managedObjectValidation, "\(entity.name).\(name) \(sentence).", userInfo: userInfo)
  }

  /// The value with its type, that of the program's: what holds it on the way here has no name there.
  private func text(_ value: Any?) -> String {
    guard let value else { return "nil" }
    let shown = (value as? AttributeValue)?.anyValue ?? value
    // Swift's numbers can be cast to Foundation's, so the type is asked.
    if type(of: shown) is NSNumber.Type { return "\(shown)" }
    return "\(type(of: shown)) \(shown)"
  }
}
