import Foundation
import Testing

@testable import StrataCore

/// What a merged batch insert of many rows reports (rule 179).
struct BatchListTests {
  private static let count = 3_000

  private typealias Key = ManagedObjectContext.NotificationKey

  /// A context, and what it posts.
  private final class Stand {
    let coordinator: PersistentStoreCoordinator
    let context: ManagedObjectContext
    private let directory: ScratchDirectory
    private var tokens: [any NSObjectProtocol] = []
    private(set) var told: [Set<ManagedObjectID>] = []
    private(set) var merged: [Set<ManagedObjectID>] = []
    private(set) var lists: [BatchObjectIDs] = []

    init() throws {
      directory = try ScratchDirectory()
      coordinator = PersistentStoreCoordinator(managedObjectModel: StoreFixture.model())
      let store = try LMDBStore(
        url: URL(fileURLWithPath: directory("Merge.strata")), schema: coordinator.requireSchema(),
        options: .scratch)
      try coordinator.attach(store)
      context = ManagedObjectContext(.confinement, coordinator: coordinator)
      observe(ManagedObjectContext.didChangeObjectsNotification, context) { [unowned self] userInfo in
        let objects = userInfo[Key.insertedObjects.rawValue] as? Set<ManagedObject>
        if let objects { told.append(Set(objects.map(\.objectID))) }
        if let list = userInfo[Key.insertedBatchObjectIDs.rawValue] as? BatchObjectIDs { lists.append(list) }
      }
      observe(ManagedObjectContext.didMergeChangesObjectIDsNotification, context) { [unowned self] userInfo in
        if let identifiers = Self.merged(userInfo) { merged.append(identifiers) }
        if let list = userInfo[Key.insertedBatchObjectIDs.rawValue] as? BatchObjectIDs { lists.append(list) }
      }
    }

    deinit { for token in tokens { NotificationCenter.default.removeObserver(token) } }

    static func merged(_ userInfo: [AnyHashable: Any]) -> Set<ManagedObjectID>? {
      userInfo[Key.insertedObjectIDs.rawValue] as? Set<ManagedObjectID>
    }

    func observe(
      _ name: Notification.Name, _ context: ManagedObjectContext,
      _ body: @escaping ([AnyHashable: Any]) -> Void
    ) {
      // Unsafe: posted on the thread of the test, which uses the context.
      nonisolated(unsafe) let body = body
      tokens.append(
        NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) {
          body($0.userInfo ?? [:])
        })
    }

    @discardableResult
    func insert(_ count: Int = BatchListTests.count, merges: Bool = true) throws -> [ManagedObjectID] {
      var number = 0
      var request = BatchInsertRequest(entityName: "Item", columns: ["i64"]) { row in
        if number == count { return true }
        row.set(0, number)
        number += 1
        return false
      }
      request.resultType = .objectIDs
      request.mergesIntoContext = merges
      return try #require(try context.execute(request).objectIDs)
    }
  }

  @Test("the first rows become objects, all are in a list at the end")
  func manyRows() throws {
    let stand = try Stand()
    let identifiers = try stand.insert()
    #expect(identifiers.count == Self.count)
    let first = Set(identifiers.prefix(ManagedObjectContext.batchStep))
    #expect(stand.told == [first])
    #expect(stand.merged == [first])
    #expect(stand.lists.count == 2)
    for list in stand.lists { #expect(Array(list) == identifiers && list[2_999] == identifiers.last) }
  }

  @Test("few rows need no list")
  func fewRows() throws {
    let stand = try Stand()
    let identifiers = try stand.insert(ManagedObjectContext.batchStep)
    #expect(stand.told == [Set(identifiers)] && stand.merged == [Set(identifiers)] && stand.lists.isEmpty)
    #expect(try stand.insert(ManagedObjectContext.batchStep + 1).count == stand.lists.first?.count)
  }

  @Test("what the context holds is merged and reported as an object")
  func heldObjects() throws {
    let stand = try Stand()
    let before = try #require(try stand.insert(1, merges: false).first)
    let later = ManagedObjectID(token: before.token, primaryKey: before.primaryKey + 2_000)
    let held = stand.context.object(with: later)
    let identifiers = try stand.insert()
    let place = try #require(identifiers.firstIndex(of: later))
    #expect(place > ManagedObjectContext.batchStep)
    #expect(stand.merged.count == 2 && stand.merged.last == [later])
    #expect(held.value(forKey: "i64") as? Int64 == Int64(place))
    #expect(stand.lists.count == 2)
  }

  @Test("an observer of the context is told of every row")
  func observers() throws {
    final class Listener: ContextObserver {
      var inserted: Set<ManagedObjectID> = []
      func contextDidChange(_ change: ContextChange) { inserted.formUnion(change.inserted) }
    }
    let stand = try Stand()
    let listener = Listener()
    stand.context.addObserver(listener)
    let identifiers = try stand.insert()
    #expect(listener.inserted == Set(identifiers))
    #expect(stand.told.reduce(into: Set()) { $0.formUnion($1) } == Set(identifiers))
    #expect(stand.lists.count == 2)
  }

  @Test("a context that merges by itself, row by row, reports the same")
  func mergingContexts() throws {
    let stand = try Stand()
    let other = ManagedObjectContext(.confinement, coordinator: stand.coordinator)
    let identifiers = try stand.insert()
    // As a context does that merges automatically, without the rows at hand.
    var batch = BatchChanges(entityCount: stand.context.schema.entities.count)
    let item = try #require(stand.context.schema.entity(named: "Item"))
    for id in identifiers { batch.inserted.append(id.primaryKey, of: item.number) }
    let binding = try #require(stand.coordinator.bindings.first)
    var merged: [Set<ManagedObjectID>] = []
    var lists: [BatchObjectIDs] = []
    stand.observe(ManagedObjectContext.didMergeChangesObjectIDsNotification, other) { userInfo in
      if let identifiers = Stand.merged(userInfo) { merged.append(identifiers) }
      if let list = userInfo[Key.insertedBatchObjectIDs.rawValue] as? BatchObjectIDs { lists.append(list) }
    }
    other.mergeBatch(
      CommitNotice(
        storeIndex: binding.index, commitNumber: 1, origin: ObjectIdentifier(stand.context),
        changes: ChangeSet(), batch: batch))
    #expect(merged == [Set(identifiers.prefix(ManagedObjectContext.batchStep))])
    #expect(lists.map { Array($0) } == [identifiers])
  }

  @Test("a program that carries the list to another context makes objects of all rows there")
  func carriedOn() throws {
    let stand = try Stand()
    let other = ManagedObjectContext(.confinement, coordinator: stand.coordinator)
    let identifiers = try stand.insert()
    let list = try #require(stand.lists.first)
    var told: Set<ManagedObjectID> = []
    stand.observe(ManagedObjectContext.didMergeChangesObjectIDsNotification, other) {
      told.formUnion(Stand.merged($0) ?? [])
    }
    ManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [Key.insertedBatchObjectIDs.rawValue: list], into: [other])
    #expect(told == Set(identifiers))
  }
}
