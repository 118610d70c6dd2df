import StrataCore

/// The row of an instance of one class.
final class RowBacking<Model: PersistentModel>: ModelRow, BackingData {
  override class var modelType: any PersistentModel.Type { Model.self }

  /// A row in no context, of a model of this class and what it is related to alone.
  convenience init(for modelType: Model.Type) {
    self.init(entity: StandaloneModels.entity(of: modelType), insertInto: nil)
  }

  /// The row as backing data of the class, whichever class of the hierarchy it was asked for by.
  static func backing(of row: ModelRow) -> RowBacking? { row as? RowBacking }

  override func anyModel() -> AnyObject { model }
  override func anyPersistentModel() -> any PersistentModel { model }

  override func appear(in model: AnyObject) { withPlan { $0.instances.appear(model, self) } }

  override class var instances: RowInstances { instances(RowBacking.self) }

  private static func instances<Row: ModelRow & BackingData<Model>>(_ ownClass: Row.Type) -> RowInstances {
    // Rows of a plan are of the class that it was made for, and so are their instances.
    RowInstances(
      make: { Model(backingData: unsafeDowncast($0, to: Row.self)) },
      appear: { model, row in
        row.appear(in: unsafeDowncast(model, to: Model.self), as: unsafeDowncast(row, to: Row.self))
      })
  }

  override class func makeSink() -> ModelMaking.Sink {
    // The topmost class of a hierarchy declares the backing data.
    var topmost = ModelDescriptor.of(Model.self)
    while let above = topmost.superdescriptor { topmost = above }
    func sink<Root: PersistentModel>(_ root: Root.Type) -> ModelMaking.Sink { DraftBacking<Root>.makeSink() }
    return sink(topmost.type)
  }

  /// The instance of the row, made when there is none.
  var model: Model {
    // Only instances of this class are ever set.
    if let known = knownModel { return unsafeDowncast(known, to: Model.self) }
    return withPlan { plan in ModelMaking.making(plan.sink) { makeModel(plan) } }
  }

  /// Makes the instance, of which the row knows none. Inside of ``ModelMaking``.
  @inline(__always)
  private func makeModel(_ plan: ModelPlan) -> Model {
    _lastHold = false
    let made = unsafeDowncast(plan.instances.make(self), to: Model.self)
    know(made)
    return made
  }

  /// The instances of rows, made where there are none; rows of subclasses have instances of theirs.
  static func models(of rows: consuming [ManagedObject]) -> [Model] {
    // As an argument of a generic function, so that it is not looked up for each instance what makes the row backing data.
    models(of: rows, RowBacking.self)
  }

  private static func models<Row: ModelRow & BackingData<Model>>(
    of rows: consuming [ManagedObject], _ ownClass: Row.Type
  ) -> [Model] {
    guard let first = rows.first else { return [] }
    // Rows of an entity are of its class, and models of a subentity are models of the class.
    let firstClass: AnyClass = type(of: first)
    let plan = unsafeDowncast(first, to: ModelRow.self).plan
    let isOfOwnClass = firstClass == ownClass
    /// The instance of one of them.
    func model(of object: ManagedObject) -> Model {
      guard type(of: object) == ownClass else {
        return unsafeDowncast(unsafeDowncast(object, to: ModelRow.self).anyModel(), to: Model.self)
      }
      let row = unsafeDowncast(object, to: Row.self)
      if let known = row.knownModel { return unsafeDowncast(known, to: Model.self) }
      // Rows of one class and context have one plan.
      if isOfOwnClass, row._plan == nil { row._plan = plan }
      row._lastHold = false
      let made = Model(backingData: row)
      row.know(made)
      return made
    }
    let total = rows.count
    return ModelMaking.making(plan.sink) {
      Array(unsafeUninitializedCapacity: total) { models, count in
        let base = models.baseAddress.unsafelyUnwrapped  // There is a first one.
        // From the last to the first: each row leaves the array while it is in the processor's cache, and not with all others at the end.
        while let row = rows.popLast() { (base + rows.count).initialize(to: model(of: row)) }
        count = total
      }
    }
  }

  // MARK: BackingData

  var persistentModelID: PersistentIdentifier? {
    get { rowIdentifier }
    set {}
  }
  var metadata: Any { entity }

  @inline(__always)
  private func codec<Value>(_ property: ModelProperty) -> PropertyCodec<Value> {
    // The codec was made for the type of the property's values, which is that of the key path.
    unsafeDowncast(property.codec, to: PropertyCodec<Value>.self)
  }

  func getValue<Value>(forKey keyPath: KeyPath<Model, Value>) -> Value where Value: Decodable {
    withPlan { plan in
      let property = plan.property(keyPath, self)
      noteReadByAccessor(property.slot)
      return codec(property).read(self, property)
    }
  }

  func getTransformableValue<Value>(forKey keyPath: KeyPath<Model, Value>) -> Value {
    withPlan { plan in
      let property = plan.property(keyPath, self)
      noteReadByAccessor(property.slot)
      return codec(property).read(self, property)
    }
  }

  func setValue<Value>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value) where Value: Encodable {
    setTransformableValue(forKey: keyPath, to: newValue)
  }

  func setTransformableValue<Value>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value) {
    withPlan { plan in
      let property = plan.property(keyPath, self)
      codec(property).write(newValue, self, property)
    }
    ownContext?.noteChange()
  }

  func getValue<Value>(forKey keyPath: KeyPath<Model, Value>) -> Value where Value: PersistentModel {
    let property = plan.property(keyPath, self)
    if let kept = kept(property)?.first { return typed(kept, property) }
    if let row = relatedRow(property) { return typed(row.relatedModel(), property) }
    stop(
      "\(Model.self).\(property.name) leads to no \(Value.self): it is not set, or what it led to was deleted; declare it optional"
    )
  }

  func getValue<Value>(forKey keyPath: KeyPath<Model, Value?>) -> Value? where Value: PersistentModel {
    let property = plan.property(keyPath, self)
    if let kept = kept(property) { return kept.first.map { typed($0, property) } }
    return relatedRow(property).map { typed($0.relatedModel(), property) }
  }

  func getValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>) -> Value
  where Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    members(keyPath)
  }

  func getValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>) -> Value
  where Value: Decodable, Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    members(keyPath)
  }

  func members<Value: RelationshipCollection>(_ keyPath: AnyKeyPath) -> Value {
    let property = plan.property(keyPath, self)
    if let kept = kept(property) { return Value(_persistentElements: kept.map { typed($0, property) }) }
    return Value(_persistentElements: memberRows(property).map { typed($0.relatedModel(), property) })
  }

  func setValue<Value>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)
  where Value: PersistentModel {
    setRelated(newValue, keyPath)
  }

  func setValue<Value>(forKey keyPath: KeyPath<Model, Value?>, to newValue: Value?)
  where Value: PersistentModel {
    setRelated(newValue, keyPath)
  }

  func setValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)
  where Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    setMembers(newValue._persistentElements ?? [], keyPath)
  }

  func setValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)
  where Value: Encodable, Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    setMembers(newValue._persistentElements ?? [], keyPath)
  }

  private func typed<Value: AnyObject>(_ object: AnyObject, _ property: ModelProperty) -> Value {
    if let value = object as? Value { return value }
    stop("\(Model.self).\(property.name) leads to a \(type(of: object)), not a \(Value.self)")
  }
}

/// The class of rows of a model's entity.
func rowClass(for type: any PersistentModel.Type) -> ModelRow.Type {
  func rowClass<Model: PersistentModel>(_ type: Model.Type) -> ModelRow.Type { RowBacking<Model>.self }
  return rowClass(type)
}
