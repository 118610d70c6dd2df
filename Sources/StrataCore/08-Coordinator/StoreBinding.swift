import Foundation
import Synchronization

/// One entity of the model as it lives in one attached store: what every object of that entity points to.
///
/// Made once when a store is attached. Objects point to it. They may outlive store, coordinator and context, and counting references for each object that is read would be slow:
///
///     object in a context ──▶ no reference is counted: the context holds the bindings of all stores it has used, until it ends
///     object in none      ──▶ each counts one: since it was made, or since it left its context, or that ended (see `ManagedObject.context`)
///
/// So it goes with the last of store, contexts and objects, and the model with it.
final class BoundEntity: Sendable {
  /// The entity, compiled.
  let entity: EntitySchema
  /// Of which model it is. Keeps the model, whose descriptions know each other only as long as that lives.
  let schema: Schema
  /// What IDs of this entity in this store are made of.
  let token: StoreEntityToken
  /// What the store's rows of this entity begin with.
  let stamp: RowStamp
  /// The store's place among all stores the coordinator ever attached; -1 for no store.
  let storeIndex: Int
  /// The slots, as objects read them: see `RowLayout.table`.
  /// Unsafe: immortal, constant memory.
  nonisolated(unsafe) let table: UnsafePointer<UInt32>
  let slotCount: Int32
  /// The entity's layout and number, one step nearer.
  let layout: RowLayout
  let entityNumber: Int
  let hierarchyNumber: Int
  /// What the attributes of a new object start with, by slot.
  let defaults: [AttributeValue]
  /// Whether some attribute of a new object is not nil.
  let hasDefaults: Bool
  /// What the transient attributes of a new object start with, by slot.
  /// Unsafe: constant; of attributes without a type and transformable ones the model's own objects, which threads share anyway.
  nonisolated(unsafe) let transientDefaults: [Int: Any]
  let hasTransientDefaults: Bool
  /// The entity's, one step nearer.
  let announcesChanges: Bool
  /// The attributes and to-one relationships that objects store: not what the store derives.
  let persistentSlots: SlotBitmap
  /// Those and the derived attributes.
  let storedSlots: SlotBitmap
  /// The stored attributes that must not be nil in a save.
  let requiredSlots: SlotBitmap
  let hasRequiredSlots: Bool
  /// The transformers of transformable attributes by slot, and the names the model has for them.
  let transformers: [Int: any AttributeTransformer]
  let transformerNames: [Int: String]
  private let whenEnded: (@Sendable (EntityDescription, ObjectIdentifier) -> Void)?

  /// - Parameter whenEnded: Called on whichever thread lets go of it last, with the entity and with what it was called by.
  /// - Throws: See `EntitySchema.storedDefaults`.
  init(
    entity: EntitySchema, of schema: Schema, token: StoreEntityToken, stamp: RowStamp, storeIndex: Int,
    whenEnded: (@Sendable (EntityDescription, ObjectIdentifier) -> Void)? = nil
  ) throws {
    self.whenEnded = whenEnded
    defaults = try entity.storedDefaults()
    self.entity = entity
    self.schema = schema
    self.token = token
    self.stamp = stamp
    self.storeIndex = storeIndex
    table = entity.layout.table
    slotCount = Int32(entity.layout.slotCount)
    layout = entity.layout
    entityNumber = entity.number
    hierarchyNumber = entity.hierarchyNumber
    hasDefaults = defaults.contains { !$0.isNull }
    var transientDefaults: [Int: Any] = [:]
    for attribute in entity.attributes where attribute.isTransient {
      let description = entity.entityDescription.slotDescriptions[attribute.slot].property
      transientDefaults[attribute.slot] =
        [.transformable, .undefined].contains(attribute.type)
        ? (description as? AttributeDescription)?.defaultValue : attribute.defaultValue.anyValue
    }
    self.transientDefaults = transientDefaults
    hasTransientDefaults = !transientDefaults.isEmpty
    announcesChanges = entity.announcesChanges
    var persistent = SlotBitmap()
    var required = SlotBitmap()
    for attribute in entity.attributes
    where !attribute.isTransient && attribute.slot != entity.baselineSlot
      && !entity.derivedSlots.contains(attribute.slot)
    {
      persistent.insert(attribute.slot)
      // Of elements it depends on the whole.
      if !attribute.isOptional, attribute.composite == nil { required.insert(attribute.slot) }
    }
    persistentSlots = persistent
    storedSlots = persistent.union(entity.derivedSlots)
    requiredSlots = required
    hasRequiredSlots = !required.isEmpty
    (transformers, transformerNames) = Self.transformers(of: entity)
  }

  deinit { whenEnded?(entity.entityDescription, ObjectIdentifier(self)) }

  /// What is registered for the entity's transformable attributes.
  private static func transformers(of entity: EntitySchema) -> (
    [Int: any AttributeTransformer], [Int: String]
  ) {
    var (transformers, names): ([Int: any AttributeTransformer], [Int: String]) = ([:], [:])
    guard entity.hasTransformables else { return (transformers, names) }
    for (slot, description) in entity.entityDescription.slotDescriptions.enumerated() {
      guard let attribute = description.property as? AttributeDescription,
        attribute.attributeType == .transformable
      else { continue }
      names[slot] = attribute.valueTransformerName
      transformers[slot] = attribute.transformer
    }
    return (transformers, names)
  }

