import Foundation
import Strata
import Testing
import TortureKit

/// Lists of many leaves that come from an index: what a fetch finds at the beginning, and by replaying what is told ever after.
@Suite struct IndexedListTests {
  private static func model() -> ManagedObjectModel {
    let note = EntityDescription(
      "Note",
      properties: [
        AttributeDescription("kind", .string, isOptional: true),
        AttributeDescription("value", .integer64, isOptional: true),
        AttributeDescription("text", .string, isOptional: true),
      ])
    note.indexes = [
      FetchIndexDescription(name: "byKind", attributes: ["kind", "value"]),
      FetchIndexDescription(name: "byText", attributes: ["text"]),
      FetchIndexDescription(
        name: "down",
        elements: [
          FetchIndexElementDescription(propertyName: "value", isAscending: false),
          FetchIndexElementDescription(propertyName: "text"),
        ]),
    ]
    return ManagedObjectModel(entities: [note])
  }

  /// Values in no order, with ties, nil, zeros in texts; `longText` is too long for a key.
  private static func fill(_ store: TemporaryStore, _ count: Int, seed: UInt64, longText: Bool = false) throws
  {
    var random = SeededGenerator(seed: seed)
    var next = 0
    _ = try store.context().execute(
      BatchInsertRequest(entityName: "Note") { values in
        if next == count { return true }
        values = [:]
        if next % 50 != 0 { values["kind"] = "kind \(random.next() % 7)" }
        if next % 31 != 0 { values["value"] = Int64(random.next() % UInt64(count / 2 + 1)) }
        let text = "text \(random.next() % 1_000)\(next % 97 == 0 ? "\0behind" : "")"
        if next % 41 != 0 {
          values["text"] = longText && next == count / 2 ? String(repeating: text, count: 90) : text
        }
        next += 1
        return false
      })
  }

