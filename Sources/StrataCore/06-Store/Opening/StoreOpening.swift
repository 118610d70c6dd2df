import Foundation

/// The steps from a path to an open store.
///
/// ```
///   environment → format and identity → version hashes → keyspaces → catalogue → indexes
/// ```
///
/// A file that is refused is not changed: nothing is written before the hashes agree. When everything is there that the schema and the options ask
/// for, nothing is written at all, and no writer is waited for; otherwise all steps together wait as long as `patience` says.
struct StoreOpening {
  struct Result {
    let parts: StoreParts
    let catalogue: StoreCatalogue
    let metadata: StoreMetadata
    let versions: StoredVersions
    /// By hierarchy number, where unreserved primary keys begin; nil for a damaged counter.
    let counters: [UInt64?]
    /// The newest commit.
    let commitNumber: UInt64
    /// Whether files lie beside the store that it has taken the place of.
    let hasReplacedFiles: Bool
  }

  let url: URL?
  /// The name by which this process shares a store in memory; nil for one that is not shared.
  let memoryName: String?
  let schema: Schema
  let configurationName: String?
  let options: LMDBStoreOptions
  let patience: Patience

  init(
    url: URL?, memoryName: String? = nil, schema: Schema, configurationName: String?,
    options: LMDBStoreOptions
  ) {
    self.url = url
    self.memoryName = memoryName
    self.schema = schema
    self.configurationName = configurationName
    self.options = options
    patience = options.patience ?? Patience(options.writerDeadline)
  }

  func open() throws -> Result {
    let held = try heldEntities()
    // Before there is a file.
    try StoredIndexes.requireSoundFilters(schema)
    let environment = try openEnvironment()
    do {
      let result = try open(environment, held: held)
      environment.accept()
      return result
    } catch {
      environment.refuse()
      environment.close()
      throw error
    }
  }

  private func open(_ environment: Environment, held: [Bool]) throws -> Result {
    let isNew = try StoreHeader.isEmpty(environment)
    if isNew && (options.isReadOnly || options.opensAsItIs) { throw StoreHeader.empty(environment) }
    if !isNew { try StoreHeader.requireMeta(environment) }
    guard let metaKeyspace = try environment.keyspaces([MetaKeyspace.name], within: patience)[0] else {
      throw StorageError.foreign(environment.path)
    }
    let meta = MetaKeyspace(keyspace: metaKeyspace)
    let versions = wantedVersions(held: held)
    if isNew { try initialize(environment, meta, versions) }
    while true {
      let header = try environment.read { transaction in
        let header = try StoreHeader(meta, transaction, path: environment.path)
        if let carried = options.carriedModel, try meta.data("model", transaction) != carried {
          throw StoreParts.hasOtherModel(environment.path)
        }
        return header
      }
      if header.mayHaveLog { environment.log?.permit() }
      if !options.ignoresVersionHashes { try compare(header.versions, versions, environment, meta) }
      let parts = try openKeyspaces(environment, meta, held: held, identifier: header.identifier)
      try beginHistory(parts)
      MigrationHooks.reached(.compared, environment.path)
      // Nil when another process has changed the model since the header was read: then the store may be one that is to be refused.
      guard let complete = try completeCatalogue(parts, stored: header.versions, wanted: versions) else {
        continue
      }
      return try finish(parts, try grow(complete, parts), header, versions)
    }
  }

  private func finish(
    _ parts: StoreParts, _ catalogue: StoreCatalogue, _ header: StoreHeader, _ versions: StoredVersions
  ) throws -> Result {
    // Known from the beginning, so that objects can be made even if the store can never be read again.
    let counters = try parts.environment.read { transaction in
      try schema.hierarchies.map { hierarchy in
        let counter = try? parts.counter(hierarchy.number, transaction)
        if let counter, counter > PrimaryKeyAllocator.limit {
          throw parts.damaged("The counter of primary keys of \(hierarchy.rootName) is beyond all keys.")
        }
        return counter
      }
    }
    // One that is opened as it is may hold the entities of a configuration.
    let versions = options.opensAsItIs ? header.versions : versions
    if !options.isReadOnly && !options.opensAsItIs {
      // The name is a help to who looks for the file; the next save tries again.
      try? parts.environment.file.nameReplaced(header.replaced)
    }
    return Result(
      parts: parts, catalogue: catalogue, metadata: header.metadata, versions: versions, counters: counters,
      commitNumber: header.commitNumber, hasReplacedFiles: !header.replaced.isEmpty)
  }

