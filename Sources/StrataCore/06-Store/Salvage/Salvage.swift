import Foundation

extension LMDBStore {
  /// Reads what is readable of the damaged store at `source` into a new store at `destination`.
  ///
  /// The damaged file is only read, page by page, and never mapped. Rows are taken over when their checksum,
  /// key, entity and layout agree. First everything that the newest readable tree leads to; then, for the stretches
  /// of keys that no tree leads to any more, the newest version of each row found on any page. Indexes are built
  /// again. Object IDs stay valid when the store's identity is readable. Nothing else may write the source meanwhile: one that a process has open is refused.
  ///
  /// The new store has a name of its own, `.strata-salvage-…` beside `destination`, until it is complete, checked and flushed. Then it gets its name in
  /// one step. What a process that was killed has left under such a name is removed by the next salvage, backup or migration in the folder.
  ///
  /// - Parameters:
  ///   - source: The file of the damaged store.
  ///   - destination: The file of the new store, which must not exist.
  ///   - model: The model to use when the one in the store cannot be read.
  ///   - includesLoosePages: Whether to look at pages that no tree leads to. They can bring back rows that had been
  ///     deleted, and an author of large values could choose bytes that make rows appear.
  ///   - progress: Called now and then on the calling thread. What it throws ends the salvage.
  /// - Returns: What came back and what did not; the new store passes its check when the report says so.
  /// - Throws: ``StorageError``: `.exists` when there is a file at `destination`; `.busy` when a process has the source open, or has a store open whose file had
  ///   the name of the destination and was deleted; `.notADatabase` when there is nothing to salvage or no model; what writing a store throws; what `progress`
  ///   throws. Then there is no new store, and nothing else is left.
  public static func salvage(
    from source: URL, to destination: URL, model: ManagedObjectModel? = nil, includesLoosePages: Bool = true,
    progress: @escaping (SalvageProgress) throws -> Void = { _ in }
  ) throws -> SalvageReport {
    try LMDBVersion.require(path: destination.path)
    let target = try StoreFile(destination.path, .system)
    if try target.status() != nil { throw StorageError(EEXIST, "salvage", path: target.path) }
    let file = try StoreFile(source.path, .system)
    try SoleUse.requireUnused(file)
    StoreDraft.removeLeftovers(beside: target)
    let recovered = try RecoveredCopy(of: file, beside: target)
    defer { recovered.remove() }
    let anchors = recovered.isCopy ? nil : file.anchors()
    let damaged = try DamagedFile(recovered.file)
    var salvage = Salvage(source: damaged, includesLoosePages: includesLoosePages, progress: progress)
    if let remark = recovered.remark { salvage.report.remarks.append(remark) }
    let schema = try salvage.readMeta(model: model)
    let draft = StoreDraft(.salvage, beside: target)
    do {
      let report = try salvage.run(schema, to: draft)
      try draft.flush()
      try requireUnchanged(file, anchors)
      try draft.publish()
      return report
    } catch {
      draft.remove()
      throw error
    }
  }

  /// Refuses a file that was read for a while, in which a process may have used pages again meanwhile.
  private static func requireUnchanged(_ file: StoreFile, _ anchors: [UInt8]?) throws {
    guard let anchors else { return }
    try SoleUse.requireUnused(file)
    guard file.anchors() != anchors else { return }
    throw StorageError(
      .busy, operation: "salvage", path: file.path,
      detail:
        "Another process has written to the store while it was being read. There is no new store; try again.")
  }
}

extension StoreFile {
  /// What every commit changes; empty where it cannot be read.
  fileprivate func anchors() -> [UInt8] {
    let descriptor = system.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if descriptor < 0 { return [] }
    defer { _ = system.close(descriptor) }
    return (try? FileInspection(file: self, descriptor: descriptor).readAnchors()) ?? []
  }
}

/// The steps of a salvage: what the store says of itself, where its trees are, rows by trees, rows by pages.
struct Salvage {
  let source: DamagedFile
  let includesLoosePages: Bool
  let progress: (SalvageProgress) throws -> Void
  fileprivate(set) var report = SalvageReport()
  private var codes = SalvageCodes()
  /// The roots of the keyspaces, by name.
  private var roots: [String: TreeRecord] = [:]
  /// Whether keyspaces may be missing among them.
  private var areRootsLost = false
  /// Where large values lie.
  private var largeValues: [LargeValueKey: DamagedPage.Entry] = [:]
  private var lostLargeValues: [LostRange] = []
  private var looseLargeValues: [LargeValueKey: [DamagedPage.Entry]] = [:]
  private var lostEdges: [LostRange] = []

