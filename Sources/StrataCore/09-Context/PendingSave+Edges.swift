import Foundation

extension PendingSave {
  /// Takes what `objects` have changed of relationships that rows do not tell of.
  ///
  /// - Throws: `CoreDataError` 133010 for an object of another store (rule 146).
  func collectEdges(of objects: [ManagedObject]) throws {
    try ManagedObject.forEach(objects) { object in
      guard let relations = object.relations else { return }
      if !relations.foreign.isEmpty { throw object.externalRelationship(relations) }
      for (number, state) in relations.states where state.hasChanges {
        let relationship = state.relationship
        guard relationship.isToldBesideRows else { continue }
        for entry in state.changes.effective where relationship.isEdgeStored || !entry.isRemoval {
          changes.edges.append(
            EdgeChange(
              relationship: number, owner: object.primaryKey, member: entry.member,
              kind: entry.isRemoval
                ? .remove : .add(position: entry.position == MemberChanges.unplaced ? nil : entry.position)))
        }
      }
    }
  }
}

extension ManagedObject {
  /// An object was related to one of another store.
  final func externalRelationship(_ relations: Relations) -> CoreDataError {
    let names = relations.foreign.keys.sorted().map { home.entity.attributes[$0].name }.joined(
      separator: ", ")
    return CoreDataError(
      .managedObjectExternalRelationship,
      "\(home.token.entityName).\(names) leads to an object of another store; relationships stay within one store.",
      userInfo: [CoreDataError.Key.affectedObjects: [self]])
  }
}
