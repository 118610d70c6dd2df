import Foundation

extension ManagedObject {
  /// What the fetched property `key` finds, in the order of its request (rule 111): fetched when it is first asked for, kept until
  /// the object becomes a fault again or is refreshed. Empty for an object outside of a context.
  ///
  /// - Throws: `FetchError` when the request cannot be executed; `StorageError` when the store cannot be read. Traps when the
  ///   entity has no fetched property of that name.
  public final func fetchedObjects(forKey key: String) throws -> [ManagedObject] {
    guard let property = fetchedProperty(key), let request = property.fetchRequest else {
      trap("entity \(home.token.entityName) has no fetched property “\(key)”.")
    }
    guard let context, state.isDisjoint(with: .loose) else { return [] }
    context.checkAccess(home.token.entityName)
    if let known = relations?.fetched[key] {
      let objects = known.map { context.object(with: $0) }
      try context.throwingFailures { context.fulfil(objects) }
      return objects
    }
    var specification = request.specification
    // What the variables stand for may have to be read.
    specification.predicate = try context.throwingFailures {
      specification.predicate.map { bind($0, property) }
    }
    let objects = try context.fetchObjects(specification)
    ownRelations.fetched[key] = objects.map(\.objectID)
    return objects
  }

  /// Whether the fetched property `key` has a value in memory. Fires and fetches nothing.
  public final func hasFetched(_ key: String) -> Bool { relations?.fetched[key] != nil }

  final func hasFetchedProperty(_ key: String) -> Bool { fetchedProperty(key) != nil }

  /// The same for key-value coding, which cannot throw: what goes wrong is told on standard error, the value is nil.
  final func reportedFetchedObjects(_ key: String) -> Any? { reported { try fetchedObjects(forKey: key) } }

  private final func fetchedProperty(_ key: String) -> FetchedPropertyDescription? {
    home.entity.computed.isEmpty ? nil : home.entity.computed[key] as? FetchedPropertyDescription
  }

  // MARK: Variables

  /// The predicate with the object and the property in the place of their variables.
  private final func bind(_ predicate: FetchPredicate, _ property: FetchedPropertyDescription)
    -> FetchPredicate
  {
    predicate.rewritten { expression, bound in
      switch expression {
      case .variable(let name), .keyPath(.variable(let name), _):
        if bound.contains(name) { return nil }
        var keys: [String] = []
        if case .keyPath(_, let path) = expression { keys = path }
        if name == FetchedPropertyDescription.sourceVariable { return self.value(ofPath: keys[...]) }
        if name == FetchedPropertyDescription.propertyVariable { return property.value(ofPath: keys) }
        return nil
      default: return nil
      }
    }
  }

  /// What `keys` lead to from here, as an expression; nil when they are none of the entity's, which is then told by the fetch.
  private final func value(ofPath keys: ArraySlice<String>) -> FetchExpression? {
    guard let key = keys.first else { return .objects([objectID]) }
    let entity = home.entity
    let whole = keys.joined(separator: ".")
    if let slot = entity.slot(named: whole), entity.relationship(slot: slot) == nil {
      if entity.attributes[slot].isTransient { return nil }
      willAccess(slot)
      return .constant(storedValue(slot))
    }
    if whole == "objectID" { return .objects([objectID]) }
    if key == "entity", entity.slot(named: key) == nil {
      return keys.count == 1
        ? .entity(home.token.entityName)
        : whole == "entity.name" ? .constant(.string(home.token.entityName)) : nil
    }
    guard let slot = entity.slot(named: key), let relationship = entity.relationship(slot: slot) else {
      return nil
    }
    if relationship.isToMany {
      let members = (relatedValue(relationship) as? any Sequence)?.compactMap { $0 as? ManagedObject } ?? []
      // A list, also of one member.
      if keys.count == 1 {
        return members.isEmpty ? .objects([]) : .list(of: members.map { .objects([$0.objectID]) })
      }
      let values = members.compactMap { $0.value(ofPath: keys.dropFirst()) }
      return values.count == members.count ? .list(values) : nil
    }
    guard let target = relatedObject(relationship) else { return .constant(.null) }
    return target.value(ofPath: keys.dropFirst())
  }
}

extension FetchedPropertyDescription {
  /// What `keys` lead to from the property; nil for keys it does not have.
  fileprivate func value(ofPath keys: [String]) -> FetchExpression? {
    switch keys.first {
    case nil: return .constant(.string(name))
    case "name": return keys.count == 1 ? .constant(.string(name)) : nil
    case "userInfo":
      guard keys.count == 2 else { return nil }
      guard let any = userInfo?[keys[1]] else { return .constant(.null) }
      return AttributeValue(any, type: .undefined).map { .constant($0) }
    default: return nil
    }
  }
}
