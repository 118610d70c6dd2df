import Foundation
import Strata
import Testing

/// What did-save notifications say of the moment: the history token and the query generation (rules 119, 278, 291, 295).
struct SavedTokenTests {
  private let stand: HistoryStand
  init() throws { stand = try HistoryStand() }

  private static let names = [
    ManagedObjectContext.didSaveObjectsNotification, ManagedObjectContext.didSaveObjectIDsNotification,
  ]

  private func tokens(_ context: ManagedObjectContext, key: String = "historyToken")
    -> [Heard<PersistentHistoryToken?>]
  {
    Self.names.map { name in
      Heard(name, of: context) { .some($0.userInfo?[key] as? PersistentHistoryToken) }
    }
  }

  private func generations(_ context: ManagedObjectContext) -> [Heard<QueryGenerationToken?>] {
    Self.names.map { name in
      Heard(name, of: context) {
        .some($0.userInfo?["NSManagedObjectContextQueryGenerationKey"] as? QueryGenerationToken)
      }
    }
  }

  @Test("rule 119: each save says which moment of the history it is", arguments: [false, true])
  func historyToken(isAsynchronous: Bool) async throws {
    let context = ManagedObjectContext(.privateQueue, coordinator: stand.coordinator)
    let heard = tokens(context) + tokens(context, key: "newChangeToken")
    for number in 0..<2 {
      await context.perform {
        let note = ManagedObject(
          entity: context.persistentStoreCoordinator!.managedObjectModel.entitiesByName["Note"]!,
          insertInto: context)
        note.setValue(number, forKey: "number")
      }
      if isAsynchronous {
        try await context.saveAsynchronously()
      } else {
        try await context.perform { try context.save() }
      }
    }
    let transactions = try stand.transactions()
    #expect(transactions.count == 2)
    for heard in heard { #expect(heard.all == transactions.map(\.token)) }
    let first = try #require(heard[0].all.first ?? nil)
    #expect(try stand.transactions(after: first).map(\.token) == [transactions[1].token])
  }

  @Test("rule 119: a save that others follow before its notification is read names its own moment")
  func ownMoment() throws {
    let context = stand.context()
    let other = stand.context()
    let heard = tokens(context)
    try stand.make("Note", ["title": "a"], in: context)
    try stand.make("Note", ["title": "b"], in: other)
    let token = try #require(heard[0].all.first ?? nil)
    #expect(try stand.transactions(after: token).count == 1)
  }

  @Test("without a history, without changes, and from a child there is no token; the root's save has it")
  func withoutToken() throws {
    let plain = try HistoryStand { $0.recordsHistory = false }
    let context = plain.context()
    let heard = tokens(context)
    try plain.make("Note", ["title": "a"], in: context)
    #expect(heard.map(\.all) == [[nil], [nil]])
    let root = stand.context()
    let child = ManagedObjectContext(.confinement, parent: root)
    let (low, high) = (tokens(root), tokens(child))
    try stand.make("Note", ["title": "a"], in: child)
    #expect(high.map(\.all) == [[nil], [nil]] && low.map(\.all) == [[], []])
    try root.save()
    let newest = try #require(try stand.transactions().first?.token)
    #expect(low[0].all == [newest])
    try root.save()
    #expect(low[0].all.last == .some(nil))
  }

  @Test("rule 119: a save to two stores says the moment of both")
  func twoStores() throws {
    let other = try HistoryStand()
    let url = other.url
    try other.coordinator.remove(other.store)
    var description = PersistentStoreDescription(url: url)
    description.recordsHistory = true
    let second = try stand.coordinator.addPersistentStore(description)
    let context = stand.context()
    let heard = tokens(context)
    let entity = try #require(stand.coordinator.managedObjectModel.entitiesByName["Note"])
    _ = ManagedObject(entity: entity, insertInto: context)
    try context.assign(ManagedObject(entity: entity, insertInto: context), to: second)
    try context.save()
    let token = try #require(heard[1].all.first ?? nil)
    #expect(Set(token.commitNumbers.keys) == [stand.store.identifier, second.identifier])
    #expect(try stand.transactions(after: token).isEmpty)
  }

  @Test("rules 119, 291, 295: a pinned context says the generation that it has moved on to")
  func generation() throws {
    let context = stand.context()
    let heard = generations(context)
    try stand.make("Note", ["title": "a"], in: context)
    #expect(heard.map(\.all) == [[nil], [nil]])
    try context.setQueryGenerationFrom(.current)
    try stand.make("Note", ["title": "b"], in: context)
    let token = try #require(heard[0].all.last ?? nil)
    #expect(heard[1].all.last == .some(token) && token != .current && token.isAlive)
    #expect(context.queryGenerationToken == token)
    // A reader with this token sees what was saved, and not what comes later.
    try stand.make("Note", ["title": "c"], in: stand.context())
    let other = stand.context()
    try other.setQueryGenerationFrom(token)
    #expect(try other.count(for: FetchRequest<ManagedObject>(entityName: "Note")) == 2)
    let child = ManagedObjectContext(.confinement, parent: context)
    let told = generations(child)
    try stand.make("Note", ["title": "d"], in: child)
    #expect(told.map(\.all) == [[token], [token]])
  }

  @Test("rule 119: asynchronous saves say the generation, too")
  func asynchronousGeneration() async throws {
    let context = ManagedObjectContext(.privateQueue, coordinator: stand.coordinator)
    let heard = generations(context)
    try await context.perform {
      try context.setQueryGenerationFrom(.current)
      _ = ManagedObject(
        entity: context.persistentStoreCoordinator!.managedObjectModel.entitiesByName["Note"]!,
        insertInto: context)
    }
    try await context.saveAsynchronously()
    let token = try #require(heard[0].all.last ?? nil)
    #expect(token != .current && token.isAlive)
    #expect(heard[1].all == [token])
  }

  #if compiler(>=6.2)
    @Test(
      "rule 119: a notification that is made of a message has the token under both keys, and one under either makes a message",
      arguments: ["historyToken", "newChangeToken"])
    @MainActor
    func messages(key: String) throws {
      guard #available(macOS 26.0, iOS 26.0, tvOS 26.0, watchOS 26.0, visionOS 26.0, *) else { return }
      typealias Objects = ManagedObjectContext.DidSaveMessage
      typealias IDs = ManagedObjectContext.DidSaveObjectIDsMessage
      let context = stand.context()
      try stand.make("Note", ["title": "a"], in: context)
      let token = try #require(try stand.transactions().first?.token)
      func requireToken(_ note: Notification) {
        for key in ["historyToken", "newChangeToken"] {
          #expect(note.userInfo?[key] as? PersistentHistoryToken == token, "\(note.name) \(key)")
        }
      }
      let main = ManagedObjectContext(.mainQueue, coordinator: stand.coordinator)
      let objects = try #require(
        Objects.makeMessage(Notification(name: Objects.name, object: main, userInfo: [key: token])))
      #expect(objects.historyToken == token)
      requireToken(Objects.makeNotification(objects))
      let ids = try #require(IDs.makeMessage(Notification(name: IDs.name, userInfo: [key: token])))
      #expect(ids.historyToken == token)
      requireToken(IDs.makeNotification(ids))
      // Without a token there is none.
      let none = try #require(IDs.makeMessage(Notification(name: IDs.name)))
      #expect(none.historyToken == nil && IDs.makeNotification(none).userInfo?["newChangeToken"] == nil)
    }
  #endif
}
