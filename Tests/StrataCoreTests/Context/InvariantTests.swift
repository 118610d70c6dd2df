import Foundation
import Testing

@_spi(Testing) @testable import StrataCore

/// The check of a context's state finds what is wrong with it: each test breaks one thing by hand.
struct InvariantTests {
  private let context: ManagedObjectContext
  private let saved: ManagedObject
  private let new: ManagedObject

  init() throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: StoreFixture.model())
    try coordinator.addPersistentStore(.inMemory)
    context = ManagedObjectContext(.confinement, coordinator: coordinator)
    saved = try EntityDescription.insertNewObject(forEntityName: "Item", into: context)
    try context.save()
    new = try EntityDescription.insertNewObject(forEntityName: "Item", into: context)
    context.processPendingChanges()
    #expect(context.brokenInvariants() == [])
  }

  @Test("a refreshed new object is a fault, and nothing is broken")
  func refreshedNewObjectIsNotBroken() {
    context.refresh(new, mergeChanges: false)
    #expect(new.isFault && new.isInserted)
    #expect(context.brokenInvariants() == [])
  }

  @Test("what is saved of several changes leaves the lists; what was taken back before is not counted")
  func partlySavedBesideWithdrawn() throws {
    func insert() throws -> ManagedObject {
      try EntityDescription.insertNewObject(forEntityName: "Item", into: context)
    }
    let (written, rest) = (try insert(), try insert())
    context.delete(new)
    context.processPendingChanges()
    context.changes.forgetSaved([written])
    #expect(context.changes.inserted == [rest] && context.insertedObjects == [rest])
    #expect(context.changes.insertedCount == 1 && counts == [0, 0, 0])
    #expect(context.brokenInvariants() == [])
  }

  /// How many objects are edited, deleted, and deleted only because their rows are gone.
  private var counts: [Int] {
    [context.changes.updatedCount, context.changes.deletedCount, context.changes.missingCount]
  }

  @Test("an edit of a deleted object counts when the object stays after all", arguments: [false, true])
  func editOfADeletedObject(isMissing: Bool) {
    if isMissing { saved.state.becomeMissing(byBatch: false) }
    context.changes.delete(saved)
    #expect(counts == [0, 1, isMissing ? 1 : 0])
    saved["code"] = "edited"
    #expect(counts == [0, 1, 0])
    #expect(saved.isDeleted && !saved.isUpdated)
    #expect(context.brokenInvariants() == [])
    context.revive(saved)
    #expect(counts == [1, 0, 0])
    #expect(saved.isUpdated && context.updatedObjects == [saved])
    #expect(context.brokenInvariants() == [])
  }

  /// What a test breaks and what the check says of it.
  enum Fault: String, CaseIterable, Sendable {
    case countedWrongly = "are counted as inserted"
    case inNoList = "has changes and is in no list of changed objects"
    case newAndEdited = "is both new and edited"
    case newAndDeleted = "is both new and deleted"
    case newAndFault = "is new and a fault without values of its own"
    case notedNowhere = "is noted for a notification and not in its list"
    case inNoSave = "belongs to a save, and none is under way"
    case leaving = "is being deleted, and no deletion runs"
    case underAnotherKey = "is registered under another key"
    case doesNotKnow = "does not know that it is there"
    case frozenForNothing = "a layer waits for a save, and none is under way"
  }

  @Test("a broken state is found and named", arguments: Fault.allCases)
  func isFound(_ fault: Fault) throws {
    switch fault {
    case .countedWrongly: new.state.uninsert()
    case .inNoList: saved.state.update()
    case .newAndEdited: new.state.update()
    case .newAndDeleted: new.state.delete()
    case .newAndFault:
      new.state.becomeFault()
      new.draft = nil
    case .notedNowhere: saved.state.note(.update)
    case .inNoSave: saved.state.takeOff(.update, hasDraft: false)
    case .leaving: new.state.beginLeaving()
    case .underAnotherKey:
      let table = try #require(context.stores.table(for: saved.home))
      table.remove(saved.primaryKey)
      table.insert(saved, for: saved.primaryKey + 1_000)
    case .doesNotKnow: new.state.unlist(.insert)
    case .frozenForNothing:
      // A child sees the edits, so that they are in a layer.
      let child = ManagedObjectContext(.confinement, parent: context)
      _ = try child.count(for: FetchRequest<ManagedObject>(entityName: "Item"))
      _ = context.strata.freeze()
      withExtendedLifetime(child) {}
    }
    let broken = context.brokenInvariants()
    #expect(broken.contains { $0.contains(fault.rawValue) }, "\(broken)")
  }
}
