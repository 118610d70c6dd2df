import Foundation
import Synchronization

/// The objects that match a request, in order and in sections, kept up to date as their context changes.
///
///     let request = FetchRequest<Flight>(
///       entityName: "Flight", sortDescriptors: [FetchSort("airline"), FetchSort("departure")])
///     let controller = FetchedResultsController(
///       fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "airline")
///     controller.delegate = list
///     try controller.performFetch()
///     controller.object(at: IndexPath(row: 0, section: 2))
///
/// Driven by what its context shows at the end of each event, saved or not: edits, undo, what child contexts save, merged saves of
/// siblings, batches and other processes (rule 245). What is no object in the context counts as much as what is (rule 178), and so do
/// changes of other objects that the predicate, a sort key or the section key path leads to (rule 261). Replaying what is
/// reported on the old list gives what the context would fetch (rule 265).
///
/// Holds IDs and sort keys, and no object: mostly four bytes for each, what its sort key has not in common with those around it, and four to
/// some forty more once changes are followed. Objects live while they are held, or the context's `retainsRegisteredObjects` is set: what a class stores beside its
/// attributes is lost with them. An event costs what it has touched, times the logarithm of the list's length; it reads the rows that have been
/// touched, and makes no objects.
///
/// Belongs to its context's queue, holds the context, and does not hold its delegate. Changes are followed while there is a
/// delegate that receives them, or a task that iterates over ``changes`` or ``snapshots`` (rule 244).
public final class FetchedResultsController<Result: ManagedObject> {
  /// What is fetched: a value, as it was given; for another request make another controller. The list is what the context shows
  /// (rule 243), whether the request includes pending changes or not.
  public let fetchRequest: FetchRequest<Result>
  /// The context whose objects these are.
  public let managedObjectContext: ManagedObjectContext
  /// The key path to what objects are divided into sections by; nil for one section. Ends at an attribute, perhaps of an object that
  /// to-one relationships lead to. Objects of one section must stand together in the order of the request (rule 242).
  public let sectionNameKeyPath: String?
  /// As given. Nothing is kept under this name: see ``deleteCache(withName:)``.
  public let cacheName: String?

  /// The receiver of changes; see ``FetchedResultsControllerDelegate``.
  ///
  /// Not held. A delegate that was told *will change* is told *did change*, even if it has called `performFetch()` in between; one that is taken
  /// away in between gets nothing more, and one that is set in its place gets the changes that follow.
  ///
  /// A delegate is set on the context's queue, and taken away from any thread: no call is decided on after `delegate = nil` has returned. That does not wait for a call that the context's
  /// queue is beginning or making just then, which holds the delegate until it is over.
  public var delegate: (any FetchedResultsControllerDelegate<Result>)? {
    get { delegateLock.withLock { roles.delegate } }
    set {
      if newValue != nil { checkQueue() }
      let new = DelegateRoles(newValue)
      delegateLock.withLock { roles = new }
      if newValue != nil {
        settleListening()
      } else {
        // By the context's queue, before it follows the next change.
        mustSettle.store(true, ordering: .releasing)
      }
    }
  }
  private var roles = DelegateRoles<Result>(nil)
  private let delegateLock = NSLock()
  /// Whether the delegate was taken away since it was last asked whether changes are to be followed.
  private let mustSettle = Atomic<Bool>(false)

  /// The titles of sections as a controller around this one gives them, whatever the delegate says.
  package var sectionTitle: ((String) -> String?)?

  /// Told when the list has changed, before any delegate is, and whether there is one or not.
  package var listDidChange: (() -> Void)?

  /// What a controller around this one has handed out, and its delegate was told of: kept until it leaves the list. Nil, the default, to keep nothing but the batches that were looked at
  /// last.
  ///
  /// To be set before `performFetch()`, to what a controller that is replaced has kept, or to nothing. Of that stays what the new list has. All objects of a list
  /// that is not long are made then, as faults.
  package var keptObjects: [ManagedObject]? {
    get { keeper?.all }
    set {
      keeper = newValue.map { ResultsKeeper($0) }
      reader?.keeper = holdsShown ? keeper : nil
    }
  }

