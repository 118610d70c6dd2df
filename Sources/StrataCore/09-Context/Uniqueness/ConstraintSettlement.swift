import Foundation

/// Settles the constraint conflicts of one save attempt, all of them together, the way of one merge policy (rule 205).
///
///     duplicate insert  ──▶ its values, as the policy says, and its ties go to the record that is kept; it leaves the context
///     edited record     ──▶ yields its edits, or the stored record that stands in its way goes
///
/// Constant work per conflict and per relationship of the duplicate, and one pass over what is unsaved if references without
/// inverse may lead to a duplicate. Lives for one call, on the context's queue.
struct ConstraintSettlement {
  /// Which of a duplicate's attributes and to-one relationships go to the record that is kept.
  private enum Transfer {
    /// None.
    case nothing
    /// Those that are set: that differ from the default, of a stored object from what is stored.
    case set
    /// Those that the kept record has no value of its own for.
    case fill
    /// All.
    case all
  }

  private let context: ManagedObjectContext
  private let type: MergePolicyType
  /// What has gone, by reference, and what has taken its place.
  private var successors: [UInt64: ManagedObject] = [:]
  private var goneHierarchies: Set<Int> = []
  /// Those of them that are stored.
  private var goneStored: [ManagedObject] = []
  private var kept: [ManagedObject] = []
  /// Records that have given values back.
  private var yielded: [ManagedObject] = []

  /// - Throws: `CoreDataError` 133021, having changed nothing, when the policy cannot settle some of them; likewise the error of what
  ///   cannot be read.
  static func settle(_ conflicts: [ConstraintConflict], _ type: MergePolicyType) throws {
    guard let context = conflicts.lazy.compactMap(\.conflictingObjects.first?.context).first else { return }
    var settlement = ConstraintSettlement(context, type)
    let unresolved = type == .mergeByPropertyObjectTrump ? conflicts.filter(settlement.isHopeless) : []
    if !unresolved.isEmpty {
      throw CoreDataError.unresolved(
        unresolved, "Objects of entities of which neither inherits from the other cannot be merged.")
    }
    try context.throwingFailures { for conflict in conflicts { settlement.readWhatMoves(conflict) } }
    let (twins, withStored) = (
      conflicts.filter { $0.databaseObject == nil }, conflicts.filter { $0.databaseObject != nil }
    )
    // Who yields is measured by what is stored; who insists first settles with the others of the save, so that one of them is
    // left to meet a stored record.
    for conflict in settlement.isYielding ? withStored + twins : twins + withStored {
      if let stored = conflict.databaseObject {
        settlement.settle(conflict, stored)
      } else {
        settlement.settleTwins(conflict)
      }
    }
    settlement.settleChains()
    try settlement.redirectReferences()
    for object in settlement.kept where object.context === context {
      object.awake(fromSnapshotEvents: .mergePolicy)
    }
  }

  private init(_ context: ManagedObjectContext, _ type: MergePolicyType) {
    self.context = context
    self.type = type
  }

  /// Reads, before anything is changed, what may go from one record to another, or back.
  private func readWhatMoves(_ conflict: ConstraintConflict) {
    let objects = conflict.conflictingObjects.filter { $0.context === context }
    for object in objects + [conflict.databaseObject].compactMap(\.self) { object.fire() }
    let edited = objects.filter { !$0.isMarkedInserted }
    for object in edited {
      guard let saved = object.snapshot else { continue }
      let slots = conflict.constraint.compactMap { object.home.entity.slot(named: $0) }
      for slot in slots { _ = object.storedValue(slot, in: saved) }
    }
    if isYielding { return }
    if let stored = conflict.databaseObject {
      if !edited.isEmpty || objects.contains(where: { !canHold(stored, $0) }) { stored.readWhole() }
    } else {
      for object in edited { object.readWhole() }
    }
  }

