/// Which other objects have a say in a controller's list: those that its predicate, sort keys and section lead to along relationships
/// (rule 261).
struct RelatedPaths {
  /// The relationships that are followed, by number.
  private(set) var steps: Set<Int> = []
  /// By hierarchy, the slots of related objects that are looked at.
  private(set) var slots: [Int: SlotBitmap] = [:]
  /// The hierarchies of which it cannot be told by slots what is looked at.
  private(set) var unclear: Set<Int> = []
  /// How many relationships are followed one after the other at most.
  private(set) var depth = 0
  private let schema: Schema

  init(_ request: ResolvedFetchRequest, _ sections: [ResolvedSort]) {
    schema = request.schema
    collect(request.predicate)
    for sort in request.sorts + sections {
      for (place, number) in sort.steps.enumerated() {
        let isLast = place + 1 == sort.steps.count
        follow(number)
        look(
          at: isLast ? sort.slot : schema.relationships[sort.steps[place + 1]].slot,
          in: schema.relationships[number].destinationHierarchy)
      }
    }
  }

  /// The hierarchies whose objects have a say.
  var hierarchies: Set<Int> { Set(steps.map { schema.relationships[$0].destinationHierarchy }) }

  /// The to-many relationships among the steps whose members name their owner.
  var ownedSteps: [RelationshipSchema] {
    steps.sorted().map { schema.relationships[$0] }.filter { $0.isToMany && $0.isInverseToOne }
  }

  /// The hierarchies that to-many relationships lead to whose members are told by nothing but edges.
  var edgeHierarchies: Set<Int> {
    Set(steps.map { schema.relationships[$0] }.filter(\.isEdgeStored).map(\.destinationHierarchy))
  }

  private mutating func follow(_ number: Int) {
    steps.insert(number)
    depth += 1
  }

  private mutating func look(at slot: Int, in hierarchy: Int) {
    slots[hierarchy, default: SlotBitmap()].insert(slot)
  }

  private mutating func collect(_ predicate: ResolvedPredicate) {
    switch predicate {
    case .all, .none, .test, .selfIn, .reference, .text: return
    case .not(let part): collect(part)
    case .and(let parts), .or(let parts): for part in parts { collect(part) }
    case .related(let number, _, let part):
      follow(number)
      let hierarchy = schema.relationships[number].destinationHierarchy
      var found: [Int] = []
      part.forEachOwnSlot(schema.relationships) { found.append($0) }
      for slot in found { look(at: slot, in: hierarchy) }
      var isUnclear = false
      part.forEachStep { if schema.relationships[$0].isToMany { isUnclear = true } }
      if isUnclear { unclear.insert(hierarchy) }
      collect(part)
    case .comparison(let comparison):
      var found: [Int] = []
      comparison.left.forEachStep { found.append($0) }
      comparison.right.forEachStep { found.append($0) }
      for number in found {
        follow(number)
        unclear.insert(schema.relationships[number].destinationHierarchy)
      }
    }
  }
}

/// What related objects looked like when they were looked at last: most changes of theirs, such as a member more, do not concern a list.
struct RelatedValues {
  private struct Place: Hashable {
    let store: Int
    let hierarchy: Int
    let primaryKey: UInt64
  }

  private var known: [Place: [AttributeValue]?] = [:]
  private static var most: Int { 100_000 }

  /// Whether an object was not there when this was asked last.
  func wasGone(_ key: UInt64, _ hierarchy: Int, _ store: Int) -> Bool {
    known[Place(store: store, hierarchy: hierarchy, primaryKey: key)] == .some(nil)
  }

  /// Whether an object looks as it did when this was asked last; false the first time.
  mutating func isUnchanged(
    _ key: UInt64, _ hierarchy: Int, _ store: Int, _ node: ContextView.Node?, _ slots: SlotBitmap,
    _ view: ContextView
  ) throws -> Bool {
    var values: [AttributeValue]?
    if let node {
      let count = view.bound(node).layout.slotCount
      var found: [AttributeValue] = []
      var failure: (any Error)?
      slots.forEach { slot in
        guard slot < count else { return }
        do { found.append(try view.value(node, slot)) } catch { failure = error }
      }
      if let failure { throw failure }
      values = found
    }
    let place = Place(store: store, hierarchy: hierarchy, primaryKey: key)
    if let old = known[place], old == values { return true }
    if known.count >= Self.most { known.removeAll(keepingCapacity: true) }
    known[place] = .some(values)
    return false
  }
}

/// Who the members of a to-many relationship belonged to when they were looked at last.
///
/// A member that goes over to another owner names the new one only; and the context that removed it may have taken it from another owner than
/// the one it has here. Sixteen bytes and their place in a table for each member that has an owner.
struct LastOwners {
  private struct Place: Hashable {
    let store: Int
    let relationship: Int
    let member: UInt64
  }

  private var owners: [Place: UInt64] = [:]

  /// Notes the owner of a member; returns the one before.
  mutating func set(_ owner: UInt64?, of member: UInt64, _ relationship: Int, _ store: Int) -> UInt64? {
    let place = Place(store: store, relationship: relationship, member: member)
    if let owner { return owners.updateValue(owner, forKey: place) }
    return owners.removeValue(forKey: place)
  }
}
