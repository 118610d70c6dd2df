import CoreData
import Testing

@Suite("NSFetchedResultsController")
struct FetchedResultsTests {
  /// Records what is reported to it.
  final class Listener: NSFetchedResultsControllerDelegate {
    var told: [String] = []
    var sameController: [Bool] = []
    weak var controller: NSFetchedResultsController<Bird>?
    var shownBefore: [String] = []

    func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
      told.append("will")
      shownBefore = controller.fetchedObjects?.compactMap { ($0 as? Bird)?.objectID.description } ?? []
      sameController.append(controller === self.controller && controller.isEqual(self.controller))
    }

    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
      at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
      let name = (anObject as? Bird)?.name ?? "nil"
      let places = [indexPath, newIndexPath].map { $0.map { "\($0.section).\($0.row)" } ?? "-" }
      told.append("\(type) \(name) \(places.joined(separator: " "))")
    }

    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>,
      didChange sectionInfo: NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
      for type: NSFetchedResultsChangeType
    ) {
      told.append("\(type) section \(sectionInfo.name) \(sectionIndex) \(sectionInfo.numberOfObjects)")
    }

    func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
      told.append("did")
    }
  }

  /// Takes differences only.
  final class DifferenceListener: NSFetchedResultsControllerDelegate {
    var differences: [CollectionDifference<NSManagedObjectID>] = []

    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>,
      didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
    ) { differences.append(diff) }
  }

  private func controller(
    _ context: NSManagedObjectContext, sections: String? = nil, _ predicate: NSPredicate? = nil
  ) -> NSFetchedResultsController<Bird> {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.predicate = predicate
    request.sortDescriptors =
      (sections.map { [NSSortDescriptor(key: $0, ascending: true)] } ?? []) + [
        NSSortDescriptor(key: "name", ascending: true)
      ]
    return NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: sections, cacheName: nil)
  }

  @Test("Sections by numbers and truth values are called as NSNumber describes them on Apple's systems")
  func numbersAsSections() throws {
    let stand = try BirdStand { model in
      for (name, type) in [("isHeavy", .boolean), ("exactWeight", .double)]
        as [(String, NSAttributeDescription.AttributeType)]
      {
        let attribute = NSAttributeDescription()
        attribute.name = name
        attribute.type = type
        attribute.isOptional = true
        attribute.isTransient = true
        model.entitiesByName["Bird"]?.properties.append(attribute)
      }
    }
    let context = try stand.stocked()
    let birds = try context.fetch(Bird.fetchRequest())
    for bird in birds { bird.weight = bird.tally > 5 ? 7.5 : 2 }
    try context.save()
    for bird in birds {
      bird.setValue(bird.weight > 3, forKey: "isHeavy")
      bird.setValue(Double(bird.weight), forKey: "exactWeight")
    }
    let byWeight = controller(context, sections: "weight")
    try byWeight.performFetch()
    #expect(byWeight.sections?.map(\.name) == ["2", "7.5"])
    for (path, wanted) in [("isHeavy", ["0", "1"]), ("exactWeight", ["2", "7.5"])] {
      let request = NSFetchRequest<Bird>(entityName: "Bird")
      request.sortDescriptors = [NSSortDescriptor(key: "weight", ascending: true)]
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: path, cacheName: nil)
      try controller.performFetch()
      #expect(controller.sections?.map(\.name) == wanted, "\(path)")
    }
  }

  @Test("Rule 242: an empty list of sort descriptors leaves the order to the store")
  func storesOrder() throws {
    let context = try BirdStand().stocked()
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.sortDescriptors = []
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    try controller.performFetch()
    let stored = try context.fetch(request)
    #expect(controller.fetchedObjects == stored && stored.count == 5)
    let recorder = DifferenceListener()
    controller.delegate = recorder
    let bird = Bird(context: context)
    context.delete(stored[1])
    context.processPendingChanges()
    #expect(controller.fetchedObjects == [stored[0], stored[2], stored[3], stored[4], bird])
    #expect(recorder.differences.count == 1)
  }

  @Test("Rules 242, 243: nothing before performFetch(), which needs sort descriptors")
  func fetching() throws {
    let context = try BirdStand().stocked()
    let unsorted = NSFetchedResultsController(
      fetchRequest: NSFetchRequest<Bird>(entityName: "Bird"), managedObjectContext: context,
      sectionNameKeyPath: nil, cacheName: "Birds")
    #expect(unsorted.fetchedObjects == nil && unsorted.sections == nil && unsorted.cacheName == "Birds")
    #expect(throws: CocoaError.self) { try unsorted.performFetch() }
    let controller = controller(context)
    try controller.performFetch()
    #expect(controller.fetchedObjects?.map(\.name) == ["coot", "gull", "robin", "swan", "wren"])
    #expect(controller.object(at: IndexPath(row: 3, section: 0)).name == "swan")
    let swan = controller.object(at: IndexPath(item: 3, section: 0))
    #expect(controller.indexPath(forObject: swan) == IndexPath(row: 3, section: 0))
    #expect(controller.sections?.count == 1 && controller.sections?[0].numberOfObjects == 5)
    NSFetchedResultsController<Bird>.deleteCache(withName: "Birds")
  }

  @Test("A request that was changed counts from the next performFetch() on")
  func changedRequest() throws {
    let context = try BirdStand().stocked()
    let controller = controller(context)
    try controller.performFetch()
    controller.fetchRequest.predicate = NSPredicate(format: "tally > 4")
    #expect(controller.fetchedObjects?.count == 5)
    try controller.performFetch()
    #expect(controller.fetchedObjects?.map(\.name) == ["coot", "gull", "wren"])
  }

  @Test("Rules 246–251: an event is reported between two calls, with places before and after")
  func changes() throws {
    let context = try BirdStand().stocked()
    let controller = controller(context)
    let listener = Listener()
    listener.controller = controller
    controller.delegate = listener
    try controller.performFetch()
    let before = controller.fetchedObjects?.map(\.objectID.description) ?? []
    let all = try #require(controller.fetchedObjects)
    context.delete(all[0])
    all[1].name = "zebra finch"
    all[2].tally = 99
    BirdStand.bird("auk", 1, 1, nil, context)
    context.processPendingChanges()
    #expect(listener.told.first == "will" && listener.told.last == "did")
    #expect(listener.shownBefore == before)
    #expect(listener.sameController == [true])
    #expect(
      Set(listener.told.dropFirst().dropLast()) == [
        "delete coot 0.0 -", "move zebra finch 0.1 0.4", "update robin 0.2 0.1", "insert auk - 0.0",
      ])
    #expect(controller.fetchedObjects?.map(\.name) == ["auk", "robin", "swan", "wren", "zebra finch"])
    listener.told = []
    // Rule 246: nothing at all for what is not in the list.
    (try context.fetch(NSFetchRequest<Site>(entityName: "Site"))).first?.name = "Wood and field"
    context.processPendingChanges()
    #expect(listener.told.isEmpty)
  }

  @Test("Rules 253, 254, 258: sections come and go first, with titles")
  func sections() throws {
    let context = try BirdStand().stocked()
    let controller = controller(context, sections: "site.name")
    let listener = Listener()
    listener.controller = controller
    controller.delegate = listener
    try controller.performFetch()
    #expect(controller.sections?.map(\.name) == ["", "Lake", "Wood"])
    #expect(controller.sections?.map(\.numberOfObjects) == [1, 2, 2])
    #expect(controller.sections?[1].objects?.compactMap { ($0 as? Bird)?.name } == ["coot", "swan"])
    #expect(controller.sectionIndexTitles == ["L", "W"])
    #expect(controller.sectionIndexTitle(forSectionName: "lake") == "L")
    #expect(controller.section(forSectionIndexTitle: "W", at: 1) == 2)
    let wood = controller.object(at: IndexPath(row: 0, section: 2)).site
    controller.object(at: IndexPath(row: 0, section: 0)).site = wood
    context.processPendingChanges()
    #expect(listener.told == ["will", "delete section  0 0", "move gull 0.0 1.0", "did"])
  }

  @Test("Rule 257: a delegate that takes differences gets nothing else; replaying them gives the list")
  func differences() throws {
    let context = try BirdStand().stocked()
    let controller = controller(context)
    let listener = DifferenceListener()
    controller.delegate = listener
    try controller.performFetch()
    var list = controller.fetchedObjects?.map(\.objectID) ?? []
    let all = try #require(controller.fetchedObjects)
    all[4].name = "a wren"
    context.delete(all[1])
    context.processPendingChanges()
    all[0].tally = 1
    BirdStand.bird("bittern", 1, 1, nil, context)
    context.processPendingChanges()
    #expect(listener.differences.count == 2)
    for difference in listener.differences { list = try #require(list.applying(difference)) }
    #expect(list == controller.fetchedObjects?.map(\.objectID))
  }

  @Test("Rule 244: without a delegate the results stay what they were")
  func noDelegate() throws {
    let context = try BirdStand().stocked()
    let controller = controller(context)
    try controller.performFetch()
    BirdStand.bird("auk", 1, 1, nil, context)
    context.processPendingChanges()
    #expect(controller.fetchedObjects?.count == 5)
  }

  @Test("A list is kept in the order of a method of NSString")
  func localizedOrder() throws {
    let context = try BirdStand().stocked()
    let delegate = Listener()
    for ascending in [true, false] {
      let controller = controller(context)
      controller.delegate = delegate
      let order = NSSortDescriptor(
        key: "name", ascending: ascending, selector: Selector("localizedStandardCompare:"))
      controller.fetchRequest.sortDescriptors = [order]
      try controller.performFetch()
      func expectOrder() throws {
        let shown = try #require(controller.fetchedObjects).map(\.name)
        let all = try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))
        let sorted = NSArray(array: all).sortedArray(using: [order]).map { ($0 as? Bird)?.name }
        #expect(shown == sorted)
      }
      try expectOrder()
      for name in ["Finch 10", "finch 9", "Émeu", "emu", nil, "zebra finch"] {
        BirdStand.bird(name, 1, 1, nil, context)
        context.processPendingChanges()
        try expectOrder()
      }
    }
    withExtendedLifetime(delegate) {}
  }

  @Test("Rule 259, and a delegate that says titles")
  func titles() throws {
    final class Titles: NSFetchedResultsControllerDelegate {
      func controller(
        _ controller: NSFetchedResultsController<NSFetchRequestResult>,
        sectionIndexTitleForSectionName sectionName: String
      ) -> String? { "<\(sectionName)>" }
    }
    let context = try BirdStand().stocked()
    let controller = controller(context, sections: "site.name", NSPredicate(format: "site != nil"))
    let titles = Titles()
    controller.delegate = titles
    try controller.performFetch()
    #expect(controller.sectionIndexTitles == ["<Lake>", "<Wood>"])
    #expect(controller.sections?.map(\.indexTitle) == ["<Lake>", "<Wood>"])
    withExtendedLifetime(titles) {}
  }

  final class TitledController: NSFetchedResultsController<Bird> {
    override func sectionIndexTitle(forSectionName sectionName: String) -> String? {
      sectionName.isEmpty ? nil : "#\(sectionName.prefix(1))"
    }
  }

  @Test("Rule 258: what a subclass says of titles counts everywhere, with a delegate and without")
  func titlesOfSubclass() throws {
    let context = try BirdStand().stocked()
    let plain = controller(context, sections: "site.name")
    let titled = TitledController(
      fetchRequest: plain.fetchRequest, managedObjectContext: context, sectionNameKeyPath: "site.name",
      cacheName: nil)
    let listener = Listener()
    for delegate in [nil, listener] {
      titled.delegate = delegate
      try titled.performFetch()
      #expect(titled.sectionIndexTitles == ["#L", "#W"])
      #expect(titled.sections?.map(\.indexTitle) == [nil, "#L", "#W"])
      #expect(titled.section(forSectionIndexTitle: "#W", at: 1) == 2)
    }
    try plain.performFetch()
    #expect(plain.sectionIndexTitles == ["L", "W"])
  }

  @Test("A result type that is not managed objects is refused when the fetch is performed")
  func resultTypes() throws {
    let context = try BirdStand().stocked()
    for type in [NSFetchRequestResultType.dictionaryResultType, .managedObjectIDResultType, .countResultType]
    {
      let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Bird")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      request.resultType = type
      let controller = NSFetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
      let error = #expect(throws: CocoaError.self) { try controller.performFetch() }
      #expect(error?.code.rawValue == 134_060 && controller.fetchedObjects == nil)
    }
  }
}
