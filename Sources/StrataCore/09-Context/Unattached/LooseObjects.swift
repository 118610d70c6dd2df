import Synchronization

/// Objects in no context that are related to each other.
///
/// References between objects are IDs, which a context makes objects of. So objects without a context, as soon as one is related to another, live
/// in a hidden one, over a store that holds nothing: both ends of a relationship are right at once, as everywhere.
///
///     Author(insertInto: nil)   Book(insertInto: nil)          each by itself, no context
///            └────── books ──────────┘                          one hidden context for both
///     context.insert(author)                                    both move to `context`, with their values and relationships
///
/// Hidden contexts grow together when their objects are related, and end when the objects are inserted. Until then such objects keep each other
/// alive. They belong to no queue: one thread may use them after another.
enum LooseObjects {
  /// A class, see `UnattachedEntities`.
  private final class Known: @unchecked Sendable {
    // Safe: weak references may be loaded from any thread, and this one is set once.
    weak var coordinator: HiddenCoordinator?

    init(_ coordinator: HiddenCoordinator) { self.coordinator = coordinator }
  }

  /// By what their models are compiled to, which they keep. They are kept by their contexts, and by the other coordinators of the model.
  private static let coordinators = Mutex<[ObjectIdentifier: Known]>([:])

  private static func coordinator(_ schema: Schema) -> HiddenCoordinator {
    let key = ObjectIdentifier(schema.compiled)
    if let known = coordinators.withLock({ $0[key]?.coordinator }) { return known }
    let new = HiddenCoordinator(managedObjectModel: schema.model)
    let coordinator = coordinators.withLock { known in
      if let first = known[key]?.coordinator { return first }
      known = known.filter { $0.value.coordinator != nil }
      known[key] = Known(new)
      return new
    }
    // So that it is not made again for each object.
    for other in LivingCoordinators.all { other.keep(hidden: coordinator, of: schema.compiled) }
    return coordinator
  }

  /// A new hidden context for objects of `schema`.
  static func makeContext(_ schema: Schema) -> ManagedObjectContext {
    let coordinator = coordinator(schema)
    let context = ManagedObjectContext(
      .confinement, coordinator, parent: nil, classes: EntityClasses(schema), isForAnyone: true)
    context.name = "of objects in no context"
    context.speaksFoundation = KeyedValues.speakFoundation.load(ordering: .relaxed)
    return context
  }
}

/// A coordinator without stores, for objects in no context.
private final class HiddenCoordinator: PersistentStoreCoordinator, @unchecked Sendable {
  // Safe: adds no state.
  override class var isHidden: Bool { true }
}

extension PersistentStoreCoordinator {
  /// Keeps what objects in no context point to, if it is of this coordinator's model.
  final func keep(unattached bound: BoundEntity) {
    guard isOf(bound.schema.compiled) else { return }
    // What was there ends outside of the lock.
    var former: BoundEntity?
    state.withLock { state in former = state.unattached.updateValue(bound, forKey: bound.entityNumber) }
    withExtendedLifetime(former) {}
  }

  /// Keeps the coordinator of objects in no context, if it is of this one's model, compiled to `compiled`.
  fileprivate final func keep(hidden coordinator: HiddenCoordinator, of compiled: CompiledModel) {
    guard isOf(compiled) else { return }
    var former: PersistentStoreCoordinator?
    state.withLock { state in
      former = state.hidden
      state.hidden = coordinator
    }
    withExtendedLifetime(former) {}
  }
}

extension ManagedObject {
  /// Whether the object was made in no context and never inserted into one.
  final var isUnattached: Bool {
    state.contains(.loose)
      || contextReference == nil && state.isDisjoint(with: .probe) && (bound?.storeIndex ?? 0) < 0
  }

