import Foundation
import StrataCore

/// How a store in Apple's format is read into one of Strata.
public struct AppleImportOptions: Sendable {
  /// The model that Apple's store is of, such as one read from an `.xcdatamodeld`; nil for the model in the store's cache, which has no
  /// fetched properties, predicates, indexes and derivations.
  public var model: ManagedObjectModel?
  /// Whether every save to the new store is recorded in a history.
  public var recordsHistory = false
  /// Whether the import is refused when something does not come along as it is.
  public var refusesLosses = false

  /// The usual way.
  public init() {}
}

/// Reads a store in Apple's format into a new one of Strata: whole or not at all.
///
/// ```
///   Apple's rows ─▶ StoreIntake ─▶ a store in a folder of its own, checked and flushed
///   Apple's rows ─▶ comparison  ◀─ the same store, read back             ─▶ its name
/// ```
struct AppleImport {
  let source: String
  let destination: String
  let options: AppleImportOptions
  let progress: (AppleStoreProgress) throws -> Void

  func run() throws -> AppleStoreReport {
    var status = stat()
    if lstat(destination, &status) == 0 { throw AppleStoreError.system(EEXIST, destination) }
    TemporaryFolder.removeLeftovers(beside: destination)
    let apple = try AppleSource(source, model: options.model)
    defer { apple.close() }
    // Beside its place: a name is given without copying.
    let folder = try TemporaryFolder(beside: destination)
    defer { folder.remove() }
    let draft = URL(fileURLWithPath: folder.path + "/" + URL(fileURLWithPath: destination).lastPathComponent)
    let session = ImportSession(apple, options, progress)
    try session.fill(draft)
    try apple.requireUnchanged()
    // It is flushed and closed.
    try LMDBStore.name(draft, as: URL(fileURLWithPath: destination))
    return session.report
  }
}

/// The steps of an import.
private final class ImportSession {
  private(set) var report = AppleStoreReport()
  private let apple: AppleSource
  private let options: AppleImportOptions
  private let progress: (AppleStoreProgress) throws -> Void

  init(
    _ apple: AppleSource, _ options: AppleImportOptions,
    _ progress: @escaping (AppleStoreProgress) throws -> Void
  ) {
    self.apple = apple
    self.options = options
    self.progress = progress
    report.identifier = apple.identifier
    report.remarks = apple.remarks
  }

  func fill(_ draft: URL) throws {
    func tell(_ finding: AppleStoreReport.Finding) throws {
      self.report.add(finding)
      if self.options.refusesLosses {
        throw AppleStoreError(.losses, "Not everything would come along: \(finding). Nothing was imported.")
      }
    }
    for loss in apple.losses { try tell(loss) }
    let rows = AppleRows(apple, tell: tell)
    let intake = try StoreIntake(new: draft, facts: facts())
    do {
      try addRows(rows, intake)
      try addMembers(rows, intake)
      try progress(AppleStoreProgress(phase: .checking, completedCount: 0, totalCount: nil))
      _ = try intake.finish()
    } catch let refusal as StoreIntake.Refusal {
      throw AppleStoreError(.model, "\(refusal.description) Nothing was imported.")
    }
    report.externalFileCount = rows.externalFileCount
    try compare(draft)
  }

  private func facts() throws -> StoreFacts {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    var counters: [String: UInt64] = [:]
    for (root, largest) in apple.largestKeys where largest > 0 {
      // A counter at the end of all keys would leave none for new objects.
      if UInt64(largest) < StoreReference.keyLimit - 1 {
        counters[root] = UInt64(largest) + 1
      } else {
        report.remarks.append(
          "The store says that \(root) has used the key \(largest); new objects get keys behind those there are."
        )
      }
    }
    return StoreFacts(
      identifier: apple.identifier, model: try apple.model.encodedForStores(), entities: apple.heldEntities,
      counters: counters,
      metadata: apple.metadata.values.isEmpty ? nil : try encoder.encode(apple.metadata.values),
      recordsHistory: options.recordsHistory)
  }

  private func addRows(_ rows: AppleRows, _ intake: StoreIntake) throws {
    let tables = apple.layout.tables.compactMap { $0 }
    let total = try tables.reduce(0) { try $0 + apple.rowCount($1) }
    var done = 0
    for table in tables {
      try rows.forEach(table) { row in
        var values = row.values
        for (relationship, target) in row.links { values[relationship.slot] = intake.reference(to: target) }
        try intake.add(row.object, values: values, line: 0)
        report.objectCounts[apple.schema.entities[row.object.entity].name, default: 0] += 1
        done += 1
        if done & 0x3FF == 0 {
          try progress(AppleStoreProgress(phase: .objects, completedCount: done, totalCount: total))
        }
      }
    }
  }

  private func addMembers(_ rows: AppleRows, _ intake: StoreIntake) throws {
    func add(_ relationship: RelationshipSchema, _ walk: (AppleRows.MemberBody) throws -> Void) throws {
      try walk { owner, member, place in
        try intake.addMember(member, to: relationship, of: owner, place: place, line: 0)
        report.memberCount += 1
        if report.memberCount & 0x3FF == 0 {
          try progress(
            AppleStoreProgress(phase: .members, completedCount: report.memberCount, totalCount: nil))
        }
      }
    }
    for owned in apple.layout.owned {
      try add(owned.relationship) { try rows.forEachMember(owned, $0) }
    }
    for join in apple.layout.joins {
      try add(join.relationship) { try rows.forEachMember(join, $0) }
    }
  }

  /// Reads the new store back, and Apple's once more: the same must be in both.
  private func compare(_ draft: URL) throws {
    var options = LMDBStoreOptions()
    options.isReadOnly = true
    options.ignoresVersionHashes = true
    let store = try LMDBStore(url: draft, schema: apple.schema, options: options)
    defer { store.close() }
    let total = report.objectCount + report.memberCount
    try AppleComparison(
      source: apple, window: try StoreWindow(store),
      differ: { finding in
        throw AppleStoreError(
          .difference, "What was written is not what was read: \(finding). Nothing was imported.")
      },
      progress: { count in
        try self.progress(AppleStoreProgress(phase: .comparing, completedCount: count, totalCount: total))
      }
    ).run()
  }
}
