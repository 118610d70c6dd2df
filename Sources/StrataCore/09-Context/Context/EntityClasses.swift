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
  /// Those that are known, with the schemas, which keep the models: such objects have nothing else that does.
  private static let known = Mutex<[ObjectIdentifier: (bound: BoundEntity, schema: Schema)]>([:])

  /// The entity bound to no store; freezes its model. Traps when the model is wrong or the entity is in none.
  static func bound(_ entity: EntityDescription) -> BoundEntity {
    if let known = known.withLock({ $0[ObjectIdentifier(entity)] }) { return known.bound }
    guard let model = entity.managedObjectModel else {
      trap("entity \(entity.name ?? "?") belongs to no model, so it has no objects")
    }
    let schema: Schema
    do { schema = try model.schema() } catch { trap("an object of a wrong model was made: \(error)") }
    guard let name = entity.name, let compiled = schema.entity(named: name) else {
      trap("entity \(entity.name ?? "?") is not of its own model")
    }
    let bound: BoundEntity
    do {
      bound = try BoundEntity(
        entity: compiled,
        token: .token(storeIdentifier: ProvisionalStore.noStore, entity: compiled, in: schema),
        stamp: RowStamp(layoutNumber: 0, entityCode: 0), storeIndex: -1)
    } catch { trap("an object was made whose default values cannot be stored: \(error)") }
    known.withLock { $0[ObjectIdentifier(entity)] = (bound, schema) }
    return bound
  }
}
