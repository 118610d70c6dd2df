import Foundation

extension ModelDocument {
  /// - Throws: `ModelError` for a model that cannot be written: names missing or doubled, user info or default
  ///   values without a codable form, references to entities outside the model.
  /// - Parameter keepsTransformedDefaults: Whether default values of transformable attributes become their bytes, for which their transformers
  ///   are needed; without, they are left out.
  init(_ model: ManagedObjectModel, keepsTransformedDefaults: Bool = true) throws(ModelError) {
    var sentences: [String] = []
    let names = model.entities.map { $0.name ?? "" }
    if names.contains("") { sentences.append("An entity has no name.") }
    if Set(names).count < names.count { sentences.append("Two entities have the same name.") }
    entities = model.entities.map { Self.document($0, &sentences, keepsTransformedDefaults) }
    versionIdentifiers = model.versionIdentifiers.sorted()
    configurations = model.entitiesByConfiguration.mapValues { $0.map { $0.name ?? "" } }
    guard sentences.isEmpty else { throw ModelError(sentences) }
  }

  /// Builds the model. `classes` gives classes by entity name; the others are found by name.
  ///
  /// - Throws: `ModelError` when the parts do not fit together.
  func makeModel(classes: [String: AnyClass] = [:]) throws(ModelError) -> ManagedObjectModel {
    guard format == 1 else { throw ModelError("The model is in format \(format), which is not known.") }
    var byName: [String: EntityDescription] = [:]
    for document in entities {
      guard byName.updateValue(EntityDescription(document.name), forKey: document.name) == nil else {
        throw ModelError("Two entities are called \(document.name).")
      }
    }
    try linkSuperentities(byName)
    for document in entities {
      // Every entity of the document has been put into the table above.
      let entity = byName[document.name]!
      try fill(entity, from: document, byName)
      if let type = classes[document.name] { entity.managedObjectClass = type }
    }
    try linkInverses(byName)
    let model = ManagedObjectModel(entities: entities.compactMap { byName[$0.name] })
    model.versionIdentifiers = Set(versionIdentifiers)
    for (name, members) in configurations {
      model.setEntities(
        try members.map { (member) throws(ModelError) in try lookUp(member, byName) },
        forConfigurationName: name)
    }
    for document in entities where byName[document.name]?.versionHash != document.versionHash {
      throw ModelError("Entity \(document.name) does not have the version hash it was written with.")
    }
    return model
  }
}

// MARK: From descriptions

extension ModelDocument {
  private static func document(
    _ entity: EntityDescription, _ sentences: inout [String], _ keepsTransformedDefaults: Bool
  ) -> Entity {
    let name = entity.name ?? ""
    var attributes: [Attribute] = []
    var relationships: [Relationship] = []
    let stored = entity.ownProperties.filter { !$0.isComputed }
    for property in stored {
      let base = base(property, name, &sentences)
      if let attribute = property as? AttributeDescription {
        attributes.append(document(attribute, base, name, &sentences, keepsTransformedDefaults))
      } else if let relationship = property as? RelationshipDescription {
        relationships.append(
          Relationship(
            property: base, destination: relationship.destinationEntity?.name,
            inverse: relationship.inverseRelationship?.name, minCount: relationship.minCount,
            maxCount: relationship.maxCount, isOrdered: relationship.isOrdered,
            deleteRule: relationship.deleteRule.rawValue))
      }
    }
    return Entity(
      name: name, superentity: entity.superentity?.name, isAbstract: entity.isAbstract,
      className: entity.explicitClassName ?? entity.explicitClass.map { String(reflecting: $0) },
      renamingIdentifier: entity.explicitRenamingIdentifier, versionHashModifier: entity.versionHashModifier,
      userInfo: userInfo(entity.userInfo, name, &sentences),
      uniquenessConstraints: entity.uniquenessConstraints, attributes: attributes,
      relationships: relationships,
      order: stored.map(\.name),
      indexes: entity.indexes.map { index in
        Index(
          name: index.name,
          elements: index.elements.map {
            Element(
              property: $0.propertyName, isAscending: $0.isAscending, collation: $0.collationType.rawValue)
          }, condition: index.condition)
      },
      versionHash: entity.versionHash)
  }

