/// The members of a to-many relationship, as they are at the moment of each call.
///
///     plane.flights.insert(flight)     // an append, however many flights the plane has
///     plane.flights.count              // one look-up in the index
///
/// A view, not a copy: it holds the owner and nothing else. Used on the context's queue. Iterating loads the members with one
/// range scan and makes faults of those that are not in the context.
public struct RelatedObjects<Element: ManagedObject> {
  /// Whose relationship it is.
  public let owner: ManagedObject
  let relationship: RelationshipSchema

  init(_ owner: ManagedObject, _ relationship: RelationshipSchema) {
    self.owner = owner
    self.relationship = relationship
  }

  /// How many members there are: one look-up in the index while they are not loaded.
  public var count: Int { owner.memberCount(relationship) }
  /// Whether there is none.
  public var isEmpty: Bool { count == 0 }
  /// Whether `object` is one of them: one look-up while they are not loaded.
  public func contains(_ object: Element) -> Bool { owner.showsMember(relationship, object) }

  /// Adds `object`, inverse included. Loads nothing.
  public func insert(_ object: Element) { owner.addMember(relationship, object) }
  /// Adds each of `objects`.
  public func formUnion(_ objects: some Sequence<Element>) { for object in objects { insert(object) } }
  /// Takes `object` out, inverse included. Does nothing when it is not a member.
  public func remove(_ object: Element) { owner.removeMember(relationship, object) }
  /// Takes each of `objects` out.
  public func subtract(_ objects: some Sequence<Element>) { for object in objects { remove(object) } }
  /// Takes all members out.
  public func removeAll() { owner.setMembers(relationship, []) }

  /// The members' IDs, without making objects.
  public var objectIDs: [ManagedObjectID] { owner.objectIDs(forRelationshipNamed: relationship.name) }
}

extension RelatedObjects: Sequence {
  /// The members as they are now, in no particular order.
  public func makeIterator() -> IndexingIterator<[Element]> {
    owner.members(relationship).map { owner.typed($0, relationship) }.makeIterator()
  }

  /// A lower bound of the number of members.
  public var underestimatedCount: Int { 0 }
}

/// The members of an ordered to-many relationship, in order, as they are at the moment of each call. See ``RelatedObjects``.
///
/// `count` and `isEmpty` look into the store while the members are not loaded, subscripts load them, and another context or process may save in between. So a position
/// is compared with `endIndex`, which loads them, or comes from `indices`; iterating, and what every collection does, goes by one state of the members.
public struct OrderedRelatedObjects<Element: ManagedObject> {
  /// Whose relationship it is.
  public let owner: ManagedObject
  let relationship: RelationshipSchema

  init(_ owner: ManagedObject, _ relationship: RelationshipSchema) {
    self.owner = owner
    self.relationship = relationship
  }

  /// How many members there are: one look-up in the index while they are not loaded. Compare positions with `endIndex`.
  public var count: Int { owner.memberCount(relationship) }
  /// Whether there is none: one look-up in the index while they are not loaded.
  public var isEmpty: Bool { count == 0 }
  /// Whether `object` is one of them.
  public func contains(_ object: Element) -> Bool { owner.showsMember(relationship, object) }
  /// Where `object` stands; nil when it is no member.
  public func firstIndex(of object: Element) -> Int? {
    let bits = object.referenceBits
    return owner.memberList(relationship).firstIndex { $0.member == bits }
  }

  /// Adds `object` at the end, inverse included; one that is there stays where it is. Loads nothing.
  public func append(_ object: Element) { owner.addMember(relationship, object) }
  /// Adds each of `objects` at the end.
  public func append(contentsOf objects: some Sequence<Element>) { for object in objects { append(object) } }
  /// Puts `object` at `index`; one that is there already moves so that it stands there afterwards, for `count` to the end. Traps for an index beyond the end.
  public func insert(_ object: Element, at index: Int) {
    owner.placeMember(relationship, object, at: index)
  }
  /// Moves the member at `source` so that it stands at `destination` afterwards.
  public func move(from source: Int, to destination: Int) {
    owner.placeMember(relationship, self[source], at: destination)
  }
  /// Takes `object` out, inverse included.
  public func remove(_ object: Element) { owner.removeMember(relationship, object) }
  /// Takes the member at `index` out.
  @discardableResult
  public func remove(at index: Int) -> Element {
    let object = self[index]
    remove(object)
    return object
  }
  /// Puts `object` where the member at `index` stands, which goes.
  public func replace(at index: Int, with object: Element) {
    let old = self[index]
    if old === object || object.contextReference == nil && object.keptBySave() === old { return }
    insert(object, at: index)
    remove(old)
  }
  /// Takes all members out.
  public func removeAll() { owner.setMembers(relationship, []) }

  /// The members' IDs in order, without making objects.
  public var objectIDs: [ManagedObjectID] { owner.objectIDs(forRelationshipNamed: relationship.name) }
}

extension OrderedRelatedObjects: RandomAccessCollection {
  /// Always 0.
  public var startIndex: Int { 0 }
  /// The number of members. Loads them.
  public var endIndex: Int { owner.memberList(relationship).count }
  /// The member at `position`. Loads the members.
  public subscript(position: Int) -> Element {
    let list = owner.memberList(relationship)
    guard list.indices.contains(position) else {
      trap("index \(position) is out of range: \(relationship.qualifiedName) has \(list.count) members.")
    }
    return element(list[position])
  }

  fileprivate func element(_ member: PlacedMember) -> Element {
    guard let object = owner.context?.object(member.member, inStore: owner.home.storeIndex) else {
      trap("\(relationship.qualifiedName) of \(owner), which is in no context any more, has no members.")
    }
    object.context?.noteWay(relationship, to: object)
    return owner.typed(object, relationship)
  }

  /// The members in the order of now, each made when it is asked for.
  public struct Iterator: IteratorProtocol {
    private let members: OrderedRelatedObjects
    private let list: ContiguousArray<PlacedMember>
    private var position = 0

    fileprivate init(_ members: OrderedRelatedObjects) {
      self.members = members
      list = members.owner.memberList(members.relationship)
    }

    /// The next member; nil behind the last.
    public mutating func next() -> Element? {
      guard position < list.count else { return nil }
      defer { position += 1 }
      return members.element(list[position])
    }
  }

  /// Goes through the members as they are now, whatever becomes of them meanwhile.
  public func makeIterator() -> Iterator { Iterator(self) }

  /// What arrays are made with.
  public func _copyToContiguousArray() -> ContiguousArray<Element> {
    ContiguousArray(owner.memberList(relationship).lazy.map(element))
  }

  // What the algorithms of all collections ask, who go by it in subscripts. `count` and `isEmpty` themselves, where the view is known to be one, only look into the index.
  /// The number of members. Loads them.
  @_disfavoredOverload @_implements(Collection,count)
  public var loadedCount: Int { endIndex }
  /// Whether there is no member. Loads them.
  @_disfavoredOverload @_implements(Collection,isEmpty)
  public var loadedIsEmpty: Bool { endIndex == 0 }
}

extension ManagedObject {
  fileprivate final func typed<T: ManagedObject>(_ object: ManagedObject, _ relationship: RelationshipSchema)
    -> T
  {
    guard let typed = object as? T else { trapWrongClass(object, relationship.slot, T.self) }
    return typed
  }
}
