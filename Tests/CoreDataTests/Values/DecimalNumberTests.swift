import CoreData
import Testing

@Suite("Decimals by Apple's names")
struct DecimalNumberTests {
  private let context: NSManagedObjectContext
  private let stand: BirdStand

  init() throws {
    stand = try BirdStand { model in
      let fee = NSAttributeDescription()
      fee.name = "fee"
      fee.attributeType = .decimalAttributeType
      fee.isOptional = true
      model.entitiesByName["Bird"]?.properties.append(fee)
    }
    context = try stand.stocked()
    for bird in try birds() { bird.setValue(NSDecimalNumber(string: "0.1"), forKey: "fee") }
    try context.save()
  }

  private func birds(_ format: String = "TRUEPREDICATE") throws -> [Bird] {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.predicate = NSPredicate(format: format)
    return try context.fetch(request)
  }

  private func column(_ format: String, _ type: NSAttributeType, having: String? = nil) throws -> [Any] {
    let column = NSExpressionDescription()
    column.name = "it"
    column.expression = NSExpression(format: format)
    column.expressionResultType = type
    let request = NSFetchRequest<NSDictionary>(entityName: "Bird")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = [column]
    request.havingPredicate = having.map { NSPredicate(format: $0) }
    if having != nil { request.propertiesToGroupBy = ["fee"] }
    return try context.fetch(request).compactMap { $0["it"] }
  }

  @Test("The average of decimals is a decimal: of rows, groups, members, and in memory")
  func averages() throws {
    let tenth = NSDecimalNumber(string: "0.1")
    #expect(try column("average:(fee)", .decimalAttributeType).first as? NSDecimalNumber == tenth)
    #expect(
      try column("average:(fee)", .decimalAttributeType, having: "average:(fee) == 0.1").count == 1)
    let sites = NSFetchRequest<Site>(entityName: "Site")
    for format in ["birds.@avg.fee == 0.1", "birds.@sum.fee == 0.2", "average(birds.fee) == 0.1"] {
      let predicate = NSPredicate(format: format)
      sites.predicate = predicate
      #expect(try context.count(for: sites) == 2, "\(format)")
      sites.predicate = nil
      #expect(try context.fetch(sites).filter { predicate.evaluate(with: $0) }.count == 2, "\(format)")
    }
    let all = NSArray(array: try birds())
    #expect(all.value(forKeyPath: "@avg.fee") as? NSDecimalNumber == tenth)
    let site = try #require(try context.fetch(sites).first)
    let average = NSExpression(format: "birds.@avg.fee").expressionValue(with: site, context: nil)
    #expect(average as? NSDecimalNumber == tenth && average as? Double == 0.1)
  }

  @Test("The average of large integers is exact in a column of integers, and in one of decimals")
  func largeIntegers() throws {
    for (place, bird) in try birds().enumerated() { bird.tally = .max - Int64(place % 2) * 4 }
    try context.save()
    // Two of five are four less.
    #expect(try column("average:(tally)", .integer64AttributeType).first as? Int64 == Int64.max - 2)
    let exact = NSDecimalNumber(decimal: Decimal(Int64.max)).subtracting(NSDecimalNumber(string: "1.6"))
    #expect(try column("average:(tally)", .decimalAttributeType).first as? NSDecimalNumber == exact)
    #expect(try column("average:(tally)", .doubleAttributeType).first as? Double == 0x1p63)
  }

  @Test("A decimal is an NSDecimalNumber, which can be cast to Double and to Decimal")
  func casts() throws {
    let bird = try #require(try birds().first)
    let committed = bird.committedValues(forKeys: ["fee"])["fee"]
    #expect(committed as? Double == 0.1)
    bird.setValue(NSDecimalNumber(string: "2"), forKey: "fee")
    let all = NSArray(array: try birds())
    let values: [Any?] = [
      bird.value(forKey: "fee"), bird.primitiveValue(forKey: "fee"), bird.changedValues()["fee"],
      bird.dictionaryWithValues(forKeys: ["fee"])["fee"],
      NSExpression(format: "fee * 1").expressionValue(with: bird, context: nil),
      all.value(forKeyPath: "@max.fee"),
    ]
    for (place, value) in values.enumerated() {
      #expect(value as? Double == 2 && value as? Int == 2 && value as? Decimal == 2, "\(place)")
    }
  }

  @Test("Products and quotients with more places than a decimal has are rounded")
  func manyPlaces() throws {
    let bird = try #require(try birds("name == 'wren'").first)
    bird.setValue(NSDecimalNumber(string: "1e-70"), forKey: "fee")
    try context.save()
    #expect(try birds("fee * fee > 0").count == 4)
    #expect(NSPredicate(format: "fee * fee == 0").evaluate(with: bird))
    let update = NSBatchUpdateRequest(entityName: "Bird")
    update.predicate = NSPredicate(format: "name == 'wren'")
    update.propertiesToUpdate = ["fee": NSExpression(format: "fee * fee")]
    try context.execute(update)
    context.refreshAllObjects()
    #expect(bird.value(forKey: "fee") as? Decimal == 0)
  }

  @Test("Booleans are 0 and 1 as arguments of functions of one number")
  func booleans() throws {
    #expect(try column("abs:(YES)", .doubleAttributeType).first as? Double == 1)
    #expect(try column("sqrt:(TRUE)", .doubleAttributeType).first as? Double == 1)
    let either = "TERNARY(tally > 0, 'a', floor:(TRUE))"
    #expect(try column(either, .undefinedAttributeType).first as? String == "a")
  }

  @Test("A column of an aggregate of members says how it is asked for")
  func operatorColumn() throws {
    let request = NSFetchRequest<NSDictionary>(entityName: "Site")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["birds.@count"]
    let error = #expect(throws: (any Error).self) { try context.fetch(request) }
    #expect(error?.localizedDescription.contains("aggregate it in an expression") == true)
  }

  @Test("Sections of dates that are outside of the calendar, or none")
  func dates() throws {
    let seconds = [Double.nan, .infinity, 1e300, 65e9, 0]
    for (bird, number) in zip(try birds(), seconds) {
      bird.setValue(Date(timeIntervalSinceReferenceDate: number), forKey: "seenAt")
    }
    try context.save()
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.sortDescriptors = [NSSortDescriptor(key: "seenAt", ascending: true)]
    let results = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "seenAt", cacheName: nil)
    try results.performFetch()
    let names = Set((results.sections ?? []).map(\.name))
    #expect(
      names == [
        "nan s since 2001", "inf s since 2001", "1e+300 s since 2001", "65000000000.0 s since 2001",
        "2001-01-01 00:00:00 +0000",
      ])
  }
}
