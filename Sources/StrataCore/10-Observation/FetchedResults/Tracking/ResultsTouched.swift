/// The objects of an event that may be in a list, or have a say in it.
struct Touched {
  private let tracker: ResultsTracker
  private let hierarchy: Int
  private let relatedHierarchies: Set<Int>
  /// By store, the keys of the objects that have changed themselves.
  private(set) var direct: [Int: Set<UInt64>] = [:]
  /// By store, those that something has changed for.
  private(set) var related: [Int: Set<UInt64>] = [:]
  private var others: Set<Other> = []
  /// A related object is gone, and it is no longer known which objects led to it.
  private(set) var mustReload = false

  private struct Other: Hashable {
    let store: Int
    let hierarchy: Int
    let primaryKey: UInt64
  }

  init(_ tracker: ResultsTracker, _ plan: ResultsPlan) {
    self.tracker = tracker
    hierarchy = plan.request.hierarchyNumber
    relatedHierarchies = plan.related.hierarchies
    stores = Set(tracker.context.bindings(for: plan.request, plan.specification).map(\.index))
  }

  private let stores: Set<Int>

  var isEmpty: Bool { direct.isEmpty && others.isEmpty }
  var count: Int {
    direct.values.reduce(0) { $0 + $1.count } + related.values.reduce(0) { $0 + $1.count }
  }

  /// Those that have changed themselves, and those that something has changed for.
  func forEachIdentity(_ body: (UInt64) -> Void) {
    for part in [direct, related] {
      for (store, keys) in part { for key in keys { body(ResultEntry.identity(key, store: store)) } }
    }
  }

  var directIdentities: Set<UInt64> {
    var result: Set<UInt64> = []
    for (store, keys) in direct { for key in keys { result.insert(ResultEntry.identity(key, store: store)) } }
    return result
  }

  mutating func add(_ id: ManagedObjectID) {
    guard let place = tracker.context.locate(id), stores.contains(place.store.index) else { return }
    let number = place.bound.hierarchyNumber
    guard number == hierarchy || relatedHierarchies.contains(number) else { return }
    let store = tracker.place(of: place.store)
    if number == hierarchy { direct[store, default: []].insert(id.primaryKey) }
    if relatedHierarchies.contains(number) {
      others.insert(Other(store: store, hierarchy: number, primaryKey: id.primaryKey))
    }
  }

  // MARK: Along relationships

  /// Adds what leads to the related objects that have changed, against the direction of the relationships.
  ///
  /// An object whose own end of a relationship has changed is touched itself: only those that lead to the object as it is now are
  /// looked for.
  mutating func addRelated(
    _ plan: ResultsPlan, _ steady: SteadyReading, _ values: inout RelatedValues,
    _ lastOwners: inout LastOwners
  ) throws {
    if others.isEmpty { return }
    for (store, group) in Dictionary(grouping: others, by: \.store) {
      let binding = tracker.stores[store]
      let evaluation = try tracker.evaluation(plan, binding, steady)
      let view = evaluation.view
      var frontier: Set<Other> = []
      for other in group {
        let node = try view.node(
          Reference.bits(other.primaryKey, entityCode: 0), hierarchy: other.hierarchy)
        if node == nil, plan.related.edgeHierarchies.contains(other.hierarchy) { mustReload = true }
        // One that has gone and is back, by an undo: objects that led to it meanwhile led nowhere, and need not be among those it had.
        if node != nil, values.wasGone(other.primaryKey, other.hierarchy, store) { mustReload = true }
        for relationship in plan.related.ownedSteps where relationship.destinationHierarchy == other.hierarchy
        {
          let new = try node.flatMap { try view.owner(of: $0, relationship) }
          let old = lastOwners.set(new, of: other.primaryKey, relationship.number, store)
          if old == new { continue }
          let number = view.schema.entities[relationship.owner].hierarchyNumber
          for key in [old, new].compactMap({ $0 }) {
            if number == hierarchy { related[store, default: []].insert(key) }
            if relatedHierarchies.contains(number) {
              frontier.insert(Other(store: store, hierarchy: number, primaryKey: key))
            }
          }
        }
        if !plan.related.unclear.contains(other.hierarchy),
          try values.isUnchanged(
            other.primaryKey, other.hierarchy, store, node,
            plan.related.slots[other.hierarchy] ?? SlotBitmap(), view)
        {
          continue
        }
        frontier.insert(other)
      }
      var seen = frontier
      for _ in 0..<plan.related.depth where !frontier.isEmpty {
        var next: Set<Other> = []
        for number in plan.related.steps {
          let relationship = view.schema.relationships[number]
          let members = frontier.filter { $0.hierarchy == relationship.destinationHierarchy }
          if members.isEmpty { continue }
          let owner = view.schema.entities[relationship.owner].hierarchyNumber
          for key in try owners(of: members.map(\.primaryKey), relationship, view, plan, steady) {
            if owner == hierarchy { related[store, default: []].insert(key) }
            let other = Other(store: store, hierarchy: owner, primaryKey: key)
            if relatedHierarchies.contains(owner), seen.insert(other).inserted { next.insert(other) }
          }
        }
        frontier = next
      }
      if let direct = direct[store] { related[store]?.subtract(direct) }
      if related[store]?.isEmpty == true { related[store] = nil }
    }
  }

