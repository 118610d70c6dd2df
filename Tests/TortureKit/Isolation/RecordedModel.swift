import Foundation
import Strata
import StrataCore

/// Lists, accounts and counters, which ``RecordedTransaction`` reads and writes.
///
/// All are objects of one entity, so that one fetch can read any of them; a transfer makes a note beside them.
public enum RecordedModel {
  public static let cellEntity = "Cell"
  public static let noteEntity = "Note"

  public static func make() -> ManagedObjectModel {
    let cell = EntityDescription(
      cellEntity,
      properties: [
        AttributeDescription("name", .string), AttributeDescription("entries", .string),
        AttributeDescription("value", .integer64),
      ])
    let note = EntityDescription(
      noteEntity,
      properties: ["serial", "from", "to", "amount"].map { AttributeDescription($0, .integer64) })
    return ManagedObjectModel(entities: [cell, note])
  }

  /// How many there are of what.
  public struct Size: Sendable, Hashable {
    public var lists = Size.active
    public var accounts = 4
    public var counters = 2
    /// What each account holds at first.
    public var start = 100

    public init() {}

    /// For sessions of so many transactions.
    public init(transactions: Int) { lists = Self.active + transactions / Self.step }

    /// So many lists are appended to at the same time.
    static let active = 3
    /// After so many transactions a session goes on to the next list.
    static let step = 15
  }

  public static func list(_ number: Int) -> String { "l\(number)" }
  public static func account(_ number: Int) -> String { "a\(number)" }
  public static func counter(_ number: Int) -> String { "c\(number)" }

  /// Makes the objects.
  public static func fill(_ coordinator: PersistentStoreCoordinator, _ size: Size) throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let entity = try entity(cellEntity, coordinator)
    func make(_ name: String, _ value: Int) {
      let object = ManagedObject(entity: entity, insertInto: context)
      object.setValue(name, forKey: "name")
      object.setValue("", forKey: "entries")
      object.setValue(Int64(value), forKey: "value")
    }
    for number in 0..<size.lists { make(list(number), 0) }
    for number in 0..<size.accounts { make(account(number), size.start) }
    for number in 0..<size.counters { make(counter(number), 0) }
    try context.save()
  }

  static func entity(_ name: String, _ coordinator: PersistentStoreCoordinator) throws -> EntityDescription {
    guard let entity = coordinator.managedObjectModel.entitiesByName[name] else {
      throw TortureViolation("the model has no entity \(name)")
    }
    return entity
  }

  /// What everything has come to; and the same as the transaction of a session that has read it.
  public static func look(_ coordinator: PersistentStoreCoordinator, _ size: Size) throws
    -> (state: FinalState, record: TransactionRecord)
  {
    let begin = TransactionRecord.now()
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    var cells: [String: ManagedObject] = [:]
    for object in try context.fetch(FetchRequest<ManagedObject>(entityName: cellEntity)) {
      guard let name = object.value(forKey: "name") as? String,
        cells.updateValue(object, forKey: name) == nil
      else { throw TortureViolation("there are two of one name") }
    }
    func cell(_ name: String) throws -> ManagedObject {
      guard let object = cells[name] else { throw TortureViolation("\(name) is gone") }
      return object
    }
    var state = FinalState()
    state.lists = try (0..<size.lists).map { try elements(cell(list($0))) }
    state.balances = try (0..<size.accounts).map { try value(cell(account($0))) }
    state.counters = try (0..<size.counters).map { try value(cell(counter($0))) }
    for object in try context.fetch(FetchRequest<ManagedObject>(entityName: noteEntity)) {
      state.transfers.append(
        TransactionRecord.Transfer(
          serial: value(object, "serial"), from: value(object, "from"), to: value(object, "to"),
          amount: value(object, "amount")))
    }
    let record = TransactionRecord(
      session: 0, number: 0, begin: begin, end: TransactionRecord.now(),
      operations: state.lists.enumerated().map { .read(list: $0, elements: $1) } + [
        .balances(state.balances)
      ])
    return (state, record)
  }

  static func elements(_ cell: ManagedObject) -> [Int] {
    let text = cell.value(forKey: "entries") as? String ?? ""
    return text.split(separator: " ").map { Int($0) ?? -1 }
  }

  static func value(_ object: ManagedObject, _ key: String = "value") -> Int {
    Int(object.value(forKey: key) as? Int64 ?? -1)
  }
}
