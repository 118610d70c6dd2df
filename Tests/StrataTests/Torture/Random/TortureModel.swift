import Foundation
import Strata

/// The model of the random tests: every attribute type, inheritance, indexes of all shapes, constraints.
///
///     Thing                 every type; ten indexes; `code` is unique; `rank` is mandatory
///      └ SpecialThing       two attributes and one index more
///     Note                  a hierarchy of its own; (`title`, `count`) is unique
enum TortureModel {
  struct Attribute {
    let name: String
    let type: AttributeType
    var defaultValue: AttributeValue = .null
  }

  /// The slot of the mandatory attribute of a thing.
  static let rankSlot = 14

  private static let thing: [Attribute] = [
    Attribute(name: "name", type: .string),
    Attribute(name: "short", type: .integer16),
    Attribute(name: "medium", type: .integer32),
    Attribute(name: "long", type: .integer64),
    Attribute(name: "flag", type: .boolean),
    Attribute(name: "ratio", type: .float),
    Attribute(name: "measure", type: .double, defaultValue: .double(0.5)),
    Attribute(name: "price", type: .decimal),
    Attribute(name: "moment", type: .date),
    Attribute(name: "token", type: .uuid),
    Attribute(name: "link", type: .uri),
    Attribute(name: "blob", type: .binaryData),
    Attribute(name: "text", type: .string),
    Attribute(name: "code", type: .string),
    Attribute(name: "rank", type: .integer32, defaultValue: .integer(7)),
  ]
  private static let special: [Attribute] = [
    Attribute(name: "extra", type: .string, defaultValue: .string("plain")),
    Attribute(name: "weight", type: .double),
  ]
  private static let note: [Attribute] = [
    Attribute(name: "title", type: .string),
    Attribute(name: "body", type: .binaryData),
    Attribute(name: "count", type: .integer64),
  ]

  /// By entity, all attributes in slot order.
  static let attributes: [String: [Attribute]] = [
    "Thing": thing, "SpecialThing": thing + special, "Note": note,
  ]
  /// By entity, the root of its hierarchy.
  static let roots = ["Thing": "Thing", "SpecialThing": "Thing", "Note": "Note"]
  /// By root, the slots of each uniqueness constraint.
  static let constraints: [String: [[Int]]] = ["Thing": [[13]], "Note": [[0, 2]]]

  static func slot(_ name: String, of entity: String) -> Int? {
    attributes[entity]?.firstIndex { $0.name == name }
  }

  /// A new model.
  static func make() -> ManagedObjectModel {
    let specialThing = EntityDescription(
      "SpecialThing", managedObjectClass: SpecialThing.self, properties: special.map(describe),
      indexes: [FetchIndexDescription(name: "byExtra", attributes: ["extra"])])
    let thing = EntityDescription(
      "Thing", managedObjectClass: Thing.self, properties: thing.map(describe),
      uniquenessConstraints: [["code"]], indexes: thingIndexes, subentities: [specialThing])
    let note = EntityDescription(
      "Note", properties: note.map(describe), uniquenessConstraints: [["title", "count"]],
      indexes: [FetchIndexDescription(name: "byBody", attributes: ["body"])])
    return ManagedObjectModel(entities: [thing, note])
  }

  private static var thingIndexes: [FetchIndexDescription] {
    let single = ["name", "short", "measure", "price", "token", "link", "text"].map {
      FetchIndexDescription(name: "by_\($0)", attributes: [$0])
    }
    let descending = FetchIndexDescription(
      name: "byLongDown", elements: [FetchIndexElementDescription(propertyName: "long", isAscending: false)])
    let flagAndMoment = FetchIndexDescription(
      name: "byFlagAndMoment",
      elements: [
        FetchIndexElementDescription(propertyName: "flag"),
        FetchIndexElementDescription(propertyName: "moment", isAscending: false),
      ])
    let nameAndRatio = FetchIndexDescription(
      name: "byNameDownAndRatio",
      elements: [
        FetchIndexElementDescription(propertyName: "name", isAscending: false),
        FetchIndexElementDescription(propertyName: "ratio"),
      ])
    return single + [descending, flagAndMoment, nameAndRatio]
  }

