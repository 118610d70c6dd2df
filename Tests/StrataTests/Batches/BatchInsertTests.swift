import Foundation
@_spi(Testing) import Strata
import Testing

/// Batch inserts (rules 266–268, 272, 273).
struct BatchInsertTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  /// Inserts surfers with these emails, some rows at a time.
  @discardableResult
  private func insertSurfers(_ emails: [String], step: Int = 3) throws -> BatchResult {
    var request = BatchInsertRequest(
      entityName: "Surfer", objects: emails.map { ["email": $0, "name": "Kelly"] })
    request.resultType = .objectIDs
    request.step = step
    return try context.execute(request)
  }

  @Test("rule 272: an array of dictionaries becomes rows, defaults for what is not named")
  func dictionariesBecomeRows() throws {
    var request = BatchInsertRequest(
      entityName: "Entry",
      objects: [
        ["location": "Bells", "rating": 5, "height": 2.5], ["location": "Jan Juc", "notes": "windy"],
      ])
    request.resultType = .count
    let result = try context.execute(request)
    #expect(result.count == 2)
    #expect(result.result as? Int == 2)
    #expect(result.objectIDs == nil)
    let entries = try store.context().entries()
    #expect(entries.map(\.location) == ["Bells", "Jan Juc"])
    #expect(entries.map(\.rating) == [5, 3])
    #expect(entries[0].height == 2.5)
    #expect(entries[1].notes == "windy")
    #expect(try store.problems() == [])
  }

  @Test("rule 272: a dictionary handler is asked until it returns true, each time with an empty dictionary")
  func handlerFillsDictionaries() throws {
    var number = 0
    var sizes: [Int] = []
    var request = BatchInsertRequest(entityName: "Entry") { (values: inout [String: Any]) in
      sizes.append(values.count)
      if number == 10 { return true }
      values["location"] = "Reef \(number)"
      if number.isMultiple(of: 2) { values["rating"] = Int16(1) }
      number += 1
      return false
    }
    request.step = 4
    #expect(try context.execute(request).count == 10)
    #expect(sizes == Array(repeating: 0, count: 11))
    #expect(try store.context().entries().map(\.rating) == [1, 3, 1, 3, 1, 3, 1, 3, 1, 3])
  }

  @Test("rule 272: a managed object handler fills new objects of the entity's class, with their final IDs")
  func handlerFillsObjects() throws {
    var made: [ManagedObjectID] = []
    var request = BatchInsertRequest(entityName: "Entry") { (object: ManagedObject) in
      guard let entry = object as? Entry, made.count < 700 else { return true }
      entry.location = "Spot \(made.count)"
      entry.mood = "transient values go nowhere"
      made.append(entry.objectID)
      return false
    }
    request.resultType = .objectIDs
    let result = try context.execute(request)
    #expect(result.objectIDs == made)
    #expect(
      try store.context().existingObject(with: made[699]).value(forKey: "location") as? String == "Spot 699")
    #expect(try store.context().entryCount() == 700)
    #expect(!context.hasChanges)
    #expect(try store.problems() == [])
  }

  @Test("rule 268: the answer is the status, the IDs in order, or the number")
  func resultTypes() throws {
    let ids = try #require(try insertSurfers(["a", "b", "c", "d"]).objectIDs)
    #expect(ids.count == 4)
    let emails = try ids.map { try context.existingObject(with: $0).value(forKey: "email") as? String }
    #expect(emails == ["a", "b", "c", "d"])
    let request = BatchInsertRequest(entityName: "Note", objects: [["key": "k"]])
    #expect(request.resultType == .statusOnly)
    #expect(try context.execute(request).result as? Bool == true)
    #expect([BatchResultType.statusOnly, .objectIDs, .count].map(\.rawValue) == [0, 1, 2])
    #expect(request.requestType.rawValue == 5)
  }

  @Test("rule 273: a missing mandatory value is an error that names record and key, and nothing is written")
  func missingValuesAreRefused() throws {
    let request = BatchInsertRequest(
      entityName: "Entry", objects: [["location": "Bells"], ["rating": 1]])
    let error = #expect(throws: CoreDataError.self) { try context.execute(request) }
    #expect(error?.code == .validationMissingMandatoryProperty)
    #expect(error?.userInfo[CoreDataError.Key.validationKey] as? String == "location")
    #expect(error?.description.contains("Record 2") == true)
    #expect(try context.entryCount() == 0)
  }

  @Test(
    "rule 273: duplicates are refused, in the store, in one step of the batch and across steps",
    arguments: 0..<3)
  func duplicatesAreRefused(kind: Int) throws {
    try insertSurfers(["stored"])
    let emails = [["new", "stored"], ["x", "x"], ["x", "1", "2", "3", "4", "x"]][kind]
    let error = #expect(throws: CoreDataError.self) { try insertSurfers(emails) }
    #expect(error?.code == .managedObjectConstraintMerge)
    #expect(try store.context().count(for: FetchRequest<Surfer>(entityName: "Surfer")) == 1)
    // Nothing is poisoned (rule 204).
    try insertSurfers(["fine"])
    #expect(try store.problems() == [])
  }

  @Test("rule 270, better: what would break the model is refused with a clear error")
  func brokenValuesAreRefused() throws {
    func error(_ values: [String: Any], _ entity: String = "Entry") -> String {
      do {
        try context.execute(BatchInsertRequest(entityName: entity, objects: [values]))
        return "none"
      } catch {
        return "\(error)"
      }
    }
    #expect(error(["location": "x", "waves": 1]).contains("Entry has no property “waves”"))
    #expect(error(["location": 7]).contains("is of type string and cannot take Int 7"))
    #expect(error(["location": "x", "rating": 70_000]).contains("integer16"))
    #expect(error(["location": "x", "mood": "good"]).contains("is transient"))
    #expect(error(["location": NSNull()]).contains("required"))
    #expect(error(["name": "x"], "Spot").contains("is abstract"))
    #expect(error([:], "Nowhere").contains("no entity named “Nowhere”"))
    #expect(try context.entryCount() == 0)
  }

  @Test("rule 266: objects of the context are not read, and no save hook is called")
  func unsavedChangesStayUnsaved() throws {
    Entry.make("unsaved", in: context)
    let recorder = NotificationRecorder(context)
    try insertSurfers(["a"])
    #expect(context.insertedObjects.count == 1)
    #expect(!recorder.names.contains(.didSave))
    #expect(try store.context().entryCount() == 0)
  }

  @Test("large values and many rows go through the file beside the store, which is gone afterwards")
  func largeValuesAreKept() throws {
    let photo = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 * 7) })
    var number = 0
    var request = BatchInsertRequest(entityName: "Entry") { (values: inout [String: Any]) in
      if number == 120 { return true }
      values = ["location": "Reef \(1_000 + number)", "photo": photo + Data([UInt8(number)])]
      number += 1
      return false
    }
    request.step = 7
    try context.execute(request)
    let reader = store.context()
    let entries = try reader.entries()
    #expect(entries.count == 120)
    #expect(entries.enumerated().allSatisfy { $1.photo == photo + Data([UInt8($0)]) })
    let names = try FileManager.default.contentsOfDirectory(atPath: store.folderURL.path)
    #expect(names.allSatisfy { !$0.hasPrefix(".strata-batch") })
    #expect(try store.problems() == [])
  }

  @Test("every kind of value, composites by dictionary and transformables by their value")
  func everyKindOfValue() throws {
    let store = try TemporaryStore(ParcelModel.make())
    let context = store.context()
    try context.execute(
      BatchInsertRequest(
        entityName: "Parcel",
        objects: [
          [
            "label": "one", "tint": Tint(red: 0.5, green: 1),
            "address": ["city": "Torquay", "place": ["latitude": -38.3]],
          ],
          ["label": "two", "address.city": "Lorne", "seal": Seal("wax")],
        ]))
    var request = FetchRequest<Parcel>(entityName: "Parcel")
    request.sortDescriptors = [FetchSort("label")]
    let parcels = try store.context().fetch(request)
    try #require(parcels.count == 2)
    #expect(parcels[0].tint == Tint(red: 0.5, green: 1))
    #expect(parcels[0].value(forKeyPath: "address.place.latitude") as? Double == -38.3)
    #expect(parcels[1].address?["city"] as? String == "Lorne")
    #expect(parcels[1].seal == Seal("wax"))
    func error(_ values: [String: Any]) -> String {
      do {
        try context.execute(BatchInsertRequest(entityName: "Parcel", objects: [values]))
        return "none"
      } catch {
        return "\(error)"
      }
    }
    #expect(error(["address": ["planet": "Mars"]]).contains("has no element “planet”"))
    #expect(error(["seal": Seal("refused")]).contains("this is no seal"))
  }

  @Test("a cancelled insert writes nothing, and its progress says how far it was")
  func cancelledInsertsLeaveNothing() throws {
    let progress = BatchProgress()
    var number = 0
    var request = BatchInsertRequest(entityName: "Note") { (values: inout [String: Any]) in
      number += 1
      if number == 3_000 { progress.cancel() }
      values["key"] = "\(number)"
      return number > 10_000
    }
    request.progress = progress
    #expect(throws: CancellationError.self) { try context.execute(request) }
    #expect(number < 10_000)
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Note")) == 0)

    let done = BatchProgress()
    var whole = BatchInsertRequest(entityName: "Note", objects: (0..<10).map { ["key": "\($0)"] })
    whole.progress = done
    whole.step = 3
    try context.execute(whole)
    #expect(done.completedCount == 10)
    #expect(done.totalCount == 10)
  }

  @Test("rule 106: a batch goes to the stores it names")
  func affectedStoresCount() throws {
    var request = BatchInsertRequest(entityName: "Note", objects: [["key": "k"]])
    request.affectedStores = [UUID()]
    let error = #expect(throws: CoreDataError.self) { try context.execute(request) }
    #expect(error?.code == .persistentStoreSave)
    request.affectedStores = [store.identifier]
    #expect(try context.execute(request).count == 1)
  }

  @Test("a handler may save other contexts: the store's writer is not held meanwhile")
  func handlersMaySave() throws {
    var number = 0
    let other = store.context()
    let request = BatchInsertRequest(entityName: "Note") { (values: inout [String: Any]) in
      Entry.make("saved \(number)", in: other)
      try? other.save()
      number += 1
      values["key"] = "\(number)"
      return number == 4
    }
    #expect(try context.execute(request).count == 3)
    #expect(try store.context().entryCount() == 4)
  }
}
