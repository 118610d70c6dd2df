extension ManagedObjectContext {
  /// Counters of a context since it was made, or since `resetStatistics()`. Read on the context's queue.
  public struct Statistics: Sendable, Hashable {
    /// Requests answered by the store: fetches, counts, rows read together for prefetching or for looking up keys.
    public var fetches = 0
    /// Rows that the store handed over for fetches, with their values. Rows that did not match, and those of faults, are not in
    /// it.
    public var rowsRead = 0
    /// Rows read to fulfil faults, one by one.
    public var faultsFired = 0
    /// Members of to-many relationships loaded, one range scan each.
    public var relationshipFaultsFired = 0
    /// Objects made from rows.
    public var objectsMade = 0
    /// Successful saves that wrote something.
    public var saves = 0
    /// How often changes were handed to a store, refused ones included: more than once when a merge policy was asked.
    public var saveAttempts = 0
    /// What the merge policy was asked about: rows that others had changed, and values that others have.
    public var conflicts = 0
    /// Batch requests carried out.
    public var batches = 0
    /// Rows that batch requests inserted, matched for an update, or deleted.
    public var batchRows = 0
    /// How long this context waited for stores to answer requests, to write its saves and to carry out its batches. Single faults
    /// are not timed, which would take as long as they do, and asynchronous saves block no queue.
    public var timeInStore = Duration.zero

    /// All zero.
    public init() {}
  }

  /// Counts from zero again. On the context's queue.
  public func resetStatistics() {
    checkAccess()
    statistics = Statistics()
  }

  /// What contexts say about their requests, to standard error or to observers of messages; see ``DebugOutput``. May be set from any thread; default is what
  /// the environment variable `STRATA_DEBUG` says.
  public static var debugOutput: DebugOutput {
    get {
      _ = DebugOutput.environmentSwitch
      return DebugOutput.current
    }
    set {
      _ = DebugOutput.environmentSwitch
      DebugOutput.current = newValue
    }
  }

  // MARK: Asking the store

  /// Has one store answer a request: counted, timed, and reported when debug output is on.
  func ask(
    _ view: any StoreReading, of store: StoreBinding, _ request: ResolvedFetchRequest, mode: FetchMode
  ) throws -> FetchedRows {
    let start = ContinuousClock.now
    let fetched: FetchedRows
    do {
      fetched = try view.fetch(request, mode: mode)
    } catch {
      if Watching.concerns(.fetches) {
        tellFetch(request, mode, nil, of: store, ContinuousClock.now - start, error: error)
      }
      throw error
    }
    let time = ContinuousClock.now - start
    statistics.fetches += 1
    if mode == .rows { statistics.rowsRead += fetched.rows.count }
    statistics.timeInStore += time
    askedTimes?.append(time)
    if Watching.concerns(.fetches, .all) {
      if Watching.concerns(.fetches) { tellFetch(request, mode, fetched, of: store, time) }
      if !DebugOutput.current.isEmpty { tell(request, mode, fetched, time) }
    }
    return fetched
  }

  @inline(never)
  private func tell(
    _ request: ResolvedFetchRequest, _ mode: FetchMode, _ fetched: FetchedRows, _ time: Duration
  ) {
    let verb =
      switch mode {
      case .count: "count"
      case .identifiers: "fetch IDs of"
      case .rows: "fetch"
      }
    tell(
      "\(verb) \(request.entity.name)", plan: fetched.plan.description, rows: "\(fetched.count) rows", time)
  }

  /// A save off the context's queue has come home.
  @inline(never)
  func tellAsynchronous(_ changes: ChangeSet) {
    tell("asynchronous save", rows: Self.text(changes), nil)
  }

  private static func text(_ changes: ChangeSet) -> String {
    "\(changes.inserts.count) inserted, \(changes.updates.count) updated, \(changes.deletes.count) deleted"
  }

  /// A store has written, or refused, a save.
  func noteTime(since start: ContinuousClock.Instant, of changes: @autoclosure () -> ChangeSet, failed: Bool)
  {
    let time = ContinuousClock.now - start
    statistics.timeInStore += time
    if DebugOutput.current.isEmpty { return }
    tell(failed ? "save, refused" : "save", rows: Self.text(changes()), time)
  }

  /// A store has carried out a batch.
  func noteBatch(_ type: PersistentStoreRequestType, _ count: Int, since start: ContinuousClock.Instant) {
    let time = ContinuousClock.now - start
    statistics.batches += 1
    statistics.batchRows += count
    statistics.timeInStore += time
    if Watching.concerns(.batches, .all) {
      if Watching.concerns(.batches) { tellBatch(type, count, time) }
      if !DebugOutput.current.isEmpty { tell("\(type)", rows: "\(count) rows", time) }
    }
  }

  /// One line about what this context had a store do.
  func tell(_ what: String, plan: String? = nil, rows: String, _ time: Duration?) {
    let output = DebugOutput.current
    // A request for faults alone needs nothing else.
    if output.isSubset(of: .faults) { return }
    var parts = [what]
    if output.contains(.plan), let plan { parts.append("plan: \(plan)") }
    if output.contains(.rows) { parts.append(rows) }
    if output.contains(.time), let time { parts.append(Self.text(time)) }
    DebugOutput.write("\(description) \(parts.joined(separator: "; "))")
  }

  /// One line about a fault that was fired.
  @inline(__always)
  func tellFault(_ what: @autoclosure () -> String) {
    if DebugOutput.current.contains(.faults) { DebugOutput.write("\(description) fault: \(what())") }
  }

  private static func text(_ time: Duration) -> String {
    let (seconds, attoseconds) = time.components
    let microseconds = Double(seconds) * 1e6 + Double(attoseconds) * 1e-12
    let rounded = (microseconds * 10).rounded() / 10
    return rounded < 1_000 ? "\(rounded) µs" : "\((microseconds / 10).rounded() / 100) ms"
  }
}
