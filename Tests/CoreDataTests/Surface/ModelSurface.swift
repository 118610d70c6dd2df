import CoreData
import Foundation

// What code for Core Data writes of models, type-checked. Nothing is executed.

func useModel(_ url: URL, _ context: NSManagedObjectContext, _ metadata: [String: Any]) throws {
  // surface: NSManagedObjectModel | NSManagedObjectModel.init() | NSManagedObjectModel.init(contentsOf:)
  // surface: NSManagedObjectModel.init(byMerging:) | NSManagedObjectModel.init(byMerging:forStoreMetadata:)
  // surface: NSManagedObjectModel.mergedModel(from:) | NSManagedObjectModel.mergedModel(from:forStoreMetadata:)
  // surface: NSManagedObjectModel.checksumsForVersionedModel(at:)
  let model = NSManagedObjectModel()
  guard let read = NSManagedObjectModel(contentsOf: url),
    let merged = NSManagedObjectModel(byMerging: [model, read]),
    let fitting = NSManagedObjectModel(byMerging: [read], forStoreMetadata: metadata),
    let all = NSManagedObjectModel.mergedModel(from: nil),
    let main = NSManagedObjectModel.mergedModel(from: [Bundle.main]),
    let old = NSManagedObjectModel.mergedModel(from: [Bundle.main], forStoreMetadata: metadata)
  else { return }
  let checksums: [String: String] = try NSManagedObjectModel.checksumsForVersionedModel(at: url)
  // surface: NSManagedObjectModel.configurations | NSManagedObjectModel.entities | NSManagedObjectModel.entitiesByName
  // surface: NSManagedObjectModel.entityVersionHashesByName | NSManagedObjectModel.versionIdentifiers
  // surface: NSManagedObjectModel.versionChecksum | NSManagedObjectModel.entities(forConfigurationName:)
  // surface: NSManagedObjectModel.setEntities(_:forConfigurationName:)
  // surface: NSManagedObjectModel.isConfiguration(withName:compatibleWithStoreMetadata:)
  model.entities = read.entities
  model.setEntities(model.entities, forConfigurationName: "A")
  model.versionIdentifiers = ["1.0"]
  let copy = model.copy() as! NSManagedObjectModel
  let facts: [Any?] = [
    copy.configurations, copy.entitiesByName["A"]?.name, copy.entityVersionHashesByName as [String: Data],
    copy.versionIdentifiers as Set<AnyHashable>, copy.versionChecksum,
    copy.entities(forConfigurationName: nil),
    copy.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata),
  ]
  // surface: NSEntityDescription | NSEntityDescription.attributesByName | NSEntityDescription.isAbstract
  // surface: NSEntityDescription.managedObjectClassName | NSEntityDescription.managedObjectModel | NSEntityDescription.name
  // surface: NSEntityDescription.properties | NSEntityDescription.propertiesByName | NSEntityDescription.relationshipsByName
  // surface: NSEntityDescription.renamingIdentifier | NSEntityDescription.subentities | NSEntityDescription.subentitiesByName
  // surface: NSEntityDescription.superentity | NSEntityDescription.uniquenessConstraints | NSEntityDescription.userInfo
  // surface: NSEntityDescription.versionHash | NSEntityDescription.versionHashModifier | NSEntityDescription.indexes
  // surface: NSEntityDescription.entity(forEntityName:in:) | NSEntityDescription.insertNewObject(forEntityName:into:)
  // surface: NSEntityDescription.isKindOf(entity:) | NSEntityDescription.relationships(forDestination:)
  let entity = NSEntityDescription()
  entity.name = "A"
  entity.managedObjectClassName = NSStringFromClass(Entry.self)
  entity.isAbstract = false
  entity.renamingIdentifier = "Old"
  entity.uniquenessConstraints = [["name"]]
  entity.userInfo = ["a": 1]
  entity.versionHashModifier = "1"
  entity.subentities = [NSEntityDescription()]
  let constraints = entity.uniquenessConstraints as? [[String]]
  let inserted = NSEntityDescription.insertNewObject(forEntityName: "A", into: context) as? Entry
  let found: NSEntityDescription? = NSEntityDescription.entity(forEntityName: "A", in: context)
  let more: [Any?] = [
    entity.attributesByName["a"]?.attributeType, entity.managedObjectModel.entities,
    entity.propertiesByName["a"]?.name,
    entity.relationshipsByName["a"]?.destinationEntity, entity.subentitiesByName["a"]?.superentity,
    entity.versionHash, entity.isKindOf(entity: entity), entity.relationships(forDestination: entity),
  ]
  // surface: NSPropertyDescription | NSPropertyDescription.entity | NSPropertyDescription.isOptional
  // surface: NSPropertyDescription.isTransient | NSPropertyDescription.name | NSPropertyDescription.renamingIdentifier
  // surface: NSPropertyDescription.userInfo | NSPropertyDescription.validationPredicates
  // surface: NSPropertyDescription.validationWarnings | NSPropertyDescription.versionHash
  // surface: NSPropertyDescription.versionHashModifier
  // surface: NSPropertyDescription.setValidationPredicates(_:withValidationWarnings:)
  // surface: NSAttributeDescription | NSAttributeDescription.AttributeType | NSAttributeDescription.allowsExternalBinaryDataStorage
  // surface: NSAttributeDescription.attributeType | NSAttributeDescription.attributeValueClassName
  // surface: NSAttributeDescription.defaultValue | NSAttributeDescription.type | NSAttributeDescription.valueTransformerName
  // surface: NSAttributeDescription.versionHash | NSAttributeDescription.preservesValueInHistoryOnDeletion
  let attribute = NSAttributeDescription()
  attribute.name = "a"
  attribute.attributeType = .stringAttributeType
  attribute.type = .integer64
  attribute.isOptional = false
  attribute.isTransient = false
  attribute.renamingIdentifier = "b"
  attribute.userInfo = [:]
  attribute.versionHashModifier = nil
  attribute.defaultValue = 3
  attribute.allowsExternalBinaryDataStorage = false
  attribute.attributeValueClassName = "NSArray"
  attribute.valueTransformerName = "NSSecureUnarchiveFromData"
  attribute.preservesValueInHistoryOnDeletion = false
  attribute.setValidationPredicates(
    [NSPredicate(format: "SELF > 3")], withValidationWarnings: ["must be greater"])
  let rest: [Any?] = [
    attribute.entity.name, attribute.validationPredicates as [NSPredicate],
    attribute.validationWarnings as [Any],
    attribute.versionHash,
  ]
  // surface: NSRelationshipDescription | NSRelationshipDescription.deleteRule | NSRelationshipDescription.destinationEntity
  // surface: NSRelationshipDescription.inverseRelationship | NSRelationshipDescription.isOrdered
  // surface: NSRelationshipDescription.isToMany | NSRelationshipDescription.maxCount | NSRelationshipDescription.minCount
  // surface: NSRelationshipDescription.versionHash | NSDeleteRule | NSDeleteRule.init(rawValue:) | NSDeleteRule.cascadeDeleteRule
  // surface: NSDeleteRule.denyDeleteRule | NSDeleteRule.noActionDeleteRule | NSDeleteRule.nullifyDeleteRule
  let relationship = NSRelationshipDescription()
  relationship.destinationEntity = entity
  relationship.inverseRelationship = relationship
  relationship.minCount = 0
  relationship.maxCount = 1
  relationship.isOrdered = false
  for rule: NSDeleteRule in [.cascadeDeleteRule, .denyDeleteRule, .noActionDeleteRule, .nullifyDeleteRule] {
    relationship.deleteRule = NSDeleteRule(rawValue: rule.rawValue) ?? rule
  }
  entity.properties = [attribute, relationship]
  // surface: NSFetchIndexDescription | NSFetchIndexDescription.init(name:elements:) | NSFetchIndexDescription.elements
  // surface: NSFetchIndexDescription.entity | NSFetchIndexDescription.name | NSFetchIndexElementDescription
  // surface: NSFetchIndexElementDescription.init(property:collationType:) | NSFetchIndexElementDescription.collationType
  // surface: NSFetchIndexElementDescription.indexDescription | NSFetchIndexElementDescription.isAscending
  // surface: NSFetchIndexElementDescription.property | NSFetchIndexElementDescription.propertyName | NSFetchIndexElementType
  // surface: NSFetchIndexElementType.init(rawValue:) | NSFetchIndexElementType.binary | NSFetchIndexElementType.rTree
  let element = NSFetchIndexElementDescription(property: attribute, collationType: .binary)
  element.isAscending = false
  element.collationType = NSFetchIndexElementType(rawValue: 0) ?? .rTree
  let index = NSFetchIndexDescription(name: "byA", elements: [element])
  entity.indexes = [index]
  let parts: [Any?] = [
    index.name, index.entity, index.elements, element.indexDescription, element.property,
    element.propertyName,
  ]
  // surface: NSDerivedAttributeDescription | NSDerivedAttributeDescription.derivationExpression
  // surface: NSCompositeAttributeDescription | NSCompositeAttributeDescription.elements
  let derived = NSDerivedAttributeDescription()
  derived.derivationExpression = NSExpression(format: "items.@count")
  let composite = NSCompositeAttributeDescription()
  composite.elements = [attribute]
  _ = (merged, fitting, all, main, old, checksums, facts, constraints, inserted, found, more, rest, parts)
  _ = relationship.isToMany ? relationship.versionHash : derived.versionHash
}

