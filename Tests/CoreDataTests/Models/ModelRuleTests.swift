import CoreData
import Foundation
import Testing

@Suite("Rules of models by Apple's names")
struct ModelRuleTests {
  private func birds(_ change: (NSManagedObjectModel) -> Void) throws -> NSManagedObjectContext {
    try BirdStand(change).context()
  }

  @Test(
    "rules 227, 228: validation predicates are NSPredicates on the value; their warnings are what the error says"
  )
  func predicates() throws {
    let context = try birds { model in
      let name = model.entitiesByName["Bird"]?.attributesByName["name"]
      name?.setValidationPredicates(
        [NSPredicate(format: "SELF MATCHES %@", "[a-z]+"), NSPredicate(format: "length < 6")],
        withValidationWarnings: ["Small letters only.", "Too long."])
      let tally = model.entitiesByName["Bird"]?.attributesByName["tally"]
      tally?.setValidationPredicates(
        [NSPredicate(format: "SELF >= 0 AND SELF < %d", 100)], withValidationWarnings: nil)
      let birds = model.entitiesByName["Site"]?.relationshipsByName["birds"]
      birds?.setValidationPredicates([NSPredicate(format: "SELF.@count < 2")], withValidationWarnings: [])
    }
    let name = try #require(
      NSEntityDescription.entity(forEntityName: "Bird", in: context)?.attributesByName["name"])
    #expect(name.validationPredicates.map { $0.evaluate(with: "wren") } == [true, true])
    #expect(name.validationPredicates.map { $0.evaluate(with: "Albatross") } == [false, false])
    #expect(name.validationWarnings as? [String] == ["Small letters only.", "Too long."])

