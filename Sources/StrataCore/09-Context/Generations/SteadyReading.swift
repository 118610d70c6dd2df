/// One commit of each store for an operation that reads a store several times, and answers as if it had read it once.
///
/// ```
///   unsaved rows, taken first ─▶ a snapshot of each store, made by its first read ─▶ all other reads of the operation
/// ```
///
/// What a context below saves in between is in both, never in neither. A pinned context reads its generation. A store that has no snapshot to give is read as it is at
/// each moment. On the context's queue, for the length of one operation: the snapshots end with it.
final class SteadyReading {
  /// The layers of the context itself, newest first.
  let ownLayers: [StratumLayer]
  /// Those of the contexts below, newest first.
  let layersBelow: [StratumLayer]
  private let context: ManagedObjectContext
  private var isHeld: Bool
  /// What each store is read through, by its index.
  private var readings: [Int: any StoreReading] = [:]
  private var snapshots: [any StoreSnapshot] = []

  /// With unsaved rows that the operation has taken already.
  init(
    _ context: ManagedObjectContext, ownLayers: [StratumLayer], layersBelow: [StratumLayer],
    isHeld: Bool = true
  ) {
    self.context = context
    self.isHeld = isHeld
    self.ownLayers = ownLayers
    self.layersBelow = layersBelow
  }

  /// With the unsaved rows that there are now.
  /// - Parameter isHeld: Whether the stores are to be read in one state from the first read on.
  convenience init(_ context: ManagedObjectContext, isHeld: Bool) {
    let own = context.takeLayers()
    self.init(context, ownLayers: own, layersBelow: context.layersBelow, isHeld: isHeld)
  }

  deinit { release() }

  /// Whether a store is read through a snapshot that was made for the operation.
  var hasSnapshots: Bool { !snapshots.isEmpty }

  /// From now on each store is read in one state.
  func hold() { isHeld = true }

  /// What a store is read through.
  /// - Throws: what `ManagedObjectContext.reading(_:)` throws; `StorageError` of a store that cannot be read at all.
  func reading(_ binding: StoreBinding) throws -> any StoreReading {
    guard isHeld else { return try context.reading(binding) }
    if let known = readings[binding.index] { return known }
    let new = try makeReading(binding)
    readings[binding.index] = new
    return new
  }

  private func makeReading(_ binding: StoreBinding) throws -> any StoreReading {
    if context.readsPinned || binding.contextual != nil { return try context.reading(binding) }
    do {
      guard let snapshot = try binding.store.makeSnapshot() else { return binding.store }
      snapshots.append(snapshot)
      return snapshot
    } catch let error as StorageError where Self.noneToSpare.contains(error.kind) {
      // Single reads need less.
      return binding.store
    }
  }

  /// What a store says that has no snapshot to spare, or none for this role.
  private static let noneToSpare: [StorageError.Kind] = [
    .readersFull, .busy, .serverBusy, .refused, .permission,
  ]

  /// Ends the snapshots. What was read through them must not be asked again.
  func release() {
    for snapshot in snapshots { snapshot.release() }
    snapshots = []
    readings = [:]
    isHeld = false
  }
}

extension ManagedObjectContext {
  /// The unsaved rows of the contexts below, newest first.
  final var layersBelow: [StratumLayer] {
    if ancestors.isEmpty { return [] }
    return ancestors.flatMap { $0.isEmpty ? [] : $0.layers }
  }
}
