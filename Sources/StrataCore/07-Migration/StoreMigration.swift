import Foundation

extension LMDBStore {
  /// Brings the store in the file at `url` to another version of its model, as far as that can be inferred (rule 307). Where it is of that
  /// version already, nothing happens.
  ///
  /// The store knows its own model, so only the new one is needed. A new file is written beside the old one, checked, and
  /// takes its place in one step; until then the old file stays as it is. Whatever happens meanwhile, a crash or a power failure too, there
  /// is the one or the other. Object IDs, the UUID, the metadata, the history and the versions of rows stay.
  ///
  /// What would take something away from the store needs a `permission`; see ``MigrationPermission``. The old file is kept beside the new one
  /// then, as `Name.strata-before-1` (or the first number that is free), until the next save.
  ///
  /// Blocks for as long as it takes: about as long as inserting all objects. Needs room for a second file; memory does not grow with the number
  /// of objects, but for keys while the new file is checked. Other threads of this process that open the store wait, then find it migrated;
  /// so `progress` must not wait for them. Other processes may go on saving; then the migration starts again, and from the fifth time on they wait.
  ///
  /// - Parameters:
  ///   - url: The store's file.
  ///   - model: The version that the store is to be of.
  ///   - configurationName: The configuration that the store is opened with; nil for all entities.
  ///   - permission: What may be taken away.
  ///   - progress: Counts rows, about two for each; may cancel.
  ///   - options: How the store is opened.
  /// - Throws: ``CoreDataError`` 134190 when it cannot be inferred, with the reasons; 134111 for values that must be unique and are not;
  ///   134110 for objects without a value that must have one, and what else does not fit; 134120 when `progress` was cancelled; 134130 when the store's own model cannot be
  ///   read, or something would be lost and the program does not know that model; 134110 when it does, and the store was of the program's version
  ///   before. ``StorageError``: `.busy` when this process has the store open, or another one keeps it locked; `.diskFull` and `.mapFull`
  ///   when there is no room for the second file. The store is what it was then, and nothing lies beside it.
  public static func migrate(
    at url: URL, to model: ManagedObjectModel, configurationName: String? = nil,
    permission: MigrationPermission = MigrationPermission(), progress: BatchProgress = BatchProgress(),
    options: LMDBStoreOptions = LMDBStoreOptions()
  ) throws {
    var options = options
    options.patience = options.patience ?? Patience(options.writerDeadline)
    let migration = StoreMigration(
      url: url, model: model, configurationName: configurationName, permission: permission,
      progress: progress,
      options: options)
    guard Watching.concerns(.migrations) else {
      _ = try migration.run()
      return
    }
    let start = ContinuousClock.now
    func tell(_ outcome: StoreMigration.Outcome, _ error: (any Error)?) {
      StrataObservers.tell(
        .migration(
          MigrationEvent(
            url: url, isInPlace: outcome == .inPlace, duration: ContinuousClock.now - start, error: error)))
    }
    do {
      let outcome = try migration.run()
      if outcome != .nothing { tell(outcome, nil) }
    } catch {
      tell(.nothing, error)
      throw error
    }
  }
}

extension LMDBStore {
  /// Brings the store at `url` to the version of a program that ignores versions and writes, where nothing is lost by that. A file that is missing, empty or no store is
  /// left to who opens it.
  ///
  /// - Throws: ``CoreDataError`` 134100 where that cannot be done, with the reason: what would be lost, and by how many objects; ``StorageError``.
  static func takeOver(
    at url: URL, for model: ManagedObjectModel, configurationName: String?, options: LMDBStoreOptions
  ) throws {
    let stored: [String: Data]
    do {
      stored = try metadata(at: url).versionHashes
    } catch let error as StorageError where [.missing, .notADatabase].contains(error.kind) {
      return
    }
    var permission = MigrationPermission()
    permission.losesNothing = true
    var options = options
    options.patience = options.patience ?? Patience(options.writerDeadline)
    let migration = StoreMigration(
      url: url, model: model, configurationName: configurationName, permission: permission,
      progress: BatchProgress(), options: options)
    if try stored.isEmpty || stored == migration.wantedHashes(model.schema()) { return }
    do { _ = try migration.run() } catch let error as CoreDataError {
      let reason = error.userInfo[MigrationPermission.lossesTextKey] as? String
      throw CoreDataError(
        .persistentStoreIncompatibleVersionHash,
        "The store was written with another version of the model, which cannot be ignored for writing. "
          + (reason ?? error.errorDescription ?? ""),
        userInfo: [NSUnderlyingErrorKey: error])
    }
  }
}

