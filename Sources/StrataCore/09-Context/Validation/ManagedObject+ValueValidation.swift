import Foundation

// One value at a time: what `validateValue(_:forKey:)` does, on request and in saves.

extension ManagedObject {
  /// Coerces `value` and looks at it as the model and the class's validators say, again when a validator replaces it, until
  /// it stays as it is (rules 225, 230).
  final func checkValue(_ value: inout Any?, forKey key: String) throws {
    guard let slot = home.entity.slot(named: key) else {
      trap("entity \(home.token.entityName) has no property “\(key)”.")
    }
    context?.checkAccess(home.token.entityName)
    let validators = ClassValidators.of(type(of: self))[key]
    for _ in 0..<Self.mostReplacements {
      try checkByModel(&value, slot)
      if validators.isEmpty { return }
      let before = value
      for validator in validators { try validator.validate(self, &value) }
      guard let isSame = areSame(before, value, slot) else { return try checkByModel(&value, slot) }
      if isSame {
        value = before
        return
      }
    }
    throw failure(
      .coreData, key, value,
      "has validators that replace the value every time they are called; \(Self.mostReplacements) rounds were made. "
        + "Replace a value only when it is not as it should be")
  }

  private static var mostReplacements: Int { 100 }

  private final func checkByModel(_ value: inout Any?, _ slot: Int) throws {
    if let relationship = home.entity.relationship(slot: slot) {
      try checkRelated(&value, relationship)
      return
    }
    let attribute = home.entity.attributes[slot]
    let rules = home.entity.rules.first { $0.slot == slot }
    if attribute.type == .composite || attribute.type == .transformable {
      if value.map(isNilValue) ?? true { value = nil }
      if value == nil, home.requiredSlots.contains(slot) { throw missingValue(slot) }
      if let failure = formFailure(value, slot) { throw failure }
      return try CoreDataError.throwAll(
        value.flatMap { value in rules.map { failures(ofAny: value, $0) } } ?? [])
    }
    var coerced = AttributeValue(value, type: attribute.type)
    if attribute.type == .undefined {
      // It takes anything, as it is.
      if coerced?.isNull == true {
        value = nil
        return
      }
      return try CoreDataError.throwAll(rules.map { failures(ofAny: value, $0) } ?? [])
    }
    if coerced == nil, let number = value, let fit = NumberFit(number, type: attribute.type) {
      guard case .cut(let rest) = fit, speaksFoundation else { throw numberFailure(number, fit, attribute) }
      coerced = rest
    }
    guard let coerced else { throw misfit(value, attribute) }
    value = coerced.anyValue
    if coerced.isNull {
      if home.requiredSlots.contains(slot) { throw missingValue(slot) }
      return
    }
    try CoreDataError.throwAll(rules.map { failures(of: coerced, $0) } ?? [])
  }

  /// Whether a composite attribute's value is a dictionary, and a transformer takes a transformable one's.
  private final func formFailure(_ value: Any?, _ slot: Int) -> CoreDataError? {
    guard let value else { return nil }
    let attribute = home.entity.attributes[slot]
    if attribute.type == .composite {
      return FoundationCollections.castable(value) is [String: Any] ? nil : misfit(value, attribute)
    }
    guard !attribute.isTransient, let transformer = home.transformers[slot] else { return nil }
    do {
      _ = try transformer.transform(value)
      return nil
    } catch {
      return failure(
        .managedObjectValidation, attribute.name, value,
        "cannot be stored, its transformer refuses the value: \(error)")
    }
  }

  private final func misfit(_ value: Any?, _ attribute: AttributeSchema) -> CoreDataError {
    let code: CoreDataError.Code =
      switch attribute.type {
      case .date: .validationInvalidDate
      case .uri: .validationInvalidURI
      default: .managedObjectValidation
      }
    let words = value.map { "\(type(of: $0))" } ?? "nil"
    return failure(
      code, attribute.name, value, "is of type \(attribute.type) and cannot take a value of type \(words)")
  }

  // MARK: Relationships

  private final func checkRelated(_ value: inout Any?, _ relationship: RelationshipSchema) throws {
    guard let objects = Self.objects(in: value),
      relationship.isToMany != (value is ManagedObject) || objects.isEmpty
    else {
      throw failure(
        .managedObjectValidation, relationship.name, value,
        "is a \(relationship.isToMany ? "to-many" : "to-one") relationship and cannot take "
          + "\(value.map { "\(type(of: $0))" } ?? "nil")")
    }
    for object in objects { try check(object, mayBeIn: relationship) }
    let rules = home.entity.rules.first { $0.slot == relationship.slot }
    if relationship.isToMany {
      let members = Set(objects)
      value = relationship.isOrdered ? objects : members
      let failure = countFailure(
        relationship, members.count, of: relationship.isOrdered ? handedOut(objects) : members)
      if let failure { throw failure }
    } else {
      value = objects.first
      if objects.isEmpty {
        if home.requiredSlots.contains(relationship.slot) { throw missingValue(relationship.slot) }
        return
      }
    }
    try CoreDataError.throwAll(rules.map { failures(ofAny: value, $0) } ?? [])
  }

