import Foundation

/// What is done for one entity while a store is migrated: subclass it and override what is to be different. Core Data's
/// `NSEntityMigrationPolicy`.
///
/// A migration makes one for each entity mapping and calls its methods in this order (rule 310), each pass for all mappings before the next:
///
/// ```
///   1  begin · createDestinationInstances for each source object · endInstanceCreation
///   2  createRelationships for each object made · endRelationshipCreation
///   3  performCustomValidation · end
/// ```
///
/// On the thread that migrates. What a method throws ends the migration and is thrown by it.
open class EntityMigrationPolicy: NSObject {
  /// Migrations make policies.
  public required override init() { super.init() }

  /// Called first.
  /// - Throws: what an override throws; it ends the migration.
  open func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}

  /// Makes the destination of `sInstance`: one object, with the values of the attribute mappings, associated with it. An override may make any
  /// number and associates them itself (`manager.associate(…)`). Where a key path leads to nil and the attribute is mandatory, its default
  /// value stays, as when the models alone say what to do.
  /// - Throws: ``CoreDataError`` 134110 for a value that the attribute cannot take.
  open func createDestinationInstances(
    forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    guard let entity = manager.destinationEntity(for: mapping) else { return }
    let object = try EntityDescription.insertNewObject(
      forEntityName: entity.name ?? "", into: manager.destinationContext)
    let mappings =
      mapping.attributeMappings
      ?? manager.sameNames(mapping, sInstance.entity.attributesByName.keys, entity.attributesByName.keys) {
        PropertyMapping($0, from: $0)
      }
    try assign(mappings, to: object, from: sInstance, mapping, manager)
    manager.associate(sourceInstance: sInstance, withDestinationInstance: object, for: mapping)
  }

  /// Called after the objects of the entity have been made.
  /// - Throws: what an override throws; it ends the migration.
  open func endInstanceCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Gives an object that was made the members of the relationship mappings.
  /// - Throws: ``CoreDataError`` 134110 for a value that is no object of the destination, or none of the relationship's entity.
  open func createRelationships(
    forDestination dInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    let source = manager.sourceInstances(
      forEntityMappingName: mapping.name, destinationInstances: [dInstance]
    ).first
    let mappings =
      mapping.relationshipMappings
      ?? manager.sameNames(
        mapping, source?.entity.relationshipsByName.keys, dInstance.entity.relationshipsByName.keys
      ) { PropertyMapping($0, fromRelationship: $0) }
    try assign(mappings, to: dInstance, from: source, mapping, manager)
  }

  /// Called after the relationships of the entity's objects have been made.
  /// - Throws: what an override throws; it ends the migration.
  open func endRelationshipCreation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Called when all objects have their values and relationships; throw when they are not what they must be. The objects are
  /// validated as in any save afterwards.
  /// - Throws: what an override throws; it ends the migration.
  open func performCustomValidation(forMapping mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Called last, before anything is saved.
  /// - Throws: what an override throws; it ends the migration.
  open func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}

  /// What an expression gets that calls a function of the policy by its selector, such as
  /// `FUNCTION($entityPolicy, "upper:", $source.name)`: there is no runtime that could find a method by its name. Throws unless
  /// overridden.
  open func value(ofFunction selector: String, arguments: [Any?]) throws -> Any? {
    throw CoreDataError(
      .entityMigrationPolicy,
      "\(type(of: self)) has no function “\(selector)”: override value(ofFunction:arguments:).")
  }

  private func assign(
    _ mappings: [PropertyMapping], to object: ManagedObject, from source: ManagedObject?,
    _ mapping: EntityMapping,
    _ manager: MigrationManager
  ) throws {
    for property in mappings {
      guard let name = property.name, let expression = property.value else { continue }
      guard let description = object.entity.propertiesByName[name] else {
        throw CoreDataError(
          .migration,
          "The mapping “\(mapping.name ?? "")” speaks of \(object.entity.name ?? "").\(name), which is no property."
        )
      }
      if description is DerivedAttributeDescription { continue }
      let input = MigrationInput(
        manager: manager, source: source, destination: object, entityMapping: mapping,
        propertyMapping: property,
        policy: self)
      let place = "The mapping “\(mapping.name ?? "")”"
      let value = try Self.value(expression, input, place)
      if let relationship = description as? RelationshipDescription {
        let members = try Self.members(value, relationship, of: object, place)
        object.setValue(relationship.isToMany ? members : members.first, forKey: name)
        continue
      }
      // As a migration by the models alone: what was nil and must not be any more has the default value, which the new object has.
      if value == nil, expression is SourceKeyPath, let attribute = description as? AttributeDescription,
        !attribute.isOptional, attribute.defaultValue != nil
      {
        continue
      }
      if let detail = object.objection(to: value, forKey: name) {
        throw CoreDataError(
          .migration, "\(place) makes a value that does not fit: \(detail).", userInfo: ["reason": detail])
      }
      object.setValue(value, forKey: name)
    }
  }

  private static func value(_ expression: any MigrationExpression, _ input: MigrationInput, _ place: String)
    throws -> Any?
  {
    do {
      let value = try expression.value(input)
      return value is NSNull ? nil : value
    } catch let error as FetchError {
      throw CoreDataError(
        .migration, "\(place) has an expression that cannot be evaluated: \(error)",
        userInfo: [NSUnderlyingErrorKey: error])
    }
  }

  /// The objects that `value` is or holds.
  /// - Throws: ``CoreDataError`` 134110 for anything else, and for objects that cannot be members.
  private static func members(
    _ value: Any?, _ relationship: RelationshipDescription, of object: ManagedObject, _ place: String
  ) throws -> [ManagedObject] {
    func refuse(_ detail: String) -> CoreDataError {
      let whole = "\(object.entity.name ?? "").\(relationship.name) \(detail)"
      return CoreDataError(
        .migration, "\(place) makes a value that does not fit: \(whole).", userInfo: ["reason": whole])
    }
    guard let value else { return [] }
    guard let members = MigrationManager.onlyObjects(value) else {
      throw refuse("takes objects, not \(type(of: value)) “\(value)”")
    }
    for member in members {
      guard member.managedObjectContext === object.managedObjectContext else {
        throw refuse("takes objects of the destination, not \(member.entity.name ?? "") of another context")
      }
      if let wanted = relationship.destinationEntity, !member.entity.isKindOf(entity: wanted) {
        throw refuse("takes objects of \(wanted.name ?? ""), not of \(member.entity.name ?? "")")
      }
    }
    return members
  }
}
