import Synchronization

/// What a property of some name is in an object's entity.
public struct PropertyPlace: Sendable {
  /// What kind of property it is.
  public enum Kind: UInt8, Sendable {
    /// One with a value of ``PropertyPlace/type``.
    case attribute
    case toOne
    case toMany
    /// To-many with an order.
    case ordered
    /// Found by a request; it has no slot.
    case fetched
  }
  /// Its position in the entity; -1 for a fetched property.
  public let slot: Int
  /// The type of an attribute's values.
  public let type: AttributeType
  /// What it is.
  public let kind: Kind

  /// Whether it is an attribute whose values are of `type`.
  @inlinable @inline(__always)
  public func holds(_ type: AttributeType) -> Bool { self.type == type && kind == .attribute }
}

/// A property known by its name, which remembers where it lies in each entity it was asked for.
///
/// For accessors that are written without a model: a model's order of properties is not known to them, and one class may
/// belong to entities of several models. Asking costs a look-up by name the first time, some loads and a compare from then on. May be used from any
/// thread; keeps a few words for each entity for good.
public struct PropertyReference: ~Copyable, @unchecked Sendable {
  // @unchecked Sendable: what `newest` leads to is written once, before it can be seen, and never freed.

  /// The property's name.
  public let name: StaticString
  /// The entity asked for last, then those before. Entries are never changed and never freed, so reading them needs no lock.
  @usableFromInline let newest: Atomic<UnsafePointer<Entry>?>

  /// Immortal.
  @usableFromInline struct Entry {
    /// Stands for the entity: immortal memory that only entities have whose properties are the same.
    @usableFromInline let table: UnsafePointer<UInt32>
    @usableFromInline let place: PropertyPlace
    /// The slot's word in the table: its kind and where its value lies in rows; 0 for a fetched property.
    @usableFromInline let word: UInt32
    let next: UnsafePointer<Entry>?
  }

  /// The property `name`, in whatever entity.
  // Inlinable, so that a reference in a global is there without being made.
  @inlinable public init(_ name: StaticString) {
    self.name = name
    newest = Atomic(nil)
  }

  /// Where the property lies in `object`'s entity. Traps when the entity has no such property.
  @inlinable @inline(__always)
  public borrowing func place(in object: ManagedObject) -> PropertyPlace {
    if let entry = newest.load(ordering: .acquiring), entry.pointee.table == object.table {
      return entry.pointee.place
    }
    return otherPlace(in: object)
  }

  /// The slot's word in the table of `object`'s entity, when the entity is the one that was asked for last.
  @inlinable @inline(__always)
  borrowing func word(in object: ManagedObject, _ kind: SlotKind) -> UInt32? {
    guard let entry = newest.load(ordering: .acquiring), entry.pointee.table == object.table else {
      return nil
    }
    let word = entry.pointee.word
    return RowBytes.kind(word) == kind ? word : nil
  }

  /// The slot in `object`'s entity. Traps when the entity has no such property.
  @inlinable @inline(__always)
  public borrowing func slot(in object: ManagedObject) -> Int { place(in: object).slot }

  @inline(never) @usableFromInline
  borrowing func otherPlace(in object: ManagedObject) -> PropertyPlace {
    let first = newest.load(ordering: .acquiring)
    var next = first
    var length = 0
    while let entry = next, length < Self.mostEntries {
      if entry.pointee.table == object.table { return entry.pointee.place }
      next = entry.pointee.next
      length += 1
    }
    let place = object.place(ofPropertyNamed: name.description)
    // A program that makes models without end must not make lists without end.
    if length == Self.mostEntries { return place }
    let entry = UnsafeMutablePointer<Entry>.allocate(capacity: 1)
    entry.initialize(
      to: Entry(
        table: object.table, place: place, word: place.slot < 0 ? 0 : object.table[place.slot], next: first))
    let (exchanged, _) = newest.compareExchange(
      expected: first, desired: UnsafePointer(entry), ordering: .acquiringAndReleasing)
    // Another thread was faster; the next access tries again.
    if !exchanged { entry.deallocate() }
    return place
  }

  private static var mostEntries: Int { 64 }
}

extension ManagedObject {
  fileprivate final func place(ofPropertyNamed name: String) -> PropertyPlace {
    let entity = home.entity
    guard let slot = entity.slot(named: name) else {
      if hasFetchedProperty(name) { return PropertyPlace(slot: -1, type: .undefined, kind: .fetched) }
      trap(
        "entity \(entity.name) has no property “\(name)”, which its class \(Swift.type(of: self)) declares."
      )
    }
    guard let relationship = entity.relationship(slot: slot) else {
      return PropertyPlace(slot: slot, type: entity.attributes[slot].type, kind: .attribute)
    }
    let kind: PropertyPlace.Kind =
      !relationship.isToMany ? .toOne : relationship.isOrdered ? .ordered : .toMany
    return PropertyPlace(slot: slot, type: .objectID, kind: kind)
  }

  /// The property in `slot` as `value(forKey:)` answers it, whatever subclasses make of that method. Fires a fault.
  public final func readValue(slot: Int) -> Any? {
    noteRead(slot)
    if let relationship = home.entity.relationship(slot: slot) {
      if relationship.isToMany { fireForMembers() }
      return relatedValue(relationship)
    }
    willAccess(slot)
    return keyedValue(slot)
  }

  /// Sets the property in `slot` as `setValue(_:forKey:)` does, whatever subclasses make of that method.
  public final func write(value: Any?, slot: Int) { setModeledValue(value, slot) }

  /// The name of the object's entity.
  public final var entityName: String { withHome { $0.entity.name } }
}
