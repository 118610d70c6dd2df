import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataAppleSQLite

/// A store that a coordinator reads in place takes its history along to the store that is made of it, and no history keeps it from being made.
@Suite struct HistoryTakenAlongTests {
  private let store: SmallStore
  private let model = SmallStore.model()

  init() throws {
    store = try SmallStore(history: true)
    model.entitiesByName["Person"]?.attributesByName["age"]?.preservesValueInHistoryOnDeletion = true
    try HistoryImportTests.write(HistoryImportTests.saves, model, to: store.path)
  }

  /// Makes a store as `migratePersistentStore` does, and reads its history.
  private func takenOver() throws -> [HistoryImportTests.Transaction] {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(type: .init(rawValue: AppleSQLite.storeType), url: store.url)
    description.isReadOnly = true
    let opened = try coordinator.addPersistentStore(description)
    try (opened as? any CopyableStore)?.backup(to: store.new, compacting: true)
    try coordinator.remove(opened)
    #expect(try store.isSound)
    let made = try HistoryImportTests.coordinator(store.new, model)
    let context = ManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = made
    let count = try context.performAndWait {
      try context.count(for: FetchRequest<ManagedObject>(entityName: "Person"))
    }
    #expect(count == 5)
    return try HistoryImportTests.history(made)
  }

  @Test func theHistoryComesAlong() throws {
    #expect(try takenOver() == HistoryImportTests.saves)
  }

  @Test func whatIsNotExplainedIsLeftOut() throws {
    try store.run(
      "INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES (1, 0, 99, 1, 7)")
    #expect(try takenOver() == HistoryImportTests.saves)
  }

  @Test(
    "a value of a deleted object that is none of its type is left out of the history; a strict import says so"
  )
  func aValueThatDoesNotFit() throws {
    try store.run("UPDATE ACHANGE SET ZTOMBSTONE0 = 'old' WHERE ZENTITYPK = 7")
    var options = HistoryImportTests.options(model)
    options.refusesLosses = true
    let error = #expect(throws: AppleStoreError.self) {
      try AppleSQLite.importStore(from: store.url, to: store.new, options: options)
    }
    #expect(error?.kind == .losses && "\(String(describing: error))".contains("a deleted object"))
    #expect(try takenOver() == HistoryImportTests.saves)
  }

  @Test(arguments: ["ACHANGE", "ATRANSACTION"])
  func aHistoryThatCannotBeReadStaysBehind(table: String) throws {
    try store.damage(table)
    #expect(try takenOver() == [])
  }

  /// Without a key their rows have no order.
  @Test(arguments: ["ACHANGE", "ATRANSACTION"])
  func tablesWithoutAKeyAreNoHistoryAndThatIsSaid(table: String) throws {
    try store.run(
      "CREATE TABLE OTHER AS SELECT * FROM \(table); DROP TABLE \(table); ALTER TABLE OTHER RENAME TO \(table)"
    )
    var options = HistoryImportTests.options(model)
    let report = try AppleSQLite.importStore(from: store.url, to: store.new, options: options)
    #expect(
      report.findingCounts == [.lostHistory: 1] && "\(report.findings)".contains("left behind"),
      "\(report.findings)")
    try FileManager.default.removeItem(at: store.new)
    options.refusesLosses = true
    let error = #expect(throws: AppleStoreError.self) {
      try AppleSQLite.importStore(from: store.url, to: store.new, options: options)
    }
    #expect(error?.kind == .losses)
    options.importsHistory = false
    let without = try AppleSQLite.importStore(from: store.url, to: store.new, options: options)
    #expect(without.remarks.contains { $0.contains("left behind") }, "\(without.remarks)")
    try FileManager.default.removeItem(at: store.new)
    #expect(try takenOver() == [])
  }

  /// The row is left out, since there is no such entity; the change that names its key must not use up all keys.
  @Test func aDamagedRowAndADamagedChangeLeaveKeysForNewObjects() throws {
    let key = StoreReference.keyLimit - 2
    try store.run("INSERT INTO ZPERSON (Z_PK, Z_ENT) VALUES (\(key), 77)")
    try store.run(
      "INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES (1, 2, 1, \(key), 9)"
    )
    let report = try AppleSQLite.importStore(
      from: store.url, to: store.new, options: HistoryImportTests.options(model))
    #expect(report.findingCounts == [.unknownRow: 1, .lostHistory: 1], "\(report.findings)")
    let context = ManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = try HistoryImportTests.coordinator(store.new, model)
    let person = try #require(model.entitiesByName["Person"])
    try context.performAndWait {
      for _ in 0..<3 { _ = ManagedObject(entity: person, insertInto: context) }
      try context.save()
    }
    #expect(try store.isSound)
  }
}
