/// Makes a model of the classes that declare their entities.
///
///     classes ─▶ and all that they lead to, superclasses ─▶ entities ─▶ inheritance ─▶ relationships, inverses
struct ModelBuilder {
  private var declarations: [EntityDeclaration] = []
  private var numbers: [ObjectIdentifier: Int] = [:]
  private var sentences: [String] = []

  /// - Throws: `ModelError` with a sentence for everything that is wrong with the declarations.
  static func model(of types: [any SlotDeclaring.Type]) throws(ModelError) -> ManagedObjectModel {
    var builder = ModelBuilder()
    for type in types { builder.add(type, from: nil) }
    return try builder.build()
  }

  /// The classes that declare an entity, found from `types`, and their superclasses.
  static func classes(reachedFrom types: [any SlotDeclaring.Type]) -> Set<ObjectIdentifier> {
    var builder = ModelBuilder()
    for type in types { builder.add(type, from: nil) }
    return Set(builder.numbers.keys)
  }

  private mutating func add(_ type: any SlotDeclaring.Type, from source: String?) {
    if numbers[ObjectIdentifier(type)] != nil { return }
    guard let declaration = type.ownDeclaration else {
      let remedy = "write @Managed before it, or override entityDeclaration"
      sentences.append(
        source.map { "\($0) leads to class \(type), which declares no entity: \(remedy)." }
          ?? "Class \(type) declares no entity: \(remedy).")
      return
    }
    numbers[ObjectIdentifier(type)] = declarations.count
    declarations.append(declaration)
    if let parent = Self.declaredSuperclass(of: type) { add(parent, from: nil) }
    for property in declaration.properties {
      guard case .relationship(let relationship) = property.content else { continue }
      add(relationship.destination, from: "Relationship \(declaration.name).\(property.name)")
    }
  }

  private static func declaredSuperclass(of type: any SlotDeclaring.Type) -> (any SlotDeclaring.Type)? {
    var current: AnyClass? = _getSuperclass(type)
    while let candidate = current as? any SlotDeclaring.Type {
      if candidate.ownDeclaration != nil { return candidate }
      current = _getSuperclass(candidate)
    }
    return nil
  }

  private mutating func build() throws(ModelError) -> ManagedObjectModel {
    var places: [String: EntityDeclaration] = [:]
    for declaration in declarations {
      if let other = places.updateValue(declaration, forKey: declaration.name) {
        sentences.append(
          "Both \(other.place) and \(declaration.place) declare the entity \(declaration.name): give one of them another name."
        )
      }
    }
    let entities = declarations.map { entity(of: $0) }
    for (number, declaration) in declarations.enumerated() {
      guard let parent = Self.declaredSuperclass(of: declaration.managedObjectClass),
        let parentNumber = numbers[ObjectIdentifier(parent)]
      else { continue }
      entities[parentNumber].subentities.append(entities[number])
    }
    pairRelationships(entities)
    guard sentences.isEmpty else { throw ModelError(sentences, places: declarations) }
    let model = ManagedObjectModel(entities: entities)
    for (number, declaration) in declarations.enumerated() {
      for option in declaration.options {
        guard case .configurations(let names) = option.kind else { continue }
        for name in names {
          let members = model.entities(forConfigurationName: name) ?? []
          model.setEntities(members + [entities[number]], forConfigurationName: name)
        }
      }
    }
    return model
  }

  // MARK: Entities

  private func entity(of declaration: EntityDeclaration) -> EntityDescription {
    let entity = EntityDescription(declaration.name, managedObjectClass: declaration.managedObjectClass)
    var constraints: [[String]] = []
    var indexes: [FetchIndexDescription] = []
    entity.properties = declaration.properties.map { property in
      property.prepare?()
      let description = property.description(&constraints, &indexes)
      return description
    }
    for option in declaration.options {
      switch option.kind {
      case .name, .configurations: break
      case .abstract: entity.isAbstract = true
      case .unique(let names): constraints.append(names)
      case .index(let elements, let index): indexes.append(index.description(elements))
      case .renamed(let name): entity.renamingIdentifier = name
      case .hashModifier(let text): entity.versionHashModifier = text
      case .userInfo(let entries): entity.userInfo = adding(entries, to: entity.userInfo)
      }
    }
    entity.uniquenessConstraints = constraints
    entity.indexes = indexes
    return entity
  }

