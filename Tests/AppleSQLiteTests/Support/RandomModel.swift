import Foundation
import StrataCore
import TortureKit

/// Random models with all that Apple's format has rules for: hierarchies, names that clash in a table, composites, relationships of all kinds.
enum RandomModel {
  static let types: [AttributeType] = [
    .integer16, .integer32, .integer64, .boolean, .double, .float, .decimal, .string, .date, .binaryData,
    .transformable, .uuid, .uri,
  ]

  static func make(_ random: inout SeededGenerator) -> ManagedObjectModel {
    var builder = Builder(random)
    let model = builder.build()
    random = builder.random
    return model
  }

  private struct Builder {
    var random: SeededGenerator
    private var entities: [EntityDescription] = []
    /// By entity, the names that its line of superentities and all below it have.
    private var properties: [ObjectIdentifier: [PropertyDescription]] = [:]

    init(_ random: SeededGenerator) { self.random = random }

    mutating func build() -> ManagedObjectModel {
      let roots = ["Person", "Team", "item", "Place", "Note", "zone"].shuffled(using: &random)
        .prefix(2 + random.below(3))
      for root in roots {
        let entity = EntityDescription(root)
        entities.append(entity)
        addSubentities(entity, level: 0)
        if !entity.subentities.isEmpty && random.chance(40) { entity.isAbstract = true }
      }
      for entity in entities { addAttributes(entity) }
      for _ in 0..<(3 + random.below(10)) { addRelationship() }
      for entity in entities { entity.properties = properties[ObjectIdentifier(entity)] ?? [] }
      let model = ManagedObjectModel(entities: entities)
      if random.chance(50) { model.versionIdentifiers = ["1.0.0"] }
      return model
    }

    private mutating func addSubentities(_ entity: EntityDescription, level: Int) {
      if level == 2 { return }
      var own: [EntityDescription] = []
      for letter in ["A", "B", "C"].prefix(random.below(4)) where random.chance(70) {
        let child = EntityDescription((entity.name ?? "") + letter)
        own.append(child)
        entities.append(child)
        addSubentities(child, level: level + 1)
      }
      entity.subentities = own
    }

    /// The entity, those above and those below: what they have must be called differently.
    private func line(_ entity: EntityDescription) -> [EntityDescription] {
      entities.filter { $0.isKindOf(entity: entity) || entity.isKindOf(entity: $0) }
    }

    /// A name that siblings may have as well; some look as if a number had been put behind another one.
    private mutating func name(_ pool: [String], for entity: EntityDescription) -> String {
      let taken = Set(
        line(entity).flatMap { properties[ObjectIdentifier($0)] ?? [] }.map { $0.name.uppercased() })
      for name in pool.shuffled(using: &random) where !taken.contains(name.uppercased()) { return name }
      var number = 1
      while taken.contains("\(pool[0])\(number)".uppercased()) { number += 1 }
      return "\(pool[0])\(number)"
    }

    private mutating func add(_ property: PropertyDescription, to entity: EntityDescription) {
      properties[ObjectIdentifier(entity), default: []].append(property)
    }

    private mutating func addAttributes(_ entity: EntityDescription) {
      for _ in 0..<(1 + random.below(5)) {
        let name = name(["text", "Text1", "count", "fooBar", "when", "body", "price", "city"], for: entity)
        if random.chance(12) {
          let inner = CompositeAttributeDescription(
            "geo", elements: [AttributeDescription("lat", .double), AttributeDescription("lon", .double)])
          let elements = [AttributeDescription("city", .string)] + (random.chance(50) ? [inner] : [])
          add(CompositeAttributeDescription(name, elements: elements), to: entity)
          continue
        }
        let attribute = AttributeDescription(name, random.pick(RandomModel.types))
        if attribute.attributeType == .binaryData || attribute.attributeType == .transformable {
          attribute.allowsExternalBinaryDataStorage = random.chance(50)
        }
        if random.chance(10) { attribute.isTransient = true }
        if random.chance(10) { attribute.isOptional = false }
        if random.chance(10) { attribute.versionHashModifier = "2" }
        if attribute.attributeType == .string && random.chance(20) { attribute.defaultValue = "new" }
        add(attribute, to: entity)
      }
    }

    private mutating func addRelationship() {
      let (owner, destination) = (random.pick(entities), random.pick(entities))
      let names = ["parts", "owner", "links", "Peers", "main"]
      let first = RelationshipDescription(
        name(names, for: owner), to: destination, maxCount: random.chance(50) ? 0 : 1)
      add(first, to: owner)
      // Without inverse: to-many ones without order, since no order of theirs is known.
      if random.chance(15) { return }
      if owner === destination && random.chance(25) {
        first.inverseRelationship = first
        return
      }
      let second = RelationshipDescription(
        name(names, for: destination), to: owner, maxCount: random.chance(50) ? 0 : 1)
      add(second, to: destination)
      first.inverseRelationship = second
      second.inverseRelationship = first
      for relationship in [first, second] where relationship.isToMany && random.chance(50) {
        relationship.isOrdered = true
      }
    }
  }
}
