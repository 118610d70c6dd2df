import Foundation

/// Duplicates that are no more, and what has taken their place.
///
/// A child may relate others to an object it has saved here, which this context's save has then merged into another record: a worker that keeps
/// the vendors it has inserted, say. Those belong to the record that was kept. Remembered as long as the
/// context lives, or until `reset()`: a few words for each duplicate, and only in contexts that have children.
extension ManagedObjectContext {
  /// Has `body` called, on the context's queue, whenever a merge policy merges a new object into another record: with the new one, which is about to leave the context, and with the other.
  package final func whenMerged(_ body: @escaping (_ duplicate: ManagedObject, _ kept: ManagedObject) -> Void)
  {
    duplicates.whenMerged = body
  }

  /// `duplicate`, which is new, is about to leave, and `object` has taken its place.
  func noteSuccessor(_ object: ManagedObject, of duplicate: ManagedObject) {
    duplicates.whenMerged?(duplicate, object)
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
