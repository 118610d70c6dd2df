import StrataCore

/// Decides how a model lies in tables. Pure: the same model, codes and names always give the same mapping.
struct MappingBuilder {
  private let schema: Schema
  private let namespace: String
  /// The names that a store was made with; nil for a new one.
  private let known: [String: String]?
  private let generation: Int32
  /// The names that the model gives.
  private let given: GivenNames
  private let requiresGivenNames: Bool
  private var names: [String: String] = [:]

  /// The server takes no more columns in a table.
  static let mostColumns = 1_600

  private init(
    _ schema: Schema, _ namespace: String, _ known: [String: String]?, _ generation: Int32,
    _ given: GivenNames, _ requiresGivenNames: Bool
  ) {
    self.given = given
    self.requiresGivenNames = requiresGivenNames
    self.generation = generation
    self.schema = schema
    self.namespace = namespace
    self.known = known
  }

  /// The mapping of a model.
  ///
  /// - Parameters:
  ///   - codes: By entity name, those that a store has given out; nil for a new one.
  ///   - names: The names that a store was made with; nil for a new one.
  ///   - generation: How many versions of its model the store has had.
  ///   - requiresGivenNames: Whether the names that the model gives must be those that the store was made with.
  /// - Throws: ``StorageError`` `.invalid` with everything about the model that cannot be kept; `.damaged` when the catalogue lacks a name.
  static func mapping(
    _ schema: Schema, namespace: String, codes: [String: UInt16]? = nil, names: [String: String]? = nil,
    generation: Int32 = 1, requiresGivenNames: Bool = true
  ) throws -> StoreMapping {
    let given = GivenNames(schema)
    // A store that is there has names already.
    let refusals = refusals(schema) + (names == nil || requiresGivenNames ? given.refusals : [])
    if !refusals.isEmpty {
      throw StorageError(
        .invalid, operation: "open store", path: "",
        detail: "PostgreSQL stores cannot keep this model: " + refusals.joined(separator: " "))
    }
    var builder = MappingBuilder(schema, namespace, names, generation, given, requiresGivenNames)
    return try builder.build(codes)
  }

  /// What cannot be kept, a sentence each.
  static func refusals(_ schema: Schema) -> [String] {
    var sentences: [String] = []
    for hierarchy in schema.hierarchies {
      // Each member's own properties, and two more columns at most for a reference.
      let count = hierarchy.memberNumbers.reduce(5) { sum, number in
        let entity = schema.entities[number]
        let own = entity.attributes.dropFirst(
          entity.superNumber.map { schema.entities[$0].attributes.count } ?? 0)
        return sum + own.reduce(0) { $0 + ($1.isTransient ? 0 : $1.relationship == nil ? 1 : 3) }
      }
      if count > mostColumns {
        sentences.append(
          "The entities below \(hierarchy.rootName) have more properties than a table has columns (\(mostColumns))."
        )
      }
    }
    if schema.entities.count > Int(Int16.max) { sentences.append("It has more than \(Int16.max) entities.") }
    return sentences
  }

  private mutating func build(_ knownCodes: [String: UInt16]?) throws -> StoreMapping {
    let codes = try schema.entities.map { entity -> UInt16 in
      guard let knownCodes else { return UInt16(entity.number + 1) }
      guard let code = knownCodes[entity.name] else { throw Self.lacks("the entity \(entity.name)") }
      return code
    }
    var byCode = [Int](repeating: -1, count: Int(codes.max() ?? 0) + 1)
    for (number, code) in codes.enumerated() { byCode[Int(code)] = number }
    var relations = NamesGiven(reserved: Catalogue.reservedNames.union(given.tableNames))
    let tables = try schema.hierarchies.map { try table($0, &relations) }
    let joins = try makeJoins(&relations)
    return StoreMapping(
      schema: schema, namespace: namespace, tables: tables, joins: joins, codes: codes,
      entitiesByCode: byCode,
      names: names, generation: generation)
  }

  private static func lacks(_ what: String) -> StorageError {
    StorageError(
      .damaged, operation: "open store", path: "", detail: "The store's catalogue lacks \(what).")
  }

  /// The name of what is called `path`: the one that the catalogue has, or a new one.
  private mutating func name(_ wanted: String, _ path: String, _ given: inout NamesGiven) throws -> String {
    let name: String
    if let known {
      guard let found = known[path] else { throw Self.lacks("the name of \(path)") }
      if requiresGivenNames, let wanted = self.given.names[path], wanted != found {
        throw StorageError(
          .invalid, operation: "open store", path: "",
          detail:
            "The model calls the \(path) “\(wanted)” in its userInfo, and the store, which was made before, “\(found)”. Names change by a migration only: give the entity another versionHashModifier."
        )
      }
      name = found
    } else if let wanted = self.given.names[path] {
      name = wanted
    } else {
      name = given.name(wanted, path: path)
    }
    names[path] = name
    return name
  }

  private var outside: String { generation == 1 ? "outside" : "outside_\(generation)" }