  init(
    source: DamagedFile, includesLoosePages: Bool, progress: @escaping (SalvageProgress) throws -> Void
  ) {
    self.source = source
    self.includesLoosePages = includesLoosePages
    self.progress = progress
  }

  // MARK: The store's description of itself

  /// Finds the keyspaces and the meaning of codes; the schema to read rows with.
  mutating func readMeta(model: ManagedObjectModel?) throws -> Schema {
    try progress(SalvageProgress(phase: "looking for trees", rowCount: 0))
    areRootsLost = findKeyspaces()
    if readMetaTree() && includesLoosePages {
      source.forEachLoosePage { page in
        for entry in (0..<page.count).lazy.compactMap({ page.entry($0) }) where SalvageCodes.isMeta(entry.key)
        {
          if let value = source.value(of: entry) { codes.addLoose(entry.key, value) }
        }
      }
    }
    codes.settle()
    if let format = codes.format, format > MetaKeyspace.filledFormat {
      report.remarks.append(
        "The store says that it is of format \(format), and this version knows up to \(MetaKeyspace.filledFormat): what newer formats keep elsewhere is missing."
      )
    }
    if let stored = codes.model() { return try stored.schema() }
    guard let model else {
      throw StorageError(
        .notADatabase, operation: "salvage", path: source.file.path,
        detail: "The file holds no readable model of a store. Pass the model it was written with.")
    }
    report.modelSource = .caller
    return try model.schema()
  }

  /// Finds the keyspaces by the newest anchor that leads to some; whether names may be missing.
  private mutating func findKeyspaces() -> Bool {
    if source.anchors.count < 2 {
      report.remarks.append(
        source.anchors.isEmpty
          ? "Both anchors are damaged: rows were looked for on all pages."
          : "One of the two anchors is damaged: if it was the newer one, the last save is missing.")
    }
    for (place, anchor) in source.anchors.enumerated() {
      var tree = DamagedTree(source)
      tree.walk(root: anchor.mainTree.root) { entry in
        guard entry.isKeyspace, let name = String(validating: entry.key, as: UTF8.self) else { return false }
        roots[name] = entry.value.withUnsafeBytes { TreeRecord($0.baseAddress!) }  // 48 bytes, never nil.
        return true
      }
      if !roots.isEmpty || (tree.lost.isEmpty && place == 0) {
        if place > 0 {
          report.remarks.append("The newest tree is unreadable: the save before the last was used.")
        }
        return !tree.lost.isEmpty
      }
    }
    return true
  }

  /// Whether entries may be missing.
  private mutating func readMetaTree() -> Bool {
    guard let record = roots["meta"] else { return true }
    var tree = DamagedTree(source)
    tree.walk(root: record.root) { entry in
      guard let value = source.value(of: entry) else { return false }
      codes.add(entry.key, value)
      return true
    }
    return !tree.lost.isEmpty
  }

  // MARK: Rows

  /// Fills the new store, which is closed then.
  mutating func run(_ schema: Schema, to draft: StoreDraft) throws -> SalvageReport {
    report.guessedCodes = codes.guessIfLost(schema)
    // It need not survive anything before it is flushed as a whole.
    var options = LMDBStoreOptions()
    options.durability = .relaxed
    options.keepsLog = false
    let held = codes.heldEntities(of: schema)
    let configurationName = schema.model.configuration(holding: held)
    var store = try LMDBStore(
      url: draft.url, schema: schema, configurationName: configurationName, options: options)
    defer { store.close() }
    draft.hold()
    let reader = SalvageReader(schema: schema, codes: codes, store: store)
    let writer = SalvageWriter(store: store, progress: progress)
    findLargeValues()
    var edges = SalvageEdges(schema: schema, codes: codes)
    findEdges(&edges)
    var lostRows: [String: [LostRange]] = [:]
    for hierarchy in schema.hierarchies {
      let lost = try readRows(hierarchy, reader, writer)
      if !lost.isEmpty { lostRows[hierarchy.rootName] = lost }
    }
    try writer.flush()
    if includesLoosePages && !(lostRows.isEmpty && lostEdges.isEmpty) {
      try readLoosePages(lostRows, &edges, reader, writer)
    }
    try writer.flush()
    try mendRelationships(&edges, store, writer)
    writer.complete(&report)
    report.unreadablePages = source.unreadablePages
    // The keys that were reserved along the way are given back before the counters are set.
    store.close()
    // The history is not recovered: it begins again, and its readers get an error that says so.
    options.recordsHistory = codes.entries[HistoryFormat.metaKey] != nil
    store = try LMDBStore(
      url: draft.url, schema: schema, configurationName: configurationName, options: options)
    try progress(SalvageProgress(phase: "checking", rowCount: report.rowCount))
    try finish(store, schema)
    report.check = try store.check()
    if configurationName == nil { try keepEntities(held, store) }
    return report
  }

