import CLMDBShim
import Foundation

/// The parked read transactions of one environment, and the gate in front of its memory map.
///
/// Everything that touches the map is inside a *section*: a read, the writer's transaction, a backup. A
/// thread that must replace the map (growth, reopening, closing) goes through the gate *exclusively*: it
/// shuts it, waits until the sections have ended, works alone, opens it again.
///
///     parked ──begin──▶ reading ──end──▶ parked          one slot per section, a fixed table
///     vacant ──claim──▶ section ──leave─▶ vacant
///
/// A thread that is inside a section may enter again while the gate is shut: the exclusive thread waits for
/// it anyway. Dormant transactions (parked readers, pinned snapshots) hold page numbers and no addresses, so
/// they outlive a new map. Backups are long sections: the gate stays open while a thread waits for them.
///
/// One small lock guards all of it; a read costs two passes through it, about 40 ns, and never allocates.
final class ReaderPool: @unchecked Sendable {
  // Unchecked: `state` and the table are touched under `lock` only, except that the thread which owns a slot
  // reads its own transaction.

  /// More parked readers than this are given back, since every process shares the table in the lock file.
  static let parkedLimit = 32

  private struct Slot {
    /// The read transaction, nil in a vacant slot and in a section that needs none.
    var transaction: OpaquePointer?
    /// The thread inside, 0 for none.
    var thread: SystemThread.Number
    /// The next slot of the same list, -1 at the end.
    var next: Int32
  }

  private struct State {
    /// LMDB's environment; nil while there is none.
    var environment: OpaquePointer?
    /// Why there is none.
    var absence: StorageError?
    /// What the fast path asks: an environment is there and the gate is neither held nor wanted.
    var isOpen = false
    var parkedHead: Int32 = -1
    var parkedCount = 0
    var vacantHead: Int32 = -1
    /// Slots that were ever used: the part of the table worth looking at.
    var usedSlots = 0
    /// Sections other than the writer's and long ones.
    var sections = 0
    var longSections = 0
    /// The thread inside a write transaction, 0 for none.
    var writer: SystemThread.Number = 0
    /// The thread that holds or closes the gate, 0 for none.
    var exclusiveOwner: SystemThread.Number = 0
    /// Threads that wait for something to change.
    var waiters = 0
  }

  private let lock = SystemLock()
  private let slots: UnsafeMutablePointer<Slot>
  private let capacity: Int
  private let state: UnsafeMutablePointer<State>
  private let path: String

  /// A pool for at most `capacity` sections at a time; there is no environment yet.
  init(capacity: Int, path: String) {
    self.capacity = capacity
    self.path = path
    slots = .allocate(capacity: capacity)
    state = .allocate(capacity: 1)
    state.initialize(to: State())
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
    slots.deallocate()
  }

  // MARK: Reading

  /// Renews a parked reader: its slot, or -1 when that was not to be had at once, or does not show a commit of the data file. Never waits.
  @inline(__always)
  func begin() -> Int {
    lock.lock()
    let slot = Int(state.pointee.parkedHead)
    guard slot >= 0, state.pointee.isOpen else {
      lock.unlock()
      return -1
    }
    state.pointee.parkedHead = slots[slot].next
    state.pointee.parkedCount &-= 1
    state.pointee.sections &+= 1
    slots[slot].thread = SystemThread.current
    let environment = state.pointee.environment
    lock.unlock()
    let transaction = slots[slot].transaction
    if mdb_txn_renew(transaction) == 0, LastCommit.isBase(of: transaction, environment) { return slot }
    abandon(slot)
    return -1
  }

  /// The transaction in a slot that this thread began.
  @inline(__always)
  func transaction(_ slot: Int) -> OpaquePointer {
    // Never nil between `begin` or `install` and `end`.
    slots[slot].transaction!
  }

  /// Ends a read: resets its transaction and parks it.
  @inline(__always)
  func end(_ slot: Int) {
    mdb_txn_reset(slots[slot].transaction)
    lock.lock()
    guard state.pointee.parkedCount < ReaderPool.parkedLimit else {
      lock.unlock()
      abandon(slot)
      return
    }
    slots[slot].thread = 0
    slots[slot].next = state.pointee.parkedHead
    state.pointee.parkedHead = Int32(truncatingIfNeeded: slot)
    state.pointee.parkedCount &+= 1
    state.pointee.sections &-= 1
    if state.pointee.waiters > 0 { lock.wakeAll() }
    lock.unlock()
  }

  /// Enters a section in a vacant slot; waits while the gate is shut.
  ///
  /// - Throws: `.busy` after `deadline`; whatever made the environment go away.
  func claim(isLong: Bool = false, until deadline: ContinuousClock.Instant) throws -> (Int, OpaquePointer) {
    lock.lock()
    defer { lock.unlock() }
    let thread = SystemThread.current
    while true {
      if let absence = state.pointee.absence { throw absence }
      let isShut = state.pointee.exclusiveOwner != 0 && !isInside(thread)
      if !isShut, let environment = state.pointee.environment, let slot = takeVacantSlot() {
        slots[slot].thread = thread
        if isLong { state.pointee.longSections += 1 } else { state.pointee.sections += 1 }
        return (slot, environment)
      }
      guard wait(until: deadline) else { throw busy("read") }
    }
  }

  /// Gives a claimed slot the transaction that was begun for it; `end` parks it later.
  func install(_ transaction: OpaquePointer, _ slot: Int) { slots[slot].transaction = transaction }

  /// Takes the transaction out of a slot, for the caller to end before it leaves the section.
  func empty(_ slot: Int) { slots[slot].transaction = nil }

