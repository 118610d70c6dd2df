import CStrataSQLite
import Foundation
import StrataCore

/// Writes a store in Apple's format: whole or not at all.
///
/// ```
///   template or VersionInfo.plist ─▶ empty tables ◀─ rows, members ◀─ one commit of Strata's store
///                                          │ integrity_check, read back, compared
///                                          ▼
///                                 large values' folder, then the file, get their names
/// ```
struct AppleExport {
  let source: URL
  let destination: String
  let hashes: AppleEntityHashes
  let permitsLosses: Bool
  let progress: (AppleStoreProgress) throws -> Void

  func run() throws -> AppleStoreReport {
    let support = ExternalValues.support(store: destination)
    var status = stat()
    for path in [destination, support, destination + "-wal", destination + "-shm", destination + "-journal"]
    where lstat(path, &status) == 0 { throw AppleStoreError.system(EEXIST, path) }
    TemporaryFolder.removeLeftovers(beside: destination)
    var options = LMDBStoreOptions()
    options.isReadOnly = true
    let store = try LMDBStore.openAsCarried(at: source, options: options).store
    defer { store.close() }
    let window = try StoreWindow(store)
    let folder = try TemporaryFolder(beside: destination)
    defer { folder.remove() }
    let draft = folder.path + "/" + URL(fileURLWithPath: destination).lastPathComponent
    let session = try ExportSession(window, draft, progress)
    try session.begin(hashes)
    try session.write()
    try session.finish(permitsLosses: permitsLosses)
    // As every store that is made here.
    chmod(draft, 0o600)
    try publish(draft, support)
    return session.report
  }

  private func publish(_ draft: String, _ support: String) throws {
    try FileMoves.sync(draft)
    let files = ExternalValues.support(store: draft)
    let hasFiles = access(files, F_OK) == 0
    if hasFiles {
      // The names of the files in it.
      try FileMoves.syncFolder(of: files + "/_EXTERNAL_DATA/file")
      try FileMoves.syncFolder(of: files + "/_EXTERNAL_DATA")
    }
    try TemporaryFolder.publish(destination) {
      if hasFiles { try FileMoves.rename(files, to: support) }
      do { try FileMoves.rename(draft, to: destination) } catch {
        // The folder was not there before.
        if hasFiles { try? FileManager.default.removeItem(atPath: support) }
        throw error
      }
    }
  }
}

/// The steps of an export.
private final class ExportSession {
  private(set) var report = AppleStoreReport()
  private let window: StoreWindow
  private let schema: Schema
  private let draft: String
  private let externals: ExternalValues
  private let progress: (AppleStoreProgress) throws -> Void
  private let facts: StoreFacts
  private var database: SQLiteDatabase!  // Set by `begin`, which comes first.
  private var layout: AppleLayout!  // As above.
  private var numbers: [String: Int64] = [:]
  private var objectNumber = 0

  init(_ window: StoreWindow, _ draft: String, _ progress: @escaping (AppleStoreProgress) throws -> Void)
    throws
  {
    self.window = window
    schema = window.schema
    self.draft = draft
    self.progress = progress
    externals = ExternalValues(store: draft)
    facts = try window.facts()
    report.identifier = facts.identifier
  }

  // MARK: The empty store

  func begin(_ hashes: AppleEntityHashes) throws {
    database = try SQLiteDatabase(
      draft, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, name: draft)
    switch hashes {
    case .template(let url): try beginTemplate(url)
    case .versionInfo(let url, let version):
      try beginNew(try AppleMetadata.hashes(url, version: version), url)
    }
    // Triggers call functions of Apple's framework; what they would compute is in the rows.
    try database.distrust(isReadOnly: false)
  }

