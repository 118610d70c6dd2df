import Foundation
import StrataCore

/// An open store in Apple's format: one state of it, for one thread.
final class AppleSource {
  let path: String
  let identifier: UUID
  /// The program's own metadata, without what Core Data itself keeps there.
  let metadata: StoreMetadata
  let model: ManagedObjectModel
  let schema: Schema
  let layout: AppleLayout
  /// By name of entity.
  let numbers: [String: Int64]
  /// By name of root entity, the greatest key that was given.
  let largestKeys: [String: Int64]
  /// What could not be taken out of the store's own model, and other things worth knowing.
  let remarks: [String]
  /// Attributes of which the store's own model does not say whether large values lie in files.
  let unclearAttributes: Set<String>
  /// What the store has and no property is for.
  let losses: [AppleStoreReport.Finding]
  let externals: ExternalValues
  /// The columns of the tables that keep a history, as far as there are any.
  let historyColumns: [String: Set<String>]
  /// Whether there are tables of a history, of whatever form.
  let hasHistoryTables: Bool
  /// The greatest number that a transaction of the history was given; 0 where none was.
  let lastTransaction: Int64
  private let file: SourceFile
  var database: SQLiteDatabase { file.database }

  /// Opens a store for reading.
  /// - Parameter model: The model it is of; nil for the one in its cache.
  /// - Throws: `AppleStoreError`; `ModelError` for a model that is none.
  init(_ path: String, model given: ManagedObjectModel?) throws {
    self.path = path
    file = try SourceFile(path)
    externals = ExternalValues(store: file.path)
    let catalogue = try AppleCatalogue(file.database)
    identifier = catalogue.identifier
    metadata = catalogue.metadata
    numbers = catalogue.numbers
    largestKeys = catalogue.largestKeys
    historyColumns = catalogue.historyColumns
    hasHistoryTables = !AppleHistory.tables.isDisjoint(with: catalogue.columns.keys)
    lastTransaction = catalogue.lastTransaction
    var remarks = catalogue.remarks
    if let given {
      model = given
      unclearAttributes = []
    } else {
      let archived = try catalogue.cachedModel()
      model = archived.model
      unclearAttributes = archived.unclearAttributes
      remarks += archived.remarks
    }
    self.remarks = remarks
    // Classes of the program that reads are no part of what a store says.
    schema = try model.schema()
    try catalogue.requireFit(schema)
    layout = try AppleLayout(schema, numbers: numbers, columns: catalogue.columns)
    try catalogue.requireKeys(layout)
    losses =
      catalogue.lostMetadata.map {
        .init(kind: .lostMetadata, row: "Z_METADATA", property: nil, message: $0)
      } + (try catalogue.unknownColumns(layout))
  }

  func close() { file.close() }

  /// - Throws: `AppleStoreError` `.busy` when the file was written meanwhile by somebody who could not be kept from it.
  func requireUnchanged() throws { try file.requireUnchanged() }

  /// How many rows a table has.
  /// - Throws: `AppleStoreError`.
  func rowCount(_ table: AppleLayout.Table) throws -> Int {
    guard
      case .integer(let count)? = try database.value(
        "SELECT count(*) FROM \(SQLiteDatabase.quoted(table.name))")
    else { return 0 }
    return Int(count)
  }

  /// The names of the entities that the store holds.
  var heldEntities: [String] { schema.entities.map(\.name).filter { numbers[$0] != nil }.sorted() }
}

/// What a store's own tables say.
struct AppleCatalogue {
  let identifier: UUID
  let metadata: StoreMetadata
  let versionHashes: [String: Data]
  /// `Z_ENT` by name, without the framework's own entities.
  let numbers: [String: Int64]
  let largestKeys: [String: Int64]
  /// By table, its columns.
  let columns: [String: Set<String>]
  /// Tables whose `Z_PK` is their key.
  private let keyed: Set<String>
  /// Of tables that keep a history, as far as they are as Core Data makes them.
  var historyColumns: [String: Set<String>] {
    columns.filter { AppleHistory.tables.contains($0.key) && keyed.contains($0.key) }
  }
  /// The greatest number that was given to a transaction of the history.
  let lastTransaction: Int64
  private(set) var remarks: [String] = []
  /// What could not be taken out of the metadata.
  let lostMetadata: [String]
  private let packedModel: Data?
  private let path: String
  private let database: SQLiteDatabase

  private static let mostTables = 20_000
  private static let mostEntities = 20_000