  // MARK: Steps

  /// By entity number, whether the configuration holds the entity.
  private func heldEntities() throws -> [Bool] {
    guard let name = configurationName else { return schema.entities.map { _ in true } }
    guard let entities = schema.model.entities(forConfigurationName: name) else {
      throw CoreDataError(.persistentStoreOpen, "The model has no configuration named “\(name)”.")
    }
    let names = Set(entities.compactMap(\.name))
    return schema.entities.map { names.contains($0.name) }
  }

  private func openEnvironment() throws -> Environment {
    var environment = EnvironmentOptions()
    environment.requiredKeyspace = MetaKeyspace.name
    environment.isReadOnly = options.isReadOnly
    // Who only reads promises nothing. Should this process open the store for writing, too, every durability can have what promises most.
    environment.durability = options.isReadOnly ? .full : options.durability
    environment.keepsLog = options.keepsLog && !options.isReadOnly && !options.opensAsItIs
    environment.log.awaitsPermission = true
    environment.log.commitsBefore = options.commitsBeforeLog
    environment.allowsNetworkFileSystem = options.allowsNetworkFileSystem
    environment.writerDeadline = options.writerDeadline
    environment.patience = patience
    environment.mapSize = options.mapSize
    // Room for keyspaces of indexes that the model no longer has.
    environment.maxKeyspaces = 128 + schema.hierarchies.count + schema.indexes.count * 2
    guard let url else {
      let registry = EnvironmentRegistry.current
      // Opening takes turns by the name.
      if let memoryName, let shared = registry.acquire(named: memoryName) { return shared }
      environment.isTemporary = true
      environment.keepsLog = false
      environment.durability = .none
      environment.create = .mustBeNew
      let name = "strata-\(UUID().uuidString).strata"
      let made = try Environment.open(
        path: FileManager.default.temporaryDirectory.appendingPathComponent(name).path, options: environment)
      if let memoryName { registry.name(made, memoryName) }
      return made
    }
    guard url.isFileURL else {
      throw CoreDataError(.persistentStoreOpen, "A store's URL must be of a file, not \(url).")
    }
    environment.create = options.createsIfMissing && !options.isReadOnly ? .ifMissing : .never
    return try Environment.open(path: url.path, options: environment)
  }

  private func wantedVersions(held: [Bool]) -> StoredVersions {
    var hashes: [String: Data] = [:]
    for entity in schema.entities where held[entity.number] { hashes[entity.name] = entity.versionHash }
    return StoredVersions(hashes: hashes, identifiers: schema.model.versionIdentifiers.sorted())
  }

  private func initialize(
    _ environment: Environment, _ meta: MetaKeyspace, _ versions: StoredVersions
  ) throws {
    let model = try ownModel(try ModelDocument(schema.model))
    let encoded = try JSONEncoder.sorted.encode(versions)
    try environment.write(within: patience) { [options] transaction in
      // Another process may have been faster.
      if try meta.bytes("format", transaction.read) != nil { return }
      let identifier = UUID()
      let format = options.keepsLog ? MetaKeyspace.loggedFormat : MetaKeyspace.plainFormat
      try meta.put("format", number: format, transaction)
      try meta.put("identity", withUnsafeBytes(of: identifier.uuid) { Array($0) }, transaction)
      let stamp = CommitStamp(identifier: identifier, commitNumber: 0)
      try meta.put("stamp", stamp.bytes + [UInt8](repeating: 0, count: 8), transaction)
      try meta.put("generation", number: UInt64(1), transaction)
      try meta.put("versions", encoded, transaction)
      try model.put(meta, transaction)
      for (key, code) in options.codes { try meta.put(key, number: code, transaction) }
    }
  }

  private func compare(
    _ stored: StoredVersions, _ wanted: StoredVersions, _ environment: Environment, _ meta: MetaKeyspace
  ) throws {
    let differing = IncompatibleEntity.compare(stored: stored.hashes, wanted: wanted.hashes)
    if differing.isEmpty { return try requireValues(environment, meta) }
    // The hashes say that there are differences, the model in the store says which. A damaged one is no matter here.
    let document = try environment.read { try meta.data("model", $0) }
    let model = document.flatMap { try? ModelCoding.decode($0) }
    let changes = model.map { ModelDifference.sentences(from: $0, to: schema.model) } ?? []
    let sentences = changes.isEmpty ? differing.map(\.description) : changes
    var metadata = StoreMetadata()
    metadata[StoreMetadata.versionHashesKey] = .dictionary(stored.hashes.mapValues { .data($0) })
    metadata[StoreMetadata.versionIdentifiersKey] = .array(stored.identifiers.map { .string($0) })
    throw CoreDataError(
      .persistentStoreIncompatibleVersionHash,
      "The store was written with another model: " + sentences.joined(separator: "; ") + ".",
      userInfo: [
        "metadata": metadata.dictionary, "NSStoreIncompatibleEntities": differing.map(\.entityName),
        "NSStoreModelDifferences": sentences,
      ])
  }

