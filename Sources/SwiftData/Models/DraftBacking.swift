import StrataCore

/// The values of a model that is in no context yet, whatever its class.
class AnyDraft {
  /// A value that an initialiser or a setter has given.
  enum Value {
    case attribute(Any)
    case toOne(AnyObject?)
    /// Nil for an optional collection that is nil.
    case toMany([AnyObject]?)
  }
  struct Entry {
    let keyPath: AnyKeyPath
    /// The place among the properties of the class that the draft was made for; -1 for a property of a submodel.
    let place: Int
    var value: Value
  }

  /// In the order in which they were given. Few: found by looking at one after the other.
  final var entries: [Entry] = []
  /// Whether one of them is a relationship.
  private(set) final var hasRelationships = false
  /// What the class that the draft was made for says of itself, once it was asked.
  private final var descriptor: ModelDescriptor?
  /// The temporary identifier's number; 0 while nobody has asked.
  private final var number: UInt64 = 0
  /// The model that has the draft, as far as it is known: an initialiser fills a draft before there is a model.
  final weak var owner: AnyObject?
  /// The context that the draft is to be inserted into, since it was related to a model of it.
  final var destination: ModelContext?
  /// The row that has taken the values over while the model was not known.
  final var successor: ModelRow?
  /// Takes values and forgets them: what initial values are written to while a context makes an instance for a row.
  let isSink: Bool

  init(isSink: Bool) { self.isSink = isSink }

  /// The number of the temporary identifier, which the row takes over.
  final var temporaryNumber: UInt64 {
    if number == 0 { number = PersistentIdentifier.nextTemporaryNumber() }
    return number
  }
  /// The number, if anybody has asked for it.
  final var knownNumber: UInt64 { number }

  /// The class that the draft was made for: the topmost of a hierarchy.
  var modelType: any PersistentModel.Type { stop("a draft has no class") }

  @inline(__always)
  private final func place(of keyPath: AnyKeyPath) -> Int {
    if let descriptor { return descriptor.place(of: keyPath) }
    let descriptor = ModelDescriptor.of(modelType)
    self.descriptor = descriptor
    entries.reserveCapacity(descriptor.properties.count)
    return descriptor.place(of: keyPath)
  }

  @inline(__always)
  private final func index(_ place: Int, _ keyPath: AnyKeyPath) -> Int? {
    if place >= 0, let found = entries.firstIndex(where: { $0.place == place }) { return found }
    return entries.firstIndex { $0.place < 0 && ($0.keyPath === keyPath || $0.keyPath == keyPath) }
  }

  final func value(_ keyPath: AnyKeyPath) -> Value? {
    if entries.isEmpty { return nil }
    return index(place(of: keyPath), keyPath).map { entries[$0].value }
  }

  final func put(_ value: Value, _ keyPath: AnyKeyPath) {
    if isSink { return }
    if case .attribute = value {} else { hasRelationships = true }
    let place = place(of: keyPath)
    if let index = index(place, keyPath) {
      entries[index].value = value
    } else {
      entries.append(Entry(keyPath: keyPath, place: place, value: value))
    }
  }

  /// A draft that is related to a model of a context comes into that context as soon as its model is known.
  final func expect(_ context: ModelContext?) {
    guard let context, destination == nil, !isSink else { return }
    destination = context
    context.expect(self)
  }

  /// The model is known now: inserts it where it is expected.
  @discardableResult
  final func settle<Model: PersistentModel>(_ model: Model) -> ModelRow? {
    if successor == nil, destination == nil { return nil }
    owner = model
    if let successor {
      successor.adopt(model)
      return successor
    }
    destination?.insert(model)
    return model.modelRow
  }
}

/// The values of a model that is in no context yet.
final class DraftBacking<Model: PersistentModel>: AnyDraft, BackingData {
  init(for modelType: Model.Type) { super.init(isSink: false) }
  fileprivate init() { super.init(isSink: true) }

  /// A new draft; while a context makes an instance for a row of this hierarchy, what takes the initial values that its class declares.
  static func current() -> DraftBacking {
    if let sink = ModelMaking.sink, sink.type == ObjectIdentifier(Model.self) {
      return unsafeDowncast(sink.draft, to: DraftBacking.self)  // It was made for this type.
    }
    return DraftBacking(for: Model.self)
  }

  /// What takes the initial values of instances made for rows.
  static func makeSink() -> ModelMaking.Sink {
    ModelMaking.Sink(type: ObjectIdentifier(Model.self), draft: DraftBacking())
  }

  override var modelType: any PersistentModel.Type { Model.self }
  var metadata: Any { Schema.entityName(for: Model.self) }

  var persistentModelID: PersistentIdentifier? {
    get {
      if let successor { return successor.rowIdentifier }
      // An instance of a submodel has a draft of its topmost class.
      let type = owner.map { Swift.type(of: $0) as? any PersistentModel.Type ?? Model.self } ?? Model.self
      return PersistentIdentifier(
        .temporary(number: temporaryNumber, entityName: ModelDescriptor.of(type).entityName))
    }
    set {}
  }

  // MARK: Reading

  @inline(never)
  private func missing<Value>(_ keyPath: AnyKeyPath) -> Value {
    if let optional = Value.self as? any NilRepresentable.Type, let none = optional.nilValue as? Value {
      return none
    }
    let property = ModelDescriptor.of(Model.self).property(for: keyPath)
    if let value = property?.defaultValue as? Value { return value }
    stop(
      "\(Model.self).\(property?.name ?? "\(keyPath)") is read before it has a value: give it one in the initialiser, or where it is declared"
    )
  }

