import Dispatch
import Foundation

extension ManagedObjectContext {
  // MARK: Inserting

  /// Inserts an object that was made without a context, or one that was deleted. It becomes a new record with the values it
  /// has; its ID changes once, here, since only now it gets a store.
  ///
  /// Objects in no context that it is related to, and those that these are related to, are inserted with it; then `awakeFromInsert()` is called
  /// on each. Before a store is attached objects can be inserted as well: then their IDs change once more, when one is there.
  ///
  /// One that was deleted, or whose context has gone, keeps what its to-one relationships lead to where that is here, and the other ends show it again; where the other end of a
  /// one-to-one relationship has another partner by now, that one stays. It forgets records that were never saved or that have gone, those of other stores, and all members.
  ///
  /// Traps for an object of another context. An object that is already here stays as it is, but for one of a store of the program's own that the context has by
  /// its ID: it becomes a new record under that ID, with the values that it has.
  public func insert(_ object: ManagedObject) {
    checkAccess(object.home.token.entityName)
    if object.context === self { return insertKnown(object) }
    if let other = object.context, !object.state.contains(.loose) { trapForeignObject(object, other) }
    let isFirstTime = object.isUnattached
    adoptModel(object)
    // Whatever is wrong with the first of them stops before anything is done.
    checkClass(of: object, boundForNew(object.entity))
    let objects = looseObjects(with: object)
    var moved: [UInt64: ManagedObject] = [:]
    for object in objects {
      if objects.count > 1 { moved[object.referenceBits] = object }
      let home = boundForNew(object.entity)
      checkClass(of: object, home)
      makeInsertable(object)
      let links = isFirstTime ? [] : takeLinks(of: object, home)
      register(object, as: home)
      for link in links { restore(link, of: object) }
    }
    if objects.count > 1 { for object in objects { object.replaceReferences { moved[$0] } } }
    if isFirstTime { for object in objects where object.context === self { wakeUp(object) } }
  }

  /// The program's store has named the record, which is not there yet: its values are set on an object that was made by its ID, and then it is inserted.
  private func insertKnown(_ object: ManagedObject) {
    guard coordinator.binding(object.home.storeIndex)?.contextual != nil else { return }
    object.claim()
    guard !object.isMarkedInserted, object.state.isDisjoint(with: .inFlight) else { return }
    if object.isFault { object.fire() }
    // The program has deleted it; it is not deleted only because there is no row.
    if object.isMarkedDeleted, !object.state.contains(.missing) { return }
    willChange(object)
    let version = object.snapshot?.version ?? 0
    do { try object.keepEveryValue() } catch { return report(error, reading: object) }
    if object.isMarkedDeleted {
      changes.undelete(object)
      object.state.regainRow()
    }
    object.take(nil)
    if version > 0 { saving.lostVersions[object.objectID] = version }
    noteFirstEdit()
    changes.reinsert(object)
    changes.noteBack(object.place)
    changes.note(object, .insert)
    object.state.forgetNoteOfDeletion()
    object.rejoinOwners()
  }

  /// IDs are final from birth: does nothing, but for objects that were inserted before a store was attached, and for those of stores of the program,
  /// which name them now and not when they are saved (rule 28).
  /// - Throws: what the program's store throws; nothing on other stores.
  @_disfavoredOverload public func obtainPermanentIDs(for objects: [ManagedObject]) throws {
    checkAccess()
    settleProvisional()
    // Only stores of the program's code have identifiers that are made by it.
    for binding in coordinator.bindings {
      guard let contextual = binding.contextual else { continue }
      let new = objects.filter {
        $0.context === self && $0.isMarkedInserted && $0.home.storeIndex == binding.index
      }
      if new.isEmpty { continue }
      try contextual.settleIdentifiers(new.map { ($0.home.entityNumber, $0.primaryKey) }, for: self)
    }
  }

  /// What `init(entity:insertInto:)` does for an object that is born into this context.
  func adoptNew(_ object: ManagedObject, entity: EntityDescription) {
    checkAccess(entity.name)
    // Kept by `latest` all the while: nothing to count.
    Unmanaged.passUnretained(boundForNew(entity))._withUnsafeGuaranteedRef { home in
      checkClass(of: object, home)
      if home.bound.hasTransientDefaults { object.transients = home.bound.transientDefaults }
      let knowsReferrers = event.looseReferrers?.editCount == changes.editCount
      register(object, as: home)
      // It refers to nothing yet.
      if knowsReferrers { event.looseReferrers?.editCount = changes.editCount }
    }
    object._setInitialValues()
    wakeUp(object)
  }

