/// Compiles a valid model into a schema. Pure: neither model nor descriptions change.
struct SchemaCompiler {
  private let model: ManagedObjectModel
  private let descriptions: [EntityDescription]
  private let numbers: [ObjectIdentifier: Int]
  /// The relationships that entities declare themselves; the index is the number.
  private let ownRelationships: [RelationshipDescription]
  private let relationshipNumbers: [ObjectIdentifier: Int]

  init(model: ManagedObjectModel) {
    self.model = model
    descriptions = model.entities.sorted { ($0.name ?? "") < ($1.name ?? "") }
    numbers = Dictionary(
      uniqueKeysWithValues: descriptions.enumerated().map { (ObjectIdentifier($1), $0) })
    ownRelationships = descriptions.flatMap { $0.ownProperties.compactMap { $0 as? RelationshipDescription } }
    relationshipNumbers = Dictionary(
      uniqueKeysWithValues: ownRelationships.enumerated().map { (ObjectIdentifier($1), $0) })
  }

  /// - Throws: `ModelError` for an entity whose rows or keys would be too long.
  func compile() throws(ModelError) -> Schema {
    let roots = descriptions.indices.filter { descriptions[$0].superentity == nil }
    let hierarchies = roots.enumerated().map { number, root in
      HierarchySchema(
        number: number, rootName: descriptions[root].name ?? "", root: root, memberNumbers: subtree(of: root))
    }
    let attributes = descriptions.map { self.attributes(of: $0) }
    let relationships = makeRelationships(attributes: attributes, hierarchies: hierarchies)
    var sentences: [String] = []
    let indexes = makeIndexes(attributes: attributes, sentences: &sentences)
    var entities: [EntitySchema] = []
    for (number, description) in descriptions.enumerated() {
      let ancestors = Set(ancestry(of: number))
      do {
        entities.append(
          EntitySchema(
            number: number,
            hierarchyNumber: hierarchies.first { $0.memberNumbers.contains(number) }?.number ?? 0,
            superNumber: description.superentity.flatMap { self.number(of: $0) },
            subtree: subtree(of: number), attributes: attributes[number],
            relationships: attributes[number].compactMap { $0.relationship.map { relationships[$0] } },
            inbound: relationships.filter { ancestors.contains($0.destination) },
            layout: try layout(of: attributes[number], description),
            indexes: indexes.filter { ancestors.contains($0.owner) }, description: description))
      } catch {
        sentences += error.sentences.map { "Entity \(description.name ?? ""): \($0)" }
      }
    }
    guard sentences.isEmpty else { throw ModelError(sentences) }
    return Schema(
      model: model, entities: entities, hierarchies: hierarchies, indexes: indexes,
      relationships: relationships)
  }

  private func number(of entity: EntityDescription) -> Int? { numbers[ObjectIdentifier(entity)] }

  private func subtree(of number: Int) -> [Int] {
    var result = [number]
    var next = 0
    while next < result.count {
      result += descriptions[result[next]].subentities.compactMap { self.number(of: $0) }
      next += 1
    }
    return result.sorted()
  }

  /// The entity itself and everything it inherits from.
  private func ancestry(of number: Int) -> [Int] {
    var result = [number]
    while let parent = descriptions[result[result.count - 1]].superentity.flatMap({ self.number(of: $0) }) {
      result.append(parent)
    }
    return result
  }

  private func attributes(of entity: EntityDescription) -> [AttributeSchema] {
    entity.propertiesBySlot.enumerated().map { slot, property in
      if let attribute = property as? AttributeDescription {
        return AttributeSchema(
          name: attribute.name, type: attribute.attributeType, isOptional: attribute.isOptional,
          isTransient: attribute.isTransient, slot: slot,
          defaultValue: AttributeValue(attribute.defaultValue, type: attribute.attributeType) ?? .null,
          relationship: nil)
      }
      let isToMany = (property as? RelationshipDescription)?.isToMany ?? false
      return AttributeSchema(
        name: property.name, type: isToMany ? .undefined : .objectID, isOptional: property.isOptional,
        isTransient: isToMany || property.isTransient, slot: slot, defaultValue: .null,
        relationship: relationshipNumbers[ObjectIdentifier(property)])
    }
  }

