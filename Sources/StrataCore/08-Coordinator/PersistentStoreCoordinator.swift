import Dispatch
import Foundation
import Synchronization

/// Brings contexts and stores together: which store holds an entity, in what order saves are written, which contexts are notified.
///
/// May be used from any thread. It holds its lock only to look at its list of stores, never while a store reads or writes.
open class PersistentStoreCoordinator: NSObject, @unchecked Sendable {
  // Safe: constants, and state behind locks and atomics. Unchecked because subclasses add state of their own, which they must keep safe.

  /// The model, frozen as soon as the coordinator takes it (rule 298).
  public final let managedObjectModel: ManagedObjectModel

  private final let compiled: Result<Schema, any Error>
  final let state = Mutex(State())
  private final let queue = DispatchQueue(label: "strata.coordinator")
  private final let generation = Atomic<Int>(0)
  private final let storeCount = Atomic<Int>(0)

  struct State {
    /// Attached stores by index; nil where one was removed, so that indexes stay what they are.
    var bindings: [StoreBinding?] = []
    /// The index of the one that stands for the store that is to come, see `provisional`.
    var provisional: Int?
    /// The observers of commits, by their context.
    var observers: [ObjectIdentifier: any CommitObserver] = [:]
    /// Metadata to be written with the next save, by store index (rule 148).
    var metadata: [Int: StoreMetadata] = [:]
    var queryGenerationLimit = Duration.seconds(600)
    /// What objects of the model in no context point to, by entity number, and the coordinator that those have which are related.
    var unattached: [Int: BoundEntity] = [:]
    var hidden: PersistentStoreCoordinator?
    var name: String?
    var storeSpelling: (@Sendable (any PersistentStore) -> any Sendable)?
  }

  /// Makes a coordinator for `managedObjectModel` and freezes it. A wrong model is reported when a store is added.
  public init(managedObjectModel: ManagedObjectModel) {
    self.managedObjectModel = managedObjectModel
    compiled = Result { try managedObjectModel.schema() }
    super.init()
    if !type(of: self).isHidden { LivingCoordinators.note(self) }
  }

  /// Makes a coordinator for a model without entities: one that handles whole stores, by `replacePersistentStore` and `destroyPersistentStore`.
  public convenience override init() { self.init(managedObjectModel: ManagedObjectModel()) }

  /// Whether it is no coordinator that anybody asks for.
  class var isHidden: Bool { false }

  /// A label for people.
  public final var name: String? {
    get { state.withLock { $0.name } }
    set { state.withLock { $0.name = newValue } }
  }

  // MARK: Stores

  /// The attached stores, oldest first.
  @_disfavoredOverload public final var persistentStores: [any PersistentStore] { bindings.map(\.store) }

  /// The same as what they are below the joint.
  package final var engines: [any StoreEngine] { bindings.map(\.store) }

  /// An attached store below the joint; nil for one that is not attached here.
  package final func engine(_ store: any PersistentStore) -> (any StoreEngine)? {
    bindings.first { $0.store === store }?.store
  }

  /// What is thrown for a store that is not attached.
  package static var isNotAttached: CoreDataError {
    CoreDataError(.persistentStoreOperation, "The store is not attached to this coordinator.")
  }

  /// - Throws: `CoreDataError` 134070 when the store is not attached here.
  final func attachedEngine(_ store: any PersistentStore) throws -> any StoreEngine {
    guard let engine = engine(store) else { throw Self.isNotAttached }
    return engine
  }

