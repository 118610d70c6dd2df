import Dispatch
import HashTreeCollections
import Synchronization

/// One layer of unsaved changes: records by store, hierarchy and primary key. A value; copies share what they have in common.
struct StratumLayer: Sendable {
  /// A hierarchy of one attached store.
  struct Table: Hashable, Sendable {
    let storeIndex: Int
    let hierarchy: Int
  }

  /// A record.
  struct Place: Hashable, Sendable {
    let table: Table
    let primaryKey: UInt64
  }

  private(set) var tables: [Table: TreeDictionary<UInt64, StratumRow>] = [:]
  /// What the rows say of the members of to-many relationships at the other end.
  var derived: [DerivedTable: DerivedMembers] = [:]
  /// What becomes rows when the first child comes; after that there is none.
  var captured = CapturedEdits()

  /// Whether there are no rows.
  var isEmpty: Bool { tables.isEmpty }

  /// Makes rows of what is captured.
  fileprivate mutating func encodeCaptured(over frozen: [StratumLayer] = []) {
    if captured.isEmpty { return }
    let rows = captured.rows { place in
      for layer in frozen.reversed() {
        if let row = layer.row(place.table, place.primaryKey) { return row }
      }
      return nil
    }
    for row in rows { put(row, row.table, row.primaryKey) }
    captured = CapturedEdits()
  }

  func row(_ table: Table, _ key: UInt64) -> StratumRow? { tables[table]?[key] }

  mutating func put(_ row: StratumRow?, _ table: Table, _ key: UInt64) {
    let old: StratumRow?
    if let row {
      old = tables[table, default: [:]].updateValue(row, forKey: key)
    } else {
      old = tables[table]?.removeValue(forKey: key)
      if tables[table]?.isEmpty == true { tables[table] = nil }
    }
    if let old, old.bound.entity.leadsToMany { derive(from: old, isRemoval: true) }
    if let row, row.bound.entity.leadsToMany { derive(from: row, isRemoval: false) }
  }

  func forEach(_ body: (StratumRow) throws -> Void) rethrows {
    for rows in tables.values { for row in rows.values { try body(row) } }
  }

  var count: Int { tables.values.reduce(captured.records.count) { $0 + $1.count } }
}

/// What lies beneath a context for a change of one record.
struct RowBeneath {
  let row: RowSnapshot
  /// Whether it is in the store: no context below has unsaved changes of it.
  let isStored: Bool
  /// Whether neither the context nor one below has written the stored row, or was notified of it.
  var isForeign = false
  /// The newest stored row that the context, or one below, has written or was notified of.
  var known: RowSnapshot?
  /// Whether the row is gone from the store, by a batch that was not executed here.
  var isLost = false
  var externals: [StratumValue] = []

  /// The row that a change is based on: never one that only another context knows, so that the save that reaches the store meets it there and asks
  /// the merge policy.
  var familiar: RowSnapshot { isForeign ? known ?? row : row }
}

extension BoundEntity {
  /// The table of the entity's records in layers.
  var layerTable: StratumLayer.Table {
    StratumLayer.Table(storeIndex: storeIndex, hierarchy: hierarchyNumber)
  }

  /// Where a record of the entity lies in layers.
  func place(_ primaryKey: UInt64) -> StratumLayer.Place {
    StratumLayer.Place(table: layerTable, primaryKey: primaryKey)
  }
}

extension ManagedObject {
  final var place: StratumLayer.Place { home.place(primaryKey) }
}

extension StratumRow {
  var place: StratumLayer.Place { bound.place(primaryKey) }
  var table: StratumLayer.Table { bound.layerTable }
}

/// The unsaved changes of one context as the contexts above it see them (contexts 4–7).
///
///     top      ◀── what the context published of its own edits, what its children saved
///     frozen   ── what a save that is under way is handing down
///
/// Used from any thread. The lock is held to look at or to replace a layer, never to make one: a reader takes the layers as
/// they are and goes on without it, and who changes them makes the new layer first and begins again if another thread was faster.
final class Strata: Sendable {
  private let state = Mutex(State())
  /// Whether there is any layer: readers of contexts that do not nest ask no more than this.
  private let hasLayers = Atomic<Bool>(false)
  /// Whether a child has saved something the context's objects do not show yet.
  private let hasReceived = Atomic<Bool>(false)
  /// Whether there are captured edits.
  private let hasCaptured = Atomic<Bool>(false)
  /// Whether the context has, or had, a child: until then its edits are captured and not encoded. Set under the lock.
  private let isPublishing = Atomic<Bool>(false)

