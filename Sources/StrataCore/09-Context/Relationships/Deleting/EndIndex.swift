/// Objects of one context by what they lead to, or led to, at the other end of a relationship. Who asks looks at each of them: it may lead elsewhere
/// by now.
struct EndIndex {
  private struct End: Hashable {
    let store: Int
    let relationship: Int
    let bits: UInt64
  }

  private var known: [End: [ManagedObject]] = [:]

  /// Who leads, or led, to the object with that reference in that store by `relationship`.
  func objects(_ relationship: RelationshipSchema, _ bits: UInt64, store: Int) -> [ManagedObject] {
    known[End(store: store, relationship: relationship.number, bits: bits)] ?? []
  }

  mutating func add(_ object: ManagedObject, _ relationship: RelationshipSchema, _ bits: UInt64) {
    if bits == 0 { return }
    let end = End(store: object.home.storeIndex, relationship: relationship.number, bits: bits)
    known[end, default: []].append(object)
  }
}

/// Who may have had to let go of deleted objects, while deletions are taken back one after the other: all changed objects would have to be looked at
/// for each of them.
///
///     first deletion ──▶ looks at all of them      second ──▶ index ──▶ third …       any other edit, end of the event ──▶ forgotten
struct PossibleLeavers {
  /// Nil while only one deletion has been taken back.
  private(set) var index: EndIndex?
  /// `ChangeTracker.editCount` when the last step was done.
  var editCount = 0

  mutating func makeIndex(of lists: [[ManagedObject]]) {
    index = EndIndex()
    for list in lists { for object in list { add(object) } }
  }

  /// What `object` referred to by its row, and the members that it has lost.
  mutating func add(_ object: ManagedObject) {
    if index == nil { return }
    let home = object.home
    if let row = object.snapshot {
      for relationship in home.entity.relationships
      where !relationship.isToMany && !relationship.isTransient && relationship.inverse != nil {
        index?.add(object, relationship, row.reference(relationship, home))
      }
    }
    guard let relations = object.relations else { return }
    for (_, state) in relations.states where state.relationship.inverse != nil {
      let lost = state.pending.filter(\.isRemoval)
      for entry in lost { index?.add(object, state.relationship, entry.member) }
    }
  }
}

extension ManagedObjectContext {
  /// `object` is not deleted after all, and those that had to leave it for that reason are related to it again.
  func takeBackDeletion(of object: ManagedObject) {
    knowingLeavers(after: object) {
      changes.undelete(object)
      object.withdrawDeletion()
    }
  }

  /// Runs `step`, which takes back the deletion of `object` and calls nothing of the program's: what is known of who had to leave whom stays known.
  func knowingLeavers(after object: ManagedObject, _ step: () -> Void) {
    if deletions.leavers?.editCount != changes.editCount || !strata.isEmpty { deletions.leavers = nil }
    step()
    // What children have saved becomes edits here without being noted as such.
    if !strata.isEmpty {
      deletions.leavers = nil
      return
    }
    if deletions.leavers == nil { deletions.leavers = PossibleLeavers() }
    deletions.leavers?.add(object)
    deletions.leavers?.editCount = changes.editCount
  }

  /// Among the changed objects at least those that lead to `object` by `inverse` as their rows say, or have lost it as a member.
  func possibleLeavers(of object: ManagedObject, _ inverse: RelationshipSchema) -> [ManagedObject] {
    let store = object.home.storeIndex
    if let index = deletions.leavers?.index {
      return index.objects(inverse, object.referenceBits, store: store)
    }
    let lists = [changes.updated, changes.inserted, changes.deleted, changes.silentlyUntied]
    if deletions.leavers != nil {
      deletions.leavers?.makeIndex(of: lists)
      return possibleLeavers(of: object, inverse)
    }
    let entities = schema.entities[inverse.owner].subtree
    return lists.flatMap { list in
      list.filter { $0.home.storeIndex == store && entities.contains($0.home.entityNumber) }
    }
  }
}