  /// Up to how many objects a list has all of them made when they are fetched, where it keeps them. Making one takes a fraction of a microsecond.
  package static var mostMadeAtOnce: Int { 1_024 }

  /// Whether objects that are handed out are kept. Not those of a long list that is to be read in batches: the batches that were looked at last hold them.
  private var holdsShown: Bool {
    tracker.shown.count <= Self.mostMadeAtOnce || (tracker.plan?.specification.fetchBatchSize ?? 0) == 0
  }

  private let tracker: ResultsTracker
  private let computedSections: ComputedSections?
  private let consumers = ResultsConsumers()
  private var reader: ResultsReader?
  private var keeper: ResultsKeeper?
  /// The delegate that knows that the list is about to change, and not yet that it has.
  private weak var delegateInBatch: (any FetchedResultsChangeDelegate<Result>)?

  /// Makes a controller, which has no results before `performFetch()` (rule 243).
  ///
  /// - Parameters:
  ///   - fetchRequest: What the list shows. Later changes to the variable have no effect.
  ///   - managedObjectContext: The context whose objects the list shows; the controller keeps it alive.
  ///   - sectionNameKeyPath: What divides the objects into sections; nil for one section.
  ///   - cacheName: Has no effect.
  ///   - sectionName: What a section is called, by what the section key path leads to as text: its first letter, say. Nil to call it
  ///     that. Must give the same for the same, and is called on the context's queue.
  public convenience init(
    fetchRequest: FetchRequest<Result>, managedObjectContext: ManagedObjectContext,
    sectionNameKeyPath: String? = nil, cacheName: String? = nil, sectionName: ((String) -> String)? = nil
  ) {
    self.init(
      fetchRequest, managedObjectContext, sectionNameKeyPath, cacheName, SectionNames(sectionName), nil)
  }

  /// The same for sections that no stored value names.
  package convenience init(
    fetchRequest: FetchRequest<Result>, managedObjectContext: ManagedObjectContext,
    computedSections: ComputedSections, cacheName: String?
  ) {
    self.init(
      fetchRequest, managedObjectContext, computedSections.keyPath, cacheName, SectionNames(nil),
      computedSections)
  }

  private init(
    _ fetchRequest: FetchRequest<Result>, _ context: ManagedObjectContext, _ sectionNameKeyPath: String?,
    _ cacheName: String?, _ names: SectionNames, _ computedSections: ComputedSections?
  ) {
    self.fetchRequest = fetchRequest
    managedObjectContext = context
    self.sectionNameKeyPath = sectionNameKeyPath
    self.cacheName = cacheName
    self.computedSections = computedSections
    tracker = ResultsTracker(context, names)
    tracker.receiver = self
  }

  deinit { consumers.finish() }

  /// Fetches the objects, or fetches them again. Does not notify the delegate; sequences that have not ended continue with the new list.
  /// Without sort descriptors the order is that of primary keys.
  ///
  /// - Throws: `CoreDataError` 134060 when the objects of a section do not stand together (rule 242); what
  ///   `fetch(_:)` throws. What was fetched before stays.
  public func performFetch() throws {
    let context = managedObjectContext
    checkQueue()
    let specification = try context.specification(of: fetchRequest)
    try context.checkResultType(Result.self, specification.entityName)
    // Of what is looked up here only whether it can be: the values are read again below.
    var first: SteadyReading?
    var plan = try ResultsPlan.make(
      specification, sectionNameKeyPath: sectionNameKeyPath, computed: computedSections, in: context, &first)
    first?.release()
    // A relationship that does not exist: better told now than when an object is looked at.
    _ = try context.prefetch(specification.relationshipKeyPathsForPrefetching, of: [], plan.request.entity)
    settleListening()
    // What was edited before belongs to the list that is read, and to no change afterwards.
    context.tellChanges()
    var steady: SteadyReading?
    if let renewed = try plan.renewed(in: context, &steady) { plan = renewed }
    try tracker.fetch(plan, steady)
    consumers.follow(tracker.stores)
    makeReader()
    settleKept()
    if !consumers.isEmpty { consumers.yield(FetchedResultsChange(initial: makeSnapshot([]))) }
  }

