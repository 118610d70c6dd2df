import Foundation
import Strata
import Testing

/// Two contexts, one row: optimistic locking and the five merge policies (section I).
struct ConflictTests {
  let store: TemporaryStore
  let mine: ManagedObjectContext
  let theirs: ManagedObjectContext
  /// The row both work on, as each sees it: “Bells”, rating 1, height 1, notes “base”.
  let entry: Entry
  let rival: Entry

  init() throws {
    store = try TemporaryStore()
    mine = store.context()
    theirs = store.context()
    entry = Entry.make("Bells", rating: 1, height: 1, in: mine)
    entry.notes = "base"
    try mine.save()
    rival = try theirs.entry("Bells")
    _ = rival.rating
  }

  /// Both change notes; rating is changed here only, height there only.
  private func makeUpdateUpdate() throws {
    entry.notes = "mine"
    entry.rating = 5
    rival.notes = "theirs"
    rival.height = 2
    try theirs.save()
  }

  /// Notes, rating and height of the stored row; nil when it is gone.
  private func stored() throws -> Values? { try store.context().entries().first.map(Values.init) }

  private struct Values: Equatable {
    var notes: String?
    var rating: Int16
    var height: Double
    init(_ notes: String?, _ rating: Int16, _ height: Double) {
      (self.notes, self.rating, self.height) = (notes, rating, height)
    }
    init(_ entry: Entry) { self.init(entry.notes, entry.rating, entry.height) }
  }

  // MARK: Policies

  @Test("rule 188: policies have Core Data's raw values, are singletons, and error is the default")
  func policies() {
    let policies: [(MergePolicy, MergePolicyType, UInt)] = [
      (.error, .error, 0), (.mergeByPropertyStoreTrump, .mergeByPropertyStoreTrump, 1),
      (.mergeByPropertyObjectTrump, .mergeByPropertyObjectTrump, 2), (.overwrite, .overwrite, 3),
      (.rollback, .rollback, 4),
    ]
    for (policy, type, raw) in policies {
      #expect(policy.mergeType == type && type.rawValue == raw)
    }
    #expect(mine.mergePolicy === MergePolicy.error)
    mine.mergePolicy = .overwrite
    #expect(mine.mergePolicy === MergePolicy.overwrite)
  }

  // MARK: Update against update

  @Test("rule 192: under the error policy the save fails with 133020, nothing is written, changes stay")
  func errorPolicyRefusesTheSave() throws {
    try makeUpdateUpdate()
    let bystander = Entry.make("bystander", in: mine)
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect(error.map { ($0 as NSError).code } == 133_020)
    #expect(mine.updatedObjects == [entry] && mine.insertedObjects == [bystander])
    #expect(entry.notes == "mine" && entry.rating == 5)
    #expect(try store.context().entries().map(Values.init) == [Values("theirs", 1, 2)])
  }

  @Test("rule 192: the error names the record and what both sides have done to it")
  func errorsNameWhatIsInConflict() throws {
    try makeUpdateUpdate()
    let changed = #expect(throws: CoreDataError.self) { try mine.save() }
    let record = "Entry/\(entry.objectID.uriRepresentation().lastPathComponent): another writer has"
    let sides = try #require(
      changed?.localizedDescription.firstMatch(
        of: /another writer has changed (.+), this context has changed (.+)\./))
    #expect(changed?.localizedDescription.contains(record) == true)
    #expect(Set(sides.1.split(separator: ", ")) == ["height", "notes"])
    #expect(Set(sides.2.split(separator: ", ")) == ["notes", "rating"])

    mine.delete(entry)
    let deleted = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(deleted?.localizedDescription.hasSuffix("this context has deleted it.") == true)

