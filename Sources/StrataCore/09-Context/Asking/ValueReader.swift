/// Makes values of what a fetch has found. One object of each class stands for one record after the other, in no table and told to nobody:
///
/// ```
///   object of the context     the value that it has now, edits included
///   unsaved row               its object, which is made
///   any other row             the stand-in takes the row ─▶ Value(stand-in) ─▶ the next row
/// ```
///
/// On the context's queue, for the length of one fetch.
struct ValueReader<Value: ManagedValue> {
  private let context: ManagedObjectContext
  private let matches: [FetchMatch]
  /// The context's own layers, as they were when the fetch began.
  private let layers: [StratumLayer]
  /// What the rows were read through, for their members; nil when these are read at any moment.
  private let steady: SteadyReading?
  private var standIns: [ObjectIdentifier: StandIn] = [:]

  /// The object that stands for the rows of one entity in one store.
  private final class StandIn {
    let object: ManagedObject
    /// The to-many relationships that a value has asked for; nil until one was made.
    var relationships: [RelationshipSchema]?
    /// Their members, by relationship and owner, of the rows before `end`.
    var members: [[UInt64: ContiguousArray<PlacedMember>]] = []
    var end = 0

    init(_ object: ManagedObject) { self.object = object }
  }

  /// For how many rows members are read at once.
  private static var blockSize: Int { 1_024 }

  init(
    _ matches: [FetchMatch], _ layers: [StratumLayer], _ steady: SteadyReading?,
    in context: ManagedObjectContext
  ) {
    self.matches = matches
    self.layers = layers
    self.steady = steady
    self.context = context
  }

  /// The values, in order.
  /// - Throws: what the store throws for the members of relationships; `CoreDataError` for a property without a value for which nothing stands.
  mutating func values() throws -> [Value] {
    defer { for standIn in standIns.values { standIn.object.endStandingIn() } }
    var result: [Value] = []
    result.reserveCapacity(matches.count)
    let reading = ValueReading()
    try ValueReading.$current.withValue(reading) {
      for place in matches.indices {
        if let plain = plainRow(place) {
          result.append(try value(of: plain.row, plain.bound, place))
        } else {
          result.append(value(of: matches[place].object(in: context, layers)))
        }
        try reading.check()
      }
    }
    return result
  }

  private func value(of object: ManagedObject) -> Value {
    guard let object = object as? Value.Object else {
      trap("\(Value.self) is a value of \(Value.Object.self), not of \(type(of: object)).")
    }
    return Value(object)
  }

  /// The row of a match that has no object.
  private func plainRow(_ place: Int) -> (row: FetchedRow, bound: BoundEntity)? {
    guard case .row(let row, let store) = matches[place], row.snapshot != nil,
      let bound = store.binding.entities[row.entity],
      !store.tables[bound.hierarchyNumber].contains(row.primaryKey)
    else { return nil }
    return (row, bound)
  }

  // MARK: Stand-ins

  private mutating func value(of row: FetchedRow, _ bound: BoundEntity, _ place: Int) throws -> Value {
    let standIn = standIn(for: bound)
    standIn.object.stand(for: row)
    if let relationships = standIn.relationships, !relationships.isEmpty {
      if standIn.end <= place { try readMembers(standIn, bound, from: place) }
      for (relationship, members) in zip(relationships, standIn.members) {
        guard let members = members[row.primaryKey] else { continue }
        standIn.object.relationState(relationship).setBase(members, epoch: context.epoch(of: relationship))
      }
    }
    let value = value(of: standIn.object)
    if standIn.relationships == nil {
      let asked = standIn.object.relations?.states.map(\.state.relationship) ?? []
      standIn.relationships = asked
      // It was found out with members of the newest commit, which need not be that of the row.
      if !asked.isEmpty, steady?.hasSnapshots == true { return try self.value(of: row, bound, place) }
    }
    return value
  }

  private mutating func standIn(for bound: BoundEntity) -> StandIn {
    if let known = standIns[ObjectIdentifier(bound)] { return known }
    let new = StandIn(context.makeStandIn(bound))
    standIns[ObjectIdentifier(bound)] = new
    return new
  }