  /// Tells a new object that it is one. What that sets is part of the new record, however it is set.
  @inline(__always)
  private func wakeUp(_ object: ManagedObject) {
    object.awakeFromInsert()
    if object.edits == nil { object.noticeSilentEdits() }
  }

  /// Objects come back from a fetch under the class of their entity: one of another class would be taken for what it is not.
  @inline(__always)
  private func checkClass(of object: ManagedObject, _ home: HomeForNew) {
    if classes.types[home.bound.entity.number] != type(of: object) { checkSuperclasses(of: object, home) }
  }

  @inline(never)
  private func checkSuperclasses(of object: ManagedObject, _ home: HomeForNew) {
    let wanted: ManagedObject.Type = classes.types[home.bound.entity.number]
    if object.takeClass(wanted) { return }
    var mirror = Mirror(reflecting: object).superclassMirror
    while let current = mirror {
      if current.subjectType == wanted { return }
      mirror = current.superclassMirror
    }
    trap(
      "an object of class \(type(of: object)) was made for entity \(home.bound.entity.name), whose objects are of class "
        + "\(wanted); make it with \(wanted)(entity:insertInto:) or \(wanted)(context:).")
  }

  @inline(__always)
  private func register(_ object: ManagedObject, as home: HomeForNew) {
    object.context = self
    bind(object, to: home)
    willInsert(object)
    if object.edits == nil, object.draft == nil { object.draft = home.bound.makeDraft() }
    noteFirstEdit()
    changes.insert(object)
  }

  /// What an earlier life left behind goes: the row becomes edited values, what a context noted is forgotten.
  private func makeInsertable(_ object: ManagedObject) {
    if object.snapshot != nil {
      // In no context nothing is read that could fail.
      try? object.keepEveryValue()
      object.snapshot = nil
    }
    object.savedAs = .nothing
    object.state.beginAnew(
      isListed: changes.lists(inserted: object), keeping: [.draftShared, .draftFrozen, .observed])
  }

  /// A to-one relationship of an object that is inserted again, and what it led to.
  private struct FormerLink {
    let relationship: RelationshipSchema
    let end: UInt64
  }

  /// An object that has been in a context forgets what it was related to. It has no members: those refer to the record that it was.
  /// - Returns: Its to-one relationships that led to what is here; not those to records that were never saved, that have gone, or of another store.
  private func takeLinks(of object: ManagedObject, _ home: HomeForNew) -> [FormerLink] {
    object.relations?.moveToOtherStore()
    object.relations?.dropBases()
    let isOfSameStore = object.objectID.storeIdentifier == home.store.store.identifier
    var links: [FormerLink] = []
    for relationship in object.home.entity.relationships where !relationship.isToMany {
      let bits: UInt64
      if relationship.isTransient {
        bits = object.transients?[relationship.slot] as? UInt64 ?? 0
      } else if case .reference(let stored)? = object.draft?[relationship.slot] {
        bits = stored
      } else {
        bits = 0
      }
      if bits == 0 { continue }
      if relationship.isTransient {
        object.transients?[relationship.slot] = nil
      } else {
        object.editableDraft()[relationship.slot] = .null
      }
      if isOfSameStore, isThere(bits, inStore: home.store.index) {
        links.append(FormerLink(relationship: relationship, end: bits))
      }
    }
    return links
  }

  /// Sets a relationship of an object that is inserted again, so that the other end shows it. The end of a one-to-one relationship keeps the partner that it has by now.
  private func restore(_ link: FormerLink, of object: ManagedObject) {
    let index = object.home.storeIndex
    guard let end = self.object(link.end, inStore: index) else { return }
    if let inverse = schema.inverse(of: link.relationship), !inverse.isToMany {
      end.claim()
      var partner: UInt64 = 0
      guard readsAll({ partner = end.reference(inverse) }) else {
        object.storeReference(link.end, link.relationship)
        return postpone(object) { [unowned self, unowned object] in
          guard object.context === self, !object.isMarkedDeleted,
            object.reference(link.relationship) == link.end
          else { return }
          object.storeReference(0, link.relationship)
          restore(link, of: object)
        }
      }
      if partner != 0 {
        if isThere(partner, inStore: index) { return }
        // The record that the object was, or another that has gone.
        end.storeReference(0, inverse)
      }
    }
    object.setRelatedObject(link.relationship, end)
  }

  /// Whether a reference leads to an object of this context or to a record. What cannot be read may be there.
  private func isThere(_ bits: UInt64, inStore index: Int) -> Bool {
    guard let id = identifier(bits, inStore: index) else { return false }
    do {
      return try !existingObject(with: id).isMarkedDeleted
    } catch let error as CoreDataError where error.code == .managedObjectReferentialIntegrity {
      return false
    } catch {
      return true
    }
  }

