import Foundation
import Synchronization

@testable import StrataCore

/// A store file in a directory of its own, with what tests need to change and read it.
final class StoreFixture {
  let directory: URL
  let url: URL
  let schema: Schema
  private(set) var store: LMDBStore

  init(
    model: ManagedObjectModel = StoreFixture.model(), inMemory: Bool = false,
    options: LMDBStoreOptions = .scratch
  ) throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent(
      "strata-store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    url = directory.appendingPathComponent("Test.strata")
    schema = try model.schema()
    store = try LMDBStore(url: inMemory ? nil : url, schema: schema, options: options)
  }

  deinit {
    store.close()
    try? FileManager.default.removeItem(at: directory)
  }

  /// Closes the store and opens it again, with another model if one is given.
  func reopen(options: LMDBStoreOptions = .scratch) throws {
    store.close()
    store = try LMDBStore(url: url, schema: schema, options: options)
  }

  /// Closes the store; its file stays as long as the fixture.
  func close() { store.close() }

  /// A second store object of the same file.
  func secondStore(_ model: ManagedObjectModel? = nil, options: LMDBStoreOptions = .scratch) throws
    -> LMDBStore
  {
    try LMDBStore(url: url, schema: model?.schema() ?? schema, options: options)
  }

  func entity(_ name: String) -> EntitySchema {
    guard let entity = schema.entity(named: name) else { preconditionFailure("no entity \(name)") }
    return entity
  }

  /// Every kind of attribute and index, a subentity, a second hierarchy, three constraints.
  static func model(reversingAttributes: Bool = false, extraIndex: Bool = false) -> ManagedObjectModel {
    func attribute(_ name: String, _ type: AttributeType, transient: Bool = false) -> AttributeDescription {
      AttributeDescription(name, type, isOptional: true, isTransient: transient)
    }
    func index(_ name: String, _ keys: (String, Bool)...) -> FetchIndexDescription {
      FetchIndexDescription(
        name: name,
        elements: keys.map { FetchIndexElementDescription(propertyName: $0.0, isAscending: $0.1) })
    }
    var properties: [PropertyDescription] = [
      attribute("i16", .integer16), attribute("i32", .integer32), attribute("i64", .integer64),
      attribute("flag", .boolean), attribute("f", .float), attribute("d", .double),
      attribute("dec", .decimal), attribute("s", .string), attribute("t", .string),
      attribute("date", .date), attribute("blob", .binaryData), attribute("u", .uuid),
      attribute("link", .uri), attribute("memo", .string, transient: true), attribute("code", .string),
    ]
    if reversingAttributes { properties.reverse() }
    let special = EntityDescription(
      "Special", properties: [attribute("extra", .integer32), attribute("tag", .string)],
      indexes: [index("byExtra", ("extra", true))])
    var indexes = [
      index("byI64", ("i64", true)), index("byS", ("s", true)), index("byDate", ("date", false)),
      index("byFlagD", ("flag", true), ("d", false)), index("bySI32", ("s", true), ("i32", true)),
      index("byDec", ("dec", true)), index("byU", ("u", true)), index("byI16D", ("i16", true), ("d", true)),
    ]
    if extraIndex { indexes.append(index("byF", ("f", true))) }
    let item = EntityDescription(
      "Item", properties: properties, uniquenessConstraints: [["code"]], indexes: indexes,
      subentities: [special])
    let place = EntityDescription(
      "Place",
      properties: [attribute("name", .string), attribute("x", .integer32), attribute("y", .integer32)],
      uniquenessConstraints: [["name"], ["x", "y"]])
    return ManagedObjectModel(entities: [item, special, place])
  }
}

extension LMDBStoreOptions {
  /// Fast, for tests that do not look at durability.
  static var scratch: LMDBStoreOptions {
    var options = LMDBStoreOptions()
    options.durability = .none
    return options
  }
}

// MARK: Changes

extension StoreFixture {
  /// A row to insert, with a new key.
  func insert(
    _ name: String, _ values: [String: AttributeValue], key: UInt64? = nil, store: LMDBStore? = nil
  ) throws -> RowChange {
    let store = store ?? self.store
    let entity = entity(name)
    let key = try key ?? store.makePrimaryKey(hierarchy: entity.hierarchyNumber)
    let draft = RowDraft.make(entity.layout, defaults: entity.defaults)
    for (name, value) in values { draft[slot(entity, name)] = value }
    return try encode(entity, key, base: nil, draft, SlotBitmap(allBelow: entity.attributes.count), store)
  }

  /// A row that replaces `row`.
  func update(_ row: FetchedRow, _ values: [String: AttributeValue], store: LMDBStore? = nil) throws
    -> RowChange
  {
    let entity = schema.entities[row.entity]
    let draft = RowDraft.make(entity.layout)
    for (name, value) in values { draft[slot(entity, name)] = value }
    return try encode(entity, row.primaryKey, base: row.snapshot, draft, draft.changed, store ?? self.store)
  }

