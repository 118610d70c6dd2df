import Foundation

/// A fetch request without its result type: the non-generic core works on this.
typealias FetchSpecification = FetchRequest<ManagedObject>

extension FetchRequest {
  /// The request, whatever it is to return.
  var specification: FetchSpecification {
    var copy = FetchSpecification(entityName: entityName)
    copy.predicate = predicate
    copy.sortDescriptors = sortDescriptors
    copy.fetchLimit = fetchLimit
    copy.fetchOffset = fetchOffset
    copy.includesSubentities = includesSubentities
    copy.includesPropertyValues = includesPropertyValues
    copy.returnsObjectsAsFaults = returnsObjectsAsFaults
    copy.includesPendingChanges = includesPendingChanges
    copy.shouldRefreshRefetchedObjects = shouldRefreshRefetchedObjects
    copy.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching
    copy.fetchBatchSize = fetchBatchSize
    copy.affectedStores = affectedStores
    copy.propertiesToFetch = propertiesToFetch
    copy.propertiesToGroupBy = propertiesToGroupBy
    copy.havingPredicate = havingPredicate
    copy.returnsDistinctResults = returnsDistinctResults
    return copy
  }
}

/// A context's unsaved changes as one request sees them: what they add to the store's answer and what they take away.
struct FetchOverlay {
  /// New and edited objects that match by the values they have now.
  var matching: [ManagedObject] = []
  /// Rows that children or contexts below have not saved, and that match.
  var rows: [FetchMatch] = []
  /// How many stored rows are hidden, being edited or deleted here.
  var hidden = 0
  /// The layers of the context itself, newest first, as they were when the fetch began.
  var ownLayers: [StratumLayer] = []
  /// The keys of stored rows that unsaved rows hide, by store.
  var hiddenKeys: [Int: Set<UInt64>] = [:]
  /// Whether what is not saved may have a say in whether stored rows match, or where they stand: objects that they refer to have
  /// been changed.
  var isDisturbed = false
  /// The request as each store's objects are evaluated for it, by the store's index.
  var evaluations: [Int: ContextEvaluation] = [:]

  var isEmpty: Bool {
    matching.isEmpty && rows.isEmpty && hidden == 0 && hiddenKeys.isEmpty && !isDisturbed
  }
  /// How many stored rows are hidden in all.
  var hiddenCount: Int { hiddenKeys.values.reduce(hidden) { $0 + $1.count } }
}

/// One match: a stored row, or an object of the context with unsaved values.
enum FetchMatch {
  case row(FetchedRow, RegisteredStores.Registered)
  case object(ManagedObject)
  /// An unsaved row; `isOwn` when a child of this context has saved it.
  case unsaved(StratumRow, StoreBinding, isOwn: Bool)

  var primaryKey: UInt64 {
    switch self {
    case .row(let row, _): row.primaryKey
    case .object(let object): object.primaryKey
    case .unsaved(let row, _, _): row.primaryKey
    }
  }

  /// The value that takes part in sorting.
  func value(_ slot: Int) throws -> AttributeValue {
    switch self {
    case .object(let object): return object.currentValue(slot)
    case .unsaved(let row, let store, _): return try row.value(slot, in: store)
    case .row(let row, let store):
      guard let snapshot = row.snapshot, let bound = store.binding.entities[row.entity] else { return .null }
      return try store.binding.value(of: snapshot, slot, bound, row.primaryKey, in: store.view)
    }
  }

  /// The store the match is of.
  var storeIndex: Int {
    switch self {
    case .row(_, let store): store.binding.index
    case .object(let object): object.home.storeIndex
    case .unsaved(_, let store, _): store.index
    }
  }

  /// The match as a view of its store has it; nil for a row without values.
  var node: ContextView.Node? {
    switch self {
    case .object(let object): .object(object)
    case .unsaved(let row, _, _): .unsaved(row)
    case .row(let row, let store): store.binding.entities[row.entity].map { .row(row, $0) }
    }
  }

