import CoreData
import Foundation
import Testing

@Suite("Errors as Core Data throws them")
struct ErrorTests {
  let context: NSManagedObjectContext

  init() throws {
    context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
  }

  @Test("A save that fails can be caught as NSError, as CocoaError, and by its code")
  func caught() throws {
    try context.performAndWait {
      let entry = Entry(context: context)
      do {
        try context.save()
        Issue.record("saved without a title")
      } catch let error as NSError {
        #expect(error.domain == NSCocoaErrorDomain && error.code == NSValidationMissingMandatoryPropertyError)
        #expect(error.userInfo[NSValidationKeyErrorKey] as? String == "title")
        #expect(error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === entry)
      }
      do { try context.save() } catch {
        #expect((error as? CocoaError)?.code == .validationMissingMandatoryProperty)
        #expect((error as? CocoaError)?.validationKey == "title")
      }
      do { try context.save() } catch CocoaError.validationMissingMandatoryProperty {
      } catch {
        Issue.record(error)
      }
      // Two objects: the single errors are in the user info.
      _ = Entry(context: context)
      do { try context.save() } catch let error as NSError {
        #expect(error.code == NSValidationMultipleErrorsError)
        let details = try #require(error.userInfo[NSDetailedErrorsKey] as? [NSError])
        #expect(details.map(\.code) == [1570, 1570])
      }
    }
  }

  @Test("An unknown object, an unknown store type, a file that is no store")
  func others() throws {
    let coordinator = try #require(context.persistentStoreCoordinator)
    context.performAndWait {
      let entry = Entry(context: context)
      let id = entry.objectID
      context.delete(entry)
      do {
        _ = try context.existingObject(with: id)
        Issue.record("found")
      } catch {
        #expect((error as NSError).code == NSManagedObjectReferentialIntegrityError)
      }
    }
    func code(_ type: String, _ url: URL?) -> Int? {
      do {
        try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url)
        return nil
      } catch { return (error as? CocoaError)?.code.rawValue }
    }
    #expect(code("XML", nil) == NSPersistentStoreInvalidTypeError)
    let file = try Journal.makeFolder().appendingPathComponent("a.sqlite")
    try Data("SQLite format 3".utf8).write(to: file)
    #expect(code(NSSQLiteStoreType, file) == NSFileReadCorruptFileError)
    #expect(try Data(contentsOf: file) == Data("SQLite format 3".utf8))
    #expect(code(NSSQLiteStoreType, nil) == NSPersistentStoreOpenError)
  }

  @Test("A conflict under the error policy carries the conflicts")
  func conflicts() throws {
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    let entry = try context.performAndWait {
      let entry = Entry(context: context)
      entry.title = "a"
      try context.save()
      return entry
    }
    let id = entry.objectID
    try other.performAndWait {
      (try other.existingObject(with: id) as! Entry).title = "theirs"
      try other.save()
    }
    let policy: Any = context.mergePolicy
    #expect((policy as? NSMergePolicy)?.mergeType == .errorMergePolicyType)
    context.performAndWait {
      entry.title = "ours"
      do {
        try context.save()
        Issue.record("saved over a newer row")
      } catch let error as CocoaError {
        #expect(error.code == .managedObjectMerge)
        let conflict = error.persistentStoreSaveConflicts?.first
        #expect(conflict?.sourceObject === entry && conflict?.cachedSnapshot?["title"] as? String == "theirs")
      } catch { Issue.record(error) }
      context.mergePolicy = NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
      #expect(throws: Never.self) { try context.save() }
      #expect(entry.title == "theirs")
    }
  }
}
