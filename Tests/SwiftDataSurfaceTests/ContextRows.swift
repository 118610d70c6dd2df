import SwiftData
import Testing

/// What a notification said, filled in by its observer.
final class Heard: @unchecked Sendable {
  // @unchecked Sendable: notifications are posted on the thread that saves, which is the test's.
  var names: [Notification.Name] = []
  var inserted: [PersistentIdentifier] = []
}

@Suite("ModelContext")
struct ContextRows {
  @Test("class ModelContext: init(_:), container, autosaveEnabled, hasChanges, Equatable")
  func context() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    #expect(!context.autosaveEnabled)
    #expect(context.container === container && context == context && !context.hasChanges)
    context.insert(Trip(name: "a"))
    #expect(context.hasChanges)
  }

  @Test("insertedModelsArray, changedModelsArray, deletedModelsArray")
  func arrays() throws {
    let context = try makeContext()
    context.autosaveEnabled = false
    let trip = Trip(name: "a")
    context.insert(trip)
    #expect(context.insertedModelsArray.map(\.persistentModelID) == [trip.persistentModelID])
    try context.save()
    trip.name = "b"
    #expect(context.changedModelsArray.count == 1)
    context.delete(trip)
    #expect(context.deletedModelsArray.count == 1)
  }

  @Test("insert(_:), delete(_:), delete(model:where:includeSubclasses:)")
  func deleting() throws {
    let context = try makeContext()
    for name in ["a", "b", "c"] { context.insert(Trip(name: name)) }
    context.insert(Vehicle(wheels: 2))
    context.insert(Lorry(load: 1))
    try context.save()
    try context.delete(model: Trip.self, where: #Predicate { $0.name != "a" })
    #expect(try context.fetchCount(FetchDescriptor<Trip>()) == 1)
    try context.delete(model: Trip.self)
    #expect(try context.fetchCount(FetchDescriptor<Trip>()) == 0)
    try context.delete(model: Vehicle.self, includeSubclasses: false)
    #expect(try context.fetchCount(FetchDescriptor<Vehicle>()) == 1)
  }

  @Test("fetch(_:), fetch(_:batchSize:), fetchCount(_:), fetchIdentifiers(_:)")
  func fetching() throws {
    let context = try makeContext()
    for number in 0..<10 { context.insert(Trip(name: "\(number)")) }
    try context.save()
    let descriptor = FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.name)])
    #expect(try context.fetch(descriptor).map(\.name) == (0..<10).map { "\($0)" })
    let results: FetchResultsCollection<Trip> = try context.fetch(descriptor, batchSize: 3)
    #expect(results.map(\.name) == (0..<10).map { "\($0)" })
    #expect(try context.fetchCount(descriptor) == 10)
    #expect(try context.fetchIdentifiers(descriptor).count == 10)
    let identifiers: FetchResultsCollection<PersistentIdentifier> = try context.fetchIdentifiers(
      descriptor, batchSize: 3)
    #expect(identifiers.count == 10)
  }

  @Test("enumerate(_:batchSize:allowEscapingMutations:block:)")
  func enumerating() throws {
    let context = try makeContext()
    for number in 0..<10 { context.insert(Trip(name: "\(number)")) }
    try context.save()
    var count = 0
    try context.enumerate(FetchDescriptor<Trip>(), batchSize: 4) { _ in count += 1 }
    #expect(count == 10)
    try context.enumerate(FetchDescriptor<Trip>(), allowEscapingMutations: true) { $0.number += 1 }
  }

  @Test("model(for:), registeredModel(for:)")
  func byIdentifier() throws {
    let context = try makeContext()
    let trip = Trip(name: "a")
    context.insert(trip)
    try context.save()
    let found: any PersistentModel = context.model(for: trip.persistentModelID)
    #expect(found === trip)
    let registered: Trip? = context.registeredModel(for: trip.persistentModelID)
    #expect(registered === trip)
  }

  @Test("save(), rollback(), transaction(block:), processPendingChanges()")
  func saving() throws {
    let context = try makeContext()
    context.insert(Trip(name: "a"))
    context.rollback()
    #expect(try context.fetchCount(FetchDescriptor<Trip>()) == 0)
    try context.transaction { context.insert(Trip(name: "b")) }
    #expect(!context.hasChanges)
    context.insert(Trip(name: "c"))
    context.processPendingChanges()
    try context.save()
    #expect(try ModelContext(context.container).fetchCount(FetchDescriptor<Trip>()) == 2)
  }

  @Test("undoManager: UndoManager?; author")
  func undo() throws {
    let context = try makeContext()
    #expect(context.undoManager == nil)
    let manager = UndoManager()
    context.undoManager = manager
    context.author = "me"
    #expect(context.undoManager === manager && context.author == "me")
    let trip = Trip(name: "a")
    context.insert(trip)
    context.processPendingChanges()
    manager.undo()
    #expect(try context.fetchCount(FetchDescriptor<Trip>()) == 0)
  }

  @Test("ModelContext.willSave, didSave; NotificationKey")
  func notifications() throws {
    let context = try makeContext()
    let heard = Heard()
    let observers = [ModelContext.willSave, ModelContext.didSave].map { name in
      NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { notification in
        heard.names.append(notification.name)
        let key = ModelContext.NotificationKey.insertedIdentifiers.rawValue
        heard.inserted += notification.userInfo?[key] as? [PersistentIdentifier] ?? []
      }
    }
    defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
    let trip = Trip(name: "a")
    context.insert(trip)
    try context.save()
    #expect(heard.names == [ModelContext.willSave, ModelContext.didSave])
    #expect(heard.inserted == [trip.persistentModelID])
    let keys: [ModelContext.NotificationKey] = [
      .queryGeneration, .invalidatedAllIdentifiers, .insertedIdentifiers, .updatedIdentifiers,
      .deletedIdentifiers,
    ]
    #expect(
      keys.map(\.rawValue) == [
        "queryGeneration", "invalidatedAllIdentifiers", "inserted", "updated", "deleted",
      ])
  }

  @Test("fetchHistory(_:), deleteHistory(_:)")
  func history() throws {
    let context = try makeContext()
    context.author = "me"
    context.insert(Trip(name: "a"))
    try context.save()
    let found = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    #expect(found.map(\.author) == ["me"])
    try context.deleteHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    #expect(try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).isEmpty)
  }
}
