/// A request as a context asks it: where every kind of fetch begins, and what all of them share.
///
/// ```
///   edits of contexts below are published ─▶ the context's own changes are told ─▶ names become slots
///     ─▶ unsaved changes that matter ─▶ stores that are asked
/// ```
///
/// On the context's queue, for the length of one fetch. What children save meanwhile is in the next one.
final class ContextFetch {
  let context: ManagedObjectContext
  let specification: FetchSpecification
  let request: ResolvedFetchRequest
  /// The stores that hold the entity and that the request names.
  let bindings: [StoreBinding]
  /// What the unsaved changes do to the stores' answers.
  var overlay = FetchOverlay()
  /// How the objects of each store are evaluated, by the store's index.
  private var evaluations: [Int: ContextEvaluation] = [:]
  /// Whether other objects have a say in which objects are found, or in their order.
  var travels = false
  /// What shows one commit of each store; nil while one read of each is enough.
  private(set) var steady: SteadyReading?

  /// - Parameter adjust: Changes the request when its names are resolved.
  /// - Throws: what `fetch(_:)` throws for a request that is wrong, while no store is loaded, and for what cannot be read.
  convenience init(
    _ specification: FetchSpecification, in context: ManagedObjectContext,
    adjust: (inout ResolvedFetchRequest) throws -> Void = { _ in }
  ) throws {
    context.checkAccess(specification.entityName)
    context.flushAncestors()
    context.tellChanges()
    // Aggregates of all objects in the condition are of the commit that is read.
    var steady: SteadyReading?
    var request = try context.resolved(specification, ofStored: false, &steady)
    try adjust(&request)
    try self.init(request, specification, in: context, steady: steady)
  }

  /// The same for a request whose names are resolved, in the middle of an event: tells nothing.
  ///
  /// - Parameter steady: What the fetch reads together with other reads of the same operation; nil when it is alone.
  init(
    _ request: ResolvedFetchRequest, _ specification: FetchSpecification, in context: ManagedObjectContext,
    steady: SteadyReading? = nil
  ) throws {
    self.context = context
    self.specification = specification
    self.request = request
    self.steady = steady
    bindings = context.bindings(for: request, specification)
    try context.throwingFailures { try layUnsavedChanges() }
  }

  /// The store whose answer is the result: the only one that is asked, and nothing that is unsaved has a say.
  var onlyStore: StoreBinding? { overlay.isEmpty && bindings.count == 1 ? bindings[0] : nil }

  /// How objects of a store are evaluated for the request; nil for a store that is gone.
  func evaluation(_ storeIndex: Int) throws -> ContextEvaluation? {
    if let known = evaluations[storeIndex] { return known }
    guard let binding = context.coordinator.binding(storeIndex) else { return nil }
    let new = ContextEvaluation(request, try view(binding))
    evaluations[storeIndex] = new
    return new
  }

  /// A store's objects as this fetch sees them.
  func view(_ binding: StoreBinding) throws -> ContextView {
    // Related rows are read one after the other, beside the rows that are found.
    if travels { holdStill() }
    return ContextView(
      context, binding, try reading(binding), ownLayers: overlay.ownLayers, layersBelow: overlay.layersBelow,
      includesPendingChanges: specification.includesPendingChanges)
  }

  // MARK: Stores

  /// What a store is read through.
  func reading(_ binding: StoreBinding) throws -> any StoreReading {
    if let steady { return try steady.reading(binding) }
    return try context.reading(binding)
  }

  /// From now on each store is read in one state. Before the first of several reads.
  func holdStill() {
    if let steady { return steady.hold() }
    steady = SteadyReading(context, ownLayers: overlay.ownLayers, layersBelow: overlay.layersBelow)
  }

  /// Nothing more is read: what showed one state of the stores is given back, before code of the program is called.
  func endReading() {
    if steady == nil { return }
    evaluations = [:]
    steady?.release()
    steady = nil
  }

  // MARK: Answers

  func count() throws -> Int {
    if let store = onlyStore { return try ask(store, mode: .count).count }
    return try matches(mode: .identifiers).count
  }

  func identifiers() throws -> [ManagedObjectID] {
    if let store = onlyStore {
      return try ask(store, mode: .identifiers).rows.compactMap { row in
        store.entities[row.entity].map { ManagedObjectID(token: $0.token, primaryKey: row.primaryKey) }
      }
    }
    return try matches(mode: .identifiers).map { $0.identifier(in: context) }
  }

  /// What to make the objects from, in order: references, and the store of each, or the one store of all.
  func references() throws -> FetchedReferences {
    var result = FetchedReferences()
    if let store = onlyStore {
      let rows = try ask(store, mode: .identifiers).rows
      result.references.reserveCapacity(rows.count)
      for row in rows {
        guard let bound = store.entities[row.entity] else { continue }
        result.references.append(Reference.bits(row.primaryKey, entityCode: bound.stamp.entityCode))
      }
      result.stores = [Int32(store.index)]
    } else {
      for match in try matches(mode: .identifiers) {
        let (bits, store) = match.reference
        result.references.append(bits)
        result.stores.append(Int32(store))
      }
    }
    return result
  }

  func objects() throws -> [ManagedObject] {
    let mode: FetchMode = specification.includesPropertyValues ? .rows : .identifiers
    let objects: [ManagedObject]
    // What children have saved may be left out of the answer, but not out of its objects.
    if let store = onlyStore, overlay.ownLayers.isEmpty {
      objects = context.makeObjects(try ask(store, mode: mode, isBare: true), request, in: store)
      endReading()
    } else {
      let found = try matches(mode: mode)
      endReading()
      objects = found.map(object)
    }
    if bindings.contains(where: \.isFar) { context.noteTogether(objects) }
    return try context.finish(objects, specification)
  }

  func object(_ match: FetchMatch) -> ManagedObject { match.object(in: context, overlay.ownLayers) }

  /// What a store answers.
  ///
  /// - Parameter isBare: Whether rows may come without their values from a store that reads them when they are wanted.
  func ask(_ store: StoreBinding, mode: FetchMode, isBare: Bool = false) throws -> FetchedRows {
    let view = try reading(store)
    var found = try context.ask(view, of: store, request, mode: mode)
    if store.contextual != nil, mode == .rows, !isBare {
      found.rows = try view.valued(found.rows, hierarchy: request.hierarchyNumber)
    }
    return found
  }
}

/// Fetched objects before they are made.
struct FetchedReferences {
  var references: ContiguousArray<UInt64> = []
  /// The store of each, or the one store of all.
  var stores: ContiguousArray<Int32> = []

  func store(of place: Int) -> Int { Int(stores.count == 1 ? stores[0] : stores[place]) }
}