  /// Whether values of one object have no place in the other.
  private func isHopeless(_ conflict: ConstraintConflict) -> Bool {
    if let stored = conflict.databaseObject {
      let objects = conflict.conflictingObjects.filter(conflict.stands)
      return objects.contains { $0.isMarkedInserted && !canHold(stored, $0) && !canHold($0, stored) }
    }
    // One after the other, as they are settled: of three, two may fit the third and not each other.
    let twins = twins(of: conflict)
    guard var first = twins.first else { return false }
    for other in twins.dropFirst() where !canHold(first, other) {
      if !canHold(other, first) { return true }
      first = other
    }
    return false
  }

  /// Those that still share the values, in the order in which they are settled.
  private func twins(of conflict: ConstraintConflict) -> [ManagedObject] {
    conflict.conflictingObjects.filter(conflict.stands).sorted {
      ($0.isMarkedInserted ? 1 : 0, $0.primaryKey) < ($1.isMarkedInserted ? 1 : 0, $1.primaryKey)
    }
  }

  /// Whether every property of `other` is one of `object` as well.
  private func canHold(_ object: ManagedObject, _ other: ManagedObject) -> Bool {
    let entity = object.home.entityNumber
    return entity == other.home.entityNumber || other.home.entity.subtree.contains(entity)
  }

  private var isYielding: Bool { type == .rollback || type == .mergeByPropertyStoreTrump }

  // MARK: What is kept

  /// Objects of one save: a stored one is kept before a new one, an older one before a younger one.
  private mutating func settleTwins(_ conflict: ConstraintConflict) {
    let twins = twins(of: conflict)
    guard var first = twins.first else { return }
    for other in twins.dropFirst() {
      if isYielding {
        if other.isMarkedInserted { absorb(other, into: first, .nothing) } else { yield(other, conflict) }
      } else if canHold(first, other) {
        absorb(other, into: first, type == .overwrite ? .all : .set)
      } else {
        absorb(first, into: other, type == .overwrite ? .nothing : .fill)
        first = other
      }
    }
  }

  /// An object of the save and a stored record.
  private mutating func settle(_ conflict: ConstraintConflict, _ stored: ManagedObject) {
    for object in conflict.conflictingObjects where object !== stored && conflict.stands(for: object) {
      guard conflict.stands(for: stored) else { return }
      if isYielding {
        if object.isMarkedInserted { absorb(object, into: stored, .nothing) } else { yield(object, conflict) }
      } else if !object.isMarkedInserted {
        absorb(stored, into: object, .nothing)
      } else if canHold(stored, object) {
        absorb(object, into: stored, type == .overwrite ? .all : .set)
      } else {
        absorb(stored, into: object, type == .overwrite ? .nothing : .fill)
      }
    }
  }

  /// An edited record gives back the values that another one has, under rollback all its edits.
  private mutating func yield(_ object: ManagedObject, _ conflict: ConstraintConflict) {
    yield(object, conflict.constraint.compactMap { object.home.entity.slot(named: $0) })
  }

  private mutating func yield(_ object: ManagedObject, _ slots: [Int]) {
    context.willChange(object)
    if type == .rollback {
      object.discardEdits(takingRow: object.snapshot)
      context.forgetMembers(referredToBy: object.home.entity, nil)
      context.changes.note(object, .refresh)
    } else if let saved = object.snapshot {
      for slot in slots {
        if let relationship = object.home.entity.relationship(slot: slot) {
          let former = saved.reference(relationship, object.home)
          object.setRelatedObject(relationship, context.object(former, inStore: object.home.storeIndex))
        } else {
          object.edit(slot, object.storedValue(slot, in: saved))
        }
      }
    }
    yielded.append(object)
    object.awake(fromSnapshotEvents: .mergePolicy)
  }

