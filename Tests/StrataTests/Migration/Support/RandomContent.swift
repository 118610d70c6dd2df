import Foundation
import Strata

/// What a store holds, as plain values: objects by primary key and hierarchy, values and members by the numbers of their properties.
struct RandomContent {
  struct Object {
    let entity: Int
    var values: [Int: AnyHashable]
    /// The objects' tags; of ordered relationships in order.
    var members: [Int: [String]]
  }

  /// By tag: the last part of the object's URI and the number of its topmost entity.
  var objects: [String: Object] = [:]

  static func date(_ number: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(number) + 0.25) }
  /// Every fourth is too large for a row.
  static func data(_ number: Int) -> Data {
    Data(repeating: UInt8(truncatingIfNeeded: number), count: number % 4 == 0 ? 3_000 : number)
  }
  static func decimal(_ number: Int) -> Decimal { Decimal(number) / 8 }
  static func uuid(_ number: Int) -> UUID {
    UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, UInt8(truncatingIfNeeded: number)))
  }

  private static func value(_ type: AttributeType, _ dice: inout Dice) -> AnyHashable? {
    if dice.roll(5) == 0 { return nil }
    let number = dice.roll(100)
    switch type {
    case .string: return String(repeating: dice.word(), count: number % 10 == 0 ? 800 : 1)
    case .integer16, .integer64: return Int64(number - 50)
    case .double: return Double(number) / 4
    case .boolean: return number % 2 == 0
    case .date: return date(number)
    case .binaryData: return data(number)
    case .decimal: return decimal(number)
    default: return uuid(number)
    }
  }

  /// The tag of an object: hierarchies have their own numbers of keys.
  private static func tag(_ object: ManagedObject, _ model: RandomModel) -> String {
    let entity = model.entities.first { $0.name == object.entity.name }!
    return "\(model.lineage(entity.id)[0].id)/\(object.objectID.uriRepresentation().lastPathComponent)"
  }

  // MARK: Stores

  /// Fills a store at random and says what is in it.
  static func fill(_ context: ManagedObjectContext, _ model: RandomModel, _ dice: inout Dice) throws
    -> RandomContent
  {
    try context.performAndWait {
      var made: [Int: [ManagedObject]] = [:]
      for _ in 0..<(20 + dice.roll(60)) {
        let entity = model.entities[dice.roll(model.entities.count)]
        let object = context.newObject(entity.name)
        for attribute in model.attributes(entity.id) {
          let value = value(attribute.type, &dice)
          if value != nil || !attribute.isMandatory { object.setValue(value?.base, forKey: attribute.name) }
        }
        for ancestor in model.lineage(entity.id) { made[ancestor.id, default: []].append(object) }
      }
      for entity in model.entities {
        for relationship in entity.relationships {
          for object in made[entity.id] ?? [] where dice.roll(3) > 0 {
            let some = (made[relationship.destination] ?? []).shuffled(using: &dice)
            if relationship.isToMany {
              let members = Array(some.prefix(dice.roll(5)))
              object.setValue(relationship.isOrdered ? members : Set(members), forKey: relationship.name)
            } else {
              object.setValue(some.first, forKey: relationship.name)
            }
          }
        }
      }
      try context.save()
    }
    return try read(context, model)
  }

  /// What is in a store.
  static func read(_ context: ManagedObjectContext, _ model: RandomModel) throws -> RandomContent {
    try context.performAndWait {
      var content = RandomContent()
      for entity in model.entities where entity.parent == nil {
        for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name)) {
          let own = model.entities.first { $0.name == object.entity.name }!
          var read = Object(entity: own.id, values: [:], members: [:])
          for attribute in model.attributes(own.id) {
            read.values[attribute.id] = object.value(forKey: attribute.name) as? AnyHashable
          }
          for relationship in model.relationships(own.id) {
            let members: [String]
            switch object.value(forKey: relationship.name) {
            case let list as [ManagedObject]: members = list.map { tag($0, model) }
            case let set as Set<ManagedObject>: members = set.map { tag($0, model) }.sorted()
            case let one as ManagedObject: members = [tag(one, model)]
            default: members = []
            }
            read.members[relationship.id] = members
          }
          content.objects[tag(object, model)] = read
        }
      }
      return content
    }
  }

  // MARK: Converting

  /// The content as it must be in another version of the model.
  func converted(from old: RandomModel, to new: RandomModel) -> RandomContent {
    var result = RandomContent()
    result.orders = Set(
      old.entities.flatMap(\.relationships).filter { $0.isToMany && $0.isOrdered }.map(\.id))
    for (tag, object) in objects where new.entity(object.entity) != nil {
      var converted = Object(entity: object.entity, values: [:], members: [:])
      for attribute in new.attributes(object.entity) {
        let known = old.attributes(object.entity).contains { $0.id == attribute.id }
        let value = known ? object.values[attribute.id] : nil
        let substitute = attribute.isMandatory ? RandomModel.substitute(attribute.type) as? AnyHashable : nil
        converted.values[attribute.id] = value ?? substitute.map { Self.stored($0, attribute.type) }
      }
      for relationship in new.relationships(object.entity) {
        converted.members[relationship.id] = members(relationship, of: tag, object, old).filter {
          objects[$0].map { new.entity($0.entity) != nil } ?? false
        }
      }
      result.objects[tag] = converted
    }
    return result
  }

  /// What another version of the model has no place for, with the number of objects that have it, by the names in the earlier one.
  func losses(from old: RandomModel, to new: RandomModel) -> [String: Int] {
    var losses: [String: Int] = [:]
    for object in objects.values {
      guard new.entity(object.entity) != nil else {
        losses[old.entity(object.entity)?.name ?? "", default: 0] += 1
        continue
      }
      let (attributes, relationships) = (new.attributes(object.entity), new.relationships(object.entity))
      for declarer in old.lineage(object.entity) {
        for attribute in declarer.attributes
        where object.values[attribute.id] != nil && !attributes.contains(where: { $0.id == attribute.id }) {
          losses["\(declarer.name).\(attribute.name)", default: 0] += 1
        }
        for relationship in declarer.relationships {
          let members = (object.members[relationship.id] ?? []).filter {
            objects[$0].map { new.entity($0.entity) != nil } ?? false
          }
          let isOrdered = relationship.isToMany && relationship.isOrdered
          let isLost: Bool
          if let kept = relationships.first(where: { $0.id == relationship.id }) {
            isLost = isOrdered && !(kept.isToMany && kept.isOrdered) && members.count > 1
          } else if let inverse = relationship.inverse, new.relationship(inverse) != nil {
            isLost = isOrdered && members.count > 1
          } else {
            isLost = !members.isEmpty
          }
          if isLost { losses["\(declarer.name).\(relationship.name)", default: 0] += 1 }
        }
      }
    }
    return losses
  }

  private static func stored(_ value: AnyHashable, _ type: AttributeType) -> AnyHashable {
    if let number = value.base as? Int { return type == .double ? Double(number) : Int64(number) }
    return value
  }

  private func members(
    _ relationship: RandomModel.Relationship, of tag: String, _ object: Object, _ old: RandomModel
  ) -> [String] {
    if old.relationship(relationship.id) != nil { return object.members[relationship.id] ?? [] }
    // A new inverse: the objects that referred here.
    guard let inverse = relationship.inverse, old.relationship(inverse) != nil else { return [] }
    return objects.filter { $0.value.members[inverse]?.contains(tag) ?? false }.map(\.key)
  }

  /// Where the contents differ; nil when they are the same. Members of relationships that have just got an order may have any.
  func difference(from found: RandomContent, _ model: RandomModel) -> String? {
    if Set(objects.keys) != Set(found.objects.keys) {
      return "objects \(Set(objects.keys).symmetricDifference(found.objects.keys).sorted().prefix(5))"
    }
    for (tag, object) in objects {
      guard let other = found.objects[tag] else { return tag }
      if object.entity != other.entity { return "\(tag) is of entity \(other.entity)" }
      for attribute in model.attributes(object.entity)
      where object.values[attribute.id] != other.values[attribute.id] {
        return
          "\(tag).\(attribute.name) is \(String(describing: other.values[attribute.id])), not \(String(describing: object.values[attribute.id]))"
      }
      for relationship in model.relationships(object.entity) {
        let (wanted, there) = (object.members[relationship.id] ?? [], other.members[relationship.id] ?? [])
        let keepsOrder = relationship.isOrdered && orders.contains(relationship.id)
        if keepsOrder ? wanted != there : wanted.sorted() != there.sorted() {
          return "\(tag).\(relationship.name) is \(there), not \(wanted)"
        }
      }
    }
    return nil
  }

  /// The relationships that had an order before.
  var orders: Set<Int> = []
}
