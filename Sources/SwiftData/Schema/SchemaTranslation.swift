import StrataCore

/// What is wrong with a schema: everything, one sentence each.
struct SchemaError: Error, CustomStringConvertible, LocalizedError {
  let sentences: [String]
  var description: String { sentences.joined(separator: "\n") }
  var errorDescription: String? { description }
}

/// Makes the model that a store of a schema has.
///
/// | schema | model |
/// |---|---|
/// | a value, an enum with raw values | an attribute |
/// | a struct with keyed coding | a composite attribute |
/// | what else is Codable | an attribute of bytes |
/// | `.transformable` | a transformable attribute |
/// | a model, an optional model | a to-one relationship, required or not |
/// | an array of models | a to-many relationship without an order |
struct SchemaTranslation {
  private let schema: Schema
  private let rowClass: (any PersistentModel.Type) -> AnyClass
  private var sentences: [String]

  init(_ schema: Schema, rowClass: @escaping (any PersistentModel.Type) -> AnyClass) {
    self.schema = schema
    self.rowClass = rowClass
    sentences = schema.faults
  }

  /// - Throws: ``SchemaError`` with a sentence for everything that is wrong.
  func model() throws -> ManagedObjectModel {
    var translation = self
    let model = translation.translated()
    guard translation.sentences.isEmpty else { throw SchemaError(sentences: translation.sentences) }
    return model
  }

  private mutating func translated() -> ManagedObjectModel {
    var descriptions: [String: EntityDescription] = [:]
    for entity in schema.entities {
      guard let type = entity.modelType else {
        sentences.append("Entity \(entity.name) has no class: make the schema of classes with @Model.")
        continue
      }
      let description = EntityDescription(entity.name, managedObjectClass: rowClass(type))
      descriptions[entity.name] = description
    }
    for entity in schema.entities {
      guard let description = descriptions[entity.name] else { continue }
      description.properties = entity.storedProperties.compactMap { property in
        if let attribute = property as? Schema.Attribute { return self.attribute(attribute, entity) }
        if let relationship = property as? Schema.Relationship {
          return self.relationship(relationship, entity, descriptions)
        }
        return nil
      }
      description.subentities = entity.subentities.map(\.name).sorted().compactMap { descriptions[$0] }
    }
    for entity in schema.entities { pair(entity, descriptions) }
    for entity in schema.entities { addKeys(entity, descriptions[entity.name]) }
    let model = ManagedObjectModel(entities: schema.entities.compactMap { descriptions[$0.name] })
    model.versionIdentifiers = [schema.version.description]
    return model
  }

  // MARK: Properties

  private mutating func attribute(_ attribute: Schema.Attribute, _ entity: Schema.Entity)
    -> PropertyDescription?
  {
    let place = "\(entity.name).\(attribute.name)"
    let storage = AttributeStorage.of(attribute.valueType, options: attribute.options)
    if let fault = storage.fault {
      sentences.append("Attribute \(place) \(fault).")
      return nil
    }
    let description = storage.description(named: attribute.name)
    if let value = attribute.defaultValue {
      do { try storage.setDefault(value, of: description) } catch {
        sentences.append("The initial value of \(place) cannot be stored: \(error).")
      }
    }
    if attribute.originalName != attribute.name { description.renamingIdentifier = attribute.originalName }
    description.versionHashModifier = attribute.hashModifier
    description.allowsExternalBinaryDataStorage = attribute.options.contains(.externalStorage)
    description.preservesValueInHistoryOnDeletion = attribute.options.contains(.preserveValueOnDeletion)
    if attribute.isTransient {
      description.isTransient = true
      description.isOptional = true
    }
    return description
  }

  private mutating func relationship(
    _ relationship: Schema.Relationship, _ entity: Schema.Entity, _ descriptions: [String: EntityDescription]
  ) -> PropertyDescription? {
    let place = "\(entity.name).\(relationship.name)"
    guard let destination = descriptions[relationship.destination] else {
      sentences.append(
        "Relationship \(place) leads to \(relationship.destination), which is no entity of the schema.")
      return nil
    }
    let description = RelationshipDescription()
    description.name = relationship.name
    description.destinationEntity = destination
    description.deleteRule =
      switch relationship.deleteRule {
      case .noAction: .noAction
      case .nullify: .nullify
      case .cascade: .cascade
      case .deny: .deny
      }
    if relationship.isToOneRelationship {
      description.maxCount = 1
      description.isOptional = relationship.isOptional
    } else {
      let minimum = relationship.minimumModelCount ?? 0
      let maximum = relationship.maximumModelCount ?? 0
      if minimum < 0 || maximum < 0 || maximum > 0 && minimum > maximum {
        sentences.append(
          "Relationship \(place) wants at least \(minimum) and at most \(maximum) models.")
      }
      if maximum == 1 {
        sentences.append(
          "Relationship \(place) is an array of at most 1 model: make it an optional property, which is a to-one relationship."
        )
      }
      description.minCount = minimum
      description.maxCount = maximum
      // Rule 220: of an optional one the counts bind only when there are models.
      description.isOptional = relationship.isOptional || minimum == 0
    }
    if relationship.originalName != relationship.name {
      description.renamingIdentifier = relationship.originalName
    }
    description.versionHashModifier = relationship.hashModifier
    return description
  }

  private func pair(_ entity: Schema.Entity, _ descriptions: [String: EntityDescription]) {
    for property in entity.storedProperties {
      guard let relationship = property as? Schema.Relationship, let inverse = relationship.inverseName,
        let one = descriptions[entity.name]?.relationshipsByName[relationship.name],
        let other = descriptions[relationship.destination]?.relationshipsByName[inverse]
      else { continue }
      one.inverseRelationship = other
    }
  }

  // MARK: Constraints and indexes

  private mutating func addKeys(_ entity: Schema.Entity, _ description: EntityDescription?) {
    guard let description else { return }
    for group in entity.uniquenessConstraints + entity.indices {
      for name in group where description.relationshipsByName[name]?.isToMany == true {
        sentences.append(
          "A key of \(entity.name) names \(name), which is a to-many relationship: keys are of attributes and to-one relationships."
        )
      }
    }
    description.uniquenessConstraints = entity.uniquenessConstraints.uniqued()
    description.indexes =
      indexes(of: entity.orderedIndices, "by", .binary)
      + indexes(of: entity.spatialIndices, "spatialBy", .rTree)
  }

  private func indexes(of groups: [[String]], _ prefix: String, _ type: FetchIndexElementType)
    -> [FetchIndexDescription]
  {
    var seen: Set<[String]> = []
    return groups.filter { seen.insert($0).inserted }.map { names in
      let words = names.flatMap { $0.split(separator: ".") }
      return FetchIndexDescription(
        name: prefix + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(),
        elements: names.map { FetchIndexElementDescription(propertyName: $0, collationType: type) })
    }
  }
}

extension [[String]] {
  /// Each group once, in whatever order its names are.
  fileprivate func uniqued() -> [[String]] {
    var seen: Set<[String]> = []
    return filter { seen.insert($0.sorted()).inserted }
  }
}
