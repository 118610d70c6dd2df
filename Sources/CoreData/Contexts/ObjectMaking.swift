import StrataCore

/// What lets code make objects of a class that it knows only while the program runs: the initialisers of a class cannot be called so unless every subclass
/// writes them, those of a protocol can.
public protocol ManagedObjectMaking {}

extension NSManagedObject: ManagedObjectMaking {}

extension ManagedObjectMaking where Self: NSManagedObject {
  /// Makes a new record of the one entity of the context's model that has this class, and inserts it: for `T(context:)` and `Self(context:)`.
  ///
  /// `Book(context:)` is the initialiser of the class. An override of `init(entity:insertInto:)` gets nil as the context here, as it does for objects
  /// that are fetched.
  public init(context: NSManagedObjectContext) {
    self = context.insertNew(Self.self, nil)
  }

  /// Makes a new record of `entity` and inserts it, or leaves it outside any context for nil: for `T(entity:insertInto:)` and
  /// `Self(entity:insertInto:)`. See `init(context:)`.
  public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    if let context {
      self = context.insertNew(Self.self, entity)
    } else {
      self = Self(materializing: entity)
    }
  }
}
