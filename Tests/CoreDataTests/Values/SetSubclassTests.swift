import CoreData
import Foundation
import Testing

/// On Linux a cast to `Set` or `Dictionary` makes an empty one of an instance of most subclasses of `NSSet` and `NSDictionary`.
@Suite("Sets and dictionaries of subclasses of Foundation's")
struct SetSubclassTests {
  /// A class of the application.
  private final class Herd: NSSet {
    private var members: [Any] = []
    convenience init(_ members: [Any]) {
      self.init(array: [])
      self.members = members
    }
    override var count: Int { members.count }
    override func member(_ object: Any) -> Any? {
      members.first { ($0 as AnyObject) === (object as AnyObject) }
    }
    override func objectEnumerator() -> NSEnumerator { NSArray(array: members).objectEnumerator() }
  }

  enum Kind: CaseIterable { case proxy, counted, own }

  private let coordinator: NSPersistentStoreCoordinator
  private let context: NSManagedObjectContext

  init() throws {
    coordinator = try Journal.makeCoordinator(at: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  private func entries(_ titles: [String]) -> [Entry] {
    titles.map {
      let entry = Entry(context: context)
      entry.title = $0
      return entry
    }
  }

  /// A set of that kind with the entries.
  private func set(_ kind: Kind, _ entries: [Entry]) -> NSSet {
    switch kind {
    case .proxy:
      let other = Trip(context: context)
      other.setValue(NSSet(array: entries), forKey: "entries")
      return other.mutableSetValue(forKey: "entries")
    case .counted: return NSCountedSet(array: entries)
    case .own: return Herd(entries)
    }
  }

  private func members(_ trip: Trip, _ key: String = "entries") -> Set<String> {
    switch trip.value(forKey: key) {
    case let set as NSSet: Set(set.allObjects.compactMap { ($0 as? Entry)?.title })
    case let list as NSOrderedSet: Set(list.array.compactMap { ($0 as? Entry)?.title })
    default: []
    }
  }

  @Test("The set that stands for a relationship can be set as this relationship: nobody is lost")
  func itself() throws {
    let trip = Trip(context: context)
    trip.setValue(NSSet(array: entries(["a"])), forKey: "entries")
    try context.save()
    let proxy = trip.mutableSetValue(forKey: "entries")
    proxy.add(entries(["b"])[0])
    trip.setValue(proxy, forKey: "entries")
    #expect(members(trip) == ["a", "b"])
    try context.save()
    let other = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    other.persistentStoreCoordinator = coordinator
    let again = try #require(try other.existingObject(with: trip.objectID) as? Trip)
    #expect(members(again) == ["a", "b"])
  }

  @Test("Key-value coding takes every set, for relationships of both kinds", arguments: Kind.allCases)
  func keyValueCoding(kind: Kind) throws {
    let all = entries(["a", "b"])
    let trip = Trip(context: context)
    trip.setValue(set(kind, all), forKey: "entries")
    #expect(members(trip) == ["a", "b"] && all.allSatisfy { $0.trip === trip })
    trip.setValue(set(kind, all), forKey: "plan")
    #expect(members(trip, "plan") == ["a", "b"])
    let third = Trip(context: context)
    third.setValuesForKeys(["entries": set(kind, all)])
    #expect(members(third) == ["a", "b"] && members(trip) == [])
    let fourth = Trip(context: context)
    fourth.setPrimitiveValue(set(kind, entries(["c"])), forKey: "entries")
    #expect(members(fourth) == ["c"])
    let optional: NSSet? = set(kind, entries(["d"]))
    trip.setValue(optional as Any, forKey: "entries")
    #expect(members(trip) == ["d"])
  }

  @Test("Validation by key hands every set back with its members", arguments: Kind.allCases)
  func validation(kind: Kind) throws {
    let trip = Trip(context: context)
    var value: AnyObject? = set(kind, entries(["a", "b"]))
    try trip.validateValue(&value, forKey: "entries")
    #expect((value as? NSSet)?.count == 2)
  }

  @Test("Every set of IDs is merged", arguments: [true, false])
  func merging(isCounted: Bool) throws {
    let entry = entries(["a"])[0]
    try context.save()
    let other = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    other.persistentStoreCoordinator = coordinator
    let same = try #require(try other.existingObject(with: entry.objectID) as? Entry)
    same.title = "b"
    try other.save()
    #expect(entry.title == "a")
    let ids: NSSet = isCounted ? NSCountedSet(array: [entry.objectID]) : Herd([entry.objectID])
    NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: ids], into: [context])
    #expect(entry.title == "b")
  }

  @Test("Predicates look into every set", arguments: Kind.allCases)
  func predicates(kind: Kind) throws {
    let all = entries(["a", "b", "c"])
    try context.save()
    let request = NSFetchRequest<Entry>(entityName: "Entry")
    request.predicate = NSPredicate(format: "SELF IN %@", set(kind, Array(all[..<2])))
    #expect(Set(try context.fetch(request).map(\.title)) == ["a", "b"])
  }
}