  @inline(__always)
  func bind(_ object: ManagedObject, to home: HomeForNew) {
    object.become(home.bound)
    do {
      object.primaryKey = try home.store.store.makePrimaryKey(hierarchy: home.bound.entity.hierarchyNumber)
    } catch {
      // Reserving the first keys of a store failed, and an initialiser cannot throw.
      let hierarchy = home.bound.entity.hierarchyNumber
      guard let key = home.store.store.makeProvisionalKey(hierarchy: hierarchy, after: error) else {
        trap("no primary key could be had for a new \(home.bound.entity.name): \(error)")
      }
      object.primaryKey = key
    }
    home.table.insert(object, for: object.primaryKey)
    changes.countEdit()
  }

  func boundForNew(_ entity: EntityDescription) -> HomeForNew {
    let generation = coordinator.storesGeneration
    if let last = latest.home, last.entity === entity, last.generation == generation {
      return last
    }
    // What was inserted before stands beside the new object.
    settleProvisional()
    guard let compiled = compiledEntity(entity) else {
      trap(
        "entity \(entity.name ?? "?") is not of this context's model; take the description from the coordinator's model."
      )
    }
    if compiled.isAbstract {
      trap("entity \(entity.name ?? "?") is abstract and has no objects of its own; insert a subentity.")
    }
    let binding = coordinator.home(forNew: compiled.number) ?? coordinator.provisional
    guard let bound = binding.entities[compiled.number] else {
      trap("the store for new objects of \(entity.name ?? "?") does not hold them")
    }
    if binding.store is ProvisionalStore { provisional.noteObject() }
    let home = HomeForNew(
      entity: entity, store: binding, bound: bound,
      table: stores.tables(for: binding).tables[compiled.hierarchyNumber], generation: generation)
    latest.home = home
    return home
  }

  /// The compiled form of a description of this context's model.
  func compiledEntity(_ entity: EntityDescription) -> EntitySchema? {
    guard let name = entity.name, let compiled = schema.entity(named: name),
      compiled.entityDescription === entity
    else { return nil }
    return compiled
  }

  /// The one entity of the model that has this class.
  func entityDescription(for type: ManagedObject.Type) -> EntityDescription {
    let key = ObjectIdentifier(type)
    if let last = latest.type, last.key == key { return last.entity }
    if let known = classes.entities[key] {
      latest.type = (key, known.entityDescription)
      return known.entityDescription
    }
    trap(
      classes.ambiguous.contains(key)
        ? "\(type) is the class of several entities of this context's model; use init(entity:insertInto:)."
        : "\(type) is the class of no entity of this context's model. Say there which entity it belongs to: "
          + "managedObjectClassName = \"\(String(reflecting: type))\", or managedObjectClass = \(type).self where the model is made, "
          + "which a nested class needs. PersistentContainer(for: \(type).self, at: url) makes a model of typed classes."
    )
  }

  // MARK: Deleting

  /// Marks `object` to be deleted by the next save; a new object simply goes (rule 24). Calls `prepareForDeletion()` first.
  public func delete(_ object: ManagedObject) {
    checkAccess(object.home.token.entityName)
    guard object.context === self else {
      if let other = object.context, !object.state.contains(.loose) { trapForeignObject(object, other) }
      return  // Deleted, reset or detached before: nothing is left to delete.
    }
    if beginDeletion(of: object) { deleteInserted(object) }
  }

  /// Asks the next save to check that the row of `object`, changed or not, is still the one this context read (rule 189).
  public func detectConflicts(for object: ManagedObject) {
    checkAccess(object.home.token.entityName)
    guard object.context === self, !object.isMarkedInserted, !object.state.contains(.locked) else { return }
    object.state.lock()
    changes.locked.append(object)
  }

  // MARK: Shared steps

  /// Takes `object` out of the context for good. Its last values stay readable.
  func letGo(_ object: ManagedObject, rowIsGone: Bool = false) {
    stores.table(for: object.home)?.remove(object.primaryKey)
    object.context = nil
    if rowIsGone { object.state.loseRow() }
  }

  /// The same for many whose deletion has been saved, each held by the array.
  func letGo(deleted objects: [ManagedObject]) {
    guard let first = objects.first else { return }
    var (bound, table) = (first.boundReference, stores.table(for: first.home))
    for place in objects.indices {
      // They lie in no order in the table.
      if place + 8 < objects.count { table?.prefetch(objects[place + 8].primaryKey) }
      let object = objects[place]
      if object.boundReference?.toOpaque() != bound?.toOpaque() {
        (bound, table) = (object.boundReference, stores.table(for: object.home))
      }
      table?.remove(object.primaryKey)
      object.context = nil
      object.state.loseRow()
    }
  }

