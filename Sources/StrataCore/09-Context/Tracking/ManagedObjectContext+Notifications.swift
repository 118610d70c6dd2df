import Foundation

extension ManagedObjectContext {
  /// Posted by `processPendingChanges()`: sets of objects under `inserted`, `updated`, `deleted`, `refreshed`,
  /// `invalidated`; after `reset()` an array of IDs under `invalidatedAll` alone (rules 114–116, 122). Of more than 1,024 rows that
  /// a batch has inserted at least the first ones are reported so, and the IDs of all of them at the end, under `insertedBatchObjectIDs` alone (rule 179).
  ///
  /// That of a merge has a set under Core Data's `NSObjectsChangedByMergeChangesKey`, too: the refreshed objects, or none.
  public static let didChangeObjectsNotification =
    Notification.Name("NSObjectsChangedInManagingContextNotification")
  /// Posted by `save()` after the `willSave()` hooks, without user info (rule 117).
  public static let willSaveObjectsNotification = Notification.Name(
    "NSManagingContextWillSaveChangesNotification")
  /// Posted by a successful `save()`: sets of this context's objects under `inserted`, `updated`, `deleted` (rule 118).
  ///
  /// Where a store records a history, a ``PersistentHistoryToken`` under `historyToken`, and under Core Data's `newChangeToken`, says which moment the save is; not of a save to a
  /// parent. In a context that is pinned, and above it, `NotificationKey.queryGeneration` is its generation: the one that the save has moved it on
  /// to (rules 119, 291, 295).
  public static let didSaveObjectsNotification = Notification.Name(
    "NSManagingContextDidSaveChangesNotification")
  /// Posted after `didSaveObjectsNotification`: sets of IDs under `inserted_objectIDs`, `updated_objectIDs`,
  /// `deleted_objectIDs`, safe to carry to other queues (rules 118, 130). Token and generation are as in the notification before.
  public static let didSaveObjectIDsNotification = Notification.Name(
    "NSManagedObjectContextDidSaveObjectIDsNotification")
  /// Posted after a merge: sets of IDs under the keys of the ID notification, with `refreshed_objectIDs` and
  /// `invalidated_objectIDs` (rule 120). Of more than 1,024 rows that a batch has inserted at least the first ones are named so, and all
  /// of them at the end, under `insertedBatchObjectIDs` alone (rule 179).
  public static let didMergeChangesObjectIDsNotification =
    Notification.Name("NSManagedObjectContextDidMergeChangesObjectIDsNotification")

  /// Keys of the notifications' user info, with Core Data's short strings (rule 116). Missing keys mean empty sets (rule 121).
  public enum NotificationKey: String, Sendable {
    case insertedObjects = "inserted"
    case updatedObjects = "updated"
    case deletedObjects = "deleted"
    case refreshedObjects = "refreshed"
    case invalidatedObjects = "invalidated"
    case invalidatedAllObjects = "invalidatedAll"
    case insertedObjectIDs = "inserted_objectIDs"
    case updatedObjectIDs = "updated_objectIDs"
    case deletedObjectIDs = "deleted_objectIDs"
    case refreshedObjectIDs = "refreshed_objectIDs"
    case invalidatedObjectIDs = "invalidated_objectIDs"
    /// ``BatchObjectIDs``: all the rows that a batch has inserted, when it is more than 1,024.
    case insertedBatchObjectIDs = "insertedBatch_objectIDs"
    /// A ``QueryGenerationToken``.
    case queryGeneration = "NSManagedObjectContextQueryGenerationKey"
  }

  /// Ends an event: makes everything changed since the last one known in one did-change notification; posts nothing when
  /// nothing changed (rule 122).
  ///
  /// Happens by itself after every `perform` block, before a fetch and a save, and, for a main-queue context used without
  /// `perform`, in a job on the main queue. Also ends the undo manager's group of the event, which a fetch does not.
  public func processPendingChanges() {
    tellChanges()
    undoRecorder?.endEvent()
  }