func useAttributeTypes(_ attribute: NSAttributeDescription) {
  // surface: NSAttributeType | NSAttributeType.init(rawValue:) | NSAttributeType.binaryDataAttributeType
  // surface: NSAttributeType.booleanAttributeType | NSAttributeType.compositeAttributeType | NSAttributeType.dateAttributeType
  // surface: NSAttributeType.decimalAttributeType | NSAttributeType.doubleAttributeType | NSAttributeType.floatAttributeType
  // surface: NSAttributeType.integer16AttributeType | NSAttributeType.integer32AttributeType | NSAttributeType.integer64AttributeType
  // surface: NSAttributeType.objectIDAttributeType | NSAttributeType.stringAttributeType | NSAttributeType.transformableAttributeType
  // surface: NSAttributeType.undefinedAttributeType | NSAttributeType.URIAttributeType | NSAttributeType.UUIDAttributeType
  let types: [NSAttributeType] = [
    .binaryDataAttributeType, .booleanAttributeType, .compositeAttributeType, .dateAttributeType,
    .decimalAttributeType, .doubleAttributeType, .floatAttributeType, .integer16AttributeType,
    .integer32AttributeType, .integer64AttributeType, .objectIDAttributeType, .stringAttributeType,
    .transformableAttributeType, .undefinedAttributeType, .URIAttributeType, .UUIDAttributeType,
  ]
  let number: UInt = 700
  let type: NSAttributeType? = NSAttributeType(rawValue: number)
  switch attribute.attributeType {
  case .stringAttributeType: break
  case .dateAttributeType: break
  default: break
  }
  // surface: NSAttributeDescription.AttributeType.init(rawValue:) | NSAttributeDescription.AttributeType.binaryData
  // surface: NSAttributeDescription.AttributeType.boolean | NSAttributeDescription.AttributeType.composite
  // surface: NSAttributeDescription.AttributeType.date | NSAttributeDescription.AttributeType.decimal
  // surface: NSAttributeDescription.AttributeType.double | NSAttributeDescription.AttributeType.float
  // surface: NSAttributeDescription.AttributeType.integer16 | NSAttributeDescription.AttributeType.integer32
  // surface: NSAttributeDescription.AttributeType.integer64 | NSAttributeDescription.AttributeType.objectID
  // surface: NSAttributeDescription.AttributeType.string
  // surface: NSAttributeDescription.AttributeType.transformable | NSAttributeDescription.AttributeType.undefined
  // surface: NSAttributeDescription.AttributeType.uri | NSAttributeDescription.AttributeType.uuid
  let modern: [NSAttributeDescription.AttributeType] = [
    .binaryData, .boolean, .composite, .date, .decimal, .double, .float, .integer16, .integer32, .integer64,
    .objectID, .string, .transformable, .undefined, .uri, .uuid,
  ]
  let wrapped = NSAttributeDescription.AttributeType(rawValue: .stringAttributeType)
  // surface: NSAttributeDescription.AttributeType.rawValue
  let old: NSAttributeType = attribute.type.rawValue
  switch attribute.type.rawValue {
  case .stringAttributeType: attribute.type = .integer64
  default: break
  }
  if attribute.type == .date || attribute.type.rawValue == .dateAttributeType || old.rawValue == 900 {
    return
  }
  let back: UInt = NSAttributeType.stringAttributeType.rawValue
  _ = (types, type, modern, wrapped, back)
}