  // MARK: Relationships

  private struct End {
    let number: Int
    let name: String
    let declaration: RelationshipDeclaration
    let description: RelationshipDescription
    let destination: Int
    var qualifiedName: String
  }

  private mutating func pairRelationships(_ entities: [EntityDescription]) {
    var ends: [End] = []
    for (number, declaration) in declarations.enumerated() {
      for (property, description) in zip(declaration.properties, entities[number].ownProperties) {
        guard case .relationship(let relationship) = property.content,
          let description = description as? RelationshipDescription,
          let destination = numbers[ObjectIdentifier(relationship.destination)]
        else { continue }
        description.destinationEntity = entities[destination]
        ends.append(
          End(
            number: number, name: property.name, declaration: relationship, description: description,
            destination: destination, qualifiedName: "\(declaration.name).\(property.name)"))
      }
    }
    // Named inverses, at whichever end.
    for end in ends where end.declaration.isSymmetric {
      guard end.destination == end.number, end.declaration.inverse == nil else {
        sentences.append(
          "Relationship \(end.qualifiedName) cannot be symmetric: it leads to \(declarations[end.destination].name), or names another inverse."
        )
        continue
      }
      link(end, end)
    }
    for end in ends {
      guard let inverse = end.declaration.inverse else { continue }
      guard
        let other = ends.first(where: { $0.name == inverse && isSame($0.number, orAbove: end.destination) })
      else {
        sentences.append(
          "Relationship \(end.qualifiedName) names the inverse \(declarations[end.destination].name).\(inverse), which is no relationship there."
        )
        continue
      }
      guard isSame(end.number, orAbove: other.destination) || isSame(other.destination, orAbove: end.number)
      else {
        sentences.append(
          "Relationship \(end.qualifiedName) names the inverse \(other.qualifiedName), which leads to \(declarations[other.destination].name)."
        )
        continue
      }
      link(end, other)
    }
    inferInverses(ends)
  }

  private mutating func link(_ end: End, _ other: End) {
    for (one, two) in [(end, other), (other, end)] {
      if let known = one.description.inverseRelationship, known !== two.description {
        sentences.append(
          "Relationship \(one.qualifiedName) has two inverses, \(two.qualifiedName) and \(known.entity?.name ?? "").\(known.name): a relationship has one."
        )
        return
      }
    }
    end.description.inverseRelationship = other.description
    other.description.inverseRelationship = end.description
  }

  /// Where one relationship leads there and one back, and neither names another, they are each other's inverses.
  private mutating func inferInverses(_ ends: [End]) {
    for end in ends where end.description.inverseRelationship == nil && end.declaration.inverse == nil {
      let there = ends.filter {
        $0.number == end.number && $0.destination == end.destination
          && $0.description.inverseRelationship == nil && $0.declaration.inverse == nil
      }
      let back = ends.filter {
        $0.number == end.destination && $0.destination == end.number
          && $0.description.inverseRelationship == nil && $0.declaration.inverse == nil
          && $0.description !== end.description
      }
      if back.isEmpty { continue }
      guard there.count == 1 || end.number == end.destination && there.count == 2, back.count == 1,
        let other = back.first
      else {
        sentences.append(
          "Relationship \(end.qualifiedName) may have the inverse \(back.map(\.qualifiedName).joined(separator: " or ")): say which, at one end, with inverse:."
        )
        continue
      }
      link(end, other)
    }
  }

