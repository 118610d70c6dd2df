import Foundation

/// A key path, looked up: the relationships it follows and what it ends at.
struct ResolvedPath {
  let steps: [RelationshipSchema]
  /// The attribute at the end; nil when it ends at objects.
  let attribute: AttributeSchema?
  /// The entity that has the attribute, or that the objects are of.
  let entity: EntitySchema
  /// The path as it was written.
  let words: String
  /// The entity it begins at.
  let start: EntitySchema

  /// Whether it leads through a to-many relationship.
  var isMany: Bool { steps.contains(where: \.isToMany) }

  func error(_ reason: FetchError.Reason) -> FetchError {
    FetchError(reason: reason, entityName: start.name, key: words)
  }

  /// Looks up `keys` one after the other.
  ///
  /// - Throws: ``FetchError`` for a name that nothing has, for a transient property, for names behind an attribute.
  init(_ keys: [String], from start: EntitySchema, schema: Schema) throws(FetchError) {
    let words = keys.joined(separator: ".")
    var steps: [RelationshipSchema] = []
    var entity = start
    var place = 0
    var found: AttributeSchema?
    func error(_ reason: FetchError.Reason, _ key: String) -> FetchError {
      var error = FetchError(reason: reason, entityName: entity.name, key: key)
      if reason == .unknownKey { error.similarKey = entity.similarProperty(key) }
      return error
    }
    while place < keys.count {
      var name = keys[place]
      place += 1
      guard let slot = entity.slot(named: name) else {
        if name == "self" || name == "SELF" { continue }
        if name == "objectID", place == keys.count { continue }
        throw error(entity.computed[name] == nil ? .unknownKey : .fetchedProperty, name)
      }
      var attribute = entity.attributes[slot]
      if let relationship = entity.relationship(slot: slot) {
        if relationship.isTransient { throw error(.transientKey, name) }
        steps.append(relationship)
        entity = schema.entities[relationship.destination]
        continue
      }
      while attribute.type == .composite, place < keys.count {
        name += "." + keys[place]
        place += 1
        guard let slot = entity.slot(named: name) else { throw error(.unknownKey, name) }
        attribute = entity.attributes[slot]
      }
      if place < keys.count { throw error(.notARelationship, name) }
      let isInMemory =
        attribute.type == .composite ? !attribute.hasStoredElements(in: entity) : attribute.isTransient
      if isInMemory { throw error(.transientKey, name) }
      found = attribute
    }
    self.steps = steps
    self.entity = entity
    self.words = words
    self.start = start
    attribute = found
  }
}

extension AttributeSchema {
  /// Whether a composite attribute's elements are in rows.
  fileprivate func hasStoredElements(in entity: EntitySchema) -> Bool {
    elements.contains { element in
      let attribute = entity.attributes[element]
      return attribute.type == .composite ? attribute.hasStoredElements(in: entity) : !attribute.isTransient
    }
  }
}