  private func beginTemplate(_ url: URL) throws {
    let template = try SourceFile(url.path)
    defer { template.close() }
    let catalogue = try AppleCatalogue(template.database)
    if catalogue.columns.keys.contains(where: { $0.hasPrefix(AppleNames.mirroringPrefix) }) {
      throw AppleStoreError(
        .unsupported,
        "\(url.path) is mirrored to CloudKit: what is written there would never be uploaded. Bring a store without mirroring."
      )
    }
    // Those of derived attributes compute what is written anyway. Others keep indexes of places, which would miss what is written.
    if case .text(let name?)? = try template.database.value(
      "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name NOT LIKE 'Z\\_DA\\_%' ESCAPE '\\' LIMIT 1"
    ) {
      throw AppleStoreError(
        .unsupported, "\(url.path) has the trigger \(name), which only Apple's framework can keep in step.")
    }
    try catalogue.requireFit(schema)
    numbers = catalogue.numbers
    layout = try AppleLayout(schema, numbers: numbers, columns: catalogue.columns)
    try catalogue.requireKeys(layout)
    let tables = layout.tables.compactMap { $0?.name } + layout.joinTables.map(\.table)
    for table in tables {
      if try template.database.value("SELECT 1 FROM \(SQLiteDatabase.quoted(table)) LIMIT 1") != nil {
        throw AppleStoreError(
          .unsupported,
          "\(url.path) has rows in \(table). Bring a store that the app has made and put nothing into: keys would clash."
        )
      }
    }
    guard let backup = sqlite3_backup_init(database.handle, "main", template.database.handle, "main") else {
      throw database.failure(sqlite3_errcode(database.handle))
    }
    let code = sqlite3_backup_step(backup, -1)
    sqlite3_backup_finish(backup)
    if code != SQLITE_DONE { throw database.failure(code) }
    try template.requireUnchanged()
    try prepareForWriting()
    let held = catalogue.versionHashes
    if Set(held.keys) != Set(numbers.keys) {
      report.remarks.append("The hashes in the template are of other entities than its tables.")
    }
    guard case .blob(let bytes)? = try database.value("SELECT Z_PLIST FROM Z_METADATA LIMIT 1"),
      let list = try? PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any]
    else { throw AppleStoreError(.damaged, "\(url.path): the metadata cannot be read.") }
    try setMetadata(list)
  }

  private func beginNew(_ hashes: [String: Data], _ url: URL) throws {
    let held = Set(facts.entities.isEmpty ? schema.entities.map(\.name) : facts.entities)
    let (lacking, strange) = (held.subtracting(hashes.keys), Set(hashes.keys).subtracting(held))
    if !lacking.isEmpty || !strange.isEmpty {
      let parts = [("has no hash of", lacking), ("has hashes of", strange)].filter { !$0.1.isEmpty }
      throw AppleStoreError(
        .model,
        "\(url.path) \(parts.map { "\($0.0) \($0.1.sorted().prefix(5).joined(separator: ", "))" }.joined(separator: " and ")), unlike the store: it is of another version of the model."
      )
    }
    let derived = schema.entities.first {
      $0.entityDescription.properties.contains { $0 is DerivedAttributeDescription }
    }
    if let derived {
      throw AppleStoreError(
        .unsupported,
        "\(derived.name) has derived attributes, which Core Data keeps by triggers of its own. Bring an empty store of the app as a template."
      )
    }
    numbers = AppleTables.numbers(schema, held: held)
    layout = try AppleLayout(schema, numbers: numbers, columns: nil)
    try database.run("PRAGMA auto_vacuum = 2")
    try prepareForWriting()
    for statement in AppleTables(layout, numbers: numbers).statements { try database.run(statement) }
    try database.run("INSERT INTO Z_METADATA VALUES (1, '', NULL)")
    let identifiers = schema.model.versionIdentifiers.sorted()
    try setMetadata(AppleMetadata.list(hashes, identifiers: identifiers.isEmpty ? [""] : identifiers))
  }

  /// The file is flushed when it is complete, and thrown away if it never is.
  private func prepareForWriting() throws {
    _ = try database.value("PRAGMA journal_mode = DELETE")
    _ = try database.value("PRAGMA journal_mode = OFF")
    try database.run("PRAGMA synchronous = OFF")
    try database.run("BEGIN IMMEDIATE")
  }

  private func setMetadata(_ list: [String: Any]) throws {
    var own = StoreMetadata()
    if let data = facts.metadata {
      own = StoreMetadata(values: try JSONDecoder().decode([String: MetadataValue].self, from: data))
    }
    let statement = try database.prepare("UPDATE Z_METADATA SET Z_UUID = ?1, Z_PLIST = ?2")
    try statement.bind(.text(facts.identifier.uuidString), 1)
    try statement.bind(.blob(try AppleMetadata.encoded(list, adding: own)), 2)
    try statement.run()
  }

  // MARK: Rows

  func write() throws {
    let tables = layout.tables.compactMap { $0 }
    let total = try tables.reduce(0) { try $0 + window.rowCount(of: $1.hierarchy) }
    let history = try HistoryOfExport(database)
    for table in tables {
      var statements: [Int: SQLiteStatement] = [:]
      var next: UInt64? = 0
      while let key = next {
        let rows: [FetchedRow]
        (rows, next) = try window.rows(of: table.hierarchy, from: key)
        for row in rows {
          try write(row, table, &statements)
          try history?.add(entity: layout.entities[row.entity]?.appleNumber ?? 0, key: Int64(row.primaryKey))
        }
        objectNumber += rows.count
        try progress(AppleStoreProgress(phase: .objects, completedCount: objectNumber, totalCount: total))
      }
    }
    try history?.finish()
    for owned in layout.owned { try write(owned) }
    for join in layout.joins { try write(join) }
    try raiseKeys()
    try database.run("COMMIT")
  }

  private func write(
    _ row: FetchedRow, _ table: AppleLayout.Table, _ statements: inout [Int: SQLiteStatement]
  ) throws {
    guard let entity = layout.entities[row.entity] else {
      throw AppleStoreError(.damaged, "A row is of an entity that the store does not hold.")
    }
    let statement: SQLiteStatement
    if let known = statements[row.entity] {
      statement = known
    } else {
      let columns =
        ["Z_PK", "Z_ENT", "Z_OPT"] + entity.attributes.map(\.column) + entity.links.map(\.column)
        + entity.links.compactMap(\.targetColumn)
      let places = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
      statement = try database.prepare(
        "INSERT INTO \(SQLiteDatabase.quoted(table.name)) (\(columns.map(SQLiteDatabase.quoted).joined(separator: ", "))) VALUES (\(places))"
      )
      statements[row.entity] = statement
    }
    try statement.bind(.integer(Int64(row.primaryKey)), 1)
    try statement.bind(.integer(entity.appleNumber), 2)
    try statement.bind(.integer(1), 3)
    var place = 4
    for attribute in entity.attributes {
      var value = AppleValue.stored(try window.value(of: row, attribute.slot))
      if attribute.isExternal, case .blob(let data) = value { value = .blob(try external(data)) }
      try statement.bind(value, place)
      place += 1
    }
    let targets = try entity.links.map { link -> ObjectAddress? in
      guard case .reference(let bits) = try window.value(of: row, link.relationship.slot) else { return nil }
      return window.target(bits)
    }
    for target in targets {
      try statement.bind(target.map { .integer(Int64($0.key)) } ?? .null, place)
      place += 1
    }
    for (link, target) in zip(entity.links, targets) where link.targetColumn != nil {
      let number = target.flatMap { layout.entities[$0.entity]?.appleNumber }
      try statement.bind(number.map { .integer($0) } ?? .null, place)
      place += 1
    }
    do { try statement.run() } catch let error as AppleStoreError where error.kind == .other {
      throw AppleStoreError(
        .losses,
        "\(schema.entities[row.entity].name)/p\(row.primaryKey) cannot be written. \(error.description)")
    }
    report.objectCounts[schema.entities[row.entity].name, default: 0] += 1
  }

  /// What the column of a value says that may lie in a file.
  private func external(_ data: Data) throws -> Data {
    if data.count < ExternalValues.threshold { return Data([ExternalValues.inline]) + data }
    if report.externalFileCount == 0 {
      do {
        // The draft's own folder is not made again: it has gone when the program is being ended.
        let inner = URL(fileURLWithPath: externals.folder)
        for folder in [inner.deletingLastPathComponent(), inner] {
          try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        }
      } catch {
        throw AppleStoreError(.output, "\(externals.folder) cannot be made: \(error.localizedDescription)")
      }
    }
    let name = UUID().uuidString
    let path = externals.folder + "/" + name
    do { try data.write(to: URL(fileURLWithPath: path)) } catch {
      throw AppleStoreError(.output, "\(path) cannot be written: \(error.localizedDescription)")
    }
    try FileMoves.sync(path)
    report.externalFileCount += 1
    return Data([ExternalValues.file]) + Data(name.utf8)
  }

  // MARK: Members

  /// Where an ordered relationship's members are: the first one, and how far the next ones are from it.
  private static func order(_ place: Int) -> SQLiteValue { .integer(2_048 + 1_024 * Int64(place)) }

  private func forEachMember(
    _ relationship: RelationshipSchema, _ body: (FetchedRow, ObjectAddress, Int) throws -> Void
  ) throws {
    let owners = schema.entities[relationship.owner]
    var next: UInt64? = 0
    while let key = next {
      let rows: [FetchedRow]
      (rows, next) = try window.rows(of: owners.hierarchyNumber, from: key, most: 256)
      for row in rows where owners.subtree.contains(row.entity) {
        let members = try window.members(relationship, of: [row.primaryKey])[0]
        for (place, bits) in members.enumerated() {
          guard let member = window.target(bits) else {
            throw AppleStoreError(
              .damaged, "\(relationship.qualifiedName) has a member of an unknown entity.")
          }
          try body(row, member, place)
        }
        report.memberCount += members.count
      }
      try progress(
        AppleStoreProgress(phase: .members, completedCount: report.memberCount, totalCount: nil))
    }
  }

  /// Members whose rows name their owner, and their place.
  private func write(_ owned: AppleLayout.Owned) throws {
    let isOwner = owned.relationship.inverse == nil
    var settings = isOwner ? ["\(SQLiteDatabase.quoted(owned.column)) = ?2"] : []
    if let order = owned.orderColumn { settings.append("\(SQLiteDatabase.quoted(order)) = ?3") }
    if settings.isEmpty { return }
    let condition = isOwner ? " AND \(SQLiteDatabase.quoted(owned.column)) IS NULL" : ""
    let statement = try database.prepare(
      "UPDATE \(SQLiteDatabase.quoted(owned.table)) SET \(settings.joined(separator: ", ")) WHERE Z_PK = ?1\(condition)"
    )
    try forEachMember(owned.relationship) { owner, member, place in
      try statement.bind(.integer(Int64(member.key)), 1)
      if isOwner { try statement.bind(.integer(Int64(owner.primaryKey)), 2) }
      if owned.orderColumn != nil { try statement.bind(Self.order(place), 3) }
      try statement.run()
    }
  }

  private func write(_ join: AppleLayout.Join) throws {
    let (owner, member) = (SQLiteDatabase.quoted(join.ownerColumn), SQLiteDatabase.quoted(join.memberColumn))
    let order = join.orderColumn.map { SQLiteDatabase.quoted($0) }
    let columns = [owner, member] + [order].compactMap { $0 }
    let places = order == nil ? "?1, ?2" : "?1, ?2, ?3"
    // The other end may have written the pair, with a place of its own.
    let conflict =
      order.map { "ON CONFLICT (\(owner), \(member)) DO UPDATE SET \($0) = excluded.\($0)" }
      ?? "ON CONFLICT DO NOTHING"
    let statement = try database.prepare(
      "INSERT INTO \(SQLiteDatabase.quoted(join.table)) (\(columns.joined(separator: ", "))) VALUES (\(places)) \(conflict)"
    )
    try forEachMember(join.relationship) { own, other, place in
      try statement.bind(.integer(Int64(own.primaryKey)), 1)
      try statement.bind(.integer(Int64(other.key)), 2)
      if order != nil { try statement.bind(Self.order(place), 3) }
      try statement.run()
    }
  }

  /// The greatest key of each hierarchy stands at its root.
  private func raiseKeys() throws {
    let statement = try database.prepare(
      "UPDATE Z_PRIMARYKEY SET Z_MAX = max(coalesce(Z_MAX, 0), ?2) WHERE Z_NAME = ?1")
    for table in layout.tables.compactMap({ $0 }) {
      let root = schema.hierarchies[table.hierarchy].rootName
      var largest = Int64(clamping: (facts.counters[root] ?? 1) - 1)
      if case .integer(let key)? = try database.value(
        "SELECT max(Z_PK) FROM \(SQLiteDatabase.quoted(table.name))")
      {
        largest = max(largest, key)
      }
      try statement.bind(.text(root), 1)
      try statement.bind(.integer(largest), 2)
      try statement.run()
    }
  }

  // MARK: The end

  func finish(permitsLosses: Bool) throws {
    try progress(AppleStoreProgress(phase: .checking, completedCount: 0, totalCount: nil))
    guard case .text(let answer?)? = try database.value("PRAGMA integrity_check"), answer == "ok" else {
      throw AppleStoreError(.difference, "SQLite finds the new file damaged. Nothing was exported.")
    }
    database.close()
    let apple = try AppleSource(draft, model: schema.model)
    defer { apple.close() }
    let total = report.objectCount + report.memberCount
    try AppleComparison(
      source: apple, window: window, differ: { self.report.add($0) },
      progress: { count in
        try self.progress(AppleStoreProgress(phase: .comparing, completedCount: count, totalCount: total))
      }
    ).run()
    if let first = report.findings.first, !permitsLosses {
      let more = report.findingCount > 1 ? " There are \(report.findingCount - 1) more." : ""
      throw AppleStoreError(
        .losses, "Apple's format cannot keep everything: \(first).\(more) Nothing was exported.")
    }
  }
}

