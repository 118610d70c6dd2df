import CoreData
import Testing

/// Core Data's code casts what it gets: every number that is handed out as `Any` is an `NSNumber`, which can be cast to each number that holds it.
@Suite("Numbers can be cast, wherever they come from")
struct CastNumberTests {
  private func value(_ format: String) -> Any? {
    NSExpression(format: format).expressionValue(with: nil, context: nil)
  }

  private func constant(_ format: String, _ arguments: [Any] = []) throws -> Any? {
    let predicate = NSPredicate(format: format, argumentArray: arguments)
    return try #require(predicate as? NSComparisonPredicate).rightExpression.constantValue
  }

  @Test("What an expression is worth: whole numbers of functions, lists, constants and blocks")
  func expressions() {
    for format in ["4 + 2", "12 / 2", "2 ** 1 + 4", "-(-6)", "sum({1, 2, 3})", "max({6, 1})"] {
      #expect(value(format) as? Double == 6 && value(format) as? Int == 6, "\(format)")
      #expect(value(format) as? Int32 == 6, "\(format)")
    }
    #expect(value("{1, 2}") as? [Double] == [1, 2] && value("mode({3, 3, 1})") as? [Double] == [3])
    let six = NSExpression(forConstantValue: 6)
    #expect(six.expressionValue(with: nil, context: nil) as? Double == 6)
    let block = NSExpression(block: { _, _, _ in 6 }, arguments: nil)
    #expect(block.expressionValue(with: nil, context: nil) as? Double == 6)
    let itself = NSExpression.expressionForEvaluatedObject()
    #expect(itself.expressionValue(with: 6, context: nil) as? Double == 6)
  }

  @Test("The constants of expressions and predicates")
  func constants() throws {
    #expect(try constant("a == 2") as? Double == 2 && constant("a == 2") as? Int16 == 2)
    #expect(try constant("a == YES") as? Bool == true && constant("a == YES") as? Int == 1)
    for given in [5, NSNumber(value: 5), UInt8(5), Int16(5)] as [Any] {
      let found = try constant("a == %@", [given])
      #expect(found as? Double == 5 && found as? Int == 5, "\(type(of: given))")
    }
    let decimal = NSExpression(forConstantValue: Decimal(2)).constantValue
    #expect(decimal as? Double == 2 && decimal as? Decimal == 2)
    #expect(NSExpression(forConstantValue: "2").constantValue as? String == "2")
    #expect(NSExpression(forConstantValue: [1, 2]).constantValue as? [Int] == [1, 2])
    #expect(NSExpression(forConstantValue: nil).constantValue == nil)
  }

  @Test("Transient attributes by key, from their default value on, and the default value itself")
  func transients() throws {
    let mood = CompanyStand.attribute("mood", .integer64AttributeType, default: 3, transient: true)
    let isAlert = CompanyStand.attribute("isAlert", .booleanAttributeType, default: true, transient: true)
    let stand = try BirdStand { $0.entitiesByName["Bird"]?.properties += [mood, isAlert] }
    #expect(mood.defaultValue as? Double == 3 && mood.defaultValue as? Int == 3)
    #expect((mood.copy() as? NSAttributeDescription)?.defaultValue as? Double == 3)
    let context = stand.context()
    let bird = Bird(context: context)
    func isMood(_ number: Int) -> Bool {
      let values: [Any?] = [
        bird.value(forKey: "mood"), bird.primitiveValue(forKey: "mood"), bird.value(forKeyPath: "mood"),
        bird.dictionaryWithValues(forKeys: ["mood"])["mood"],
      ]
      return values.allSatisfy { $0 as? Int == number && $0 as? Double == Double(number) }
    }
    #expect(isMood(3) && bird.value(forKey: "isAlert") as? Int == 1)
    bird.setValue(7, forKey: "mood")
    #expect(isMood(7))
    bird.setPrimitiveValue(Int16(8), forKey: "mood")
    #expect(isMood(8))
    bird.setValue(false, forKey: "isAlert")
    #expect(bird.value(forKey: "isAlert") as? Bool == false && bird.value(forKey: "isAlert") as? Int == 0)
    bird.setValue(nil, forKey: "mood")
    #expect(bird.value(forKey: "mood") == nil)
  }

