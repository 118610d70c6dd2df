import Foundation

/// Where one instance of a model keeps its values.
///
/// There are two kinds: the draft of an instance that is in no context, and the row of one that is. Both are used where the instance is.
public protocol BackingData<Model>: AnyObject {
  /// The class of the instance.
  associatedtype Model: PersistentModel

  /// Backing data of a new instance.
  init(for modelType: Model.Type)
  /// The identity of the instance. Setting it has no effect on data that a store keeps.
  var persistentModelID: PersistentIdentifier? { get set }
  /// What the data is bound to: the entity's description of a row, nothing of a draft.
  var metadata: Any { get }

  // Those for Codable types are disfavoured, so that a model class that is Codable, too, still makes a relationship.

  /// The attribute's value.
  @_disfavoredOverload
  func getValue<Value>(forKey keyPath: KeyPath<Model, Value>) -> Value where Value: Decodable
  /// The model at the other end of a relationship that always leads to one.
  func getValue<Value>(forKey keyPath: KeyPath<Model, Value>) -> Value where Value: PersistentModel
  /// The model at the other end, or nil.
  func getValue<Value>(forKey keyPath: KeyPath<Model, Value?>) -> Value? where Value: PersistentModel
  /// The models of a to-many relationship.
  func getValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>) -> Value
  where Value: RelationshipCollection, OtherModel == Value.PersistentElement
  /// The models of a to-many relationship.
  func getValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>) -> Value
  where Value: Decodable, Value: RelationshipCollection, OtherModel == Value.PersistentElement
  /// The value of an attribute that a value transformer stores.
  func getTransformableValue<Value>(forKey keyPath: KeyPath<Model, Value>) -> Value

  /// Sets the attribute.
  @_disfavoredOverload
  func setValue<Value>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value) where Value: Encodable
  /// Sets a relationship that always leads to a model.
  func setValue<Value>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value) where Value: PersistentModel
  /// Sets a to-one relationship.
  func setValue<Value>(forKey keyPath: KeyPath<Model, Value?>, to newValue: Value?)
  where Value: PersistentModel
  /// Sets a to-many relationship.
  func setValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)
  where Value: RelationshipCollection, OtherModel == Value.PersistentElement
  /// Sets a to-many relationship.
  func setValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)
  where Value: Encodable, Value: RelationshipCollection, OtherModel == Value.PersistentElement
  /// Sets an attribute that a value transformer stores.
  func setTransformableValue<Value>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)

  // The short way of initial values, for the commonest types: the property is known by its place among those that the class declares. Whether the data has taken the value;
  // where it has not, the accessor calls `setValue`.

  /// Takes a text.
  func _begin(_ place: Int, with text: String) -> Bool
  /// Takes a number.
  func _begin(_ place: Int, with number: Int) -> Bool
  /// Takes a number.
  func _begin(_ place: Int, with number: Int64) -> Bool
  /// Takes a number.
  func _begin(_ place: Int, with number: Double) -> Bool
  /// Takes a Boolean.
  func _begin(_ place: Int, with truth: Bool) -> Bool
  /// Takes a date.
  func _begin(_ place: Int, with date: Date) -> Bool
  /// Takes nil for an attribute of one of these types.
  func _beginWithNothing(_ place: Int) -> Bool
}

extension BackingData {
  /// Not taken.
  public func _begin(_ place: Int, with text: String) -> Bool { false }
  /// Not taken.
  public func _begin(_ place: Int, with number: Int) -> Bool { false }
  /// Not taken.
  public func _begin(_ place: Int, with number: Int64) -> Bool { false }
  /// Not taken.
  public func _begin(_ place: Int, with number: Double) -> Bool { false }
  /// Not taken.
  public func _begin(_ place: Int, with truth: Bool) -> Bool { false }
  /// Not taken.
  public func _begin(_ place: Int, with date: Date) -> Bool { false }
  /// Not taken.
  public func _beginWithNothing(_ place: Int) -> Bool { false }

  /// Not taken: a value of any other type.
  @_disfavoredOverload
  @inlinable @inline(__always)
  public func _begin<Value>(_ place: Int, with value: borrowing Value) -> Bool { false }

  // By themselves numbers of this type would become those of type `Double`, which they are not.

  /// Not taken.
  @inlinable public func _begin(_ place: Int, with number: CGFloat) -> Bool { false }
  /// Not taken.
  @inlinable public func _begin(_ place: Int, with number: CGFloat?) -> Bool { false }

  /// Takes a text or nil.
  @inlinable public func _begin(_ place: Int, with text: String?) -> Bool {
    text.map { _begin(place, with: $0) } ?? _beginWithNothing(place)
  }
  /// Takes a number or nil.
  @inlinable public func _begin(_ place: Int, with number: Int?) -> Bool {
    number.map { _begin(place, with: $0) } ?? _beginWithNothing(place)
  }
  /// Takes a number or nil.
  @inlinable public func _begin(_ place: Int, with number: Int64?) -> Bool {
    number.map { _begin(place, with: $0) } ?? _beginWithNothing(place)
  }
  /// Takes a number or nil.
  @inlinable public func _begin(_ place: Int, with number: Double?) -> Bool {
    number.map { _begin(place, with: $0) } ?? _beginWithNothing(place)
  }
  /// Takes a Boolean or nil.
  @inlinable public func _begin(_ place: Int, with truth: Bool?) -> Bool {
    truth.map { _begin(place, with: $0) } ?? _beginWithNothing(place)
  }
  /// Takes a date or nil.
  @inlinable public func _begin(_ place: Int, with date: Date?) -> Bool {
    date.map { _begin(place, with: $0) } ?? _beginWithNothing(place)
  }
}

/// What a to-many relationship is written as: `[Child]` or `[Child]?`.
public protocol RelationshipCollection {
  /// The class of the members.
  associatedtype PersistentElement: PersistentModel
  /// The collection of these members.
  init(_persistentElements elements: [PersistentElement])
  /// The members; nil for no collection.
  var _persistentElements: [PersistentElement]? { get }
}

extension Array: RelationshipCollection where Element: PersistentModel {
  public init(_persistentElements elements: [Element]) { self = elements }
  public var _persistentElements: [Element]? { self }
}

extension Optional: RelationshipCollection where Wrapped: Sequence, Wrapped.Element: PersistentModel {
  public typealias PersistentElement = Wrapped.Element
  public init(_persistentElements elements: [Wrapped.Element]) {
    // Of the sequences of models only arrays make a property of a model compile.
    self = elements as? Wrapped
  }
  public var _persistentElements: [Wrapped.Element]? {
    guard let self else { return nil }
    return Array(self)
  }
}
