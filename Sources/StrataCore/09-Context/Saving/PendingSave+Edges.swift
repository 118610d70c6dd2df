import Foundation

extension PendingSave {
  /// Takes what `objects` have changed of relationships that are not in rows.
  ///
  /// - Throws: `CoreDataError` 133010 for an object of another store (rule 146).
  func collectEdges(of objects: [ManagedObject]) throws {
    try ManagedObject.forEach(objects) { object in
      guard let relations = object.relations else { return }
      try object.requireNoForeignRelationship()
      for (number, state) in relations.states where state.hasChanges {
        let relationship = state.relationship
        guard relationship.isToldBesideRows else { continue }
        for entry in state.changes.effective where relationship.isEdgeStored || !entry.isRemoval {
          changes.edges.append(EdgeChange(number, of: object.primaryKey, entry.member, entry.position))
        }
      }
    }
  }
}

extension ManagedObject {
  /// - Throws: `CoreDataError` 133010 when the object is related to one of another store (rule 146).
  final func requireNoForeignRelationship() throws {
    guard let relations, !relations.foreign.isEmpty else { return }
    let names = relations.foreign.slots.map { home.entity.attributes[$0].name }.joined(separator: ", ")
    throw CoreDataError(
      .managedObjectExternalRelationship,
      "\(home.token.entityName).\(names) leads to an object of another store; relationships stay within one store.",
      userInfo: [CoreDataError.Key.affectedObjects: [self]])
  }
}
