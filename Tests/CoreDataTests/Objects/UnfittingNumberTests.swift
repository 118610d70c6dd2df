import CoreData
import Foundation
import Testing

@Suite("Numbers that do not fit their attribute (rules 225, 228)")
struct UnfittingNumberTests {
  let context: NSManagedObjectContext
  let entry: Entry

  init() throws {
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
    entry = Entry(context: context)
    entry.title = "a"
  }

  private func saveError() -> NSError? {
    do {
      try context.save()
      return nil
    } catch { return error as NSError }
  }

  private func code(_ body: () throws -> Void) -> Int? {
    do {
      try body()
      return nil
    } catch let error as CocoaError { return error.code.rawValue } catch { return -1 }
  }

  @Test(
    "rule 228: a number that an Integer 16 cannot hold stays with the object, fails the save with 1610 or 1620, and is gone with the next one",
    arguments: [
      (70_000 as NSNumber, 1610), (-70_000 as NSNumber, 1620), (NSNumber(value: UInt64.max), 1610),
      (NSNumber(value: 1e300), 1610), (NSNumber(value: -Double.infinity), 1620),
      (NSDecimalNumber(string: "99999999999999999999.5"), 1610),
    ])
  func outOfRange(_ number: NSNumber, _ code: Int) throws {
    entry.setValue(number, forKey: "rating")
    #expect(entry.value(forKey: "rating") as? NSNumber == number)
    #expect(entry.primitiveValue(forKey: "rating") as? NSNumber == number)
    #expect(entry.changedValues()["rating"] as? NSNumber == number)
    let error = try #require(saveError())
    #expect(error.domain == NSCocoaErrorDomain && error.code == code)
    #expect(error.userInfo[NSValidationKeyErrorKey] as? String == "rating")
    #expect(error.userInfo[NSValidationValueErrorKey] as? NSNumber == number)
    #expect(error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === entry)
    #expect(context.hasChanges)

    entry.setValue(7, forKey: "rating")
    #expect(entry.value(forKey: "rating") as? Int == 7)
    #expect(saveError() == nil)
    // Of an object that is stored: the row keeps what it has.
    entry.setValue(number, forKey: "rating")
    #expect(saveError()?.code == code)
    context.rollback()
    #expect(entry.value(forKey: "rating") as? Int == 7 && saveError() == nil)
  }

  @Test("Not a number is refused with 1550; nil after a number that does not fit is nil")
  func notANumber() throws {
    entry.setValue(Double.nan, forKey: "rating")
    #expect(saveError()?.code == NSManagedObjectValidationError)
    entry.setValue(NSDecimalNumber.notANumber, forKey: "rating")
    #expect(saveError()?.code == NSManagedObjectValidationError)
    entry.setValue(70_000, forKey: "rating")
    entry.setValue(nil, forKey: "rating")
    #expect(entry.value(forKey: "rating") == nil)
    #expect(saveError()?.code == NSValidationMissingMandatoryPropertyError)
  }

  @Test("A fraction is cut off, a number that is no truth value is true unless it is zero")
  func cutOff() throws {
    entry.setValue(3.7, forKey: "rating")
    #expect(entry.value(forKey: "rating") as? Int == 3)
    entry.setValue(NSDecimalNumber(string: "-3.7"), forKey: "rating")
    #expect(entry.value(forKey: "rating") as? Int == -3)
    entry.setValue(2, forKey: "isPinned")
    #expect(entry.value(forKey: "isPinned") as? Bool == true)
    entry.setValue(0.0, forKey: "isPinned")
    #expect(entry.value(forKey: "isPinned") as? Bool == false)
    try context.save()
  }

  @Test(
    "Undo brings a number that does not fit back, and takes it away"
  )
  func undone() throws {
    context.undoManager = UndoManager()
    entry.rating = 5
    try context.save()
    entry.setValue(70_000, forKey: "rating")
    context.processPendingChanges()
    entry.setValue(80_000, forKey: "rating")
    context.processPendingChanges()
    context.undo()
    #expect(entry.value(forKey: "rating") as? Int == 70_000 && saveError()?.code == 1610)
    context.undo()
    #expect(entry.value(forKey: "rating") as? Int == 5 && saveError() == nil)
  }

  @Test("Asked for directly, validation says the same")
  func onRequest() throws {
    var value: AnyObject? = NSNumber(value: 70_000)
    #expect(code { try entry.validateValue(&value, forKey: "rating") } == 1610)
    value = NSNumber(value: 3.7)
    try entry.validateValue(&value, forKey: "rating")
    #expect(value as? Int == 3)
    entry.setValue(70_000, forKey: "rating")
    #expect(code { try entry.validateForInsert() } == 1610)
  }
}