  /// The draft of a new object: every attribute is set, to its default.
  func makeDraft() -> RowDraft {
    if !hasDefaults { return RowDraft.make(entity.layout, changed: persistentSlots) }
    let draft = RowDraft.make(entity.layout, defaults: defaults)
    draft.changed = persistentSlots
    return draft
  }
}

extension RowDraft {
  /// Makes this the draft of another new object of the entity, as ``BoundEntity/makeDraft()`` makes one.
  func begin(_ bound: BoundEntity) {
    restart(changed: bound.persistentSlots)
    if !bound.hasDefaults { return }
    let pointers = pointers
    for (slot, value) in bound.defaults.enumerated() where !value.isNull { pointers.store(value, slot) }
  }
}

/// A store as a coordinator holds it: the engine, its entities bound, and the queue of saves waiting for it.
final class StoreBinding: Sendable {
  let store: any StoreEngine
  /// The same where it is one that calls the program's code with the contexts that ask it.
  let contextual: (any ContextualStore)?
  /// Whether each question to the store costs a way there and back.
  let isFar: Bool
  /// Whether a row costs one look: no way to a server, no code of the program.
  @inline(__always) var answersPlainly: Bool { !isFar && contextual == nil }
  /// The number of the store in the order of attaching; never reused, so an index always means the same store.
  let index: Int
  /// Per entity number; nil when the store's configuration does not hold the entity.
  let entities: [BoundEntity?]
  let commits: CommitQueue
  /// Follows others' commits; nil for stores that nobody else can write to, unless their commits are reported.
  let follower: StoreFollower?
  /// How it was opened; nil for a store that the coordinator was given open.
  let description: PersistentStoreDescription?
  /// Whether every commit is reported by a remote-change notification.
  let postsRemoteChanges: Bool
  /// How many commits have been reported to observers, or are about to be.
  private let toldCommits = Atomic<Int>(0)
  var commitCount: Int { toldCommits.load(ordering: .acquiring) }
  func countCommit() { toldCommits.add(1, ordering: .releasing) }
  /// By the code that references and rows name an entity with.
  private let entitiesByCode: [BoundEntity?]

  init(
    store: any StoreEngine, index: Int, schema: Schema, follower: StoreFollower? = nil,
    description: PersistentStoreDescription? = nil
  ) throws {
    self.follower = follower
    self.description = description
    postsRemoteChanges = description?.postsRemoteChangeNotifications ?? false
    self.store = store
    contextual = store.contextualStore
    isFar = store.isFar
    self.index = index
    var held: Set<String>?
    if let name = store.configurationName {
      guard let entities = schema.model.entities(forConfigurationName: name) else {
        throw CoreDataError(
          .persistentStoreOpen, "The model has no configuration named “\(name)”.")
      }
      held = Set(entities.compactMap(\.name))
    }
    entities = try schema.entities.map { entity in
      if let held, !held.contains(entity.name) { return nil }
      return try BoundEntity(
        entity: entity, of: schema,
        token: .token(storeIdentifier: store.identifier, entity: entity, in: schema),
        stamp: store.rowStamp(entity: entity.number), storeIndex: index)
    }
    commits = CommitQueue(store: store)
    var byCode = [BoundEntity?](
      repeating: nil, count: Int(entities.compactMap { $0?.stamp.entityCode }.max() ?? 0) + 1)
    for case let bound? in entities { byCode[Int(bound.stamp.entityCode)] = bound }
    entitiesByCode = byCode
  }

  /// Whether every transformer the schema's stored attributes name is registered (rule 342).
  /// - Throws: `CoreDataError` 134060 naming the attributes and the transformers that are not, or the default value that one of them refuses.
  static func requireTransformers(_ schema: Schema) throws {
    var missing: [String] = []
    for entity in schema.entities where entity.hasTransformables {
      for slot in entity.entityDescription.ownSlotDescriptions where !slot.isTransient {
        guard let attribute = slot.property as? AttributeDescription,
          attribute.attributeType == .transformable,
          let name = attribute.valueTransformerName, attribute.transformer == nil
        else { continue }
        missing.append("\(entity.name).\(slot.name) names the transformer “\(name)”")
      }
    }
    if missing.isEmpty {
      for entity in schema.entities { _ = try entity.storedDefaults() }
      return
    }
    throw CoreDataError(
      .coreData,
      missing.joined(separator: "; ")
        + ", which is not registered; call AttributeTransformers.set(_:forName:), or ValueTransformer.setValueTransformer(_:forName:) of the module CoreData, before "
        + "the store is added.")
  }

  /// The entity that `code` means in this store.
  @inline(__always)
  func entity(code: UInt16) -> BoundEntity? {
    Int(code) < entitiesByCode.count ? entitiesByCode[Int(code)] : nil
  }

  /// Whether the store holds rows of the entity.
  func holds(entity: Int) -> Bool { entities[entity] != nil }
}
