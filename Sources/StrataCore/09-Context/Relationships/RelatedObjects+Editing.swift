import Foundation

// More edits of the members of to-many relationships. All of them keep the inverse, and change what the relationship has, whatever the property is called that hands
// out the view: they need no setter. Sets and arrays that a class hands out instead are edited in the ordinary way, `book.tags.insert(tag)` through the property's setter.

extension RelatedObjects {
  /// Takes out the members for which `isUnwanted` is true. Loads the members.
  /// - Throws: what `isUnwanted` throws; nothing is taken out then.
  public func removeAll(where isUnwanted: (Element) throws -> Bool) rethrows {
    subtract(try filter(isUnwanted))
  }

  /// Takes out the members that are not among `objects`. Loads the members.
  public func formIntersection(_ objects: some Sequence<Element>) {
    let kept = Set(objects.map(ObjectIdentifier.init))
    removeAll { !kept.contains(ObjectIdentifier($0)) }
  }

  /// Takes out those of `objects` that are members, and adds the others. An object that comes twice counts once.
  public func formSymmetricDifference(_ objects: some Sequence<Element>) {
    var seen: Set<ObjectIdentifier> = []
    for object in Array(objects) where seen.insert(ObjectIdentifier(object)).inserted {
      if contains(object) { remove(object) } else { insert(object) }
    }
  }

  /// Makes `objects` the members.
  public func replaceAll(with objects: some Sequence<Element>) {
    owner.setMembers(relationship, Array(objects))
  }
}

extension OrderedRelatedObjects {
  /// Puts `objects` at `index`, in their order; those that are there already move. Traps for an index beyond the end.
  public func insert(contentsOf objects: some Sequence<Element>, at index: Int) {
    var members = Array(self)
    guard index >= 0, index <= members.count else { trapOutside(index, members.count) }
    let (new, moving) = distinct(objects)
    var place = index
    for member in members[..<index] where moving.contains(ObjectIdentifier(member)) { _ = member; place -= 1 }
    members.removeAll { moving.contains(ObjectIdentifier($0)) }
    members.insert(contentsOf: new, at: place)
    replaceAll(with: members)
  }

  /// Takes out the first member and returns it. Traps when there is none.
  @discardableResult
  public func removeFirst() -> Element { remove(at: 0) }

  /// Takes out the last member and returns it. Traps when there is none.
  @discardableResult
  public func removeLast() -> Element { remove(at: endIndex - 1) }

  /// Takes out the last member and returns it; nil when there is none.
  @discardableResult
  public func popLast() -> Element? { endIndex == 0 ? nil : removeLast() }

  /// Takes out the members at the positions. Traps when they are beyond the end.
  public func removeSubrange(_ bounds: Range<Int>) {
    var members = Array(self)
    guard bounds.lowerBound >= 0, bounds.upperBound <= members.count else {
      trapOutside(bounds.upperBound, members.count)
    }
    members.removeSubrange(bounds)
    replaceAll(with: members)
  }

  /// Takes out the members at the offsets, as a list in a user interface asks for it. Traps for one beyond the end.
  public func remove(atOffsets offsets: IndexSet) {
    let members = Array(self)
    if let last = offsets.last, last >= members.count { trapOutside(last, members.count) }
    replaceAll(with: members.enumerated().filter { !offsets.contains($0.offset) }.map(\.element))
  }

  /// Takes out the members for which `isUnwanted` is true.
  /// - Throws: what `isUnwanted` throws; nothing is taken out then.
  public func removeAll(where isUnwanted: (Element) throws -> Bool) rethrows {
    let members = Array(self)
    let kept = try members.filter { try !isUnwanted($0) }
    if kept.count < members.count { replaceAll(with: kept) }
  }

  /// Moves the members at `source` so that they stand, in their order, before the one that is at `destination` now, as a list in a user interface asks for
  /// it; `count` moves them to the end. Traps for an offset beyond the end.
  public func move(fromOffsets source: IndexSet, toOffset destination: Int) {
    let members = Array(self)
    if let last = source.last, last >= members.count { trapOutside(last, members.count) }
    guard destination >= 0, destination <= members.count else { trapOutside(destination, members.count) }
    let moving = source.map { members[$0] }
    let before = (0..<destination).filter { !source.contains($0) }.map { members[$0] }
    let behind = (destination..<members.count).filter { !source.contains($0) }.map { members[$0] }
    replaceAll(with: before + moving + behind)
  }

  /// Lets two members change places. Traps for a position beyond the end.
  public func swapAt(_ first: Int, _ second: Int) {
    var members = Array(self)
    for position in [first, second] where !members.indices.contains(position) {
      trapOutside(position, members.count)
    }
    members.swapAt(first, second)
    replaceAll(with: members)
  }

  /// Brings the members into an order.
  /// - Throws: what `areInIncreasingOrder` throws; the order stays as it was then.
  public func sort(by areInIncreasingOrder: (Element, Element) throws -> Bool) rethrows {
    replaceAll(with: try sorted(by: areInIncreasingOrder))
  }

  /// Turns the order of the members round.
  public func reverse() { replaceAll(with: Array(reversed())) }

  /// Makes `objects` the members, in their order; an object counts where it stands first.
  public func replaceAll(with objects: some Sequence<Element>) {
    owner.setMembers(relationship, Array(objects))
  }

  private func distinct(_ objects: some Sequence<Element>) -> ([Element], Set<ObjectIdentifier>) {
    var seen: Set<ObjectIdentifier> = []
    let new = Array(objects).filter { seen.insert(ObjectIdentifier($0)).inserted }
    return (new, seen)
  }

  private func trapOutside(_ position: Int, _ count: Int) -> Never {
    trap("index \(position) is out of range: \(relationship.qualifiedName) has \(count) members.")
  }
}

extension ManagedObject {
  /// Makes the members of another view the members of the to-many relationship in `slot`: the setter of a property that hands out a view. The view of the same
  /// relationship changes nothing.
  ///
  ///     var tags: RelatedObjects<Tag> {
  ///       get { related(slot: 10) }
  ///       set { write(newValue, slot: 10) }
  ///     }
  public final func write<T: ManagedObject>(_ members: RelatedObjects<T>, slot: Int) {
    if members.owner === self, members.relationship.slot == slot { return }
    write(Set(members), slot: slot)
  }

  /// The same for an ordered relationship.
  public final func write<T: ManagedObject>(_ members: OrderedRelatedObjects<T>, slot: Int) {
    if members.owner === self, members.relationship.slot == slot { return }
    write(Array(members), slot: slot)
  }
}
