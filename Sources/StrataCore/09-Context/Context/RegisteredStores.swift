/// The objects of one context, by store and hierarchy. Lives on the context's queue.
final class RegisteredStores {
  /// One attached store as this context uses it.
  final class Registered {
    let binding: StoreBinding
    /// What the last fetch read the store through.
    var view: (any StoreReading)?
    /// Objects by primary key, one table per hierarchy number.
    let tables: [IdentityTable]
    /// Which objects hold which at the other end of to-one relationships.
    let references: ReferenceKeepers

    init(_ binding: StoreBinding, hierarchyCount: Int, retainsObjects: Bool) {
      self.binding = binding
      tables = (0..<hierarchyCount).map { number in
        let table = IdentityTable(hierarchy: number)
        table.retainsObjects = retainsObjects
        return table
      }
      references = ReferenceKeepers(tables)
      for table in tables { table.references = references }
    }
  }

  /// Where the object of an ID is kept, if it is registered.
  final class Place {
    let store: StoreBinding
    let bound: BoundEntity
    let table: IdentityTable

    init(store: StoreBinding, bound: BoundEntity, table: IdentityTable) {
      self.store = store
      self.bound = bound
      self.table = table
    }

    /// Where unsaved rows of the ID's hierarchy are.
    func table(_ id: ManagedObjectID) -> StratumLayer.Table {
      StratumLayer.Table(storeIndex: store.index, hierarchy: bound.hierarchyNumber)
    }
  }

  private let hierarchyCount: Int
  /// A store that was removed from the coordinator is taken out when the context is reset, and not before: objects point to what its binding holds, without counting references.
  // `@exclusivity(unchecked)`: each access is one load or store on the context's queue, one for each object that a reference leads to.
  @exclusivity(unchecked) private var registered: [Registered?] = []
  /// What was taken out last, of a context without a queue.
  var retired: [Registered] = []
  private var places: [ObjectIdentifier: Place] = [:]
  private var lastPlace: (token: ObjectIdentifier, place: Place)?
  private var retainsObjects = false
  private var keepsMembers = false
  /// Who shows members of objects in here.
  var followers: [WeakFollower] = []
  /// Which of the coordinator's lists of stores `places` is true for.
  private var generation = -1

  init(hierarchyCount: Int) { self.hierarchyCount = hierarchyCount }

  /// The tables for `binding`, made on first use.
  func tables(for binding: StoreBinding) -> Registered {
    while registered.count <= binding.index { registered.append(nil) }
    if let known = registered[binding.index] { return known }
    let new = Registered(binding, hierarchyCount: hierarchyCount, retainsObjects: retainsObjects)
    registered[binding.index] = new
    for table in new.tables {
      table.stores = self
      table.keepsMembers = keepsMembers
    }
    return new
  }

  /// The store attached as number `index`, if this context has used it.
  func registered(_ index: Int) -> Registered? {
    registered.indices.contains(index) ? registered[index] : nil
  }

  /// The live object that a reference of the store attached as number `index` leads to, if it is known and of that entity. Counts no references of what is looked at: this holds
  /// all of it, and nothing of it is used once the table has answered, which may let an object go.
  @inline(__always)
  func known(_ bits: UInt64, inStore index: Int) -> ManagedObject? {
    guard registered.indices.contains(index), let store = registered[index] else { return nil }
    return Unmanaged.passUnretained(store)._withUnsafeGuaranteedRef { store in
      Unmanaged.passUnretained(store.binding)._withUnsafeGuaranteedRef { binding -> ManagedObject? in
        guard let bound = binding.entity(code: Reference.entityCode(bits)) else { return nil }
        let address = Unmanaged.passUnretained(bound)
        let table = address._withUnsafeGuaranteedRef { store.tables[$0.hierarchyNumber] }
        let found = Unmanaged.passUnretained(table)._withUnsafeGuaranteedRef {
          $0.object(for: Reference.primaryKey(bits))
        }
        guard let found, found.boundReference?.toOpaque() == address.toOpaque() else { return nil }
        return found
      }
    }
  }

