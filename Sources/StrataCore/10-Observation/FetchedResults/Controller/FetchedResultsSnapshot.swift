/// The list of a ``FetchedResultsController`` at one moment, as a value: the names of its sections and the IDs of their objects.
///
/// Making one, keeping it and handing it to another thread costs the same for ten objects and for a million: snapshots share what
/// they have in common with each other. Looking something up takes a few steps down a tree.
public struct FetchedResultsSnapshot: Sendable {
  let list: EntryList
  private let names: [String]
  private let stores: [StoreBinding]
  private let hasSections: Bool
  /// The objects that are in this snapshot and in the one before and have changed in between, in order: what shows them should read
  /// them again.
  public let reloadedItemIdentifiers: [ManagedObjectID]

  init(
    _ list: EntryList, names: [String], stores: [StoreBinding], hasSections: Bool,
    reloaded: [ManagedObjectID]
  ) {
    self.list = list
    self.names = names
    self.stores = stores
    self.hasSections = hasSections
    reloadedItemIdentifiers = reloaded
  }

  /// How many objects there are.
  public var numberOfItems: Int { list.count }

  /// How many sections there are; one without a section key path (rule 258).
  public var numberOfSections: Int { hasSections ? list.runCount : 1 }

  /// The names of the sections, in order; the one there is without a section key path has an empty name.
  public var sectionNames: [String] { (0..<numberOfSections).map(sectionName) }

  /// The name of a section.
  public func sectionName(_ section: Int) -> String {
    requireSection(section)
    if !hasSections { return "" }
    let (leaf, place) = list.find(list.start(ofRun: section))
    return names[Int(leaf.entries.section(place))]
  }

  /// The positions of a section's objects among all.
  func range(ofSection section: Int) -> Range<Int> {
    requireSection(section)
    return hasSections ? list.start(ofRun: section)..<list.start(ofRun: section + 1) : 0..<list.count
  }

  private func requireSection(_ section: Int) {
    if !(0..<numberOfSections).contains(section) {
      trap("section \(section) is out of range: there are \(numberOfSections) sections.")
    }
  }

  /// How many objects a section has.
  public func numberOfItems(inSection section: Int) -> Int { range(ofSection: section).count }

  /// The IDs of all objects, in order.
  public var itemIdentifiers: FetchedResultsIdentifiers {
    FetchedResultsIdentifiers(list, 0..<list.count, stores)
  }

  /// The IDs of a section's objects, in order.
  public func itemIdentifiers(inSection section: Int) -> FetchedResultsIdentifiers {
    FetchedResultsIdentifiers(list, range(ofSection: section), stores)
  }
}

/// IDs of a ``FetchedResultsSnapshot``. Reads nothing; going through all of them costs no more than an array does.
public struct FetchedResultsIdentifiers: RandomAccessCollection, Sendable {
  private let list: EntryList
  private let range: Range<Int>
  private let stores: [StoreBinding]

  init(_ list: EntryList, _ range: Range<Int>, _ stores: [StoreBinding]) {
    self.list = list
    self.range = range
    self.stores = stores
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { range.count }

  public subscript(position: Int) -> ManagedObjectID {
    guard position >= 0, position < range.count else {
      trap("position \(position) is out of range: there are \(range.count) objects.")
    }
    let (leaf, place) = list.find(range.lowerBound + position)
    return Self.identifier(leaf.entries.identity(place), leaf.entries.code(place), stores)
  }

  public struct Iterator: IteratorProtocol {
    fileprivate let list: EntryList
    fileprivate let stores: [StoreBinding]
    fileprivate var position: Int
    fileprivate let end: Int
    fileprivate var leaf: EntryNode?
    fileprivate var place = 0

    public mutating func next() -> ManagedObjectID? {
      guard position < end else { return nil }
      if leaf == nil || place >= (leaf?.entries.count ?? 0) { (leaf, place) = list.find(position) }
      guard let leaf else { return nil }
      defer {
        position += 1
        place += 1
      }
      return FetchedResultsIdentifiers.identifier(
        leaf.entries.identity(place), leaf.entries.code(place), stores)
    }
  }

  public func makeIterator() -> Iterator {
    Iterator(list: list, stores: stores, position: range.lowerBound, end: range.upperBound)
  }

  static func identifier(_ identity: UInt64, _ code: UInt16, _ stores: [StoreBinding]) -> ManagedObjectID {
    guard let bound = stores[ResultEntry.store(identity)].entity(code: code) else {
      trap("an entry of a list names an entity that its store does not hold")
    }
    return ManagedObjectID(token: bound.token, primaryKey: ResultEntry.primaryKey(identity))
  }
}
