import CoreData
import Testing

@Suite("NSSortDescriptor")
struct SortDescriptorTests {
  @Test("Sorting in memory is sorting in a fetch")
  func inMemoryAndInFetches() throws {
    let context = try BirdStand().stocked()
    BirdStand.bird(nil, 4, 1, nil, context)
    let all = try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))
    let orders: [[NSSortDescriptor]] = [
      [NSSortDescriptor(key: "name", ascending: true)],
      [NSSortDescriptor(key: "name", ascending: false)],
      [
        NSSortDescriptor(key: "site.name", ascending: true), NSSortDescriptor(key: "tally", ascending: false),
      ],
      [NSSortDescriptor(keyPath: \Bird.tally, ascending: true)],
      [NSSortDescriptor(keyPath: \Bird.name, ascending: false)],
      [NSSortDescriptor(key: "name", ascending: true, selector: Selector("localizedStandardCompare:"))],
      [NSSortDescriptor(key: "name", ascending: false, selector: Selector("caseInsensitiveCompare:"))],
      [NSSortDescriptor(SortDescriptor<Bird>(\.tally, order: .reverse))],
      [NSSortDescriptor(SortDescriptor<Bird>(\.name))],
    ]
    for order in orders {
      let inMemory = NSArray(array: all).sortedArray(using: order).map { ($0 as? Bird)?.name ?? "nil" }
      #expect(try names(nil, in: context, sorted: order) == inMemory, "\(order)")
    }
  }

  @Test("An order that no store has is sorted here, and its window cut then")
  func localizedWindow() throws {
    let context = try BirdStand().stocked()
    BirdStand.bird("Heron", 4, 1, nil, context)
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.sortDescriptors = [
      NSSortDescriptor(key: "name", ascending: true, selector: Selector("caseInsensitiveCompare:"))
    ]
    request.fetchOffset = 2
    request.fetchLimit = 2
    #expect(try context.fetch(request).map(\.name) == ["Heron", "robin"])
    #expect(try context.count(for: request) == 2)
    let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Bird")
    ids.resultType = .managedObjectIDResultType
    ids.sortDescriptors = request.sortDescriptors
    #expect(
      try context.fetch(ids).compactMap { (context.object(with: $0) as? Bird)?.name }.prefix(3) == [
        "coot", "gull", "Heron",
      ])
  }

  @Test(
    "A batch deletes no more than the window of an order that the store cannot make, and dictionaries are refused it"
  )
  func windowOfABatch() throws {
    let context = try BirdStand().stocked()
    let count = try context.count(for: Bird.fetchRequest())
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Bird")
    request.sortDescriptors = [NSSortDescriptor(SortDescriptor<Bird>(\.name))]
    request.fetchLimit = 1
    let error = #expect(throws: CocoaError.self) {
      try context.execute(NSBatchDeleteRequest(fetchRequest: request))
    }
    #expect(error?.code == .coreData)
    #expect(try context.count(for: Bird.fetchRequest()) == count)
    let rows = NSFetchRequest<NSDictionary>(entityName: "Bird")
    rows.resultType = .dictionaryResultType
    rows.propertiesToFetch = ["name"]
    rows.sortDescriptors = request.sortDescriptors
    #expect(throws: CocoaError.self) { try context.fetch(rows) }
    // Without a window the order means nothing to a batch.
    request.fetchLimit = 0
    try context.execute(NSBatchDeleteRequest(fetchRequest: request))
    #expect(try context.count(for: Bird.fetchRequest()) == 0)
  }

  @Test("Functions of the application sort in memory and are refused by a fetch")
  func comparators() throws {
    let context = try BirdStand().stocked()
    let byLength = NSSortDescriptor(key: "name", ascending: true) { first, second in
      let (a, b) = ((first as? String ?? "").count, (second as? String ?? "").count)
      return a < b ? .orderedAscending : a > b ? .orderedDescending : .orderedSame
    }
    let all = try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))
    #expect((NSArray(array: all).sortedArray(using: [byLength]).last as? Bird)?.name == "robin")
    let backwards = NSSortDescriptor(keyPath: \Bird.tally, ascending: true) { first, second in
      (first as? Int64 ?? 0) > (second as? Int64 ?? 0) ? .orderedAscending : .orderedDescending
    }
    for refused in [byLength, backwards] {
      #expect(throws: CocoaError.self) { try names(nil, in: context, sorted: [refused]) }
    }
    let computed = NSSortDescriptor(keyPath: \Bird.shoutedName, ascending: true)
    #expect(throws: (any Error).self) { try names(nil, in: context, sorted: [computed]) }
  }

  @Test("A sort descriptor has its parts as properties")
  func parts() throws {
    let sort = NSSortDescriptor(key: "name", ascending: true)
    #expect(sort.key == "name" && sort.ascending)
    let reversed = try #require(sort.reversedSortDescriptor as? NSSortDescriptor)
    #expect(reversed.key == "name" && !reversed.ascending)
    #expect(sort.isEqual(NSSortDescriptor(key: "name", ascending: true)) && !sort.isEqual(reversed))
    #expect(sort.compare(["name": "a"], to: ["name": "b"]) == .orderedAscending)
    #expect(reversed.compare(["name": "a"], to: ["name": "b"]) == .orderedDescending)
    #expect(NSSortDescriptor(keyPath: \Bird.tally, ascending: true).keyPath == \Bird.tally)
    let numbers = NSMutableArray(array: [3, 1, 2])
    numbers.sort(using: [NSSortDescriptor(key: "self", ascending: true)])
    #expect(numbers.compactMap { ($0 as? NSNumber)?.intValue } == [1, 2, 3])
    #expect(sort.comparator("a", "b") == .orderedAscending)
  }

  @Test("A sort descriptor knows the method that compares, where one does")
  func selectors() {
    #expect(NSSortDescriptor(key: "name", ascending: true).selector == "compare:")
    let standard = NSSortDescriptor(
      key: "name", ascending: true, selector: Selector("localizedStandardCompare:"))
    #expect(standard.selector == "localizedStandardCompare:")
    #expect((standard.reversedSortDescriptor as? NSSortDescriptor)?.selector == standard.selector)
    #expect(NSSortDescriptor(keyPath: \Bird.name, ascending: true).selector == "compare:")
    #expect(NSSortDescriptor(keyPath: \Bird.tally, ascending: true).selector == "compare:")
    let function = NSSortDescriptor(key: "name", ascending: true) { _, _ in .orderedSame }
    #expect(function.selector == nil)
  }
}