  private static func base(
    _ property: PropertyDescription, _ entity: String, _ sentences: inout [String]
  ) -> Property {
    Property(
      name: property.name, isOptional: property.isOptional, isTransient: property.isTransient,
      renamingIdentifier: property.explicitRenamingIdentifier,
      versionHashModifier: property.versionHashModifier,
      userInfo: userInfo(property.userInfo, "\(entity).\(property.name)", &sentences),
      rules: rules(of: property))
  }

  private static func document(
    _ attribute: AttributeDescription, _ base: Property, _ entity: String, _ sentences: inout [String],
    _ keepsTransformedDefaults: Bool, within owners: [AttributeDescription] = []
  ) -> Attribute {
    var elements: [Attribute]?
    if let composite = attribute as? CompositeAttributeDescription {
      if owners.contains(where: { $0 === composite }) {
        sentences.append("Attribute \(entity).\(attribute.name) is an element of itself.")
      } else {
        elements = composite.elements.map { element in
          document(
            element, Self.base(element, entity, &sentences), entity, &sentences, keepsTransformedDefaults,
            within: owners + [composite])
        }
      }
    }
    return Attribute(
      property: base, type: attribute.attributeType.rawValue,
      defaultValue: attribute.attributeType == .transformable && !keepsTransformedDefaults
        ? nil : defaultValue(of: attribute, entity, &sentences),
      allowsExternalBinaryDataStorage: attribute.allowsExternalBinaryDataStorage,
      preservesValueInHistoryOnDeletion: attribute.preservesValueInHistoryOnDeletion,
      valueTransformerName: attribute.valueTransformerName,
      attributeValueClassName: attribute.attributeValueClassName, elements: elements,
      derivation: (attribute as? DerivedAttributeDescription).map { $0.derivationExpression ?? "" })
  }

  private static func userInfo(
    _ userInfo: [AnyHashable: Any]?, _ place: String, _ sentences: inout [String]
  ) -> UserInfoDocument? {
    guard let userInfo, !userInfo.isEmpty else { return nil }
    let document = UserInfoDocument(userInfo)
    if document == nil { sentences.append("The user info of \(place) has no codable form.") }
    return document
  }

  private static func defaultValue(
    of attribute: AttributeDescription, _ entity: String, _ sentences: inout [String]
  ) -> ValueDocument? {
    guard let any = attribute.defaultValue else { return nil }
    if attribute.attributeType == .transformable {
      do { return ValueDocument(try attribute.encodedDefault()) } catch {
        sentences.append("The default value of \(entity).\(attribute.name) cannot be kept: \(error)")
        return nil
      }
    }
    guard let value = AttributeValue(any, type: attribute.attributeType) else {
      // That of a derived one is not used.
      if attribute is DerivedAttributeDescription { return nil }
      sentences.append(
        "The default value of \(entity).\(attribute.name) is no \(attribute.attributeType).")
      return nil
    }
    return ValueDocument(value)
  }
}

// MARK: To descriptions

extension ModelDocument {
  private func lookUp(
    _ name: String, _ entities: [String: EntityDescription]
  ) throws(ModelError) -> EntityDescription {
    guard let entity = entities[name] else { throw ModelError("The model has no entity \(name).") }
    return entity
  }

