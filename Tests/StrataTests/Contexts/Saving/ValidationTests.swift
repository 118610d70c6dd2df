import Foundation
import Strata
import Testing

/// Validation at save: required attributes, types, overrides, the errors (rules 136, 144, 224–233; section T).
struct ValidationTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  @Test("rule 224: objects may be invalid in memory; only a save looks")
  func onlyASaveLooks() throws {
    let entry = Entry.make(nil, in: context)
    context.processPendingChanges()
    #expect(try context.entryCount() == 1)
    #expect(throws: CoreDataError.self) { try entry.validateForInsert() }
    entry.location = "Bells"
    try entry.validateForInsert()
    try context.save()
  }

  @Test("rules 226, 228: one missing mandatory value is error 1570")
  func oneFailureIsThatError() {
    Entry.make(nil, in: context)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationMissingMandatoryProperty)
  }

  @Test("rule 227: the error names the object and the attribute, and says so in words")
  func errorNamesObjectAndKey() {
    let entry = Entry.make(nil, in: context)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.userInfo[CoreDataError.Key.validationObject] as? Entry === entry)
    #expect(error?.userInfo[CoreDataError.Key.validationKey] as? String == "location")
    #expect(error?.localizedDescription.contains("location") == true)
  }

  @Test("rules 144, 226: several failures are error 1560 with all of them, over several objects")
  func severalFailuresAreCollected() throws {
    Entry.make(nil, in: context)
    let surfer = Surfer(context: context)
    surfer.level = 2
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationMultipleErrors)
    let details = try #require(error?.userInfo[CoreDataError.Key.detailedErrors] as? [any Error])
    let keys = details.compactMap {
      ($0 as? CoreDataError)?.userInfo[CoreDataError.Key.validationKey] as? String
    }
    #expect(keys.sorted() == ["email", "location", "name"])
    #expect(details.allSatisfy { ($0 as? CoreDataError)?.code == .validationMissingMandatoryProperty })
  }

  @Test("rules 348, 354: the error bridges to NSError with Core Data's domain, codes and keys")
  func errorBridgesToNSError() {
    let entry = Entry.make(nil, in: context)
    do {
      try context.save()
      Issue.record("nothing was thrown")
    } catch {
      let bridged = error as NSError
      #expect(bridged.domain == "NSCocoaErrorDomain")
      #expect(bridged.code == 1570)
      #expect(bridged.userInfo["NSValidationErrorKey"] as? String == "location")
      #expect(bridged.userInfo["NSValidationErrorObject"] as? Entry === entry)
    }
  }

  @Test("rule 225: inserts, updates and deletes go through their own methods")
  func methodsByKindOfChange() throws {
    let diary = Diary(context: context)
    try context.save()
    diary.pages = 1
    try context.save()
    context.delete(diary)
    try context.save()
    #expect(
      diary.calls.filter { $0.hasPrefix("validate") }
        == ["validateForInsert", "validateForUpdate", "validateForDelete"])
  }

  @Test("rule 229: an override's own error comes through as it is")
  func ownErrorComesThrough() {
    struct TooManyPages: Error, Equatable { let pages: Int64 }
    let diary = Diary(context: context)
    diary.pages = 1_000
    diary.onValidate = { if $0.pages > 999 { throw TooManyPages(pages: $0.pages) } }
    #expect(throws: TooManyPages(pages: 1_000)) { try context.save() }
    #expect(context.insertedObjects == [diary])
    diary.pages = 5
    #expect(throws: Never.self) { try context.save() }
  }

  @Test("rule 226: an override's error and missing values of others are collected together")
  func ownErrorsAreCollected() throws {
    struct Torn: Error {}
    let diary = Diary(context: context)
    diary.onValidate = { _ in throw Torn() }
    Entry.make(nil, in: context)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationMultipleErrors)
    let details = try #require(error?.userInfo[CoreDataError.Key.detailedErrors] as? [any Error])
    #expect(details.count == 2)
    #expect(details.contains { $0 is Torn })
  }

  @Test("rule 225: validateForDelete may deny a deletion")
  func deletionMayBeDenied() throws {
    struct Denied: Error {}
    let diary = Diary(context: context)
    try context.save()
    diary.onValidate = { if $0.isDeleted { throw Denied() } }
    context.delete(diary)
    #expect(throws: Denied.self) { try context.save() }
    #expect(context.deletedObjects == [diary])
    context.rollback()
    try context.save()
    #expect(try store.context().diary() != nil)
  }

  @Test("rule 230: a value replaced while validating is the one saved")
  func validationMayReplaceValues() throws {
    let diary = Diary(context: context)
    diary.title = "  Winter "
    diary.onValidate = { $0.title = $0.title?.trimmingCharacters(in: .whitespaces) }
    try context.save()
    #expect(try store.context().diary()?.title == "Winter")
    #expect(!context.hasChanges)
  }

  @Test("rule 231: nil set on a mandatory attribute fails though it has a default")
  func nilDespiteDefault() throws {
    let diary = Diary(context: context)
    diary.title = nil
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationMissingMandatoryProperty)
    diary.title = "Winter"
    try context.save()
    diary["pages"] = nil
    #expect(throws: CoreDataError.self) { try context.save() }
    context.rollback()
    #expect(diary.pages == 0 && diary.title == "Winter")
  }

  @Test("rule 228: a mandatory attribute with a default is valid untouched")
  func defaultsAreValid() throws {
    _ = Diary(context: context)
    try context.save()
    #expect(try store.context().diary()?.title == "untitled")
  }

  @Test("rule 225: deleted objects need no values")
  func deletedObjectsNeedNoValues() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    entry.location = nil
    context.delete(entry)
    try context.save()
    #expect(try store.context().entryCount() == 0)
  }

  @Test("rule 225: a value of the wrong type traps when it is set, naming attribute and types")
  func wrongTypeTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer()
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      Entry.make("Bells", in: context).setValue("five", forKey: "rating")
    }
    expectTrap(result, says: "Entry.rating", "integer16", "String")
  }

  @Test(
    "rules 225, 228: a number that does not fit stays with the object and fails the save; the next value takes its place",
    arguments: [
      (40_000.0, CoreDataError.Code.validationNumberTooLarge), (-40_000, .validationNumberTooSmall),
      (3.5, .managedObjectValidation), (.nan, .managedObjectValidation),
    ])
  func numberThatDoesNotFit(_ number: Double, _ code: CoreDataError.Code) throws {
    let container = try makeDoomedContainer()
    let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
    let entry = Entry.make("Bells", in: context)
    entry.setValue(number, forKey: "rating")
    #expect((entry.value(forKey: "rating") as? Double)?.description == number.description)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == code && error?.userInfo[CoreDataError.Key.validationKey] as? String == "rating")
    entry.setValue(4, forKey: "rating")
    try context.save()
    #expect(entry.value(forKey: "rating") as? Int64 == 4)
  }

  @Test("rule 333: a slot accessor of another type traps", arguments: ["type", "slot"])
  func wrongSlotTraps(_ what: String) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [what] in
      let container = try makeDoomedContainer()
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      let entry = Entry.make("Bells", in: context)
      try context.save()
      _ = what == "type" ? entry.readInt64(slot: Entry.Slot.location.rawValue) : entry.readInt64(slot: 99)
    }
    expectTrap(result, says: "Entry", "slot")
  }
}
