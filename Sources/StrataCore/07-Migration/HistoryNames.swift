/// What an entity, its attributes and its relationships are called before and after a migration: what a history says of them is said by the names of now.
package struct HistoryNames: Sendable {
  package let source: EntitySchema
  package let destination: EntitySchema
  /// By the name of an attribute or a relationship, the name of what continues it. What is gone is not there.
  package let properties: [String: String]

  /// The entities that go on.
  static func all(_ pairing: ModelPairing, from source: Schema, to destination: Schema) -> [HistoryNames] {
    pairing.pairs.compactMap { pair in
      guard let old = source.entity(named: pair.source.name ?? ""),
        let new = destination.entity(named: pair.destination.name ?? "")
      else { return nil }
      return HistoryNames(old, new, pair)
    }
  }

  private init(_ source: EntitySchema, _ destination: EntitySchema, _ pair: ModelPairing.EntityPair) {
    (self.source, self.destination) = (source, destination)
    var properties: [String: String] = [:]
    for property in pair.attributes + pair.relationships {
      let new = property.destination.name
      guard let old = property.source?.name, source.slot(named: old) != nil,
        destination.slot(named: new) != nil
      else { continue }
      properties[old] = new
    }
    self.properties = properties
  }
}