  /// The objects, in order; nil before `performFetch()`, and after the context was reset or one of the stores removed (rules 243,
  /// 256).
  public var fetchedObjects: FetchedResults<Result>? {
    currentReader.map { FetchedResults($0, 0..<$0.list.count) }
  }

  /// The object at section and row. Traps when there is none, or nothing was fetched.
  public func object(at indexPath: IndexPath) -> Result {
    guard let sections else {
      trap(
        "a fetched results controller of \(fetchRequest.entityName) was asked for an object before performFetch(), or after its context was "
          + "reset, its store removed, or its sections broken: call performFetch() first.")
    }
    guard indexPath.count == 2, sections.indices.contains(indexPath[0]) else {
      trap("there is no section at \(indexPath): \(sections.count) sections are there.")
    }
    let objects = sections[indexPath[0]].objects
    guard objects.indices.contains(indexPath[1]) else {
      trap("there is no object at \(indexPath): the section has \(objects.count).")
    }
    return objects[indexPath[1]]
  }

  /// Section and row of an object; nil when it is not among the results. Does not look for the object.
  public func indexPath(forObject object: Result) -> IndexPath? { indexPath(forID: object.objectID) }

  /// Section and row of the object with an ID.
  public func indexPath(forID id: ManagedObjectID) -> IndexPath? {
    currentReader == nil
      ? nil
      : tracker.position(of: id).map {
        PathFinder(tracker.shown, sectionNameKeyPath != nil).path($0)
      }
  }

  /// The sections, in order; nil before `performFetch()`. Without a section key path there is one, even without objects (rule 258).
  public var sections: FetchedResultsSections<Result>? {
    currentReader.map { reader in
      FetchedResultsSections(makeSnapshot([]), reader) { [weak self] name in
        guard let self else { return Self.usualIndexTitle(name) }
        return self.sectionIndexTitle(forSectionName: name)
      }
    }
  }

  // MARK: Titles

  /// The titles of the sections, each once, in order (rule 258).
  public var sectionIndexTitles: [String] {
    var titles: [String] = []
    guard sectionNameKeyPath != nil else { return titles }
    for name in sections == nil ? [] : makeSnapshot([]).sectionNames {
      if let title = sectionIndexTitle(forSectionName: name), title != titles.last { titles.append(title) }
    }
    return titles
  }

  /// The title of a section: what the delegate says, or the first letter of its name, capitalised (rule 258).
  public func sectionIndexTitle(forSectionName name: String) -> String? {
    if let sectionTitle { return sectionTitle(name) }
    guard let delegate else { return Self.usualIndexTitle(name) }
    return delegate.controller(self, sectionIndexTitleForSectionName: name)
  }

  /// The first letter of a name, capitalised; nil for an empty name.
  public static func usualIndexTitle(_ name: String) -> String? { name.first.map { $0.uppercased() } }

  /// The first section whose title is the one at `index` of `sectionIndexTitles`. Traps when that is another title, or there is none.
  public func section(forSectionIndexTitle title: String, at index: Int) -> Int {
    var place = -1
    var last: String?
    for (section, name) in makeSnapshot([]).sectionNames.enumerated() {
      guard let found = sectionIndexTitle(forSectionName: name), found != last else { continue }
      last = found
      place += 1
      if place == index, found == title { return section }
    }
    trap("“\(title)” is not the title number \(index) of the sections.")
  }

  // MARK: Values and sequences

  /// The list as it is now, as a value; nil before `performFetch()`.
  public var snapshot: FetchedResultsSnapshot? {
    currentReader == nil ? nil : makeSnapshot([])
  }

  /// What changes from now on, beginning with the list as it is (`isInitial`) if it has been fetched, without a gap in between.
  ///
  /// Each sequence has a buffer of its own, without limit, and may be iterated anywhere, by one task: a task that is cancelled while
  /// it waits ends the sequence. It ends with the controller, when a store of the list is removed, and when sections would not stand
  /// together any more (rules 242, 256); ask for another one after the next `performFetch()`. While the store cannot be read it waits.
  /// After `reset()` of the context it waits and goes on with the list that is fetched next.
  public var changes: AsyncStream<FetchedResultsChange> {
    let stream = consumers.makeStream(
      currentReader == nil ? nil : FetchedResultsChange(initial: makeSnapshot([])),
      managedObjectContext.coordinator)
    settleListening()
    return stream
  }

