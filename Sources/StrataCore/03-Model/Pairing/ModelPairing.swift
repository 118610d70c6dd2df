/// What of one model continues what of another, thing by thing. Judges nothing; see `InferredMappingModel`.
struct ModelPairing {
  /// An entity that goes on under the same or another name.
  struct EntityPair {
    let source: EntityDescription
    let destination: EntityDescription
    let attributes: [PropertyPair]
    let relationships: [PropertyPair]
  }

  /// A property of the later entity, inherited or its own; elements of composite attributes count as properties.
  struct PropertyPair {
    let destination: SlotDescription
    /// What it was before; nil for what is new.
    let source: SlotDescription?
  }

  /// In the order of the later model.
  let pairs: [EntityPair]
  /// The entities that the later model has gained.
  let added: [EntityDescription]
  /// Those that are gone.
  let removed: [EntityDescription]
  /// Sentences about things of the later model that say both of them were the same one of the earlier.
  let conflicts: [String]

  /// - Parameter held: The names of the entities of `source` that count; nil for all.
  init(_ source: ManagedObjectModel, _ destination: ManagedObjectModel, held: Set<String>? = nil) {
    let old = source.entities.filter { held?.contains($0.name ?? "") ?? true }
    let new = destination.entities
    let places = NameMatching.match(new.map(\.matchingName), with: old.map(\.matchingName))
    var (pairs, added): ([EntityPair], [EntityDescription]) = ([], [])
    for (entity, place) in zip(new, places) {
      guard let place else {
        added.append(entity)
        continue
      }
      pairs.append(Self.pair(old[place], entity))
    }
    self.pairs = pairs
    self.added = added
    let rivals = NameMatching.conflicts(new.map(\.matchingName), with: old.map(\.matchingName))
    conflicts =
      rivals.map { Self.conflict(new[$0.first].name ?? "", new[$0.second].name ?? "", $0.old) }
      + pairs.flatMap { pair in
        Self.conflicts(pair.source, pair.destination) { $0 is AttributeDescription }
          + Self.conflicts(pair.source, pair.destination) { $0 is RelationshipDescription }
      }
    let taken = Set(places.compactMap { $0 })
    removed = old.indices.filter { !taken.contains($0) }.map { old[$0] }
  }

  /// What became of an entity of the earlier model.
  func destination(of entity: EntityDescription) -> EntityDescription? {
    pairs.first { $0.source === entity }?.destination
  }

  private static func conflicts(
    _ source: EntityDescription, _ destination: EntityDescription,
    _ isWanted: (PropertyDescription) -> Bool
  ) -> [String] {
    let old = source.slotDescriptions.filter { isWanted($0.property) && !$0.isTransient }
    let new = destination.slotDescriptions.filter { isWanted($0.property) && !$0.isTransient }
    return NameMatching.conflicts(new.map(\.matchingName), with: old.map(\.matchingName)).map {
      // Elements of a composite attribute come with it.
      func place(_ slot: SlotDescription) -> String {
        "\(slot.property.entity?.name ?? destination.name ?? "").\(slot.name)"
      }
      return conflict(place(new[$0.first]), place(new[$0.second]), $0.old)
    }
  }

  private static func conflict(_ first: String, _ second: String, _ old: String) -> String {
    // What has just the old name is new, where the other one was renamed.
    let new = [first, second].first { $0 == old || $0.hasSuffix(".\(old)") }
    return "\(first) and \(second) both say that they were \(old): "
      + (new.map { "if \($0) is new, it" } ?? "a new one")
      + " needs a renaming identifier of its own, a name that was never used; in SwiftData that is another originalName"
  }

  private static func pair(_ source: EntityDescription, _ destination: EntityDescription) -> EntityPair {
    func match(_ isWanted: (PropertyDescription) -> Bool) -> [PropertyPair] {
      let old = source.slotDescriptions.filter { isWanted($0.property) }
      let new = destination.slotDescriptions.filter { isWanted($0.property) }
      let places = NameMatching.match(new.map(\.matchingName), with: old.map(\.matchingName))
      return zip(new, places).map { slot, place in
        PropertyPair(destination: slot, source: place.map { old[$0] })
      }
    }
    return EntityPair(
      source: source, destination: destination, attributes: match { $0 is AttributeDescription },
      relationships: match { $0 is RelationshipDescription })
  }
}
