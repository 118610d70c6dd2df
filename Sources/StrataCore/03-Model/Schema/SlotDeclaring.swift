/// A class of managed objects, which may say what properties its entity has.
///
/// Accessors that use slot numbers read and write whatever has that number: so their class says which names it means, in slot order
/// (``declaredSlots``). Accessors that find their slots by name (``namedSlots``) depend on no order. Both are compared with the model when it is
/// taken into use, so that no accessor ever reads the wrong property.
public protocol SlotDeclaring: AnyObject {
  /// The names of the properties in slot order (inherited first, then own attributes, then own relationships, each in declaration order; a
  /// composite attribute is followed by its elements under their key paths); empty when the class uses no slot numbers, nil when it says nothing.
  static var declaredSlots: [String]? { get }
  /// What the class's own accessors find by name, in any order, without what superclasses declare; nil when it says nothing.
  static var namedSlots: [NamedSlot]? { get }
  /// The entity of the class, when the class declares it itself.
  static var entityDeclaration: EntityDeclaration? { get }
  /// Stored properties that are meant to be kept by no store.
  static var ignoredProperties: [String] { get }
}

extension SlotDeclaring {
  /// The entity that this very class declares; nil for one that only inherits a declaration.
  static var ownDeclaration: EntityDeclaration? {
    entityDeclaration.flatMap { $0.managedObjectClass == self ? $0 : nil }
  }

  /// What the class and its superclasses find by name; nil when none of them says anything.
  static var allNamedSlots: [NamedSlot]? {
    var found: [NamedSlot]?
    var seen = Set<String>()
    var current: AnyClass? = self
    while let type = current as? any SlotDeclaring.Type {
      if let named = type.namedSlots {
        // A class that does not override the property answers its superclass's.
        found = (found ?? []) + named.filter { seen.insert($0.name).inserted }
      }
      current = _getSuperclass(type)
    }
    return found
  }
}

/// A property that a class finds by its name, and of what kind it takes it to be.
public struct NamedSlot: Sendable, Hashable {
  /// What a property is taken to be.
  public enum Kind: Sendable, Hashable {
    case attribute(AttributeType)
    case toOne
    case toMany
    /// To-many with an order.
    case ordered
    /// A to-many relationship, ordered or not, or a transient attribute of a type that no store keeps.
    case unknown
    /// Found by a request.
    case fetched
  }
  /// The property's name.
  public let name: String
  /// What the accessor takes it to be.
  public let kind: Kind
  /// The Swift type of the accessor, for messages.
  public let typeName: String

  /// A property called `name`.
  public init(_ name: String, _ kind: Kind, typeName: String) {
    self.name = name
    self.kind = kind
    self.typeName = typeName
  }
}
