import Foundation
import StrataCore

/// A store in Apple's format that a coordinator reads where it lies: the state that it had when it was opened. May be used from any thread.
final class AppleEngine: StoreEngine, OwnerwiseReading, CopyableStore, @unchecked Sendable {
  // @unchecked Sendable: what is read with is used inside `lock` only.

  let schema: Schema
  let identifier: UUID
  let url: URL?
  let configurationName: String?
  let metadata: StoreMetadata
  private let source: AppleSource
  private let rows: AppleRows
  private let members: AppleMembers
  private var isClosed = false
  /// Recursive: what is asked of a row while rows are read comes back here.
  private let lock = NSRecursiveLock()

  /// - Throws: `AppleStoreError`; `ModelError` for a model that is none.
  init(url: URL, schema: Schema, configurationName: String?) throws {
    source = try AppleSource(url.path, model: schema.model)
    self.schema = schema
    self.url = url
    self.configurationName = configurationName
    identifier = source.identifier
    let held = Set(source.heldEntities)
    metadata = source.metadata.withStandardKeys(
      identifier: source.identifier, type: AppleKind.name,
      versionHashes: schema.model.entityVersionHashesByName.filter { held.contains($0.key) },
      versionIdentifiers: schema.model.versionIdentifiers.sorted())
    // What does not fit is nil. An import says what it was.
    rows = AppleRows(source) { _ in }
    members = AppleMembers(source, rows)
  }

  var storeType: String { AppleKind.name }
  var isReadOnly: Bool { true }
  var copyableStore: (any CopyableStore)? { self }

  func close() {
    lock.withLock {
      isClosed = true
      members.close()
      rows.close()
      source.close()
    }
  }

  private func reading<R>(_ body: () throws -> R) throws -> R {
    try lock.withLock {
      if isClosed {
        throw StorageError(
          .closed, operation: "read", path: source.path, detail: "The store has been closed.")
      }
      // Where nobody can be kept from writing, pages may be of two states.
      try source.requireUnchanged()
      return try body()
    }
  }

  // MARK: Nothing is written

  private var readOnly: CoreDataError {
    CoreDataError(
      .persistentStoreSave,
      "Stores of type \(storeType) are only read. AppleSQLite.importStore makes one of them that can be written."
    )
  }

  func makePrimaryKey(hierarchy: Int) throws -> UInt64 { throw readOnly }

  func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) { completion(changeSets.map { _ in .failure(readOnly) }) }

  /// Makes a store of Strata of it: an import.
  ///
  /// The history comes along as far as the model explains it, and stays behind when it cannot be read; what does not come along, and what its age may make go, is told as a
  /// message.
  /// - Throws: `AppleStoreError` `.losses` when not all objects would come along as they are; ``StorageError``.
  func backup(to url: URL, compacting: Bool) throws { try bring(to: url, replacesEmptyStore: false) }

  /// The same, where there may be an empty store of Strata.
  /// - Throws: as `backup(to:compacting:)`.
  func copy(into url: URL) throws { try bring(to: url, replacesEmptyStore: true) }

  private func bring(to url: URL, replacesEmptyStore: Bool) throws {
    var options = AppleImportOptions()
    options.replacesEmptyStore = replacesEmptyStore
    options.model = schema.model
    options.refusesLosses = true
    options.importsHistory = source.hasHistoryTables
    options.permitsLostHistory = true
    let original = URL(fileURLWithPath: source.path)
    let report: AppleStoreReport
    do {
      report = try AppleSQLite.importStore(from: original, to: url, options: options)
    } catch let error as AppleStoreError where options.importsHistory && Self.mayBeAboutHistory(error) {
      // The objects are what the store is for. When it is not the history, this fails, too.
      options.importsHistory = false
      report = try AppleSQLite.importStore(from: original, to: url, options: options)
      Diagnostics.write(
        "import of \(source.path) into \(url.path): the history was left behind: \(error)", .warning)
    }
    for text in report.remarks + report.findings.map(\.description) {
      Diagnostics.write("import of \(source.path) into \(url.path): \(text)", .warning)
    }
  }

  private static func mayBeAboutHistory(_ error: AppleStoreError) -> Bool {
    switch error.kind {
    case .damaged, .model, .unsupported, .other: true
    case .missing, .exists, .notAStore, .busy, .permission, .output, .noModel, .needsHashes, .noVersion,
      .losses, .difference:
      false
    }
  }

  // MARK: Rows

  func rowStamp(entity: Int) -> RowStamp {
    // A model has at most 10,000 entities.
    RowStamp(layoutNumber: 0, entityCode: UInt16(entity + 1))
  }

  private func bits(_ object: ObjectAddress) -> UInt64 {
    StoreReference.bits(object.key, entityCode: rowStamp(entity: object.entity).entityCode)
  }

  private func fetched(_ row: AppleRow, _ assembler: inout RowAssembler) throws -> (
    FetchedRow, [ExternalValue]
  ) {
    let entity = schema.entities[row.object.entity]
    var values = row.values
    for (relationship, target) in row.links { values[relationship.slot] = .reference(bits(target)) }
    let (snapshot, externals) = try assembler.row(
      of: entity, stamp: rowStamp(entity: entity.number), primaryKey: row.object.key, version: 1
    ) { values[$0] }
    return (FetchedRow(primaryKey: row.object.key, entity: entity.number, snapshot: snapshot), externals)
  }

  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try reading {
      let asked = EngineRequest(request, storeIdentifier: identifier)
      let condition = AppleCondition(asked, source.layout)
      let filter = asked.filter(places: Array(asked.conjuncts.indices), reading: self)
      var found: [FetchedRow] = []
      var assembler = RowAssembler()
      var count = 0
      if let table = source.layout.tables[request.hierarchyNumber] {
        try rows.forEach(table, where: condition) { row in
          count += 1
          let (row, _) = try fetched(row, &assembler)
          guard request.entityNumbers.contains(row.entity) else { return }
          if let filter, try !filter.matches(row) { return }
          found.append(row)
        }
      }
      // Sorts, and cuts to the window.
      return try FetchInMemory(request, in: self, storeIdentifier: identifier).fetch(
        found, mode: mode, description: "\(condition.words), \(count) rows looked at")
    }
  }

  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try reading {
      var assembler = RowAssembler()
      return try primaryKeys.map { try read(hierarchy, $0, &assembler)?.0 }
    }
  }

  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    try rows(hierarchy: hierarchy, primaryKeys: [primaryKey])[0]
  }

  private func read(_ hierarchy: Int, _ key: UInt64, _ assembler: inout RowAssembler) throws -> (
    FetchedRow, [ExternalValue]
  )? {
    guard let table = source.layout.tables[hierarchy], let key = Int64(exactly: key) else { return nil }
    var found: AppleRow?
    try rows.forEach(table, where: .key(key)) { found = $0 }
    return try found.map { try fetched($0, &assembler) }
  }

  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    try reading {
      var assembler = RowAssembler()
      let hierarchy = schema.entities[entity].hierarchyNumber
      return try read(hierarchy, primaryKey, &assembler)?.1.first { $0.slot == slot }?.bytes
    }
  }

  // MARK: Relationships

  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] {
    try reading {
      guard let key = Int64(exactly: owner) else { return [] }
      let relationship = schema.relationships[edges.relationship]
      let found = try members.members(relationship, isHiddenInverse: edges.isHiddenInverse, of: key).map(bits)
      return relationship.isOrdered && !edges.isHiddenInverse ? found : found.sorted()
    }
  }
}
