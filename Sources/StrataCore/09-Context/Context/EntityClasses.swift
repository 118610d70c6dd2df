import Foundation
import Synchronization

/// Which class objects of each entity get, and which entity each class stands for. One per schema.
struct EntityClasses {
  /// By entity number.
  let types: [ManagedObject.Type]
  /// The entity of each class that belongs to one entity only.
  let entities: [ObjectIdentifier: EntitySchema]
  /// Classes that several entities share.
  let ambiguous: Set<ObjectIdentifier>

  /// Plain objects for all entities, whatever classes they have.
  static func plain(_ schema: Schema) -> EntityClasses {
    EntityClasses(types: schema.entities.map { _ in ManagedObject.self })
  }

  private init(types: [ManagedObject.Type]) {
    self.types = types
    entities = [:]
    ambiguous = [ObjectIdentifier(ManagedObject.self)]
  }

  init(_ schema: Schema) {
    var entities: [ObjectIdentifier: EntitySchema] = [:]
    var ambiguous: Set<ObjectIdentifier> = []
    types = schema.entities.map { entity in
      guard let declared = entity.managedObjectClass else { return ManagedObject.self }
      guard let type = declared as? ManagedObject.Type else {
        trap("entity \(entity.name) has the class \(declared), which is no subclass of ManagedObject")
      }
      let key = ObjectIdentifier(type)
      if type == ManagedObject.self || entities.updateValue(entity, forKey: key) != nil {
        ambiguous.insert(key)
      }
      return type
    }
    self.entities = entities.filter { !ambiguous.contains($0.key) }
    self.ambiguous = ambiguous
  }
}

/// Entities of objects that were made without a context: they are in no store.
enum UnattachedEntities {
  /// A class: a weak reference within a struct that is read out of a dictionary inside of `withLock` wrecks the stack in code that is not optimised (Swift 6.3).
  private final class Known: @unchecked Sendable {
    // Safe: weak references may be loaded from any thread, and this one is set once.
    weak var bound: BoundEntity?
    let identity: ObjectIdentifier

    init(_ bound: BoundEntity) {
      self.bound = bound
      identity = ObjectIdentifier(bound)
    }
  }

  /// By description, which what is bound keeps. What is bound is kept by its objects, and by the coordinators of its model.
  private static let known = Mutex<[ObjectIdentifier: Known]>([:])

  /// The entity bound to no store; freezes its model. Traps when the model is wrong or the entity is in none.
  static func bound(_ entity: EntityDescription) -> BoundEntity {
    let key = ObjectIdentifier(entity)
    if let known = known.withLock({ $0[key]?.bound }) { return known }
    guard let model = entity.managedObjectModel else {
      trap("entity \(entity.name ?? "?") belongs to no model, so it has no objects")
    }
    let schema: Schema
    do { schema = try model.schema() } catch { trap("an object of a wrong model was made: \(error)") }
    guard let name = entity.name, let compiled = schema.entity(named: name) else {
      trap("entity \(entity.name ?? "?") is not of its own model")
    }
    let new: BoundEntity
    do {
      new = try BoundEntity(
        entity: compiled, of: schema,
        token: .token(storeIdentifier: ProvisionalStore.noStore, entity: compiled, in: schema),
        stamp: RowStamp(layoutNumber: 0, entityCode: 0), storeIndex: -1, whenEnded: forget)
    } catch { trap("an object was made whose default values cannot be stored: \(error)") }
    // What loses the race ends outside of the lock, which its end takes.
    let bound = known.withLock { known in
      if let first = known[key]?.bound { return first }
      known[key] = Known(new)
      return new
    }
    // So that it is not made again for each object.
    for coordinator in LivingCoordinators.all { coordinator.keep(unattached: bound) }
    return bound
  }

  /// What was bound to the description, and is called that, ends.
  @Sendable private static func forget(_ entity: EntityDescription, _ identity: ObjectIdentifier) {
    known.withLock { known in
      let key = ObjectIdentifier(entity)
      if known[key]?.identity == identity { known[key] = nil }
    }
  }
}
