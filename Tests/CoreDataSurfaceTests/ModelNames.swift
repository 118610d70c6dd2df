import CoreData

private func globalsModel() {
  _ = NSAttributeDescription.self
  _ = NSAttributeType.self
  _ = NSCompositeAttributeDescription.self
  _ = NSDeleteRule.self
  _ = NSDerivedAttributeDescription.self
  _ = NSEntityDescription.self
  _ = NSFetchIndexDescription.self
  _ = NSFetchIndexElementDescription.self
  _ = NSFetchIndexElementType.self
  _ = NSFetchedPropertyDescription.self
  _ = NSManagedObjectModel.self
  _ = NSManagedObjectModelReference.self
  _ = NSPropertyDescription.self
  _ = NSRelationshipDescription.self
}

private func useNSAttributeDescription(_ it: NSAttributeDescription) {
  _ = NSAttributeDescription.AttributeType.self
  let _: Any? = it.defaultValue
  let _: Bool = it.allowsExternalBinaryDataStorage
  let _: Bool = it.preservesValueInHistoryOnDeletion
  let _: Data = it.versionHash
  let _: NSAttributeDescription.AttributeType = it.type
  let _: NSAttributeType = it.attributeType
  let _: String? = it.attributeValueClassName
  let _: String? = it.valueTransformerName
}

private func useNSAttributeDescriptionAttributeType(_ it: inout NSAttributeDescription.AttributeType) {
  _ = NSAttributeDescription.AttributeType.init(rawValue:)
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.binaryData
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.boolean
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.composite
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.date
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.decimal
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.double
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.float
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.integer16
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.integer32
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.integer64
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.objectID
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.string
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.transformable
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.undefined
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.uri
  let _: NSAttributeDescription.AttributeType = NSAttributeDescription.AttributeType.uuid
  let _: NSAttributeType = it.rawValue
}

private func useNSAttributeType() {
  _ = NSAttributeType.URIAttributeType
  _ = NSAttributeType.UUIDAttributeType
  _ = NSAttributeType.binaryDataAttributeType
  _ = NSAttributeType.booleanAttributeType
  _ = NSAttributeType.compositeAttributeType
  _ = NSAttributeType.dateAttributeType
  _ = NSAttributeType.decimalAttributeType
  _ = NSAttributeType.doubleAttributeType
  _ = NSAttributeType.floatAttributeType
  _ = NSAttributeType.init(rawValue:)
  _ = NSAttributeType.integer16AttributeType
  _ = NSAttributeType.integer32AttributeType
  _ = NSAttributeType.integer64AttributeType
  _ = NSAttributeType.objectIDAttributeType
  _ = NSAttributeType.stringAttributeType
  _ = NSAttributeType.transformableAttributeType
  _ = NSAttributeType.undefinedAttributeType
}

private func useNSCompositeAttributeDescription(_ it: NSCompositeAttributeDescription) {
  let _: [NSAttributeDescription] = it.elements
}

private func useNSDeleteRule() {
  _ = NSDeleteRule.cascadeDeleteRule
  _ = NSDeleteRule.denyDeleteRule
  _ = NSDeleteRule.init(rawValue:)
  _ = NSDeleteRule.noActionDeleteRule
  _ = NSDeleteRule.nullifyDeleteRule
}

private func useNSDerivedAttributeDescription(_ it: NSDerivedAttributeDescription) {
  let _: NSExpression? = it.derivationExpression
}

private func useNSEntityDescription(_ it: NSEntityDescription) {
  _ = NSEntityDescription.entity(forEntityName:in:)
  _ = NSEntityDescription.insertNewObject(forEntityName:into:)
  _ = NSEntityDescription.isKindOf(entity:)
  _ = NSEntityDescription.relationships(forDestination:)
  let _: Bool = it.isAbstract
  let _: Data = it.versionHash
  let _: NSEntityDescription? = it.superentity
  let _: NSManagedObjectModel = it.managedObjectModel
  let _: String! = it.managedObjectClassName
  let _: String? = it.name
  let _: String? = it.renamingIdentifier
  let _: String? = it.versionHashModifier
  let _: [AnyHashable: Any]? = it.userInfo
  let _: [NSEntityDescription] = it.subentities
  let _: [NSFetchIndexDescription] = it.indexes
  let _: [NSPropertyDescription] = it.properties
  let _: [String: NSAttributeDescription] = it.attributesByName
  let _: [String: NSEntityDescription] = it.subentitiesByName
  let _: [String: NSPropertyDescription] = it.propertiesByName
  let _: [String: NSRelationshipDescription] = it.relationshipsByName
  let _: [[Any]] = it.compoundIndexes
  let _: [[Any]] = it.uniquenessConstraints
}

