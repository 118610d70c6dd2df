import CoreData
import Testing

@Suite("Sorting by keys of values")
struct ValueKeyOrderTests {
  /// Birds with a page and a ring, on sites with a map. The gull has none of all that.
  private func stocked() throws -> NSManagedObjectContext {
    let context = try BirdStand { model in
      for (entity, name, type) in [
        ("Bird", "page", NSAttributeType.URIAttributeType), ("Bird", "ring", .UUIDAttributeType),
        ("Bird", "eggs", .integer32AttributeType), ("Site", "map", .URIAttributeType),
      ] {
        let attribute = NSAttributeDescription()
        attribute.name = name
        attribute.attributeType = type
        model.entitiesByName[entity]?.properties.append(attribute)
      }
    }.stocked()
    for bird in try context.fetch(Bird.fetchRequest()) where bird.name != "gull" {
      let number = bird.tally
      bird.setValue(URL(string: "http://birds.example/\(99 - number)"), forKey: "page")
      bird.setValue(
        UUID(uuidString: "\(10 + number * 7 % 80)000000-0000-4000-8000-000000000000"), forKey: "ring")
      bird.setValue(Date(timeIntervalSinceReferenceDate: Double(number) * 0.5), forKey: "seenAt")
      bird.setValue(20 - number, forKey: "eggs")
      bird.site?.setValue(URL(string: "http://maps.example/\(bird.site?.name ?? "")"), forKey: "map")
    }
    try context.save()
    return context
  }

  /// A key of a value and the attribute that has its order.
  private static let keys = [
    "page.absoluteString": "page", "ring.UUIDString": "ring", "site.map.absoluteString": "site.map",
    "seenAt.timeIntervalSinceReferenceDate": "seenAt", "seenAt.timeIntervalSince1970": "seenAt",
    "tally.integerValue": "tally", "weight.doubleValue": "weight", "eggs.intValue": "eggs",
    "isRare.boolValue": "isRare",
  ]

  private func order(_ key: String, _ ascending: Bool) -> [NSSortDescriptor] {
    [NSSortDescriptor(key: key, ascending: ascending), NSSortDescriptor(key: "name", ascending: true)]
  }

  @Test(
    "A key that has the order of its attribute is that attribute, in objects, rows, lists and unsaved edits",
    arguments: [true, false])
  func attributes(ascending: Bool) throws {
    let context = try stocked()
    BirdStand.bird("heron", 4, 1, nil, context).setValue(
      URL(string: "http://birds.example/95"), forKey: "page")
    for (key, attribute) in Self.keys {
      let request = Bird.fetchRequest()
      request.sortDescriptors = order(attribute, ascending)
      let expected = try context.fetch(request)
      #expect(expected.count == 6)
      request.sortDescriptors = order(key, ascending)
      #expect(try context.fetch(request) == expected, "\(key)")
      let all = NSArray(array: try context.fetch(Bird.fetchRequest()))
      #expect(all.sortedArray(using: order(key, ascending)) as? [Bird] == expected, "\(key) in memory")
      let list = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      try list.performFetch()
      #expect(list.fetchedObjects == expected, "\(key) of a list")
    }
    try context.save()
    let rows = NSFetchRequest<NSDictionary>(entityName: "Bird")
    rows.resultType = .dictionaryResultType
    rows.propertiesToFetch = ["name"]
    rows.sortDescriptors = order("page.absoluteString", ascending)
    let names = try context.fetch(rows).compactMap { $0["name"] as? String }
    #expect(
      names
        == (ascending
          ? ["gull", "coot", "wren", "heron", "swan", "robin"]
          : ["robin", "swan", "heron", "wren", "coot", "gull"]))
  }

  @Test("A key that has another order, or that no such value has, is refused")
  func others() throws {
    let context = try stocked()
    for key in [
      "name.length", "name.lowercaseString", "tally.stringValue", "tally.intValue", "page.path",
      "seenAt.absoluteString", "site.absoluteString", "page.absoluteString.length",
    ] {
      let request = Bird.fetchRequest()
      request.sortDescriptors = order(key, true)
      let error = #expect(throws: CocoaError.self, "\(key)") { try context.fetch(request) }
      #expect(error?.code == .coreData)
    }
  }
}