  /// Reads the members of many rows at once, where nothing unsaved has a say in them.
  private func readMembers(_ standIn: StandIn, _ bound: BoundEntity, from place: Int) throws {
    standIn.end = min(place + Self.blockSize, matches.count)
    standIn.members = []
    guard context.strata.isEmpty, context.ancestors.isEmpty,
      let binding = context.coordinator.binding(bound.storeIndex)
    else { return }
    let owners = (place..<standIn.end).compactMap { place -> UInt64? in
      guard let plain = plainRow(place), plain.bound === bound else { return nil }
      return plain.row.primaryKey
    }.sorted()
    for relationship in standIn.relationships ?? [] {
      if relationship.isTransient {
        standIn.members.append([:])
        continue
      }
      context.statistics.fetches += 1
      let store = try steady?.reading(binding) ?? context.reading(binding)
      let found = try store.members(of: relationship, owners: owners)
      standIn.members.append(Dictionary(zip(owners, found)) { $1 })
      context.tellMembersRead(standIn.object, relationship, count: owners.count, isAlone: false)
    }
  }
}

extension ContextFetch {
  /// Whether members are read behind the rows, for many owners at once.
  private var mayReadMembers: Bool {
    context.strata.isEmpty && context.ancestors.isEmpty
      && request.entityNumbers.contains { number in
        context.schema.entities[number].relationships.contains { $0.isToMany && !$0.isTransient }
      }
  }

  /// The values of what the request finds.
  func values<Value: ManagedValue>(of type: Value.Type) throws -> [Value] {
    let isSteady = mayReadMembers
    if isSteady { holdStill() }
    let found: [FetchMatch]
    if let store = onlyStore, overlay.ownLayers.isEmpty {
      let registered = context.stores.tables(for: store)
      found = try ask(store, mode: .rows).rows.map { .row($0, registered) }
    } else {
      found = Array(try matches(mode: .rows))
    }
    var reader = ValueReader<Value>(found, overlay.ownLayers, isSteady ? steady : nil, in: context)
    return try reader.values()
  }
}

extension ManagedObjectContext {
  /// An object of the entity's class in no table, which can stand for any of its rows.
  fileprivate func makeStandIn(_ bound: BoundEntity) -> ManagedObject {
    let object = ThreadScope.current.materializing {
      classes.types[bound.entity.number].init(materializing: bound.entity.entityDescription)
    }
    object.boundReference = .passUnretained(bound)
    object.table = bound.table
    object.slotCount = bound.slotCount
    object.state.announce(bound.announcesChanges)
    object.context = self
    return object
  }
}

extension ManagedObject {
  /// Shows the row as if it had just been fetched. As in `awakeFromFetch()`, nothing that is done with the object counts as a change or is observed.
  fileprivate final func stand(for row: FetchedRow) {
    draft = nil
    transients = nil
    relations = nil
    state.forgetAll()
    state.beginAwaking()
    primaryKey = row.primaryKey
    snapshot = row.snapshot
    readAt = SnapshotClock.now
    settleFastRow()
  }

  fileprivate final func endStandingIn() {
    draft = nil
    relations = nil
    snapshot = nil
    becomeForgotten()
  }
}

/// A fetch of values, or one that asks objects in memory, that is under way: what would stop the process, a property that has no value say, and for which nothing stands, makes it throw.
package final class ValueReading: @unchecked Sendable {
  // @unchecked Sendable: made, used and dropped inside one call, on one thread; task-local values must be Sendable.

  /// The fetch on this thread.
  @TaskLocal static var current: ValueReading?

  private var failure: CoreDataError?

  /// Does `body` as a part of such a fetch.
  /// - Throws: what `body` throws; the reason that was noted first.
  package static func reading<Result>(_ body: (ValueReading) throws -> Result) throws -> Result {
    let reading = ValueReading()
    return try $current.withValue(reading) {
      let result = try body(reading)
      try reading.check()
      return result
    }
  }

  /// Notes why there is no value; false where no such fetch is under way on this thread.
  package static func note(_ error: () -> CoreDataError) -> Bool {
    guard let current else { return false }
    current.fail(error())
    return true
  }

  /// Notes why the value that is being made is none; the first reason counts.
  func fail(_ error: CoreDataError) { failure = failure ?? error }

  /// - Throws: the reason why the value made last is none.
  package func check() throws {
    if let failure { throw failure }
  }
}
