import Foundation

/// A property of a class of managed objects: its name, written once, and its type.
///
///     final class Book: ManagedObject {
///       static let title = Slot<Book, String>("title")
///       static let author = Slot<Book, Author?>("author")
///
///       var title: String {
///         get { read(Book.title) }
///         set { write(newValue, Book.title) }
///       }
///       var author: Author? {
///         get { read(Book.author) }
///         set { write(newValue, Book.author) }
///       }
///     }
///
/// Where the property lies in an object's row is looked up by name once for each entity, so that the order of a model's properties means nothing, and
/// one class may serve several models. An access costs what one by slot number costs.
///
/// | `Value` | the property |
/// |---|---|
/// | an ``AttributeRepresentable``: `String`, `Int`, `Date` … | an attribute that must have a value |
/// | an enum or other `RawRepresentable` with such a raw value | an attribute of raw values |
/// | a ``CompositeValue`` | a composite attribute |
/// | any other `Codable` type, arrays of scalars | a transformable attribute, JSON unless a transformer is named |
/// | one of those, optional | an attribute that may be nil |
/// | `Book?` | a to-one relationship |
/// | `Set<Book>`, `[Book]` | a to-many relationship, without or with an order |
///
/// Where there is no value, a property that cannot be nil shows 0 or false when it is a number or a truth value (rule 345), else its default value, an
/// empty text, no options, the first case. Such a property of a new object that was never set is refused by the save.
///
/// Keep slots in `static let`s: a slot cannot be copied, it is passed along. May be used from any thread.
public struct Slot<Root, Value>: ~Copyable, Sendable {
  /// The property, and where it lies in the entities it was asked for.
  public let property: PropertyReference

  /// The property `name`.
  // Inlinable, so that a slot in a static property is there without being made.
  @inlinable public init(_ name: StaticString) { property = PropertyReference(name) }

  /// The property's name.
  public var name: String { property.name.description }
}

/// A type that slots read and write without making anything of it first.
///
/// The requirements are for Strata's own types.
public protocol StoredAttribute: AttributeRepresentable {
  /// The value of the property, nil when there is none.
  static func read(_ property: borrowing PropertyReference, of object: ManagedObject) -> Self?
  /// The value of the property, ``AttributeRepresentable/absentValue`` when there is none.
  static func readPresent(_ property: borrowing PropertyReference, of object: ManagedObject) -> Self
  /// Sets the property, to nil for nil.
  static func write(_ value: Self?, _ property: borrowing PropertyReference, of object: ManagedObject)
}

extension StoredAttribute {
  /// The value of the property, or what stands for none.
  @inlinable @inline(__always)
  public static func readPresent(_ property: borrowing PropertyReference, of object: ManagedObject) -> Self {
    read(property, of: object) ?? object.shownDefault(property.slot(in: object)) ?? absentValue
  }
}

extension ManagedObject {
  /// The declared default value of the attribute in `slot`, for a property that has no value and cannot be nil.
  @usableFromInline final func shownDefault<Value: AttributeRepresentable>(_ slot: Int) -> Value? {
    guard slot >= 0, home.entity.relationship(slot: slot) == nil else { return nil }
    return Value(storedValue: home.entity.attributes[slot].defaultValue)
  }
}

// MARK: Attributes

extension SlotDeclaring where Self: ManagedObject {
  /// The attribute, or what stands for none. Fires a fault. Traps when the model has another type for it.
  @inlinable @inline(__always)
  public func read<Value: StoredAttribute>(_ slot: borrowing Slot<Self, Value>) -> Value {
    Value.readPresent(slot.property, of: self)
  }

  /// The attribute, or nil. Fires a fault. Traps when the model has another type for it.
  @inlinable @inline(__always)
  public func read<Value: StoredAttribute>(_ slot: borrowing Slot<Self, Value?>) -> Value? {
    Value.read(slot.property, of: self)
  }

