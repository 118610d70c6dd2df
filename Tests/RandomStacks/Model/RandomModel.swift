import CoreData

extension ModelPlan {
  /// A model that depends on the seed alone.
  static func random(seed: UInt64) -> ModelPlan {
    var maker = ModelMaker(dice: Dice(seed: seed &+ 0xABCD))
    return ModelPlan(maker.make())
  }
}

private struct ModelMaker {
  var dice: Dice
  var entities: [EntityPlan] = []
  var count = 0

  init(dice: Dice) { self.dice = dice }

  mutating func make() -> [EntityPlan] {
    let total = 2 + dice.roll(6)
    for number in 0..<total {
      var entity = EntityPlan(name: "E\(number)")
      if number > 0, dice.chance(40) { entity.parent = dice.roll(number) }
      entities.append(entity)
    }
    for number in entities.indices where entities.contains(where: { $0.parent == number }) {
      entities[number].isAbstract = dice.chance(40)
    }
    for number in entities.indices { addAttributes(number) }
    for _ in 0..<(total + dice.roll(total + 2)) { addRelationship() }
    return entities
  }

  private mutating func name(_ letter: String) -> String {
    count += 1
    return "\(letter)\(count)"
  }

  // MARK: Attributes

  private static let types: [NSAttributeType] = [
    .integer16AttributeType, .integer32AttributeType, .integer64AttributeType, .decimalAttributeType,
    .doubleAttributeType, .floatAttributeType, .stringAttributeType, .stringAttributeType,
    .booleanAttributeType, .dateAttributeType, .binaryDataAttributeType, .UUIDAttributeType,
    .URIAttributeType,
  ]

  private mutating func addAttributes(_ entity: Int) {
    let isRoot = entities[entity].parent == nil
    if isRoot {
      entities[entity].attributes.append(
        AttributePlan(
          name: "number", type: .integer64AttributeType, isOptional: false, defaultValue: .integer(0)))
    }
    for _ in 0..<(1 + dice.roll(isRoot ? 5 : 3)) { addAttribute(entity) }
    if dice.chance(isRoot ? 40 : 15) { addConstraint(entity) }
    let plain = entities[entity].attributes.filter { !$0.isTransient && !$0.isLarge }.map(\.name)
    if dice.chance(50), let one = dice.pick(plain) {
      var index = [one]
      if dice.chance(40), let other = dice.pick(plain), other != one { index.append(other) }
      entities[entity].indexes.append(index)
    }
  }

  private mutating func addAttribute(_ entity: Int) {
    guard let type = dice.pick(Self.types) else { return }
    var attribute = AttributePlan(name: name("a"), type: type)
    let canBeLarge = type == .binaryDataAttributeType || type == .stringAttributeType
    attribute.isLarge = canBeLarge && dice.chance(30)
    if dice.chance(25), type != .URIAttributeType, type != .UUIDAttributeType {
      attribute.defaultValue = .random(type, isLarge: false, &dice)
    }
    attribute.isTransient = dice.chance(12)
    if dice.chance(25), !attribute.isTransient { attribute.isOptional = false }
    let isNumber = [.integer16AttributeType, .integer32AttributeType, .doubleAttributeType].contains(type)
    if isNumber, !attribute.isTransient, dice.chance(15) {
      attribute.least = -20_000
      if type == .doubleAttributeType { attribute.least = -4 }
      if type == .doubleAttributeType, attribute.defaultValue != .none {
        attribute.defaultValue = .double(1)
      }
      if attribute.defaultValue == .integer(-32_768) { attribute.defaultValue = .integer(1) }
    }
    entities[entity].attributes.append(attribute)
  }

  private mutating func addConstraint(_ entity: Int) {
    var names: [String] = []
    for _ in 0..<(dice.chance(35) ? 2 : 1) {
      let type: NSAttributeType = dice.chance(50) ? .stringAttributeType : .integer64AttributeType
      let attribute = AttributePlan(name: name("k"), type: type, isOptional: false, isUnique: true)
      entities[entity].attributes.append(attribute)
      names.append(attribute.name)
    }
    entities[entity].constraints.append(names)
  }

  // MARK: Relationships

  private mutating func addRelationship() {
    let (from, to) = (dice.roll(entities.count), dice.roll(entities.count))
    var one = RelationshipPlan(name: name("r"), destination: to)
    one.isToMany = dice.chance(50)
    one.isOrdered = one.isToMany && dice.chance(35)
    if from == to, dice.chance(30) {
      // A relationship that is its own inverse.
      one.isOrdered = false
      one.inverse = one.name
      one.rule = dice.chance(80) ? .nullifyDeleteRule : .cascadeDeleteRule
      entities[from].relationships.append(one)
      return
    }
    guard dice.chance(80) else {
      one.rule = dice.chance(80) ? .nullifyDeleteRule : .cascadeDeleteRule
      entities[from].relationships.append(one)
      return
    }
    var other = RelationshipPlan(name: one.name + "i", destination: from)
    other.isToMany = dice.chance(one.isToMany ? 50 : 70)
    other.isOrdered = other.isToMany && dice.chance(35)
    one.inverse = other.name
    other.inverse = one.name
    (one.rule, other.rule) = rules()
    let canDangle = one.rule == .noActionDeleteRule || other.rule == .noActionDeleteRule
    if !canDangle {
      if one.isToMany != other.isToMany, root(from) != root(to), dice.chance(25) {
        // A to-one owner is mandatory. Owners come first, so that no two entities need each other.
        if !one.isToMany, root(to) < root(from) { one.isOptional = false }
        if !other.isToMany, root(from) < root(to) { other.isOptional = false }
      }
      if one.isToMany, dice.chance(12) { one.most = 3 + dice.roll(4) }
      if other.isToMany, one.isOptional, dice.chance(8) { other.least = 2 }
    }
    entities[from].relationships.append(one)
    entities[to].relationships.append(other)
  }

  private func root(_ entity: Int) -> Int { entities[entity].parent.map(root) ?? entity }

  private mutating func rules() -> (NSDeleteRule, NSDeleteRule) {
    switch dice.roll(100) {
    case ..<55: (.nullifyDeleteRule, .nullifyDeleteRule)
    case ..<78: (.cascadeDeleteRule, .nullifyDeleteRule)
    case ..<83: (.cascadeDeleteRule, .cascadeDeleteRule)
    case ..<92: (.denyDeleteRule, .nullifyDeleteRule)
    default: (.noActionDeleteRule, .nullifyDeleteRule)
    }
  }
}
