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
  private static let coordinators = Mutex<[ObjectIdentifier: PersistentStoreCoordinator]>([:])

  /// A new hidden context for objects of `schema`.
  static func makeContext(_ schema: Schema) -> ManagedObjectContext {
    let coordinator = coordinators.withLock { known in
      if let coordinator = known[ObjectIdentifier(schema)] { return coordinator }
      let new = PersistentStoreCoordinator(ofObjectsInNoContext: schema)
      known[ObjectIdentifier(schema)] = new
      return new
    }
    let context = ManagedObjectContext(
      .confinement, coordinator, parent: nil, classes: EntityClasses(schema), isForAnyone: true)
    context.name = "of objects in no context"
    context.speaksFoundation = KeyedValues.speakFoundation.load(ordering: .relaxed)
    return context
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
      guard context.compiledEntity(object.entity) != nil else { return false }
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
    } else if state.contains(.loose), let other = object.context, other.compiledEntity(entity) != nil {
      other.insert(self)
    }
    return object.contextReference?.toOpaque() == contextReference?.toOpaque()
  }
}

extension ManagedObjectContext {
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
