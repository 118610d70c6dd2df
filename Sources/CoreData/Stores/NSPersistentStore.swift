import Foundation
import StrataCore

/// A store that is attached to a coordinator, or was.
///
/// There is one object per open store while it is held. May be used from any thread. Stores of a program's own are subclasses of `NSIncrementalStore` and
/// `NSAtomicStore`.
open class NSPersistentStore: NSObject, @unchecked Sendable {
  // @unchecked Sendable: what changes is behind a lock. Unchecked because subclasses add state of their own, which only calls of the coordinator reach, one at a time.

  /// Which kind of store.
  public struct StoreType: RawRepresentable, Hashable, Sendable {
    /// One of the store types' names.
    public var rawValue: String
    /// The type of that name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The default store: on disk.
    public static let sqlite = StoreType(rawValue: NSSQLiteStoreType)
    /// The default store: on disk.
    public static let binary = StoreType(rawValue: NSBinaryStoreType)
    /// In memory.
    public static let inMemory = StoreType(rawValue: NSInMemoryStoreType)
  }

  /// What a store of the program's own knows of itself.
  private struct State {
    weak var coordinator: NSPersistentStoreCoordinator?
    var configurationName: String?
    var url: URL?
    var options: Carried<[AnyHashable: Any]?>
    var metadata: Carried<[String: Any]> = Carried([:])
    var identifier: String?
    var isReadOnly = false
    /// What Strata has below it, once it is open.
    weak var engine: ProgramEngine?
  }
  private let state: Mutex<State>

  /// A store that is about to be opened at `url`, of a class of the program's own; at `/dev/null` when it is added without a URL. Coordinators call it; `loadMetadata()`
  /// comes next.
  public init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?,
    at url: URL, options: [AnyHashable: Any]? = nil
  ) {
    let readOnly = (options?[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? false
    state = Mutex(
      State(
        coordinator: root, configurationName: name, url: url, options: Carried(options), isReadOnly: readOnly)
    )
    super.init()
  }

  /// Makes the store of a class that is registered. Not for callers: coordinators use it.
  public required convenience init(
    opening url: URL, for coordinator: NSPersistentStoreCoordinator?, configurationName: String?,
    options: [AnyHashable: Any]?
  ) {
    self.init(
      persistentStoreCoordinator: coordinator, configurationName: configurationName, at: url, options: options
    )
  }

  /// The store below. Traps for a store of the program's own that no coordinator has open.
  var store: any PersistentStore {
    guard let engine = state.withLock({ $0.engine }) else {
      stop("\(Swift.type(of: self)) is no open store: add it to a coordinator by its type.")
    }
    return engine
  }

  /// The same; nil for a store that is not open.
  final var engine: ProgramEngine? {
    get { state.withLock { $0.engine } }
    set { state.withLock { $0.engine = newValue } }
  }

  /// The store has left its coordinator.
  final func detach() { state.withLock { $0.coordinator = nil } }

  // MARK: What a store knows of itself

  /// The coordinator the store was opened by, while it is attached there.
  open var persistentStoreCoordinator: NSPersistentStoreCoordinator? { state.withLock { $0.coordinator } }

  /// The type it was opened as. Stores of the program's own say it.
  open var type: String { (metadata[NSStoreTypeKey] as? String) ?? "" }

  /// The options it was opened with.
  open var options: [AnyHashable: Any]? { state.withLock { $0.options }.value }

  /// Where it is: the file; of a store in memory the URL that it was added with, nil for one that was added without.
  open var url: URL? {
    get { state.withLock { $0.url } }
    set { state.withLock { $0.url = newValue } }
  }

  /// The store's UUID.
  open var identifier: String! {
    get { (metadata[NSStoreUUIDKey] as? String) ?? state.withLock { $0.identifier } }
    set { state.withLock { $0.identifier = newValue } }
  }

  /// The configuration it was opened with; `PF_DEFAULT_CONFIGURATION_NAME` for all entities, which means the same where a configuration is asked for.
  open var configurationName: String {
    state.withLock { $0.configurationName } ?? ManagedObjectModel.defaultConfigurationName
  }

  /// Whether saves to it are refused.
  open var isReadOnly: Bool {
    get { state.withLock { $0.isReadOnly } }
    set { state.withLock { $0.isReadOnly = newValue } }
  }

  /// The store's metadata. A store of the program's own keeps what it is given; `loadMetadata()` sets it first.
  open var metadata: [String: Any]! {
    get { state.withLock { $0.metadata }.value }
    set {
      let new = Carried(newValue ?? [:])
      state.withLock { $0.metadata = new }
    }
  }

  // MARK: For subclasses

  /// Sets `metadata` to that of the store at `url`, which it looks at. Called before a store of the program's own is used.
  /// - Throws: why the store cannot be opened.
  open func loadMetadata() throws {}

  /// Called when the store has become one of the coordinator's.
  open func didAdd(to coordinator: NSPersistentStoreCoordinator) {}

  /// Called before the store leaves its coordinator.
  open func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}

  /// The metadata of the store at `url`, which need not be open.
  /// - Throws: `CocoaError` 134080 when there is none, or it cannot be read.
  open class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try requireFileOfStrata("metadataForPersistentStore(with:)")
    return try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url)
  }

  /// Writes the metadata of the store at `url`, which need not be open.
  /// - Throws: `CocoaError` 134070 for values that are no property-list values, 134080 when the store cannot be written.
  open class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    try requireFileOfStrata("setMetadata(_:forPersistentStoreAt:)")
    try NSPersistentStoreCoordinator.setMetadata(
      metadata, forPersistentStoreOfType: NSSQLiteStoreType, at: url)
  }

  /// What a store of the program's class keeps is known to that class alone.
  private class func requireFileOfStrata(_ method: String) throws {
    guard self is NSIncrementalStore.Type || self is NSAtomicStore.Type else { return }
    try cocoa(.persistentStoreOpen) {
      throw CoreDataError(
        .persistentStoreOpen,
        "\(self) does not override \(method), so nothing is known of its stores that are not open.")
    }
  }

  /// The class that migrates stores of this one.
  open class func migrationManagerClass() -> AnyClass { NSMigrationManager.self }

  open override var description: String {
    "<\(type) store \(identifier ?? "?")\(url.map { " at \($0.isFileURL ? $0.path : $0.absoluteString)" } ?? "")>"
  }
}

