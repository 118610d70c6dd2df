import Foundation

/// Which kind of store to open, where, and how.
public struct PersistentStoreDescription: Sendable, Hashable {
  /// A kind of store. Others than the two here belong to engines that are registered: `StrataPostgres` adds one, and programs that use the module
  /// CoreData add theirs with `registerStoreClass(_:forStoreType:)`.
  public struct StoreType: RawRepresentable, Sendable, Hashable {
    /// The type's name, as metadata have it.
    public let rawValue: String
    /// The type of that name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// One file, on LMDB.
    public static let lmdb = StoreType(rawValue: "LMDB")
    /// The same store on an unlinked temporary file: gone when it is closed (rule 332).
    public static let inMemory = StoreType(rawValue: "InMemory")
  }

  /// The store's file, `Name.strata`, beside which LMDB's lock file lies; of another engine's store where that is. Nil for a store in memory; `/dev/null` is
  /// one, too. `/dev/null/Name` is a store in memory that all coordinators of this process share who add it, until the last of them lets it go.
  public var url: URL?
  /// The kind of store. Default: a file.
  public var type: StoreType
  /// What else the engine of the type is to know, by names that its documentation has. LMDB has none: what it takes are properties here.
  public var engineOptions: [String: String] = [:]
  /// The model configuration whose entities the store holds; nil for all (rule 323).
  public var configuration: String?
  /// Whether saves to the store fail (rule 324).
  public var isReadOnly = false
  /// What a returned save promises. Where this process has the file open with a durability that promises more, that one counts; where it promises less, the store
  /// is refused.
  public var durability: Durability = .full
  /// Whether the store is opened on a thread of its own, the callback coming later (rule 327).
  public var shouldAddStoreAsynchronously = false
  /// Whether a store on a network file system is opened. LMDB's locks do not hold there; default false.
  public var allowsNetworkFileSystem = false
  /// Whether row checksums are verified at every read, not only by `StoreCheck`.
  public var verifiesChecksums = false
  /// Whether a store written with another version of the model is opened all the same (rule 304). To write to one in a file, it gets the model's version where nothing
  /// is lost by that; where something would be, it is migrated like any other, or refused with error 134100.
  public var ignoresModelVersion = false
  /// Whether a store of another version of the model is migrated when it is opened (rule 306). Default true. Without, it is refused
  /// with error 134100. A store that is opened read-only is never migrated.
  public var migratesAutomatically = true
  /// Whether how it is migrated is inferred from the models. Default true; there are no mapping models to be found elsewhere, so without it
  /// the store is refused with error 134140.
  public var infersMappingModel = true
  /// Models that the program knows besides the versions in the `.xcdatamodeld` that its model was read from: earlier versions, made in code. A
  /// migration that takes something away from a store needs to know the store's model (``MigrationPermission``).
  public var knownModels: [ManagedObjectModel] {
    get { known.map(\.model) }
    set { known = newValue.map { KnownModel(model: $0) } }
  }
  private var known: [KnownModel] = []
  /// What a migration may take away, whichever program wrote it: `Entity`, `Entity.property`, by the names that the store's model has. The error that
  /// refuses a migration lists what it takes.
  public var permittedLosses: Set<String> = []
  /// Whether a migration writes all rows anew also where the change of the model needs none to be touched. Default false: then such a change takes as long
  /// as opening the store, and its history and tokens stay.
  public var migratesAllRows = false
  /// Whether the file from before a migration that has taken something away, `Name.strata-before-1`, outlasts the next save. Default false.
  public var keepsReplacedFiles = false
  /// The stages by which the store is migrated, instead of in one step; nil, the default, for one step (rule 314).
  public var stagedMigrationManager: StagedMigrationManager?
  /// Whether what other processes commit to the file is followed: then contexts that merge automatically show it without being asked.
  /// Costs nothing without observers. Default true. A network file system does not report writes: the file is
  /// looked at once a second.
  public var followsOtherProcesses = true
  /// Whether the coordinator posts `PersistentStoreCoordinator.remoteChangeNotification` for every write to the store, whichever
  /// process it comes from (rule 134). Default false.
  public var postsRemoteChangeNotifications = false
  /// Whether every save and batch to the store is recorded in its history, which `PersistentHistoryRequest` reads (rule 277). Default false;
  /// a store that records a history goes on, whatever this says, until `PersistentStoreCoordinator.endHistory(of:)`.
  public var recordsHistory = false
  /// How long the history is kept. Saves of this process delete older entries from time to time.
  public var historyRetention = HistoryRetention()
  /// Whether the store's file is made shorter by itself: when more than half of it is free, 8 MB at least, and nothing was saved for two seconds, on a thread of its own. Default
  /// false. `PersistentStoreCoordinator.compact` does it at once.
  public var compactsAutomatically = false
  /// How long a save waits for another process that is writing, before it fails as busy. So long, in all its steps together, waits opening, too,
  /// when it has to write: for a model that is new to the store, indexes, a history, a migration. A store that fits is opened while other processes write.
  public var timeout: Duration = .seconds(30)
  /// Whether classes that declare no slots are taken, since they find their properties by name: those written for Core Data do.
  package var takesUndeclaredSlots = false
  /// Whether the program is known to follow the one that wrote the store: what it leaves out of its models may go from the store.
  package var followsStoredModel = false
  /// Whether small saves go into a log beside the store, `Name.strata-log`, which makes each of them one write and one flush. Default true. The
  /// last orderly close removes the log; a log that a killed process has left is recovered at the next opening, whatever this says. Once a store
  /// has been opened with it, versions of Strata that know no logs refuse the store. Cost and promises: `Docs/Reliability.md`.
  public var keepsLog = LogPolicy.isKeptByDefault
  /// After how many commits of this process a log begins; nil for the default.
  package var commitsBeforeLog: Int?

  /// A store in the file at `url`; in memory for `/dev/null`.
  public init(url: URL) {
    self.url = url
    type = .lmdb
  }

  /// A store of any kind.
  public init(type: StoreType, url: URL?) {
    self.url = url
    self.type = type
  }

  /// A store in memory.
  public static var inMemory: PersistentStoreDescription {
    PersistentStoreDescription(type: .inMemory, url: nil)
  }

  /// See ``LMDBStore/isInMemory(_:)``.
  package static func isInMemory(_ url: URL?) -> Bool { LMDBStore.isInMemory(url) }

  /// A model that is compared by which object it is.
  private struct KnownModel: Sendable, Hashable {
    let model: ManagedObjectModel
    static func == (a: Self, b: Self) -> Bool { a.model === b.model }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(model)) }
  }

  var migrationPermission: MigrationPermission {
    var permission = MigrationPermission(knownModels: knownModels, permittedLosses: permittedLosses)
    permission.knowsSource = followsStoredModel
    return permission
  }
}