  private func makeRelationships(attributes: [[AttributeSchema]], hierarchies: [HierarchySchema])
    -> [RelationshipSchema]
  {
    ownRelationships.enumerated().map { number, relationship in
      // Validation has seen to it that there are entity and destination, and that both are in the model.
      let owner = relationship.entity.flatMap { self.number(of: $0) } ?? 0
      let destination = relationship.destinationEntity.flatMap { self.number(of: $0) } ?? 0
      return RelationshipSchema(
        number: number, owner: owner, slot: attributes[owner].first { $0.relationship == number }?.slot ?? 0,
        destination: destination,
        destinationHierarchy: hierarchies.first { $0.memberNumbers.contains(destination) }?.number ?? 0,
        inverse: relationship.inverseRelationship.flatMap { relationshipNumbers[ObjectIdentifier($0)] },
        description: relationship)
    }
  }

  private func layout(
    of attributes: [AttributeSchema], _ entity: EntityDescription
  ) throws(ModelError) -> RowLayout {
    let byName = entity.propertiesByName
    return try RowLayout(
      slots: attributes.map { attribute in
        RowLayout.Slot(
          name: attribute.name,
          canonicalName: byName[attribute.name]?.explicitRenamingIdentifier ?? attribute.name,
          kind: Self.kind(of: attribute))
      })
  }

  private static func kind(of attribute: AttributeSchema) -> SlotKind {
    attribute.isTransient ? .transient : SlotKind(attribute.type) ?? .transient
  }
}

// MARK: Indexes

extension SchemaCompiler {
  private func makeIndexes(attributes: [[AttributeSchema]], sentences: inout [String]) -> [IndexSchema] {
    var indexes: [IndexSchema] = []
    for (owner, description) in descriptions.enumerated() {
      let slots = Dictionary(uniqueKeysWithValues: attributes[owner].map { ($0.name, $0) })
      let entityName = description.name ?? ""
      var declared = description.indexes.map { index in
        (
          name: "\(entityName).\(index.name)", isUnique: false,
          parts: index.elements.map { (name: $0.propertyName, isAscending: $0.isAscending) }
        )
      }
      declared += description.uniquenessConstraints.map { names in
        (
          name: "\(entityName).unique(\(names.joined(separator: ",")))", isUnique: true,
          parts: names.map { (name: $0, isAscending: true) }
        )
      }
      for index in declared {
        let members = index.parts.compactMap { slots[$0.name] }
        let kinds = members.map { Self.kind(of: $0) }
        guard let limits = KeyLimits.limits(for: kinds) else {
          sentences.append("Index \(index.name) has too many attributes for one key.")
          continue
        }
        let parts = zip(zip(members, index.parts), limits).map { pair, limit in
          IndexSchema.Part(
            slot: pair.0.slot, isAscending: pair.1.isAscending, kind: Self.kind(of: pair.0), keyLimit: limit)
        }
        let signature = zip(members, parts).map { member, part in
          "\(part.isAscending ? "+" : "-")\(part.kind.letter)\(part.keyLimit)\(member.name)\n"
        }.joined()
        indexes.append(
          IndexSchema(
            number: indexes.count, name: index.name, owner: owner, parts: parts, isUnique: index.isUnique,
            signature: (index.isUnique ? "unique\n" : "index\n") + signature))
      }
    }
    return indexes
  }
}

/// How the bytes of an index key are divided among its parts.
///
/// A key is at most 511 bytes: the parts, then 8 bytes of primary key. Parts of fixed width take what they
/// need; strings, data and URLs share the rest evenly, at most 255 bytes each.
enum KeyLimits {
  static let maximumKeyLength = 511
  static let primaryKeyLength = 8
  static let maximumVariableLength = 255
  static let minimumVariableLength = 16
  /// Kind, exponent, 39 digits in pairs, end.
  static let decimalLength = 24

  /// The most bytes of encoded value per part; nil when the parts do not fit.
  static func limits(for kinds: [SlotKind]) -> [Int]? {
    var rest = maximumKeyLength - primaryKeyLength
    var variable = 0
    for kind in kinds {
      rest -= 1
      if isCut(kind) {
        rest -= 2
        variable += 1
      } else {
        rest -= fixedLength(of: kind)
      }
    }
    let share = variable == 0 ? 0 : min(rest / variable, maximumVariableLength)
    guard rest >= 0, variable == 0 || share >= minimumVariableLength else { return nil }
    return kinds.map { isCut($0) ? share : fixedLength(of: $0) }
  }

  /// Whether long values of the kind are cut in keys.
  static func isCut(_ kind: SlotKind) -> Bool {
    switch kind {
    case .string, .data, .url: true
    default: false
    }
  }

  /// The most bytes of encoded value of a kind that is not cut.
  private static func fixedLength(of kind: SlotKind) -> Int {
    switch kind {
    case .boolean: 1
    case .float: 4
    case .int16, .int32, .int64, .double, .date, .reference: 8
    case .uuid: 16
    case .decimal: decimalLength
    case .transient, .string, .data, .url: 0
    }
  }
}