  init(_ database: SQLiteDatabase) throws {
    self.database = database
    path = database.path
    var columns: [String: Set<String>] = [:]
    var keyed: Set<String> = []
    // Views and virtual tables would run something.
    let names = try database.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name")
    var tables: [String] = []
    while try names.step() {
      guard let name = names.text(0) else { continue }
      tables.append(name)
      if tables.count > Self.mostTables {
        throw AppleStoreError(.damaged, "\(database.path) has more than \(Self.mostTables) tables.")
      }
    }
    for table in tables {
      let statement = try database.prepare("PRAGMA table_info(\(SQLiteDatabase.quoted(table)))")
      var own: Set<String> = []
      while try statement.step() {
        guard let name = statement.text(1) else { continue }
        own.insert(name)
        if name == "Z_PK", statement.integer(5) == 1, statement.text(2)?.uppercased() == "INTEGER" {
          keyed.insert(table)
        }
      }
      columns[table] = own
    }
    guard let metadataColumns = columns["Z_METADATA"], let keyColumns = columns["Z_PRIMARYKEY"],
      metadataColumns.isSuperset(of: ["Z_VERSION", "Z_UUID", "Z_PLIST"]),
      keyColumns.isSuperset(of: ["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"])
    else {
      throw AppleStoreError(
        .notAStore,
        "\(database.path) is a database of SQLite, but no store of Core Data: it has no tables Z_METADATA and Z_PRIMARYKEY."
      )
    }
    self.columns = columns
    self.keyed = keyed
    let row = try database.prepare("SELECT Z_UUID, Z_PLIST FROM Z_METADATA ORDER BY Z_VERSION LIMIT 1")
    guard try row.step(), let text = row.text(0), let identifier = UUID(uuidString: text) else {
      throw AppleStoreError(
        .damaged, "\(database.path) does not say which store it is: Z_METADATA has no UUID.")
    }
    self.identifier = identifier
    var remarks: [String] = []
    var lost: [String] = []
    (metadata, versionHashes) = Self.metadata(row.value(1), &lost)
    (numbers, largestKeys) = try Self.entities(database)
    lastTransaction =
      if case .integer(let number)? = try database.value(
        "SELECT max(Z_MAX) FROM Z_PRIMARYKEY WHERE Z_ENT = \(AppleNames.transactionEntity)")
      { number } else { 0 }
    if columns["Z_MODELCACHE"]?.contains("Z_CONTENT") == true,
      case .blob(let data)? = try database.value("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1")
    {
      packedModel = data
    } else {
      packedModel = nil
    }
    if columns.keys.contains(where: { $0.hasPrefix(AppleNames.mirroringPrefix) }) {
      remarks.append("The store is mirrored to CloudKit; what mirroring keeps for itself is not read.")
    }
    self.remarks = remarks
    lostMetadata = lost
  }

  /// The property list of the metadata: hashes of entities, and what the program has put there. What cannot be read is said and left out, never
  /// shown: programs keep secrets there.
  private static func metadata(_ value: SQLiteValue, _ lost: inout [String]) -> (
    StoreMetadata, [String: Data]
  ) {
    guard case .blob(let bytes) = value,
      let list = try? BinaryPropertyList.value(Array(bytes), mostValues: 200_000).dictionary
    else {
      lost.append("the metadata cannot be read")
      return (StoreMetadata(), [:])
    }
    var hashes: [String: Data] = [:]
    for (name, value) in list["NSStoreModelVersionHashes"]?.dictionary ?? [:] {
      if let hash = value.data { hashes[name] = hash }
    }
    var own: [String: MetadataValue] = [:]
    var count = 0
    for (key, value) in list where !isStandard(key) {
      if let value = metadataValue(value, level: 0) { own[key] = value } else { count += 1 }
    }
    if count > 0 { lost.append("\(count) values of the metadata have no form in the new store") }
    return (StoreMetadata(values: own), hashes)
  }

  /// Keys that Core Data itself keeps.
  static func isStandard(_ key: String) -> Bool {
    key.hasPrefix("NSStore") || key.hasPrefix("NSPersistence") || key.hasPrefix("_NS")
  }

  private static func metadataValue(_ value: PropertyListValue, level: Int) -> MetadataValue? {
    guard level < 24 else { return nil }
    switch value {
    case .boolean(let value): return .boolean(value)
    case .integer(let value): return .integer(value)
    case .real(let value): return value.isFinite ? .double(value) : nil
    case .date(let value): return value.isFinite ? .date(Date(timeIntervalSinceReferenceDate: value)) : nil
    case .data(let value): return .data(value)
    case .string(let value): return .string(value)
    case .array(let values):
      let parts = values.compactMap { metadataValue($0, level: level + 1) }
      return parts.count == values.count ? .array(parts) : nil
    case .dictionary(let values):
      let parts = values.compactMapValues { metadataValue($0, level: level + 1) }
      return parts.count == values.count ? .dictionary(parts) : nil
    case .null, .reference: return nil
    }
  }