  /// Of one version are also models of which the one lets a composite attribute be nil and the other does not, where a front notes that beside the version.
  ///
  /// - Throws: `CoreDataError` 134190 for attributes that may not be nil any more and have no default value: no migration looks at them.
  private func requireValues(_ environment: Environment, _ meta: MetaKeyspace) throws {
    guard keepsModel, schema.model.entities.contains(where: \.needsNotedValues) else { return }
    guard try storedModel(try ModelDocument(schema.model), environment, meta) == .stale,
      let document = try environment.read({ try meta.data("model", $0) }),
      let stored = try? ModelCoding.decode(document)
    else { return }
    let reasons = ModelPairing(stored, schema.model).reasonsWithinVersion
    if reasons.isEmpty { return }
    let text = reasons.joined(separator: "; ")
    throw CoreDataError(
      .inferredMappingModel,
      "The store was written with another model, and cannot be opened with this one: \(text).",
      userInfo: ["reason": text])
  }

  private func openKeyspaces(
    _ environment: Environment, _ meta: MetaKeyspace, held: [Bool], identifier: UUID
  ) throws -> StoreParts {
    let heldHierarchies = schema.hierarchies.map { $0.memberNumbers.contains { held[$0] } }
    let heldIndexes = schema.indexes.map { heldHierarchies[schema.entities[$0.owner].hierarchyNumber] }
    var names = ["large", EdgeKey.keyspaceName, JournalFormat.keyspaceName]
    for hierarchy in schema.hierarchies where heldHierarchies[hierarchy.number] {
      names.append("rows:" + hierarchy.rootName)
    }
    for index in schema.indexes where heldIndexes[index.number] { names.append("index:" + index.name) }
    let hasHistory = try environment.read { try meta.bytes(HistoryFormat.metaKey, $0) != nil }
    if hasHistory || options.recordsHistory && !options.isReadOnly && !options.opensAsItIs {
      names.append(HistoryFormat.keyspaceName)
    }
    if options.opensAsItIs {
      let existing = Set(try StoreHeader.keyspaceNames(environment))
      names.removeAll { !existing.contains($0) }
    }
    let opened = Dictionary(
      uniqueKeysWithValues: zip(
        names, try environment.keyspaces(names, within: patience, creates: !options.isReadOnly)))
    return StoreParts(
      identifier: identifier, schema: schema, environment: environment, meta: meta,
      large: opened["large"] ?? nil, edges: opened[EdgeKey.keyspaceName] ?? nil,
      journal: opened[JournalFormat.keyspaceName] ?? nil, journalLimits: options.journalLimits,
      history: HistoryKeeping(schema, options.historyRetention, clock: options.historyClock),
      rows: schema.hierarchies.map { opened["rows:" + $0.rootName] ?? nil },
      indexes: schema.indexes.map { opened["index:" + $0.name] ?? nil }, held: held,
      verifiesChecksums: options.verifiesChecksums,
      comparesVersions: !options.ignoresVersionHashes && !options.opensAsItIs)
  }

  /// From now on the store records a history: what was committed before is not in it.
  private func beginHistory(_ parts: StoreParts) throws {
    guard options.recordsHistory, !options.isReadOnly, !options.opensAsItIs else { return }
    let meta = parts.meta
    if try parts.environment.read({ try meta.bytes(HistoryFormat.metaKey, $0) != nil }) { return }
    try parts.environment.write(within: patience) { transaction in
      // Another process may have been faster.
      if try meta.bytes(HistoryFormat.metaKey, transaction.read) != nil { return }
      let newest = try parts.stamp(transaction.read).commitNumber
      try HistoryMark.begin(in: meta, behind: newest, transaction)
      try StoreCatalogue.raiseGeneration(meta, transaction)
    }
  }