  private func successorValue<Value>(_ body: (RowBacking<Model>) -> Value) -> Value? {
    guard let successor else { return nil }
    // The row of an instance of a submodel is one of another type, with the same layout: its members take any key path.
    return body(unsafeDowncast(successor, to: RowBacking<Model>.self))
  }

  func getValue<Value>(forKey keyPath: KeyPath<Model, Value>) -> Value where Value: Decodable {
    getTransformableValue(forKey: keyPath)
  }

  func getTransformableValue<Value>(forKey keyPath: KeyPath<Model, Value>) -> Value {
    if let value = successorValue({ $0.getTransformableValue(forKey: keyPath) }) { return value }
    if case .attribute(let any) = value(keyPath), let value = any as? Value { return value }
    return missing(keyPath)
  }

  func getValue<Value>(forKey keyPath: KeyPath<Model, Value>) -> Value where Value: PersistentModel {
    if let value = successorValue({ $0.getValue(forKey: keyPath) as Value }) { return value }
    if case .toOne(let object) = value(keyPath), let model = object as? Value { return model }
    return missing(keyPath)
  }

  func getValue<Value>(forKey keyPath: KeyPath<Model, Value?>) -> Value? where Value: PersistentModel {
    if let value = successorValue({ $0.getValue(forKey: keyPath) as Value? }) { return value }
    if case .toOne(let object) = value(keyPath) { return object as? Value }
    return nil
  }

  func getValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>) -> Value
  where Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    members(keyPath)
  }

  func getValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>) -> Value
  where Value: Decodable, Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    members(keyPath)
  }

  private func members<Value: RelationshipCollection>(_ keyPath: KeyPath<Model, Value>) -> Value {
    if let value: Value = successorValue({ $0.members(keyPath) }) { return value }
    guard case .toMany(let objects) = value(keyPath) else {
      if let optional = Value.self as? any NilRepresentable.Type, let none = optional.nilValue as? Value {
        return none
      }
      return Value(_persistentElements: [])
    }
    guard let objects else {
      if let optional = Value.self as? any NilRepresentable.Type, let none = optional.nilValue as? Value {
        return none
      }
      return Value(_persistentElements: [])
    }
    return Value(_persistentElements: objects.compactMap { $0 as? Value.PersistentElement })
  }

  // MARK: Writing

  func setValue<Value>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value) where Value: Encodable {
    setTransformableValue(forKey: keyPath, to: newValue)
  }

  func setTransformableValue<Value>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value) {
    if isSink { return }
    if successorValue({ $0.setTransformableValue(forKey: keyPath, to: newValue) }) != nil { return }
    put(.attribute(newValue), keyPath)
  }

  func setValue<Value>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)
  where Value: PersistentModel {
    setOne(newValue, keyPath)
  }

  func setValue<Value>(forKey keyPath: KeyPath<Model, Value?>, to newValue: Value?)
  where Value: PersistentModel {
    setOne(newValue, keyPath)
  }

  private func setOne<Value: PersistentModel>(_ newValue: Value?, _ keyPath: AnyKeyPath) {
    if isSink { return }
    if let successor { return successor.setRelated(newValue, keyPath) }
    put(.toOne(newValue), keyPath)
    if let newValue { expect(newValue.modelRow?.modelContext ?? newValue.draft?.destination) }
  }

  func setValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)
  where Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    setMany(newValue, keyPath)
  }

  func setValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)
  where Value: Encodable, Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    setMany(newValue, keyPath)
  }

  private func setMany<Value: RelationshipCollection>(_ newValue: Value, _ keyPath: AnyKeyPath) {
    if isSink { return }
    let models = newValue._persistentElements
    if let successor { return successor.setMembers(models ?? [], keyPath) }
    put(.toMany(models), keyPath)
    for model in models ?? [] { expect(model.modelRow?.modelContext ?? model.draft?.destination) }
  }
}

/// What the thread does for a context that makes an instance for a row.
enum ModelMaking {
  /// Takes the initial values of the class's properties, which belong to new instances only.
  final class Sink {
    let type: ObjectIdentifier
    let draft: AnyDraft
    init(type: ObjectIdentifier, draft: AnyDraft) {
      self.type = type
      self.draft = draft
    }
  }

  /// The sink of the instance that is being made on this thread.
  static var sink: Sink? {
    guard let object = ModelSinks.current else { return nil }
    return unsafeDowncast(object, to: Sink.self)  // Nothing else is ever set.
  }

  /// Calls `body`, which makes an instance for a row.
  @inline(__always)
  static func making<R>(_ sink: Sink, _ body: () -> R) -> R {
    let outer = ModelSinks.current
    ModelSinks.current = sink
    defer { ModelSinks.current = outer }
    return body()
  }
}

extension PersistentModel {
  /// Moves what an initialiser has given the draft of a submodel's own properties into the backing data of the whole. What `@Model` writes calls it.
  public static func _takeInitialValues<Own, Whole>(
    _ own: any BackingData<Own>, into backingData: any BackingData<Whole>
  ) where Own: PersistentModel, Whole: PersistentModel {
    guard let own = own as AnyObject as? AnyDraft, let whole = backingData as AnyObject as? AnyDraft else {
      return
    }
    for entry in own.entries { whole.put(entry.value, entry.keyPath) }
    whole.expect(own.destination)
    own.entries = []
  }
}

/// An optional type, whose nil can be made without knowing what it is an optional of.
protocol NilRepresentable {
  static var nilValue: Any { get }
}

extension Optional: NilRepresentable {
  static var nilValue: Any { Self.none as Any }
}