private func useNSFetchIndexDescription(_ it: NSFetchIndexDescription) {
  _ = NSFetchIndexDescription.init(name:elements:)
  let _: NSEntityDescription? = it.entity
  let _: NSPredicate? = it.partialIndexPredicate
  let _: String = it.name
  let _: [NSFetchIndexElementDescription] = it.elements
}

private func useNSFetchIndexElementDescription(_ it: NSFetchIndexElementDescription) {
  _ = NSFetchIndexElementDescription(property: NSAttributeDescription(), collationType: .binary)
  let _: Bool = it.isAscending
  let _: NSFetchIndexDescription? = it.indexDescription
  let _: NSFetchIndexElementType = it.collationType
  let _: NSPropertyDescription? = it.property
  let _: String? = it.propertyName
}

private func useNSFetchIndexElementType() {
  _ = NSFetchIndexElementType.binary
  _ = NSFetchIndexElementType.init(rawValue:)
  _ = NSFetchIndexElementType.rTree
}

private func useNSFetchedPropertyDescription(_ it: NSFetchedPropertyDescription) {
  let _: NSFetchRequest<any NSFetchRequestResult>? = it.fetchRequest
}

private func useNSManagedObjectModel(_ it: NSManagedObjectModel) {
  _ = NSManagedObjectModel()
  _ = NSManagedObjectModel.checksumsForVersionedModel(at:)
  _ = NSManagedObjectModel.entities(forConfigurationName:)
  _ = NSManagedObjectModel.fetchRequestFromTemplate(withName:substitutionVariables:)
  _ = NSManagedObjectModel.fetchRequestTemplate(forName:)
  _ = NSManagedObjectModel.init(byMerging:forStoreMetadata:)
  _ = NSManagedObjectModel.init(contentsOf:)
  _ = NSManagedObjectModel.isConfiguration(withName:compatibleWithStoreMetadata:)
  _ = NSManagedObjectModel.mergedModel(from:)
  _ = NSManagedObjectModel.mergedModel(from:forStoreMetadata:)
  _ = NSManagedObjectModel.setEntities(_:forConfigurationName:)
  _ = NSManagedObjectModel.setFetchRequestTemplate(_:forName:)
  _ = { (models: [NSManagedObjectModel]?) -> NSManagedObjectModel? in NSManagedObjectModel(byMerging: models)
  }
  let _: Set<AnyHashable> = it.versionIdentifiers
  let _: String = it.versionChecksum
  let _: [NSEntityDescription] = it.entities
  let _: [String: Data] = it.entityVersionHashesByName
  let _: [String: NSEntityDescription] = it.entitiesByName
  let _: [String: NSFetchRequest<any NSFetchRequestResult>] = it.fetchRequestTemplatesByName
  let _: [String: String]? = it.localizationDictionary
  let _: [String] = it.configurations
}

private func useNSManagedObjectModelReference(_ it: NSManagedObjectModelReference) {
  _ = NSManagedObjectModelReference.init(entityVersionHashes:in:versionChecksum:)
  _ = NSManagedObjectModelReference.init(fileURL:versionChecksum:)
  _ = NSManagedObjectModelReference.init(model:versionChecksum:)
  _ = NSManagedObjectModelReference.init(name:in:versionChecksum:)
  let _: NSManagedObjectModel = it.resolvedModel
  let _: String = it.versionChecksum
}

private func useNSPropertyDescription(_ it: NSPropertyDescription) {
  it.setValidationPredicates(nil as [NSPredicate]?, withValidationWarnings: nil as [String]?)
  let _: Bool = it.isIndexed
  let _: Bool = it.isOptional
  let _: Bool = it.isTransient
  let _: Data = it.versionHash
  let _: NSEntityDescription = it.entity
  let _: String = it.name
  let _: String? = it.renamingIdentifier
  let _: String? = it.versionHashModifier
  let _: [AnyHashable: Any]? = it.userInfo
  let _: [Any] = it.validationWarnings
  let _: [NSPredicate] = it.validationPredicates
}

private func useNSRelationshipDescription(_ it: NSRelationshipDescription) {
  let _: Bool = it.isOrdered
  let _: Bool = it.isToMany
  let _: Data = it.versionHash
  let _: Int = it.maxCount
  let _: Int = it.minCount
  let _: NSDeleteRule = it.deleteRule
  let _: NSEntityDescription? = it.destinationEntity
  let _: NSRelationshipDescription? = it.inverseRelationship
}
