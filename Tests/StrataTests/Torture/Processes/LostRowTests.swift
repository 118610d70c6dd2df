import Foundation
import Strata
import Testing

/// What the random tests have found: rows that go and come back, large values that are replaced, objects that stay.
struct LostRowTests {
  /// A store with one thing, and contexts on it, all of this test's thread.
  private final class Stack {
    let folder: TemporaryFolder
    let container = PersistentContainer(name: "Lost", model: TortureModel.make())
    let id: ManagedObjectID

    init() throws {
      folder = try TemporaryFolder()
      let url = folder.url.appendingPathComponent("lost.strata")
      try container.persistentStoreCoordinator.addPersistentStore(PersistentStoreDescription(url: url))
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      let thing = Thing(context: context)
      thing["name"] = "first"
      thing["short"] = 1
      thing["text"] = Stack.large("first")
      try context.save()
      id = thing.objectID
    }

    deinit {
      for store in container.persistentStoreCoordinator.persistentStores {
        try? container.persistentStoreCoordinator.remove(store)
      }
      folder.remove()
    }

    /// A text too large for a row.
    static func large(_ text: String) -> String { String(repeating: ".", count: 2_000) + text }

    /// A new context that holds the thing with its values.
    func hold(_ policy: MergePolicy = .error) throws -> (ManagedObjectContext, ManagedObject) {
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      context.mergePolicy = policy
      return (context, try context.existingObject(with: id))
    }

    /// Deletes the thing's row without a notification.
    func deleteRow() throws {
      let (context, thing) = try hold()
      context.delete(thing)
      try context.save()
    }

    /// Changes the thing's row without a notification.
    func changeRow(_ values: [String: Any]) throws {
      let (context, thing) = try hold()
      for (key, value) in values { thing[key] = value }
      try context.save()
    }
  }