    mine.rollback()
    mine.refresh(entry, mergeChanges: false)
    entry.rating = 9
    theirs.delete(rival)
    try theirs.save()
    let gone = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(
      gone?.localizedDescription.hasSuffix("\(record) deleted it, this context has changed rating.") == true,
      "\(gone?.localizedDescription ?? "")")
  }

  @Test("rules 191, 193: the conflict has what was read, what is stored, and the versions")
  func conflictTellsBothSides() throws {
    try makeUpdateUpdate()
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    let list = error?.userInfo[CoreDataError.Key.saveConflicts] as? [MergeConflict]
    let conflict = try #require(list?.only)
    #expect(conflict.sourceObject === entry)
    #expect(conflict.objectSnapshot?["notes"] as? String == "base")
    #expect(conflict.cachedSnapshot?["notes"] as? String == "theirs")
    #expect(conflict.cachedSnapshot?["height"] as? Double == 2)
    #expect(conflict.persistedSnapshot == nil)
    #expect(conflict.newVersionNumber == conflict.oldVersionNumber + 1)
    #expect(conflict.cachedSnapshot?["mood"] == nil)
  }

  @Test("rule 192: after a refused save a refresh with merging makes the next one succeed")
  func refreshAfterARefusedSave() throws {
    try makeUpdateUpdate()
    #expect(throws: CoreDataError.self) { try mine.save() }
    mine.refresh(entry, mergeChanges: true)
    try mine.save()
    #expect(try stored() == Values("mine", 5, 2))
  }

  @Test("rule 194: store trump: both sides changed: the store's; changed here only: kept and saved")
  func storeTrump() throws {
    try makeUpdateUpdate()
    mine.mergePolicy = .mergeByPropertyStoreTrump
    try mine.save()
    #expect(try stored() == Values("theirs", 5, 2))
    #expect(Values(entry) == Values("theirs", 5, 2))
    #expect(!mine.hasChanges && entry.changedValues().isEmpty)
  }

  @Test("rule 195: object trump: both sides changed: the object's; changed there only: comes into the object")
  func objectTrump() throws {
    try makeUpdateUpdate()
    mine.mergePolicy = .mergeByPropertyObjectTrump
    try mine.save()
    #expect(try stored() == Values("mine", 5, 2))
    #expect(Values(entry) == Values("mine", 5, 2))
    #expect(!mine.hasChanges)
  }

  @Test("rule 196: overwrite writes the whole object, reverting what others changed")
  func overwrite() throws {
    try makeUpdateUpdate()
    mine.mergePolicy = .overwrite
    try mine.save()
    #expect(try stored() == Values("mine", 5, 1))
    #expect(Values(entry) == Values("mine", 5, 1))
    #expect(!mine.hasChanges)
  }

  @Test("rule 197: rollback drops the object's changes, the save succeeds")
  func rollback() throws {
    try makeUpdateUpdate()
    mine.mergePolicy = .rollback
    Entry.make("saved all the same", in: mine)
    try mine.save()
    #expect(try stored() == Values("theirs", 1, 2))
    #expect(Values(entry) == Values("theirs", 1, 2))
    #expect(!mine.hasChanges && entry.changedValues().isEmpty)
    #expect(try store.context().entryCount() == 2)
  }

  @Test(
    "rules 194–197: the row saved under a policy can be edited and saved again without a conflict",
    arguments: [
      MergePolicyType.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
    ])
  func nextSaveAfterAPolicy(_ type: MergePolicyType) throws {
    try makeUpdateUpdate()
    mine.mergePolicy = MergePolicy(merge: type)
    try mine.save()
    mine.mergePolicy = .error
    entry.rating = 4
    try mine.save()
    #expect(try stored()?.rating == 4)
  }

  @Test("rule 194: store trump where everything changed here was changed there writes nothing")
  func storeTrumpWithNothingLeft() throws {
    entry.notes = "mine"
    rival.notes = "theirs"
    try theirs.save()
    mine.mergePolicy = .mergeByPropertyStoreTrump
    try mine.save()
    #expect(entry.notes == "theirs" && !mine.hasChanges)
    // There was no write since: the rival's next save is no conflict.
    rival.notes = "theirs again"
    try theirs.save()
  }

  @Test("rules 194, 195: nil is a value like any other", arguments: [true, false])
  func nilIsAValue(_ storeWins: Bool) throws {
    entry.notes = nil
    entry.rating = 5
    rival.notes = "theirs"
    try theirs.save()
    mine.mergePolicy = storeWins ? .mergeByPropertyStoreTrump : .mergeByPropertyObjectTrump
    try mine.save()
    #expect(try stored() == Values(storeWins ? "theirs" : nil, 5, 1))
  }

  @Test("rules 58, 188: an object changed by a policy is notified, with the flag 64")
  func policyTellsTheObject() throws {
    let diary = Diary(context: mine)
    try mine.save()
    let other = try #require(try theirs.diary())
    other.pages = 7
    try theirs.save()
    diary.title = "mine"
    mine.mergePolicy = .mergeByPropertyObjectTrump
    try mine.save()
    #expect(diary.snapshotEvents == [.mergePolicy])
    #expect(diary.pages == 7 && diary.title == "mine")
  }

  @Test("rule 135: hooks are not called again for the second attempt")
  func hooksAreNotCalledAgain() throws {
    let diary = Diary(context: mine)
    try mine.save()
    let other = try #require(try theirs.diary())
    other.pages = 7
    try theirs.save()
    _ = diary.takeCalls()
    diary.title = "mine"
    mine.mergePolicy = .mergeByPropertyObjectTrump
    try mine.save()
    #expect(diary.count(of: "willSave") == 1 && diary.count(of: "didSave") == 1)
  }

  @Test("rule 198: changes to different objects do not conflict")
  func differentObjectsDoNotConflict() throws {
    let second = Entry.make("Winki", in: mine)
    try mine.save()
    entry.rating = 5
    (theirs.object(with: second.objectID) as? Entry)?.rating = 4
    try theirs.save()
    try mine.save()
    #expect(try store.context().entries().map(\.rating) == [5, 4])
  }

  @Test("rule 189: changes to different attributes of one row do conflict")
  func differentAttributesConflict() throws {
    entry.rating = 5
    rival.height = 2
    try theirs.save()
    #expect(throws: CoreDataError.self) { try mine.save() }
  }

  @Test("rule 75: an edit that is set back to the old value is no conflict and writes nothing")
  func editTakenBackIsNoConflict() throws {
    rival.notes = "theirs"
    try theirs.save()
    entry.rating = 5
    entry.rating = 1
    try mine.save()
    #expect(try stored() == Values("theirs", 1, 1))
  }

  @Test("rule 189: several rows in conflict are reported together")
  func allConflictsAreReported() throws {
    let entries = ["a", "b", "c"].map { Entry.make($0, in: mine) } + [entry]
    try mine.save()
    for entry in try theirs.entries() { entry.height = 9 }
    try theirs.save()
    for entry in entries { entry.rating = 2 }
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    let list = error?.userInfo[CoreDataError.Key.saveConflicts] as? [MergeConflict]
    #expect(list?.count == 4)
  }

  @Test("rule 193: large values show as read and as stored, and reading the object afterwards gives its own")
  func largeValuesInConflicts() throws {
    let (base, changed) = (Data(repeating: 1, count: 5_000), Data(repeating: 2, count: 6_000))
    entry.photo = base
    try mine.save()
    _ = entry.photo
    theirs.refresh(rival, mergeChanges: false)
    rival.photo = changed
    try theirs.save()
    entry.rating = 5
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    let list = error?.userInfo[CoreDataError.Key.saveConflicts] as? [MergeConflict]
    let conflict = try #require(list?.only)
    #expect(conflict.cachedSnapshot?["photo"] as? Data == changed)
    #expect(conflict.objectSnapshot?["photo"] as? Data == base)
    #expect(entry.photo == base)
    mine.mergePolicy = .mergeByPropertyObjectTrump
    try mine.save()
    #expect(entry.photo == changed && entry.rating == 5)
    let reader = store.context()
    #expect(try reader.entry("Bells").photo == changed)
  }

  // MARK: Update against deletion (decided in rule 199)

  private func makeUpdateDelete() throws {
    entry.rating = 5
    theirs.delete(rival)
    try theirs.save()
  }

  @Test("rules 191, 199: updated here, deleted there: the error policy fails, new version 0, no snapshot")
  func updateDeleteUnderError() throws {
    try makeUpdateDelete()
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(error?.code == .managedObjectMerge)
    let list = error?.userInfo[CoreDataError.Key.saveConflicts] as? [MergeConflict]
    let conflict = try #require(list?.only)
    #expect(conflict.newVersionNumber == 0 && conflict.cachedSnapshot == nil)
    #expect(conflict.objectSnapshot?["rating"] as? Int64 == 1)
    #expect(entry.isUpdated && entry.rating == 5)
    #expect(try stored() == nil)
  }

  @Test(
    "rule 199: updated here, deleted there: overwrite and object trump write the row again under its ID",
    arguments: [MergePolicyType.overwrite, .mergeByPropertyObjectTrump])
  func updateDeleteReinserts(_ type: MergePolicyType) throws {
    try makeUpdateDelete()
    let id = entry.objectID
    mine.mergePolicy = MergePolicy(merge: type)
    try mine.save()
    #expect(try stored() == Values("base", 5, 1))
    #expect(entry.objectID == id && !entry.objectID.isTemporaryID)
    #expect(!entry.hasChanges && entry.managedObjectContext === mine)
    #expect((try store.context().existingObject(with: id) as? Entry)?.location == "Bells")
    mine.mergePolicy = .error
    entry.rating = 4
    try mine.save()
    #expect(try stored()?.rating == 4)
  }

  @Test(
    "rule 199: updated here, deleted there: rollback and store trump let the object go",
    arguments: [MergePolicyType.rollback, .mergeByPropertyStoreTrump])
  func updateDeleteDrops(_ type: MergePolicyType) throws {
    try makeUpdateDelete()
    mine.mergePolicy = MergePolicy(merge: type)
    Entry.make("saved all the same", in: mine)
    try mine.save()
    #expect(entry.managedObjectContext == nil && !entry.hasChanges)
    #expect(entry.location == "Bells")
    #expect(!mine.hasChanges)
    #expect(mine.registeredObject(for: entry.objectID) == nil)
    #expect(try store.context().entries().map(\.location) == ["saved all the same"])
    #expect(try mine.entries().map(\.location) == ["saved all the same"])
  }

  // MARK: Deletion against update

  private func makeDeleteUpdate() throws {
    mine.delete(entry)
    rival.notes = "theirs"
    try theirs.save()
  }

  @Test("rule 189: deleted here, updated there: the error policy fails, the deletion stays pending")
  func deleteUpdateUnderError() throws {
    try makeDeleteUpdate()
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect(entry.isDeleted && mine.deletedObjects == [entry])
    #expect(try stored() == Values("theirs", 1, 1))
  }

  @Test(
    "rules 189, 195, 196: deleted here, updated there: overwrite and object trump delete",
    arguments: [MergePolicyType.overwrite, .mergeByPropertyObjectTrump])
  func deleteUpdateDeletes(_ type: MergePolicyType) throws {
    try makeDeleteUpdate()
    mine.mergePolicy = MergePolicy(merge: type)
    try mine.save()
    #expect(try stored() == nil)
    #expect(entry.managedObjectContext == nil && !mine.hasChanges)
  }

  @Test(
    "rules 189, 194, 197: deleted here, updated there: rollback and store trump keep row and object",
    arguments: [MergePolicyType.rollback, .mergeByPropertyStoreTrump])
  func deleteUpdateKeeps(_ type: MergePolicyType) throws {
    try makeDeleteUpdate()
    mine.mergePolicy = MergePolicy(merge: type)
    try mine.save()
    #expect(try stored() == Values("theirs", 1, 1))
    #expect(!entry.isDeleted && entry.managedObjectContext === mine)
    #expect(Values(entry) == Values("theirs", 1, 1))
    #expect(!mine.hasChanges && mine.deletedObjects.isEmpty)
    #expect(try mine.entries() == [entry])
    entry.rating = 4
    try mine.save()
    #expect(try stored()?.rating == 4)
  }

  // MARK: Deletion against deletion

  @Test(
    "rule 189: deleted on both sides is no conflict under any policy",
    arguments: [
      MergePolicyType.error, .rollback, .overwrite, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump,
    ])
  func deleteDelete(_ type: MergePolicyType) throws {
    mine.delete(entry)
    theirs.delete(rival)
    try theirs.save()
    mine.mergePolicy = MergePolicy(merge: type)
    Entry.make("new", in: mine)
    try mine.save()
    #expect(!mine.hasChanges && entry.managedObjectContext == nil)
    #expect(try store.context().entries().map(\.location) == ["new"])
  }

  // MARK: Locked objects

  @Test("rule 189: detectConflicts extends the check to objects that were only read")
  func detectConflicts() throws {
    mine.detectConflicts(for: entry)
    rival.notes = "theirs"
    try theirs.save()
    Entry.make("depends on it", in: mine)
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect(try store.context().entryCount() == 1)
    mine.refresh(entry, mergeChanges: true)
    try mine.save()
    #expect(try store.context().entryCount() == 2)
  }

  @Test("rule 189: a locked object without changes elsewhere causes no conflict; the lock ends with the save")
  func lockEndsWithTheSave() throws {
    mine.detectConflicts(for: entry)
    Entry.make("first", in: mine)
    try mine.save()
    rival.notes = "theirs"
    try theirs.save()
    Entry.make("second", in: mine)
    try mine.save()
    #expect(try store.context().entryCount() == 3)
  }

  /// Edits that leave all stored values of an entry as they were.
  enum EmptyEdit: CaseIterable, Sendable {
    case transient, setBack

    func make(_ entry: Entry) {
      switch self {
      case .transient: entry.mood = "calm"
      case .setBack:
        entry.rating = 5
        entry.rating = 1
      }
    }
  }

  @Test(
    "rule 189: an edit that leaves the values as they were does not end the check of a locked object",
    arguments: EmptyEdit.allCases)
  func lockOfAnObjectEditedInVain(_ edit: EmptyEdit) throws {
    mine.detectConflicts(for: entry)
    edit.make(entry)
    #expect(mine.updatedObjects == [entry])
    rival.notes = "theirs"
    try theirs.save()
    Entry.make("depends on it", in: mine)
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect(try store.context().entryCount() == 1)
    mine.refresh(entry, mergeChanges: true)
    try mine.save()
    #expect(try store.context().entryCount() == 2)
    #expect(try store.context().entry("Bells").notes == "theirs")
  }

  // MARK: Own policies

  @Test("rule 201: a subclass edits the objects and calls super, which settles the rest")
  func ownPolicy() throws {
    try makeUpdateUpdate()
    let policy = AppendingPolicy(merge: .mergeByPropertyObjectTrump)
    mine.mergePolicy = policy
    try mine.save()
    #expect(policy.conflictCount == 1)
    #expect(try stored() == Values("mine + theirs", 5, 2))
    #expect(!mine.hasChanges)
  }

  @Test("rule 201: a subclass's own error ends the save and keeps the changes")
  func ownPolicyMayRefuse() throws {
    try makeUpdateUpdate()
    mine.mergePolicy = RefusingPolicy(merge: .overwrite)
    #expect(throws: RefusingPolicy.Refused.self) { try mine.save() }
    #expect(mine.updatedObjects == [entry] && entry.notes == "mine")
    mine.mergePolicy = .overwrite
    try mine.save()
    #expect(try stored()?.notes == "mine")
  }

  // MARK: Uniqueness

  @Test("rule 204: a duplicate fails the save with 133021 under the error policy and writes nothing")
  func duplicates() throws {
    Surfer.make("a@b", name: "Ann", in: theirs)
    try theirs.save()
    let duplicate = Surfer.make("a@b", name: "Bob", in: mine)
    Surfer.make("c@d", in: mine)
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    #expect(error.map { ($0 as NSError).code } == 133_021)
    #expect(
      (error?.userInfo[CoreDataError.Key.affectedObjects] as? [ManagedObject])?.contains(duplicate) == true)
    #expect(try store.context().count(for: FetchRequest<Surfer>(entityName: "Surfer")) == 1)
    #expect(mine.insertedObjects.count == 2)
    duplicate.email = "b@b"
    try mine.save()
    #expect(try store.context().count(for: FetchRequest<Surfer>(entityName: "Surfer")) == 3)
  }

  @Test("rule 202: two objects of one save with the same values violate the constraint, too")
  func duplicatesWithinASave() throws {
    Surfer.make("a@b", in: mine)
    let second = Surfer.make("a@b", in: mine)
    let error = #expect(throws: CoreDataError.self) { try mine.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    mine.delete(second)
    try mine.save()
    #expect(try store.context().count(for: FetchRequest<Surfer>(entityName: "Surfer")) == 1)
  }

  @Test("rule 206: a constraint of the parent entity holds between its subentities, and is reported once")
  func constraintInAHierarchy() throws {
    let store = try TemporaryStore(
      SurfModel.make { $0.entitiesByName["Spot"]?.uniquenessConstraints = [["name"]] })
    let context = store.context()
    _ = Beach("Bells", in: context)
    try context.save()
    let reef = Reef("Bells", in: context)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    #expect(error?.userInfo[CoreDataError.Key.affectedObjects] as? [ManagedObject] == [reef])
    reef.name = "Winki"
    try context.save()
    #expect(try store.context().count(for: FetchRequest<Spot>(entityName: "Spot")) == 2)
  }

  @Test("rule 204: values freed in the same save may be taken by another object")
  func valuesChangeHands() throws {
    let (one, two) = (Surfer.make("a@b", in: mine), Surfer.make("c@d", in: mine))
    try mine.save()
    one.email = "c@d"
    two.email = "a@b"
    try mine.save()
    mine.delete(one)
    two.email = "c@d"
    Surfer.make("a@b", in: mine)
    try mine.save()
    let emails = try store.context().fetch(
      FetchRequest<Surfer>(entityName: "Surfer", sortDescriptors: [FetchSort("email")]))
    #expect(emails.map(\.email) == ["a@b", "c@d"])
  }
}

/// Puts both sides' notes into the object.
private final class AppendingPolicy: MergePolicy, @unchecked Sendable {
  // Safe: used by one test on one thread.
  var conflictCount = 0

  override func resolve(mergeConflicts list: [Any]) throws {
    for case let conflict as MergeConflict in list {
      conflictCount += 1
      let theirs = conflict.cachedSnapshot?["notes"] as? String ?? "?"
      conflict.sourceObject["notes"] = "\(conflict.sourceObject["notes"] as? String ?? "?") + \(theirs)"
    }
    try super.resolve(mergeConflicts: list)
  }
}

private final class RefusingPolicy: MergePolicy, @unchecked Sendable {
  // Safe: has no state.
  struct Refused: Error {}
  override func resolve(mergeConflicts list: [Any]) throws { throw Refused() }
}