  private func linkSuperentities(_ byName: [String: EntityDescription]) throws(ModelError) {
    let parents = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.superentity) })
    for document in entities {
      guard let parentName = document.superentity else { continue }
      let parent = try lookUp(parentName, byName)
      var ancestor: String? = parentName
      var steps = 0
      while let name = ancestor {
        steps += 1
        guard name != document.name, steps <= entities.count else {
          throw ModelError("Entity \(document.name) inherits from itself.")
        }
        ancestor = parents[name] ?? nil
      }
      parent.subentities.append(try lookUp(document.name, byName))
    }
  }

  private func fill(
    _ entity: EntityDescription, from document: Entity, _ byName: [String: EntityDescription]
  ) throws(ModelError) {
    entity.isAbstract = document.isAbstract
    if let className = document.className { entity.managedObjectClassName = className }
    entity.explicitRenamingIdentifier = document.renamingIdentifier
    entity.versionHashModifier = document.versionHashModifier
    entity.userInfo = document.userInfo?.userInfo
    entity.uniquenessConstraints = document.uniquenessConstraints
    var properties: [String: PropertyDescription] = [:]
    for attribute in document.attributes {
      properties[attribute.property.name] = try makeAttribute(attribute, document.name)
    }
    for relationship in document.relationships {
      properties[relationship.property.name] = try makeRelationship(relationship, document.name, byName)
    }
    let ordered = document.order.compactMap { properties[$0] }
    guard ordered.count == document.attributes.count + document.relationships.count,
      properties.count == ordered.count, Set(document.order).count == document.order.count,
      document.order.count == ordered.count
    else { throw ModelError("The properties of entity \(document.name) contradict each other.") }
    // Own ones only: the superentities' are found through the link.
    entity.properties = ordered
    entity.indexes = try document.indexes.map { (index) throws(ModelError) in
      let made = FetchIndexDescription(
        name: index.name,
        elements: try index.elements.map { (e) throws(ModelError) in try makeElement(e, index) })
      made.condition = index.condition
      return made
    }
  }

  private func makeAttribute(
    _ document: Attribute, _ entity: String
  ) throws(ModelError) -> AttributeDescription {
    let place = "\(entity).\(document.property.name)"
    guard let type = AttributeType(rawValue: document.type) else {
      throw ModelError("Attribute \(place) has the unknown type \(document.type).")
    }
    let attribute: AttributeDescription
    if let elements = document.elements {
      guard type == .composite else { throw ModelError("Attribute \(place) has elements and is a \(type).") }
      attribute = CompositeAttributeDescription(
        document.property.name,
        elements: try elements.map { (element) throws(ModelError) in try makeAttribute(element, entity) })
    } else if let derivation = document.derivation {
      attribute = DerivedAttributeDescription(document.property.name, type, derivationExpression: derivation)
    } else {
      attribute = AttributeDescription(document.property.name, type)
    }
    try apply(document.property, to: attribute)
    attribute.valueTransformerName = document.valueTransformerName
    attribute.attributeValueClassName = document.attributeValueClassName
    if let value = document.defaultValue?.value {
      guard value.fits(type), !value.isNull else {
        throw ModelError("The default value of \(place) is no \(type).")
      }
      attribute.defaultValue = value.anyValue
      if case .data(let bytes) = value, type == .transformable {
        attribute.defaultValue = EncodedDefault.decoded(bytes, by: attribute.valueTransformerName)
      }
    }
    attribute.allowsExternalBinaryDataStorage = document.allowsExternalBinaryDataStorage
    attribute.preservesValueInHistoryOnDeletion = document.preservesValueInHistoryOnDeletion
    return attribute
  }

  private func makeRelationship(
    _ document: Relationship, _ entity: String, _ byName: [String: EntityDescription]
  ) throws(ModelError) -> RelationshipDescription {
    guard let deleteRule = DeleteRule(rawValue: document.deleteRule) else {
      throw ModelError("Relationship \(entity).\(document.property.name) has an unknown delete rule.")
    }
    let relationship = RelationshipDescription()
    relationship.name = document.property.name
    try apply(document.property, to: relationship)
    if let destination = document.destination {
      relationship.destinationEntity = try lookUp(destination, byName)
    }
    relationship.minCount = document.minCount
    relationship.maxCount = document.maxCount
    relationship.isOrdered = document.isOrdered
    relationship.deleteRule = deleteRule
    return relationship
  }

  private func apply(_ document: Property, to property: PropertyDescription) throws(ModelError) {
    property.isOptional = document.isOptional
    property.isTransient = document.isTransient
    property.explicitRenamingIdentifier = document.renamingIdentifier
    property.versionHashModifier = document.versionHashModifier
    property.userInfo = document.userInfo?.userInfo
    property.validationRules = try makeRules(document.rules, of: document.name)
  }

  private func makeElement(
    _ document: Element, _ index: Index
  ) throws(ModelError) -> FetchIndexElementDescription {
    guard let collation = FetchIndexElementType(rawValue: document.collation) else {
      throw ModelError("Index \(index.name) has an unknown collation.")
    }
    return FetchIndexElementDescription(
      propertyName: document.property, collationType: collation, isAscending: document.isAscending)
  }

  private func linkInverses(_ byName: [String: EntityDescription]) throws(ModelError) {
    for document in entities {
      for relationship in document.relationships {
        guard let inverse = relationship.inverse else { continue }
        let description = byName[document.name]?.relationshipsByName[relationship.property.name]
        guard let target = description?.destinationEntity?.relationshipsByName[inverse] else {
          throw ModelError("The inverse of \(document.name).\(relationship.property.name) is missing.")
        }
        description?.inverseRelationship = target
      }
    }
  }
}
