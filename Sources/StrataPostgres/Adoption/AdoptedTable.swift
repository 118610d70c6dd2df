import Foundation
import StrataCore

/// A table that somebody else has made, which keeps the objects of an entity. The store's statements name a view of it, which calls columns as all tables of stores do:
///
/// ```
///   view of the store's namespace      table of somebody else's
///   pk                                 its primary key, of whatever name
///   entity, version, outside           strata_entity, strata_version, strata_outside: added
///   a column for each property         the same
///   –                                  columns that the model does not name
/// ```
struct AdoptedTable: Sendable, Hashable, Codable {
  /// The columns that are added to it.
  static let columns = ["strata_entity", "strata_version", "strata_outside"]
  /// The trigger that raises the version of rows that others change, and its function in the store's namespace.
  static let trigger = "strata_version"
  /// The trigger that raises the version of rows that other triggers change while a store saves, with the same function. The server calls it behind the one above.
  static let effectTrigger = "~strata_version_effect"

  /// The namespace that the table is in, without quotes.
  let namespace: String
  let name: String
  /// The column of the primary key, without quotes.
  let key: String
  /// The sequence that gives keys, as the server writes it.
  let sequence: String
  /// The foreign keys that are made deferrable, and that were not.
  let constraints: [String]
  /// By column, without quotes: how many characters a text may have. Nil where an earlier version has taken the table over, and did not look.
  let lengths: [String: Int]?

  /// - Throws: ``StorageError`` `.damaged` for what the catalogue does not keep.
  init(_ text: String) throws {
    guard let table = try? JSONDecoder().decode(AdoptedTable.self, from: Data(text.utf8)) else {
      throw SQLResult.damaged
    }
    self = table
  }

  init(
    namespace: String, name: String, key: String, sequence: String, constraints: [String],
    lengths: [String: Int]
  ) {
    (self.namespace, self.name, self.key) = (namespace, name, key)
    (self.sequence, self.constraints, self.lengths) = (sequence, constraints, lengths)
  }

  var relation: String { StoreMapping.qualified(name, namespace) }
}

extension StoreMapping {
  /// Whether the tables are somebody else's.
  var isAdopted: Bool { tables.contains { $0.adopted != nil } }

  /// Whether somebody else's triggers are called for rows of some of them.
  var callsTriggers: Bool { tables.contains { $0.triggers.areThere } }

  /// The namespaces of those, in quotes, with commas between them.
  var adoptedNamespaces: String {
    Set(tables.compactMap { $0.adopted?.namespace }).sorted().map(Identifier.quoted).joined(separator: ", ")
  }

  /// The same with tables of somebody else's, by hierarchy.
  /// - Throws: what encoding them throws, which nothing makes it do.
  func adopting(_ adopted: [AdoptedTable]) throws -> StoreMapping {
    var names = names
    let tables = try zip(tables, adopted).map { table, adopted -> TableMapping in
      names[Self.adoptedPath(schema.hierarchies[table.hierarchy].rootName)] = try Catalogue.json(adopted)
      return table.adopting(adopted)
    }
    return StoreMapping(
      schema: schema, namespace: namespace, tables: tables, joins: joins, codes: codes,
      entitiesByCode: entitiesByCode, names: names, generation: generation)
  }

  /// What an adopted table is called among the names that the catalogue keeps.
  static func adoptedPath(_ root: String) -> String { "adopted \(root)" }
}

extension TableMapping {
  /// The same table, of somebody else's.
  func adopting(_ adopted: AdoptedTable) -> TableMapping {
    let columns = columns.map { column in
      var column = column
      column.isAdopted = true
      // Indexes that the model declares are not made.
      column.hasPrefixIndex = false
      column.maximumLength = adopted.lengths?[Identifier.plain(column.name)]
      return column
    }
    return TableMapping(
      hierarchy: hierarchy, name: name, plainName: plainName, sequence: adopted.sequence, columns: columns,
      places: places, outside: outside, adopted: adopted)
  }
}
