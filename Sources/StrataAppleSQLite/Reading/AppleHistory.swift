import Foundation
import StrataCore

/// The history that Core Data has recorded in a store: which save has changed which objects, and of deleted ones the values that stay.
///
/// What the model does not explain is left out, counted, and told.
final class AppleHistory {
  private static let changes = "ACHANGE"
  private static let transactions = "ATRANSACTION"
  private static let strings = "ATRANSACTIONSTRING"
  /// The tables of a history.
  static let tables: Set = [changes, transactions, strings]

  /// An entity as changes speak of it.
  private struct Entity {
    let schema: EntitySchema
    /// By place in the list of changed properties, what belongs to one: the slots of a composite attribute with those of its elements.
    let slots: [[Int]]
    /// By place among the values that stay; nil where the places are not known.
    let kept: [AppleLayout.Attribute]?
    /// No object has had a greater key.
    let largestKey: Int64
  }

  private struct Change {
    /// What was left out.
    enum Loss: String {
      case entity = "changes of an entity that the model does not have were left out"
      case key = "changes of a key that the store has never given were left out"
      case kind = "changes of an unknown kind were left out"
      case transaction = "changes of no transaction were left out"
      case property = "changes name a property that the model does not have, and were kept without it"
      case value =
        "deleted objects have values of which the model does not say that they stay, and which were left out; name the model"
      case number = "transactions with a number that is none were left out"
      case time = "transactions without a time have that of the one before"
      case text = "names of authors, contexts and programs that cannot be read were left out"
    }

    let transaction: Int64
    let kind: Int64?
    let entity: Int64?
    let key: Int64?
    let columns: Data
    let values: [SQLiteValue]
  }

  private let source: AppleSource
  private let rows: AppleRows
  private let tell: (AppleStoreReport.Finding) throws -> Void
  private let columns: [String: Set<String>]
  private var entities: [Int64: Entity] = [:]
  private let tombstoneColumns: [String]
  private var lost: [Change.Loss: Int] = [:]
  /// The time of the first transaction with changes.
  private(set) var beginning: Date?

  /// Nil for a store without a history.
  /// - Throws: `AppleStoreError`.
  init?(_ source: AppleSource, _ rows: AppleRows, tell: @escaping (AppleStoreReport.Finding) throws -> Void)
    throws
  {
    self.source = source
    self.rows = rows
    self.tell = tell
    columns = source.historyColumns
    let own = columns[Self.changes] ?? []
    tombstoneColumns = (0..<own.count).map { "ZTOMBSTONE\($0)" }.prefix { own.contains($0) }.map { $0 }
    guard
      columns[Self.changes]?.isSuperset(of: [
        "Z_PK", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID",
      ])
        == true,
      columns[Self.transactions]?.isSuperset(of: ["Z_PK", "ZTIMESTAMP"]) == true
    else { return nil }
    for case let entity? in source.layout.entities {
      let schema = source.schema.entities[entity.number]
      if schema.isAbstract { continue }
      entities[entity.appleNumber] = Entity(
        schema: schema, slots: Self.slots(schema),
        kept: Self.kept(entity, schema),
        largestKey: try largestKey(schema.hierarchyNumber))
    }
  }

  /// Where composite attributes have their places is not known.
  private static func kept(_ entity: AppleLayout.Entity, _ schema: EntitySchema) -> [AppleLayout.Attribute]? {
    let composites = schema.entityDescription.properties.compactMap { $0 as? CompositeAttributeDescription }
    let kept = entity.attributes.filter(\.isKeptInHistory)
    if composites.contains(where: \.preservesValueInHistoryOnDeletion)
      || kept.contains(where: { $0.path.contains(".") })
    {
      return nil
    }
    return kept.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
  }

