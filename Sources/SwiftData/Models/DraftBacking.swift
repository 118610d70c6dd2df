import StrataCore

/// The values of a model that is in no context yet, whatever its class.
class AnyDraft {
  // Values of the commonest types lie by themselves, by place: what is in an `Any` is asked for its type, and what is copied counts references.

  /// A number, a Boolean, a date, or nil of an attribute of one of these types or of texts.
  struct Number {
    enum Kind: UInt8 { case whole, long, real, truth, date, nothing }
    /// The place among the properties of the class that the draft was made for.
    let place: Int32
    let kind: Kind
    let bits: UInt64

    var value: Any? {
      switch kind {
      case .whole: Int(truncatingIfNeeded: bits)
      case .long: Int64(bitPattern: bits)
      case .real: Double(bitPattern: bits)
      case .truth: bits != 0
      case .date: Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
      case .nothing: nil
      }
    }
  }
  struct Text {
    /// As that of a number.
    let place: Int
    let value: String
  }
  /// Any other value that an initialiser or a setter has given.
  enum Value {
    case attribute(Any)
    case toOne(AnyObject?)
    /// Nil for an optional collection that is nil.
    case toMany([AnyObject]?)
  }
  struct Entry {
    /// As that of a number; -1 for a property of a submodel.
    let place: Int
    /// Which property it is, where the place does not tell.
    let keyPath: AnyKeyPath?
    var value: Value
  }

  // `@exclusivity(unchecked)`: used where the model is, and no access spans a call into other code.

  @exclusivity(unchecked) private(set) final var numbers: ContiguousArray<Number> = []
  @exclusivity(unchecked) private(set) final var texts: ContiguousArray<Text> = []
  /// In the order in which they were given.
  @exclusivity(unchecked) private(set) final var entries: ContiguousArray<Entry> = []
  /// Whether one of them is a relationship.
  @exclusivity(unchecked) private(set) final var hasRelationships = false
  /// What the class that the draft was made for says of itself, once it was asked. Unmanaged: descriptors stay for good.
  @exclusivity(unchecked) private final var knownDescriptor: Unmanaged<ModelDescriptor>?
  /// The place of the first property that the class declares itself; -1 while the descriptor is not known.
  @exclusivity(unchecked) private final var firstPlace = -1
  /// Which of the first 64 places have a value.
  @exclusivity(unchecked) private final var given: UInt64 = 0
  /// The temporary identifier, and whether the model is hashed by it. The row takes it over.
  private(set) final var number = ModelNumber()
  /// The model that has the draft, as far as it is known: an initialiser fills a draft before there is a model.
  final weak var owner: AnyObject?
  /// The context that the draft is to be inserted into, since it was related to a model of it.
  final var destination: ModelContext?
  /// The row that has taken the values over while the model was not known.
  final var successor: ModelRow?
  /// Whether somebody observes the model.
  final var isObserved = false
  /// Takes values and forgets them: what initial values are written to while a context makes an instance for a row.
  let isSink: Bool
  /// The class that the draft was made for, to be compared.
  fileprivate let model: ObjectIdentifier

  init(isSink: Bool, of model: Any.Type) {
    self.isSink = isSink
    self.model = ObjectIdentifier(model)
  }

  deinit { if hasRelationships, !entries.isEmpty { DraftRemains.letGo(&entries) } }

  /// The number of the temporary identifier.
  final var temporaryNumber: UInt64 {
    if number.value == 0 { number.value = PersistentIdentifier.nextTemporaryNumber() }
    return number.value
  }

  /// What the model is hashed by from now on.
  final var hashNumber: UInt64 {
    number.hash = .number
    return temporaryNumber
  }

  /// The class that the draft was made for: the topmost of a hierarchy.
  var modelType: any PersistentModel.Type { stop("a draft has no class") }

  /// What the class that the draft was made for says of itself.
  @inline(__always)
  private final var descriptor: ModelDescriptor {
    if let knownDescriptor { return knownDescriptor.takeUnretainedValue() }
    return findDescriptor()
  }

  @inline(never)
  private final func findDescriptor() -> ModelDescriptor {
    let descriptor = ModelDescriptor.of(modelType)
    knownDescriptor = .passUnretained(descriptor)
    firstPlace = descriptor.ownProperties.startIndex
    texts.reserveCapacity(descriptor.textCount)
    numbers.reserveCapacity(descriptor.numberCount)
    return descriptor
  }

