import Foundation

extension ResultsTracker {
  /// The list as the context sees it now, and whom its members belong to: of one state of each store, where more is read than the rows of the list.
  ///
  /// - Parameter steady: What values in the plan's condition were read through; nil when there are none. It is ended.
  /// - Throws: what `load` throws.
  func loadAll(_ plan: ResultsPlan, _ steady: SteadyReading?) throws -> (EntryIndex, LastOwners) {
    try context.requireStores()
    context.flushAncestors()
    let steady =
      steady ?? SteadyReading(context, isHeld: !plan.isLocal || !plan.related.ownedSteps.isEmpty)
    defer { steady.release() }
    let index = try load(plan, steady)
    return (index, try loadOwners(plan, steady))
  }

  /// The list as the context sees it now.
  ///
  /// - Throws: `CoreDataError` 134060 when sections would not stand together (rule 242); what a fetch throws.
  private func load(_ plan: ResultsPlan, _ steady: SteadyReading) throws -> EntryIndex {
    let fetch = try ContextFetch(plan.request, plan.specification, in: context, steady: steady)
    for binding in fetch.bindings { _ = place(of: binding) }
    var loader = Loader(plan, names, self, steady)
    if let binding = fetch.onlyStore {
      let view = try steady.reading(binding)
      let place = place(of: binding)
      if let index = try loadFromIndex(plan, binding, view, place) { return index }
      for row in try fetch.ask(binding, mode: .rows).rows {
        guard let bound = binding.entities[row.entity] else { continue }
        try loader.add(.row(row, bound), place, binding, view)
      }
    } else {
      for match in try fetch.matches(mode: .rows) {
        guard let binding = context.coordinator.binding(match.storeIndex),
          let node = match.node
        else { continue }
        try loader.add(node, place(of: binding), binding, try steady.reading(binding))
      }
    }
    let index = loader.finish()
    try requireGrouping(index, plan)
    return index
  }

  /// Who the members of the to-many relationships belong to that the request follows.
  private func loadOwners(_ plan: ResultsPlan, _ steady: SteadyReading) throws -> LastOwners {
    var owners = LastOwners()
    for relationship in plan.related.ownedSteps {
      let entity = context.schema.entities[relationship.destination]
      let request = ResolvedFetchRequest(schema: context.schema, entity: entity, predicate: .all)
      var specification = FetchSpecification(entityName: entity.name)
      specification.includesPendingChanges = plan.specification.includesPendingChanges
      specification.affectedStores = plan.specification.affectedStores
      let fetch = try ContextFetch(request, specification, in: context, steady: steady)
      var evaluations: [Int: ContextEvaluation] = [:]
      for match in try fetch.matches(mode: .rows) {
        guard let binding = context.coordinator.binding(match.storeIndex),
          let node = match.node
        else { continue }
        let evaluation = try evaluations[binding.index] ?? evaluation(plan, binding, steady)
        evaluations[binding.index] = evaluation
        _ = owners.set(
          try evaluation.view.owner(of: node, relationship), of: match.primaryKey, relationship.number,
          place(of: binding))
      }
    }
    return owners
  }

  /// The list from an index that has all of the sort keys, without looking at a row; nil when there is none.
  private func loadFromIndex(
    _ plan: ResultsPlan, _ binding: StoreBinding, _ view: any StoreReading, _ store: Int
  ) throws -> EntryIndex? {
    guard plan.isLocal, let reading = view as? any SortKeyReading, plan.request.entityNumbers.count == 1,
      let bound = binding.entities[plan.request.entityNumbers[0]]
    else { return nil }
    // The section's value must be in the keys: that of the first sort key is.
    guard plan.computed == nil, let first = plan.request.sorts.first else { return nil }
    if let section = plan.section, section.slot != first.slot { return nil }
    let hasSections = plan.section != nil
    let leaves = try reading.withSortKeys(plan.request) { keys in
      IndexLeaves(keys, store: store, code: bound.stamp.entityCode, hasSections: hasSections)
    }
    guard let leaves else { return nil }
    context.statistics.fetches += 1
    let index = EntryIndex(leaves: leaves.packed(names, hasSections: hasSections))
    try requireGrouping(index, plan)
    return index
  }

  func requireGrouping(_ index: EntryIndex, _ plan: ResultsPlan) throws {
    guard plan.hasSections, !index.isGrouped else { return }
    var seen: Set<UInt32> = []
    for run in 0..<index.list.runCount {
      let (leaf, place) = index.list.find(index.list.start(ofRun: run))
      let section = leaf.entries.section(place)
      if !seen.insert(section).inserted {
        hasBrokenSections = true
        throw plan.groupingError(names.names[Int(section)])
      }
    }
  }

  /// Makes entries of what is found.
  private struct Loader: ~Copyable {
    private let plan: ResultsPlan
    private let names: SectionNames
    private let tracker: ResultsTracker
    private let steady: SteadyReading
    private var builder = EntryIndex.Builder()
    private var maker: SortKeyMaker
    private var evaluations: [Int: ContextEvaluation] = [:]
    private let isLocal: Bool
    /// Whether equal beginnings of sort keys mean equal sections.
    private let sectionLeads: Bool
    private var lastFirstPart: [UInt8] = []
    private var lastSection: UInt32?
    /// The last entry whose key was made of what was read behind the order.
    private var last: ResultEntry?
    private var isInOrder = true

