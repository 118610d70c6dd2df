/// Compiles a valid model. Pure: neither model nor descriptions change.
struct SchemaCompiler {
  private let descriptions: [EntityDescription]
  private let numbers: [ObjectIdentifier: Int]
  /// The relationships that entities declare themselves; the index is the number.
  private let ownRelationships: [RelationshipDescription]
  private let relationshipNumbers: [ObjectIdentifier: Int]

  init(model: ManagedObjectModel) {
    descriptions = model.entities.sorted { ($0.name ?? "") < ($1.name ?? "") }
    numbers = Dictionary(
      uniqueKeysWithValues: descriptions.enumerated().map { (ObjectIdentifier($1), $0) })
    ownRelationships = descriptions.flatMap { $0.ownProperties.compactMap { $0 as? RelationshipDescription } }
    relationshipNumbers = Dictionary(
      uniqueKeysWithValues: ownRelationships.enumerated().map { (ObjectIdentifier($1), $0) })
  }

  /// - Throws: `ModelError` for an entity whose rows or keys would be too long.
  func compile() throws(ModelError) -> CompiledModel {
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
            rules: try rules(of: description), layout: try layout(of: attributes[number], description),
            indexes: indexes.filter { ancestors.contains($0.owner) },
            derived: derived(of: description, attributes[number], attributes), description: description))
      } catch {
        sentences += error.sentences.map { "Entity \(description.name ?? ""): \($0)" }
      }
    }
    guard sentences.isEmpty else { throw ModelError(sentences) }
    return CompiledModel(
      entities: entities, hierarchies: hierarchies, indexes: indexes, relationships: relationships)
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
    let slots = entity.slotDescriptions
    var attributes = slots.enumerated().map { slot, description in
      let property = description.property
      if let attribute = property as? AttributeDescription {
        let isComposite = attribute.attributeType == .composite
        let elements = slots[(slot + 1)...].prefix { $0.depth > description.depth }
        return AttributeSchema(
          name: description.name, type: attribute.attributeType, isOptional: attribute.isOptional,
          isTransient: description.isTransient || isComposite, slot: slot,
          // Of a transformable attribute the bytes are the default, which its transformer makes when a store is attached. A derived one is computed: the
          // default that a model editor has left there is not used.
          defaultValue: attribute.attributeType == .transformable || attribute is DerivedAttributeDescription
            ? .null : AttributeValue(attribute.defaultValue, type: attribute.attributeType) ?? .null,
          relationship: nil,
          elements: isComposite ? elements.indices.filter { slots[$0].depth == description.depth + 1 } : [],
          composite: description.depth == 0 ? nil : slots[..<slot].lastIndex { $0.depth == 0 })
      }
      let isToMany = (property as? RelationshipDescription)?.isToMany ?? false
      return AttributeSchema(
        name: property.name, type: isToMany ? .undefined : .objectID, isOptional: property.isOptional,
        isTransient: isToMany || property.isTransient, slot: slot, defaultValue: .null,
        relationship: relationshipNumbers[ObjectIdentifier(property)], elements: [], composite: nil)
    }
    if slots.contains(where: { $0.property is DerivedAttributeDescription }) {
      attributes.append(
        AttributeSchema(
          name: Self.baselineName, type: .integer64, isOptional: true, isTransient: false, slot: slots.count,
          defaultValue: .null, relationship: nil, elements: [], composite: nil))
    }
    return attributes
  }

  /// The name of the slot that no property has; see `EntitySchema.baselineSlot`.
  static let baselineName = "~baseline"

  /// The entity's derived attributes. Validation has seen to it that what they follow from is there.
  private func derived(
    of entity: EntityDescription, _ own: [AttributeSchema], _ attributes: [[AttributeSchema]]
  ) -> [DerivedSchema] {
    func slot(_ name: String, _ attributes: [AttributeSchema]) -> Int? {
      attributes.first { $0.name == name }?.slot
    }
    func destination(_ name: String) -> (number: Int, attributes: [AttributeSchema])? {
      guard let relationship = entity.relationshipsByName[name],
        let number = relationshipNumbers[ObjectIdentifier(relationship)],
        let destination = relationship.destinationEntity.flatMap({ self.number(of: $0) })
      else { return nil }
      return (number, attributes[destination])
    }
    return entity.slotDescriptions.enumerated().compactMap { place, description -> DerivedSchema? in
      guard let derived = description.property as? DerivedAttributeDescription else { return nil }
      let source: DerivedSchema.Source?
      var form: Derivation.Form?
      switch derived.derivation {
      case .now: source = .now
      case .count(let name): source = destination(name).map { .count(relationship: $0.number) }
      case .sum(let name, let path):
        source = destination(name).flatMap { found in
          slot(path, found.attributes).map { .sum(relationship: found.number, slot: $0) }
        }
      case .copy(let path, let wanted):
        form = wanted
        if path.count > 1, let found = destination(path[0]) {
          source = slot(path.dropFirst().joined(separator: "."), found.attributes).map {
            .across(relationship: found.number, slot: $0)
          }
        } else {
          source = slot(path.joined(separator: "."), own).map { .own(slot: $0) }
        }
      case nil: source = nil
      }
      return source.map { DerivedSchema(slot: place, source: $0, form: form) }
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

  private func rules(of entity: EntityDescription) throws(ModelError) -> [PropertyRules] {
    var result: [PropertyRules] = []
    for (slot, description) in entity.slotDescriptions.enumerated() {
      let property = description.property
      if property.validationRules.isEmpty { continue }
      var rules: [CompiledRule] = []
      for rule in property.validationRules { rules.append(try CompiledRule(rule, of: property)) }
      result.append(PropertyRules(slot: slot, rules: rules))
    }
    return result
  }

  private func layout(
    of attributes: [AttributeSchema], _ entity: EntityDescription
  ) throws(ModelError) -> RowLayout {
    try RowLayout(
      slots: zip(attributes, entity.slotDescriptions.map(\.canonicalName) + [Self.baselineName]).map {
        RowLayout.Slot(name: $0.name, canonicalName: $1, kind: Self.kind(of: $0))
      }, meaning: Self.meaning(of: attributes, entity))
  }

  /// What a `PropertyReference` remembers of properties by the table of their entity's layout, and the layout does not say.
  private static func meaning(of attributes: [AttributeSchema], _ entity: EntityDescription) -> String {
    let properties = entity.slotDescriptions.map(\.property)
    var words = attributes.map { attribute in
      guard attribute.relationship != nil, attribute.slot < properties.count,
        let relationship = properties[attribute.slot] as? RelationshipDescription
      else { return "\(attribute.type.rawValue)" }
      return !relationship.isToMany ? "one" : relationship.isOrdered ? "ordered" : "many"
    }
    words += entity.propertiesByName.filter(\.value.isComputed).keys.sorted()
    return words.joined(separator: "\n")
  }

  static func kind(of attribute: AttributeSchema) -> SlotKind {
    if attribute.isTransient { return .transient }
    return attribute.type == .transformable ? .data : SlotKind(attribute.type) ?? .transient
  }
}

// MARK: Indexes

extension SchemaCompiler {
  private func makeIndexes(attributes: [[AttributeSchema]], sentences: inout [String]) -> [IndexSchema] {
    var indexes: [IndexSchema] = []
    for (owner, description) in descriptions.enumerated() {
      let slots = Dictionary(uniqueKeysWithValues: attributes[owner].map { ($0.name, $0) })
      let entityName = description.name ?? ""
      var declared = description.indexes.flatMap { index in
        let parts = index.elements.map { (name: $0.propertyName, isAscending: $0.isAscending) }
        let keys =
          index.isSpatial
          ? parts.map { (name: "\(index.name).\($0.name)", parts: [$0]) } : [(name: index.name, parts: parts)]
        return keys.map {
          (name: "\(entityName).\($0.name)", isUnique: false, parts: $0.parts, condition: index.condition)
        }
      }
      declared += description.uniquenessConstraints.map { names in
        (
          name: "\(entityName).unique(\(names.joined(separator: ",")))", isUnique: true,
          parts: names.map { (name: $0, isAscending: true) }, condition: nil
        )
      }
      for index in declared {
        let compiled = IndexSchema(
          number: indexes.count, name: StoredName.ofIndex(index.name), owner: owner, isUnique: index.isUnique,
          elements: index.parts.compactMap { part in slots[part.name].map { ($0, part.isAscending) } },
          condition: index.condition,
          conditionSlots: index.condition?.keys.compactMap { slots[$0]?.slot } ?? [])
        guard let compiled else {
          sentences.append("Index \(index.name) has too many attributes for one key.")
          continue
        }
        indexes.append(compiled)
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