  /// Whether there may be a value at a place.
  @inline(__always)
  private final func isGiven(_ place: Int) -> Bool { place >= 64 || given & (1 << UInt64(place)) != 0 }
  @inline(__always)
  private final func give(_ place: Int) { if place < 64 { given |= 1 << UInt64(place) } }

  private final func index(_ place: Int, _ keyPath: AnyKeyPath) -> Int? {
    if place >= 0 { return isGiven(place) ? entries.firstIndex { $0.place == place } : nil }
    return entries.firstIndex { $0.place < 0 && ($0.keyPath === keyPath || $0.keyPath == keyPath) }
  }

  /// Drops the value at a place that lies by itself.
  private final func drop(_ place: Int) {
    numbers.removeAll { $0.place == place }
    texts.removeAll { $0.place == place }
  }

  /// The value of an attribute; nil for nil, and where there is none.
  final func attribute(_ keyPath: AnyKeyPath) -> Any? {
    let place = descriptor.place(of: keyPath)
    if place >= 0, isGiven(place) {
      if let found = numbers.first(where: { $0.place == place }) { return found.value }
      if let found = texts.first(where: { $0.place == place }) { return found.value }
    }
    guard let index = index(place, keyPath), case .attribute(let value) = entries[index].value else {
      return nil
    }
    return value
  }

  /// What a relationship leads to.
  final func related(_ keyPath: AnyKeyPath) -> Value? {
    if entries.isEmpty { return nil }
    return index(descriptor.place(of: keyPath), keyPath).map { entries[$0].value }
  }

  final func put(_ value: Value, _ keyPath: AnyKeyPath) {
    if isSink { return }
    if case .attribute = value {} else { hasRelationships = true }
    let place = descriptor.place(of: keyPath)
    if let index = index(place, keyPath) {
      entries[index].value = value
      return
    }
    if place >= 0 {
      if isGiven(place) { drop(place) }
      give(place)
    }
    entries.append(Entry(place: place, keyPath: place < 0 ? keyPath : nil, value: value))
  }

  /// Where the value of a property of the class's own goes that is the first, or takes the place of the one that is there; nil where it goes elsewhere.
  @inline(__always)
  private final func begin(_ place: Int) -> Int? {
    if isSink || successor != nil { return nil }
    if firstPlace < 0 { _ = findDescriptor() }
    let place = firstPlace + place
    if isGiven(place) {
      drop(place)
      entries.removeAll { $0.place == place }
    }
    give(place)
    return place
  }

  /// Takes the number at a place among those that the class declares itself. False where a row has the values.
  @inline(__always)
  fileprivate final func begin(_ place: Int, _ kind: Number.Kind, _ bits: UInt64) -> Bool {
    guard let place = begin(place) else { return isSink }
    numbers.append(Number(place: Int32(truncatingIfNeeded: place), kind: kind, bits: bits))
    return true
  }

  /// The same for a text.
  @inline(__always)
  fileprivate final func begin(_ place: Int, _ text: String) -> Bool {
    guard let place = begin(place) else { return isSink }
    texts.append(Text(place: place, value: text))
    return true
  }

  /// Moves the values to the draft of the whole, of which this one has those of a submodel.
  final func move(to whole: AnyDraft) {
    let properties = descriptor.properties
    for number in numbers {
      let keyPath = properties[Int(number.place)].keyPath
      let none = (Swift.type(of: keyPath).valueType as? any OptionalType.Type)?.noValue
      if let value = number.value ?? none { whole.put(.attribute(value), keyPath) }
    }
    for text in texts { whole.put(.attribute(text.value), properties[text.place].keyPath) }
    for entry in entries { whole.put(entry.value, entry.keyPath ?? properties[entry.place].keyPath) }
    // The whole waits in its place.
    let context = destination
    destination = nil
    context?.expected.removeAll { $0 === self }
    whole.expect(context)
    forget()
  }

  /// Gives a text away, the last one first.
  @inline(__always)
  final func takeText() -> Text? { texts.popLast() }

  /// The values are a row's now.
  final func forget() {
    numbers = []
    texts = []
    entries = []
    given = 0
  }

