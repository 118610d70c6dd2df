import Foundation

/// Duplicates that are no more, and what has taken their place.
///
/// A child may relate others to an object it has saved here, which this context's save has then merged into another record: a worker that keeps
/// the vendors it has inserted, say. Those belong to the record that was kept. Remembered as long as the
/// context lives, or until `reset()`: a few words for each duplicate, and only in contexts that have children.
extension ManagedObjectContext {
  /// Tells `follower` from now on what becomes of duplicates. The context keeps it, over `reset()` as well.
  ///
  /// With a follower a merge policy's answer is undone together with what has asked for it: a new object that has become another record is no object of its own again.
  package final func follow(duplicates follower: DuplicateFollower) { duplicates.follower = follower }

  /// A save is done: tells the follower what new objects have become. Answers that.
  @discardableResult
  func tellMerged() -> [ManagedObject] {
    let merged = duplicates.takeMerged()
    if merged.isEmpty { return [] }
    duplicates.follower?.merged(merged)
    return merged.map(\.kept)
  }

  /// `duplicate` is about to be merged into `object`, with all that it is related to.
  func willMerge(_ duplicate: ManagedObject, into object: ManagedObject) {
    guard let follower = duplicates.follower else { return }
    let isNew = duplicate.isMarkedInserted
    if !isNew { follower.makesWay(duplicate) }
    undoRecorder?.noteCause(isNew ? duplicate : object)
  }

  /// `duplicate`, which is new, is about to leave, and `object` has taken its place.
  func noteSuccessor(_ object: ManagedObject, of duplicate: ManagedObject) {
    duplicates.noteMerged(duplicate, object)
    duplicates.noteFate(of: duplicate.objectID, object.objectID)
    guard strata.publishes else { return }
    duplicates.successors[place(duplicate.home, duplicate.primaryKey)] = object.objectID.with(
      isTemporary: false)
  }

  /// What became of a record that is no more, as the end of a message; empty when it was no duplicate.
  func fateInWords(of id: ManagedObjectID) -> String {
    guard let kept = duplicates.fate(of: id) else { return "" }
    return " It had the same unique values as another one and was merged with it by the last saves: it is "
      + "\(kept.uriRepresentation().absoluteString) now; use that object."
  }

  /// The object that `duplicate`, which is in no context any more, has become here; nil when it was no duplicate of this context.
  fileprivate func kept(insteadOf duplicate: ManagedObject) -> ManagedObject? {
    guard let id = duplicates.fate(of: duplicate.objectID), locate(id) != nil else { return nil }
    let kept = object(with: id)
    return kept === duplicate ? nil : kept
  }

  /// Makes references to duplicates lead to what has taken their place; returns the others.
  ///
  /// One pass over what is unsaved.
  func redirectToSuccessors(_ references: [DanglingReferences.Reference], in binding: StoreBinding) throws
    -> [DanglingReferences.Reference]
  {
    if duplicates.successors.isEmpty { return references }
    var rest: [DanglingReferences.Reference] = []
    var redirected:
      [(reference: DanglingReferences.Reference, source: StratumLayer.Place, target: ManagedObject)] = []
    for reference in references {
      let relationship = schema.relationships[reference.relationship]
      let target = StratumLayer.Table(storeIndex: binding.index, hierarchy: relationship.destinationHierarchy)
      let source = StratumLayer.Table(
        storeIndex: binding.index, hierarchy: schema.entities[relationship.owner].hierarchyNumber)
      if !reference.isLeftBehind, !reference.isSourceMissing, !reference.isOneSided,
        let successor = try successor(of: .init(table: target, primaryKey: reference.target))
      {
        redirected.append((reference, .init(table: source, primaryKey: reference.source), successor))
      } else {
        rest.append(reference)
      }
    }
    if redirected.isEmpty { return rest }
    let sources = pendingObjects(Set(redirected.map(\.source)), in: binding)
    for (reference, place, target) in redirected {
      guard let source = sources[place], source.context === self, !source.isMarkedDeleted else { continue }
      redirect(source, schema.relationships[reference.relationship], from: reference.target, to: target)
    }
    return rest
  }

  private func redirect(
    _ source: ManagedObject, _ relationship: RelationshipSchema, from gone: UInt64, to target: ManagedObject
  ) {
    if !relationship.isToMany {
      if Reference.primaryKey(source.reference(relationship)) == gone {
        source.setRelatedObject(relationship, target)
      }
      return
    }
    let state = source.changingState(relationship)
    for entry in state.changes.effective where Reference.primaryKey(entry.member) == gone && !entry.isRemoval
    {
      state.remove(entry.member)
      source.addMember(relationship, target)
    }
  }

  /// What has taken the place of a duplicate, if it is there still.
  ///
  /// - Throws: why that cannot be read.
  private func successor(of place: StratumLayer.Place) throws -> ManagedObject? {
    var next = duplicates.successors[place]
    var found: ManagedObject?
    while let id = next {
      do {
        found = try existingObject(with: id)
      } catch let error as CoreDataError where error.code == .managedObjectReferentialIntegrity {
        found = nil
      }
      next = locate(id).flatMap { duplicates.successors[self.place($0.bound, id.primaryKey)] }
    }
    return found.flatMap { $0.isMarkedDeleted ? nil : $0 }
  }

  private func place(_ home: BoundEntity, _ primaryKey: UInt64) -> StratumLayer.Place {
    .init(
      table: .init(storeIndex: home.storeIndex, hierarchy: home.hierarchyNumber), primaryKey: primaryKey)
  }
}

// A merge policy that has called super, a hook or an observer of the same save may still have the duplicate in its hands, and may give it to others: in Core Data it
// is a deleted object then, which belongs to the context until the save ends. Here it has left, and whoever is given it takes the object that was kept.
extension ManagedObject {
  /// While the save that has merged this object into another one settles conflicts, or is told of, on this thread: that other object. Asked for objects in no context only.
  @inline(never)
  final func keptBySave() -> ManagedObject? {
    let settling = ThreadScope.current.settling
    if settling.isEmpty || isUnattached || !state.isDisjoint(with: .probe) { return nil }
    for context in settling.reversed() {
      if let kept = context.kept(insteadOf: self) { return kept }
    }
    return nil
  }

  /// Whether changes of this object's relationships mean nothing, as it is such a duplicate itself.
  @inline(__always)
  final var isMergedBySave: Bool { contextReference == nil && keptBySave() != nil }

  /// `objects` with those that were kept instead of such duplicates.
  static func keptBySave(_ objects: [ManagedObject]) -> [ManagedObject] {
    if !objects.contains(where: { $0.contextReference == nil }) { return objects }
    return objects.map { $0.contextReference == nil ? $0.keptBySave() ?? $0 : $0 }
  }
}

/// What a module does whose instances show records, when a merge policy settles duplicates. Called on the context's queue.
package struct DuplicateFollower {
  /// A stored record is about to be deleted, as another one of the save has its unique values. It has all its values and relationships still.
  let makesWay: (ManagedObject) -> Void
  /// A save has written what new objects have become, in the order in which they were merged; no hook or observer has been told of it.
  let merged: ([MergedObject]) -> Void

  package init(
    makesWay: @escaping (ManagedObject) -> Void, merged: @escaping ([MergedObject]) -> Void
  ) {
    self.makesWay = makesWay
    self.merged = merged
  }
}

/// A new object that has left the context, and the one that has taken its place, which may have been merged into another one later.
package struct MergedObject {
  package let duplicate: ManagedObject
  package let kept: ManagedObject
}