  /// The list as it is now, if it has been fetched, and after each change.
  public var snapshots: AsyncMapSequence<AsyncStream<FetchedResultsChange>, FetchedResultsSnapshot> {
    changes.map(\.snapshot)
  }

  /// How the list differs from the one before, for each change from now on.
  public var differences:
    AsyncMapSequence<
      AsyncFilterSequence<AsyncStream<FetchedResultsChange>>, CollectionDifference<ManagedObjectID>
    >
  { changes.filter { !$0.isInitial }.map(\.difference) }

  /// Does nothing, on purpose: there is no cache that could be out of date. Opening a list is one walk along an index, and
  /// a cache of its sections would have to be proved right by the same walk (rule 259).
  public static func deleteCache(withName name: String?) {}

  // MARK: Inside

  /// Traps when the caller is not on the context's queue.
  private func checkQueue() {
    managedObjectContext.checkAccess(
      toWhat: "A FetchedResultsController of \(fetchRequest.entityName) in \(managedObjectContext)")
  }

  private func settleListening() {
    // Before the delegate is looked at: who takes it away marks that afterwards.
    _ = mustSettle.exchange(false, ordering: .acquiringAndReleasing)
    // Asked outside the lock: this may hold the last reference to a delegate that takes itself away in its `deinit`, which takes the lock.
    let roles = delegateLock.withLock { self.roles }
    tracker.setListening(roles.isTold || !consumers.isEmpty)
  }

  /// Nil when there is nothing to show.
  private var currentReader: ResultsReader? {
    checkQueue()
    tracker.endIfStoreIsGone()
    return reader
  }

  /// Of what is kept stays what the list has.
  private func settleKept() {
    guard let keeper, let reader else { return }
    let former = keeper.all
    keeper.releaseAll()
    if reader.list.count <= Self.mostMadeAtOnce {
      reader.forEachObject { keeper.keep($1, $0) }
    } else if holdsShown {
      for object in former
      where object.context === managedObjectContext && tracker.position(of: object.objectID) != nil {
        keeper.keep(object, reader.identity(of: object))
      }
    }
    // Those that are in both lists are found, and not made again.
    withExtendedLifetime(former) {}
  }

  /// What was told of is kept; returns what leaves the list and was kept, by identity.
  private func keep(_ report: ResultsReport) -> [UInt64: ManagedObject] {
    guard let keeper, let reader else { return [:] }
    var leavers: [UInt64: ManagedObject] = [:]
    for item in report.items {
      if item.kind == .delete {
        leavers[item.identity] = keeper.release(item.identity)
      } else if holdsShown {
        keeper.keep(reader.object(item.identity, item.code), item.identity)
      }
    }
    return leavers
  }

  private func makeReader() {
    // What looks at the list as it was gets its objects, and keeps them itself.
    reader?.keeper = nil
    defer {
      if holdsShown { reader?.keeper = keeper }
      listDidChange?()
    }
    guard let plan = tracker.plan, tracker.index != nil else { return reader = nil }
    reader = ResultsReader(tracker.shown, tracker.stores, managedObjectContext, plan)
  }

  private func makeSnapshot(_ reloaded: [ManagedObjectID]) -> FetchedResultsSnapshot {
    FetchedResultsSnapshot(
      tracker.shown, names: tracker.names.names, stores: tracker.stores,
      hasSections: sectionNameKeyPath != nil, reloaded: reloaded)
  }
}

@available(*, unavailable)
extension FetchedResultsController: Sendable {}

extension FetchedResultsController: ResultsReceiver {
  private var snapshotDelegate: (any FetchedResultsSnapshotDelegate<Result>)? {
    delegateLock.withLock { roles.snapshots }
  }

  private var differenceDelegate: (any FetchedResultsDifferenceDelegate<Result>)? {
    sectionNameKeyPath == nil ? delegateLock.withLock { roles.differences } : nil
  }

  private var changeDelegate: (any FetchedResultsChangeDelegate<Result>)? {
    if snapshotDelegate != nil || differenceDelegate != nil { return nil }
    return delegateLock.withLock { roles.changes }
  }

