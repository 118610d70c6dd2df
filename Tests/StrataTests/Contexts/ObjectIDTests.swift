import Foundation
import Strata
import Testing

/// A record's handle: final from birth, the same everywhere (section B; contexts 8).
struct ObjectIDTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  @Test("rules 27, 29 (contexts 8: better): an ID is final from birth; equality, hash and URI never change")
  func idIsFinalFromBirth() throws {
    let context = store.context()
    let entry = Entry.make("Bells", in: context)
    let before = entry.objectID
    let uri = before.uriRepresentation()
    let hash = before.hashValue
    #expect(before.isTemporaryID)
    try context.save()
    #expect(!entry.objectID.isTemporaryID)
    #expect(entry.objectID == before)
    #expect(entry.objectID.hashValue == hash)
    #expect(entry.objectID.uriRepresentation() == uri)
    #expect(try context.existingObject(with: before) === entry)
    #expect(try store.context().existingObject(with: before).objectID == before)
  }

  @Test("rule 28 (contexts 8): obtainPermanentIDs succeeds trivially, the object stays inserted")
  func obtainPermanentIDsSucceeds() throws {
    let context = store.context()
    let entry = Entry.make("Bells", in: context)
    let before = entry.objectID
    try context.obtainPermanentIDs(for: [entry])
    #expect(entry.objectID == before)
    #expect(entry.isInserted)
    try context.save()
    #expect(entry.objectID == before)
  }

  @Test("rule 30: IDs are handed to other contexts and threads, and key dictionaries")
  func idsTravel() throws {
    let context = store.context()
    let ids = (0..<10).map { Entry.make("spot \($0)", in: context).objectID }
    try context.save()
    #expect(Set(ids).count == 10)
    let names = Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1, $0) })
    let store = store
    onAnotherThread {
      let reader = store.context()
      for (id, number) in names {
        #expect((reader.object(with: id) as? Entry)?.location == "spot \(number)")
      }
    }
  }

  @Test("rules 30, 31: equal IDs, however they were come by, mean the same record")
  func equalIDsMeanTheSameRecord() throws {
    let context = store.context()
    let (one, two) = (Entry.make("Bells", in: context), Entry.make("Winki", in: context))
    try context.save()
    let reader = store.context()
    let fetched = try reader.entry("Bells")
    let ids = try reader.fetch(
      FetchRequest<ManagedObjectID>(entityName: "Entry", predicate: Attribute("location") == "Bells"))
    let read = store.coordinator.managedObjectID(forURIRepresentation: one.objectID.uriRepresentation())
    #expect(fetched.objectID == one.objectID)
    #expect(ids == [one.objectID])
    #expect(read == one.objectID)
    #expect(one.objectID != two.objectID)
  }

  @Test("rule 31: objects of different hierarchies never have equal IDs, whatever their keys")
  func hierarchiesHaveTheirOwnKeys() throws {
    let context = store.context()
    let ids = [Entry.make("Bells", in: context).objectID, Surfer.make("a@b", in: context).objectID]
    #expect(ids[0] != ids[1])
    #expect(ids[0].entityName == "Entry" && ids[1].entityName == "Surfer")
  }

  @Test("rule 32: the URI is x-coredata://<store UUID>/<Entity>/p<key>")
  func uriNamesStoreEntityAndKey() throws {
    let context = store.context()
    let entry = Entry.make("Bells", in: context)
    try context.save()
    let uri = entry.objectID.uriRepresentation()
    #expect(uri.scheme == "x-coredata")
    #expect(UUID(uuidString: uri.host ?? "") == store.identifier)
    #expect(uri.pathComponents.count == 3)
    #expect(uri.pathComponents[1] == "Entry")
    #expect(uri.pathComponents[2].hasPrefix("p"))
    #expect(entry.objectID.storeIdentifier == store.identifier)
  }

  @Test("rule 34: ID and URI name the concrete entity")
  func idNamesTheConcreteEntity() throws {
    let context = store.context()
    let cove = HiddenBeach("Cove", in: context)
    try context.save()
    #expect(cove.objectID.entityName == "HiddenBeach")
    let spots = try store.context().fetch(FetchRequest<ManagedObjectID>(entityName: "Spot"))
    #expect(spots == [cove.objectID])
    #expect(spots.first?.uriRepresentation().pathComponents[1] == "HiddenBeach")
  }

  @Test(
    "rule 35: an ID is read from a URI without looking for the record; unknown stores and entities give nil")
  func idIsReadFromAURI() throws {
    let coordinator = store.coordinator
    let known = "x-coredata://\(store.identifier.uuidString)"
    func id(_ text: String) -> ManagedObjectID? {
      URL(string: text).flatMap { coordinator.managedObjectID(forURIRepresentation: $0) }
    }
    let missing = try #require(id("\(known)/Entry/p4711"))
    #expect(missing.entityName == "Entry" && !missing.isTemporaryID)
    #expect(throws: CoreDataError.self) { try store.context().existingObject(with: missing) }
    #expect(id("x-coredata://\(UUID().uuidString)/Entry/p1") == nil)
    #expect(id("\(known)/Nonsense/p1") == nil)
  }

  @Test(
    "rule 35: text that is no ID gives nil, never a trap",
    arguments: [
      "x-coredata:", "x-coredata://", "https://example.org/Entry/p1", "x-coredata://nonsense/Entry/p1",
      "file:///p1",
    ])
  func textThatIsNoIDGivesNil(_ text: String) throws {
    let uri = try #require(URL(string: text))
    #expect(store.coordinator.managedObjectID(forURIRepresentation: uri) == nil)
  }

  @Test(
    "rule 35: a bad last component gives nil, never a trap",
    arguments: ["", "p", "7", "p-1", "p1x", "p99999999999999999999", "t1", "p1/p2", "p281474976710656"])
  func badLastComponentGivesNil(_ component: String) throws {
    let text = "x-coredata://\(store.identifier.uuidString)/Entry/\(component)"
    let uri = try #require(URL(string: text))
    #expect(store.coordinator.managedObjectID(forURIRepresentation: uri) == nil)
  }

  @Test("rule 36: the store's UUID is in its metadata and stays with the file")
  func storeUUIDStandsInItsMetadata() throws {
    let identifier = store.identifier
    let metadata = store.coordinator.metadata(for: store.store)
    #expect(metadata["NSStoreUUID"] as? String == identifier.uuidString)
    #expect(try store.reopened().identifier == identifier)
  }

  @Test("rule 30: a URI kept outside finds the record after the store was opened again")
  func uriFindsTheRecordAfterReopening() throws {
    let context = store.context()
    let entry = Entry.make("Bells", in: context)
    try context.save()
    let uri = entry.objectID.uriRepresentation()
    let again = try store.reopened()
    let id = try #require(again.coordinator.managedObjectID(forURIRepresentation: uri))
    let found = try #require(try again.context().existingObject(with: id) as? Entry)
    #expect(found.location == "Bells")
  }

  @Test("rule 39: hash and equality of objects never fire a fault")
  func objectsSitInSetsAsFaults() throws {
    let context = store.context()
    for number in 0..<5 { Entry.make("spot \(number)", in: context) }
    try context.save()
    let reader = store.context()
    let entries = try reader.entries()
    var set = Set(entries)
    for entry in entries { set.insert(entry) }
    #expect(set.count == 5)
    #expect(entries[0] != entries[1])
    #expect(entries.allSatisfy { $0.isFault })
  }

  @Test("contexts 8: a key is never used again, not after deleting everything, not after reopening")
  func keysAreNeverUsedAgain() throws {
    func makeAndDelete(_ store: TemporaryStore) throws -> Set<ManagedObjectID> {
      let context = store.context()
      let entries = (0..<50).map { Entry.make("spot \($0)", in: context) }
      let ids = Set(entries.map(\.objectID))
      try context.save()
      for entry in entries { context.delete(entry) }
      try context.save()
      #expect(try context.entryCount() == 0)
      return ids
    }
    let first = try makeAndDelete(store)
    let second = try makeAndDelete(store)
    let again = try store.reopened()
    let third = try makeAndDelete(again)
    #expect(first.union(second).union(third).count == 150)
  }

  @Test("contexts 8: IDs given to objects that were never saved are not given again after reopening")
  func unsavedKeysDoNotCollide() throws {
    let context = store.context()
    let saved = Entry.make("saved", in: context)
    try context.save()
    let again = try store.reopened()
    let reader = again.context()
    let fresh = (0..<20).map { Entry.make("new \($0)", in: reader).objectID }
    try reader.save()
    #expect(!fresh.contains(saved.objectID))
    #expect(try reader.entryCount() == 21)
  }

  @Test("contexts 8: contexts that insert at the same time never get the same ID")
  func concurrentInsertsGetDifferentIDs() async {
    let store = store
    let ids = await withTaskGroup(of: [ManagedObjectID].self) { group in
      for task in 0..<8 {
        group.addTask {
          let context = store.context(.privateQueue)
          return await context.perform {
            (0..<300).map { Entry.make("\(task)/\($0)", in: context).objectID }
          }
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(ids).count == 2_400)
  }
}
