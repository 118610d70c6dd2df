import CoreData
import Foundation
import Testing

/// A bird as Core Data's code writes it: it checks values through Apple's pointer, and has a number for nil.
final class CheckedBird: NSManagedObject {
  private(set) var checked: [String] = []

  override func validateValue(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey key: String)
    throws
  {
    try super.validateValue(value, forKey: key)
    checked.append(key)
    guard key == "name", let name = value.pointee as? String else { return }
    let trimmed = name.trimmingCharacters(in: .whitespaces)
    if trimmed.isEmpty {
      throw NSError(domain: "Birds", code: 7, userInfo: [NSLocalizedDescriptionKey: "A name is not blank."])
    }
    if trimmed != name { value.pointee = trimmed as NSString }
  }

  override func setNilValueForKey(_ key: String) {
    if key == "tally" { setValue(-1, forKey: "tally") } else { super.setNilValueForKey(key) }
  }
}

/// Says what its superclass finds wrong.
final class StrictSite: NSManagedObject {
  private(set) var found: [NSError] = []

  override func validateForInsert() throws { try noting { try super.validateForInsert() } }
  override func validateForUpdate() throws { try noting { try super.validateForUpdate() } }
  override func validateForDelete() throws { try noting { try super.validateForDelete() } }

  private func noting(_ check: () throws -> Void) throws {
    do {
      try check()
    } catch let error as NSError {
      found.append(error)
      throw error
    }
  }
}

@Suite("Validation as classes for Core Data override and call it")
struct ValidationMethodTests {
  let stand: BirdStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try BirdStand { model in
      model.entitiesByName["Bird"]?.managedObjectClass = CheckedBird.self
      model.entitiesByName["Site"]?.managedObjectClass = StrictSite.self
      model.entitiesByName["Site"]?.attributesByName["name"]?.isOptional = false
      model.entitiesByName["Site"]?.relationshipsByName["birds"]?.deleteRule = .denyDeleteRule
      model.entitiesByName["Site"]?.relationshipsByName["birds"]?.minCount = 1
      model.entitiesByName["Site"]?.relationshipsByName["birds"]?.isOptional = false
    }
    context = stand.context()
  }

  @Test(
    "rules 225, 229, 230: saves call an override with a pointer, which may replace the value; it needs no declaration"
  )
  func pointer() throws {
    let bird = CheckedBird(context: context)
    bird.setValue("  wren ", forKey: "name")
    try context.save()
    #expect(bird.value(forKey: "name") as? String == "wren")
    #expect(Set(bird.checked).isSuperset(of: ["name", "tally", "weight", "seenAt", "isRare", "site"]))
    bird.setValue("  ", forKey: "name")
    do {
      try context.save()
      Issue.record("saved a blank name")
    } catch let error as NSError {
      #expect(error.domain == "Birds" && error.code == 7)
    }
  }

  @Test("rule 228: a number that does not fit is reported once in a class that validates every value")
  func unfitting() throws {
    let bird = CheckedBird(context: context)
    bird.setValue("wren", forKey: "name")
    bird.setValue(NSNumber(value: UInt64.max), forKey: "tally")
    do {
      try context.save()
      Issue.record("saved")
    } catch let error as NSError {
      #expect(error.code == NSValidationNumberTooLargeError && error.userInfo[NSDetailedErrorsKey] == nil)
    }
    bird.setValue(nil, forKey: "tally")
    try context.save()
    #expect(bird.value(forKey: "tally") as? Int == -1)
  }

  @Test("rule 225: validateValue can be called with an AnyObject? and gives back what would be stored")
  func called() throws {
    let bird = CheckedBird(context: context)
    var value: AnyObject? = "wren " as NSString
    try bird.validateValue(&value, forKey: "name")
    #expect(value as? String == "wren")
    value = nil
    try bird.validateValue(&value, forKey: "name")
    #expect(value == nil)
    value = NSString("many")
    do {
      try bird.validateValue(&value, forKey: "tally")
      Issue.record("took a text for a number")
    } catch let error as NSError {
      #expect(error.domain == NSCocoaErrorDomain && error.code == NSManagedObjectValidationError)
      #expect(error.userInfo[NSValidationKeyErrorKey] as? String == "tally")
    }
    let site = StrictSite(context: context)
    value = NSSet(object: bird)
    try site.validateValue(&value, forKey: "birds")
    #expect((value as? NSSet)?.anyObject() as? CheckedBird === bird)
  }

  @Test("setValue(nil, forKey:) of a number goes through setNilValueForKey; of a text it does not")
  func nilForNumbers() throws {
    let bird = CheckedBird(context: context)
    bird.setValue(5, forKey: "tally")
    bird.setValue(nil, forKey: "tally")
    #expect(bird.value(forKey: "tally") as? Int == -1)
    bird.setValue(1.5, forKey: "weight")
    bird.setValue(nil, forKey: "weight")
    bird.setValue(nil, forKey: "name")
    bird.setValue(nil, forKey: "site")
    #expect(bird.value(forKey: "weight") == nil && bird.value(forKey: "name") == nil)
    bird.setNilValueForKey("tally")
    #expect(bird.value(forKey: "tally") as? Int == -1)
    let entity = NSEntityDescription()
    entity.name = "Tally"
    let count = NSAttributeDescription()
    count.name = "count"
    count.type = .integer32
    entity.properties = [count]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let plain = NSManagedObject(entity: entity, insertInto: nil)
    plain.setValue(3, forKey: "count")
    plain.setNilValueForKey("count")
    #expect(plain.value(forKey: "count") == nil && model.entities.count == 1)
  }

  @Test(
    "rules 226, 227: overrides of validateForInsert, Update and Delete catch NSErrors with Core Data's codes and keys, and so do their callers"
  )
  func caught() throws {
    let site = StrictSite(context: context)
    do {
      try site.validateForInsert()
      Issue.record("valid")
    } catch let error as NSError {
      #expect(error.domain == NSCocoaErrorDomain && error.code == NSValidationMultipleErrorsError)
      let details = try #require(error.userInfo[NSDetailedErrorsKey] as? [NSError])
      #expect(Set(details.map(\.code)) == [1570, 1580])
      #expect(Set(details.map { $0.userInfo[NSValidationKeyErrorKey] as? String }) == ["name", "birds"])
      #expect(details.allSatisfy { $0.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === site })
    }
    #expect(site.found.map(\.code) == [1560])
    do {
      try context.save()
      Issue.record("saved")
    } catch let error as NSError {
      #expect(error.code == NSValidationMultipleErrorsError)
      #expect((error.userInfo[NSDetailedErrorsKey] as? [NSError])?.map(\.code).sorted() == [1570, 1580])
    }
    let bird = CheckedBird(context: context)
    bird.setValue(site, forKey: "site")
    site.setValue("Wood", forKey: "name")
    try context.save()

    site.setValue(nil, forKey: "name")
    do { try site.validateForUpdate() } catch CocoaError.validationMissingMandatoryProperty {
    } catch { Issue.record(error) }
    site.setValue("Wood", forKey: "name")
    context.delete(site)
    do {
      try site.validateForDelete()
      Issue.record("may go")
    } catch let error as CocoaError {
      #expect(error.code == .validationRelationshipDeniedDelete && error.validationKey == "birds")
      #expect(error.validationObject as? NSManagedObject === site)
    }
    #expect(site.found.last?.code == NSValidationRelationshipDeniedDeleteError)
  }
}
