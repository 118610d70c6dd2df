import StrataCore

/// What a model must be like for its objects to be kept in tables of somebody else's.
enum AdoptableModel {
  /// What cannot be kept there, a sentence each.
  static func refusals(_ schema: Schema) -> [String] {
    schema.entities.flatMap(refusals) + schema.relationships.flatMap { refusals($0, schema) }
  }

  private static func refusals(_ entity: EntitySchema) -> [String] {
    var sentences: [String] = []
    if entity.superNumber != nil || entity.subtree.count > 1 || entity.isAbstract {
      sentences.append("\(entity.name) is abstract, or has a superentity or subentities.")
    }
    if let derived = entity.derived.first {
      sentences.append("\(entity.name) has derived attributes (\(entity.attributes[derived.slot].name)).")
    }
    for attribute in entity.attributes where entity.layout.kind(of: attribute.slot) == .date {
      sentences.append(
        "\(entity.name).\(attribute.name) is a date: a column of times has other values than a date, which would change when they are saved. Leave it out of the model, or keep it as a number of seconds."
      )
    }
    return sentences
  }

  private static func refusals(_ relationship: RelationshipSchema, _ schema: Schema) -> [String] {
    if relationship.isTransient { return [] }
    let name = relationship.qualifiedName
    if relationship.isEdgeStored {
      return ["\(name) is kept as links: only to-one relationships and their inverses have columns."]
    }
    if relationship.isOrdered { return ["\(name) is ordered."] }
    if !relationship.isToMany, let inverse = relationship.inverse, !schema.relationships[inverse].isToMany {
      return ["\(name) is one-to-one."]
    }
    return []
  }
}