  private mutating func findLargeValues() {
    var tree = DamagedTree(source)
    if let record = roots["large"] {
      tree.walk(root: record.root) { entry in
        guard let key = entry.key.withUnsafeBytes({ LargeValueKey($0) }) else { return false }
        largeValues[key] = entry
        return entry.overflowPage.map { source.overflowRun($0, byteCount: entry.valueCount) != nil } ?? true
      }
    } else if areRootsLost {
      tree.loseEverything()
    }
    lostLargeValues = tree.lost
  }

  private mutating func findEdges(_ edges: inout SalvageEdges) {
    var tree = DamagedTree(source)
    if let record = roots[EdgeKey.keyspaceName] {
      tree.walk(root: record.root) { edges.add($0) }
    } else if areRootsLost {
      tree.loseEverything()
    }
    lostEdges = tree.lost
    report.hasDamagedEdges = !lostEdges.isEmpty
  }

  /// Gives the rows that are back the relationships that are not in rows, and takes away what leads to others.
  private mutating func mendRelationships(
    _ edges: inout SalvageEdges, _ store: LMDBStore, _ writer: SalvageWriter
  ) throws {
    if store.parts.schema.relationships.isEmpty { return }
    try progress(SalvageProgress(phase: "mending relationships", rowCount: writer.rowCount))
    let references = SalvageReferences(store: store)
    let rows = try references.rows()
    for hierarchy in store.parts.schema.hierarchies {
      var key: UInt64 = 0
      while let repairs = try references.repairs(hierarchy.number, from: key, rows) {
        for repair in repairs { report.addLostReferences(repair, store.parts.schema) }
        try writer.store.commitAndWait(
          ChangeSet(updates: try repairs.compactMap { try references.change($0) }))
        key = (repairs.last?.row.primaryKey ?? key) + 1
      }
    }
    let changes = edges.changes(rows)
    report.lostEdgeCount = edges.lostCount
    for start in stride(from: 0, to: changes.count, by: 20_000) {
      try writer.store.commitAndWait(
        ChangeSet(edges: Array(changes[start..<min(start + 20_000, changes.count)])))
    }
  }

  /// Takes over the rows of one tree; what could not be seen of it.
  private mutating func readRows(
    _ hierarchy: HierarchySchema, _ reader: SalvageReader, _ writer: SalvageWriter
  ) throws -> [LostRange] {
    var tree = DamagedTree(source)
    guard let record = roots["rows:" + hierarchy.rootName] else {
      // A store of one configuration has no trees for the others' entities.
      if areRootsLost { tree.loseEverything() }
      return tree.lost
    }
    try tree.walk(root: record.root) { entry in
      guard let bytes = source.value(of: entry), let found = reader.row(entry.key, bytes),
        found.hierarchy == hierarchy.number
      else {
        report.damagedEntryCount += 1
        return false
      }
      try take(found, reader, writer)
      return true
    }
    return tree.lost
  }