  /// Opens a store and attaches it.
  ///
  /// A store that was written with another version of the model is migrated first, unless the description says otherwise; see
  /// ``LMDBStore/migrate(at:to:configurationName:permission:progress:options:)`` for what it takes and what it throws on LMDB. What would take something
  /// away from the store is refused unless the program knows the store's model, or the description permits it (``MigrationPermission``).
  /// - Throws: `ModelError` with all sentences when the model is wrong, or a class does not declare its slots (`ManagedObject.declaredSlots`);
  ///   `CoreDataError` 134100 naming the entities when the
  ///   store was written with another version of the model and is not to be migrated, 134000 for a type that no engine is registered for, 134060 naming transformers that are not registered; `StorageError` when the file cannot be opened, is damaged or is
  ///   no store. Nothing is attached then, a refused file is not changed.
  @discardableResult
  public final func addPersistentStore(_ description: PersistentStoreDescription) throws
    -> any PersistentStore
  {
    let schema = try compiled.get()
    try StoreBinding.requireTransformers(schema)
    if !description.takesUndeclaredSlots { try Self.requireDeclaredSlots(schema) }
    let kind = try StoreEngines.kind(description.type)
    if kind.needsURL, description.url == nil {
      throw CoreDataError(
        .persistentStoreOpen,
        description.type == .lmdb
          ? "A store in a file needs a URL." : "A store of type \(description.type.rawValue) needs a URL.")
    }
    // Contexts and followers have timers, whatever the engine.
    try EventDescriptors.require(path: description.url?.path ?? "")
    let store = try open(description, schema, kind)
    do {
      try attach(store, openedAs: description)
    } catch {
      store.close()
      throw error
    }
    return store
  }

  private final func open(
    _ description: PersistentStoreDescription, _ schema: Schema, _ kind: any StoreEngineKind
  ) throws -> any StoreEngine {
    // One for all attempts.
    let patience = Patience(description.timeout)
    func open() throws -> any StoreEngine {
      try kind.open(description, schema: schema, patience: patience, for: self)
    }
    do {
      return try open()
    } catch let error as CoreDataError where error.code == .persistentStoreIncompatibleVersionHash {
      guard description.migratesAutomatically, !description.isReadOnly,
        !PersistentStoreDescription.isInMemory(description.url)
      else { throw error }
      if let staged = description.stagedMigrationManager {
        try staged.migrate(description, kind, to: managedObjectModel, patience)
        return try open()
      }
      guard description.infersMappingModel else {
        throw CoreDataError(
          .migrationMissingMappingModel,
          "The store is to be migrated, and how is not to be inferred; there is no other mapping model.",
          userInfo: [NSUnderlyingErrorKey: error])
      }
      try kind.migrate(
        description, to: managedObjectModel, permission: description.migrationPermission, patience: patience)
      return try open()
    }
  }

  /// That every class says what its slot numbers mean.
  private static func requireDeclaredSlots(_ schema: Schema) throws {
    let sentences = ModelValidation.sentences(undeclaredIn: schema)
    if !sentences.isEmpty { throw ModelError(sentences) }
  }

  /// Attaches a store of any engine that was opened with this coordinator's schema.
  /// - Throws: as `addPersistentStore(_:)`, but nothing of files.
  package final func attach(_ store: any StoreEngine) throws {
    try EventDescriptors.require(path: store.url.flatMap { $0.isFileURL ? $0.path : nil } ?? "")
    try Self.requireDeclaredSlots(try compiled.get())
    try attach(store, openedAs: nil)
  }

  private final func attach(
    _ store: any StoreEngine, openedAs description: PersistentStoreDescription?
  ) throws {
    let schema = try compiled.get()
    try StoreBinding.requireTransformers(schema)
    let (binding, hasListeners) = try state.withLock { state in
      if state.bindings.contains(where: { $0?.store.identifier == store.identifier }) {
        throw CoreDataError(
          .persistentStoreOpen, "The store \(store.identifier) is already attached to this coordinator.")
      }
      let index = state.bindings.count
      let posts = description?.postsRemoteChangeNotifications ?? false
      let follows = description?.followsOtherProcesses ?? true
      let binding = try StoreBinding(
        store: store, index: index, schema: schema,
        follower: follows ? makeFollower(of: store, index, postsRemoteChanges: posts) : nil,
        description: description)
      state.bindings.append(binding)
      return (binding, !state.observers.isEmpty)
    }
    if hasListeners || binding.postsRemoteChanges { binding.follower?.start() }
    storeCount.add(1, ordering: .releasing)
    generation.add(1, ordering: .releasing)
    postChange("added", store)
  }

