// What the accessors that `@Model` writes call. Which function fits a property sorts it into attributes and relationships at compile time; those for Codable types are
// disfavoured, so that a model class that is Codable, too, still makes a relationship.

extension PersistentModel {
  /// The attribute's value.
  @_disfavoredOverload
  @inlinable public func getValue<Value>(forKey keyPath: KeyPath<Self, Value>) -> Value
  where Value: Decodable {
    persistentBackingData.getValue(forKey: keyPath)
  }

  /// The model at the other end of a relationship that always leads to one.
  @inlinable public func getValue<Value>(forKey keyPath: KeyPath<Self, Value>) -> Value
  where Value: PersistentModel {
    persistentBackingData.getValue(forKey: keyPath)
  }

  /// The model at the other end, or nil.
  @inlinable public func getValue<Value>(forKey keyPath: KeyPath<Self, Value?>) -> Value?
  where Value: PersistentModel {
    persistentBackingData.getValue(forKey: keyPath)
  }

  /// The models of a to-many relationship.
  @inlinable public func getValue<Value, OtherModel>(forKey keyPath: KeyPath<Self, Value>) -> Value
  where Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    persistentBackingData.getValue(forKey: keyPath)
  }

  /// The models of a to-many relationship.
  @inlinable public func getValue<Value, OtherModel>(forKey keyPath: KeyPath<Self, Value>) -> Value
  where Value: Decodable, Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    persistentBackingData.getValue(forKey: keyPath)
  }

  /// The value of an attribute that a value transformer stores.
  @inlinable public func getTransformableValue<Value>(forKey keyPath: KeyPath<Self, Value>) -> Value {
    persistentBackingData.getTransformableValue(forKey: keyPath)
  }

  /// Sets the attribute.
  @_disfavoredOverload
  @inlinable public func setValue<Value>(forKey keyPath: KeyPath<Self, Value>, to newValue: Value)
  where Value: Encodable {
    persistentBackingData.setValue(forKey: keyPath, to: newValue)
  }

  /// Sets the relationship, and its inverse with it. A model that is in no context comes into that of the other.
  public func setValue<Value>(forKey keyPath: KeyPath<Self, Value>, to newValue: Value)
  where Value: PersistentModel {
    persistentBackingData.setValue(forKey: keyPath, to: newValue)
    draft?.settle(self)
  }

  /// Sets the relationship, and its inverse with it. A model that is in no context comes into that of the other.
  public func setValue<Value>(forKey keyPath: KeyPath<Self, Value?>, to newValue: Value?)
  where Value: PersistentModel {
    persistentBackingData.setValue(forKey: keyPath, to: newValue)
    draft?.settle(self)
  }

  /// Makes the models the members of the relationship, inverses included.
  public func setValue<Value, OtherModel>(forKey keyPath: KeyPath<Self, Value>, to newValue: Value)
  where Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    persistentBackingData.setValue(forKey: keyPath, to: newValue)
    draft?.settle(self)
  }

  /// Makes the models the members of the relationship, inverses included.
  public func setValue<Value, OtherModel>(forKey keyPath: KeyPath<Self, Value>, to newValue: Value)
  where Value: Encodable, Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    persistentBackingData.setValue(forKey: keyPath, to: newValue)
    draft?.settle(self)
  }

  /// Sets an attribute that a value transformer stores.
  @inlinable public func setTransformableValue<Value>(
    forKey keyPath: KeyPath<Self, Value>, to newValue: Value
  ) {
    persistentBackingData.setTransformableValue(forKey: keyPath, to: newValue)
  }
}
