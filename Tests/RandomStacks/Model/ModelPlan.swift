import CoreData

/// An attribute of a random model.
struct AttributePlan {
  var name: String
  var type: NSAttributeType
  var isOptional = true
  var isTransient = false
  /// Kept beside the row, or long.
  var isLarge = false
  var defaultValue = PlainValue.none
  /// The least number allowed; nil for any.
  var least: Int64?
  /// Part of a uniqueness constraint: values come from a counter.
  var isUnique = false
}

/// A relationship of a random model.
struct RelationshipPlan {
  var name: String
  /// The number of the entity it leads to.
  var destination: Int
  var isToMany = false
  var isOrdered = false
  var isOptional = true
  var least = 0
  /// Most members; 0 for any number.
  var most = 0
  var rule = NSDeleteRule.nullifyDeleteRule
  var inverse: String?
}

/// An entity of a random model.
struct EntityPlan {
  var name: String
  var parent: Int?
  var isAbstract = false
  /// Its own, without the inherited ones.
  var attributes: [AttributePlan] = []
  var relationships: [RelationshipPlan] = []
  var constraints: [[String]] = []
  var indexes: [[String]] = []
}

/// A model as plain values: what the reference knows of it. Properties have names that no other has.
final class ModelPlan {
  let entities: [EntityPlan]
  /// All of an entity, inherited ones first.
  let attributes: [[AttributePlan]]
  let relationships: [[RelationshipPlan]]
  let relationship: [String: RelationshipPlan]
  /// The entities that are, or inherit from, each, itself included, and that records can be of.
  let concrete: [[Int]]
  let isKind: [[Bool]]

  init(_ entities: [EntityPlan]) {
    self.entities = entities
    func chain(_ entity: Int) -> [Int] { (entities[entity].parent.map(chain) ?? []) + [entity] }
    attributes = entities.indices.map { chain($0).flatMap { entities[$0].attributes } }
    relationships = entities.indices.map { chain($0).flatMap { entities[$0].relationships } }
    relationship = Dictionary(
      uniqueKeysWithValues: entities.flatMap(\.relationships).map { ($0.name, $0) })
    isKind = entities.indices.map { kind in entities.indices.map { chain(kind).contains($0) } }
    concrete = entities.indices.map { wanted in
      entities.indices.filter { !entities[$0].isAbstract && chain($0).contains(wanted) }
    }
  }

  var roots: [Int] { entities.indices.filter { entities[$0].parent == nil } }

  /// Whether references can lead to records that are gone.
  var canDangle: Bool { relationship.values.contains(where: mayDangle) }

  /// Whether references that lead to records that are gone can stay in this relationship.
  func mayDangle(_ relationship: RelationshipPlan) -> Bool {
    guard let inverse = relationship.inverse else { return true }
    return self.relationship[inverse]?.rule == .noActionDeleteRule
  }
}

extension ModelPlan: CustomStringConvertible {
  var description: String {
    entities.map { entity in
      var lines = [
        (entity.isAbstract ? "abstract " : "") + entity.name
          + (entity.parent.map { ": \(entities[$0].name)" } ?? "")
      ]
      lines += entity.attributes.map { attribute in
        "  \(attribute.name): \(attribute.type)" + (attribute.isOptional ? "?" : "")
          + (attribute.isTransient ? " transient" : "") + (attribute.isLarge ? " large" : "")
          + (attribute.defaultValue == .none ? "" : " = \(attribute.defaultValue)")
          + (attribute.least.map { " ≥ \($0)" } ?? "")
      }
      lines += entity.relationships.map { end in
        "  \(end.name) → \(entities[end.destination].name)"
          + (end.isToMany ? (end.isOrdered ? " ordered" : " many") : "") + (end.isOptional ? "?" : "")
          + (end.least > 0 || end.most > 0 ? " \(end.least)…\(end.most)" : "")
          + " \(end.rule)" + (end.inverse.map { " ⇄ \($0)" } ?? "")
      }
      lines += entity.constraints.map { "  unique \($0.joined(separator: "+"))" }
      lines += entity.indexes.map { "  index \($0.joined(separator: "+"))" }
      return lines.joined(separator: "\n")
    }.joined(separator: "\n")
  }
}