  private func code(_ body: () throws -> Void) -> CoreDataError.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? CoreDataError)?.code
    }
  }

  /// Rules 189, 199.
  @Test(arguments: [MergePolicy.overwrite, .mergeByPropertyObjectTrump])
  func aRowWrittenAnewIsNotTakenForTheOneBefore(policy: MergePolicy) throws {
    let stack = try Stack()
    let (bystander, unaware) = try stack.hold()
    let (insister, thing) = try stack.hold(policy)
    thing["name"] = "anew"
    try stack.deleteRow()
    try insister.save()
    #expect(thing["name"] as? String == "anew")
    #expect(thing["text"] as? String == nil, "nobody had read the large value before it went with its row")

    unaware["short"] = 2
    #expect(code { try bystander.save() } == .managedObjectMerge)
    bystander.refresh(unaware, mergeChanges: true)
    try bystander.save()
    let (_, fresh) = try stack.hold()
    #expect(fresh["name"] as? String == "anew")
    #expect(fresh["short"] as? Int64 == 2)
  }

  /// Rule 199: the second to insist finds the row of the first.
  @Test(arguments: [
    MergePolicy.overwrite, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .rollback,
  ])
  func twoWhoInsistOnALostRowAgreeInTheEnd(policy: MergePolicy) throws {
    let stack = try Stack()
    let (late, lateThing) = try stack.hold(RefusingDuplicates(merge: .overwrite))
    let (early, earlyThing) = try stack.hold(.overwrite)
    lateThing["name"] = "late"
    earlyThing["name"] = "early"
    earlyThing["code"] = "taken"
    let rival = Thing(context: early)
    rival["code"] = "unique"
    lateThing["code"] = "unique"
    try stack.deleteRow()
    try early.save()
    // The row is written again by `early`; `late` was about to and is refused for the code.
    #expect(code { try late.save() } == .managedObjectConstraintMerge)
    lateThing["code"] = nil
    try stack.changeRow(["long": 5])
    late.mergePolicy = policy
    try late.save()
    #expect(!late.hasChanges)
    let (_, fresh) = try stack.hold()
    // The refused save has already brought the object up to the row of `early`: its name is this side's change alone.
    #expect(fresh["name"] as? String == (policy === MergePolicy.rollback ? "early" : "late"))
    #expect(lateThing["name"] as? String == fresh["name"] as? String)
  }

  /// The same with the row still missing when the refused save is repaired, and another process is faster.
  @Test func aSaveThatWouldWriteALostRowAnewFindsItBack() throws {
    let stack = try Stack()
    let (late, lateThing) = try stack.hold(RefusingDuplicates(merge: .overwrite))
    let (early, earlyThing) = try stack.hold(.overwrite)
    let (rivals, _) = try stack.hold()
    Thing(context: rivals)["code"] = "unique"
    try rivals.save()
    lateThing["code"] = "unique"
    earlyThing["name"] = "early"
    try stack.deleteRow()
    #expect(code { try late.save() } == .managedObjectConstraintMerge)
    #expect(lateThing.isInserted)
    try early.save()
    lateThing["code"] = nil
    lateThing["name"] = "late"
    try late.save()
    #expect(!lateThing.isInserted && !late.hasChanges)
    let (_, fresh) = try stack.hold()
    #expect(fresh["name"] as? String == "late")
  }

  /// Rule 194: what only this side changed is kept, also when it does not lie in the row.
  @Test func storeTrumpKeepsALargeValueTheStoreHasNotChanged() throws {
    let stack = try Stack()
    let (context, thing) = try stack.hold(.mergeByPropertyStoreTrump)
    thing["text"] = "mine"
    thing["short"] = 3
    try stack.changeRow(["short": 9])
    try context.save()
    #expect(thing["text"] as? String == "mine")
    #expect(thing["short"] as? Int64 == 9)
    let (_, fresh) = try stack.hold()
    #expect(fresh["text"] as? String == "mine")
  }

  /// A large value is a fault of its own: when the one the row referred to is no more, the newest is what is seen.
  @Test func aLargeValueReplacedBeforeItWasReadIsTheNewest() throws {
    let stack = try Stack()
    let (context, thing) = try stack.hold()
    let (readingContext, reader) = try stack.hold()
    defer { withExtendedLifetime((context, readingContext)) {} }
    #expect(reader["text"] as? String == Stack.large("first"))
    try stack.changeRow(["text": Stack.large("second"), "name": "second"])
    try stack.changeRow(["text": Stack.large("third"), "name": "third"])
    #expect(thing["text"] as? String == Stack.large("third"))
    #expect(thing["name"] as? String == "first", "what lies in the row is as it was read")
    #expect(reader["text"] as? String == Stack.large("first"), "what was read stays")
    try stack.changeRow(["text": "small"])
    let (_, other) = try stack.hold()
    #expect(other["text"] as? String == "small")
    #expect(thing["text"] as? String == Stack.large("third"))
  }

  /// contexts 9; rule 176: what is held nowhere is released, whichever context inserted it.
  @Test func objectsInsertedElsewhereAreNotKept() throws {
    let stack = try Stack()
    let (merging, _) = try stack.hold()
    let (inserting, _) = try stack.hold()
    let center = NotificationCenter.default
    let token = center.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: inserting, queue: nil
    ) { merging.mergeChanges(fromContextDidSave: $0) }
    defer { center.removeObserver(token) }
    let ids = try (0..<10).map { _ in
      let thing = Thing(context: inserting)
      try inserting.save()
      return thing.objectID
    }
    merging.processPendingChanges()
    for id in ids { #expect(merging.registeredObject(for: id) == nil) }
  }

  /// contexts 9: an object whose row was written again is released like others once it is saved.
  @Test func anObjectWrittenAnewIsNotKeptForEver() throws {
    let stack = try Stack()
    let context = ManagedObjectContext(
      .confinement, coordinator: stack.container.persistentStoreCoordinator)
    context.mergePolicy = .overwrite
    try { () throws in
      let thing = try context.existingObject(with: stack.id)
      thing["name"] = "anew"
      try stack.deleteRow()
      try context.save()
    }()
    context.processPendingChanges()
    #expect(context.registeredObject(for: stack.id) == nil)
    #expect(try context.existingObject(with: stack.id)["name"] as? String == "anew")
  }
}