/// The steps of a lightweight migration.
///
/// ```
///   source    open, pin the newest commit                 ┐ again, when
///   draft     a new store under another name: rows, members, what the store knows about itself     │ there was a save
///   check     every page, row, index entry, edge          │
///   exchange  with the source locked for writing          ┘
/// ```
///
/// The last time the source is locked all the while, so it comes to an end whatever others do.
struct StoreMigration {
  let url: URL
  let model: ManagedObjectModel
  let configurationName: String?
  let permission: MigrationPermission
  let progress: BatchProgress
  let options: LMDBStoreOptions

  /// So often others may save meanwhile; then the source is locked.
  private static let freeAttempts = 4
  /// Beyond that it is begun again only when the file was exchanged, which is done at most once for each version.
  private static let mostAttempts = 16

  /// What became of the store.
  enum Outcome { case nothing, inPlace, newFile }

  func run() throws -> Outcome {
    let schema = try model.schema()
    let file = try StoreFile(url.path, .system)
    return try LMDBStore.takeTurn(at: url) {
      do {
        try LMDBStore.nameReplacedFiles(beside: file, at: url)
        StoreDraft.removeLeftovers(beside: file)
        for count in 0..<Self.mostAttempts {
          if let outcome = try attempt(schema, file, isLocked: count >= Self.freeAttempts) { return outcome }
        }
        throw StorageError(
          .busy, operation: "migrate", path: file.path,
          detail: "The store's file was replaced again and again while it was being migrated.")
      } catch is CancellationError {
        throw CoreDataError(.migrationCancelled, "The migration was cancelled.")
      }
    }
  }

  /// What became of the store; nil when there was a save meanwhile, or the file was exchanged.
  private func attempt(_ schema: Schema, _ file: StoreFile, isLocked: Bool) throws -> Outcome? {
    guard let (source, carried) = try openSource(schema) else { return .nothing }
    defer { source.close() }
    // Said now rather than when all work is done; asked again then.
    try MigrationDraft.requireAlone(source, file, options.patience)
    let comparison = try compare(schema, source)
    do {
      if let change = try inPlaceChange(comparison, source, carried) {
        try apply(change, schema, source, file)
        return .inPlace
      }
      let lock = isLocked ? try SourceLock(source.parts.environment, options.patience) : nil
      // What it could throw has been thrown by then.
      defer { try? lock?.end() }
      return try attempt(schema, file, source, carried, comparison, lock) ? .newFile : nil
    } catch let error as StorageError where error.kind == .replaced {
      return nil
    }
  }

  private func attempt(
    _ schema: Schema, _ file: StoreFile, _ source: LMDBStore, _ carried: LMDBStore.CarriedModel,
    _ comparison: Comparison, _ lock: SourceLock?
  ) throws -> Bool {
    guard let snapshot = try source.makeSnapshot() as? LMDBSnapshot else {
      throw StorageError(
        .invalid, operation: "migrate", path: file.path, detail: "The store has no snapshots.")
    }
    defer { snapshot.release() }
    let rows = Rows(comparison, snapshot)
    try requireNone(of: comparison.strangers, rows.rows)
    // All that follows is of this view, and so must the model be: another process may have migrated the store since it was read.
    let (header, moment) = try snapshot.read { reader, transaction in
      try reader.parts.require(carried, transaction)
      return (
        try StoreHeader(reader.parts.meta, transaction, path: reader.parts.environment.path),
        try reader.parts.moment(transaction)
      )
    }
    // Decided in the view that is carried over: a save meanwhile makes it decide again.
    try MissingValues(in: rows.rows, progress).requireNone()
    let isLossy = try judge(schema, header).allows(rows.losses, in: rows.rows, progress: progress)
    let replaced = isLossy ? try file.makeReplaced() : nil
    let draft = try MigrationDraft(file)
    defer { draft.remove(sparing: replaced) }
    try fill(draft, schema, rows, header, keeping: replaced)
    MigrationHooks.reached(.filled, file.path)
    guard let lock else {
      return try draft.takePlace(
        of: source, keeping: replaced, ifStillAt: moment, options.patience)
    }
    try draft.takePlace(of: source, keeping: replaced, lock)
    return true
  }

  /// The store as it is, with its own model; nil when there is nothing to do.
  private func openSource(_ schema: Schema) throws -> (LMDBStore, LMDBStore.CarriedModel)? {
    var options = options
    options.opensAsItIs = true
    options.isReadOnly = false
    let (source, carried) = try LMDBStore.openAsCarried(at: url, options: options) { error in
      CoreDataError(
        .migrationMissingSourceModel, "The model in the store cannot be read.",
        userInfo: [NSUnderlyingErrorKey: error])
    }
    if try source.metadata.versionHashes == wantedHashes(schema) {
      source.close()
      return nil
    }
    return (source, carried)
  }

  /// How the two versions of the model differ.
  private struct Comparison {
    let pairing: ModelPairing
    let plan: MigrationPlan
    let losses: LossPlan
    /// Entities that the store holds and the configuration does not: they are no part of the migration, and have no objects.
    let strangers: [EntitySchema]
  }