  func delete(_ row: FetchedRow) -> RowDeletion {
    RowDeletion(entity: row.entity, primaryKey: row.primaryKey, baseVersion: row.snapshot?.version ?? 0)
  }

  private func slot(_ entity: EntitySchema, _ name: String) -> Int {
    guard let slot = entity.slot(named: name) else { preconditionFailure("no attribute \(name)") }
    return slot
  }

  private func encode(
    _ entity: EntitySchema, _ key: UInt64, base: RowSnapshot?, _ draft: RowDraft, _ changed: SlotBitmap,
    _ store: LMDBStore
  ) throws -> RowChange {
    var writer = RowSlabWriter()
    let version = base?.version ?? 0
    let (row, externals) = try RowEncoder.encode(
      layout: entity.layout, stamp: store.rowStamp(entity: entity.number), primaryKey: key,
      version: version + 1, base: base, draft: draft, into: &writer)
    return RowChange(
      entity: entity.number, primaryKey: key, baseVersion: version, row: row, externals: externals,
      changedSlots: changed)
  }

  /// Commits change sets together and waits.
  func commit(_ changeSets: [ChangeSet], store: LMDBStore? = nil) -> [Result<CommitResult, any Error>] {
    let done = DispatchSemaphore(value: 0)
    let results = Mutex<[Result<CommitResult, any Error>]>([])
    (store ?? self.store).commit(changeSets, deadline: nil) { found in
      results.withLock { $0 = found }
      done.signal()
    }
    done.wait()
    return results.withLock { $0 }
  }

  @discardableResult
  func commit(
    inserts: [RowChange] = [], updates: [RowChange] = [], deletes: [RowDeletion] = [],
    checks: [RowCheck] = [],
    metadata: StoreMetadata? = nil, store: LMDBStore? = nil
  ) throws -> CommitResult {
    let changes = ChangeSet(
      inserts: inserts, updates: updates, deletes: deletes, checks: checks, metadata: metadata)
    return try commit([changes], store: store)[0].get()
  }
}

// MARK: Reading

extension StoreFixture {
  func resolve(
    _ name: String, _ predicate: FetchPredicate? = nil, sort: [FetchSort] = [], limit: Int = 0,
    offset: Int = 0,
    includesSubentities: Bool = true
  ) throws -> ResolvedFetchRequest {
    var request = FetchRequest<ManagedObjectID>(
      entityName: name, predicate: predicate, sortDescriptors: sort, fetchLimit: limit, fetchOffset: offset)
    request.includesSubentities = includesSubentities
    return try ResolvedFetchRequest(request, schema: schema)
  }

  func fetch(
    _ name: String, _ predicate: FetchPredicate? = nil, sort: [FetchSort] = [], limit: Int = 0,
    offset: Int = 0,
    mode: FetchMode = .rows, store: LMDBStore? = nil
  ) throws -> FetchedRows {
    try (store ?? self.store).fetch(
      resolve(name, predicate, sort: sort, limit: limit, offset: offset), mode: mode)
  }

  func row(_ name: String, _ key: UInt64, store: LMDBStore? = nil) throws -> FetchedRow? {
    try (store ?? self.store).row(hierarchy: entity(name).hierarchyNumber, primaryKey: key)
  }

  /// A value of a fetched row, wherever it lies.
  func value(_ row: FetchedRow, _ name: String, store: LMDBStore? = nil) throws -> AttributeValue {
    let entity = schema.entities[row.entity]
    guard let slot = entity.slot(named: name), let snapshot = row.snapshot else { return .null }
    if let value = snapshot.value(slot, entity.layout) { return value }
    guard let reference = snapshot.externalReference(slot, entity.layout),
      let data = try (store ?? self.store).externalValue(
        entity: row.entity, primaryKey: row.primaryKey, slot: slot, version: reference.version)
    else { return .null }
    return RowBytes.externalValue(data, kind: entity.layout.kind(of: slot)) ?? .null
  }

  /// All stored values of a row by name, nil ones left out.
  func values(_ row: FetchedRow, store: LMDBStore? = nil) throws -> [String: AttributeValue] {
    var result: [String: AttributeValue] = [:]
    for attribute in schema.entities[row.entity].attributes where !attribute.isTransient {
      let value = try value(row, attribute.name, store: store)
      if !value.isNull { result[attribute.name] = value }
    }
    return result
  }

  func identifier(_ name: String, _ key: UInt64) -> ManagedObjectID {
    ManagedObjectID(
      token: .token(storeIdentifier: store.identifier, entity: entity(name), in: schema), primaryKey: key)
  }
}

/// Lets a monitor stop itself.
///
/// Unchecked: used by the one thread of a test.
final class Later: @unchecked Sendable {
  var monitor: FetchMonitor?
}

extension LMDBStore {
  /// How the store would find the rows of a request.
  func plan(_ request: ResolvedFetchRequest, mode: FetchMode = .rows) throws -> FetchPlan {
    try read { reader, transaction in try StoredView(reader, transaction).plan(request, mode: mode) }
  }
}