  /// `layers` are the context's own, as they were when the fetch began.
  func object(in context: ManagedObjectContext, _ layers: [StratumLayer]) -> ManagedObject {
    switch self {
    case .object(let object): return object
    case .unsaved(let row, _, let isOwn):
      guard let object = context.object(for: row, isOwn: isOwn, above: layers) else {
        trap("an unsaved row of a store that is not attached took part in a fetch")
      }
      return object
    case .row(let row, let store):
      guard let object = context.object(for: row, in: store, layers, readAt: SnapshotClock.now) else {
        trap("the store answered with a row of an entity that its configuration does not hold")
      }
      return object
    }
  }

  /// The match as references name it, and its store.
  var reference: (bits: UInt64, storeIndex: Int) {
    switch self {
    case .object(let object): return (object.referenceBits, object.home.storeIndex)
    case .unsaved(let row, _, _):
      return (Reference.bits(row.primaryKey, entityCode: row.bound.stamp.entityCode), row.bound.storeIndex)
    case .row(let row, let store):
      guard let bound = store.binding.entities[row.entity] else {
        trap("the store answered with a row of an entity that its configuration does not hold")
      }
      return (Reference.bits(row.primaryKey, entityCode: bound.stamp.entityCode), bound.storeIndex)
    }
  }

  func identifier(in context: ManagedObjectContext) -> ManagedObjectID {
    switch self {
    case .object(let object): return object.objectID
    case .unsaved(let row, _, _): return row.identifier.with(isTemporary: context.isUnstored(row))
    case .row(let row, let store):
      guard let bound = store.binding.entities[row.entity] else {
        trap("the store answered with a row of an entity that its configuration does not hold")
      }
      return ManagedObjectID(token: bound.token, primaryKey: row.primaryKey)
    }
  }
}

extension StoreBinding {
  /// An attribute of a row, read from the store when it is too large to lie in the row.
  ///
  /// A large value that was replaced in the store before it was read no longer exists: then the newest one is
  /// what a reader gets. Nil-valued when the row is gone.
  func value(
    of row: RowSnapshot, _ slot: Int, _ bound: BoundEntity, _ primaryKey: UInt64,
    in view: (any StoreReading)? = nil
  ) throws -> AttributeValue {
    let view: any StoreReading = view ?? store
    let layout = bound.entity.layout
    var row = row
    while true {
      if let value = row.value(slot, layout) { return value }
      guard let reference = row.externalReference(slot, layout) else { return .null }
      if let bytes = try view.externalValue(
        entity: bound.entity.number, primaryKey: primaryKey, slot: slot, version: reference.version)
      {
        return RowBytes.externalValue(bytes, kind: layout.kind(of: slot)) ?? .null
      }
      guard
        let newest = try view.row(hierarchy: bound.entity.hierarchyNumber, primaryKey: primaryKey)?.snapshot,
        newest.version != row.version
      else { return .null }
      row = newest
    }
  }
}

extension ManagedObjectContext {
  /// What the unsaved changes do to `request`.
  func makeOverlay(_ request: ResolvedFetchRequest, _ specification: FetchSpecification) throws
    -> FetchOverlay
  {
    try throwingFailures { try overlayAsRead(request, specification) }
  }