  /// Makes everything changed since the last did-change notification known, and what it was before known to the undo manager.
  func tellChanges() {
    checkAccess()
    settleProvisional()
    drainReceived()
    if deletions.leavers != nil { deletions.leavers = nil }
    if event.looseReferrers != nil { event.looseReferrers = nil }
    if propagatesDeletesAtEndOfEvent, !deletions.toPropagate.isEmpty { propagateDeletions() }
    if !deletions.withdrawn.isEmpty { removeWithdrawnMembers() }
    // An observer may end an event of its own, in the middle of the outer one.
    let outer = event.told
    event.told = ToldChanges()
    defer { event.told = outer }
    // Observers may change more; what they change is told in a notification of its own, within reason.
    var rounds = 0
    while true {
      while changes.hasNoted, rounds < Self.mostNotificationRounds {
        postDidChange()
        rounds += 1
      }
      saving.encodingAhead?.wait()
      publishEdits()
      tellObservers()
      let isSettled = !changes.hasNoted && deletions.withdrawn.isEmpty
      if isSettled || rounds == Self.mostNotificationRounds || observation.isTelling { return }
      if propagatesDeletesAtEndOfEvent, !deletions.toPropagate.isEmpty { propagateDeletions() }
      if !deletions.withdrawn.isEmpty { removeWithdrawnMembers() }
    }
  }

  private static let mostNotificationRounds = 100

  private func postDidChange() {
    registerUndo()
    var sets = ObjectSets()
    // What observers of a merge change is none.
    let isOfMerge = event.isOfMerge
    event.isOfMerge = false
    var hasMerged = false
    var observed: [(ManagedObject, ManagedObject.ObservedChanges)] = []
    let hasFlushed = changes.hasFlushed
    let noted = changes.takeNoted()
    if hasFlushed {
      unpublished.objects += noted.filter { !$0.state.contains(.flushed) }
    } else if unpublished.objects.isEmpty {
      unpublished.objects = noted
    } else {
      unpublished.objects += noted
    }
    if saving.toldInValidation != nil { saving.toldInValidation? += noted }
    fulfilObserved(noted)
    // A large import: everything noted is new, and what is noted is the list of it.
    var isAllNew = true
    ManagedObject.forEach(noted) { object in
      if object.state.isDisjoint(with: .notedInsert) || object.state.contains(.notedDelete)
        || isElsewhere(object)
      {
        isAllNew = false
      }
    }
    if isAllNew {
      ManagedObject.forEach(noted) { object in
        if object.state.contains(.observed) { observed.append((object, object.observedChanges())) }
        hasMerged = hasMerged || !object.state.contains(.inserted)
        object.state.endEvent()
        object.relations?.endEvent()
      }
      sets.inserted = noted
    }
    for place in noted.indices where !isAllNew {
      let object = noted[place]
      let state = object.state
      guard !state.isDisjoint(with: .noted), !isElsewhere(object) else { continue }
      if state.contains(.observed) { observed.append((object, object.observedChanges())) }
      object.state.endEvent()
      object.relations?.endEvent()
      if state.contains(.notedDelete) {
        sets.deleted.append(object)
      } else if state.contains(.notedInsert) {
        sets.inserted.append(object)
        hasMerged = hasMerged || !state.contains(.inserted)
      } else {
        if state.contains(.notedUpdate) { sets.updated.append(object) }
        if state.contains(.notedRefresh) { sets.refreshed.append(object) }
      }
    }
    event.told.add(sets)
    // Observers may edit.
    if !observed.isEmpty { saving.encodingAhead?.wait() }
    for (object, changes) in observed { object.tell(changes) }
    if sets.isEmpty { return }
    note(sets)
    let inserted = Set.roomy(sets.inserted)
    // Most saves follow the event in which their objects were inserted, and report the same set. Objects inserted
    // elsewhere and merged are not kept: they will not be saved here.
    saving.lastInserted = hasMerged ? nil : inserted
    // Observers may edit the objects.
    saving.encodingAhead?.wait()
    post(
      Self.didChangeObjectsNotification,
      isOfMerge ? sets.userInfoOfMerge(inserted: inserted) : sets.userInfo(inserted: inserted))
    for object in sets.deleted { object.state.endDeparture() }
  }

  /// Whether `object`, which was new here and was deleted, has been inserted into another context since, which reports it.
  @inline(__always)
  private func isElsewhere(_ object: ManagedObject) -> Bool {
    guard let reference = object.contextReference else { return false }
    return reference.toOpaque() != Unmanaged.passUnretained(self).toOpaque()
  }

  func postWillSave() { post(Self.willSaveObjectsNotification, nil) }