  /// The hidden context of an object in none; nil when the object has been in a context.
  final func looseContext() -> ManagedObjectContext? {
    guard isUnattached else { return nil }
    if let context { return context }
    guard let schema = try? entity.managedObjectModel?.schema() else { return nil }
    let context = LooseObjects.makeContext(schema)
    context.takeLoose(self)
    return context
  }

  /// Brings `object`, which is to be related to this one, into this one's context, or this one into the object's, where one of them is in none.
  /// - Returns: whether they are together now.
  final func join(_ object: ManagedObject, _ context: ManagedObjectContext) -> Bool {
    if object.isUnattached {
      guard context.adoptModel(object) else { return false }
      if !state.contains(.loose) {
        context.insert(object)
      } else if let other = object.context {
        // The fewer move to the more.
        if other.looseCount > context.looseCount {
          other.takeLoose(from: context)
        } else {
          context.takeLoose(from: other)
        }
      } else {
        context.takeLoose(object)
      }
    } else if state.contains(.loose), let other = object.context, other.adoptModel(self) {
      other.insert(self)
    }
    return object.contextReference?.toOpaque() == contextReference?.toOpaque()
  }
}

extension ManagedObjectContext {
  /// Makes an object in no context one of this context's model, if it was made of another model that has the same entity: so it may be where several
  /// containers have been made with models of the same classes, as in tests. One that is related to others, or has values of transient
  /// attributes, stays what it is.
  ///
  /// - Returns: Whether it is of this context's model.
  @discardableResult
  func adoptModel(_ object: ManagedObject) -> Bool {
    if compiledEntity(object.entity) != nil { return true }
    guard object.isUnattached, !object.state.contains(.loose), object.relations == nil,
      object.transients == nil,
      let here = classes.entities[ObjectIdentifier(type(of: object))], !here.isAbstract,
      here.entityDescription.versionHash == object.entity.versionHash, here.hasSlots(of: object.home.entity)
    else { return false }
    object.become(UnattachedEntities.bound(here.entityDescription))
    return true
  }

  /// Takes an object in no context into this hidden one. It stays who it is.
  fileprivate func takeLoose(_ object: ManagedObject) {
    let binding = coordinator.provisional
    guard let bound = binding.entities[object.home.entityNumber] else { return }
    object.context = self
    object.become(bound)
    object.state.becomeLoose()
    object.ownRelations.looseObjects = self
    stores.tables(for: binding).tables[bound.hierarchyNumber].insert(object, for: object.primaryKey)
  }

  /// Takes all objects of another hidden context.
  fileprivate func takeLoose(from other: ManagedObjectContext) {
    for object in other.giveUpLoose() { takeLoose(object) }
  }

  fileprivate var looseCount: Int {
    stores.registered(coordinator.provisional.index)?.tables.reduce(0) { $0 + $1.count } ?? 0
  }

  /// The objects of this hidden context in the order in which they were made; it has none afterwards.
  fileprivate func giveUpLoose() -> [ManagedObject] {
    var objects: [ManagedObject] = []
    stores.forEach { objects.append($0) }
    stores.removeAll()
    for object in objects {
      object.context = nil
      object.state.endLoose()
      object.relations?.looseObjects = nil
    }
    return objects.sorted { $0.primaryKey < $1.primaryKey }
  }

  /// `object`, which is in none, and those it is related to: what `insert(_:)` inserts, `object` first.
  func looseObjects(with object: ManagedObject) -> [ManagedObject] {
    guard object.state.contains(.loose), let hidden = object.context else { return [object] }
    // The objects are kept by the array; the hidden context goes when this returns.
    return [object] + hidden.giveUpLoose().filter { $0 !== object }
  }
}

extension EntitySchema {
  /// Whether the slots of another entity mean the same.
  fileprivate func hasSlots(of other: EntitySchema) -> Bool {
    attributes.count == other.attributes.count
      && zip(attributes, other.attributes).allSatisfy {
        $0.name == $1.name && $0.type == $1.type && $0.isTransient == $1.isTransient
      }
  }
}