  private final func check(_ object: ManagedObject, mayBeIn relationship: RelationshipSchema) throws {
    guard let context, object.context === context else {
      throw failure(
        .managedObjectValidation, relationship.name, object,
        "cannot lead to an object that is not in the same context")
    }
    let destination = context.schema.entities[relationship.destination]
    if destination.subtree.contains(object.home.entityNumber) { return }
    throw failure(
      .managedObjectValidation, relationship.name, object,
      "leads to \(destination.name) and cannot take an object of entity \(object.home.token.entityName)")
  }

  // MARK: In a save

  /// Hands the value of each of `slots` to `validateValue(_:forKey:)` and takes over what it makes of it.
  final func validateValues(in slots: some Sequence<Int>, _ failures: inout [any Error]) {
    let takesPointer = ValidationOverrides.of(type(of: self)).contains(.pointer)
    for slot in slots where isLookedAt(slot) && !isRefused(slot) {
      let before = presentValue(slot)
      if state.contains(.rowGone) { return }
      var value = before
      do {
        let key = home.entity.attributes[slot].name
        if takesPointer {
          var boxed = Self.boxed(value)
          try validateValue(&boxed, forKey: key)
          value = boxed.map { $0 }
        } else {
          try validateValue(&value, forKey: key)
        }
        switch areSame(before, value, slot) {
        case true?: break
        case false?: setModeledValue(value, slot)
        // A transient value of which it is unknown whether it is another one: kept, but no reason to begin again.
        case nil where home.entity.attributes[slot].isTransient: storeTransient(value, slot)
        // Of a transformable value the bytes will tell.
        case nil: setModeledValue(value, slot)
        }
      } catch { failures += CoreDataError.singles(error) }
    }
  }

  /// A value as Foundation's class for it; of other classes the instance itself.
  static func boxed(_ value: Any?) -> AnyObject? {
    switch value {
    case nil: nil
    // Casts would make another number of one that is an object already.
    case let object? where type(of: object) is AnyClass: object as AnyObject
    case let number as Int64: NSNumber(value: number)
    case let number as Double: NSNumber(value: number)
    case let number as Float: NSNumber(value: number)
    case let flag as Bool: NSNumber(value: flag)
    case let number as Decimal: NSDecimalNumber(decimal: number)
    // No instance of NSSet comes this far, of which this might make an empty set.
    case let members as Set<ManagedObject>: NSSet(array: Array(members))
    case let members as [ManagedObject]: NSOrderedSet(array: members)
    case let value?: value as AnyObject
    }
  }

  /// Members are loaded for validation only when there is something new about them.
  final func isLookedAt(_ slot: Int) -> Bool {
    guard let relationship = home.entity.relationship(slot: slot), relationship.isToMany else { return true }
    return isMarkedInserted || relations?.known(relationship)?.hasChanges == true
  }

  private final func presentValue(_ slot: Int) -> Any? {
    if let relationship = home.entity.relationship(slot: slot) { return relatedValue(relationship) }
    willAccess(slot)
    return keyedValue(slot)
  }

  /// Whether two values of a property are the same; nil when it is unknown.
  private final func areSame(_ a: Any?, _ b: Any?, _ slot: Int) -> Bool? {
    if let relationship = home.entity.relationship(slot: slot) {
      guard let first = Self.objects(in: a), let second = Self.objects(in: b) else { return false }
      return relationship.isOrdered ? first == second : Set(first) == Set(second)
    }
    let type = home.entity.attributes[slot].type
    if type == .composite {
      func elements(_ value: Any?) -> [String: Any] {
        value.flatMap { FoundationCollections.castable($0) as? [String: Any] } ?? [:]
      }
      return NSDictionary(dictionary: elements(a)).isEqual(to: elements(b))
    }
    switch (AttributeValue(a, type: type), AttributeValue(b, type: type)) {
    case (let first?, let second?): return first == second
    case (nil, nil): break
    default: return false
    }
    if let first = a as? AnyHashable, let second = b as? AnyHashable { return first == second }
    guard let a, let b, Swift.type(of: a) is AnyClass, Swift.type(of: b) is AnyClass else { return nil }
    return (a as AnyObject) === (b as AnyObject)
  }
}