  /// The keys of the objects whose relationship leads to one of the members.
  private func owners(
    of members: [UInt64], _ relationship: RelationshipSchema, _ view: ContextView, _ plan: ResultsPlan,
    _ steady: SteadyReading
  ) throws -> [UInt64] {
    let schema = view.schema
    if let number = relationship.inverse {
      let inverse = schema.relationships[number]
      var owners: [UInt64] = []
      for member in members {
        if inverse.isToMany {
          owners += try view.members(of: member, hierarchy: relationship.destinationHierarchy, inverse).map(
            Reference.primaryKey)
        } else if let node = try view.node(
          Reference.bits(member, entityCode: 0), hierarchy: relationship.destinationHierarchy),
          let owner = try view.owner(of: node, relationship)
        {
          owners.append(owner)
        }
      }
      if !relationship.isToMany { owners += try editedOwners(of: Set(members), relationship, view) }
      return owners
    }
    // Nothing leads back: the context is asked who leads there.
    let destination = schema.entities[relationship.destination]
    let ids = destination.subtree.sorted().prefix(1).compactMap { view.binding.entities[$0]?.token }.flatMap {
      token in members.map { ManagedObjectID(token: token, primaryKey: $0) }
    }
    let test: ResolvedPredicate =
      relationship.isToMany
      ? .related(relationship: relationship.number, name: relationship.name, .selfIn(ids))
      : .reference(
        ReferenceTest(
          slot: relationship.slot, name: relationship.name,
          rootName: schema.hierarchies[relationship.destinationHierarchy].rootName, identifiers: ids))
    let request = ResolvedFetchRequest(
      schema: schema, entity: schema.entities[relationship.owner], predicate: test)
    var specification = FetchSpecification(entityName: schema.entities[relationship.owner].name)
    specification.includesPendingChanges = plan.specification.includesPendingChanges
    specification.affectedStores = [view.storeIdentifier]
    return try ContextFetch(request, specification, in: tracker.context, steady: steady).matches(mode: .rows)
      .map(\.primaryKey)
  }

  /// The keys of the edited objects that lead to one of the members by their own end.
  ///
  /// An edited object shows the values that it was edited over, and so fetches find it. Its record may be related otherwise by now, or gone:
  /// others have changed it and that was not merged, or a context below has taken it back. The members' end does not know of it then.
  private func editedOwners(
    of members: Set<UInt64>, _ relationship: RelationshipSchema, _ view: ContextView
  ) throws -> [UInt64] {
    let context = tracker.context
    let hierarchy = view.schema.entities[relationship.owner].hierarchyNumber
    var owners: [UInt64] = []
    func look(at object: ManagedObject) throws {
      guard object.home.hierarchyNumber == hierarchy, object.home.storeIndex == view.binding.index,
        !object.isMarkedDeleted, relationship.slot < object.home.layout.slotCount,
        case .reference(let bits) = try view.value(.object(object), relationship.slot),
        members.contains(Reference.primaryKey(bits))
      else { return }
      owners.append(object.primaryKey)
    }
    for object in context.changes.updated { try look(at: object) }
    var flying: [ManagedObject] = []
    context.saving.flight?.forEachObject { object, kind in if kind == .update { flying.append(object) } }
    for object in flying { try look(at: object) }
    return owners
  }

  // MARK: As the context sees them

  /// What has been touched, with the entries that it has now.
  func entries(_ plan: ResultsPlan, _ steady: SteadyReading) throws -> [EntryTouch] {
    var result: [EntryTouch] = []
    result.reserveCapacity(count)
    var maker = SortKeyMaker(plan)
    for store in Set(direct.keys).union(related.keys).sorted() {
      let evaluation = try tracker.evaluation(plan, tracker.stores[store], steady)
      let view = evaluation.view
      let direct = direct[store] ?? []
      let keys = direct.union(related[store] ?? []).sorted()
      // Many rows are read in one go, and not so many that they would not be there any more when they are looked at.
      for start in stride(from: 0, to: keys.count, by: 8_192) {
        let part = Array(keys[start..<min(start + 8_192, keys.count)])
        if part.count > 1 { try view.preload(part, hierarchy: hierarchy) }
        for key in part {
          let identity = ResultEntry.identity(key, store: store)
          var touch = EntryTouch(identity: identity, isDirect: direct.contains(key))
          if let node = try view.node(Reference.bits(key, entityCode: 0), hierarchy: hierarchy),
            try evaluation.matches(node, entity: view.bound(node).entityNumber)
          {
            let values = try evaluation.sortValues(node)
            maker.make(values, identity)
            let section =
              if let computed = plan.computed {
                tracker.section(of: identity, view.bound(node), key, computed)
              } else if plan.section == nil {
                tracker.names.numberOfOnly()
              } else {
                tracker.names.number(for: values[values.count - 1])
              }
            touch.new = ResultEntry(
              identity: identity, code: view.bound(node).stamp.entityCode, section: section,
              key: Array(maker.bytes))
          }
          result.append(touch)
        }
      }
    }
    return result
  }
}