  /// The two did-save notifications, in Core Data's order (rule 125).
  func postDidSave(_ outcome: SaveOutcome) {
    let sets: DidSaveSets
    // No `??`: what is made there only now and then would have to hold the outcome each time.
    if let made = outcome.sets {
      sets = made
    } else {
      sets = DidSaveSets(
        inserted: outcome.inserted, updated: outcome.updated, deleted: outcome.deleted, known: nil,
        areStored: parent == nil)
    }
    // What was saved to a parent is merged by reading it there.
    var notices = parent == nil ? outcome.notices : []
    let moment = savedMoment(notices)
    // Of stores that had nothing to write; when none had, the IDs say it.
    if !notices.isEmpty { notices += outcome.resaved }
    let form =
      notices.isEmpty
      ? SavedInfoForm.toParent
      : moment.token == nil ? SavedInfoForm.toStores : SavedInfoForm.toStoresWithHistory
    var objects = form.objects.userInfo(sets.inserted, sets.updated, sets.deleted)
    var ids = form.identifiers.userInfo(sets.insertedIDs, sets.updatedIDs, sets.deletedIDs)
    if notices.isEmpty {
      form.objects.put(ids, other: 0, into: &objects)
    } else {
      form.objects.put(notices, other: 0, into: &objects)
      form.identifiers.put(notices, other: 0, into: &ids)
      if let token = moment.token {
        for key in 1...2 {
          form.objects.put(token, other: key, into: &objects)
          form.identifiers.put(token, other: key, into: &ids)
        }
      }
    }
    if let generation = moment.generation {
      objects[NotificationKey.queryGeneration.rawValue] = generation
      ids[NotificationKey.queryGeneration.rawValue] = generation
    }
    PostingTurn.shared.withTurn {
      NotificationCenter.default.post(
        name: Self.didSaveObjectsNotification, object: self, userInfo: objects)
    }
    PostingTurn.shared.withTurn {
      NotificationCenter.default.post(name: Self.didSaveObjectIDsNotification, object: self, userInfo: ids)
    }
    postMessage(sets, moment)
    if observation.tellsObjects {
      let objects = outcome.inserted + outcome.updated
      tellObserved(objects)
    }
  }

  /// Which moment a save is, as its notifications say: the history token and the query generation, where there are.
  struct SavedMoment {
    var token: PersistentHistoryToken?
    var generation: QueryGenerationToken?
  }

  private func savedMoment(_ notices: [CommitNotice]) -> SavedMoment {
    var result = SavedMoment()
    var moments: [UUID: HistoryMoment] = [:]
    // By place: a notice that is copied counts references.
    for place in notices.indices {
      guard let store = coordinator.binding(notices[place].storeIndex)?.store.historyStore else { continue }
      if let moment = store.historyMoment(ofCommit: notices[place].commitNumber) {
        moments[store.identifier] = moment
      }
    }
    if !moments.isEmpty { result.token = PersistentHistoryToken(moments) }
    // What cannot be pinned now is pinned at the next read, which reports the error.
    if generation.isSet, let token = try? generation.pinned(coordinator), !token.isEmpty {
      result.generation = token
    }
    return result
  }

  /// Under this key did-save notifications carry the commit's rows, so that merging them reads nothing.
  static let noticesKey = "strata.commitNotices"
  /// Under this key, without rows to carry, the IDs: a context that merges them on another queue must not look at the objects.
  static let identifiersKey = "strata.savedIdentifiers"

  func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]?) {
    if !stores.followers.isEmpty { tellFollowers() }
    PostingTurn.shared.withTurn {
      NotificationCenter.default.post(name: name, object: self, userInfo: userInfo)
    }
    postMessage(name, userInfo)
  }
}

/// The sets that the two did-save notifications carry.
struct DidSaveSets {
  let inserted: Set<ManagedObject>
  let updated: Set<ManagedObject>
  let deleted: Set<ManagedObject>
  let insertedIDs: Set<ManagedObjectID>
  let updatedIDs: Set<ManagedObjectID>
  let deletedIDs: Set<ManagedObjectID>

