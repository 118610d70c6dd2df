import Foundation
import StrataCore

/// What there is to be written of the objects of an entity: stored attributes and links, each once.
struct EntityShape {
  struct Attribute {
    let slot: Int
    let name: String
    let type: AttributeType
    let isOptional: Bool
    /// The name as a key of JSON, with its colon.
    let key: [UInt8]
  }

  struct Link {
    let slot: Int
    let relationship: RelationshipSchema
    let key: [UInt8]
  }

  let entity: EntitySchema
  /// The entity's name inside a text of JSON.
  let escapedName: [UInt8]
  let attributes: [Attribute]
  let toOne: [Link]
  /// The to-many relationships.
  let toMany: [RelationshipSchema]
  /// Those of them whose members no row says, or not in their order: they are written by themselves.
  let told: [RelationshipSchema]

  init(_ entity: EntitySchema, _ schema: Schema) {
    self.entity = entity
    escapedName = Array(Self.quoted(entity.name).dropFirst().dropLast())
    attributes = entity.attributes.compactMap { attribute in
      guard attribute.relationship == nil, !attribute.isTransient,
        entity.slot(named: attribute.name) == attribute.slot
      else { return nil }
      return Attribute(
        slot: attribute.slot, name: attribute.name, type: attribute.type, isOptional: attribute.isOptional,
        key: Self.quoted(attribute.name) + [UInt8(ascii: ":")])
    }
    let stored = entity.relationships.filter { !$0.isTransient }
    toOne = stored.filter { !$0.isToMany }.map {
      Link(slot: $0.slot, relationship: $0, key: Self.quoted($0.name) + [UInt8(ascii: ":")])
    }
    toMany = stored.filter(\.isToMany)
    told = toMany.filter { Self.isTold($0, schema) }
  }

  static func all(_ schema: Schema) -> [EntityShape] { schema.entities.map { EntityShape($0, schema) } }

  /// Members with a to-one inverse follow from their own rows, and of two to-many ends without order one is enough.
  private static func isTold(_ relationship: RelationshipSchema, _ schema: Schema) -> Bool {
    if relationship.isOrdered { return true }
    guard relationship.isEdgeStored else { return false }
    guard let inverse = relationship.inverse.map({ schema.relationships[$0] }) else { return true }
    return !inverse.isOrdered && relationship.number <= inverse.number
  }

  private static func quoted(_ text: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.string(text)
    return writer.bytes
  }
}

/// Writes objects and links as lines of JSON.
struct ObjectLines {
  let window: StoreWindow
  let shapes: [EntityShape]

  init(_ window: StoreWindow) {
    self.window = window
    shapes = EntityShape.all(window.schema)
  }

  /// `{"id":"Person/p7","values":{"name":"Ann"},"links":{"team":"Team/p1"}}` without an end of line.
  func write(_ row: FetchedRow, to writer: inout JSONWriter) throws {
    let shape = shapes[row.entity]
    writer.raw("{\"id\":\"")
    writer.raw(shape.escapedName)
    writer.raw("/p")
    writer.unsigned(row.primaryKey)
    writer.raw("\",\"values\":{")
    for attribute in shape.attributes {
      let value = try window.value(of: row, attribute.slot)
      // An attribute that must have a value and has none says so.
      if value.isNull && attribute.isOptional { continue }
      writer.raw(attribute.key)
      writer.value(value)
      writer.byte(UInt8(ascii: ","))
    }
    writer.dropComma()
    writer.byte(UInt8(ascii: "}"))
    var isFirst = true
    for link in shape.toOne {
      guard case .reference(let bits) = try window.value(of: row, link.slot) else { continue }
      if isFirst { writer.raw(",\"links\":{") } else { writer.byte(UInt8(ascii: ",")) }
      isFirst = false
      writer.raw(link.key)
      try writeID(bits, row, to: &writer)
    }
    if !isFirst { writer.byte(UInt8(ascii: "}")) }
    writer.byte(UInt8(ascii: "}"))
  }

  /// A member or the object at the end of a link.
  func writeID(_ reference: UInt64, _ row: FetchedRow, to writer: inout JSONWriter) throws {
    guard let target = window.target(reference) else {
      throw Failure(
        .damaged, "\(shapes[row.entity].entity.name)/p\(row.primaryKey) refers to an unknown entity.")
    }
    writer.byte(UInt8(ascii: "\""))
    writer.raw(shapes[target.entity].escapedName)
    writer.raw("/p")
    writer.unsigned(target.key)
    writer.byte(UInt8(ascii: "\""))
  }
}
