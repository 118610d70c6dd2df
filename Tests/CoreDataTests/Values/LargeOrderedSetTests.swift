import CoreData
import Foundation
import Testing

/// Ordered relationships with as many members that nothing may take as long as all of them for each one.
@Suite("Large ordered sets")
struct LargeOrderedSetTests {
  private static let count = 20_000

  private func makeContext() throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: OrderedSetStoryTests.model())
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  /// The members, and whatever Foundation reads of the set's own storage, are `expected`.
  private func expectMembers(
    _ set: NSMutableOrderedSet, of list: NSManagedObject, _ expected: [NSManagedObject],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let values = (list.value(forKey: "items") as? NSOrderedSet)?.array as? [NSManagedObject] ?? []
    #expect(values.elementsEqual(expected) { $0 === $1 }, sourceLocation: sourceLocation)
    let shown = set.array.compactMap { $0 as? NSManagedObject }
    #expect(shown.elementsEqual(expected) { $0 === $1 }, sourceLocation: sourceLocation)
    #expect(set.firstObject as? NSManagedObject === expected.first, sourceLocation: sourceLocation)
    #expect(set.lastObject as? NSManagedObject === expected.last, sourceLocation: sourceLocation)
    #expect(set.count == expected.count, sourceLocation: sourceLocation)
  }

  @Test("Adding, asking by position, moving, sorting and taking out work on twenty thousand unsaved members")
  func unsaved() throws {
    let context = try makeContext()
    try context.performAndWait {
      let list = NSEntityDescription.insertNewObject(forEntityName: "List", into: context)
      let set = list.mutableOrderedSetValue(forKey: "items")
      var expected: [NSManagedObject] = []
      for number in 0..<Self.count {
        let item = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
        // By turns through the set, and by the other end.
        if number % 2 == 0 { set.add(item) } else { item.setValue(list, forKey: "list") }
        expected.append(item)
        #expect(set.count == number + 1)
        #expect(set.lastObject as? NSManagedObject === item)
      }
      expectMembers(set, of: list, expected)
      try context.save()
      expectMembers(set, of: list, expected)

      for place in 0..<Self.count { #expect(set.object(at: place) as? NSManagedObject === expected[place]) }
      for place in stride(from: 0, to: 200, by: 2) {
        set.exchangeObject(at: Self.count - 1 - place, withObjectAt: place)
        expected.swapAt(place, Self.count - 1 - place)
      }
      expectMembers(set, of: list, expected)

      set.moveObjects(at: IndexSet(integersIn: 10..<20), to: Self.count - 10)
      expected += expected[10..<20]
      expected.removeSubrange(10..<20)
      expectMembers(set, of: list, expected)

      let places = Dictionary(uniqueKeysWithValues: expected.enumerated().map { ($1.objectID, $0) })
      set.sort { one, other in
        guard let one = one as? NSManagedObject, let other = other as? NSManagedObject,
          let first = places[one.objectID], let second = places[other.objectID]
        else { return .orderedSame }
        return first < second ? .orderedDescending : .orderedAscending
      }
      expected.reverse()
      expectMembers(set, of: list, expected)

      let gone = stride(from: 0, to: Self.count, by: 2).map { expected[$0] }
      set.removeObjects(in: gone)
      expected = stride(from: 1, to: Self.count, by: 2).map { expected[$0] }
      expectMembers(set, of: list, expected)
      #expect(gone.allSatisfy { $0.value(forKey: "list") == nil })

      for _ in 0..<1_000 {
        set.remove(expected.removeLast())
        set.removeObject(at: 0)
        expected.removeFirst()
        #expect(set.count == expected.count)
      }
      expectMembers(set, of: list, expected)
      try context.save()
      context.refreshAllObjects()
      expectMembers(set, of: list, expected)
    }
  }

  @Test("Small edits of every kind leave the set as an array is that is edited alike")
  func likeAnArray() throws {
    let context = try makeContext()
    try context.performAndWait {
      let list = NSEntityDescription.insertNewObject(forEntityName: "List", into: context)
      func item() -> NSManagedObject {
        NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
      }
      let set = list.mutableOrderedSetValue(forKey: "items")
      var expected = (0..<12).map { _ in item() }
      set.addObjects(from: expected)
      try context.save()
      for round in 0..<300 {
        let (place, other) = (round * 7 % expected.count, round * 5 % expected.count)
        switch round % 8 {
        case 0:
          expected.insert(item(), at: place)
          set.insert(expected[place], at: place)
        case 1:
          set.exchangeObject(at: place, withObjectAt: other)
          expected.swapAt(place, other)
        case 2:
          set.removeObject(at: place)
          expected.remove(at: place)
        case 3:
          expected.append(item())
          expected[expected.count - 1].setValue(list, forKey: "list")
        case 4:
          let new = item()
          set.replaceObject(at: place, with: new)
          expected[place] = new
        case 5:
          expected[place].setValue(nil, forKey: "list")
          expected.remove(at: place)
        case 6:
          // An object that is no member, twice the same one, and none at all.
          set.removeObjects(in: [expected[place], item(), expected[place], "text"])
          expected.remove(at: place)
          expected.append(item())
          set.add(expected[expected.count - 1])
        default: if round % 3 == 0 { try context.save() }
        }
        expectMembers(set, of: list, expected)
      }
    }
  }
}