  /// What is to be carried over, and what there is no place for.
  private struct Rows {
    let pairing: ModelPairing
    let rows: SourceRows
    let losses: LossPlan

    init(_ comparison: Comparison, _ snapshot: LMDBSnapshot) {
      (pairing, losses) = (comparison.pairing, comparison.losses)
      rows = SourceRows(plan: comparison.plan, snapshot: snapshot)
    }
  }

  private func compare(_ schema: Schema, _ source: LMDBStore) throws -> Comparison {
    let held = Set(source.metadata.versionHashes.keys)
    let wanted = Set(try wantedEntities(schema).map(\.number))
    var strangers: [EntitySchema] = []
    while true {
      let names = Set(strangers.map(\.name))
      let pairing = ModelPairing(source.parts.schema.model, model, held: held.subtracting(names))
      try InferredMappingModel.require(pairing)
      let plan = try MigrationPlan(pairing, from: source.parts.schema, holding: held, to: schema)
      let more = plan.entities.compactMap { $0 }.filter { !wanted.contains($0.destination.number) }
      if more.isEmpty {
        return Comparison(
          pairing: pairing, plan: plan, losses: LossPlan(pairing, plan), strangers: strangers)
      }
      strangers += more.map(\.source)
    }
  }

  /// The change as one that touches no row; nil when there are rows to be written anew, and while another process has the store open: it goes on with
  /// the file that it has.
  private func inPlaceChange(
    _ comparison: Comparison, _ source: LMDBStore, _ carried: LMDBStore.CarriedModel
  ) throws -> InPlaceChange? {
    if options.migratesAllRows || permission.isForCopy || !source.parts.environment.isAlone { return nil }
    let (catalogue, versions) = try source.parts.environment.read { transaction in
      try source.parts.require(carried, transaction)
      return (try source.parts.readCatalogue(transaction), try source.parts.storedVersions(transaction))
    }
    guard let versions else { return nil }
    return try? InPlaceChange(comparison.pairing, comparison.plan, comparison.losses, catalogue, versions)
  }

  /// Gives the store its new model, and everything that follows from it.
  private func apply(_ change: InPlaceChange, _ schema: Schema, _ source: LMDBStore, _ file: StoreFile) throws
  {
    progress.begin(total: 1)
    try progress.stopIfCancelled()
    source.close()
    var options = options
    options.ignoresVersionHashes = true
    options.isReadOnly = false
    options.createsIfMissing = false
    options.fills = change.fills
    try LMDBStore(url: url, schema: schema, configurationName: configurationName, options: options).close()
    MigrationHooks.reached(.changed, file.path)
    progress.complete(1)
    progress.report?(progress)
  }

  private func judge(_ schema: Schema, _ header: StoreHeader) throws -> LossJudge {
    LossJudge(
      permission: permission, model: model, stored: header.versions,
      wanted: StoredVersions(hashes: try wantedHashes(schema), identifiers: []), lineage: header.lineage)
  }

  fileprivate func wantedHashes(_ schema: Schema) throws -> [String: Data] {
    Dictionary(uniqueKeysWithValues: try wantedEntities(schema).map { ($0.name, $0.versionHash) })
  }

  private func wantedEntities(_ schema: Schema) throws -> [EntitySchema] {
    guard let configurationName else { return schema.entities }
    guard let held = model.entities(forConfigurationName: configurationName) else {
      throw CoreDataError(
        .persistentStoreOpen, "The model has no configuration named “\(configurationName)”.")
    }
    let names = Set(held.compactMap(\.name))
    return schema.entities.filter { names.contains($0.name) }
  }

  /// Writes and checks the new store.
  private func fill(
    _ draft: MigrationDraft, _ schema: Schema, _ source: Rows, _ header: StoreHeader,
    keeping replaced: ReplacedFile?
  ) throws {
    let (plan, snapshot) = (source.rows.plan, source.rows.snapshot)
    let rows = try snapshot.read { reader, transaction in
      try reader.parts.rows.reduce(0) { try $0 + ($1.map { try transaction.entryCount($0) } ?? 0) }
    }
    progress.begin(total: rows * 2)
    let history = try RecordedHistory(snapshot, source.rows.plan, source.pairing)
    var store = try draft.open(schema, configurationName, options, codes: history?.codes ?? [:])
    defer { store.close() }
    if try keepAddedIndexes(store, source.pairing, snapshot) {
      store.close()
      store = try draft.open(schema, configurationName, options)
    }
    var migration = RowMigration(source.rows, to: store, progress: progress)
    try migration.run()
    MigrationHooks.reached(.copied, try StoreFile(url.path, .system).path)
    // The keys that were reserved along the way are given back before the counters are set.
    store.close()
    store = try draft.open(schema, configurationName, options)
    try history?.copy(from: snapshot, to: store, progress)
    try finish(store, plan, header, snapshot, history, replaced)
    try check(store, expecting: migration.rowCounts.reduce(0, +), history)
    progress.complete(rows * 2)
    progress.report?(progress)
    try progress.stopIfCancelled()
    store.close()
    try draft.flush()
  }