  /// Takes the transaction out of a slot, for the caller to keep, and leaves the section.
  func detach(_ slot: Int) {
    slots[slot].transaction = nil
    leave(slot)
  }

  /// Leaves a section whose slot holds no transaction.
  func leave(_ slot: Int, isLong: Bool = false) {
    lock.lock()
    defer { lock.unlock() }
    vacate(slot)
    if isLong { state.pointee.longSections -= 1 } else { state.pointee.sections -= 1 }
    lock.wakeAll()
  }

  /// Gives up a reader and its place in LMDB's table.
  @inline(never)
  private func abandon(_ slot: Int) {
    mdb_txn_abort(slots[slot].transaction)
    slots[slot].transaction = nil
    leave(slot)
  }

  // MARK: Writing

  /// Enters the writer's section; waits while the gate is shut.
  func enterWriter(until deadline: ContinuousClock.Instant) throws -> OpaquePointer {
    lock.lock()
    defer { lock.unlock() }
    while true {
      if let absence = state.pointee.absence { throw absence }
      if state.pointee.exclusiveOwner == 0, let environment = state.pointee.environment {
        state.pointee.writer = SystemThread.current
        return environment
      }
      guard wait(until: deadline) else { throw busy("write") }
    }
  }

  /// The same at once or not at all: nil also for a thread that is inside a section, which must not wait for itself.
  func enterWriterAtOnce() -> OpaquePointer? {
    lock.lock()
    defer { lock.unlock() }
    let thread = SystemThread.current
    guard state.pointee.isOpen, state.pointee.writer == 0, !isInside(thread) else { return nil }
    state.pointee.writer = thread
    return state.pointee.environment
  }

  /// Leaves the writer's section.
  func leaveWriter() {
    lock.lock()
    state.pointee.writer = 0
    lock.wakeAll()
    lock.unlock()
  }

  // MARK: Exclusion

  /// Whether the calling thread is inside a section.
  var isCurrentThreadInside: Bool { lock.withLock { isInside(SystemThread.current) } }

  /// Whether a thread works alone or waits to: new sections must wait.
  var isShut: Bool { lock.withLock { state.pointee.exclusiveOwner != 0 } }

  /// Runs `body` while no section is open. Must not be called inside one.
  ///
  /// `body` gets the environment that is there and returns the one that is there afterwards, or why none is.
  /// - Throws: `.busy` when sections are still open at `deadline`; what `body` throws, and then nothing has
  ///   changed; why there is no environment now, if `body` says so.
  func exclusively(
    until deadline: ContinuousClock.Instant,
    _ body: (OpaquePointer?) throws -> Result<OpaquePointer, StorageError>
  ) throws {
    try shutGate(until: deadline)
    defer { openGate() }
    let outcome = try body(lock.withLock { state.pointee.environment })
    lock.withLock {
      switch outcome {
      case .success(let environment):
        state.pointee.environment = environment
        state.pointee.absence = nil
      case .failure(let error):
        state.pointee.environment = nil
        state.pointee.absence = error
      }
    }
    _ = try outcome.get()
  }

  /// Aborts every parked reader. Only with the gate shut, or when there are too few slots for all.
  func dropParkedReaders() {
    var dropped: [OpaquePointer] = []
    lock.withLock {
      while state.pointee.parkedHead >= 0 {
        let slot = Int(state.pointee.parkedHead)
        state.pointee.parkedHead = slots[slot].next
        // Never nil: only slots with a transaction are parked.
        dropped.append(slots[slot].transaction!)
        slots[slot].transaction = nil
        vacate(slot)
      }
      state.pointee.parkedCount = 0
    }
    for transaction in dropped { mdb_txn_abort(transaction) }
  }

  private func shutGate(until deadline: ContinuousClock.Instant) throws {
    lock.lock()
    defer { lock.unlock() }
    while state.pointee.exclusiveOwner != 0 || state.pointee.longSections > 0 {
      guard wait(until: deadline) else { throw busy("growth") }
    }
    state.pointee.exclusiveOwner = SystemThread.current
    state.pointee.isOpen = false
    while state.pointee.sections > 0 || state.pointee.writer != 0 {
      guard wait(until: deadline) else {
        openGateLocked()
        throw busy("growth")
      }
    }
  }

  private func openGate() {
    lock.lock()
    openGateLocked()
    lock.unlock()
  }

  private func openGateLocked() {
    state.pointee.exclusiveOwner = 0
    state.pointee.isOpen = state.pointee.environment != nil
    lock.wakeAll()
  }

  // MARK: Under the lock

  private func isInside(_ thread: SystemThread.Number) -> Bool {
    if state.pointee.writer == thread { return true }
    return (0..<state.pointee.usedSlots).contains { slots[$0].thread == thread }
  }

  private func takeVacantSlot() -> Int? {
    let slot = Int(state.pointee.vacantHead)
    if slot >= 0 {
      state.pointee.vacantHead = slots[slot].next
      return slot
    }
    guard state.pointee.usedSlots < capacity else { return nil }
    let fresh = state.pointee.usedSlots
    (slots + fresh).initialize(to: Slot(transaction: nil, thread: 0, next: -1))
    state.pointee.usedSlots += 1
    return fresh
  }

  private func vacate(_ slot: Int) {
    slots[slot].thread = 0
    slots[slot].next = state.pointee.vacantHead
    state.pointee.vacantHead = Int32(slot)
  }

  private func wait(until deadline: ContinuousClock.Instant) -> Bool {
    state.pointee.waiters += 1
    defer { state.pointee.waiters -= 1 }
    return lock.wait(until: deadline)
  }

  private func busy(_ operation: String) -> StorageError {
    StorageError(
      .busy, operation: operation, path: path,
      detail: "Another thread kept the store occupied until the deadline.")
  }
}