  private static func describe(_ attribute: Attribute) -> PropertyDescription {
    AttributeDescription(
      attribute.name, attribute.type, isOptional: attribute.name != "rank",
      defaultValue: attribute.defaultValue.anyValue)
  }
}

/// A thing. Read through the typed accessors, slot by slot.
class Thing: ManagedObject {
  override class var declaredSlots: [String]? { TortureModel.attributes["Thing"]?.map(\.name) }

  /// The value in `slot`, which is of type `type`, read the way a hand-written property reads it.
  final func typedValue(_ slot: Int, _ type: AttributeType) -> AttributeValue? {
    switch type {
    case .integer16: readOptionalInt16(slot: slot).map { .integer(Int64($0)) }
    case .integer32: readOptionalInt32(slot: slot).map { .integer(Int64($0)) }
    case .integer64: readOptionalInt64(slot: slot).map { .integer($0) }
    case .boolean: readOptionalBool(slot: slot).map { .boolean($0) }
    case .float: readOptionalFloat(slot: slot).map { .float($0) }
    case .double: readOptionalDouble(slot: slot).map { .double($0) }
    case .decimal: readDecimal(slot: slot).map { .decimal($0) }
    case .string: readString(slot: slot).map { .string($0) }
    case .date: readDate(slot: slot).map { .date($0) }
    case .binaryData: readData(slot: slot).map { .data($0) }
    case .uuid: readUUID(slot: slot).map { .uuid($0) }
    case .uri: readURL(slot: slot).map { .url($0) }
    default: nil
    }
  }

  /// The same through the accessors that know no nil: 0 or false stands for it (rule 345).
  final func plainValue(_ slot: Int, _ type: AttributeType) -> AttributeValue? {
    switch type {
    case .integer16: .integer(Int64(readInt16(slot: slot)))
    case .integer32: .integer(Int64(readInt32(slot: slot)))
    case .integer64: .integer(readInt64(slot: slot))
    case .boolean: .boolean(readBool(slot: slot))
    case .float: .float(readFloat(slot: slot))
    case .double: .double(readDouble(slot: slot))
    default: typedValue(slot, type)
    }
  }

  /// Sets `slot` the way a hand-written property does.
  final func setTypedValue(_ value: AttributeValue, _ slot: Int, _ type: AttributeType) {
    switch (type, value) {
    case (.integer16, .integer(let number)): write(Int16(truncatingIfNeeded: number), slot: slot)
    case (.integer32, .integer(let number)): write(Int32(truncatingIfNeeded: number), slot: slot)
    case (.integer64, .integer(let number)): write(number, slot: slot)
    case (_, .boolean(let flag)): write(flag, slot: slot)
    case (_, .float(let number)): write(number, slot: slot)
    case (_, .double(let number)): write(number, slot: slot)
    case (_, .decimal(let number)): write(number as Decimal?, slot: slot)
    case (_, .string(let text)): write(text as String?, slot: slot)
    case (_, .date(let date)): write(date as Date?, slot: slot)
    case (_, .data(let data)): write(data as Data?, slot: slot)
    case (_, .uuid(let uuid)): write(uuid as UUID?, slot: slot)
    case (_, .url(let url)): write(url as URL?, slot: slot)
    case (.integer16, _): write(nil as Int16?, slot: slot)
    case (.integer32, _): write(nil as Int32?, slot: slot)
    case (.integer64, _): write(nil as Int64?, slot: slot)
    case (.boolean, _): write(nil as Bool?, slot: slot)
    case (.float, _): write(nil as Float?, slot: slot)
    case (.double, _): write(nil as Double?, slot: slot)
    case (.decimal, _): write(nil as Decimal?, slot: slot)
    case (.string, _): write(nil as String?, slot: slot)
    case (.date, _): write(nil as Date?, slot: slot)
    case (.binaryData, _): write(nil as Data?, slot: slot)
    case (.uuid, _): write(nil as UUID?, slot: slot)
    case (.uri, _): write(nil as URL?, slot: slot)
    default: setValue(value.anyValue, forKey: TortureModel.attributes["SpecialThing"]?[slot].name ?? "")
    }
  }
}

final class SpecialThing: Thing {
  override class var declaredSlots: [String]? { TortureModel.attributes["SpecialThing"]?.map(\.name) }
}
