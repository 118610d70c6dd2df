import CoreData
import Testing

@Suite("Keys of Foundation's values in key paths")
struct FoundationKeyTests {
  private let context: NSManagedObjectContext
  private let stand: BirdStand

  init() throws {
    stand = try BirdStand { model in
      let span = NSAttributeDescription()
      span.name = "span"
      span.attributeType = .doubleAttributeType
      let tag = NSAttributeDescription()
      tag.name = "tag"
      tag.attributeType = .UUIDAttributeType
      tag.isOptional = true
      let page = NSAttributeDescription()
      page.name = "page"
      page.attributeType = .URIAttributeType
      page.isOptional = true
      let fee = NSAttributeDescription()
      fee.name = "fee"
      fee.attributeType = .decimalAttributeType
      fee.isOptional = true
      model.entitiesByName["Bird"]?.properties += [span, tag, page, fee]
    }
    context = try stand.stocked()
    for bird in try birds() {
      bird.setValue(bird.tally == 7 ? 2.5 : 3, forKey: "span")
      bird.setValue(Date(timeIntervalSinceReferenceDate: 10), forKey: "seenAt")
      bird.setValue(bird.tally > 6, forKey: "isRare")
      bird.setValue(UUID(uuidString: "00000000-0000-0000-0000-00000000000A"), forKey: "tag")
      bird.setValue(URL(string: "http://birds.org/a/b?c"), forKey: "page")
      bird.setValue(NSDecimalNumber(string: bird.tally > 6 ? "0.1" : "0.2"), forKey: "fee")
    }
    try context.save()
  }

  private func birds(_ predicate: NSPredicate? = nil) throws -> [Bird] {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.predicate = predicate
    return try context.fetch(request)
  }

  @Test(
    "A fetch and memory agree",
    arguments: [
      ("tally.stringValue BEGINSWITH[cd] '1'", 1), ("tally.stringValue == '7'", 1),
      ("span.stringValue == '3'", 4), ("span.stringValue == '2.5'", 1), ("isRare.stringValue == '1'", 2),
      ("span.intValue == 2", 1), ("span.integerValue == 3", 4), ("tally.doubleValue > 4.5", 3),
      ("weight.floatValue == 0.1", 1), ("tally.boolValue == YES", 5), ("name.length == 5", 1),
      ("name.lowercaseString == 'wren'", 1), ("name.uppercaseString == 'WREN'", 1),
      ("seenAt.timeIntervalSinceReferenceDate == 10", 5), ("seenAt.timeIntervalSince1970 > 978307200", 5),
      ("tag.UUIDString ENDSWITH 'A'", 5), ("page.absoluteString CONTAINS 'birds.org'", 5),
      ("SUBQUERY(site.birds, $b, $b.tally.stringValue == '12').@count == 1", 2),
    ])
  func fetches(_ format: String, _ count: Int) throws {
    let predicate = NSPredicate(format: format)
    #expect(try birds(predicate).count == count)
    #expect(try birds().filter { predicate.evaluate(with: $0) }.count == count)
  }

  @Test("The double of a decimal is compared with the double of a number")
  func doublesOfDecimals() throws {
    for number in [NSDecimalNumber(string: "0.1"), NSNumber(value: 0.1)] {
      let predicate = NSPredicate(format: "fee.doubleValue == %@", number)
      let found = try birds(predicate)
      #expect(found.count == 2)
      #expect(try Set(found) == Set(birds().filter { predicate.evaluate(with: $0) }))
    }
  }

  @Test("What is evaluated in memory only")
  func memory() throws {
    let bird = try #require(try birds(NSPredicate(format: "name == 'wren'")).first)
    for format in [
      "name.capitalizedString == 'Wren'", "page.path == '/a/b'", "page.lastPathComponent == 'b'",
      "page.host == 'birds.org'", "tally.description == '7'", "name.description == 'wren'",
      "seenAt.description BEGINSWITH '2001'", "objectID.isTemporaryID == NO",
      "objectID.URIRepresentation.absoluteString CONTAINS 'Bird'", "name.intValue == 0",
    ] {
      #expect(NSPredicate(format: format).evaluate(with: bird), "\(format)")
    }
    #expect((["1.5", "x"] as NSArray).value(forKeyPath: "doubleValue") as? [Double] == [1.5, 0])
    #expect(([1, 2.5] as NSArray).value(forKeyPath: "stringValue") as? [String] == ["1", "2.5"])
    #expect(bird.value(forKeyPath: "tally.stringValue") as? String == "7")
  }
}
