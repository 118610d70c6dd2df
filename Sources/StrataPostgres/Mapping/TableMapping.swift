import StrataCore

/// A column that holds the values of a property.
struct ColumnMapping: Sendable {
  /// The name in quotes.
  let name: String
  let type: SQLType
  let kind: SlotKind
  /// What it is called in the model, `Entity.property`.
  let path: String
  /// For a to-one relationship: its number.
  let relationship: Int?
  /// For a to-one relationship whose destination has subentities: the column of the entity's code, in quotes.
  let codeColumn: String?
  /// For a to-one relationship whose inverse keeps an order: the column of the position among the owner's members, in quotes.
  let positionColumn: String?
  /// Whether some index holds the first characters of the text.
  var hasPrefixIndex = false
  /// Whether somebody else has made it.
  var isAdopted = false
  /// How many characters a text may have, in a column of somebody else's that says so. The server cuts spaces off beyond that, without a word.
  var maximumLength: Int?

  /// Whether texts of a column of somebody else's are in the order of the bytes by themselves.
  var isByteOrdered = false

  /// What stands behind the name where texts are put in order: the store's own columns are in the order of the bytes by themselves. Where the words are left out, the server has
  /// an index for it that it would not take with them.
  var order: String { isAdopted && type == .text && !isByteOrdered ? " COLLATE \"C\"" : "" }
}

/// The triggers that somebody else has given a table: they may give rows of this table and of others values that nobody has sent.
struct OthersTriggers: Sendable {
  /// Whether some are called when rows are inserted or updated.
  var followWrites = false
  /// Whether some are called when rows are deleted.
  var followDeletes = false

  var areThere: Bool { followWrites || followDeletes }
}

/// The table of one hierarchy: a row for each object of whatever entity in it.
///
/// ```
///   pk bigint │ entity smallint │ version integer │ outside bytea │ a column for each stored property
/// ```
struct TableMapping: Sendable {
  /// The hierarchy's number in the schema.
  let hierarchy: Int
  /// Namespace and name in quotes.
  let name: String
  /// The name without namespace and quotes.
  let plainName: String
  /// Namespace and name of the sequence of primary keys, in quotes.
  let sequence: String
  let columns: [ColumnMapping]
  /// By entity number, for entities of the hierarchy: by slot the place in `columns`, -1 for slots that take no place in rows.
  let places: [Int: [Int]]
  /// The column that names values outside of rows. Each version of the model has another name for it: a program that knows an earlier one does not take rows for
  /// what they are not.
  let outside: String
  /// The table of somebody else's that `name` is a view of; nil for one of the store's own.
  var adopted: AdoptedTable?
  /// What triggers of somebody else's it has, as far as is known since the store was opened.
  var triggers = OthersTriggers()

  /// Always true, and fails in a store of another version, where the column has another name. For questions that name no other column by which they would notice it;
  /// no row is read for it.
  var guardCondition: String { "(SELECT z.\(outside) FROM \(name) z LIMIT 0) IS NULL" }

  /// The column of a slot of an entity of the hierarchy; nil for one that takes no place in rows.
  func column(_ entity: Int, _ slot: Int) -> ColumnMapping? {
    guard let places = places[entity], slot < places.count, places[slot] >= 0 else { return nil }
    return columns[places[slot]]
  }
}

/// The table of a to-many relationship that does not follow from rows at the other end, and of its inverse.
///
/// ```
///   src bigint │ dst bigint │ pos bigint │ inverse_pos bigint       the positions only where there is an order
/// ```
struct JoinMapping: Sendable {
  /// The relationship whose owners are under `src`: of a pair the one with the smaller number.
  let relationship: Int
  /// Namespace and name in quotes.
  let name: String
  let plainName: String
  let hasPosition: Bool
  let hasInversePosition: Bool
  /// Whether the relationship is its own inverse: then each link is there in both directions.
  let isSymmetric: Bool
}