  @Test("What tombstones keep, and what histories and batches count")
  func histories() throws {
    let model = BirdStand.model()
    let fee = CompanyStand.attribute("fee", .decimalAttributeType)
    model.entitiesByName["Bird"]?.properties.append(fee)
    for name in ["tally", "weight", "isRare", "fee"] {
      model.entitiesByName["Bird"]?.attributesByName[name]?.preservesValueInHistoryOnDeletion = true
    }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tombs-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("Birds.store"),
      options: [NSPersistentHistoryTrackingKey: NSNumber(value: true)])
    defer {
      for store in coordinator.persistentStores { try? coordinator.remove(store) }
      try? FileManager.default.removeItem(at: folder)
    }
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let bird = BirdStand.bird("wren", 12, 0.5, nil, context)
    bird.setValue(NSDecimalNumber(string: "2"), forKey: "fee")
    try context.save()
    context.delete(bird)
    try context.save()

    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
    request.resultType = .changesOnly
    let changes = (try context.execute(request) as? NSPersistentHistoryResult)?.result
    let tombstone = try #require((changes as? [NSPersistentHistoryChange])?.last?.tombstone)
    #expect(tombstone["tally"] as? Int == 12 && tombstone["tally"] as? Double == 12)
    #expect(tombstone["weight"] as? Double == 0.5 && tombstone["weight"] as? Float == 0.5)
    #expect(tombstone["isRare"] as? Bool == true && tombstone["isRare"] as? Int == 1)
    #expect(tombstone["fee"] as? Double == 2 && tombstone["fee"] as? Decimal == 2)
    let buried = try #require(NSPersistentHistoryChange.fetchRequest)
    buried.predicate = NSPredicate(format: "tombstone.tally == 12 AND tombstone.isRare == YES")
    request.fetchRequest = buried
    request.resultType = .count
    let count = (try context.execute(request) as? NSPersistentHistoryResult)?.result
    #expect(count as? Int == 1 && count as? Int32 == 1)

    BirdStand.bird("gull", 5, 1, nil, context)
    try context.save()
    let update = NSBatchUpdateRequest(entityName: "Bird")
    update.propertiesToUpdate = ["tally": 6]
    update.resultType = .updatedObjectsCountResultType
    let updated = (try context.execute(update) as? NSBatchUpdateResult)?.result
    #expect(updated as? Int == 1 && updated as? Double == 1)
    update.resultType = .statusOnlyResultType
    let status = (try context.execute(update) as? NSBatchUpdateResult)?.result
    #expect(status as? Bool == true && status as? Int == 1)
  }

  @Test("rule 227: the value of a validation error, and the members of which there are too many or too few")
  func validationValues() throws {
    let context = try CompanyStand().stocked()
    let chore = CompanyStand.chore("sweep", 20, nil, context)
    let tooLarge = #expect(throws: CocoaError.self) { try context.save() }
    #expect(tooLarge?.validationValue as? Int == 20 && tooLarge?.validationValue as? Double == 20)
    var value: AnyObject? = NSNumber(value: -1)
    let tooSmall = #expect(throws: CocoaError.self) { try chore.validateValue(&value, forKey: "rank") }
    #expect(tooSmall?.validationValue as? Int16 == -1)

    let stand = try BirdStand {
      let birds = $0.entitiesByName["Site"]?.relationshipsByName["birds"]
      birds?.minCount = 2
      birds?.maxCount = 3
    }
    let nature = stand.context()
    let wood = Site(context: nature)
    for (count, code) in [(1, NSValidationRelationshipLacksMinimumCountError), (4, 1590)] {
      while (wood.value(forKey: "birds") as? NSSet)?.count != count {
        BirdStand.bird("wren", 1, 1, wood, nature)
      }
      let error = #expect(throws: CocoaError.self) { try nature.save() }
      #expect(error?.errorCode == code)
      #expect((error?.validationValue as? Set<Bird>)?.count == count)
      #expect((error?.validationValue as? NSSet)?.count == count)
      var proposed: AnyObject? = wood.value(forKey: "birds") as? NSSet
      let refused = #expect(throws: CocoaError.self) {
        try wood.validateValue(&proposed, forKey: "birds")
      }
      #expect((refused?.validationValue as? NSSet)?.count == count)
    }
  }

  @Test("The values that objects share in spite of a constraint, in a save and in a batch")
  func constraintValues() throws {
    let context = try CompanyStand().stocked()
    for _ in 0..<2 {
      let desk = CompanyStand.make("Desk", context)
      desk.setValue("a", forKey: "code")
      desk.setValue(3, forKey: "floor")
    }
    let error = #expect(throws: CocoaError.self) { try context.save() }
    let conflicts = error?.userInfo["conflictList"] as? [NSConstraintConflict]
    let values = try #require(conflicts?.first?.constraintValues)
    #expect(
      values["floor"] as? Int == 3 && values["floor"] as? Double == 3 && values["code"] as? String == "a")

    let stand = try BirdStand { $0.entitiesByName["Bird"]?.uniquenessConstraints = [["tally"]] }
    let batch = NSBatchInsertRequest(entityName: "Bird", objects: [["tally": 4], ["tally": 4]])
    let refused = #expect(throws: CocoaError.self) { try stand.context().execute(batch) }
    let duplicates = refused?.userInfo["conflictList"] as? [NSConstraintConflict]
    let shared = try #require(duplicates?.first?.constraintValues["tally"])
    #expect(shared as? Int == 4 && shared as? Double == 4)
  }
}
