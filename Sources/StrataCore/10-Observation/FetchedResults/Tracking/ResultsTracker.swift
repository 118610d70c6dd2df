import Foundation

/// The owner of a tracked list. Called on the context's queue.
protocol ResultsReceiver: AnyObject {
  /// Something has changed: the last moment to say that changes are not followed any more.
  func resultsWillBeFollowed()
  /// The list is about to change: what is shown is still the old one.
  func resultsWillChange()
  /// The list has changed.
  func resultsDidChange(_ report: ResultsReport)
  /// A delegate has fetched the list again in its *will change* call: there is nothing more to report.
  func resultsWereFetched()
  /// The list could not be read, and is what it was; it is read again with the next change.
  func resultsDidLag(_ error: any Error)
  /// There is no list any more.
  func resultsDidEnd(_ reason: ResultsEnd)
}

/// Why there is no list any more.
enum ResultsEnd {
  /// The context was reset.
  case reset
  /// A store of the list was removed.
  case storeRemoved
  /// Its sections would not stand together any more.
  case failed(any Error)
}

/// Follows the list of objects that a request finds as its context changes.
///
/// ```
///   touched objects ─┐                          ┌─ old entry: position, section, key as of the last report
///   related ones  ───┴─▶ each object, looked at ┤
///                        as the context sees it └─ new entry, if it matches
///                                 │
///                  taken out and put in ▶ positions before and after ▶ report
/// ```
///
/// Holds the identity and the sort key of each object, packed, and no object. What an event costs grows with what it has touched, and with
/// the logarithm of the list's length; a list of which much is touched is read again and compared. On the context's queue.
final class ResultsTracker: ContextObserver {
  let context: ManagedObjectContext
  let names: SectionNames
  weak var receiver: (any ResultsReceiver)?
  private(set) var plan: ResultsPlan?
  /// The newest list; nil before the first fetch.
  private(set) var index: EntryIndex?
  /// What is shown: the same, but for the moment before a change is told.
  private(set) var shown = EntryList.empty
  /// The stores that entries are of, by the place that identities name.
  private(set) var stores: [StoreBinding] = []
  private var relatedValues = RelatedValues()
  private var lastOwners = LastOwners()
  /// Events have gone by unseen since the list was read.
  private var isBehind = false
  private var isListening = false
  /// What has changed in events that could not be followed: told of when the list can be read again.
  private var unseen: Set<ManagedObjectID> = []
  /// By identity, the sections that the objects' class has named, until the object changes.
  var computedSections: [UInt64: UInt32] = [:]
  /// The sections of the list that was read last do not stand together.
  var hasBrokenSections = false

  init(_ context: ManagedObjectContext, _ names: SectionNames) {
    self.context = context
    self.names = names
  }

  // MARK: Beginning and end

  /// Reads the list.
  /// - Parameter steady: What the plan's own values were read through; nil when it has none. It is ended.
  func fetch(_ plan: ResultsPlan, _ steady: SteadyReading?) throws {
    if hasLostStore {
      // Identities name places among these, which entries of before have.
      end(.storeRemoved)
      stores = []
    }
    let before = computedSections
    computedSections = [:]
    let found: (EntryIndex, LastOwners)
    do { found = try read(plan, steady) } catch {
      computedSections = before
      throw error
    }
    let (index, owners) = found
    lastOwners = owners
    relatedValues = RelatedValues()
    self.plan = plan
    self.index = index
    shown = index.list
    isBehind = !isListening
    unseen = []
  }

  /// Whether changes are followed (rule 244). What has changed while they were not comes with the first change afterwards.
  func setListening(_ listens: Bool) {
    if listens == isListening { return }
    isListening = listens
    if listens { context.addObserver(self) } else { context.removeObserver(self) }
    if !listens { isBehind = true }
  }

  /// Whether a store that entries are of has been removed (rule 256).
  private var hasLostStore: Bool {
    stores.contains { context.coordinator.binding($0.index) == nil }
  }

  /// There is no list of objects of a store that is not there any more, from the moment when it is asked for.
  func endIfStoreIsGone() {
    if index != nil, hasLostStore { end(.storeRemoved) }
  }

  private func end(_ reason: ResultsEnd) {
    index = nil
    unseen = []
    shown = .empty
    receiver?.resultsDidEnd(reason)
  }

  // MARK: Looking

  /// The place of a store among those that entries are of.
  func place(of binding: StoreBinding) -> Int {
    if let known = stores.firstIndex(where: { $0 === binding }) { return known }
    stores.append(binding)
    return stores.count - 1
  }

