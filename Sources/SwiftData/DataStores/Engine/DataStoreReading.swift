import StrataCore

/// What a context reads of a store of the program's own.
final class DataStoreReading: StoreReading, @unchecked Sendable {
  // @unchecked Sendable: nothing is set after `init`; the context is used by its thread only.
  private let engine: DataStoreEngine
  private weak var context: ManagedObjectContext?

  init(_ engine: DataStoreEngine, _ context: ManagedObjectContext?) {
    self.engine = engine
    self.context = context
  }

  private typealias Address = DataStoreEngine.Address

  // MARK: Requests

  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try engine.calling {
      if let keys = keys(in: request) {
        let rows = try rows(hierarchy: request.hierarchyNumber, primaryKeys: keys).compactMap(\.self)
        return try decide(request, rows, mode)
      }
      guard let type = engine.models.type(forEntity: request.entity.name) else {
        throw CoreDataError(
          .persistentStoreOperation, "The container has no class for \(request.entity.name).")
      }
      func found<T: PersistentModel>(_ type: T.Type) throws -> FetchedRows {
        try fetch(request, mode, (context as? RowContext)?.asked?.descriptor(of: type, for: request))
      }
      return try found(type)
    }
  }

  /// The keys of a request for models that are known by their identifiers; nil for any other.
  private func keys(in request: ResolvedFetchRequest) -> [UInt64]? {
    for part in EngineRequest(request, storeIdentifier: engine.identifier).conjuncts {
      if case .keys(let keys) = part { return Array(Set(keys)) }
    }
    return nil
  }

  private func fetch<T: PersistentModel>(
    _ request: ResolvedFetchRequest, _ mode: FetchMode, _ asked: FetchDescriptor<T>?
  ) throws -> FetchedRows {
    let state = engine.state(context)
    guard var descriptor = asked else {
      // What is known of the request are slots and numbers only: the store gives all models.
      let answer = try engine.ask(FetchDescriptor<T>(), state)
      return try decide(request, checked(answer.rows, request), mode)
    }
    // Stores may leave the window to others, and those that see to it leave nothing more to cut.
    descriptor.fetchOffset = nil
    descriptor.fetchLimit = nil
    if mode == .count {
      if let count = try count(descriptor, state) {
        let rest = max(count - request.offset, 0)
        return FetchedRows(
          rows: [], count: request.limit == 0 ? rest : min(rest, request.limit), description: words)
      }
    }
    descriptor.fetchLimit = request.windowEnd
    if mode == .identifiers, let identifiers = try identifiers(descriptor, state) {
      let rows = try identifiers.map { identifier in
        let (entity, key) = try engine.place(identifier, "the identifier")
        return FetchedRow(primaryKey: key, entity: entity.number, snapshot: nil)
      }
      return window(try checked(rows, request), request, mode)
    }
    let answer = try engine.ask(descriptor, state)
    let rows = try checked(answer.rows, request)
    return answer.isWhole ? window(rows, request, mode) : try decide(request, rows, mode)
  }

  /// The number that the store says; nil when it leaves that to us.
  private func count<T: PersistentModel>(_ descriptor: FetchDescriptor<T>, _ state: EditingState) throws
    -> Int?
  {
    var plain = descriptor
    plain.sortBy = []
    do { return try engine.box.count(plain, state) } catch DataStoreError.preferInMemoryFilter
      where descriptor.predicate != nil
    { return nil }
  }

  /// The identifiers that the store says; nil when it leaves that to us.
  private func identifiers<T: PersistentModel>(_ descriptor: FetchDescriptor<T>, _ state: EditingState) throws
    -> [PersistentIdentifier]?
  {
    do { return try engine.box.identifiers(descriptor, state) } catch DataStoreError.preferInMemoryFilter
      where descriptor.predicate != nil
    { return nil } catch DataStoreError.preferInMemorySort where !descriptor.sortBy.isEmpty { return nil }
  }

  /// That the store has found models of the class.
  private func checked(_ rows: [FetchedRow], _ request: ResolvedFetchRequest) throws -> [FetchedRow] {
    for row in rows where !request.entityNumbers.contains(row.entity) {
      let name = engine.schema.entities[row.entity].name
      throw CoreDataError(
        .persistentStoreOperation,
        "The store “\(engine.box.name)” was asked for models \(request.entity.name) and has found one of \(name)."
      )
    }
    return rows
  }

  private func window(_ rows: [FetchedRow], _ request: ResolvedFetchRequest, _ mode: FetchMode) -> FetchedRows
  {
    let start = min(request.offset, rows.count)
    let end = max(start, min(request.windowEnd ?? rows.count, rows.count))
    let found = rows[start..<end]
    if mode == .count { return FetchedRows(rows: [], count: found.count, description: words) }
    return FetchedRows(rows: ContiguousArray(found), count: found.count, description: words)
  }

  private func decide(_ request: ResolvedFetchRequest, _ rows: [FetchedRow], _ mode: FetchMode) throws
    -> FetchedRows
  {
    try FetchInMemory(request, in: self, storeIdentifier: engine.identifier).fetch(
      rows, mode: mode, description: words)
  }

  private var words: String { "asked the store “\(engine.box.name)”" }

  // MARK: Rows

  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try engine.calling {
      let addresses = primaryKeys.map { Address(hierarchy: hierarchy, key: $0) }
      try engine.load(addresses, context)
      return addresses.map { address in
        guard let record = engine.records[address] else { return nil }
        return FetchedRow(primaryKey: address.key, entity: record.entity, snapshot: record.row)
      }
    }
  }

  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    try rows(hierarchy: hierarchy, primaryKeys: [primaryKey])[0]
  }

  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    engine.externalValue(engine.objectID(entity, primaryKey), slot, version)
  }

  // MARK: Relationships

  func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] {
    let relationship = engine.schema.relationships[edges.relationship]
    let home = engine.schema.entities[relationship.owner].hierarchyNumber
    return try engine.calling {
      if edges.isHiddenInverse {
        return try referrers(relationship, to: owners)
      }
      let addresses = owners.map { Address(hierarchy: home, key: $0) }
      try engine.load(addresses, context)
      let told = try addresses.map { address -> [UInt64]? in
        guard let record = engine.records[address] else { return [] }
        if let members = record.members[relationship.number] { return members }
        guard let inverse = relationship.inverse else { return [] }
        return try referrers(engine.schema.relationships[inverse], to: [address.key])[0]
      }
      // Of members that the store does not have any more nothing is told.
      let hierarchy = relationship.destinationHierarchy
      func address(_ member: UInt64) -> Address {
        Address(hierarchy: hierarchy, key: StoreReference.primaryKey(member))
      }
      try engine.load(told.flatMap { ($0 ?? []).map(address) }, context)
      return told.map { members in
        (members ?? []).filter { engine.records[address($0)] != nil }.sorted()
      }
    }
  }

  /// The models that a relationship leads from to the ones with these keys, for each of them. All models of the owner's class are fetched, once.
  private func referrers(_ relationship: RelationshipSchema, to keys: [UInt64]) throws -> [[UInt64]] {
    let owner = engine.schema.entities[relationship.owner]
    guard let type = engine.models.type(forEntity: owner.name) else { return keys.map { _ in [] } }
    func all<T: PersistentModel>(_ type: T.Type) throws -> [FetchedRow] {
      try engine.ask(FetchDescriptor<T>(), engine.state(context)).rows
    }
    let asked = Set(keys)
    var found: [UInt64: [UInt64]] = [:]
    for row in try all(type) {
      let entity = engine.schema.entities[row.entity]
      guard let snapshot = row.snapshot else { continue }
      let ends: [UInt64]
      if relationship.isToMany {
        let address = Address(hierarchy: entity.hierarchyNumber, key: row.primaryKey)
        ends = engine.records[address]?.members[relationship.number] ?? []
      } else {
        let bits = snapshot.reference(relationship.slot, of: entity)
        ends = bits == 0 ? [] : [bits]
      }
      for key in Set(ends.map(StoreReference.primaryKey)) where asked.contains(key) {
        found[key, default: []].append(engine.bits(row.primaryKey, entity))
      }
    }
    return keys.map { (found[$0] ?? []).sorted() }
  }

  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] { try members(edges, of: [owner])[0] }

  func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int { try members(edges, of: owner).count }

  func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool {
    try members(edges, of: owner).contains(member)
  }

  func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] {
    // Relationships of models have no order.
    try members(edges, of: owner).map { PlacedMember(position: 0, member: $0) }
  }
}

extension DataStoreEngine {
  // Contexts read with `reading(for:)`. What reads without one, such as an observer of a store, is nobody that the program's store need know.

  private var anybody: DataStoreReading { DataStoreReading(self, nil) }

  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try anybody.fetch(request, mode: mode)
  }
  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try anybody.rows(hierarchy: hierarchy, primaryKeys: primaryKeys)
  }
  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    try anybody.row(hierarchy: hierarchy, primaryKey: primaryKey)
  }
  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] {
    try anybody.members(edges, of: owner)
  }
  func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] {
    try anybody.members(edges, of: owners)
  }
  func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int {
    try anybody.memberCount(edges, of: owner)
  }
  func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool {
    try anybody.hasMember(edges, of: owner, member)
  }
  func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] {
    try anybody.placedMembers(edges, of: owner)
  }
  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    try anybody.externalValue(entity: entity, primaryKey: primaryKey, slot: slot, version: version)
  }
}