/// A store of Strata's, or of an engine that is registered below.
final class EngineStore: NSPersistentStore, @unchecked Sendable {
  // @unchecked Sendable: a constant of a Sendable type; the rest as its superclass says.
  private let below: any PersistentStore

  fileprivate init(_ store: any PersistentStore) {
    below = store
    super.init(
      persistentStoreCoordinator: nil, configurationName: store.configurationName,
      at: store.url ?? URL(fileURLWithPath: "/dev/null"), options: nil)
  }

  required convenience init(
    opening url: URL, for coordinator: NSPersistentStoreCoordinator?, configurationName: String?,
    options: [AnyHashable: Any]?
  ) {
    stop("no class is registered for stores of Strata's.")
  }

  override var store: any PersistentStore { below }
  private var entry: Known? { Self.known.withLock { $0[ObjectIdentifier(below)] } }

  override var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    guard let coordinator = entry?.coordinator,
      coordinator.StrataCore::persistentStores.contains(where: { $0 === below })
    else { return nil }
    return coordinator
  }

  override var type: String {
    if let type = entry?.type { return type }
    let type = below.storeType
    return type == PersistentStoreDescription.StoreType.lmdb.rawValue ? NSSQLiteStoreType : type
  }

  override var options: [AnyHashable: Any]? { entry?.options.value }

  override var url: URL? {
    get {
      if let url = below.url { return url }
      return entry?.url ?? (type == NSInMemoryStoreType ? nil : URL(fileURLWithPath: "/dev/null"))
    }
    set {
      if newValue != url {
        stop("the file of an open store is not exchanged; see migratePersistentStore(_:to:options:type:).")
      }
    }
  }

  override var identifier: String! {
    get { below.identifier.uuidString }
    set { if newValue != identifier { stop("a store keeps its UUID for life.") } }
  }

  override var configurationName: String {
    below.configurationName ?? ManagedObjectModel.defaultConfigurationName
  }

  override var isReadOnly: Bool {
    get { below.isReadOnly }
    set {
      if newValue != isReadOnly { stop("whether a store is read-only is an option that it is opened with.") }
    }
  }

  /// Setting it waits for the next save, as `NSPersistentStoreCoordinator.setMetadata(_:for:)`.
  override var metadata: [String: Any]! {
    get { persistentStoreCoordinator?.metadata(for: self) ?? appleSpelled(below.metadata.dictionary) }
    set { persistentStoreCoordinator?.setMetadata(newValue, for: self) }
  }
}

extension NSPersistentStore {
  /// What is known of a store that is alive, whether or not its object is held.
  fileprivate struct Known {
    weak var store: (any PersistentStore)?
    weak var object: NSPersistentStore?
    weak var coordinator: NSPersistentStoreCoordinator?
    var type: String?
    var options: Carried<[AnyHashable: Any]?> = Carried(nil)
    var url: URL?
  }

  fileprivate static let known = Mutex<[ObjectIdentifier: Known]>([:])

  /// The object for `store`.
  static func of(_ store: any PersistentStore, in coordinator: NSPersistentStoreCoordinator)
    -> NSPersistentStore
  {
    if let program = (store as? ProgramEngine)?.program { return program }
    return known.withLock { known in
      known = known.filter { $0.value.store != nil }
      var entry = known[ObjectIdentifier(store)] ?? Known(store: store)
      let object = entry.object ?? EngineStore(store)
      entry.object = object
      entry.coordinator = coordinator
      known[ObjectIdentifier(store)] = entry
      return object
    }
  }

  /// How a store is being opened.
  struct Opening: Sendable {
    let type: String
    let options: Carried<[AnyHashable: Any]?>
    var url: URL?
  }

  /// What the thread is opening: for those who are told of the store before it is returned.
  @TaskLocal static var opening: Opening?

  final func remember(_ opening: Opening) {
    guard self is EngineStore else { return }
    let store = store
    Self.known.withLock { known in
      known[ObjectIdentifier(store)]?.type = opening.type
      known[ObjectIdentifier(store)]?.options = opening.options
      known[ObjectIdentifier(store)]?.url = opening.url
    }
  }
}