  /// The position of an object in what is shown.
  func position(of id: ManagedObjectID) -> Int? {
    guard index != nil, let identity = identity(of: id) else { return nil }
    if index?.list.root === shown.root { return index?.position(identity) }
    // Asked while a change is being told: there is no table of what was before.
    return shown.search(identity).map { shown.position(of: $0.key, identity) }
  }

  private func identity(of id: ManagedObjectID) -> UInt64? {
    guard let place = context.locate(id), place.bound.hierarchyNumber == plan?.request.hierarchyNumber,
      let store = stores.firstIndex(where: { $0 === place.store })
    else { return nil }
    return ResultEntry.identity(id.primaryKey, store: store)
  }

  // MARK: Events

  func contextDidChange(_ change: ContextChange) {
    receiver?.resultsWillBeFollowed()
    guard isListening, index != nil, let plan else { return }
    // A delegate that is told of the beginning is told of the end, even if it releases the controller in between.
    let receiver = receiver
    defer { withExtendedLifetime(receiver) {} }
    if hasLostStore { return end(.storeRemoved) }
    if change.isEverythingInvalidated { return end(.reset) }
    hasBrokenSections = false
    do {
      guard let report = try follow(change, plan) else { return }
      if report.isEmpty {
        // Positions are the same; the keys may not be.
        shown = index?.list ?? .empty
        return
      }
      receiver?.resultsWillChange()
      // A delegate may have fetched again.
      guard let index, index.list.root === report.new.root else {
        receiver?.resultsWereFetched()
        return
      }
      shown = index.list
      receiver?.resultsDidChange(report)
    } catch {
      if hasBrokenSections { return end(.failed(error)) }
      isBehind = true
      change.forEach { unseen.insert($0) }
      receiver?.resultsDidLag(error)
    }
  }

  /// Brings the list in line with what has changed.
  private func follow(_ change: ContextChange, _ known: ResultsPlan) throws -> ResultsReport? {
    guard var index else { return nil }
    // What the condition says of all objects may be something else now.
    var reading: SteadyReading?
    let renewed = try known.renewed(in: context, &reading)
    let plan = renewed ?? known
    if renewed != nil { self.plan = plan }
    var touched = Touched(self, plan)
    change.forEach { touched.add($0) }
    for id in unseen { touched.add(id) }
    if isBehind || change.isAllRefreshed || renewed != nil {
      computedSections = [:]
      return try reload(plan, touched, reading)
    }
    reading?.release()
    if touched.isEmpty { return nil }
    context.flushAncestors()
    // What objects refer to is read beside them.
    let steady = SteadyReading(context, isHeld: !plan.related.steps.isEmpty)
    defer { steady.release() }
    // What cannot be read fails here, before anything of the list is changed.
    try context.throwingFailures {
      try touched.addRelated(plan, steady, &relatedValues, &lastOwners)
    }
    touched.forEachIdentity { computedSections[$0] = nil }
    if touched.mustReload {
      steady.release()
      computedSections = [:]
      return try reload(plan, touched)
    }
    if touched.direct.isEmpty, touched.related.isEmpty { return nil }
    if touched.count > max(256, index.list.count / 4) || plan.request.offset > 0 {
      steady.release()
      return try reload(plan, touched)
    }
    var touches = try context.throwingFailures { try touched.entries(plan, steady) }
    steady.release()
    for place in touches.indices { touches[place].old = index.entry(touches[place].identity) }
    let limit = plan.request.limit
    let isFull = limit > 0 && index.list.count >= limit
    if isFull {
      // What lies behind the last one of a full list is not in it.
      let (leaf, place) = index.list.find(index.list.count - 1)
      let last = leaf.entry(place)
      for place in touches.indices {
        if let new = touches[place].new, last.isBefore(new) { touches[place].new = nil }
      }
    }
    touches.removeAll { $0.old == nil && $0.new == nil || $0.isIdle }
    if touches.isEmpty {
      // How often the list was searched, and the table that may have been made.
      self.index = index
      return nil
    }
    let old = index.list
    let oldCounts = index.sectionCounts
    for place in touches.indices {
      if let entry = touches[place].old {
        touches[place].oldPosition = old.position(of: entry.key, entry.identity)
      }
    }
    if touches.contains(where: \.isMoved) {
      // When it is not held elsewhere, the table of a long list is changed where it lies. A window may have to be read again and compared
      // with what was before; its table is small. From here on only broken sections are an error, which ends the list: what others have changed of objects
      // that the event has not touched is not in it yet, and so they must be broken in the list that is read again, too.
      if limit == 0 { self.index = nil }
      let moved = touches.filter(\.isMoved)
      let (removed, inserted) = (moved.compactMap(\.old), moved.compactMap(\.new))
      if Self.isWorthOneWalk(removed.count + inserted.count, of: old.count) {
        index.replace(removed, by: inserted)
      } else {
        index.beginEdit()
        for entry in removed { index.remove(entry) }
        for entry in inserted { index.insert(entry) }
      }
      if isFull, index.list.count < limit { return try reload(plan, touched) }
      if limit > 0 { cut(&index, &touches, limit, old) }
      if plan.hasSections, !index.isGrouped {
        self.index = EntryIndex(copying: old)
        return try reload(plan, touched)
      }
    }
    for place in touches.indices {
      if let new = touches[place].new {
        touches[place].newPosition = index.list.position(of: new.key, new.identity)
      }
    }
    index.assertInvariants()
    self.index = index
    return ResultsReport(
      old: old, new: index.list, touches, oldCounts: oldCounts, newCounts: index.sectionCounts,
      hasSections: plan.hasSections, names: names.names, stores: stores)
  }