  /// Takes over, for the stretches that are lost, the newest version of each row on any loose page, and all edges.
  private mutating func readLoosePages(
    _ lost: [String: [LostRange]], _ edges: inout SalvageEdges, _ reader: SalvageReader,
    _ writer: SalvageWriter
  ) throws {
    try progress(SalvageProgress(phase: "looking at loose pages", rowCount: writer.rowCount))
    var newest: [RowAddress: SalvageReader.Found] = [:]
    source.forEachLoosePage { page in
      for entry in (0..<page.count).lazy.compactMap({ page.entry($0) }) {
        if lostEdges.contains(where: { $0.contains(entry.key) }) {
          report.looseEdgeCount += edges.addLoose(entry)
        }
        if let key = entry.key.withUnsafeBytes({ LargeValueKey($0) }) {
          if lostLargeValues.contains(where: { $0.contains(entry.key) }) {
            looseLargeValues[key, default: []].append(entry)
          }
        } else if entry.key.count == 8, let bytes = source.value(of: entry),
          let found = reader.row(entry.key, bytes),
          let ranges = lost[reader.schema.hierarchies[found.hierarchy].rootName],
          ranges.contains(where: { $0.contains(entry.key) })
        {
          let address = RowAddress(hierarchy: found.hierarchy, key: found.primaryKey)
          if let known = newest[address], known.row.version >= found.row.version { continue }
          newest[address] = found
        }
      }
    }
    let found = newest.values.sorted { ($0.hierarchy, $0.primaryKey) < ($1.hierarchy, $1.primaryKey) }
    for row in found where !writer.hasRow(row) {
      try take(row, reader, writer)
      report.addLoose(reader.description(of: row))
    }
  }

  private mutating func take(
    _ found: SalvageReader.Found, _ reader: SalvageReader, _ writer: SalvageWriter
  ) throws {
    let (change, lost) = try reader.change(found) { largeValue($0, byteCount: $1) }
    for attribute in lost where report.lostValues.count < 10_000 {
      report.lostValues.append((reader.description(of: found), attribute))
    }
    try writer.add(change, reader.description(of: found))
  }

  /// The bytes of a large value: by its tree, or from a loose page when all that mention it agree.
  private func largeValue(_ key: LargeValueKey, byteCount: UInt64) -> [UInt8]? {
    if let entry = largeValues[key] {
      return UInt64(entry.valueCount) == byteCount ? source.value(of: entry) : nil
    }
    guard let entries = looseLargeValues[key]?.filter({ UInt64($0.valueCount) == byteCount }) else {
      return nil
    }
    let values = Set(entries.compactMap { source.value(of: $0) })
    return values.count == 1 ? values.first : nil
  }

  // MARK: The end

  /// The entities of a store need not be those of a configuration that the model in it has: the new one holds the same ones all the same.
  private func keepEntities(_ held: Set<String>, _ store: LMDBStore) throws {
    let parts = store.parts
    let all = Dictionary(uniqueKeysWithValues: parts.schema.entities.map { ($0.name, $0.versionHash) })
    let own = all.filter { held.contains($0.key) }
    guard !own.isEmpty, own.count < all.count, report.rowCounts.keys.allSatisfy({ own[$0] != nil })
    else { return }
    let identifiers = parts.schema.model.versionIdentifiers.sorted()
    let versions = try JSONEncoder.sorted.encode(StoredVersions(hashes: own, identifiers: identifiers))
    try parts.environment.write { try parts.meta.put("versions", versions, $0) }
  }

  /// Gives the new store the counters, the identity and the metadata of the old one.
  private mutating func finish(_ store: LMDBStore, _ schema: Schema) throws {
    let identifier = codes.identifier
    let metadata = codes.metadata
    let commitNumber = codes.commitNumber ?? 0
    let lineage = codes.lineage(before: schema)
    let parts = store.parts
    let counters = try schema.hierarchies.map { hierarchy in
      let current = try parts.environment.read { try parts.counter(hierarchy.number, $0) }
      let old = codes.counter(hierarchy.rootName).flatMap { $0 <= PrimaryKeyAllocator.limit ? $0 : nil }
      return max(current, old ?? 1)
    }
    try parts.environment.write { transaction in
      for (hierarchy, counter) in counters.enumerated() {
        try parts.setCounter(hierarchy, counter, transaction)
      }
      if let metadata {
        try parts.meta.put("metadata", try metadata.encoded(path: parts.environment.path), transaction)
      }
      try parts.meta.put(lineage, transaction)
      guard let identifier else { return }
      let own = CommitStamp(try parts.meta.bytes("stamp", transaction.read))?.commitNumber ?? 0
      let stamp = CommitStamp(identifier: identifier, commitNumber: max(own, commitNumber))
      try parts.meta.put("identity", withUnsafeBytes(of: identifier.uuid) { Array($0) }, transaction)
      try parts.meta.put("stamp", stamp.bytes + [UInt8](repeating: 0, count: 8), transaction)
      if try parts.meta.bytes(HistoryFormat.metaKey, transaction.read) != nil {
        try parts.meta.put(HistoryFormat.metaKey, number: stamp.commitNumber, transaction)
      }
    }
    report.keepsIdentity = identifier != nil
  }
}