  /// Stored rows that the context has written itself, or has merged.
  let knownRows = KnownRows()

  struct State: Sendable {
    var top = StratumLayer()
    /// Layers on their way down, oldest first.
    var frozen: [StratumLayer] = []
    /// Grows with every change of the layers.
    var generation = 0
    /// Saves of children that the context's objects do not show yet, oldest first.
    var received: [[StratumRow]] = []
    /// The context has left its coordinator, and these layers.
    var isClosed = false
  }

  // MARK: Reading

  var isEmpty: Bool { !hasLayers.load(ordering: .acquiring) }
  var mustMerge: Bool { hasReceived.load(ordering: .acquiring) }
  var publishes: Bool { isPublishing.load(ordering: .acquiring) }

  /// Whether anything of the context's own, captured or published, may be here.
  var holdsEdits: Bool { hasCaptured.load(ordering: .acquiring) || hasLayers.load(ordering: .acquiring) }
  var capturesEdits: Bool { hasCaptured.load(ordering: .acquiring) }

  /// What is not being saved yet.
  var top: StratumLayer { isEmpty ? StratumLayer() : state.withLock { $0.top } }

  /// The layers, newest first.
  var layers: [StratumLayer] {
    if isEmpty { return [] }
    return state.withLock { state in
      (state.frozen + [state.top]).reversed().filter { !$0.isEmpty }
    }
  }

  /// What the layers say of a record: nil when they say nothing.
  func row(_ table: StratumLayer.Table, _ key: UInt64) -> StratumRow? {
    if isEmpty { return nil }
    return state.withLock { state in
      if let row = state.top.row(table, key) { return row }
      for layer in state.frozen.reversed() { if let row = layer.row(table, key) { return row } }
      return nil
    }
  }

  /// What a save that is under way hands down of a record.
  func frozenRow(_ table: StratumLayer.Table, _ key: UInt64) -> StratumRow? {
    if isEmpty { return nil }
    return state.withLock { state in
      for layer in state.frozen.reversed() { if let row = layer.row(table, key) { return row } }
      return nil
    }
  }

  /// Whether `row` is one of these, and not of a context below.
  func holds(_ row: StratumRow) -> Bool {
    if isEmpty { return false }
    return state.withLock { state in
      state.top.row(row.table, row.primaryKey) === row
        || state.frozen.contains { $0.row(row.table, row.primaryKey) === row }
    }
  }

  /// Whether the context has left its coordinator: nothing comes in here any more.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  func close() { state.withLock { $0.isClosed = true } }

  /// Whether a save that is under way hands the record of `object` down.
  func isHandingDown(_ object: ManagedObject) -> Bool {
    frozenRow(object.home.layerTable, object.primaryKey) != nil
  }

  // MARK: Changing

  /// Replaces the top layer by what `change` makes of it. `change` runs without the lock, and again when another thread was faster.
  /// It may answer false to leave everything as it is.
  private func update(
    receiving save: [StratumRow]? = nil, onlyIf condition: (State) -> Bool = { _ in true },
    _ change: (inout StratumLayer, [StratumLayer]) throws -> Void
  ) rethrows -> Bool {
    while true {
      let seen = state.withLock { $0 }
      guard condition(seen) else { return false }
      var top = seen.top
      try change(&top, seen.frozen)
      let new = top
      let isDone = state.withLock { state in
        guard state.generation == seen.generation, condition(state) else { return false }
        state.top = new
        state.generation += 1
        if let save { state.received.append(save) }
        note(state)
        return true
      }
      if isDone { return true }
    }
  }

  private func note(_ state: borrowing State) {
    // In this order: a reader of both without the lock finds one of them.
    defer {
      hasCaptured.store(
        !state.top.captured.isEmpty || state.frozen.contains { !$0.captured.isEmpty }, ordering: .releasing)
    }
    hasLayers.store(!state.top.isEmpty || state.frozen.contains { !$0.isEmpty }, ordering: .releasing)
    hasReceived.store(!state.received.isEmpty, ordering: .releasing)
  }

  /// What lies beneath the context for a change that is laid over it.
  typealias Beneath = (StratumRow) throws -> RowBeneath?