    init(_ plan: ResultsPlan, _ names: SectionNames, _ tracker: ResultsTracker, _ steady: SteadyReading) {
      self.plan = plan
      self.names = names
      self.tracker = tracker
      self.steady = steady
      maker = SortKeyMaker(plan)
      isLocal = plan.isLocal
      sectionLeads =
        plan.section.map { section in
          guard let first = plan.request.sorts.first, first.isByBytes else { return false }
          return section.slot == first.slot && section.steps.isEmpty && first.steps.isEmpty
        } ?? false
    }

    mutating func add(
      _ node: ContextView.Node, _ store: Int, _ binding: StoreBinding, _ view: any StoreReading
    ) throws {
      if isLocal, case .row(let row, let bound) = node, let snapshot = row.snapshot {
        var failure: (any Error)?
        func value(_ slot: Int) -> AttributeValue {
          do {
            return try binding.value(of: snapshot, slot, bound, row.primaryKey, in: view)
          } catch {
            failure = error
            return .null
          }
        }
        let identity = ResultEntry.identity(row.primaryKey, store: store)
        maker.make(snapshot, bound, identity, value: value)
        let section =
          computedSection(identity, bound, row.primaryKey) ?? section { value($0.slot) }
        if let failure { throw failure }
        builder.append(identity, bound.stamp.entityCode, section, maker.bytes)
        return
      }
      let evaluation = try evaluation(binding)
      let values = try evaluation.sortValues(node)
      let bits = evaluation.view.reference(node)
      let key = Reference.primaryKey(bits)
      let identity = ResultEntry.identity(key, store: store)
      maker.make(values, identity)
      let section =
        computedSection(identity, evaluation.view.bound(node), key)
        ?? section { _ in values[values.count - 1] }
      let entry = ResultEntry(
        identity: identity, code: Reference.entityCode(bits), section: section, key: Array(maker.bytes))
      if let last, entry.isBefore(last) { isInOrder = false }
      last = entry
      builder.append(entry)
    }

    private func computedSection(_ identity: UInt64, _ bound: BoundEntity, _ key: UInt64) -> UInt32? {
      guard let computed = plan.computed else { return nil }
      return tracker.section(of: identity, bound, key, computed)
    }

    private mutating func section(_ value: (ResolvedSort) -> AttributeValue) -> UInt32 {
      guard let sort = plan.section else { return names.numberOfOnly() }
      guard sectionLeads else { return names.number(for: value(sort)) }
      let first = UnsafeRawBufferPointer(rebasing: maker.bytes.prefix(maker.firstPartLength))
      if let lastSection, lastFirstPart.withUnsafeBytes({ KeyOrder.order($0, first) }) == 0 {
        return lastSection
      }
      lastFirstPart = Array(first)
      let section = names.number(for: value(sort))
      lastSection = section
      return section
    }

    private mutating func evaluation(_ binding: StoreBinding) throws -> ContextEvaluation {
      if let known = evaluations[binding.index] { return known }
      let new = try tracker.evaluation(plan, binding, steady)
      evaluations[binding.index] = new
      return new
    }

    consuming func finish() -> EntryIndex {
      let index = builder.finish()
      if isInOrder { return index }
      // Of a store that has no snapshots, which others have changed between the two: the keys say where entries are looked for.
      var entries: [ResultEntry] = []
      entries.reserveCapacity(index.list.count)
      index.list.forEach { leaf, place in
        entries.append(leaf.entry(place))
        return true
      }
      entries.sort { $0.isBefore($1) }
      var sorted = EntryIndex.Builder()
      for entry in entries { sorted.append(entry) }
      return sorted.finish()
    }
  }

  /// The section of an object as its class names it, asked for once.
  func section(of identity: UInt64, _ bound: BoundEntity, _ key: UInt64, _ computed: ComputedSections)
    -> UInt32
  {
    if let known = computedSections[identity] { return known }
    let object = context.object(with: ManagedObjectID(token: bound.token, primaryKey: key))
    let section = names.number(named: computed.name(object))
    computedSections[identity] = section
    return section
  }

  /// How objects of a store are looked at.
  func evaluation(_ plan: ResultsPlan, _ binding: StoreBinding, _ steady: SteadyReading) throws
    -> ContextEvaluation
  {
    let view = ContextView(
      context, binding, try steady.reading(binding), ownLayers: steady.ownLayers,
      layersBelow: steady.layersBelow, includesPendingChanges: plan.specification.includesPendingChanges)
    return ContextEvaluation(plan.evaluated, view)
  }
}

extension ContextView {
  /// The key of the object whose to-many relationship a node is a member of, as the node names it.
  func owner(of node: Node, _ relationship: RelationshipSchema) throws -> UInt64? {
    guard let number = relationship.inverse else { return nil }
    let inverse = schema.relationships[number]
    // Of another entity of the hierarchy, without the relationship.
    guard schema.entities[inverse.owner].subtree.contains(bound(node).entityNumber),
      case .reference(let bits) = try value(node, inverse.slot)
    else { return nil }
    return Reference.primaryKey(bits)
  }
}