  /// Takes out the stores for which `isAttached` answers false. The context has no objects. Whoever is amid a look-up, with a hook in between, uses them still: what is returned
  /// is kept until that is over.
  func takeRemoved(_ isAttached: (StoreBinding) -> Bool) -> [Registered] {
    var removed: [Registered] = []
    for index in registered.indices {
      guard let store = registered[index], !isAttached(store.binding) else { continue }
      removed.append(store)
      registered[index] = nil
    }
    if !removed.isEmpty {
      places = [:]
      lastPlace = nil
    }
    return removed
  }

  /// The table an object of `bound` belongs in, if this context has used its store.
  func table(for bound: BoundEntity) -> IdentityTable? {
    registered(bound.storeIndex)?.tables[bound.entity.hierarchyNumber]
  }

  /// Forgets where objects are kept when stores have come or gone since.
  @inline(__always)
  func forgetPlaces(unlessOf generation: Int) {
    if self.generation == generation { return }
    self.generation = generation
    places = [:]
    lastPlace = nil
  }

  /// The remembered place for a token.
  @inline(__always)
  func place(for key: ObjectIdentifier) -> Place? {
    if let lastPlace, lastPlace.token == key { return lastPlace.place }
    guard let place = places[key] else { return nil }
    lastPlace = (key, place)
    return place
  }

  /// Remembers where objects with IDs of `token` are kept. Tokens live as long as the process, so they can be keys.
  func remember(_ place: Place, for token: StoreEntityToken) {
    places[ObjectIdentifier(token)] = place
    lastPlace = (ObjectIdentifier(token), place)
  }

  /// From now on objects may be kept by others.
  func keepMembers() {
    if keepsMembers { return }
    keepsMembers = true
    for store in registered { store?.tables.forEach { $0.keepsMembers = true } }
  }

  func setRetainsObjects(_ retains: Bool) {
    retainsObjects = retains
    for store in registered { store?.tables.forEach { $0.retainsObjects = retains } }
  }

  /// How many objects are in the tables.
  var count: Int { registered.reduce(0) { $0 + ($1?.tables.reduce(0) { $0 + $1.count } ?? 0) } }

  /// Every object in the tables.
  func forEach(_ body: (ManagedObject) -> Void) {
    for store in registered { store?.tables.forEach { $0.forEach(body) } }
  }

  /// Every object that is held elsewhere or has changes.
  func forEachLive(_ body: (ManagedObject) -> Void) {
    for store in registered { store?.tables.forEach { $0.forEachLive(body) } }
  }

  func removeAll() {
    for store in registered {
      store?.references.removeAll()
      store?.tables.forEach { $0.removeAll() }
    }
  }
}

extension ManagedObjectContext {
  /// The registered object for the key of a row of entity `bound`.
  ///
  /// One that was made for an ID with another entity's name never had a row: it is released, and the answer is nil.
  @inline(__always)
  func known(_ key: UInt64, as bound: BoundEntity, in table: IdentityTable) -> ManagedObject? {
    guard let known = table.object(for: key) else { return nil }
    if known.boundReference?.toOpaque() == Unmanaged.passUnretained(bound).toOpaque() { return known }
    changes.undelete(known)
    letGo(known, rowIsGone: true)
    return nil
  }

  /// Where the object of `id` is, or would be, kept; nil when no attached store holds its entity.
  @inline(__always)
  func locate(_ id: ManagedObjectID) -> RegisteredStores.Place? {
    // The context keeps its coordinator.
    let generation = Unmanaged.passUnretained(coordinator)._withUnsafeGuaranteedRef {
      $0.storesGeneration
    }
    stores.forgetPlaces(unlessOf: generation)
    // Tokens live as long as the process: their addresses name them.
    let token = id.unmanagedToken._withUnsafeGuaranteedRef { ObjectIdentifier($0) }
    if let place = stores.place(for: token) { return place }
    guard let entity = schema.entity(named: id.entityName) else { return nil }
    var bindings = coordinator.bindings
    if let provisional = coordinator.knownProvisional { bindings.append(provisional) }
    for binding in bindings where binding.store.identifier == id.storeIdentifier {
      guard let bound = binding.entities[entity.number] else { return nil }
      let place = RegisteredStores.Place(
        store: binding, bound: bound, table: stores.tables(for: binding).tables[entity.hierarchyNumber])
      stores.remember(place, for: id.token)
      return place
    }
    return nil
  }
}
