/// Finds which relationships are each other's inverses: those that name one another, and those of which only one pair can be meant.
struct InverseFinder {
  private struct End {
    /// The place of the entity that declares the relationship.
    let owner: Int
    /// That of the entity which it leads to.
    let destination: Int
    let property: PropertyDescriptor
    let relationship: Schema.Relationship
    let isToMany: Bool
    let isOptional: Bool
    let label: String

    /// A to-one relationship that must have a value is paired by name only.
    var isInferable: Bool { isToMany || isOptional }
  }

  private(set) var faults: [String] = []
  private let descriptors: [ModelDescriptor]
  private var ends: [End] = []
  /// The partner of each end.
  private var partners: [Int: Int] = [:]

  init(_ entities: [(descriptor: ModelDescriptor, entity: Schema.Entity)]) {
    descriptors = entities.map(\.descriptor)
    let places = Dictionary(
      descriptors.enumerated().map { (ObjectIdentifier($0.element.type), $0.offset) },
      uniquingKeysWith: { first, _ in first })
    for (owner, (descriptor, entity)) in entities.enumerated() {
      for (property, stored) in zip(descriptor.ownProperties, entity.storedProperties) {
        guard let relationship = stored as? Schema.Relationship else { continue }
        let (type, isToMany, isOptional): (any PersistentModel.Type, Bool, Bool)
        switch property.kind {
        case .toOne(let model, let optional): (type, isToMany, isOptional) = (model, false, optional)
        case .toMany(let model, let optional): (type, isToMany, isOptional) = (model, true, optional)
        case .attribute: continue
        }
        guard let destination = places[ObjectIdentifier(type)] else { continue }
        ends.append(
          End(
            owner: owner, destination: destination, property: property, relationship: relationship,
            isToMany: isToMany, isOptional: isOptional, label: "\(entity.name).\(property.name)"))
      }
    }
  }

  mutating func run() {
    for place in ends.indices { pairByName(place) }
    inferOthers()
    for (place, partner) in partners {
      ends[place].relationship.inverseName = ends[partner].property.name
      ends[place].relationship.inverseKeyPath = ends[partner].property.keyPath
    }
  }

  // MARK: By name

  private mutating func pairByName(_ place: Int) {
    let end = ends[place]
    guard let keyPath = end.relationship.inverseKeyPath else { return }
    let destination = descriptors[end.destination]
    guard let property = destination.property(for: keyPath),
      let partner = ends.firstIndex(where: { $0.property === property })
    else {
      let named = destination.path(for: keyPath).map { "\(destination.entityName).\($0)" }
      faults.append(
        "Relationship \(end.label) names the inverse \(named ?? "\(keyPath)"), which is no relationship of \(destination.entityName)."
      )
      return
    }
    let other = ends[partner]
    // A relationship that a superclass declares is one of all its models, which the other end could not hold, however the key path is written.
    guard other.owner == end.destination else {
      let (above, below) = (descriptors[other.owner].entityName, destination.entityName)
      faults.append(
        "Relationship \(end.label) names the inverse \(below).\(property.name), which is one of every \(above), not of \(below) only: let \(end.label) lead to \(above) and name \(other.label), or declare the inverse in \(below)."
      )
      return
    }
    guard other.destination == end.owner else {
      faults.append(
        "Relationship \(end.label) names the inverse \(other.label), which leads to \(descriptors[other.destination].entityName), not to \(descriptors[end.owner].entityName)."
      )
      return
    }
    for (one, two) in [(place, partner), (partner, place)] {
      if let known = partners[one], known != two {
        faults.append(
          "Relationship \(ends[one].label) has two inverses, \(ends[two].label) and \(ends[known].label): a relationship has one."
        )
        return
      }
    }
    partners[place] = partner
    partners[partner] = place
  }

  // MARK: By inference

  private mutating func inferOthers() {
    let free = ends.indices.filter { partners[$0] == nil && ends[$0].relationship.inverseKeyPath == nil }
    for place in free where partners[place] == nil {
      let end = ends[place]
      let back = free.filter { $0 != place && leads($0, backTo: end) }
      guard back.count == 1, let partner = back.first, partners[partner] == nil else { continue }
      let other = ends[partner]
      let there = free.filter { $0 != partner && leads($0, backTo: other) }
      guard there == [place], end.isInferable, other.isInferable, !(end.isToMany && other.isToMany) else {
        continue
      }
      partners[place] = partner
      partners[partner] = place
    }
  }

  private func leads(_ place: Int, backTo end: End) -> Bool {
    ends[place].owner == end.destination && ends[place].destination == end.owner
  }
}