  /// As when it was made, and with the memory that it has: for another instance of the class.
  fileprivate final func renew() {
    numbers.removeAll(keepingCapacity: true)
    texts.removeAll(keepingCapacity: true)
    entries = []
    (given, number, hasRelationships) = (0, ModelNumber(), false)
    (owner, destination, successor, isObserved) = (nil, nil, nil, false)
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

/// What drafts that have gone were related to, until that is let go of as well: by one loop for each thread, however long the chain of models is that hold each other. One within the
/// other, each would take some of the stack.
private final class DraftRemains {
  private static let key = ThreadKey()
  private var waiting: [ContiguousArray<AnyDraft.Entry>] = []

  /// Moves them, so that nobody else holds them: not even the draft, whose deinit goes on afterwards.
  private func take(_ entries: inout ContiguousArray<AnyDraft.Entry>) {
    waiting.append([])
    swap(&waiting[waiting.count - 1], &entries)
  }

  /// Lets go of what a draft was related to: at once, or where the loop of the thread comes to it.
  static func letGo(_ entries: inout ContiguousArray<AnyDraft.Entry>) {
    let holdsModels = entries.contains {
      switch $0.value {
      case .attribute: false
      case .toOne(let model): model != nil
      case .toMany(let models): models?.isEmpty == false
      }
    }
    if !holdsModels { return }
    if let running = key.value {
      // Unsafe: it is the loop's below, on this thread, which keeps it until it has set the key back.
      Unmanaged<DraftRemains>.fromOpaque(running)._withUnsafeGuaranteedRef { $0.take(&entries) }
      return
    }
    let remains = DraftRemains()
    remains.take(&entries)
    withExtendedLifetime(remains) {
      key.value = Unmanaged.passUnretained(remains).toOpaque()
      // What is taken out goes with the end of each round, and adds to what waits.
      while let next = remains.waiting.popLast() { withExtendedLifetime(next) {} }
      key.value = nil
    }
  }
}

/// The last draft of the thread whose values have become a row's, for the next instance of the class: who inserts many makes one draft.
enum SpareDraft {
  private static let key = ThreadKey { release($0) }

  private static func release(_ kept: UnsafeMutableRawPointer?) {
    if let kept { Unmanaged<AnyDraft>.fromOpaque(kept).release() }
  }

  /// The values of the draft are a row's now. It is kept for another instance, unless somebody else holds it.
  @inline(__always)
  static func retire(_ draft: inout AnyDraft) {
    // What takes the initial values of instances made for rows would swallow those of the next one.
    guard !draft.isSink, isKnownUniquelyReferenced(&draft) else { return draft.forget() }
    draft.renew()
    release(key.value)
    key.value = Unmanaged.passRetained(draft).toOpaque()
  }

  /// The draft that is kept, if it is one of the model.
  @inline(__always)
  fileprivate static func take<Model: PersistentModel>(of model: Model.Type) -> DraftBacking<Model>? {
    guard let pointer = key.value else { return nil }
    let kept = Unmanaged<AnyDraft>.fromOpaque(pointer)
    guard kept._withUnsafeGuaranteedRef({ $0.model == ObjectIdentifier(model) }) else { return nil }
    key.value = nil
    return unsafeDowncast(kept.takeRetainedValue(), to: DraftBacking<Model>.self)  // As was asked.
  }
}

/// The values of a model that is in no context yet.
final class DraftBacking<Model: PersistentModel>: AnyDraft, BackingData {
  init(for modelType: Model.Type) { super.init(isSink: false, of: Model.self) }
  fileprivate init() { super.init(isSink: true, of: Model.self) }

  /// A new draft; while a context makes an instance for a row of this hierarchy, what takes the initial values that its class declares.
  static func current() -> DraftBacking {
    if let sink = ModelMaking.sink(of: Model.self) {
      return unsafeDowncast(sink.draft, to: DraftBacking.self)  // It was made for this type.
    }
    return DraftBacking(for: Model.self)
  }

  // As a method it knows the class of the draft, which others would have to look up for each.
  @inline(never)
  fileprivate final func asBackingData() -> any BackingData<Model> { self }

  /// What takes the initial values of instances made for rows.
  static func makeSink() -> ModelMaking.Sink { Sink(DraftBacking()) }

  /// Has the draft as what accessors take, which is looked up once.
  fileprivate final class Sink: ModelMaking.Sink {
    let backingData: any BackingData<Model>
    init(_ draft: DraftBacking) {
      backingData = draft
      super.init(type: ObjectIdentifier(Model.self), draft: draft)
    }
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
    if let value = attribute(keyPath) as? Value { return value }
    return missing(keyPath)
  }

  func getValue<Value>(forKey keyPath: KeyPath<Model, Value>) -> Value where Value: PersistentModel {
    if let value = successorValue({ $0.getValue(forKey: keyPath) as Value }) { return value }
    if case .toOne(let object) = related(keyPath), let model = object as? Value { return model }
    return missing(keyPath)
  }

  func getValue<Value>(forKey keyPath: KeyPath<Model, Value?>) -> Value? where Value: PersistentModel {
    if let value = successorValue({ $0.getValue(forKey: keyPath) as Value? }) { return value }
    if case .toOne(let object) = related(keyPath) { return object as? Value }
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
    guard case .toMany(let objects) = related(keyPath) else {
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
    if let newValue { expect(newValue.modelRow?.ownContext ?? newValue.draft?.destination) }
  }

  func setValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)
  where Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    setMany(newValue, keyPath)
  }

  func setValue<Value, OtherModel>(forKey keyPath: KeyPath<Model, Value>, to newValue: Value)
  where Value: Encodable, Value: RelationshipCollection, OtherModel == Value.PersistentElement {
    setMany(newValue, keyPath)
  }

  // MARK: Initial values

  func _begin(_ place: Int, with text: String) -> Bool { begin(place, text) }
  func _begin(_ place: Int, with number: Int) -> Bool {
    begin(place, .whole, UInt64(bitPattern: Int64(number)))
  }
  func _begin(_ place: Int, with number: Int64) -> Bool { begin(place, .long, UInt64(bitPattern: number)) }
  func _begin(_ place: Int, with number: Double) -> Bool { begin(place, .real, number.bitPattern) }
  func _begin(_ place: Int, with truth: Bool) -> Bool { begin(place, .truth, truth ? 1 : 0) }
  func _begin(_ place: Int, with date: Date) -> Bool {
    begin(place, .date, date.timeIntervalSinceReferenceDate.bitPattern)
  }
  func _beginWithNothing(_ place: Int) -> Bool { begin(place, .nothing, 0) }

  private func setMany<Value: RelationshipCollection>(_ newValue: Value, _ keyPath: AnyKeyPath) {
    if isSink { return }
    let models = newValue._persistentElements
    if let successor { return successor.setMembers(models ?? [], keyPath) }
    put(.toMany(models), keyPath)
    for model in models ?? [] { expect(model.modelRow?.ownContext ?? model.draft?.destination) }
  }
}

/// What the thread does for a context that makes an instance for a row.
enum ModelMaking {
  /// Takes the initial values of the class's properties, which belong to new instances only.
  class Sink {
    final let type: ObjectIdentifier
    final let draft: AnyDraft
    init(type: ObjectIdentifier, draft: AnyDraft) {
      self.type = type
      self.draft = draft
    }
  }