func useBatches(_ entity: NSEntityDescription, _ context: NSManagedObjectContext) throws {
  // surface: NSBatchDeleteRequest | NSBatchDeleteRequest.init(fetchRequest:) | NSBatchDeleteRequest.init(objectIDs:)
  // surface: NSBatchDeleteRequest.fetchRequest | NSBatchDeleteRequest.resultType | NSBatchDeleteResult | NSBatchDeleteResult.result
  // surface: NSBatchDeleteResult.resultType | NSBatchDeleteRequestResultType | NSBatchDeleteRequestResultType.init(rawValue:)
  // surface: NSBatchDeleteRequestResultType.resultTypeCount | NSBatchDeleteRequestResultType.resultTypeObjectIDs
  // surface: NSBatchDeleteRequestResultType.resultTypeStatusOnly
  let delete = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSFetchRequestResult>(entityName: "A"))
  for type: NSBatchDeleteRequestResultType in [.resultTypeCount, .resultTypeObjectIDs, .resultTypeStatusOnly]
  {
    delete.resultType = NSBatchDeleteRequestResultType(rawValue: type.rawValue) ?? type
  }
  let deleted = try context.execute(delete) as? NSBatchDeleteResult
  _ = (deleted?.result as? [NSManagedObjectID], deleted?.resultType, delete.fetchRequest.entityName)
  _ = NSBatchDeleteRequest(objectIDs: [])
  // surface: NSBatchUpdateRequest | NSBatchUpdateRequest.init(entity:) | NSBatchUpdateRequest.init(entityName:)
  // surface: NSBatchUpdateRequest.entity | NSBatchUpdateRequest.entityName | NSBatchUpdateRequest.includesSubentities
  // surface: NSBatchUpdateRequest.predicate | NSBatchUpdateRequest.propertiesToUpdate | NSBatchUpdateRequest.resultType
  // surface: NSBatchUpdateResult | NSBatchUpdateResult.result | NSBatchUpdateResult.resultType | NSBatchUpdateRequestResultType
  // surface: NSBatchUpdateRequestResultType.init(rawValue:) | NSBatchUpdateRequestResultType.statusOnlyResultType
  // surface: NSBatchUpdateRequestResultType.updatedObjectIDsResultType | NSBatchUpdateRequestResultType.updatedObjectsCountResultType
  let update = NSBatchUpdateRequest(entityName: "A")
  update.predicate = NSPredicate(format: "a == 1")
  update.propertiesToUpdate = ["a": NSExpression(forConstantValue: 3), "b": 2]
  update.includesSubentities = false
  for type: NSBatchUpdateRequestResultType in [
    .statusOnlyResultType, .updatedObjectIDsResultType, .updatedObjectsCountResultType,
  ] {
    update.resultType = NSBatchUpdateRequestResultType(rawValue: type.rawValue) ?? type
  }
  let updated = try context.execute(update) as! NSBatchUpdateResult
  _ = (
    updated.result as? Int, updated.resultType, update.entity, update.entityName,
    NSBatchUpdateRequest(entity: entity)
  )
  // surface: NSBatchInsertRequest | NSBatchInsertRequest.init(entity:dictionaryHandler:)
  // surface: NSBatchInsertRequest.init(entity:managedObjectHandler:) | NSBatchInsertRequest.init(entity:objects:)
  // surface: NSBatchInsertRequest.init(entityName:dictionaryHandler:) | NSBatchInsertRequest.init(entityName:managedObjectHandler:)
  // surface: NSBatchInsertRequest.init(entityName:objects:) | NSBatchInsertRequest.dictionaryHandler | NSBatchInsertRequest.entity
  // surface: NSBatchInsertRequest.entityName | NSBatchInsertRequest.managedObjectHandler | NSBatchInsertRequest.objectsToInsert
  // surface: NSBatchInsertRequest.resultType | NSBatchInsertResult | NSBatchInsertResult.result | NSBatchInsertResult.resultType
  // surface: NSBatchInsertRequestResultType | NSBatchInsertRequestResultType.init(rawValue:) | NSBatchInsertRequestResultType.count
  // surface: NSBatchInsertRequestResultType.objectIDs | NSBatchInsertRequestResultType.statusOnly
  let inserts = [
    NSBatchInsertRequest(entity: entity, objects: [["a": 1]]),
    NSBatchInsertRequest(entityName: "A", objects: []),
    NSBatchInsertRequest(
      entity: entity,
      dictionaryHandler: { dictionary in
        dictionary["a"] = 1; return true
      }),
    NSBatchInsertRequest(entityName: "A", dictionaryHandler: { _ in true }),
    NSBatchInsertRequest(
      entity: entity,
      managedObjectHandler: { object in
        object.setValue(1, forKey: "a"); return true
      }),
    NSBatchInsertRequest(entityName: "A", managedObjectHandler: { _ in true }),
  ]
  for (type, insert) in zip([NSBatchInsertRequestResultType.count, .objectIDs, .statusOnly], inserts) {
    insert.resultType = NSBatchInsertRequestResultType(rawValue: type.rawValue) ?? type
    insert.objectsToInsert = nil
    insert.dictionaryHandler = nil
    insert.managedObjectHandler = nil
    let result = try context.execute(insert) as? NSBatchInsertResult
    _ = (result?.result, result?.resultType, insert.entity, insert.entityName)
  }
}
