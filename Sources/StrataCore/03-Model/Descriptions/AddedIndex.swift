/// An index that was added to a store while it was in use: its model need not know of it. What the store keeps of it.
///
/// The same in every process that has the store open: it compiles to the same keys wherever the entity and its attributes are known.
package struct AddedIndex: Sendable, Hashable, Codable {
  package struct Element: Sendable, Hashable, Codable {
    package var property: String
    package var isAscending: Bool
  }

  package var entity: String
  package var name: String
  package var elements: [Element]
  /// Nil for an index of all rows. A program that does not know of partial indexes takes it for one of all rows, whose signature is another one.
  package var condition: IndexCondition?

  /// The name among a store's indexes.
  package var qualifiedName: String { StoredName.ofIndex("\(entity).\(name)") }

  /// The index compiled for a schema, as one that the model declares would be.
  /// - Throws: `ModelError` with what is wrong, one sentence each.
  func compiled(number: Int, _ schema: Schema) throws(ModelError) -> IndexSchema {
    guard let owner = schema.entity(named: entity) else {
      throw ModelError("The model has no entity called “\(entity)”, which the index \(qualifiedName) is for.")
    }
    let description = FetchIndexDescription(
      name: name,
      elements: elements.map {
        FetchIndexElementDescription(propertyName: $0.property, isAscending: $0.isAscending)
      })
    description.condition = condition
    let sentences = ModelValidation.sentences(of: description, for: owner.entityDescription, in: schema.model)
    guard sentences.isEmpty else { throw ModelError(sentences) }
    let index = IndexSchema(
      number: number, name: qualifiedName, owner: owner.number, isUnique: false,
      elements: elements.compactMap { element in
        owner.slot(named: element.property).map { (owner.attributes[$0], element.isAscending) }
      },
      condition: condition, conditionSlots: condition?.keys.compactMap(owner.slot(named:)) ?? [])
    guard let index else { throw ModelError("Index \(qualifiedName) has too many attributes for one key.") }
    return index
  }
}

extension IndexSchema {
  /// An index over these attributes of its owner; nil when they are too many for one key.
  ///
  /// - Parameter conditionSlots: The slots that `condition` looks at.
  convenience init?(
    number: Int, name: String, owner: Int, isUnique: Bool,
    elements: [(attribute: AttributeSchema, isAscending: Bool)], condition: IndexCondition? = nil,
    conditionSlots: [Int] = []
  ) {
    let kinds = elements.map { SchemaCompiler.kind(of: $0.attribute) }
    guard let limits = KeyLimits.limits(for: kinds) else { return nil }
    let parts = elements.indices.map { place in
      Part(
        slot: elements[place].attribute.slot, isAscending: elements[place].isAscending, kind: kinds[place],
        keyLimit: limits[place])
    }
    let signature = zip(elements, parts).map { element, part in
      "\(part.isAscending ? "+" : "-")\(part.kind.letter)\(part.keyLimit)\(element.attribute.name)\n"
    }.joined()
    self.init(
      number: number, name: name, owner: owner, parts: parts, isUnique: isUnique,
      signature: (isUnique ? "unique\n" : "index\n") + signature
        + (condition?.signature ?? ""),
      condition: condition, conditionSlots: conditionSlots)
  }
}