  /// The same; what cannot be read of unsaved objects is reported.
  private func overlayAsRead(_ request: ResolvedFetchRequest, _ specification: FetchSpecification) throws
    -> FetchOverlay
  {
    var overlay = FetchOverlay()
    takeLayers(&overlay)
    overlay.isDisturbed = disturbs(
      request.travelledHierarchies, ownLayers: overlay.ownLayers,
      includesPendingChanges: specification.includesPendingChanges)
    try addUnsavedRows(to: &overlay, request, specification)
    guard specification.includesPendingChanges, changes.hasChanges || flight != nil else { return overlay }
    func isConcerned(_ object: ManagedObject) -> Bool {
      object.home.entity.hierarchyNumber == request.hierarchyNumber
        && request.entityNumbers.contains(object.home.entity.number)
        && specification.affectedStores?.contains(object.home.token.hierarchy.storeIdentifier) ?? true
    }
    func addIfMatching(_ object: ManagedObject) throws {
      guard let evaluation = try evaluation(object.home.storeIndex, &overlay, request, specification),
        try evaluation.matches(.object(object), entity: object.home.entity.number)
      else { return }
      overlay.matching.append(object)
    }
    for object in changes.inserted where isConcerned(object) { try addIfMatching(object) }
    // Of an object of which only relationships have changed, the stored row is the one it has.
    for object in changes.updated where object.hidesStoredRow && isConcerned(object) {
      overlay.hidden += 1
      try addIfMatching(object)
    }
    for object in changes.deleted where isConcerned(object) { overlay.hidden += 1 }
    // What is being saved and was not edited since.
    var flying: [ManagedObject] = []
    flight?.forEachObject { object, kind in
      guard object.context === self, object.state.isDisjoint(with: [.inserted, .updated, .deleted]),
        object.state.contains(.inFlight), isConcerned(object)
      else { return }
      overlay.hidden += 1
      if kind != .delete { flying.append(object) }
    }
    for object in flying { try addIfMatching(object) }
    return overlay
  }

  /// How objects of a store are evaluated for the request; nil for a store that is gone.
  func evaluation(
    _ storeIndex: Int, _ overlay: inout FetchOverlay, _ request: ResolvedFetchRequest,
    _ specification: FetchSpecification
  ) throws -> ContextEvaluation? {
    if let known = overlay.evaluations[storeIndex] { return known }
    guard let binding = coordinator.binding(storeIndex) else { return nil }
    let view = try ContextView(
      self, binding, ownLayers: overlay.ownLayers,
      includesPendingChanges: specification.includesPendingChanges)
    let new = ContextEvaluation(request, view)
    overlay.evaluations[storeIndex] = new
    return new
  }

  /// What stores are asked so that the overlay can be laid over their answers.
  func storeRequest(_ request: ResolvedFetchRequest, mode: FetchMode, _ overlay: FetchOverlay) -> (
    request: ResolvedFetchRequest, mode: FetchMode
  ) {
    if overlay.isDisturbed {
      // What other objects have a say in is decided in the context, of all rows that the rest of the predicate leaves.
      let parts = request.predicate.conjuncts.filter { !$0.travels }
      let isSortedHere = request.sorts.contains { !$0.steps.isEmpty }
      return (request.candidates(.conjunction(parts), keepsSorts: !isSortedHere), .rows)
    }
    var wide = request
    wide.offset = 0
    let (last, isBeyondAll) = (request.windowEnd ?? .max).addingReportingOverflow(overlay.hiddenCount)
    wide.limit = isBeyondAll || request.windowEnd == nil ? 0 : last
    // Sorting across sources needs the sort keys, which identifiers alone do not have.
    return (wide, request.sorts.isEmpty ? mode : .rows)
  }

  /// Stored rows and unsaved objects together, in order, cut to the window.
  func matches(
    _ request: ResolvedFetchRequest, _ specification: FetchSpecification, mode: FetchMode,
    overlay: FetchOverlay
  ) throws -> ArraySlice<FetchMatch> {
    try throwingFailures { try matchesAsRead(request, specification, mode: mode, overlay: overlay) }
  }

