import Foundation
import StrataCore

/// The names of tables and columns that a model gives itself, in the `userInfo` of its entities and properties.
///
/// ```
///   entity without superentity        postgres.table     its table, and that of its subentities
///   attribute, to-one relationship    postgres.column    its column
///   relationship kept as links        postgres.table     the table of links; at one end, or the same at both
/// ```
struct GivenNames {
  static let tableKey = "postgres.table"
  static let columnKey = "postgres.column"
  private static let prefix = "postgres."

  /// By what it is called in ``StoreMapping/names``.
  private(set) var names: [String: String] = [:]
  /// What is wrong with them, a sentence each.
  private(set) var refusals: [String] = []
  private let schema: Schema
  /// By table, the names of its columns and whose they are.
  private var columns: [Int: [String: String]] = [:]
  private var tables: [String: String] = [:]

  init(_ schema: Schema) {
    self.schema = schema
    let entities = schema.model.entitiesByName
    for entity in schema.entities {
      guard let description = entities[entity.name] else { continue }
      add(entity, description)
    }
    for relationship in schema.relationships where relationship.isEdgeStored {
      addLinks(relationship, entities)
    }
  }

  /// All columns of a table that have a name of the model's.
  func columns(_ hierarchy: Int) -> Set<String> { Set((columns[hierarchy] ?? [:]).keys) }

  /// All tables that have one.
  var tableNames: Set<String> { Set(tables.keys) }

  // MARK: Columns

  /// Names of the server's, and of the store's own columns.
  static let reservedColumns: Set = [
    "pk", "entity", "version", "baseline", "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid",
  ]

  private static func isReserved(_ column: String) -> Bool {
    // Each version of the model has another one.
    let generation = column.dropFirst("outside_".count)
    let isOutside =
      column == "outside"
      || column.hasPrefix("outside_") && !generation.isEmpty && generation.allSatisfy(\.isNumber)
    return isOutside || reservedColumns.contains(column)
  }

  private mutating func add(_ entity: EntitySchema, _ description: EntityDescription) {
    if let table = text(Self.tableKey, of: description.userInfo, entity.name, permitted: [Self.tableKey]) {
      if entity.superNumber != nil {
        refusals.append(
          "\(entity.name) has the table of \(schema.hierarchies[entity.hierarchyNumber].rootName), which alone can name it."
        )
      } else {
        take(table: table, "table \(entity.name)", entity.name)
      }
    }
    let inherited = entity.superNumber.map { schema.entities[$0].attributes.count } ?? 0
    for attribute in entity.attributes.dropFirst(inherited) where attribute.slot != entity.baselineSlot {
      let place = "\(entity.name).\(attribute.name)"
      guard let property = property(attribute.name, of: description) else { continue }
      let isInRow = !attribute.isTransient
      let isLinks = attribute.relationship.map { schema.relationships[$0].isEdgeStored } ?? false
      guard
        let column = text(
          Self.columnKey, of: property.userInfo, place,
          permitted: isInRow ? [Self.columnKey] : isLinks ? [Self.tableKey] : [])
      else { continue }
      if Self.isReserved(column) {
        refusals.append("The column “\(column)” of \(place) is one of the store's or of the server's own.")
      } else if let other = columns[entity.hierarchyNumber]?.updateValue(place, forKey: column) {
        refusals.append("The column “\(column)” is named by \(other) and by \(place).")
      } else {
        columns[entity.hierarchyNumber, default: [:]][column] = place
        names[place] = column
      }
    }
  }

  /// The property of a name, or the element of a composite attribute.
  private func property(_ name: String, of entity: EntityDescription) -> PropertyDescription? {
    if let property = entity.propertiesByName[name] { return property }
    var parts = name.split(separator: ".").map(String.init)[...]
    var found = parts.popFirst().flatMap { entity.propertiesByName[$0] }
    while let part = parts.popFirst() {
      found = (found as? CompositeAttributeDescription)?.elements.first { $0.name == part }
    }
    return found
  }

  // MARK: Tables

  private mutating func addLinks(_ relationship: RelationshipSchema, _ entities: [String: EntityDescription])
  {
    // Of a pair the one with the smaller number stands for the table.
    let ends = [relationship.number] + (relationship.inverse.map { [$0] } ?? [])
    guard relationship.number == ends.min() else { return }
    var given: [(name: String, place: String)] = []
    for end in Set(ends).sorted().map({ schema.relationships[$0] }) {
      let owner = schema.entities[end.owner].name
      guard let property = entities[owner]?.propertiesByName[end.name],
        let name = text(Self.tableKey, of: property.userInfo, end.qualifiedName, permitted: [Self.tableKey])
      else { continue }
      given.append((name, end.qualifiedName))
    }
    guard let first = given.first else { return }
    if let other = given.last, other.name != first.name {
      refusals.append(
        "\(first.place) and its inverse \(other.place) share a table of links, and call it “\(first.name)” and “\(other.name)”."
      )
    } else {
      take(table: first.name, "join \(relationship.qualifiedName)", first.place)
    }
  }

  private mutating func take(table: String, _ path: String, _ place: String) {
    if Catalogue.reservedNames.contains(table) {
      refusals.append("The table “\(table)” of \(place) is one of the store's own.")
    } else if let other = tables.updateValue(place, forKey: table) {
      refusals.append("The table “\(table)” is named by \(other) and by \(place).")
    } else {
      names[path] = table
    }
  }

  // MARK: Entries

  /// The name under a key; nil when there is none, or none that can be taken.
  private mutating func text(
    _ key: String, of userInfo: [AnyHashable: Any]?, _ place: String, permitted: Set<String>
  ) -> String? {
    guard let userInfo else { return nil }
    for name in userInfo.keys.compactMap({ $0.base as? String }).sorted()
    where name.hasPrefix(Self.prefix) && !permitted.contains(name) {
      let sentence = "The entry “\(name)” in the userInfo of \(place) names nothing that it has."
      if !refusals.contains(sentence) { refusals.append(sentence) }
    }
    guard permitted.contains(key), let value = userInfo[key] else { return nil }
    guard let text = value as? String, !text.isEmpty, text.utf8.count <= Identifier.longest,
      !text.utf8.contains(0)
    else {
      refusals.append(
        "The entry “\(key)” in the userInfo of \(place) is no name on PostgreSQL, which has 1 to \(Identifier.longest) bytes and no NUL."
      )
      return nil
    }
    return text
  }
}
