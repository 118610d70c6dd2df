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