/// The entry that readers of the history look for, where a template has tables for it: one transaction that has inserted everything.
private final class HistoryOfExport {
  private let changes: SQLiteStatement
  private let database: SQLiteDatabase
  private var count: Int64 = 0

  init?(_ database: SQLiteDatabase) throws {
    func columns(_ table: String) throws -> Set<String> {
      let statement = try database.prepare("PRAGMA table_info(\(table))")
      var found: Set<String> = []
      while try statement.step() { if let name = statement.text(1) { found.insert(name) } }
      return found
    }
    guard
      try columns("ACHANGE").isSuperset(of: [
        "Z_PK", "Z_ENT", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID",
      ]),
      try columns("ATRANSACTION").isSuperset(of: ["Z_PK", "Z_ENT", "ZTIMESTAMP"])
    else { return nil }
    self.database = database
    changes = try database.prepare(
      "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES (?1 + (SELECT coalesce(max(Z_PK), 0) FROM ACHANGE), 16001, 0, ?2, ?3, (SELECT coalesce(max(Z_PK), 0) + 1 FROM ATRANSACTION))"
    )
  }

  func add(entity: Int64, key: Int64) throws {
    count += 1
    try changes.bind(.integer(1), 1)
    try changes.bind(.integer(entity), 2)
    try changes.bind(.integer(key), 3)
    try changes.run()
  }

  func finish() throws {
    if count == 0 { return }
    let transaction = try database.prepare(
      "INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZTIMESTAMP) SELECT coalesce(max(Z_PK), 0) + 1, 16002, ?1 FROM ATRANSACTION"
    )
    try transaction.bind(.real(Date().timeIntervalSinceReferenceDate), 1)
    try transaction.run()
    for (number, table) in [(16_001, "ACHANGE"), (16_002, "ATRANSACTION")] {
      try database.run(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = (SELECT max(Z_PK) FROM \(table)) WHERE Z_ENT = \(number)")
    }
  }
}