  /// Detaches and closes `store`. Objects of it become inaccessible faults in every context.
  /// - Throws: `CoreDataError` 134070 when the store is not attached here.
  public final func remove(_ store: any PersistentStore) throws {
    guard state.withLock({ $0.bindings.contains { $0?.store === store } }) else { throw Self.isNotAttached }
    post(Self.willRemoveStoreNotification, [:], from: spelled(store))
    let binding = try state.withLock { state in
      guard let index = state.bindings.firstIndex(where: { $0?.store === store }) else {
        throw Self.isNotAttached
      }
      defer {
        state.bindings[index] = nil
        state.metadata[index] = nil
      }
      return state.bindings[index]
    }
    binding?.follower?.stop()
    storeCount.subtract(1, ordering: .releasing)
    generation.add(1, ordering: .releasing)
    binding?.store.close()
    post(Self.storeWasRemoved, [Self.removedStoreKey: store])
    postChange("removed", store)
  }

  /// What stands for a store in this coordinator's notifications, where that is another module's object; nil for the store itself.
  package final var storeSpelling: (@Sendable (any PersistentStore) -> any Sendable)? {
    get { state.withLock { $0.storeSpelling } }
    set { state.withLock { $0.storeSpelling = newValue } }
  }

  /// Posted after a store was removed, with the store itself, whatever stands for it in the public notification. For this library.
  static let storeWasRemoved = Notification.Name("StrataStoreWasRemoved")
  static let removedStoreKey = "store"

  private final func postChange(_ key: String, _ store: any PersistentStore) {
    post(Self.storesDidChangeNotification, [key: [spelled(store)]])
  }

  /// The store as notifications tell of it.
  private final func spelled(_ store: any PersistentStore) -> Any {
    if let storeSpelling { return storeSpelling(store) }
    return store
  }

  /// The attached store at `url`, if there is one.
  @_disfavoredOverload public final func persistentStore(for url: URL) -> (any PersistentStore)? {
    binding(at: url)?.store
  }

  private final func binding(at url: URL) -> StoreBinding? {
    bindings.first { binding in
      guard let own = binding.store.url else { return false }
      let kind = StoreEngines.registered(.init(rawValue: binding.store.storeType)) ?? LMDBKind(.lmdb)
      return kind.isSameStore(own, url)
    }
  }

  /// Destroys the store at `url` (rule 329): detaches it when it is attached here, and empties it. The file of a store on LMDB stays, as an empty store
  /// that opening makes a new one of; ``LMDBStore/destroy(at:)`` deletes it. Where there is no file in the folder, for `/dev/null/Name` and for the type
  /// of stores in memory nothing happens.
  ///
  /// - Parameters:
  ///   - url: Where the store is.
  ///   - type: What kind of store it is; nil, the default, where its URL tells: a file is a store on LMDB.
  /// - Throws: ``StorageError`` `.busy` when another coordinator of this process or another process has the store open; `.missing` for a missing folder; `.notADatabase` for `/dev/null`; `.permission` and what else keeps
  ///   a store from being written. `CoreDataError` 134000 for a type that no engine is registered for, 134070 for one whose stores cannot be destroyed. The
  ///   store is as it was then, and one that was attached is attached.
  public final func destroyPersistentStore(
    at url: URL, type: PersistentStoreDescription.StoreType? = nil
  ) throws {
    let kind = try StoreEngines.kind(type ?? StoreEngines.type(of: url))
    if kind.storeType == .inMemory || LMDBStore.memoryName(url) != nil { return }
    let description = PersistentStoreDescription(type: kind.storeType, url: url)
    guard let binding = binding(at: url) else { return try kind.destroy(description) }
    try exchanging(binding) { detach in try kind.destroy(description) { try detach() } }
  }