  /// Attributes and relationships in one list by name, without what is not stored.
  private static func slots(_ entity: EntitySchema) -> [[Int]] {
    entity.entityDescription.properties
      .filter { !$0.isTransient && ($0 is AttributeDescription || $0 is RelationshipDescription) }
      .map(\.name).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      .map { name in
        guard let slot = entity.slot(named: name) else { return [] }
        return [slot] + entity.attributes.filter { $0.composite == slot }.map(\.slot)
      }
  }

  /// The greatest key that the store has given, as far as it leaves keys for new objects.
  private func largestKey(_ hierarchy: Int) throws -> Int64 {
    guard let table = source.layout.tables[hierarchy] else { return 0 }
    // A damaged row and a change that names its key leave keys for new objects.
    let most = Int64(StoreReference.largestTaken)
    let given = source.largestKeys[source.schema.hierarchies[hierarchy].rootName] ?? 0
    var largest = given <= most ? given : 0
    if case .integer(let key)? = try source.database.value(
      "SELECT max(Z_PK) FROM \(SQLiteDatabase.quoted(table.name))")
    {
      largest = max(largest, key)
    }
    return min(largest, most)
  }

  /// How many changes there are.
  /// - Throws: `AppleStoreError`.
  func count() throws -> Int {
    guard case .integer(let count)? = try source.database.value("SELECT count(*) FROM \(Self.changes)") else {
      return 0
    }
    return Int(count)
  }

