import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What contexts print about their requests on demand.
struct DebugOutputTests {
  @Test("the environment variable takes names or a number, and names what it does not know")
  func parsing() {
    func parse(_ text: String) -> DebugOutput { DebugOutput.parse(text).output }
    #expect(parse("") == [])
    #expect(parse("0") == [])
    #expect(parse("1") == .plan)
    #expect(parse("2") == [.plan, .time])
    #expect(parse("3") == [.plan, .time, .rows])
    #expect(parse("4") == [.plan, .time, .rows, .faults])
    #expect(parse("rows, FAULTS") == [.rows, .faults])
    #expect(DebugOutput.parse("plan,slow,5,-1").unknown == ["slow", "5", "-1"])
    #expect(DebugOutput.parse("plan,slow").output == .plan)
  }

  @Test("requests, faults, saves and batches are printed as far as asked for")
  func lines() throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: StoreFixture.model())
    try coordinator.addPersistentStore(.inMemory)
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    // Others may say something meanwhile.
    let name = "debug \(UUID().uuidString)"
    context.name = name
    let lines = Mutex<[String]>([])
    DebugOutput.listener.withLock {
      $0 = { line in if line.contains(name) { lines.withLock { $0.append(line) } } }
    }
    defer {
      DebugOutput.listener.withLock { $0 = nil }
      ManagedObjectContext.debugOutput = []
    }
    func said(_ output: DebugOutput, _ body: () throws -> Void) rethrows -> [String] {
      ManagedObjectContext.debugOutput = output
      defer { ManagedObjectContext.debugOutput = [] }
      try body()
      return lines.withLock { lines in
        defer { lines = [] }
        return lines.map { $0.replacingOccurrences(of: "<context “\(name)” (confinement)> ", with: "") }
      }
    }
    let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: Attribute("i64") == 1)
    let saved = try said(.rows) {
      try context.execute(BatchInsertRequest(entityName: "Item", objects: [["i64": 1], ["i64": 2]]))
      let item = try context.fetch(request)[0]
      item.setValue("text", forKey: "t")
      try context.save()
    }
    #expect(saved == ["batchInsert; 2 rows", "fetch Item; 1 rows", "save; 0 inserted, 1 updated, 0 deleted"])
    let planned = try said([.plan, .time]) { _ = try context.count(for: request) }
    #expect(planned.count == 1)
    #expect(planned[0].hasPrefix("count Item; plan: "))
    #expect(planned[0].contains("byI64"))
    #expect(planned[0].hasSuffix("s"))
    let faults = try said(.faults) {
      let item = try context.fetch(request)[0]
      context.refresh(item, mergeChanges: false)
      _ = item.value(forKey: "t")
    }
    #expect(faults.count == 1)
    #expect(faults[0].hasPrefix("fault: Item/p"))
    #expect(try said([]) { _ = try context.fetch(request) } == [])
  }
}