  /// What the configuration does not hold would be lost.
  private func requireNone(of strangers: [EntitySchema], _ rows: SourceRows) throws {
    for entity in strangers where !entity.isAbstract {
      var isThere = false
      var next: UInt64? = 0
      while let key = next, !isThere {
        var steps = 0
        next = try rows.walk(entity.hierarchyNumber, from: key) { row, key, reader, transaction in
          steps += 1
          isThere = row.entity == entity.number
          return !isThere && steps < RowMigration.rowsPerStep
        }
        try progress.stopIfCancelled()
      }
      if isThere {
        throw CoreDataError(
          .migration,
          "The store holds objects of \(entity.name), and the configuration “\(configurationName ?? "")” does not."
        )
      }
    }
  }

  /// Has the new store keep the indexes that were added to the old one, as far as their entities and attributes stay; whether there are any.
  private func keepAddedIndexes(_ store: LMDBStore, _ pairing: ModelPairing, _ snapshot: LMDBSnapshot) throws
    -> Bool
  {
    let added = try snapshot.read { reader, transaction in
      try StoredIndexes.added(reader.parts.meta, transaction)
    }
    let parts = store.parts
    let names = AddedIndexNames(pairing)
    let kept = added.compactMap { names.kept($0, in: parts.schema) }
    if kept.isEmpty { return false }
    let marks = try kept.map { (key: "added/" + $0.qualifiedName, value: try JSONEncoder.sorted.encode($0)) }
    try parts.environment.write { transaction in
      for mark in marks { try parts.meta.put(mark.key, mark.value, transaction) }
      try StoreCatalogue.raiseGeneration(parts.meta, transaction)
    }
    return true
  }

  /// Gives the new store the identity, the metadata and the counters of the old one.
  private func finish(
    _ store: LMDBStore, _ plan: MigrationPlan, _ header: StoreHeader, _ snapshot: LMDBSnapshot,
    _ history: RecordedHistory?, _ replaced: ReplacedFile?
  ) throws {
    let parts = store.parts
    var lineage = header.lineage
    lineage.add(header.versions)
    let (past, files) = (lineage, header.replaced + (replaced.map { [$0] } ?? []))
    let counters = try snapshot.read { reader, transaction in
      try plan.hierarchies.map { try $0.map { try reader.parts.counter($0, transaction) } ?? 1 }
    }
    let metadata = try header.metadata.encoded(path: parts.environment.path)
    let isEmpty = header.metadata.withoutStandardKeys.values.isEmpty
    try parts.environment.write { transaction in
      for (hierarchy, counter) in counters.enumerated() {
        let current = try parts.counter(hierarchy, transaction.read)
        try parts.setCounter(hierarchy, max(current, counter), transaction)
      }
      if !isEmpty { try parts.meta.put("metadata", metadata, transaction) }
      try parts.meta.put(past, transaction)
      try parts.meta.put(files, transaction)
      let own = CommitStamp(try parts.meta.bytes("stamp", transaction.read))?.commitNumber ?? 0
      // Behind every number that a token of the old store may name.
      let stamp = CommitStamp(identifier: header.identifier, commitNumber: header.commitNumber + own + 1)
      let identity = withUnsafeBytes(of: header.identifier.uuid) { Array($0) }
      try parts.meta.put("identity", identity, transaction)
      try parts.meta.put("stamp", stamp.bytes + [UInt8](repeating: 0, count: 8), transaction)
      try history?.goOn(in: parts.meta, transaction)
      // What it says is told by numbers of commits that the store does not go on from.
      if let journal = parts.journal { try transaction.clear(journal.keyspace) }
    }
  }

  /// - Parameter history: What was carried over. When nothing else is damaged it begins anew: it keeps nobody from the rows.
  private func check(_ store: LMDBStore, expecting rows: Int, _ history: RecordedHistory?) throws {
    var check = try store.check()
    if let history, !check.isSound, check.problems.allSatisfy({ $0.kind == .historyDamaged }) {
      Diagnostics.write(
        "the history of the store \(url.path) is damaged and was left behind by its migration: tokens from before are expired.",
        .error)
      try history.beginAnew(in: store.parts)
      check = try store.check()
    }
    if check.isSound && check.rowCount == rows { return }
    let problems = check.problems.prefix(5).map(\.description).joined(separator: "; ")
    throw CoreDataError(
      .migration,
      "The migrated store is not sound: \(check.rowCount) rows of \(rows)\(problems.isEmpty ? "" : "; \(problems)")."
    )
  }
}