  /// `known` is a set of objects of the same context that were all new at the last event.
  /// Inserted IDs of a save that reached no store are temporary still (rule 131).
  init(
    inserted: [ManagedObject], updated: [ManagedObject], deleted: [ManagedObject], known: Set<ManagedObject>?,
    areStored: Bool = true
  ) {
    func ids(_ objects: [ManagedObject]) -> Set<ManagedObjectID> {
      if objects.isEmpty { return [] }
      var ids = Set<ManagedObjectID>(minimumCapacity: objects.count)
      ManagedObject.forEach(objects) {
        ids.insert(areStored ? $0.objectID.with(isTemporary: false) : $0.objectID)
      }
      return ids
    }
    self.init(
      inserted: inserted, updated: updated, deleted: deleted, known: known,
      ids: Identifiers(inserted: ids(inserted), updated: ids(updated), deleted: ids(deleted)))
  }

  /// The IDs of a save's objects.
  struct Identifiers {
    var inserted: Set<ManagedObjectID> = []
    var updated: Set<ManagedObjectID> = []
    var deleted: Set<ManagedObjectID> = []
  }

  /// Looks at no object.
  init(
    inserted: [ManagedObject], updated: [ManagedObject], deleted: [ManagedObject], known: Set<ManagedObject>?,
    ids: Identifiers
  ) {
    if let known, known.count == inserted.count, inserted.first.map(known.contains) ?? true {
      self.inserted = known
    } else {
      self.inserted = .roomy(inserted)
    }
    self.updated = .roomy(updated)
    self.deleted = .roomy(deleted)
    insertedIDs = ids.inserted
    updatedIDs = ids.updated
    deletedIDs = ids.deleted
  }
}

extension Set where Element == ManagedObject {
  /// A set with some room to spare: two objects that fall on one place must be compared, which means looking at an object
  /// somewhere else in memory, and costs several times what an insertion without that costs.
  static func roomy(_ objects: [ManagedObject]) -> Set {
    if objects.isEmpty { return [] }
    var set = Set(minimumCapacity: objects.count + objects.count / 3)
    // The references are counted beforehand and moved into the set: counting waits for every store that is under way, and
    // the stores into a set go all over memory.
    withUnsafeTemporaryAllocation(of: ManagedObject.self, capacity: Swift.min(objects.count, 1_024)) {
      batch in
      // The capacity is not zero.
      let start = batch.baseAddress.unsafelyUnwrapped
      objects.withUnsafeBufferPointer { objects in
        var place = 0
        while place < objects.count {
          let part = objects[place..<Swift.min(place + batch.count, objects.count)]
          var count = 0
          ManagedObject.forEach(part) { object in
            (start + count).initialize(to: object)
            count += 1
          }
          for index in 0..<count { set.update(with: (start + index).move()) }
          place += count
        }
      }
    }
    return set
  }
}

/// The object sets of a notification.
struct ObjectSets {
  var inserted: [ManagedObject] = []
  var updated: [ManagedObject] = []
  var deleted: [ManagedObject] = []
  var refreshed: [ManagedObject] = []

  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty }

  /// The sets that are not empty, under Core Data's keys.
  var userInfo: [AnyHashable: Any] { userInfo(inserted: Set(inserted)) }

  func userInfo(inserted: Set<ManagedObject>) -> [AnyHashable: Any] {
    // Mostly there is one set, of what was made or edited.
    if deleted.isEmpty, refreshed.isEmpty {
      if updated.isEmpty, !inserted.isEmpty { return SavedInfoForm.insertedAlone.userInfo(inserted) }
      if inserted.isEmpty, !updated.isEmpty { return SavedInfoForm.updatedAlone.userInfo(.roomy(updated)) }
    }
    var result: [AnyHashable: Any] = [:]
    if !inserted.isEmpty { result[ManagedObjectContext.NotificationKey.insertedObjects.rawValue] = inserted }
    func put(_ key: ManagedObjectContext.NotificationKey, _ objects: [ManagedObject]) {
      if !objects.isEmpty { result[key.rawValue] = Set.roomy(objects) }
    }
    put(.updatedObjects, updated)
    put(.deletedObjects, deleted)
    put(.refreshedObjects, refreshed)
    return result
  }

  /// The same with what says that a merge has changed the objects.
  func userInfoOfMerge(inserted: Set<ManagedObject>) -> [AnyHashable: Any] {
    if updated.isEmpty, deleted.isEmpty, refreshed.isEmpty {
      return SavedInfoForm.insertedByMerge.userInfo(inserted)
    }
    var result = userInfo(inserted: inserted)
    result[SavedInfoForm.mergeKey] =
      result[ManagedObjectContext.NotificationKey.refreshedObjects.rawValue] ?? Set<ManagedObject>()
    return result
  }
}
