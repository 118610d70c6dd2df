import Strata

/// A model as a plain value that can be changed at random, in ways that can be inferred.
///
/// Things are known by numbers that stay; names change.
struct RandomModel {
  struct Attribute {
    let id: Int
    var name: String
    var first: String
    let type: AttributeType
    var isMandatory = false
  }

  struct Relationship {
    let id: Int
    var name: String
    var first: String
    let destination: Int
    var isToMany: Bool
    var isOrdered: Bool
    /// The relationship that leads back.
    var inverse: Int?
  }

  struct Entity {
    let id: Int
    var name: String
    var first: String
    var parent: Int?
    var attributes: [Attribute]
    var relationships: [Relationship]
  }

  var entities: [Entity] = []
  private var lastNumber = 0

  static let types: [AttributeType] = [
    .string, .integer16, .integer64, .double, .boolean, .date, .binaryData, .decimal, .uuid,
  ]

  init(_ dice: inout Dice) {
    for _ in 0..<(2 + dice.roll(3)) { addEntity(&dice) }
    for _ in 0..<(2 + dice.roll(4)) { addRelationship(&dice) }
  }

  private mutating func number() -> Int {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Looking

  func entity(_ id: Int) -> Entity? { entities.first { $0.id == id } }

  /// The entity and what it inherits from, topmost first.
  func lineage(_ id: Int) -> [Entity] {
    guard let entity = entity(id) else { return [] }
    return (entity.parent.map { lineage($0) } ?? []) + [entity]
  }

  func attributes(_ id: Int) -> [Attribute] { lineage(id).flatMap(\.attributes) }
  func relationships(_ id: Int) -> [Relationship] { lineage(id).flatMap(\.relationships) }
  func isKind(_ id: Int, of ancestor: Int) -> Bool { lineage(id).contains { $0.id == ancestor } }
  func relationship(_ id: Int) -> Relationship? { entities.flatMap(\.relationships).first { $0.id == id } }
  func owner(ofRelationship id: Int) -> Int? {
    entities.first { $0.relationships.contains { $0.id == id } }?.id
  }

  // MARK: Making descriptions

  func make() -> ManagedObjectModel {
    var made: [Int: EntityDescription] = [:]
    var relationships: [Int: RelationshipDescription] = [:]
    for entity in entities {
      let description = EntityDescription(entity.name)
      if entity.first != entity.name { description.renamingIdentifier = entity.first }
      description.properties = entity.attributes.map { attribute in
        let made = AttributeDescription(
          attribute.name, attribute.type, isOptional: !attribute.isMandatory,
          defaultValue: attribute.isMandatory ? Self.substitute(attribute.type) : nil)
        if attribute.first != attribute.name { made.renamingIdentifier = attribute.first }
        return made
      }
      made[entity.id] = description
    }
    for entity in entities {
      for relationship in entity.relationships {
        let description = RelationshipDescription(
          relationship.name, to: made[relationship.destination]!, maxCount: relationship.isToMany ? 0 : 1,
          isOrdered: relationship.isToMany && relationship.isOrdered)
        if relationship.first != relationship.name { description.renamingIdentifier = relationship.first }
        relationships[relationship.id] = description
        made[entity.id]!.properties.append(description)
      }
      if let parent = entity.parent { made[parent]!.subentities.append(made[entity.id]!) }
    }
    for relationship in entities.flatMap(\.relationships) {
      if let inverse = relationship.inverse {
        relationships[relationship.id]!.inverseRelationship = relationships[inverse]
      }
    }
    return ManagedObjectModel(entities: entities.map { made[$0.id]! })
  }

  /// The default of mandatory attributes.
  static func substitute(_ type: AttributeType) -> Any {
    switch type {
    case .string: "none"
    case .integer16, .integer64: 7
    case .double: 0.5
    case .boolean: true
    case .date: RandomContent.date(1)
    case .binaryData: RandomContent.data(3)
    case .decimal: RandomContent.decimal(5)
    default: RandomContent.uuid(9)
    }
  }

  // MARK: Changing

  private mutating func addEntity(_ dice: inout Dice) {
    let id = number()
    let parent = dice.roll(3) == 0 ? entities.randomElement(using: &dice)?.id : nil
    entities.append(
      Entity(id: id, name: "E\(id)", first: "E\(id)", parent: parent, attributes: [], relationships: []))
    for _ in 0..<(1 + dice.roll(4)) { addAttribute(to: entities.count - 1, &dice) }
  }

  private mutating func addAttribute(to place: Int, _ dice: inout Dice) {
    let id = number()
    let type = Self.types[dice.roll(Self.types.count)]
    entities[place].attributes.append(
      Attribute(id: id, name: "a\(id)", first: "a\(id)", type: type, isMandatory: dice.roll(4) == 0))
  }

  private mutating func addRelationship(_ dice: inout Dice) {
    let (from, to) = (dice.roll(entities.count), dice.roll(entities.count))
    let id = number()
    var made = Relationship(
      id: id, name: "r\(id)", first: "r\(id)", destination: entities[to].id, isToMany: dice.roll(2) == 0,
      isOrdered: dice.roll(2) == 0)
    if dice.roll(4) > 0 {
      let back = number()
      made.inverse = back
      entities[to].relationships.append(
        Relationship(
          id: back, name: "r\(back)", first: "r\(back)", destination: entities[from].id,
          isToMany: dice.roll(2) == 0, isOrdered: dice.roll(2) == 0, inverse: id))
    }
    entities[from].relationships.append(made)
  }

  private mutating func removeRelationship(_ id: Int) {
    for place in entities.indices { entities[place].relationships.removeAll { $0.id == id } }
    editRelationships { if $0.inverse == id { $0.inverse = nil } }
  }

  private mutating func editRelationships(_ body: (inout Relationship) -> Void) {
    for entity in entities.indices {
      for place in entities[entity].relationships.indices { body(&entities[entity].relationships[place]) }
    }
  }

  /// Another version.
  func changed(_ dice: inout Dice) -> RandomModel {
    var model = self
    for _ in 0..<(1 + dice.roll(8)) { model.change(&dice) }
    return model
  }

  private mutating func change(_ dice: inout Dice) {
    let place = dice.roll(entities.count)
    switch dice.roll(12) {
    case 0: entities[place].name = "E\(entities[place].id)n\(number())"
    case 1:
      guard let attribute = entities[place].attributes.indices.randomElement(using: &dice) else { return }
      entities[place].attributes[attribute].name = "a\(entities[place].attributes[attribute].id)n\(number())"
    case 2: addAttribute(to: place, &dice)
    case 3:
      guard let attribute = entities[place].attributes.indices.randomElement(using: &dice) else { return }
      entities[place].attributes.remove(at: attribute)
    case 4:
      guard let attribute = entities[place].attributes.indices.randomElement(using: &dice) else { return }
      entities[place].attributes[attribute].isMandatory.toggle()
    case 5: addEntity(&dice)
    case 6:
      // An entity without subentities goes, with what leads to it.
      let id = entities[place].id
      guard entities.count > 2, !entities.contains(where: { $0.parent == id }) else { return }
      for relationship in entities.flatMap(\.relationships)
      where relationship.destination == id || owner(ofRelationship: relationship.id) == id {
        removeRelationship(relationship.id)
      }
      entities.removeAll { $0.id == id }
    case 7: addRelationship(&dice)
    case 8:
      guard let gone = entities[place].relationships.randomElement(using: &dice) else { return }
      removeRelationship(gone.id)
    case 9:
      guard let some = entities[place].relationships.randomElement(using: &dice) else { return }
      editRelationships {
        guard $0.id == some.id else { return }
        $0.isToMany = true
        $0.isOrdered.toggle()
      }
    case 10:
      guard let some = entities[place].relationships.randomElement(using: &dice) else { return }
      let name = "r\(some.id)n\(number())"
      editRelationships { if $0.id == some.id { $0.name = name } }
    default:
      // A new inverse: to-many, so that it can hold whatever there is.
      guard let some = entities[place].relationships.first(where: { $0.inverse == nil }),
        let to = entities.firstIndex(where: { $0.id == some.destination })
      else { return }
      let back = number()
      editRelationships { if $0.id == some.id { $0.inverse = back } }
      entities[to].relationships.append(
        Relationship(
          id: back, name: "r\(back)", first: "r\(back)", destination: entities[place].id, isToMany: true,
          isOrdered: dice.roll(2) == 0, inverse: some.id))
    }
  }
}
