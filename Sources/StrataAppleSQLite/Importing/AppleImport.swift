import Foundation
import StrataCore

/// How a store in Apple's format is read into one of Strata.
public struct AppleImportOptions: Sendable {
  /// The model that Apple's store is of, such as one read from an `.xcdatamodeld`; nil for the model in the store's cache, which has no
  /// fetched properties, predicates, indexes and derivations.
  public var model: ManagedObjectModel?
  /// Whether every save to the new store is recorded in a history.
  public var recordsHistory = false
  /// Whether the history that Apple's store has recorded is taken over: numbers, times, authors, changes, and what stays of deleted objects. The new store goes on with it, whatever
  /// ``recordsHistory`` says. Tokens of Core Data cannot be taken over.
  public var importsHistory = false
  /// Whether the import is refused when something does not come along as it is.
  public var refusesLosses = false

  /// Whether an empty store of Strata, such as destroying leaves, is replaced.
  var replacesEmptyStore = false

  /// Whether `refusesLosses` says nothing of the history.
  var permitsLostHistory = false

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
    if lstat(destination, &status) == 0 {
      guard options.replacesEmptyStore else { throw AppleStoreError.system(EEXIST, destination) }
      try LMDBStore.requireFree(URL(fileURLWithPath: destination))
    }
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
    try LMDBStore.name(
      draft, as: URL(fileURLWithPath: destination), replacesEmptyStore: options.replacesEmptyStore)
    return session.report
  }
}

/// The steps of an import.
private final class ImportSession {
  private(set) var report = AppleStoreReport()
  private let apple: AppleSource
  private let options: AppleImportOptions
  private let progress: (AppleStoreProgress) throws -> Void
  private struct Lack: Hashable {
    let entity: Int
    let slot: Int
  }
  private var lacking: [Lack: Int] = [:]
  private var requiredSlots: [Int: [Int]] = [:]

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
      if self.options.refusesLosses, finding.kind != .lostHistory || !self.options.permitsLostHistory {
        throw AppleStoreError(.losses, "Not everything would come along: \(finding). Nothing was imported.")
      }
    }
    for loss in apple.losses { try tell(loss) }
    let rows = AppleRows(apple, tell: tell)
    let intake = try StoreIntake(new: draft, facts: facts())
    do {
      try addRows(rows, intake)
      remarkOnLacks()
      try addMembers(rows, intake)
      try addHistory(rows, intake, tell)
      report.externalFileCount = rows.externalFileCount
      try progress(AppleStoreProgress(phase: .checking, completedCount: 0, totalCount: nil))
      _ = try intake.finish()
    } catch let refusal as StoreIntake.Refusal {
      throw AppleStoreError(.model, "\(refusal.description) Nothing was imported.")
    }
    try compare(draft)
  }

  private func facts() throws -> StoreFacts {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    var counters: [String: UInt64] = [:]
    for (root, largest) in apple.largestKeys where largest > 0 {
      // A counter near the end of all keys would leave too few for new objects.
      if UInt64(largest) <= StoreReference.largestTaken {
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
      recordsHistory: options.recordsHistory || options.importsHistory)
  }

  private func addHistory(
    _ rows: AppleRows, _ intake: StoreIntake, _ tell: @escaping (AppleStoreReport.Finding) throws -> Void
  ) throws {
    guard options.importsHistory else { return remarkOnHistory(rows, tell) }
    // What is wrong with a value of a deleted object is lost to the history, not to an object.
    let dead = AppleRows(apple) { finding in
      try tell(
        .init(
          kind: .lostHistory, row: finding.row, property: finding.property,
          message: "a value that stays of a deleted object was left out: \(finding.message)"))
    }
    let history = try AppleHistory(apple, dead, tell: tell)
    let total = try history?.count() ?? 0
    guard let history else {
      if apple.hasHistoryTables {
        try tell(.init(kind: .lostHistory, row: "ACHANGE", property: nil, message: Self.foreignHistory))
      } else {
        report.remarks.append("The store has no history to take over; a new one begins.")
      }
      return
    }
    intake.history = { intake in
      try history.hand(to: intake) { count in
        try self.progress(AppleStoreProgress(phase: .history, completedCount: count, totalCount: total))
      }
      (self.report.transactionCount, self.report.changeCount) = (intake.transactionCount, intake.changeCount)
      guard let beginning = history.beginning, beginning.timeIntervalSinceNow < Self.defaultAge else {
        return
      }
      self.report.remarks.append(
        "The history begins on \(beginning.formatted(.iso8601.year().month().day())). What is older than 30 days goes with the first save of a program that does not set historyRetention."
      )
    }
  }

  /// Says what is left behind. A history that nobody wants may be damaged.
  private func remarkOnHistory(
    _ rows: AppleRows, _ tell: @escaping (AppleStoreReport.Finding) throws -> Void
  ) {
    do {
      guard let history = try AppleHistory(apple, rows, tell: tell) else {
        if apple.hasHistoryTables { report.remarks.append("Of the store's history \(Self.foreignHistory).") }
        return
      }
      let total = try history.count()
      if total == 0 { return }
      report.remarks.append(
        "The store has a history of \(total) \(total == 1 ? "change" : "changes"), which was left behind; importsHistory (--history) takes it over."
      )
    } catch {
      report.remarks.append("The store's history cannot be read, and was left behind.")
    }
  }

  private static let foreignHistory =
    "the tables are not of the form that Core Data gives them; it was left behind, and a new one begins"

  /// What a store keeps by default, in seconds from now.
  private static let defaultAge: TimeInterval = -30 * 86_400

  private func addRows(_ rows: AppleRows, _ intake: StoreIntake) throws {
    let tables = apple.layout.tables.compactMap { $0 }
    let total = try tables.reduce(0) { try $0 + apple.rowCount($1) }
    var done = 0
    for table in tables {
      try rows.forEach(table) { row in
        var values = row.values
        // A row with a key that cannot be taken is refused itself.
        for (relationship, target) in row.links {
          values[relationship.slot] = intake.reference(to: target) ?? .null
        }
        try intake.add(row.object, values: values, line: 0)
        note(row.object.entity, values)
        report.objectCounts[apple.schema.entities[row.object.entity].name, default: 0] += 1
        done += 1
        if done & 0x3FF == 0 {
          try progress(AppleStoreProgress(phase: .objects, completedCount: done, totalCount: total))
        }
      }
    }
  }

  /// Counts what required properties lack: the original may be so, and a program must mend it before it saves the object.
  private func note(_ entity: Int, _ values: [AttributeValue]) {
    for slot in required(entity) where values[slot].isNull {
      lacking[Lack(entity: entity, slot: slot), default: 0] += 1
    }
  }

  private func required(_ entity: Int) -> [Int] {
    if let known = requiredSlots[entity] { return known }
    let slots = apple.schema.entities[entity].attributes.filter { attribute in
      let relationship = attribute.relationship.map { apple.schema.relationships[$0] }
      return !attribute.isOptional && !attribute.isTransient && attribute.composite == nil
        && relationship?.isToMany != true
    }.map(\.slot)
    requiredSlots[entity] = slots
    return slots
  }

  private func remarkOnLacks() {
    for (lack, count) in lacking.sorted(by: { ($0.key.entity, $0.key.slot) < ($1.key.entity, $1.key.slot) }) {
      let entity = apple.schema.entities[lack.entity]
      report.remarks.append(
        "\(count) \(count == 1 ? "object" : "objects") of \(entity.name) \(count == 1 ? "has" : "have") no value for “\(entity.attributes[lack.slot].name)”, which the model requires; to be saved again they need one."
      )
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