  private mutating func table(_ hierarchy: HierarchySchema, _ relations: inout NamesGiven) throws
    -> TableMapping
  {
    let plain = try name(Identifier.snake(hierarchy.rootName), "table \(hierarchy.rootName)", &relations)
    relations.reserveKey(ofTable: plain)
    let sequence = try name(plain + "_key", "sequence \(hierarchy.rootName)", &relations)
    var given = NamesGiven(
      reserved: GivenNames.reservedColumns.subtracting(["baseline"]).union(
        self.given.columns(hierarchy.number)
      )
      .union([outside]))
    var columns: [ColumnMapping] = []
    var places: [Int: [Int]] = [:]
    var baseline: Int?
    var remaining = hierarchy.memberNumbers
    // Superentities first: subentities have their columns, too.
    while !remaining.isEmpty {
      var later: [Int] = []
      for number in remaining {
        let entity = schema.entities[number]
        var list = entity.superNumber.flatMap { places[$0] } ?? []
        if entity.superNumber != nil, list.isEmpty, entity.superNumber.map({ places[$0] == nil }) ?? false {
          later.append(number)
          continue
        }
        // The slot behind the properties is each entity's own.
        if let above = entity.superNumber.flatMap({ schema.entities[$0].baselineSlot }) {
          list.removeSubrange(above...)
        }
        for slot in list.count..<max(list.count, entity.attributes.count) {
          if slot == entity.baselineSlot {
            let place = try baseline ?? addBaseline(hierarchy, to: &columns, &given)
            baseline = place
            list.append(place)
            continue
          }
          guard let column = try column(entity, slot, &given) else {
            list.append(-1)
            continue
          }
          list.append(columns.count)
          columns.append(column)
        }
        places[number] = list
      }
      precondition(later.count < remaining.count, "the members of a hierarchy descend from its root")
      remaining = later
    }
    markPrefixes(hierarchy, places, &columns)
    let mapping = TableMapping(
      hierarchy: hierarchy.number, name: StoreMapping.qualified(plain, namespace), plainName: plain,
      sequence: StoreMapping.qualified(sequence, namespace), columns: columns, places: places,
      outside: outside)
    let path = StoreMapping.adoptedPath(hierarchy.rootName)
    guard let text = known?[path] else { return mapping }
    names[path] = text
    return mapping.adopting(try AdoptedTable(text))
  }

  /// The column of all entities of the table that have derived attributes; its place.
  private mutating func addBaseline(
    _ hierarchy: HierarchySchema, to columns: inout [ColumnMapping], _ given: inout NamesGiven
  ) throws -> Int {
    let path = "baseline \(hierarchy.rootName)"
    columns.append(
      ColumnMapping(
        name: Identifier.quoted(try name("baseline", path, &given)), type: .int8, kind: .int64, path: path,
        relationship: nil, codeColumn: nil, positionColumn: nil))
    return columns.count - 1
  }

  private mutating func column(_ entity: EntitySchema, _ slot: Int, _ given: inout NamesGiven) throws
    -> ColumnMapping?
  {
    let attribute = entity.attributes[slot]
    let kind = entity.layout.kind(of: slot)
    guard !attribute.isTransient, let type = SQLType(kind) else { return nil }
    let path = "\(entity.name).\(attribute.name)"
    let plain = try name(Identifier.snake(attribute.name), path, &given)
    var (code, position): (String?, String?) = (nil, nil)
    if let number = attribute.relationship {
      let relationship = schema.relationships[number]
      if schema.entities[relationship.destination].subtree.count > 1 {
        code = Identifier.quoted(try name(plain + "_e", path + " entity", &given))
      }
      if let inverse = relationship.inverse, schema.relationships[inverse].isOrdered {
        position = Identifier.quoted(try name(plain + "_pos", path + " position", &given))
      }
    }
    return ColumnMapping(
      name: Identifier.quoted(plain), type: type, kind: kind, path: path,
      relationship: attribute.relationship,
      codeColumn: code, positionColumn: position)
  }

  private func markPrefixes(
    _ hierarchy: HierarchySchema, _ places: [Int: [Int]], _ columns: inout [ColumnMapping]
  ) {
    for index in schema.indexes where !index.isUnique {
      guard let list = places[index.owner] else { continue }
      for part in index.parts where list[part.slot] >= 0 && columns[list[part.slot]].type == .text {
        columns[list[part.slot]].hasPrefixIndex = true
      }
    }
  }

  private mutating func makeJoins(_ relations: inout NamesGiven) throws -> [JoinMapping?] {
    var joins = [JoinMapping?](repeating: nil, count: schema.relationships.count)
    for relationship in schema.relationships where relationship.isEdgeStored {
      if let inverse = relationship.inverse, inverse < relationship.number {
        joins[relationship.number] = joins[inverse]
        continue
      }
      let owner = schema.entities[relationship.owner].name
      let plain = try name(
        Identifier.snake(owner) + "_" + Identifier.snake(relationship.name),
        "join \(relationship.qualifiedName)",
        &relations)
      relations.reserveKey(ofTable: plain)
      let isSymmetric = relationship.inverse == relationship.number
      joins[relationship.number] = JoinMapping(
        relationship: relationship.number, name: StoreMapping.qualified(plain, namespace), plainName: plain,
        hasPosition: relationship.isOrdered,
        hasInversePosition: !isSymmetric
          && relationship.inverse.map { schema.relationships[$0].isOrdered } ?? false,
        isSymmetric: isSymmetric)
    }
    return joins
  }
}