    func failures() -> [NSError] {
      do {
        try context.save()
        return []
      } catch let error as NSError {
        return error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [error]
      }
    }
    let bird = BirdStand.bird("Albatross", 200, 1, nil, context)
    let found = failures()
    #expect(found.count == 3 && found.allSatisfy { $0.code == NSManagedObjectValidationError })
    let aboutName = found.filter { $0.userInfo[NSValidationKeyErrorKey] as? String == "name" }
    #expect(Set(aboutName.map(\.localizedDescription)) == ["Small letters only.", "Too long."])
    #expect(aboutName.allSatisfy { $0.userInfo[NSValidationValueErrorKey] as? String == "Albatross" })
    bird.name = "wren"
    bird.tally = 7
    #expect(failures().isEmpty)
    let site = Site(context: context)
    bird.site = site
    #expect(failures().isEmpty)
    BirdStand.bird("coot", 3, 1, site, context)
    #expect(failures().map { $0.userInfo[NSValidationKeyErrorKey] as? String } == ["birds"])
  }

  @Test(
    "rules 227, 228: a limit of a model is an NSPredicate that reads as in Xcode, in the model and in errors")
  func limits() throws {
    let url = try Journal.makeFolder().appendingPathComponent("Birds.xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Ring">
          <attribute name="code" optional="YES" attributeType="String" minValueString="2" maxValueString="4"
            regularExpressionString="[a-z]+"/>
          <attribute name="size" optional="YES" attributeType="Integer 16" minValueString="1" maxValueString="9"/>
          <attribute name="put" optional="YES" attributeType="Date" minDateTimeInterval="0" maxDateTimeInterval="120.5"/>
        </entity>
      </model>
      """
    try Data(text.utf8).write(to: url.appendingPathComponent("contents"))
    let model = try #require(NSManagedObjectModel(contentsOf: url))
    let code = try #require(model.entitiesByName["Ring"]?.attributesByName["code"])
    #expect(
      Set(code.validationPredicates.map(\.description)) == [
        "length >= 2", "length <= 4", "SELF MATCHES \"[a-z]+\"",
      ])
    // The warnings are the codes of the errors.
    func limits(_ key: String) -> [String: NSNumber] {
      guard let attribute = model.entitiesByName["Ring"]?.attributesByName[key],
        let codes = attribute.validationWarnings as? [NSNumber]
      else { return [:] }
      return Dictionary(uniqueKeysWithValues: zip(attribute.validationPredicates.map(\.description), codes))
    }
    #expect(limits("code") == ["length >= 2": 1670, "length <= 4": 1660, "SELF MATCHES \"[a-z]+\"": 1680])
    #expect(limits("size") == ["SELF >= 1": 1620, "SELF <= 9": 1610])
    #expect(
      limits("put") == [
        "timeIntervalSinceReferenceDate >= 0": 1640, "timeIntervalSinceReferenceDate <= 120.5": 1630,
      ])
    let put = try #require(model.entitiesByName["Ring"]?.attributesByName["put"])
    let late = Date(timeIntervalSinceReferenceDate: 121)
    #expect(put.validationPredicates.filter { $0.evaluate(with: late) }.count == 1)
    // A limit that another attribute takes over stays one.
    let other = NSAttributeDescription()
    other.setValidationPredicates(put.validationPredicates, withValidationWarnings: ["", "Too late."])
    #expect(other.validationWarnings.first as? NSNumber == 1640)
    #expect(other.validationWarnings.last as? String == "Too late.")
    // Two code units, one character: the limit counts as Core Data does.
    #expect(code.validationPredicates.filter { $0.evaluate(with: "\u{1F426}") }.count == 2)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let ring = NSEntityDescription.insertNewObject(forEntityName: "Ring", into: context)
    ring.setValue("abc", forKey: "code")
    ring.setValue(10, forKey: "size")
    var error = #expect(throws: CocoaError.self) { try context.save() }
    #expect(error?.errorCode == NSValidationNumberTooLargeError)
    #expect(error?.validationPredicate?.description == "SELF <= 9" && error?.validationKey == "size")
    ring.setValue(9, forKey: "size")
    ring.setValue("abcde", forKey: "code")
    error = #expect(throws: CocoaError.self) { try ring.validateForInsert() }
    #expect(error?.errorCode == NSValidationStringTooLongError)
    #expect(error?.validationPredicate?.description == "length <= 4")
  }

  @Test(
    "The localization dictionary names entities, properties and warnings in errors; copies and merged models have it"
  )
  func localized() throws {
    let words = [
      "Entity/Bird": "Vogel", "Property/name/Entity/Bird": "Name", "Property/tally": "Anzahl",
      "ErrorString/Too many.": "Zu viele.",
    ]
    let context = try birds { model in
      let bird = model.entitiesByName["Bird"]
      bird?.attributesByName["name"]?.isOptional = false
      bird?.attributesByName["weight"]?.isOptional = false
      bird?.attributesByName["tally"]?.setValidationPredicates(
        [NSPredicate(format: "SELF < 100")], withValidationWarnings: ["Too many."])
      model.localizationDictionary = words
      #expect((model.copy() as? NSManagedObjectModel)?.localizationDictionary == words)
      #expect(NSManagedObjectModel(byMerging: [model])?.localizationDictionary == words)
    }
    let bird = Bird(context: context)
    bird.tally = 200
    do {
      try context.save()
      Issue.record("saved")
    } catch let error as NSError {
      let details = try #require(error.userInfo[NSDetailedErrorsKey] as? [NSError])
      let sentences = details.map(\.localizedDescription).joined(separator: " ")
      #expect(
        sentences.contains("Vogel.Name ") && sentences.contains("Vogel.weight ")
          && sentences.contains("Zu viele."))
    }
  }

  @Test("rule 333: types and concurrency types have Core Data's numbers under both of their names")
  func numbers() {
    let numbers: [(NSAttributeDescription.AttributeType, UInt)] = [
      (.undefined, 0), (.integer16, 100), (.integer32, 200), (.integer64, 300), (.decimal, 400),
      (.double, 500),
      (.float, 600), (.string, 700), (.boolean, 800), (.date, 900), (.binaryData, 1000), (.uuid, 1100),
      (.uri, 1200),
      (.transformable, 1800), (.objectID, 2000), (.composite, 2100),
    ]
    for (type, number) in numbers {
      #expect(type.rawValue.rawValue == number && NSAttributeType(rawValue: number) == type.rawValue)
      #expect(NSAttributeDescription.AttributeType(rawValue: type.rawValue) == type)
    }
    #expect(NSAttributeType(rawValue: 7) == nil && NSAttributeType(rawValue: UInt.max) == nil)
    #expect(
      NSAttributeType(rawValue: 900) == .dateAttributeType
        && NSAttributeType.dateAttributeType.rawValue == 900)
    let plain = NSAttributeType.dateAttributeType.rawValue
    #expect(type(of: plain) == UInt.self)
    let attribute = NSAttributeDescription()
    attribute.type = .string
    #expect(attribute.attributeType == .stringAttributeType)
    attribute.attributeType = .dateAttributeType
    #expect(attribute.type == .date && attribute.type.rawValue == .dateAttributeType)
    let column = NSExpressionDescription()
    column.resultType = .decimal
    #expect(column.expressionResultType == .decimalAttributeType && column.resultType == .decimal)

    #expect(NSManagedObjectContext.ConcurrencyType.privateQueue.rawValue.rawValue == 1)
    #expect(NSManagedObjectContext.ConcurrencyType.mainQueue.rawValue.rawValue == 2)
    #expect(NSManagedObjectContext.ConcurrencyType(rawValue: .mainQueueConcurrencyType) == .mainQueue)
    #expect(NSManagedObjectContext(.privateQueue).concurrencyType == .privateQueueConcurrencyType)
    #expect(NSManagedObjectContext.new().concurrencyType == .confinementConcurrencyType)
  }

  @Test("A store's metadata have the checksum of its model")
  func checksum() throws {
    let stand = try BirdStand()
    let store = try #require(stand.coordinator.persistentStores.first)
    let model = stand.coordinator.managedObjectModel
    #expect(
      stand.coordinator.metadata(for: store)[NSPersistentStoreModelVersionChecksumKey] as? String
        == model.versionChecksum)
    let url = try #require(store.url)
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: url)
    #expect(metadata[NSPersistentStoreModelVersionChecksumKey] as? String == model.versionChecksum)
  }
}