  /// Takes over what a child saves, as one layer: readers see all of it or nothing.
  ///
  /// - Parameters:
  ///   - beneath: reads below the context.
  ///   - inspect: looks at what a change is laid over before it is, and may throw to refuse the save.
  /// - Returns: the places of changes to records that the parent has deleted, which are dropped (rule 169); nil, and nothing is taken over, when the parent has left its
  ///   coordinator.
  func receive(
    _ changes: [StratumRow], store: (Int) -> StoreBinding?, beneath: Beneath,
    inspect: (([StratumRow?]) throws -> Void)?
  ) throws -> [Int]? {
    var dropped: [Int] = []
    let isReceived = try update(receiving: changes, onlyIf: { !$0.isClosed }) { top, frozen in
      dropped = []
      try inspect?(changes.map { Self.find($0.table, $0.primaryKey, top, frozen) })
      for (place, change) in changes.enumerated() {
        guard let binding = store(change.bound.storeIndex) else {
          dropped.append(place)
          continue
        }
        if try !Self.lay(change, over: &top, frozen, binding, beneath) { dropped.append(place) }
      }
    }
    return isReceived ? dropped : nil
  }

  private static func find(
    _ table: StratumLayer.Table, _ key: UInt64, _ top: StratumLayer, _ frozen: [StratumLayer]
  ) -> StratumRow? {
    if let row = top.row(table, key) { return row }
    for layer in frozen.reversed() { if let row = layer.row(table, key) { return row } }
    return nil
  }

  /// Lays one change over the layers. False when the record is gone below.
  private static func lay(
    _ change: StratumRow, over top: inout StratumLayer, _ frozen: [StratumLayer], _ store: StoreBinding,
    _ beneath: Beneath
  ) throws -> Bool {
    let (table, key) = (change.table, change.primaryKey)
    if let mine = top.row(table, key) {
      if mine.kind == .delete, change.kind != .insert { return change.kind == .delete }
      top.put(try mine.followed(by: change, in: store), table, key)
      return true
    }
    for layer in frozen.reversed() {
      guard let mine = layer.row(table, key) else { continue }
      if mine.kind == .delete, change.kind != .insert { return change.kind == .delete }
      top.put(try mine.covered(by: change, in: store), table, key)
      return true
    }
    if change.kind == .insert {
      top.put(change, table, key)
      return true
    }
    guard let found = try beneath(change) else { return change.kind == .delete }
    // Nothing of it was edited: it goes with its row.
    if found.isLost, change.changesNothing { return false }
    if found.isLost, let whole = change.wholeIfOnlyLinked {
      top.put(whole, table, key)
      return true
    }
    let isSame = change.base?.version == found.row.version
    if change.isBaseStored, found.isStored, isSame || found.isForeign && !change.isOnlyLinked {
      // Where another context has written a newer row, the change stays one of what is known here: the save that reaches the store meets
      // the other there, and asks the merge policy. What the child has read may be older than that, and no reader may see the context
      // fall back behind what it has saved itself.
      if found.isForeign, let known = found.known, known.version > change.base?.version ?? 0 {
        top.put(try change.moved(onto: known, isStored: true, keeping: [], in: store), table, key)
      } else {
        // The usual case: what the child has read is what is there, or nothing newer is known.
        top.put(change, table, key)
      }
      return true
    }
    let moved = try change.moved(
      onto: change.isOnlyLinked ? found.row : found.familiar, isStored: found.isStored,
      keeping: found.externals, in: store)
    top.put(moved, table, key)
    return true
  }

  // MARK: The first child

  /// There is a child: what was captured becomes rows now, on the caller's thread, and what is edited from now on is published.
  ///
  /// The rows are made without the lock, unless the context finishes one event after the other meanwhile.
  func startPublishing() {
    for _ in 0..<2 {
      if publishes { return }
      let seen = state.withLock { $0 }
      var (top, frozen) = (seen.top, seen.frozen)
      for place in frozen.indices { frozen[place].encodeCaptured() }
      top.encodeCaptured(over: frozen)
      let new = (top: top, frozen: frozen)
      let isDone = state.withLock { state in
        guard state.generation == seen.generation, !publishes else { return false }
        state.top = new.top
        state.frozen = new.frozen
        beginPublishing(&state)
        return true
      }
      if isDone { return }
    }
    state.withLock { state in
      if publishes { return }
      for place in state.frozen.indices { state.frozen[place].encodeCaptured() }
      state.top.encodeCaptured(over: state.frozen)
      beginPublishing(&state)
    }
  }