  /// The sink of the instance that is being made on this thread, if it is for that class.
  @inline(__always)
  static func sink(of type: Any.Type) -> Sink? {
    guard let object = ModelSinks.current else { return nil }
    let sink = unsafeDowncast(object.takeUnretainedValue(), to: Sink.self)  // Nothing else is ever set.
    return sink.type == ObjectIdentifier(type) ? sink : nil
  }

  /// What an instance keeps its values in that is being made: a draft, or the sink.
  @inline(__always)
  static func data<Model: PersistentModel>(for model: Model.Type) -> any BackingData<Model> {
    if let sink = sink(of: model) {
      // It was made for this type.
      return unsafeDowncast(sink, to: DraftBacking<Model>.Sink.self).backingData
    }
    return draft(for: model)
  }

  /// What a new instance keeps its values in.
  @inline(__always)
  static func draft<Model: PersistentModel>(for model: Model.Type) -> any BackingData<Model> {
    if let spare = SpareDraft.take(of: model) { return spare.asBackingData() }
    return DraftBacking(for: model)
  }

  /// Calls `body`, which makes an instance for a row.
  @inline(__always)
  static func making<R>(_ sink: Sink, _ body: () -> R) -> R {
    let outer = ModelSinks.current
    ModelSinks.current = .passUnretained(sink)
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
    own.move(to: whole)
  }
}

/// An optional type, whose nil can be made without knowing what it is an optional of.
protocol NilRepresentable {
  static var nilValue: Any { get }
}

extension Optional: NilRepresentable {
  static var nilValue: Any { Self.none as Any }
}
