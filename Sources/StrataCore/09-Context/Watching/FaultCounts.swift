import Foundation

/// Counts the faults of a context that are read alone, while somebody asks for repeated ones, and remembers which relationship led to which fault. For
/// the length of one event.
final class FaultCounts {
  /// A place of the program, and what it misses.
  private struct Place: Hashable {
    let entity: Int
    /// The relationship whose members are read; of a row, the one that led to it; -1 for none.
    let relationship: Int
    let isMembers: Bool
    /// Made of the return addresses.
    let site: Int
  }

  private var counts: [Place: Int] = [:]
  /// Which relationship was walked to an object, by its number.
  private var ways: [StratumLayer.Place: Int] = [:]
  /// Whether the end of the event will clear them.
  private var isEnding = false

  /// So many are kept; then it begins anew.
  private static let most = 65_536

  init() {}

  func note(_ relationship: RelationshipSchema, ledTo place: StratumLayer.Place) {
    if ways.count == Self.most { ways = [:] }
    ways[place] = relationship.number
  }

  func way(to place: StratumLayer.Place) -> Int? { ways[place] }

  /// Counts one more; how many there are now.
  func count(entity: Int, relationship: Int?, isMembers: Bool, site: Int) -> Int {
    if counts.count == Self.most { counts = [:] }
    let place = Place(entity: entity, relationship: relationship ?? -1, isMembers: isMembers, site: site)
    return counts[place, default: 0].incremented()
  }

  /// Whether `context` has to be asked to clear at the end of its event.
  func beginEvent() -> Bool {
    defer { isEnding = true }
    return !isEnding
  }

  func endEvent() {
    counts.removeAll(keepingCapacity: true)
    ways.removeAll(keepingCapacity: true)
    isEnding = false
  }

  /// Whether `count` is told: the threshold, ten times it, and so on.
  static func isTold(_ count: Int, threshold: Int) -> Bool {
    var step = threshold
    while step < count {
      let (next, overflows) = step.multipliedReportingOverflow(by: 10)
      if overflows { return false }
      step = next
    }
    return step == count
  }
}

extension Int {
  fileprivate mutating func incremented() -> Int {
    self += 1
    return self
  }
}

extension ManagedObjectContext {
  /// Somebody walks a relationship to an object: where that is a fault, the way is remembered.
  @inline(__always)
  func noteWay(_ relationship: RelationshipSchema, to object: ManagedObject) {
    if Watching.concerns(.anyFault) { rememberWay(relationship, to: object) }
  }

  @inline(never)
  private func rememberWay(_ relationship: RelationshipSchema, to object: ManagedObject) {
    guard object.isFault, object.snapshot == nil else { return }
    watchedFaults().note(relationship, ledTo: object.place)
  }

  /// The same for the members of a relationship.
  @inline(__always)
  func noteWay(_ relationship: RelationshipSchema, to objects: [ManagedObject]) {
    if Watching.concerns(.anyFault) { for object in objects { rememberWay(relationship, to: object) } }
  }

  /// The row of an object has been read, together with `count - 1` others.
  /// - Parameter isAlone: Whether the program has fired the fault, and it was read for that alone.
  @inline(__always)
  func tellRowRead(_ object: ManagedObject, count: Int = 1, isAlone: Bool) {
    if Watching.concerns(.anyFault) { faultWasRead(object, nil, count, isAlone) }
  }

  /// The members of a relationship have been read, of an object and `count - 1` others.
  @inline(__always)
  func tellMembersRead(
    _ object: ManagedObject, _ relationship: RelationshipSchema, count: Int = 1, isAlone: Bool
  ) {
    if Watching.concerns(.anyFault) { faultWasRead(object, relationship, count, isAlone) }
  }

  @inline(never)
  private func faultWasRead(
    _ object: ManagedObject, _ members: RelationshipSchema?, _ count: Int, _ isAlone: Bool
  ) {
    let faults = watchedFaults()
    let entity = object.home.entity
    let way = members?.number ?? faults.way(to: object.place)
    let subject: FaultEvent.Subject = members.map { .members($0.name) } ?? .row
    let wayName = way.map { schema.relationships[$0].qualifiedName }
    if Watching.concerns(.faults) {
      StrataObservers.tell(
        .fault(
          FaultEvent(
            context: description, entityName: entity.name, subject: subject, relationship: wayName,
            count: count)))
    }
    guard isAlone, Watching.concerns(.repeatedFaults) else { return }
    let told = CallStack.withAddresses { addresses -> (count: Int, addresses: [UInt])? in
      var hasher = Hasher()
      for address in addresses.prefix(CallStack.significant) { hasher.combine(address) }
      let number = faults.count(
        entity: entity.number, relationship: way, isMembers: members != nil, site: hasher.finalize())
      let threshold = StrataObservers.least(\.repeatedFaultThreshold, for: .repeatedFaults)
      guard let threshold, FaultCounts.isTold(number, threshold: threshold) else { return nil }
      return (number, addresses.map { UInt(bitPattern: $0) })
    }
    guard let told else { return }
    StrataObservers.tell(
      .repeatedFaults(
        RepeatedFaultsEvent(
          context: description, entityName: entity.name, subject: subject, relationship: wayName,
          count: told.count, returnAddresses: told.addresses)))
  }

  /// An event is over: a block of `perform`, or of `performAndWait` on another queue.
  @inline(__always)
  func endFaultCounts() { if faultCounts != nil { clearFaultCounts() } }

  @inline(never)
  private func clearFaultCounts() {
    if Watching.concerns(.anyFault) { faultCounts?.endEvent() } else { faultCounts = nil }
  }

  private func watchedFaults() -> FaultCounts {
    let faults: FaultCounts
    if let known = faultCounts {
      faults = known
    } else {
      faults = FaultCounts()
      faultCounts = faults
    }
    // Blocks of `perform` end by themselves. Other work of the main queue is over when what is enqueued now runs. A confinement context has no events: it
    // counts on.
    if faults.beginEvent() { queue.queue?.async { [weak self] in self?.endFaultCounts() } }
    return faults
  }
}