  private static func entities(_ database: SQLiteDatabase) throws -> ([String: Int64], [String: Int64]) {
    var (numbers, largest, seen): ([String: Int64], [String: Int64], Set<Int64>) = ([:], [:], [])
    let statement = try database.prepare(
      "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT")
    while try statement.step() {
      guard let number = statement.integer(0), let name = statement.text(1) else {
        throw AppleStoreError(.damaged, "\(database.path): Z_PRIMARYKEY has a row without number or name.")
      }
      if number >= AppleNames.firstReservedEntity { continue }
      guard number > 0, seen.insert(number).inserted, numbers.updateValue(number, forKey: name) == nil,
        numbers.count <= mostEntities
      else {
        throw AppleStoreError(
          .damaged,
          "\(database.path): Z_PRIMARYKEY has the entity “\(name.prefix(100))” twice, or with a number that is none."
        )
      }
      largest[name] = max(statement.integer(3) ?? 0, 0)
    }
    return (numbers, largest)
  }

  // MARK: The model

  /// The model in the store's cache.
  /// - Throws: `AppleStoreError` `.noModel`.
  func cachedModel() throws -> ArchivedModel {
    guard let packedModel else {
      throw AppleStoreError(
        .noModel,
        "\(path) has no model in its cache. Name the model that the store is of, the .xcdatamodeld.")
    }
    return try ArchivedModel(packed: packedModel, columns: columns)
  }

  /// The store holds the entities of the model, or of one of its configurations.
  /// - Throws: `AppleStoreError` `.model`.
  func requireFit(_ schema: Schema) throws {
    let known = Set(schema.entities.map(\.name))
    let held = Set(numbers.keys)
    let strange = held.subtracting(known).sorted()
    if !strange.isEmpty {
      throw AppleStoreError(
        .model, "The store has entities that the model does not have: \(Self.list(strange)).")
    }
    let lacking = known.subtracting(held).sorted()
    if lacking.isEmpty { return }
    let isConfiguration = schema.model.configurations.contains { name in
      Set(schema.model.entities(forConfigurationName: name)?.compactMap(\.name) ?? []) == held
    }
    if !isConfiguration {
      throw AppleStoreError(
        .model,
        "The model has entities that the store does not have: \(Self.list(lacking)). It is another version of the store's model."
      )
    }
  }

  private static func list(_ names: [String]) -> String {
    names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " and \(names.count - 5) more" : "")
  }

  private func hasValues(_ table: String, _ column: String) throws -> Bool {
    let (table, column) = (SQLiteDatabase.quoted(table), SQLiteDatabase.quoted(column))
    return try database.value("SELECT 1 FROM \(table) WHERE \(column) IS NOT NULL LIMIT 1") != nil
  }

  /// Columns and join tables with values that no property of the model has.
  /// - Throws: `AppleStoreError`.
  func unknownColumns(_ layout: AppleLayout) throws -> [AppleStoreReport.Finding] {
    var findings: [AppleStoreReport.Finding] = []
    for table in layout.tables.compactMap({ $0 }) {
      for column in (columns[table.name] ?? []).subtracting(layout.claimedColumns(table)).sorted()
      where try hasValues(table.name, column) {
        findings.append(
          .init(
            kind: .unknownColumn, row: table.name, property: column,
            message: "the model has no property for this column, whose values were left out"))
      }
    }
    let joins = Dictionary(grouping: layout.joins, by: \.table)
    for (table, ends) in joins.sorted(by: { $0.key < $1.key }) {
      let claimed = Set(
        ends.flatMap { [$0.ownerColumn, $0.memberColumn] + [$0.orderColumn].compactMap { $0 } })
      for column in (columns[table] ?? []).subtracting(claimed).sorted() where try hasValues(table, column) {
        findings.append(
          .init(
            kind: .unknownColumn, row: table, property: column,
            message: "the model has no order for this column, whose places were left out"))
      }
    }
    for table in columns.keys.sorted() where table.hasPrefix("Z_") && joins[table] == nil {
      guard table.dropFirst(2).first?.isNumber == true,
        try database.value("SELECT 1 FROM \(SQLiteDatabase.quoted(table)) LIMIT 1") != nil
      else { continue }
      findings.append(
        .init(
          kind: .unknownColumn, row: table, property: nil,
          message: "the model has no relationship for this table, whose members were left out"))
    }
    return findings
  }

  /// Rows are looked up by `Z_PK`; without an order of its own each look-up would go through the whole table.
  /// - Throws: `AppleStoreError` `.damaged`.
  func requireKeys(_ layout: AppleLayout) throws {
    for table in layout.tables.compactMap({ $0 }) {
      guard keyed.contains(table.name), columns[table.name]?.isSuperset(of: ["Z_PK", "Z_ENT"]) == true else {
        throw AppleStoreError(
          .damaged, "\(path): the table \(table.name) is none of Core Data: Z_PK is not its key.")
      }
    }
  }
}