  /// What a record has got back, others of the save may have taken meanwhile: they are next, down to the end of each chain. One pass
  /// over what is unsaved.
  private mutating func settleChains() {
    if yielded.isEmpty { return }
    var claims: [Claim: [ManagedObject]] = [:]
    for object in context.changes.inserted + context.changes.updated where object.hasDraft {
      let changed = object.isMarkedInserted ? object.home.persistentSlots : object.slotsThatDiffer
      for index in object.home.entity.indexes where index.isUnique && changed.intersects(index.slots) {
        if let claim = Claim(object, index) { claims[claim, default: []].append(object) }
      }
    }
    var next = 0
    while next < yielded.count {
      let owner = yielded[next]
      next += 1
      let changed = owner.slotsThatDiffer
      for index in owner.home.entity.indexes where index.isUnique && !changed.intersects(index.slots) {
        guard let claim = Claim(owner, index), let others = claims.removeValue(forKey: claim) else {
          continue
        }
        for object in others where object !== owner && object.context === context && !object.isMarkedDeleted {
          guard Claim(object, index) == claim else { continue }
          if object.isMarkedInserted {
            absorb(object, into: owner, .nothing)
          } else {
            yield(object, index.parts.map(\.slot))
          }
        }
      }
    }
  }

  /// The values of a constraint that a record is to have in its store.
  private struct Claim: Hashable {
    let store: Int
    let index: Int
    let values: [AttributeValue]

    /// Nil when one of the values is.
    init?(_ object: ManagedObject, _ index: IndexSchema) {
      values = index.parts.map { object.currentValue($0.slot) }
      if values.contains(where: \.isNull) { return nil }
      store = object.home.storeIndex
      self.index = index.number
    }
  }

  // MARK: What happens to a duplicate

  private mutating func absorb(_ duplicate: ManagedObject, into object: ManagedObject, _ transfer: Transfer) {
    context.willMerge(duplicate, into: object)
    context.willChange(duplicate)
    duplicate.fire()
    object.fire()
    moveValues(of: duplicate, to: object, transfer)
    for relationship in duplicate.home.entity.relationships {
      // Declared below the entity that both have in common: the kept record has no such relationship.
      let isShared = object.home.entity.relationship(slot: relationship.slot) === relationship
      // Its delete rule applies to what no record takes over.
      if !isShared, !duplicate.isMarkedInserted { continue }
      if relationship.isToMany {
        moveMembers(of: duplicate, to: object, relationship, isShared, transfer)
      } else {
        moveReference(of: duplicate, to: object, relationship, isShared, transfer)
      }
    }
    successors[duplicate.referenceBits] = object
    goneHierarchies.insert(duplicate.home.hierarchyNumber)
    kept.append(object)
    if duplicate.isMarkedInserted {
      context.noteSuccessor(object, of: duplicate)
      context.takeOutDuplicate(duplicate)
    } else {
      goneStored.append(duplicate)
      context.delete(duplicate)
    }
  }

  private func moveValues(of duplicate: ManagedObject, to object: ManagedObject, _ transfer: Transfer) {
    // Slots mean the same in both only where every property of one is one of the other.
    if transfer == .nothing || !canHold(object, duplicate) { return }
    let entity = duplicate.home.entity
    let set = duplicate.slotsThatDiffer
    for attribute in entity.attributes where attribute.relationship == nil {
      let slot = attribute.slot
      // Derived values are derived again by the store; a composite is its elements.
      if slot == entity.baselineSlot || entity.derivedSlots.contains(slot) || attribute.type == .composite {
        continue
      }
      if attribute.isTransient {
        let value = duplicate.transientValue(slot)
        let isSet = value.map { AttributeValue($0, type: attribute.type) != attribute.defaultValue } ?? false
        let isFree = object.transientValue(slot) == nil
        if isSet ? transfer != .fill || isFree : transfer == .all && !isFree {
          object.setTransient(value, slot)
        }
        continue
      }
      let takes =
        switch transfer {
        case .nothing: false
        case .set: set.contains(slot)
        case .fill: ManagedObject.isSame(object.storedValue(slot), object.home.defaults[slot])
        case .all: true
        }
      let value = duplicate.storedValue(slot)
      if takes, !ManagedObject.isSame(value, object.storedValue(slot)) { object.edit(slot, value) }
    }
  }