  /// Sets the attribute. Traps when the model has another type for it, and for a derived one.
  @inlinable @inline(__always)
  public func write<Value: StoredAttribute>(_ value: Value, _ slot: borrowing Slot<Self, Value>) {
    Value.write(value, slot.property, of: self)
  }

  /// Sets the attribute, or makes it nil. Traps when the model has another type for it, and for a derived one.
  @inlinable @inline(__always)
  public func write<Value: StoredAttribute>(_ value: Value?, _ slot: borrowing Slot<Self, Value?>) {
    Value.write(value, slot.property, of: self)
  }
}

// MARK: Relationships

extension SlotDeclaring where Self: ManagedObject {
  /// The object at the other end, or nil. Perhaps a fault: reads only this object's own row.
  @inlinable
  public func read<Other: ManagedObject>(_ slot: borrowing Slot<Self, Other?>) -> Other? {
    readObject(slot: slot.property.slot(in: self))
  }

  /// Sets the to-one relationship, and its inverse with it.
  @inlinable
  public func write<Other: ManagedObject>(_ object: Other?, _ slot: borrowing Slot<Self, Other?>) {
    write(object, slot: slot.property.slot(in: self))
  }

  /// The members of the to-many relationship.
  @inlinable
  public func read<Other: ManagedObject>(_ slot: borrowing Slot<Self, Set<Other>>) -> Set<Other> {
    readObjects(slot: slot.property.slot(in: self))
  }

  /// Makes `objects` the members, inverses included.
  @inlinable
  public func write<Other: ManagedObject>(_ objects: Set<Other>, _ slot: borrowing Slot<Self, Set<Other>>) {
    write(objects, slot: slot.property.slot(in: self))
  }

  /// The members of the ordered relationship, in order.
  @inlinable
  public func read<Other: ManagedObject>(_ slot: borrowing Slot<Self, [Other]>) -> [Other] {
    readOrderedObjects(slot: slot.property.slot(in: self))
  }

  /// Makes `objects` the members, in this order, inverses included.
  @inlinable
  public func write<Other: ManagedObject>(_ objects: [Other], _ slot: borrowing Slot<Self, [Other]>) {
    write(objects, slot: slot.property.slot(in: self))
  }

  /// The members of the to-many relationship as a view: counts, looks up, adds and removes without loading them.
  public func members<Other: ManagedObject>(_ slot: borrowing Slot<Self, Set<Other>>) -> RelatedObjects<Other>
  {
    related(slot: slot.property.slot(in: self))
  }

  /// The members of the ordered relationship as a view: counts, looks up, adds and removes without loading them.
  public func members<Other: ManagedObject>(_ slot: borrowing Slot<Self, [Other]>)
    -> OrderedRelatedObjects<Other>
  {
    orderedRelated(slot: slot.property.slot(in: self))
  }

  /// Makes the members of another view the members, inverses included: the setter of a property that hands out `members(_:)`. The view of the same
  /// relationship changes nothing.
  public func write<Other: ManagedObject>(
    _ members: RelatedObjects<Other>, _ slot: borrowing Slot<Self, Set<Other>>
  ) {
    write(members, slot: slot.property.slot(in: self))
  }

  /// The same for an ordered relationship.
  public func write<Other: ManagedObject>(
    _ members: OrderedRelatedObjects<Other>, _ slot: borrowing Slot<Self, [Other]>
  ) {
    write(members, slot: slot.property.slot(in: self))
  }

  /// What the fetched property finds: fetched when it is first asked for. Told on standard error, and empty, when it cannot be fetched;
  /// `fetchedObjects(forKey:)` throws.
  public func readFetched<Other: ManagedObject>(_ slot: borrowing Slot<Self, [Other]>) -> [Other] {
    let objects = reportedFetchedObjects(slot.name) as? [ManagedObject] ?? []
    return objects.map { object in
      guard let typed = object as? Other else {
        trap(
          "\(entityName).\(slot.name) finds an object of class \(Swift.type(of: object)), not \(Other.self).")
      }
      return typed
    }
  }
}
