/// Who leads, by relationships without an inverse, to objects that go together: asked of the stores once for all of them.
struct HiddenOwners {
  private struct Question: Hashable {
    let storeIndex: Int
    let relationship: Int
  }
  private var found: [Question: [UInt64: [UInt64]]] = [:]

  /// The to-many relationships without an inverse that may lead to `object`.
  static func relationships(to object: ManagedObject) -> [RelationshipSchema] {
    object.home.entity.inbound.filter { $0.isToMany && $0.inverse == nil && !$0.isTransient }
  }

  /// Asks for `objects`, of which each question concerns several. What cannot be read is left out: it is asked again for each object, and reported.
  init(of objects: [ManagedObject], in context: ManagedObjectContext) {
    var keys: [Question: (relationship: RelationshipSchema, keys: [UInt64])] = [:]
    for object in objects where !object.state.contains(.rowGone) {
      for relationship in Self.relationships(to: object) {
        let question = Question(storeIndex: object.home.storeIndex, relationship: relationship.number)
        keys[question, default: (relationship, [])].keys.append(object.primaryKey)
      }
    }
    for (question, (relationship, keys)) in keys where keys.count > 1 {
      guard let binding = context.coordinator.binding(question.storeIndex) else { continue }
      let backwards = EdgeSet(relationship: relationship.number, isHiddenInverse: true)
      guard let owners = try? context.newest(binding).members(backwards, of: keys) else { continue }
      found[question] = Dictionary(zip(keys, owners), uniquingKeysWith: { first, _ in first })
    }
  }

  /// References to the owners of `object`; nil when that was not asked.
  func owners(of object: ManagedObject, _ relationship: RelationshipSchema) -> [UInt64]? {
    let question = Question(storeIndex: object.home.storeIndex, relationship: relationship.number)
    return found[question]?[object.primaryKey]
  }
}