  /// Hands over everything, in order. `progress` is told how many changes were read.
  /// - Throws: `AppleStoreError`, `StorageError`, and what the closures throw.
  func hand(to intake: HistoryIntake, progress: (Int) throws -> Void) throws {
    let transactions = try source.database.prepare(transactionQuery)
    let changes = try source.database.prepare(changeQuery)
    var next = try change(changes)
    var (read, looked, time) = (0, 0, Date(timeIntervalSinceReferenceDate: 0))
    while try transactions.step() {
      looked += 1
      if looked & 0x3FF == 0 { try progress(read) }
      guard let number = transactions.integer(0), number > 0, number <= HistoryIntake.largestNumber else {
        lose(.number)
        continue
      }
      let stamp = Self.time(transactions.value(1))
      if stamp == nil { lose(.time) }
      time = stamp ?? time
      // Its number is used, whether there are changes or not.
      try intake.begin(UInt64(number), header(transactions, time))
      while let change = next, change.transaction <= number {
        if change.transaction < number {
          lose(.transaction)
        } else if let entity = known(change) {
          beginning = beginning ?? time
          try add(change, of: entity, to: intake)
        }
        next = try self.change(changes)
        read += 1
        if read & 0x3FF == 0 { try progress(read) }
      }
    }
    while next != nil {
      lose(.transaction)
      next = try change(changes)
    }
    if (1...Int64(HistoryIntake.largestNumber)).contains(source.lastTransaction) {
      intake.end(at: UInt64(source.lastTransaction))
    }
    for (loss, count) in lost.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      try tell(
        .init(kind: .lostHistory, row: Self.changes, property: nil, message: "\(loss.rawValue): \(count)"))
    }
  }

  private func lose(_ loss: Change.Loss) { lost[loss, default: 0] += 1 }

  // MARK: Transactions

  private var transactionQuery: String {
    let texts = ["AUTHOR", "CONTEXTNAME", "BUNDLEID", "PROCESSID"].flatMap { name -> [String] in
      let own = columns[Self.transactions] ?? []
      let isShared =
        own.contains("Z\(name)TS") && columns[Self.strings]?.isSuperset(of: ["Z_PK", "ZNAME"]) == true
      return [
        isShared ? "(SELECT ZNAME FROM \(Self.strings) AS S WHERE S.Z_PK = T.Z\(name)TS)" : "NULL",
        own.contains("Z\(name)") ? "T.Z\(name)" : "NULL",
        own.contains("Z\(name)TS") ? "T.Z\(name)TS" : "NULL",
      ]
    }
    return
      "SELECT T.Z_PK, T.ZTIMESTAMP, \(texts.joined(separator: ", ")) FROM \(Self.transactions) AS T ORDER BY T.Z_PK"
  }

  private func header(_ row: SQLiteStatement, _ time: Date) -> HistoryHeader {
    func text(_ place: Int) -> String? {
      let column = 2 + 3 * place
      if let text = row.text(column) ?? row.text(column + 1) { return text }
      if !row.isNull(column + 1) || !row.isNull(column + 2) { lose(.text) }
      return nil
    }
    return HistoryHeader(
      timestamp: time, origin: ChangeOrigin(author: text(0), contextName: text(1)),
      bundleIdentifier: text(2) ?? "", processName: text(3) ?? "")
  }

  private static func time(_ value: SQLiteValue) -> Date? {
    switch value {
    case .real(let seconds) where seconds.isFinite: Date(timeIntervalSinceReferenceDate: seconds)
    case .integer(let seconds): Date(timeIntervalSinceReferenceDate: Double(seconds))
    default: nil
    }
  }

  // MARK: Changes

  private var changeQuery: String {
    let own = columns[Self.changes] ?? []
    let names =
      ["ZTRANSACTIONID", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK"]
      + (["ZCOLUMNS"] + tombstoneColumns).map { own.contains($0) ? $0 : "NULL" }
    return "SELECT \(names.joined(separator: ", ")) FROM \(Self.changes) ORDER BY ZTRANSACTIONID, Z_PK"
  }

  private func change(_ row: SQLiteStatement) throws -> Change? {
    guard try row.step() else { return nil }
    var columns = Data()
    if case .blob(let bytes) = row.value(4) { columns = bytes }
    return Change(
      transaction: row.integer(0) ?? 0, kind: row.integer(1), entity: row.integer(2), key: row.integer(3),
      columns: columns, values: tombstoneColumns.indices.map { row.value(5 + $0) })
  }

  /// Nil for what cannot be kept, which is counted.
  private func known(_ change: Change) -> Entity? {
    guard let entity = change.entity.flatMap({ entities[$0] }) else {
      lose(.entity)
      return nil
    }
    guard let key = change.key, key > 0, key <= entity.largestKey else {
      lose(.key)
      return nil
    }
    guard let kind = change.kind, (0...2).contains(kind) else {
      lose(.kind)
      return nil
    }
    return entity
  }

  private func add(_ change: Change, of entity: Entity, to intake: HistoryIntake) throws {
    let key = change.key ?? 0
    let object = ObjectAddress(entity: entity.schema.number, key: UInt64(key))
    switch change.kind {
    case 0: try intake.add(.inserted, object)
    case 1: try intake.add(.updated, object, slots: slots(change.columns, entity))
    default: try intake.add(.deleted, object, values: try values(change, entity, key))
    }
  }

  /// What stays of a deleted object.
  private func values(_ change: Change, _ entity: Entity, _ key: Int64) throws -> [(
    slot: Int, value: AttributeValue
  )] {
    let count = change.values.lastIndex { if case .null = $0 { false } else { true } }.map { $0 + 1 } ?? 0
    if count == 0 { return [] }
    // With one attribute unknown, the places of all are.
    guard let kept = entity.kept, count <= kept.count else {
      lose(.value)
      return []
    }
    var values: [(slot: Int, value: AttributeValue)] = []
    for (stored, attribute) in zip(change.values, kept) {
      if case .null = stored { continue }
      let value = try rows.value(stored, attribute, entity.schema, key)
      if !value.isNull { values.append((attribute.slot, value)) }
    }
    return values
  }

  /// The properties that a change names: the most significant bit of the first byte is the first one.
  private func slots(_ bits: Data, _ entity: Entity) -> SlotBitmap {
    var slots = SlotBitmap()
    for (place, byte) in bits.enumerated() where byte != 0 {
      for bit in 0..<8 where byte & (0x80 >> bit) != 0 {
        let property = place * 8 + bit
        guard property < entity.slots.count else {
          lose(.property)
          return slots
        }
        for slot in entity.slots[property] { slots.insert(slot) }
      }
    }
    return slots
  }
}