  private func moveReference(
    of duplicate: ManagedObject, to object: ManagedObject, _ relationship: RelationshipSchema,
    _ isShared: Bool,
    _ transfer: Transfer
  ) {
    let other = duplicate.relatedObject(relationship)
    // The object at the other end is free for the kept record, or has no partner.
    if other != nil { duplicate.setRelatedObject(relationship, nil) }
    guard isShared, transfer != .nothing else { return }
    // What refers to itself goes on doing so; what refers to the record it duplicates does not make that do so.
    let target = other === duplicate ? object : other === object ? nil : other
    let takes =
      switch transfer {
      case .nothing: false
      case .set: target != nil
      case .fill: target != nil && object.reference(relationship) == 0
      case .all: true
      }
    if takes, target.map({ $0.context === context && !$0.isMarkedDeleted }) ?? true {
      object.setRelatedObject(relationship, target)
    }
  }

  /// Members are what others are related to: they are united whatever the policy. Only what just a new duplicate knows, a
  /// relationship without inverse, goes the way of its values; the members of a stored one would be left to nobody.
  private func moveMembers(
    of duplicate: ManagedObject, to object: ManagedObject, _ relationship: RelationshipSchema,
    _ isShared: Bool,
    _ transfer: Transfer
  ) {
    // A new object without members, which is nearly every one.
    if duplicate.isMarkedInserted, duplicate.relations?.known(relationship) == nil, context.strata.isEmpty {
      return
    }
    let members = duplicate.members(relationship).filter { !$0.isMarkedDeleted }
    let inverse = context.schema.inverse(of: relationship)
    for member in members {
      let isItself = member === duplicate || member === object
      if inverse != nil || !duplicate.isMarkedInserted, !isItself {
        duplicate.removeMember(relationship, member)
      }
      guard isShared, !isItself,
        inverse != nil || transfer != .nothing || !duplicate.isMarkedInserted
      else { continue }
      object.addMember(relationship, member)
    }
  }

  // MARK: References without inverse

  /// References to what has gone lead to what has taken its place.
  private func redirectReferences() throws {
    if successors.isEmpty { return }
    let relationships = context.schema.relationships.filter {
      $0.inverse == nil && goneHierarchies.contains($0.destinationHierarchy)
    }
    if relationships.isEmpty { return }
    for gone in goneStored { try redirectStored(gone, relationships) }
    var owners = SlotBitmap()
    for relationship in relationships {
      for entity in context.schema.entities[relationship.owner].subtree { owners.insert(entity) }
    }
    context.claimReferrers(owners, relationships) { successors[$0] != nil }
    for object in context.changes.inserted + context.changes.updated
    where owners.contains(object.home.entityNumber) {
      for relationship in relationships
      where object.home.entity.relationship(slot: relationship.slot) === relationship {
        redirect(object, relationship)
      }
    }
  }

  /// The store knows who refers to a record that goes.
  private func redirectStored(_ gone: ManagedObject, _ relationships: [RelationshipSchema]) throws {
    let index = gone.home.storeIndex
    guard let binding = context.coordinator.binding(index) else { return }
    for relationship in relationships
    where relationship.destinationHierarchy == gone.home.hierarchyNumber && !relationship.isTransient {
      let edges = EdgeSet(relationship: relationship.number, isHiddenInverse: true)
      for source in try context.newest(binding).members(edges, of: gone.primaryKey) {
        guard let object = context.object(source, inStore: index), !object.isMarkedDeleted else { continue }
        context.readingNewest {
          object.fire()
          if !relationship.isToMany {
            redirect(object, relationship)
          } else if object.hasMember(relationship, gone), let successor = successor(of: gone.referenceBits) {
            object.removeMember(relationship, gone)
            object.addMember(relationship, successor)
          }
        }
      }
    }
  }

  private func redirect(_ object: ManagedObject, _ relationship: RelationshipSchema) {
    if !relationship.isToMany {
      if let successor = successor(of: object.reference(relationship)) {
        object.setRelatedObject(relationship, successor)
      }
      return
    }
    guard let state = object.relations?.known(relationship), state.hasChanges else { return }
    for entry in state.changes.effective where !entry.isRemoval {
      guard let successor = successor(of: entry.member) else { continue }
      state.remove(entry.member)
      object.addMember(relationship, successor)
    }
  }

  private func successor(of bits: UInt64) -> ManagedObject? {
    var found = successors[bits]
    // Who took its place may have gone as well.
    while let next = found, let later = successors[next.referenceBits], later !== next { found = later }
    return found
  }
}
