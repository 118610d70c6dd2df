import Foundation

/// An expression of a mapping that can be looked at before anything is migrated.
package protocol CheckedMigrationExpression: MigrationExpression {
  /// Why it cannot be evaluated there; nil when nothing is known against it.
  func objection(_ place: MigrationPlace) -> String?
}

/// Where in a mapping model an expression stands.
package struct MigrationPlace {
  /// The entity of the objects there are; nil for mappings of entities that are new.
  package let source: EntityDescription?
  /// The entity of the objects that are made; nil for one that goes.
  package let destination: EntityDescription?
  package let sourceModel: ManagedObjectModel
  /// The names of the mapping model's entity mappings.
  package let mappingNames: Set<String>

  /// Why a key path leads nowhere from objects of `entity`; nil when it leads somewhere, or when code may say where.
  ///
  /// - Parameter followsMany: Whether it may go on behind to-many relationships, with collection operators.
  package static func objection(toKeyPath path: String, of entity: EntityDescription?, followsMany: Bool)
    -> String?
  {
    guard var entity else { return nil }
    var keys = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...]
    while let key = keys.first {
      if followsMany, key.hasPrefix("@") || key == "self" || key == "objectID" { return nil }
      let family = entity.withSubentities
      guard let property = family.lazy.compactMap({ $0.propertiesByName[key] }).first else {
        return "\(entity.name ?? "") has no property “\(key)”"
      }
      keys = keys.dropFirst()
      if keys.isEmpty { return nil }
      if let relationship = property as? RelationshipDescription {
        if relationship.isToMany, !followsMany {
          return "\(entity.name ?? "").\(key) is to-many, so “\(path)” cannot go on behind it"
        }
        guard let destination = relationship.destinationEntity else { return nil }
        entity = destination
        continue
      }
      // What is in a value of a composite attribute, or of one of no known type, shows when it is there.
      guard let attribute = property as? AttributeDescription,
        ![.composite, .undefined, .transformable].contains(attribute.attributeType), !followsMany
      else { return nil }
      return "\(entity.name ?? "").\(key) is \(attribute.attributeType), so “\(path)” cannot go on behind it"
    }
    return nil
  }
}

extension SourceKeyPath: CheckedMigrationExpression {
  package func objection(_ place: MigrationPlace) -> String? {
    MigrationPlace.objection(toKeyPath: path, of: place.source, followsMany: false)
  }
}

extension MigratedMembers: CheckedMigrationExpression {
  package func objection(_ place: MigrationPlace) -> String? {
    guard let source = place.source else { return nil }
    if source.withSubentities.contains(where: { $0.relationshipsByName[relationship] != nil }) { return nil }
    return "\(source.name ?? "") has no relationship “\(relationship)”"
  }
}

/// Finds what is wrong with a mapping model before anything is migrated by it.
struct MappingCheck {
  let manager: MigrationManager
  let mappings: [EntityMapping]

  /// - Throws: ``CoreDataError`` 134110 with the first thing that does not fit.
  func run() throws {
    var names = Set<String>()
    for mapping in mappings {
      let name = mapping.name ?? ""
      func refuse(_ detail: String) -> CoreDataError {
        CoreDataError(
          .migration, "The entity mapping “\(name)” does not fit: \(detail).", userInfo: ["reason": detail])
      }
      if !names.insert(name).inserted { throw refuse("another one has the same name") }
      if let detail = entities(mapping) { throw refuse(detail) }
    }
    for mapping in mappings {
      if let detail = properties(mapping, names) {
        throw CoreDataError(
          .migration, "The entity mapping “\(mapping.name ?? "")” does not fit: \(detail).",
          userInfo: ["reason": detail])
      }
    }
  }

  /// The entities are there, in the versions that the mapping was made for.
  private func entities(_ mapping: EntityMapping) -> String? {
    for (wanted, hash, model, what) in [
      (mapping.sourceEntityName, mapping.sourceEntityVersionHash, manager.sourceModel, "source"),
      (
        mapping.destinationEntityName, mapping.destinationEntityVersionHash, manager.destinationModel,
        "destination"
      ),
    ] {
      guard let wanted else { continue }
      guard let entity = model.entitiesByName[wanted] else {
        return "the \(what) model has no entity \(wanted)"
      }
      if let hash, hash != entity.versionHash {
        return "it was made for another version of the \(what) entity \(wanted)"
      }
    }
    guard mapping.hasPlainPolicy, [.copy, .transform].contains(mapping.mappingType) else { return nil }
    guard let destination = manager.destinationEntity(for: mapping) else {
      return "nothing says which entity its objects become"
    }
    return destination.isAbstract ? "\(destination.name ?? "") is abstract and has no objects" : nil
  }

  private func properties(_ mapping: EntityMapping, _ names: Set<String>) -> String? {
    let place = MigrationPlace(
      source: manager.sourceEntity(for: mapping), destination: manager.destinationEntity(for: mapping),
      sourceModel: manager.sourceModel, mappingNames: names)
    if let detail = (mapping.sourceObjects as? any CheckedMigrationExpression)?.objection(place) {
      return "its source objects: \(detail)"
    }
    let attributes = mapping.attributeMappings ?? []
    for property in attributes + (mapping.relationshipMappings ?? []) {
      let name = property.name ?? ""
      if mapping.hasPlainPolicy, let entity = place.destination {
        let isAttribute = attributes.contains { $0 === property }
        let known: PropertyDescription? =
          isAttribute ? entity.attributesByName[name] : entity.relationshipsByName[name]
        if known == nil {
          return
            "it speaks of \(entity.name ?? "").\(name), which is no \(isAttribute ? "attribute" : "relationship")"
        }
      }
      if let detail = (property.value as? any CheckedMigrationExpression)?.objection(place) {
        return "the value of \(place.destination?.name ?? "").\(name): \(detail)"
      }
    }
    return nil
  }
}

extension EntityMapping {
  /// Whether no code of the application decides what happens to the objects.
  fileprivate var hasPlainPolicy: Bool {
    guard let policyClass else { return entityMigrationPolicyClassName == nil }
    return policyClass == EntityMigrationPolicy.self
  }
}

extension ManagedObject {
  /// Why the attribute cannot take the value; nil when it can. Setting it would trap.
  final func objection(to value: Any?, forKey key: String) -> String? {
    guard let slot = home.entity.slot(named: key) else { return nil }
    return objection(to: value, home.entity.attributes[slot])
  }

  private final func objection(to value: Any?, _ attribute: AttributeSchema) -> String? {
    guard let value, !(value is NSNull) else { return nil }
    func refused(_ wanted: String) -> String {
      "\(home.token.entityName).\(attribute.name) is \(wanted) and cannot take \(type(of: value)) “\(value)”"
    }
    switch attribute.type {
    case .undefined: return nil
    // What a transformer refuses is found by the validation.
    case .transformable: return nil
    case .composite:
      guard let dictionary = FoundationCollections.castable(value) as? [AnyHashable: Any] else {
        return refused("composite")
      }
      var rest = dictionary
      for slot in attribute.elements {
        let element = home.entity.attributes[slot]
        if let detail = objection(to: rest.removeValue(forKey: element.elementName), element) {
          return detail
        }
      }
      return rest.first.map { "\(home.token.entityName).\(attribute.name) has no element “\($0.key)”" }
    default:
      return AttributeValue(value, type: attribute.type) == nil ? refused("of type \(attribute.type)") : nil
    }
  }
}