  /// The catalogue with everything the schema needs: codes, layouts, and indexes that are complete. Nil when the store is not of the version `stored` any more.
  private func completeCatalogue(
    _ parts: StoreParts, stored: StoredVersions, wanted: StoredVersions
  ) throws -> StoreCatalogue? {
    if options.opensAsItIs { return try parts.environment.read { try parts.readCatalogue($0) } }
    let found = try openAddedIndexes(parts)
    if found.isOfOtherVersion { return nil }
    if options.isReadOnly { return found }
    let missing = schema.indexes.contains {
      parts.indexes[$0.number] != nil && !found.indexes.isUsable($0.number)
    }
    let hasForeign = !found.indexes.foreign.isEmpty
    let replaced = found.indexes.added.map(\.qualifiedName).filter { isReplaced($0, found.indexes) }
    let isNewModel = stored != wanted
    if found.isComplete(for: parts.held) && !missing && !hasForeign && replaced.isEmpty && !isNewModel {
      renewModel(parts, stored)
      return found
    }
    let document = try ModelDocument(schema.model)
    let model = try ownModel(document)
    let known: StoredModel =
      try isNewModel ? .stale : storedModel(document, parts.environment, parts.meta)
    let isRenewed = known == .stale || known == .unnoted
    let encoded = try JSONEncoder.sorted.encode(wanted)
    let foreign = found.indexes.foreign
    let stale = zip(
      foreign, try parts.environment.keyspaces(foreign.map(StoredIndexes.keyspaceName), within: patience))
    return try parts.environment.write(within: patience) { transaction in
      // The turn may have been waited for.
      if options.fills == nil, try parts.storedVersions(transaction.read) != stored { return nil }
      var catalogue = try parts.readCatalogue(transaction.read)
      if !catalogue.isComplete(for: parts.held) {
        try catalogue.addMissing(
          held: parts.held, meta: parts.meta, transaction, path: parts.environment.path)
        catalogue = try parts.readCatalogue(transaction.read)
      }
      if let fills = options.fills {
        try fills.write(catalogue, parts, transaction)
        catalogue = try parts.readCatalogue(transaction.read)
      }
      for (name, keyspace) in stale where catalogue.indexes.foreign.contains(name) {
        if let keyspace { try transaction.clear(keyspace) }
      }
      for name in catalogue.indexes.foreign { try parts.meta.delete("index/" + name, transaction) }
      for name in replaced { try parts.meta.delete("added/" + name, transaction) }
      for index in parts.schema.indexes where !catalogue.indexes.isUsable(index.number) {
        try IndexBuilder(parts: parts, catalogue: catalogue).build(index, transaction)
      }
      if isNewModel {
        if stored.hashes != wanted.hashes {
          var lineage = try parts.meta.lineage(transaction.read)
          lineage.add(stored)
          try parts.meta.put(lineage, transaction)
        }
        try parts.meta.put("versions", encoded, transaction)
      }
      if isRenewed { try model.put(parts.meta, transaction) }
      try StoreCatalogue.raiseGeneration(parts.meta, transaction)
      return try parts.readCatalogue(transaction.read)
    }
  }
}

// MARK: The model in the store

extension StoreOpening {
  /// Whether the model goes into the store: one whose version is ignored is the opener's alone, and one that comes from the store is as the store has it.
  private var keepsModel: Bool {
    !options.ignoresVersionHashes && !options.leavesModel && options.carriedModel == nil
  }

  /// The program's model, as it goes into a store.
  private struct OwnModel: Sendable {
    let bytes: Data
    let note: [UInt8]

    func put(_ meta: MetaKeyspace, _ transaction: borrowing WriteTransaction) throws {
      try meta.put("model", bytes, transaction)
      try meta.put(ModelDigest.key, note, transaction)
    }
  }

  private func ownModel(_ document: ModelDocument) throws -> OwnModel {
    let bytes = try ModelCoding.encode(document)
    return OwnModel(bytes: bytes, note: ModelDigest.note(ModelDigest.of(document), beside: bytes))
  }

  /// What a store has of its model, beside the program's of the same version.
  private enum StoredModel {
    case current
    /// Current, and the store has no note of that: a program before there were notes has written it.
    case unnoted
    case stale
    /// It cannot be read, and stays.
    case unknown
  }

