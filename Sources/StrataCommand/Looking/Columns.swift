import Foundation
import StrataCore

/// What a table shows of each object.
struct Column {
  enum Kind {
    case identifier
    case attribute(slot: Int, AttributeType)
    case toOne(slot: Int)
    /// How many members there are.
    case toMany(RelationshipSchema)
  }

  /// What a cell holds.
  enum Content {
    case value(AttributeValue)
    case identifier(ObjectAddress)
    case count(Int)
  }

  let name: String
  let kind: Kind
  /// The slots of the to-one relationships that lead to the object shown.
  let steps: [Int]

  var isNumber: Bool {
    switch kind {
    case .attribute(_, .integer16), .attribute(_, .integer32), .attribute(_, .integer64),
      .attribute(_, .decimal),
      .attribute(_, .double), .attribute(_, .float), .toMany:
      true
    default: false
    }
  }

  /// The identifier, all stored attributes and the to-one relationships. Where a property is called “id”, the identifier has its other name.
  static func all(of shape: EntityShape) -> [Column] {
    let names = shape.attributes.map(\.name) + shape.toOne.map(\.relationship.name)
    let identifier = names.contains("id") && !names.contains("objectID") ? "objectID" : "id"
    return [Column(name: identifier, kind: .identifier, steps: [])]
      + shape.attributes.map { Column(name: $0.name, kind: .attribute(slot: $0.slot, $0.type), steps: []) }
      + shape.toOne.map { Column(name: $0.relationship.name, kind: .toOne(slot: $0.slot), steps: []) }
  }

  /// Looks up `title,author.name,tags,id`. The object's own identifier is `id` and `objectID`, unless a property has that name.
  static func parse(_ text: String, _ entity: EntitySchema, _ schema: Schema) throws -> [Column] {
    let parts = text.split(separator: ",")
    if parts.isEmpty {
      throw Failure(.usage, "--columns names no column: it is names with commas between them.")
    }
    return try parts.map { part in
      try column(part.trimmingCharacters(in: .whitespaces), entity, schema)
    }
  }

  private static func column(_ name: String, _ entity: EntitySchema, _ schema: Schema) throws -> Column {
    var owner = entity
    var rest = name
    var steps: [Int] = []
    while true {
      // Elements of composite attributes have slots under their whole path.
      if let slot = owner.slot(named: rest) {
        let attribute = owner.attributes[slot]
        if let number = attribute.relationship {
          let relationship = schema.relationships[number]
          if relationship.isTransient { break }
          return Column(
            name: name, kind: relationship.isToMany ? .toMany(relationship) : .toOne(slot: slot), steps: steps
          )
        }
        if attribute.isTransient { break }
        return Column(name: name, kind: .attribute(slot: slot, attribute.type), steps: steps)
      }
      if rest == "id" || rest == "objectID" { return Column(name: name, kind: .identifier, steps: steps) }
      let key = rest.prefix { $0 != "." }
      guard key.count < rest.count, let slot = owner.slot(named: String(key)),
        let number = owner.attributes[slot].relationship, !schema.relationships[number].isToMany
      else { break }
      steps.append(slot)
      owner = schema.entities[schema.relationships[number].destination]
      rest = String(rest.dropFirst(key.count + 1))
    }
    let names = owner.attributes.map(\.name).filter { !$0.hasPrefix("~") } + ["id"]
    let guess = Words.nearest(rest, among: names).map { " Did you mean “\($0)”?" } ?? ""
    throw Failure(
      .usage, "\(owner.name) has no stored property “\(rest)” for a column.\(guess)",
      advice: "Its properties are: \(names.joined(separator: ", ")).")
  }

  /// What the column holds of an object.
  func content(of row: FetchedRow, _ window: StoreWindow) throws -> Content {
    var row = row
    for step in steps {
      guard case .reference(let bits) = try window.value(of: row, step), let target = window.target(bits),
        let next = try window.row(target)
      else { return .value(.null) }
      row = next
    }
    switch kind {
    case .identifier: return .identifier(ObjectAddress(entity: row.entity, key: row.primaryKey))
    case .attribute(let slot, _): return .value(try window.value(of: row, slot))
    case .toOne(let slot):
      guard case .reference(let bits) = try window.value(of: row, slot), let target = window.target(bits)
      else { return .value(.null) }
      return .identifier(target)
    case .toMany(let relationship):
      return .count(try window.memberCount(relationship, of: row.primaryKey))
    }
  }
}

extension Column.Content {
  func shown(_ schema: Schema) -> String {
    switch self {
    case .value(let value): value.isNull ? "" : ValueText.shown(value)
    case .identifier(let object): Names.text(object, in: schema)
    case .count(let count): String(count)
    }
  }

  func cell(_ schema: Schema) -> String {
    if case .value(let value) = self {
      // What is nil is an empty cell, and an empty value is one in quotes.
      let text = ValueText.cell(value)
      return text.isEmpty && !value.isNull ? "\"\"" : CSV.quoted(text)
    }
    return CSV.quoted(shown(schema))
  }

  func json(_ schema: Schema) -> JSONValue {
    switch self {
    case .value(let value): .value(value)
    case .identifier(let object): .string(Names.text(object, in: schema))
    case .count(let count): .number(count)
    }
  }
}