  /// Puts a copy of the store at `source` in the place of the one at `url`. The source may be in use. The store at `url` may be attached here: it is
  /// detached, and must be added again. Otherwise it may not be in use, neither in this process nor in another.
  ///
  /// - Parameters:
  ///   - url: The store whose place is taken.
  ///   - source: The store that is copied.
  ///   - type: What kind of stores both are; nil, the default, where the URL tells: a file is a store on LMDB.
  /// - Throws: see ``LMDBStore/replace(at:with:)``; `CoreDataError` 134000 for a type that no engine is registered for, 134070 for one whose stores
  ///   cannot be replaced. The store at `url` is as it was then, and one that was attached is attached.
  public final func replacePersistentStore(
    at url: URL, withPersistentStoreFrom source: URL, type: PersistentStoreDescription.StoreType? = nil
  ) throws {
    let kind = try StoreEngines.kind(type ?? StoreEngines.type(of: url))
    let replaced = PersistentStoreDescription(type: kind.storeType, url: url)
    let copied = PersistentStoreDescription(type: kind.storeType, url: source)
    guard let binding = binding(at: url) else { return try kind.replace(replaced, with: copied) }
    try exchanging(binding) { detach in
      // Copying lasts: it is asked again afterwards.
      try kind.replace(replaced, with: copied) { try detach() }
    }
  }

  /// Runs `body`, which detaches an attached store by the function that it is given. When it fails afterwards, the store is opened and attached again.
  /// - Throws: what `body` throws; what `requireSoleUse()` does, before `body` is run and when it detaches the store; `CoreDataError` 134070 around the former when the
  ///   store cannot be opened again.
  private final func exchanging(
    _ binding: StoreBinding, _ body: (_ detach: () throws -> Void) throws -> Void
  ) throws {
    let store = binding.store
    try store.requireSoleUse()
    var isDetached = false
    let pending = pendingMetadata(for: store)
    do {
      try body {
        try store.requireSoleUse()
        try remove(store)
        isDetached = true
      }
    } catch {
      guard isDetached, let description = binding.description else { throw error }
      let again: any PersistentStore
      do { again = try addPersistentStore(description) } catch let second {
        throw CoreDataError(
          .persistentStoreOperation,
          "\(error) Since then the store is not attached any more, for it could not be opened again: \(second)",
          userInfo: [NSUnderlyingErrorKey: error])
      }
      setPendingMetadata(pending, for: again)
      throw error
    }
  }

  /// The metadata that were set for a store and that no save has written yet; nil for none.
  package final func pendingMetadata(for store: any PersistentStore) -> StoreMetadata? {
    state.withLock { state in
      state.bindings.firstIndex { $0?.store === store }.flatMap { state.metadata[$0] }
    }
  }

  /// Has the next save write metadata that another store object of the same store has not written; nil for none.
  package final func setPendingMetadata(_ metadata: StoreMetadata?, for store: any PersistentStore) {
    guard let metadata else { return }
    state.withLock { state in
      guard let index = state.bindings.firstIndex(where: { $0?.store === store }) else { return }
      state.metadata[index] = metadata
    }
  }

  /// The store's metadata, including what was set and awaits the next save.
  public final func metadata(for store: any PersistentStore) -> [String: Any] {
    (pendingMetadata(for: store) ?? store.metadata).dictionary
  }

  /// Sets the store's metadata; written by the next save of any context to that store (rule 148).
  /// - Throws: `CoreDataError` 134070 for a value that is not a property-list value, for another UUID than the store's, or a store that is not attached.
  public final func setMetadata(_ metadata: [String: Any], for store: any PersistentStore) throws {
    guard let values = StoreMetadata(metadata) else {
      throw CoreDataError(
        .persistentStoreOperation,
        "Store metadata takes strings, finite numbers, booleans, dates, data, arrays and dictionaries only.")
    }
    // The metadata of a program's own store are its own.
    if (store as? any StoreEngine)?.contextualStore == nil, let given = try values.givenIdentifier(),
      given != store.identifier
    {
      throw CoreDataError(
        .persistentStoreOperation,
        "A store keeps its UUID while it is open; set the metadata of its file when it is closed.")
    }
    try state.withLock { state in
      guard let index = state.bindings.firstIndex(where: { $0?.store === store }) else {
        throw Self.isNotAttached
      }
      state.metadata[index] = values
    }
  }