  private func storedModel(_ own: ModelDocument, _ environment: Environment, _ meta: MetaKeyspace) throws
    -> StoredModel
  {
    if !keepsModel { return .current }
    let digest = ModelDigest.of(own)
    let unnoted = try environment.read { transaction -> Data? in
      guard let model = try meta.bytes("model", transaction) else { return nil }
      if let note = try meta.bytes(ModelDigest.key, transaction),
        note.elementsEqual(ModelDigest.note(digest, beside: model))
      {
        return nil
      }
      return Data(model)
    }
    // Only a note that says so spares the look at the whole model.
    guard let unnoted else { return .current }
    guard let isStale = ModelCoding.isStale(unnoted, beside: own) else { return .unknown }
    return isStale ? .stale : .unnoted
  }

  /// Gives the store the program's model where only that differs, for those who read the store without the program. A help: opening hardly waits for it, and where it
  /// fails the next one tries again.
  private func renewModel(_ parts: StoreParts, _ stored: StoredVersions) {
    guard keepsModel, let document = try? ModelDocument(schema.model),
      (try? storedModel(document, parts.environment, parts.meta)) == .stale,
      let model = try? ownModel(document)
    else { return }
    let deadline = min(patience.left, .milliseconds(100))
    try? parts.environment.write(deadline: deadline) { transaction in
      // The turn may have been waited for.
      guard try parts.storedVersions(transaction.read) == stored else { return }
      try model.put(parts.meta, transaction)
    }
  }
}

// MARK: Indexes that were added to the store

extension StoreOpening {
  /// The catalogue as it is stored, with the keyspaces of the indexes that the schema does not name.
  private func openAddedIndexes(_ parts: StoreParts) throws -> StoreCatalogue {
    let found = try parts.environment.read { try parts.readCatalogue($0) }
    let names = found.indexes.all.dropFirst(schema.indexes.count).map { StoredIndexes.keyspaceName($0.name) }
    if names.isEmpty { return found }
    _ = try parts.environment.keyspaces(names, within: patience, creates: !options.isReadOnly)
    return try parts.environment.read { try parts.readCatalogue($0) }
  }

  /// Whether the schema has another index under the name of one that was added: the schema's counts.
  private func isReplaced(_ name: String, _ indexes: StoredIndexes) -> Bool {
    guard let own = schema.indexes.first(where: { $0.name == name }),
      let added = indexes.added.first(where: { $0.qualifiedName == name })
    else { return false }
    return (try? added.compiled(number: own.number, schema))?.signature != own.signature
  }

  /// Completes indexes that were added and whose building was interrupted, or that a program could not keep up to date.
  private func grow(_ catalogue: StoreCatalogue, _ parts: StoreParts) throws -> StoreCatalogue {
    if options.isReadOnly || options.opensAsItIs { return catalogue }
    var catalogue = catalogue
    for index in catalogue.indexes.all.dropFirst(schema.indexes.count)
    where parts.rows[schema.entities[index.owner].hierarchyNumber] != nil {
      let growth = IndexGrowth(parts: parts, name: index.name, step: IndexGrowth.rowsAlone)
      var isMore = !catalogue.indexes.isUsable(index.number)
      while isMore {
        do {
          let known = catalogue
          switch try parts.environment.write(within: patience, { try growth.run(known, $0) }) {
          case .more(_, let next): catalogue = next
          case .complete(_, let next), .unwanted(let next): (catalogue, isMore) = (next, false)
          }
        } catch let missing as MissingKeyspaces {
          // Another process adds one at this moment.
          _ = try parts.environment.keyspaces(missing.names, within: patience)
        }
      }
    }
    return catalogue
  }
}

/// How an entity of a store differs from the model's.
struct IncompatibleEntity: CustomStringConvertible {
  enum Difference { case changed, missingInModel, missingInStore }
  let entityName: String
  let difference: Difference

  var description: String {
    switch difference {
    case .changed: "\(entityName) differs"
    case .missingInModel: "\(entityName) is only in the store"
    case .missingInStore: "\(entityName) is only in the model"
    }
  }

  /// The entities whose hashes differ, by name.
  static func compare(stored: [String: Data], wanted: [String: Data]) -> [IncompatibleEntity] {
    Set(stored.keys).union(wanted.keys).sorted().compactMap { name in
      switch (stored[name], wanted[name]) {
      case (let stored?, let wanted?):
        stored == wanted ? nil : IncompatibleEntity(entityName: name, difference: .changed)
      case (nil, _): IncompatibleEntity(entityName: name, difference: .missingInStore)
      case (_, nil): IncompatibleEntity(entityName: name, difference: .missingInModel)
      }
    }
  }
}