  private func beginPublishing(_ state: inout State) {
    state.generation += 1
    isPublishing.store(true, ordering: .releasing)
    note(state)
  }

  /// Keeps what the context has edited for its first child. `pending` says how many changed objects it has. False, and nothing is kept, when
  /// there is a child.
  func capture(_ records: ContiguousArray<CapturedRecord>, pending: Int) -> Bool {
    state.withLock { state in
      if publishes { return false }
      if records.isEmpty { return true }
      state.top.captured.append(records, pending: pending)
      state.generation += 1
      note(state)
      return true
    }
  }

  /// The context is rolled back: what was captured is given up at once. Does nothing when there is a child.
  func dropCaptured() {
    guard capturesEdits else { return }
    let old = state.withLock { state in
      let old = state.top.captured
      if publishes || old.isEmpty { return CapturedEdits() }
      state.top.captured = CapturedEdits()
      state.generation += 1
      note(state)
      return old
    }
    Garbage.release(old, count: old.records.count)
  }

  // MARK: For the context itself, on its queue

  /// Publishes the context's own edits: `rows` replace what was published of these records, nil takes it back. Leaves everything
  /// as it is, and answers false, when a child has saved in between: its changes must come into the objects first.
  func publish(_ rows: [(StratumLayer.Table, UInt64, StratumRow?)]) -> Bool {
    update(onlyIf: { $0.received.isEmpty }) { top, _ in
      // Before it is gone: a child that saves right after must find it.
      knownRows.note(basesOf: rows.compactMap { $0.2 == nil ? top.row($0.0, $0.1) : nil })
      for (table, key, row) in rows { top.put(row, table, key) }
    }
  }

  /// The next save of a child that the context's objects do not show yet.
  func takeReceived() -> [[StratumRow]] {
    if !mustMerge { return [] }
    return state.withLock { state in
      defer {
        state.received = []
        note(state)
      }
      return state.received
    }
  }

  /// Everything up to now is about to be saved. What comes later lies above it. Leaves everything as it is, and answers nil,
  /// when a child has saved in between: its changes must come into the objects first, or the save would leave them out.
  func freeze() -> StratumLayer? {
    state.withLock { state in
      guard state.received.isEmpty else { return nil }
      let layer = state.top
      state.frozen.append(layer)
      state.top = StratumLayer()
      state.generation += 1
      note(state)
      return layer
    }
  }

  /// The oldest frozen layer has been saved: it lies further down now. What children have laid over it meanwhile is put onto
  /// what was saved by `rebase`, which runs without the lock.
  func drop(rebasing rebase: (StratumRow) -> StratumRow) {
    // Mostly it is the only one, and nothing lies over it.
    let only: StratumLayer? = state.withLock { state in
      guard state.frozen.count == 1, state.top.isEmpty, let layer = state.frozen.popLast() else { return nil }
      state.generation += 1
      note(state)
      return layer
    }
    if let only { return Garbage.release(only, count: only.count) }
    while true {
      let seen = state.withLock { $0 }
      let layers = (seen.frozen.dropFirst() + [seen.top]).map { layer in
        var layer = layer
        layer.forEach { if !$0.isBaseStored { layer.put(rebase($0), $0.table, $0.primaryKey) } }
        return layer
      }
      let isDone = state.withLock { state in
        guard state.generation == seen.generation else { return false }
        state.frozen = Array(layers.dropLast())
        state.top = layers[layers.count - 1]
        state.generation += 1
        note(state)
        return true
      }
      if !isDone { continue }
      if let old = seen.frozen.first { Garbage.release(old, count: old.count) }
      return
    }
  }

  /// Puts everything published onto what lies below now. `rebase` runs without the lock.
  func rebaseAll(_ rebase: (StratumRow) -> StratumRow) {
    _ = update { top, _ in
      let old = top
      old.forEach { top.put(rebase($0), $0.table, $0.primaryKey) }
    }
  }