/// How a model lies in tables. Immutable.
struct StoreMapping: Sendable {
  let schema: Schema
  /// The namespace, without quotes.
  let namespace: String
  /// By hierarchy number.
  let tables: [TableMapping]
  /// By relationship number; nil for relationships that are in rows, or follow from them.
  let joins: [JoinMapping?]
  /// By entity number: the code that rows and references name the entity with.
  let codes: [UInt16]
  /// By code: the entity's number, -1 for codes of no entity.
  let entitiesByCode: [Int]
  /// The names that were given out, by their paths: what the catalogue keeps.
  let names: [String: String]
  /// How many versions of its model the store has had.
  let generation: Int32
  /// What is known of indexes that were added since. The same for all copies of the mapping.
  let added = AddedPrefixes()

  func table(ofEntity number: Int) -> TableMapping { tables[schema.entities[number].hierarchyNumber] }

  /// Whether some index holds the first characters of the texts of a column.
  func hasPrefixIndex(_ column: ColumnMapping) -> Bool {
    column.hasPrefixIndex || column.type == .text && added.contains(column.path)
  }

  /// The tables that each save writes to, with namespace and quotes.
  var storeTable: String { qualified("strata_store") }
  var commitTable: String { qualified("strata_commit") }

  /// The entity of a code that a row names.
  func entity(code: Int64) throws -> Int {
    guard let entity = entity(ofCode: code) else {
      throw StorageError(
        .damaged, operation: "read row", path: "",
        detail: "A row is of an entity of code \(code), which the store's catalogue does not name.")
    }
    return entity
  }

  /// The number of the entity of a code; nil when there is none.
  func entity(ofCode code: some BinaryInteger) -> Int? {
    guard let place = Int(exactly: code), entitiesByCode.indices.contains(place), entitiesByCode[place] >= 0
    else { return nil }
    return entitiesByCode[place]
  }

  /// A name of the namespace with it, in quotes.
  func qualified(_ name: String) -> String { Self.qualified(name, namespace) }

  static func qualified(_ name: String, _ namespace: String) -> String {
    Identifier.quoted(namespace) + "." + Identifier.quoted(name)
  }

  /// The column of a to-one relationship, with its table.
  func reference(_ relationship: RelationshipSchema) throws -> (table: TableMapping, column: ColumnMapping) {
    let table = table(ofEntity: relationship.owner)
    guard let column = table.column(relationship.owner, relationship.slot) else {
      throw StorageError(
        .invalid, operation: "read", path: "",
        detail: "\(relationship.qualifiedName) is kept in memory only.")
    }
    return (table, column)
  }

  /// The one code of a relationship's destination where rows do not say it.
  func soleCode(_ relationship: RelationshipSchema) -> UInt16 { codes[relationship.destination] }

  /// Where the members of a set of edges are found.
  enum Members {
    /// Rows that refer to the owner.
    case rows(TableMapping, ColumnMapping, isOrdered: Bool)
    /// A table of links: the columns of owners and members, that of positions, and the table of the members.
    case links(JoinMapping, owner: String, member: String, position: String?, TableMapping)
    /// Nowhere: the relationship is kept in memory only, or is no to-many.
    case nowhere
  }

  func members(_ edges: EdgeSet) throws -> Members {
    let relationship = schema.relationships[edges.relationship]
    if relationship.isTransient { return .nowhere }
    if edges.isHiddenInverse {
      guard relationship.hasHiddenInverse else { return .nowhere }
      guard relationship.isToMany else {
        let (table, column) = try reference(relationship)
        return .rows(table, column, isOrdered: false)
      }
      return links(relationship, isReversed: true, members: table(ofEntity: relationship.owner))
    }
    guard relationship.isToMany else { return .nowhere }
    if relationship.isInverseToOne, let inverse = relationship.inverse {
      let (table, column) = try reference(schema.relationships[inverse])
      return .rows(table, column, isOrdered: relationship.isOrdered)
    }
    return links(
      relationship, isReversed: joins[relationship.number]?.relationship != relationship.number,
      members: tables[relationship.destinationHierarchy])
  }

  private func links(_ relationship: RelationshipSchema, isReversed: Bool, members: TableMapping) -> Members {
    guard let join = joins[relationship.number] else { return .nowhere }
    return isReversed
      ? .links(
        join, owner: "dst", member: "src", position: join.hasInversePosition ? "inverse_pos" : nil, members)
      : .links(join, owner: "src", member: "dst", position: join.hasPosition ? "pos" : nil, members)
  }
}