  /// How long a pinned query generation may be read: then it ends by itself, so that a forgotten one does not make the stores'
  /// files grow without end (rule 296). Ten minutes by default; holds for generations pinned from then on.
  public final var queryGenerationLimit: Duration {
    get { state.withLock { $0.queryGenerationLimit } }
    set { state.withLock { $0.queryGenerationLimit = newValue } }
  }

  // MARK: IDs

  /// The ID written as `uri`, or nil when no attached store has its UUID or its entity. Does not look for the row (rule 35).
  public final func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
    guard let parts = ManagedObjectID.parse(uri: uri), case .success(let schema) = compiled,
      let entity = schema.entity(named: parts.entityName)
    else { return nil }
    return bindings.first { $0.store.identifier == parts.storeIdentifier }?.entities[entity.number].map {
      ManagedObjectID(token: $0.token, primaryKey: parts.primaryKey)
    }
  }

  /// The ID of a row of an attached store; nil when there is no such store or entity.
  package final func managedObjectID(storeIdentifier: UUID, entityName: String, key: UInt64)
    -> ManagedObjectID?
  {
    guard case .success(let schema) = compiled, let entity = schema.entity(named: entityName),
      key < ManagedObjectID.primaryKeyLimit
    else { return nil }
    return bindings.first { $0.store.identifier == storeIdentifier }?.entities[entity.number].map {
      ManagedObjectID(token: $0.token, primaryKey: key)
    }
  }

  // MARK: The coordinator's own queue (rule 331)

  /// Runs `block` on the coordinator's queue; returns at once.
  @_disfavoredOverload public final func perform(_ block: @escaping @Sendable () -> Void) {
    Errand.hand(to: queue, block)
  }
  /// The same; `then` is called when nothing holds what `block` holds any more.
  package final func perform(
    _ block: @escaping @Sendable () -> Void, then: @escaping @Sendable () -> Void
  ) {
    Errand.hand(to: queue, block, then: then)
  }
  /// Runs `block` on the coordinator's queue and waits for it. Not re-entrant.
  public final func performAndWait<T>(_ block: () throws -> T) rethrows -> T {
    try queue.sync(execute: block)
  }
  /// The same for a block that neither returns nor throws anything. Not re-entrant.
  public final func performAndWait(_ block: () -> Void) { queue.sync(execute: block) }

  // MARK: For contexts

  /// Posted after stores were added or removed: user info keys `added`, `removed` (rule 132).
  public static let storesDidChangeNotification =
    Notification.Name("NSPersistentStoreCoordinatorStoresDidChangeNotification")
  /// Posted before a store is removed. Its object is the store; there is no user info.
  public static let willRemoveStoreNotification =
    Notification.Name("NSPersistentStoreCoordinatorWillRemoveStoreNotification")

  /// The compiled model. Traps for a wrong one, of which adding a store would have told.
  final func requireSchema() -> Schema {
    switch compiled {
    case .success(let schema): return schema
    case .failure(let error): trap("a context was made on a wrong model: \(error)")
    }
  }

  /// Whether its model is the one that was compiled to `compiled`.
  final func isOf(_ compiled: CompiledModel) -> Bool {
    guard case .success(let schema) = self.compiled else { return false }
    return schema.compiled === compiled
  }

  /// The entities whose objects are of that class; none of a wrong model.
  final func entities(of type: AnyClass) -> [EntityDescription] {
    guard case .success(let schema) = compiled else { return [] }
    return schema.entities.filter { $0.managedObjectClass == type }.map(\.entityDescription)
  }

  /// Changes whenever a store is attached or removed.
  final var storesGeneration: Int { generation.load(ordering: .acquiring) }

  /// Whether a store is attached.
  final var hasStores: Bool { storeCount.load(ordering: .acquiring) > 0 }

  /// The attached stores, oldest first.
  final var bindings: [StoreBinding] {
    state.withLock { state in
      state.bindings.compactMap { $0?.index == state.provisional ? nil : $0 }
    }
  }

  /// The store attached as number `index`, unless it was removed.
  final func binding(_ index: Int) -> StoreBinding? {
    state.withLock { $0.bindings.indices.contains(index) ? $0.bindings[index] : nil }
  }

  /// Where a new object of the entity goes: the first writable store whose configuration holds it (rule 321).
  final func home(forNew entity: Int) -> StoreBinding? {
    bindings.first { !$0.store.isReadOnly && $0.holds(entity: entity) }
  }

  /// Writes one context's changes to one store and tells the observers. Returns when the save is as durable as promised.
  /// `meanwhile` runs on the calling thread while the store writes.
  /// Stores that call the program's code are told the context; of a save off its queue there is none.
  final func commit(
    _ changes: ChangeSet, to binding: StoreBinding, origin: ObjectIdentifier, for context: AnyObject? = nil,
    meanwhile: () -> Void
  ) throws -> CommitNotice {
    var changes = changes
    let metadata = state.withLock { $0.metadata.removeValue(forKey: binding.index) }
    // Copies it, which only those that have something to say are worth.
    if metadata != nil || changes.metadata != nil { changes.metadata = metadata }
    let index = binding.index
    do {
      let sent = changes
      @Sendable func notice(_ result: CommitResult) -> CommitNotice {
        var written = sent.written(with: result.derivedRows)
        if !result.touched.isEmpty { written.touched += result.touched }
        return CommitNotice(
          storeIndex: index, commitNumber: result.commitNumber, origin: origin, changes: written,
          derivedRows: result.derivedRows, unsaidTouches: result.touched, hasWritten: result.hasWritten)
      }
      let asked = Watching.concerns(.saves) ? ContinuousClock.now : nil
      func timed(_ result: CommitResult) -> CommitNotice {
        var notice = notice(result)
        if let asked {
          (notice.timeInStore, notice.timeWaited) = (ContinuousClock.now - asked, result.timeWaited)
        }
        return notice
      }
      if let contextual = binding.contextual {
        return timed(try contextual.commit(sent, for: context) { self.tell(notice($0)) })
      }
      let result = try binding.commits.commit(sent, deadline: nil, meanwhile: meanwhile) { result in
        self.tell(notice(result))
      }
      return timed(result)
    } catch {
      if let metadata {
        state.withLock { state in if state.metadata[index] == nil { state.metadata[index] = metadata } }
      }
      throw binding.store.explained(error)
    }
  }

  /// Carries out a batch in one store and tells the observers, when it has changed anything. Returns when it is as durable as
  /// promised.
  final func execute(_ batch: StoreBatch, in binding: StoreBinding, origin: ObjectIdentifier) throws
    -> CommitNotice
  {
    let index = binding.index
    @Sendable func notice(_ outcome: BatchOutcome) -> CommitNotice {
      CommitNotice(
        storeIndex: index, commitNumber: outcome.commitNumber, origin: origin, changes: ChangeSet(),
        batch: outcome.changes, hasWritten: outcome.hasWritten)
    }
    do {
      let outcome = try binding.commits.execute(batch, deadline: nil) { outcome in
        self.tell(notice(outcome))
      }
      return notice(outcome)
    } catch {
      throw binding.store.explained(error)
    }
  }

  /// The stores whose metadata waits to be written.
  final var storesWithPendingMetadata: [Int] { state.withLock { Array($0.metadata.keys) } }

  /// From now on `observer` is notified of all commits except those of `context` itself.
  final func addObserver(_ observer: any CommitObserver, for context: ObjectIdentifier) {
    let bindings = state.withLock { state in
      state.observers[context] = observer
      return state.bindings
    }
    for binding in bindings { binding?.follower?.start() }
  }

  final func removeObserver(for context: ObjectIdentifier) {
    _ = state.withLock { $0.observers.removeValue(forKey: context) }
  }

  final func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any], from object: Any? = nil) {
    PostingTurn.shared.withTurn {
      NotificationCenter.default.post(name: name, object: object ?? self, userInfo: userInfo)
    }
  }
}