  /// These places of the oldest frozen layer have been saved, and lie further down now. The rest of it goes on waiting.
  ///
  /// - Parameter rebase: Puts what children have laid over them meanwhile onto what was saved. Runs without the lock.
  func settle(_ settled: [StratumLayer.Place], rebasing rebase: (StratumRow) -> StratumRow) {
    if isEmpty { return }
    while true {
      let seen = state.withLock { $0 }
      guard var old = seen.frozen.first else { return }
      var next = seen.frozen.count > 1 ? seen.frozen[1] : seen.top
      Self.take(settled, outOf: &old, beneath: &next, rebasing: rebase)
      let (rest, above) = (old, next)
      let isDone = state.withLock { state in
        guard state.generation == seen.generation else { return false }
        state.frozen[0] = rest
        if state.frozen.count > 1 { state.frozen[1] = above } else { state.top = above }
        state.generation += 1
        note(state)
        return true
      }
      if isDone { return }
    }
  }

  private static func take(
    _ settled: [StratumLayer.Place], outOf old: inout StratumLayer, beneath next: inout StratumLayer,
    rebasing rebase: (StratumRow) -> StratumRow
  ) {
    for place in settled {
      old.put(nil, place.table, place.primaryKey)
      guard let row = next.row(place.table, place.primaryKey), !row.isBaseStored else { continue }
      next.put(rebase(row), place.table, place.primaryKey)
    }
    old.captured.remove(settled)
  }

  /// The oldest frozen layer was not saved: its changes are pending again, beneath those made since.
  ///
  /// - Parameters:
  ///   - settled: The places that were saved all the same. They lie further down now.
  ///   - rebase: Puts what children have laid over them meanwhile onto what was saved. Runs without the lock.
  func thaw(without settled: [StratumLayer.Place] = [], rebasing rebase: (StratumRow) -> StratumRow = { $0 })
  {
    while true {
      let seen = state.withLock { $0 }
      guard var old = seen.frozen.first else { return }
      var next = seen.frozen.count > 1 ? seen.frozen[1] : seen.top
      Self.take(settled, outOf: &old, beneath: &next, rebasing: rebase)
      let merged = next.laid(over: old)
      let isDone = state.withLock { state in
        guard state.generation == seen.generation else { return false }
        state.frozen.removeFirst()
        if state.frozen.isEmpty { state.top = merged } else { state.frozen[0] = merged }
        state.generation += 1
        note(state)
        return true
      }
      if isDone { return }
    }
  }

  /// What is not as it must be, in sentences.
  func brokenInvariants(isSaving: Bool) -> [String] {
    state.withLock { state in
      var broken: [String] = []
      if !isSaving, !state.frozen.isEmpty { broken.append("a layer waits for a save, and none is under way") }
      if publishes, !state.top.captured.isEmpty { broken.append("edits are captured beside a child") }
      let hasRows = !state.top.isEmpty || state.frozen.contains { !$0.isEmpty }
      if hasRows != !isEmpty || !state.received.isEmpty != mustMerge {
        broken.append("the layers are not what readers are told of them")
      }
      for layer in state.frozen + [state.top] {
        for (table, rows) in layer.tables {
          if rows.isEmpty { broken.append("a layer has a table without rows") }
          if rows.contains(where: { $1.table != table || $1.primaryKey != $0 }) {
            broken.append("a row lies in a place that is not its own")
          }
        }
      }
      return broken
    }
  }

  /// Forgets everything but what is being saved: the context was rolled back or reset.
  func removeAll() {
    if publishes {
      var gone: [StratumRow] = []
      top.forEach { gone.append($0) }
      knownRows.note(basesOf: gone)
    }
    let old = state.withLock { state in
      let old = state
      state.top = StratumLayer()
      state.received = []
      state.generation += 1
      note(state)
      return old
    }
    Garbage.release(old, count: old.top.count)
  }
}

extension StratumLayer {
  /// Both layers as one.
  fileprivate func laid(over older: StratumLayer) -> StratumLayer {
    var result = older
    result.captured.append(captured)
    forEach { row in
      guard let mine = older.row(row.table, row.primaryKey) else {
        result.put(row, row.table, row.primaryKey)
        return
      }
      result.put(row.merged(with: mine), row.table, row.primaryKey)
    }
    return result
  }
}

/// Releases much at once on another thread: freeing a hundred thousand rows takes longer than a frame.
enum Garbage {
  private static let queue = DispatchQueue(label: "strata.garbage", qos: .utility)

  static func release<Value: Sendable>(_ value: Value, count: Int) {
    if count > 1_000 { Errand.hand(to: queue) { withExtendedLifetime(value) {} } }
  }
}