  private func isSame(_ number: Int, orAbove other: Int) -> Bool {
    var current: AnyClass? = declarations[other].managedObjectClass
    while let type = current {
      if type == declarations[number].managedObjectClass { return true }
      current = _getSuperclass(type)
    }
    return false
  }
}

// MARK: Properties

extension PropertyDeclaration {
  /// The property as a description; what it says of uniqueness and indexes goes to its entity.
  fileprivate func description(_ constraints: inout [[String]], _ indexes: inout [FetchIndexDescription])
    -> PropertyDescription
  {
    switch content {
    case .attribute(let type, let isOptional, let defaultValue, let options):
      let attribute = AttributeDescription(name, type, isOptional: isOptional, defaultValue: defaultValue)
      apply(options, to: attribute, &constraints, &indexes)
      attribute.declaredTransformer = transformer
      return attribute
    case .transient(let type, let isOptional, let defaultValue):
      let attribute = AttributeDescription(name, type, isOptional: isOptional, isTransient: true)
      if type == .undefined {
        attribute.declaredDefault = defaultValue
      } else {
        attribute.defaultValue = defaultValue
      }
      return attribute
    case .derived(let type, let expression, let options):
      let attribute = DerivedAttributeDescription(name, type, derivationExpression: expression)
      apply(options, to: attribute, &constraints, &indexes)
      return attribute
    case .composite(let elements, let isOptional, let options):
      let attribute = CompositeAttributeDescription(name, elements: elements(), isOptional: isOptional)
      apply(options, to: attribute, &constraints, &indexes)
      return attribute
    case .relationship(let declaration): return relationship(declaration)
    case .other(let make): return make(name)
    }
  }

  private func apply(
    _ options: [AttributeOption], to attribute: AttributeDescription, _ constraints: inout [[String]],
    _ indexes: inout [FetchIndexDescription]
  ) {
    for option in options {
      switch option.kind {
      case .unique: constraints.append([name])
      case .indexed(let index): indexes.append(index.description([EntityOption.IndexElement(name)]))
      case .optional: attribute.isOptional = true
      case .required: attribute.isOptional = false
      case .renamed(let old): attribute.renamingIdentifier = old
      case .hashModifier(let text): attribute.versionHashModifier = text
      case .rule(let rule): attribute.validationRules.append(rule)
      case .externalStorage: attribute.allowsExternalBinaryDataStorage = true
      case .preservedInHistory: attribute.preservesValueInHistoryOnDeletion = true
      case .transformer(let transformer): attribute.valueTransformerName = transformer
      case .userInfo(let entries): attribute.userInfo = adding(entries, to: attribute.userInfo)
      }
    }
  }

  private func relationship(_ declaration: RelationshipDeclaration) -> RelationshipDescription {
    let relationship = RelationshipDescription()
    relationship.name = name
    relationship.maxCount = declaration.isToMany ? 0 : 1
    relationship.isOrdered = declaration.isOrdered
    for option in declaration.options {
      switch option.kind {
      case .deleteRule(let rule): relationship.deleteRule = rule
      case .minimum(let count): relationship.minCount = count
      case .maximum(let count): if declaration.isToMany { relationship.maxCount = count }
      case .required: relationship.isOptional = false
      case .renamed(let old): relationship.renamingIdentifier = old
      case .hashModifier(let text): relationship.versionHashModifier = text
      case .rule(let rule): relationship.validationRules.append(rule)
      case .transient: relationship.isTransient = true
      case .symmetric: break
      case .userInfo(let entries): relationship.userInfo = adding(entries, to: relationship.userInfo)
      }
    }
    return relationship
  }
}

/// User info with further entries, which come in the place of those with their keys.
private func adding(_ entries: [String: any Sendable], to userInfo: [AnyHashable: Any]?) -> [AnyHashable: Any]
{
  var result = userInfo ?? [:]
  for (key, value) in entries { result[key] = value }
  return result
}