  private static func request(_ sorts: [FetchSort], _ format: String?) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(
      entityName: "Note", predicate: try format.map { try FetchPredicate(format: $0) }, sortDescriptors: sorts
    )
    request.fetchBatchSize = 20
    return request
  }

  private static func fetched(_ request: FetchRequest<ManagedObject>, _ context: ManagedObjectContext) throws
    -> [ManagedObjectID]
  {
    try context.fetch(
      FetchRequest<ManagedObjectID>(
        entityName: "Note", predicate: request.predicate, sortDescriptors: request.sortDescriptors))
  }

  /// So many rows that several threads read the index.
  @Test(
    "a list of an index is what a fetch finds, in its sections", arguments: [0, 1, 400, 20_000],
    [false, true])
  func opening(count: Int, longText: Bool) throws {
    let store = try TemporaryStore(Self.model()) { $0.durability = .none }
    try Self.fill(store, count, seed: 7, longText: longText)
    let context = store.context()
    let (kind, value, text) = (FetchSort("kind"), FetchSort("value"), FetchSort("text"))
    let lists: [(sorts: [FetchSort], format: String?, section: String?)] = [
      ([kind, value], nil, "kind"), ([kind, value], nil, nil), ([text], nil, nil), ([text], nil, "text"),
      ([FetchSort("value", ascending: false), text], nil, "value"),
      ([kind, value], "kind == 'kind 3'", "kind"),
      ([kind, value], "kind > 'kind 2' AND kind < 'kind 5'", nil),
      ([kind, value], "kind IN {'kind 1', 'kind 6', 'none'}", "kind"),
      ([text], "text BEGINSWITH 'text 5'", nil),
    ]
    for list in lists {
      let request = try Self.request(list.sorts, list.format)
      let controller = FetchedResultsController(
        fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: list.section)
      try controller.performFetch()
      let expected = try Self.fetched(request, context)
      let found = controller.fetchedObjects.map { Array($0.objectIDs) }
      #expect(found == expected, "\(list)")
      guard let section = list.section else { continue }
      var names: [String] = []
      for object in try context.fetch(request) {
        let name = object.value(forKey: section).map { "\($0)" } ?? ""
        if names.isEmpty || names.last != name { names.append(name) }
      }
      #expect(controller.sections?.map(\.name) == names, "\(list)")
      #expect(controller.sections?.reduce(0) { $0 + $1.numberOfObjects } == expected.count)
    }
  }

  /// A list that is kept by what is told alone.
  private final class Replay: FetchedResultsDifferenceDelegate {
    typealias Result = ManagedObject
    let controller: FetchedResultsController<ManagedObject>
    var ids: [ManagedObjectID] = []
    var isBroken = false

    init(_ request: FetchRequest<ManagedObject>, _ context: ManagedObjectContext) throws {
      controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
      controller.delegate = self
      try controller.performFetch()
      ids = controller.fetchedObjects.map { Array($0.objectIDs) } ?? []
    }

    func controller(
      _ controller: FetchedResultsController<ManagedObject>,
      didChangeContentWith difference: CollectionDifference<ManagedObjectID>
    ) {
      if let next = ids.applying(difference) { ids = next } else { isBroken = true }
    }
  }

  @Test(
    "replaying what two lists of one context tell gives a fetch: edits here and elsewhere, at both ends, ties, all gone",
    arguments: 1...3 as ClosedRange<UInt64>)
  func law(seed: UInt64) throws {
    print("indexed lists: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let store = try TemporaryStore(Self.model()) { $0.durability = .none }
    let count = 3_000
    try Self.fill(store, count, seed: seed)
    let context = store.context(.privateQueue)
    context.automaticallyMergesChangesFromParent = true
    let writer = store.context()
    let (first, second) = try context.performAndWait {
      (
        try Replay(Self.request([FetchSort("kind"), FetchSort("value")], nil), context),
        try Replay(Self.request([FetchSort("text")], "text BEGINSWITH 'text'"), context)
      )
    }
    func edit(_ object: ManagedObject, _ random: inout SeededGenerator) {
      switch random.next() % 6 {
      case 0: object.setValue(Int64(random.next() % 1_500), forKey: "value")
      case 1: object.setValue("kind \(random.next() % 7)", forKey: "kind")
      // Before all others, and behind them.
      case 2: object.setValue(nil, forKey: "kind")
      case 3:
        object.setValue("zzz", forKey: "kind")
        object.setValue(Int64.max, forKey: "value")
      case 4: object.setValue("text \(random.next() % 1_000)", forKey: "text")
      default: object.managedObjectContext?.delete(object)
      }
    }
    func change(_ ids: [ManagedObjectID], _ context: ManagedObjectContext, _ random: inout SeededGenerator)
      throws
    {
      for _ in 0..<Int(random.next() % 4) + 1 {
        if random.next() % 4 == 0 || ids.isEmpty {
          let new = try EntityDescription.insertNewObject(forEntityName: "Note", into: context)
          new.setValue("kind \(random.next() % 7)", forKey: "kind")
          new.setValue(Int64(random.next() % 1_500), forKey: "value")
          new.setValue("text \(random.next() % 1_000)", forKey: "text")
        } else if let object = try? context.existingObject(with: ids[Int(random.next() % UInt64(ids.count))]),
          !object.isDeleted
        {
          edit(object, &random)
        }
      }
    }
    func check(_ step: Int) throws {
      try context.performAndWait {
        context.processPendingChanges()
        for list in [first, second] {
          let expected = try Self.fetched(list.controller.fetchRequest, context)
          #expect(!list.isBroken && list.ids == expected, "seed \(seed), step \(step)")
          #expect(
            list.controller.fetchedObjects.map { Array($0.objectIDs) } == expected,
            "seed \(seed), step \(step)")
          if let last = expected.last {
            #expect(list.controller.indexPath(forID: last) == IndexPath(indexes: [0, expected.count - 1]))
          }
        }
      }
    }
    for step in 0..<40 {
      if step % 2 == 0 {
        try context.performAndWait {
          try change(first.ids, context, &random)
          context.processPendingChanges()
          if step % 4 == 0 { try context.save() }
        }
      } else {
        // What is edited here and not saved would be in conflict.
        try context.performAndWait { try context.save() }
        writer.refreshAllObjects()
        try change(context.performAndWait { first.ids }, writer, &random)
        try writer.save()
      }
      try check(step)
    }
    try context.performAndWait {
      for id in first.ids { if let object = try? context.existingObject(with: id) { context.delete(object) } }
      context.processPendingChanges()
      #expect(first.ids == [] && second.ids == [])
      try context.save()
    }
    try check(-1)
    try context.performAndWait {
      try change([], context, &random)
      context.processPendingChanges()
    }
    try check(-2)
  }
}