  /// Whether so many entries are taken out and put in faster by one walk over the list than one by one.
  static func isWorthOneWalk(_ edits: Int, of count: Int) -> Bool { edits > 16 && edits > count / 16 }

  /// Takes out what lies behind the end of the window.
  private func cut(_ index: inout EntryIndex, _ touches: inout [EntryTouch], _ limit: Int, _ old: EntryList) {
    while index.list.count > limit {
      let (leaf, place) = index.list.find(index.list.count - 1)
      let last = leaf.entry(place)
      index.remove(last)
      if let place = touches.firstIndex(where: { $0.identity == last.identity }) {
        touches[place].new = nil
      } else {
        touches.append(
          EntryTouch(
            identity: last.identity, isDirect: false, old: last, new: nil,
            oldPosition: old.position(of: last.key, last.identity)))
      }
    }
    touches.removeAll { $0.old == nil && $0.new == nil }
  }

  /// The list as it is now, and whom its members belong to.
  ///
  /// - Throws: also what could not be read on the way, such as a fault that fired.
  private func read(_ plan: ResultsPlan, _ steady: SteadyReading?) throws -> (EntryIndex, LastOwners) {
    try context.throwingFailures { try loadAll(plan, steady) }
  }

  /// Reads the list again and compares.
  private func reload(_ plan: ResultsPlan, _ touched: Touched, _ steady: SteadyReading? = nil) throws
    -> ResultsReport?
  {
    guard var before = index else { return nil }
    let (after, owners) = try read(plan, steady)
    lastOwners = owners
    // What was seen before belongs to the list of before.
    relatedValues = RelatedValues()
    isBehind = !isListening
    let direct = touched.directIdentities
    before.prepareLookups()
    var touches: [EntryTouch] = []
    var position = 0
    var kept: Set<UInt64> = []
    after.list.forEach { leaf, place in
      let identity = leaf.entries.identity(place)
      let new = leaf.entry(place)
      let old = before.entry(identity)
      if old != nil { kept.insert(identity) }
      let touch = EntryTouch(
        identity: identity, isDirect: direct.contains(identity), old: old, new: new,
        newPosition: position)
      if !touch.isIdle { touches.append(touch) }
      position += 1
      return true
    }
    var places: [UInt64: Int] = [:]
    for (place, touch) in touches.enumerated() where touch.old != nil { places[touch.identity] = place }
    position = 0
    before.list.forEach { leaf, place in
      let identity = leaf.entries.identity(place)
      if let place = places[identity] {
        touches[place].oldPosition = position
      } else if !kept.contains(identity) {
        touches.append(
          EntryTouch(
            identity: identity, isDirect: false, old: leaf.entry(place), new: nil, oldPosition: position))
      }
      position += 1
      return true
    }
    index = after
    unseen = []
    return ResultsReport(
      old: before.list, new: after.list, touches, oldCounts: before.sectionCounts,
      newCounts: after.sectionCounts, hasSections: plan.hasSections, names: names.names, stores: stores)
  }
}

extension ResultEntry {
  func isBefore(_ other: ResultEntry) -> Bool {
    key.withUnsafeBytes { left in
      other.key.withUnsafeBytes { EntryNode.order(left, identity, $0, other.identity) < 0 }
    }
  }
}

/// One object that an event has touched: its entries before and after.
struct EntryTouch {
  let identity: UInt64
  /// Whether it has changed itself.
  let isDirect: Bool
  var old: ResultEntry?
  var new: ResultEntry?
  var oldPosition = -1
  var newPosition = -1

  /// Whether its entry is another one than before.
  var isMoved: Bool { old != new }
  /// Whether there is nothing to report.
  var isIdle: Bool { !isDirect && old == new }
}