  /// The first edit of an event on a main-queue context used without `perform` schedules the end of that event
  /// (rule 127; contexts 5).
  @inline(__always)
  func noteFirstEdit() {
    if event.isEndScheduled { return }
    if queue.type == .mainQueue { scheduleProcessing() } else if event.whenEdited != nil { tellFirstEdit() }
  }

  @inline(never)
  private func tellFirstEdit() {
    event.isEndScheduled = true
    event.whenEdited?()
  }

  private func scheduleProcessing() {
    // Inside a perform block its end is the end of the event. performAndWait ends none (rule 4).
    if event.isRunning { return }
    event.isEndScheduled = true
    DispatchQueue.main.async { [weak self] in
      guard let self else { return }
      self.event.isEndScheduled = false
      self.runAsEvent {}
    }
  }

  func trapForeignObject(_ object: ManagedObject, _ other: ManagedObjectContext) -> Never {
    trap(
      "an object of \(other) was handed to \(self). A managed object belongs to one context: pass its objectID "
        + "and call object(with:) here.")
  }
}

extension ManagedObject {
  /// Gives the object its entity and, with it, its slots.
  func become(_ bound: BoundEntity) {
    lead(to: bound)
    table = bound.table
    slotCount = bound.slotCount
    state.announce(bound.announcesChanges)
  }

  /// Gives an object that was made without a context the entity it has in no store, and its defaults.
  func becomeUnattached(_ entity: EntityDescription) {
    if let wanted = entity.managedObjectClass as? ManagedObject.Type, wanted != type(of: self) {
      _ = takeClass(wanted)
    }
    become(UnattachedEntities.bound(entity))
    primaryKey = ProvisionalStore.nextKey()
    draft = home.makeDraft()
    if home.hasTransientDefaults { transients = home.transientDefaults }
  }

  /// Makes an empty object a probe of its entity: see `ProbeRecording`.
  func becomeProbe(_ entity: EntityDescription) {
    become(UnattachedEntities.bound(entity))
    state.becomeProbe()
  }
}

extension ManagedObjectContext {
  /// Makes a new record of the entity named; nil when the model has none.
  package func insertNew(named name: String) -> ManagedObject? {
    checkAccess(name)
    return schema.entity(named: name).map { insertNew($0) }
  }

  /// Makes a new object of a class that is known while the program runs only, and inserts it as a record of `entity`; of the one entity of the model
  /// that has this class for nil.
  package func insertNew<Object: ManagedObject>(_ type: Object.Type, _ entity: EntityDescription?) -> Object {
    checkAccess(entity?.name)
    let entity = entity ?? entityDescription(for: type)
    let object = ThreadScope.current.materializing { type.init(materializing: entity) }
    adoptNew(object, entity: entity)
    return object
  }

  /// Has `body` called for each object that begins to have unsaved changes, in the middle of the change: it must do nothing with the context or the object but remember
  /// it. Not for objects that are made new. The context keeps `body`.
  package final func whenChanged(_ body: @escaping (ManagedObject) -> Void) { changes.whenChanged = body }

  /// Has `body` called for the first edit from now on, and for the first after each ``followNextEdit()``, in the middle of the change: it must do nothing with the context but
  /// schedule what ends the event. Whoever makes the edit, and by whichever name. For contexts of confinement type, which nothing ends events of. The context keeps `body`.
  package final func whenEdited(_ body: @escaping () -> Void) { event.whenEdited = body }

  /// The event has ended: the next edit is the first one again.
  package final func followNextEdit() { event.isEndScheduled = false }
}

extension ManagedObject {
  /// An object that was never saved and has left its context forgets what it was related to: the others have left as well, or are there without it. Does nothing in a
  /// context.
  package final func forgetRelated() {
    guard contextReference == nil else { return }
    relations = nil
    for relationship in home.entity.relationships where !relationship.isToMany {
      if relationship.isTransient {
        transients?[relationship.slot] = nil
      } else if let draft, draft.isChanged(relationship.slot) {
        editableDraft()[relationship.slot] = .null
      }
    }
  }
}

extension EntityDescription {
  /// Makes a new record of the entity named, an object of the entity's own class, and inserts it into `context`.
  ///
  /// - Throws: `FetchError` when the context's model has no entity of that name. Traps for an abstract entity, and while no writable
  ///   store holds the entity.
  @_disfavoredOverload public static func insertNewObject(
    forEntityName name: String, into context: ManagedObjectContext
  ) throws -> ManagedObject {
    guard let entity = context.schema.entity(named: name) else {
      throw FetchError(reason: .unknownEntity, entityName: name, key: nil)
    }
    context.checkAccess(name)
    return context.insertNew(entity)
  }
}