  func resultsWillBeFollowed() {
    if mustSettle.load(ordering: .acquiring) { settleListening() }
  }

  func resultsWillChange() {
    // One that is set in the course of the call is told as well, before it shows the list of before; each once.
    for _ in 0..<Self.mostDelegates {
      guard let delegate = changeDelegate, delegate !== delegateInBatch else { return }
      delegateInBatch = delegate
      delegate.controllerWillChangeContent(self)
    }
  }

  private static var mostDelegates: Int { 4 }

  func resultsWereFetched() { endBatch() }

  /// A delegate that was told that the list is about to change is told that it has, unless it was removed.
  private func endBatch() {
    defer { delegateInBatch = nil }
    guard let delegate = delegateInBatch, delegate === self.delegate else { return }
    delegate.controllerDidChangeContent(self)
  }

  func resultsDidChange(_ report: ResultsReport) {
    consumers.follow(report.stores)
    makeReader()
    // Delegates are told of the very objects that leave.
    let leavers = keep(report)
    // A list that has grown long keeps no more than one that was fetched as long.
    defer { if !holdsShown { keeper?.releaseAll() } }
    let reloaded = report.items.filter { $0.kind == .update || $0.kind == .move }.map {
      FetchedResultsIdentifiers.identifier($0.identity, $0.code, report.stores)
    }
    let snapshot = makeSnapshot(reloaded)
    // First: a delegate may fetch again, and sequences continue from there.
    if !consumers.isEmpty { consumers.yield(FetchedResultsChange(report, snapshot)) }
    if let delegate = snapshotDelegate {
      delegate.controller(self, didChangeContentWith: snapshot)
    } else if let delegate = differenceDelegate {
      delegate.controller(self, didChangeContentWith: FetchedResultsChange(report, snapshot).difference)
    } else if let delegate = changeDelegate, delegate === delegateInBatch {
      tell(report, leavers, to: delegate)
    }
    endBatch()
  }

  private func tell(
    _ report: ResultsReport, _ leavers: [UInt64: ManagedObject],
    to delegate: any FetchedResultsChangeDelegate<Result>
  ) {
    guard let reader else { return }
    func section(_ name: String, _ range: Range<Int>) -> FetchedResultsSection<Result> {
      FetchedResultsSection(
        name: name, indexTitle: sectionIndexTitle(forSectionName: name),
        objects: FetchedResults(reader, range))
    }
    // A delegate that is removed, or that fetches again, gets no more of these changes.
    var isOver: Bool { self.reader !== reader || delegate !== self.delegate }
    for one in report.deletedSections where !isOver {
      delegate.controller(
        self, didChange: section(one.name, 0..<0), atSectionIndex: one.index, for: .delete)
    }
    for one in report.insertedSections where !isOver {
      let range = report.new.start(ofRun: one.index)..<report.new.start(ofRun: one.index + 1)
      delegate.controller(self, didChange: section(one.name, range), atSectionIndex: one.index, for: .insert)
    }
    for item in report.items where !isOver {
      // Every object is of the entity's class or a subclass, which was checked to be a Result.
      let object = unsafeDowncast(
        leavers[item.identity] ?? reader.object(item.identity, item.code), to: Result.self)
      delegate.controller(
        self, didChange: object, at: item.oldPath, for: item.kind, newIndexPath: item.newPath)
    }
  }

  func resultsDidLag(_ error: any Error) {
    if let delegate {
      delegate.controller(self, didFailWith: error)
    } else {
      managedObjectContext.tell(ReadFailure(error, []))
    }
  }

  func resultsDidEnd(_ reason: ResultsEnd) {
    reader?.keeper = nil
    reader = nil
    keeper?.releaseAll()
    switch reason {
    // Waiting tasks are notified of the next fetch.
    case .reset: return
    case .storeRemoved: endSequences()
    case .failed(let error):
      // First: a delegate may fetch again, and a new observer may begin.
      endSequences()
      delegate?.controller(self, didFailWith: error)
    }
  }

  private func endSequences() {
    consumers.finish()
    settleListening()
  }
}