  /// The same; what cannot be read of unsaved objects is reported.
  private func matchesAsRead(
    _ request: ResolvedFetchRequest, _ specification: FetchSpecification, mode: FetchMode,
    overlay: FetchOverlay
  ) throws -> ArraySlice<FetchMatch> {
    var overlay = overlay
    let isSortedHere = request.sorts.contains { !$0.steps.isEmpty }
    let asked = storeRequest(request, mode: mode, overlay)
    var wide = asked.request
    func isBefore(_ left: FetchMatch, _ right: FetchMatch) throws -> Bool {
      let order = try request.compare(left.value, left.primaryKey, right.value, right.primaryKey)
      return order != 0 ? order < 0 : left.storeIndex < right.storeIndex
    }
    func isBehindStart(_ match: FetchMatch) throws -> Bool {
      guard var start = request.start, let node = match.node,
        let evaluation = try evaluation(match.storeIndex, &overlay, request, specification)
      else { return true }
      start.includesEqual = match.storeIndex > start.storeIndex
      let values = try evaluation.sortValues(node)
      return request.isBehindStart(start, { values[$0] }, match.primaryKey)
    }
    var result = overlay.matching.map { FetchMatch.object($0) } + overlay.rows
    if request.start != nil { result = try result.filter(isBehindStart) }
    if !isSortedHere { try result.sort(by: isBefore) }
    for binding in bindings(for: request, specification) {
      let view = try reading(binding)
      if let start = wide.start { wide.start?.includesEqual = binding.index > start.storeIndex }
      let fetched = try ask(view, wide, mode: asked.mode)
      let store = stores.tables(for: binding)
      store.view = view
      let table = store.tables[request.hierarchyNumber]
      let hiddenKeys = overlay.hiddenKeys[binding.index] ?? []
      var rows = fetched.rows.filter { row in
        if !hiddenKeys.isEmpty, hiddenKeys.contains(row.primaryKey) { return false }
        guard overlay.hidden > 0, let known = table.object(for: row.primaryKey) else { return true }
        return !known.hidesStoredRow
      }
      if overlay.isDisturbed,
        let evaluation = try evaluation(binding.index, &overlay, request, specification)
      {
        rows = try rows.filter { row in
          guard let bound = binding.entities[row.entity] else { return false }
          return try evaluation.matches(.row(row, bound), entity: row.entity)
        }
        if request.start != nil { rows = try rows.filter { try isBehindStart(.row($0, store)) } }
      }
      if isSortedHere {
        result += rows.map { .row($0, store) }
      } else {
        result = try merge(result, rows.lazy.map { .row($0, store) }, by: isBefore)
      }
    }
    if isSortedHere { try sort(&result, request, specification, &overlay) }
    let start = min(request.offset, result.count)
    let end = request.windowEnd.map { min($0, result.count) } ?? result.count
    return result[start..<max(start, end)]
  }

  /// Sorts by what the objects refer to.
  private func sort(
    _ matches: inout [FetchMatch], _ request: ResolvedFetchRequest, _ specification: FetchSpecification,
    _ overlay: inout FetchOverlay
  ) throws {
    var keyed: [(values: [AttributeValue], match: FetchMatch)] = []
    keyed.reserveCapacity(matches.count)
    for match in matches {
      guard let evaluation = try evaluation(match.storeIndex, &overlay, request, specification),
        let node = match.node
      else { continue }
      keyed.append((try evaluation.sortValues(node), match))
    }
    keyed.sort { left, right in
      let order = request.compare(left.values, left.match.primaryKey, right.values, right.match.primaryKey)
      return order != 0 ? order < 0 : left.match.storeIndex < right.match.storeIndex
    }
    matches = keyed.map(\.match)
  }

  /// Two sorted sequences as one.
  private func merge(
    _ left: [FetchMatch], _ right: some Sequence<FetchMatch>,
    by isBefore: (FetchMatch, FetchMatch) throws -> Bool
  ) rethrows -> [FetchMatch] {
    var result: [FetchMatch] = []
    var waiting = left[...]
    for match in right {
      while let first = waiting.first, try isBefore(first, match) {
        result.append(first)
        waiting.removeFirst()
      }
      result.append(match)
    }
    return result + waiting
  }
}
