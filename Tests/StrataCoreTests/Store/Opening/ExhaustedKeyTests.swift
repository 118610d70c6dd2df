import Foundation
import Testing

@testable import StrataCore

/// Stores whose primary keys are used up, or nearly so: whoever makes an object has one, and whoever saves it is told.
@Suite struct ExhaustedKeyTests {
  private let fixture: StoreFixture
  private var hierarchy: Int { fixture.entity("Place").hierarchyNumber }

  init() throws {
    fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Place", [:])])
  }

  private func setCounter(_ counter: UInt64) throws {
    let (parts, hierarchy) = (fixture.store.parts, hierarchy)
    try parts.environment.write { try parts.setCounter(hierarchy, counter, $0) }
  }

  @Test(arguments: [PrimaryKeyAllocator.limit, PrimaryKeyAllocator.end])
  func newObjectsAreHandedOutAndTheirSaveFails(counter: UInt64) throws {
    try setCounter(counter)
    fixture.close()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: StoreFixture.model())
    try coordinator.addPersistentStore(PersistentStoreDescription(url: fixture.url))
    let entities = coordinator.managedObjectModel.entitiesByName
    let (place, item) = (try #require(entities["Place"]), try #require(entities["Item"]))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait { () throws in
      let made = (0..<3).map { _ in ManagedObject(entity: place, insertInto: context) }
      #expect(Set(made.map(\.objectID)).count == 3)
      let error = #expect(throws: (any Error).self) { try context.save() }
      let words = error.map { "\($0)" } ?? ""
      #expect(words.contains("The store has given no key for a new Place. Nothing was saved."), "\(words)")
      #expect(words.contains("Place has no primary keys left"), "\(words)")
      // Everything else goes on: what is there, and objects of other hierarchies.
      for object in made { context.delete(object) }
      let old = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Place")).first)
      old.setValue("found", forKey: "name")
      ManagedObject(entity: item, insertInto: context).setValue("new", forKey: "s")
      try context.save()
      #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Place")) == 1)
    }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    try fixture.reopen()
    #expect(try fixture.store.check().problems == [])
    #expect(try fixture.fetch("Item", mode: .count).count == 1)
  }

  @Test func changeSetsWithoutSuchObjectsAreWritten() throws {
    let reason = StorageError(.tooLarge, operation: "make primary key", path: "", detail: "For a reason.")
    let key = try #require(fixture.store.makeProvisionalKey(hierarchy: hierarchy, after: reason))
    #expect(UnkeyedObjects.keys.contains(key))
    let sets = [
      ChangeSet(inserts: [try fixture.insert("Place", [:])]),
      ChangeSet(inserts: [try fixture.insert("Place", [:]), try fixture.insert("Place", [:], key: key)]),
      ChangeSet(inserts: [try fixture.insert("Item", [:])]),
    ]
    let results = fixture.commit(sets)
    #expect(results.count == 3)
    #expect(throws: Never.self) { try results[0].get() }
    let error = #expect(throws: StorageError.self) { try results[1].get() }
    #expect(error?.kind == .refused && error?.detail.hasSuffix("The reason: For a reason.") == true)
    #expect(throws: Never.self) { try results[2].get() }
    let alone = fixture.commit([sets[1]])
    #expect(throws: StorageError.self) { try alone[0].get() }
    #expect(try fixture.fetch("Place", mode: .count).count == 2)
  }

  @Test func aKeyThatStandsForNoneIsThatOfNoRow() throws {
    let last = UnkeyedObjects.keys.upperBound - 1
    try fixture.commit(inserts: [fixture.insert("Place", [:], key: last)])
    let reason = StorageError(.closed, operation: "make primary key", path: "", detail: "")
    #expect(fixture.store.makeProvisionalKey(hierarchy: hierarchy, after: reason) == last - 1)
    // It is known of a store that nobody can read any more, too.
    fixture.close()
    #expect(fixture.store.makeProvisionalKey(hierarchy: hierarchy, after: reason) == last - 2)
  }

  @Test func theLastKeysAreGiven() throws {
    try setCounter(PrimaryKeyAllocator.end - 10)
    fixture.close()
    try fixture.reopen()
    let keys = try (0..<10).map { _ in try fixture.store.makePrimaryKey(hierarchy: hierarchy) }
    #expect(keys == Array(PrimaryKeyAllocator.end - 10..<PrimaryKeyAllocator.end))
    let error = #expect(throws: StorageError.self) { try fixture.store.makePrimaryKey(hierarchy: hierarchy) }
    #expect(error?.kind == .tooLarge)
  }

  @Test(arguments: [1, 2, 1_000, 1 << 32] as [UInt64])
  func keysWithoutTheStoreAreGivenUpToTheEnd(left: UInt64) throws {
    struct Unreachable: Error {}
    let allocator = PrimaryKeyAllocator(counter: PrimaryKeyAllocator.end - left)
    #expect(allocator.addUnsecured(after: nil))
    let key = try allocator.next { _ in throw Unreachable() }
    #expect(key >= PrimaryKeyAllocator.end - left && key < PrimaryKeyAllocator.end)
    #expect(!PrimaryKeyAllocator(counter: PrimaryKeyAllocator.end).addUnsecured(after: nil))
  }

  // MARK: What is loaded

  @Test func nothingIsAddedToAStoreWithoutKeys() throws {
    try setCounter(PrimaryKeyAllocator.limit)
    fixture.close()
    let intake = try StoreIntake(into: fixture.url)
    let entity = try #require(intake.schema.entity(named: "Place"))
    let values = [AttributeValue](repeating: .null, count: entity.attributes.count)
    let refusal = #expect(throws: StoreIntake.Refusal.self) {
      try intake.add(ObjectAddress(entity: entity.number, key: 1), values: values, line: 2)
    }
    #expect(refusal?.line == 2)
    #expect(refusal?.description.contains("The store has no primary keys left for Place/p1") == true)
    // No reference leads to another object instead.
    #expect(intake.reference(to: ObjectAddress(entity: entity.number, key: 1)) == nil)
  }

  @Test func keysThatLeaveTooFewAreNotTakenIn() throws {
    let model = try StoreFixture.model().encodedForStores()
    let largest = PrimaryKeyAllocator.largestTaken
    let intake = try StoreIntake(
      new: fixture.directory.appendingPathComponent("A.strata"),
      facts: StoreFacts(model: model, counters: ["Place": largest + 1]))
    let entity = try #require(intake.schema.entity(named: "Place"))
    let values = [AttributeValue](repeating: .null, count: entity.attributes.count)
    try intake.add(ObjectAddress(entity: entity.number, key: largest), values: values, line: 2)
    let refusal = #expect(throws: StoreIntake.Refusal.self) {
      try intake.add(ObjectAddress(entity: entity.number, key: largest + 1), values: values, line: 3)
    }
    #expect(refusal?.line == 3 && refusal?.description.contains("p\(largest).") == true, "\(refusal as Any)")
    let counter = #expect(throws: StoreIntake.Refusal.self) {
      _ = try StoreIntake(
        new: fixture.directory.appendingPathComponent("B.strata"),
        facts: StoreFacts(model: model, counters: ["Place": largest + 2]))
    }
    #expect(counter?.description.contains("The next key of Place") == true, "\(counter as Any)")
    _ = try intake.finish()
  }
}
