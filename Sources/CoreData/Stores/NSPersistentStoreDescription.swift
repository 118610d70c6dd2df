import Foundation
import StrataCore

/// What a container or a coordinator is to open. Change it before; belongs to one thread at a time.
open class NSPersistentStoreDescription: NSObject, NSCopying, @unchecked Sendable {
  // Safe as Core Data's: it is set up by one owner and only read while stores are loaded.

  /// The file; `/dev/null`, the default, for a store in memory, whatever its type. `/dev/null/Name` is a store in memory that the coordinators of this process
  /// share, unless its type is `NSInMemoryStoreType`.
  open var url: URL? = URL(fileURLWithPath: "/dev/null")
  /// `NSSQLiteStoreType`, the default, and `NSBinaryStoreType`: on disk; `NSInMemoryStoreType`: in memory.
  open var type = NSSQLiteStoreType
  /// The configuration whose entities the store keeps; nil for all.
  open var configuration: String?
  /// Whether the container opens the store off the calling thread.
  open var shouldAddStoreAsynchronously = false
  /// See `NSMigratePersistentStoresAutomaticallyOption`.
  open var shouldMigrateStoreAutomatically: Bool {
    get { (options[NSMigratePersistentStoresAutomaticallyOption] as? NSNumber)?.boolValue ?? false }
    set { setOption(NSNumber(value: newValue), forKey: NSMigratePersistentStoresAutomaticallyOption) }
  }
  /// See `NSInferMappingModelAutomaticallyOption`.
  open var shouldInferMappingModelAutomatically: Bool {
    get { (options[NSInferMappingModelAutomaticallyOption] as? NSNumber)?.boolValue ?? false }
    set { setOption(NSNumber(value: newValue), forKey: NSInferMappingModelAutomaticallyOption) }
  }
  /// The options. Stores are migrated, by what can be inferred, unless something else is set.
  open private(set) var options: [String: NSObject] = [
    NSMigratePersistentStoresAutomaticallyOption: NSNumber(value: true),
    NSInferMappingModelAutomaticallyOption: NSNumber(value: true),
  ]

  /// A description of Core Data's default: a store in memory, of type `NSSQLiteStoreType` at `/dev/null`.
  public override init() { super.init() }

  /// A description of the store in the file at `url`.
  public init(url: URL) {
    self.url = url
    super.init()
  }

  /// Whether saves to the store are refused.
  open var isReadOnly: Bool {
    get { (options[NSReadOnlyPersistentStoreOption] as? NSNumber)?.boolValue ?? false }
    set { setOption(NSNumber(value: newValue), forKey: NSReadOnlyPersistentStoreOption) }
  }

  /// How long a save waits for another process's, in seconds. Default 240.
  open var timeout: TimeInterval {
    get { (options[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue ?? 240 }
    set { setOption(NSNumber(value: newValue), forKey: NSPersistentStoreTimeoutOption) }
  }

  /// Models that the program knows besides the versions in the `.xcdatamodeld` that its model was read from. A migration that takes something
  /// away from a store needs to know the store's model; Core Data finds it in the bundle. See `StrataKnownModelsOption`.
  open var knownModels: [NSManagedObjectModel] {
    get { MigrationOptions.knownModels(options) }
    set { setOption(newValue.isEmpty ? nil : newValue as NSArray, forKey: StrataKnownModelsOption) }
  }

  /// What a migration may take away, whichever program wrote it: `Entity`, `Entity.property`. See `StrataPermittedLossesOption`.
  open var permittedLosses: Set<String> {
    get { MigrationOptions.permittedLosses(options) }
    set {
      setOption(newValue.isEmpty ? nil : newValue.sorted() as NSArray, forKey: StrataPermittedLossesOption)
    }
  }

  /// Whether the file from before a migration that has taken something away outlasts the next save. See `StrataKeepsReplacedFilesOption`.
  open var keepsReplacedFiles: Bool {
    get { (options[StrataKeepsReplacedFilesOption] as? NSNumber)?.boolValue ?? false }
    set { setOption(NSNumber(value: newValue), forKey: StrataKeepsReplacedFilesOption) }
  }

  /// Whether the store's file is made shorter by itself: when more than half of it is free, 8 MB at least, and nothing was saved for two seconds. Default false.
  /// See `StrataCompactsAutomaticallyOption`.
  open var compactsAutomatically: Bool {
    get { boolean(options, StrataCompactsAutomaticallyOption) }
    set { setOption(NSNumber(value: newValue), forKey: StrataCompactsAutomaticallyOption) }
  }

  /// What a save promises that has returned: `.full`, `.relaxed` or `.none`.
  public typealias Durability = StrataCore.Durability

  /// What a returned save promises: `.full`, the default, that it outlasts a power failure; `.relaxed` and `.none` that it outlasts the process. Where this process has the
  /// file open with more, that counts; where it has it open with less, the store is refused. See `StrataDurabilityOption`.
  open var durability: Durability {
    get { (try? durabilityOption(options)) ?? .full }
    set { setOption(NSString(string: newValue.rawValue), forKey: StrataDurabilityOption) }
  }

  /// Sets one option; nil takes it away.
  open func setOption(_ option: NSObject?, forKey key: String) { options[key] = option }

  /// Values set by `setValue(_:forPragmaNamed:)`; without effect.
  open var sqlitePragmas: [String: NSObject] {
    (options[NSSQLitePragmasOption] as? NSDictionary).map { pragmas in
      var result: [String: NSObject] = [:]
      for case let (key as String, value as NSObject) in pragmas { result[key] = value }
      return result
    } ?? [:]
  }

  /// Kept, and without effect: there is no SQLite below.
  open func setValue(_ value: NSObject?, forPragmaNamed name: String) {
    let pragmas = NSMutableDictionary()
    for (key, value) in sqlitePragmas where key != name { pragmas[key] = value }
    if let value { pragmas[name] = value }
    options[NSSQLitePragmasOption] = pragmas
  }

  /// A copy with the same contents.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentStoreDescription()
    copy.url = url
    copy.type = type
    copy.configuration = configuration
    copy.shouldAddStoreAsynchronously = shouldAddStoreAsynchronously
    copy.options = options
    return copy
  }

  /// Whether `object` describes the same store with the same options.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPersistentStoreDescription else { return false }
    if self === other { return true }
    return type == other.type && url == other.url && configuration == other.configuration
      && shouldAddStoreAsynchronously == other.shouldAddStoreAsynchronously && options == other.options
  }

  /// The same for all descriptions: it must stay what it is while one in a set or a dictionary is changed.
  open override var hash: Int { 0 }

  open override var description: String {
    "<store description: \(type)\(url.map { " at \($0.path)" } ?? "")>"
  }
}

/// What the store below is opened with.
func storeDescription(
  type: String, configuration: String?, url: URL?, options: [AnyHashable: Any]?
) throws -> PersistentStoreDescription {
  var result = PersistentStoreDescription(type: try engineType(type), url: url)
  switch result.type {
  case .inMemory: result.url = nil
  case .lmdb:
    guard let url else {
      throw CoreDataError(.persistentStoreOpen, "A store of type \(type) needs the URL of a file.")
    }
    // Core Data's way to have a SQLite store in memory.
    if PersistentStoreDescription.isInMemory(url) {
      result = .inMemory
      // One with a name is shared.
      if LMDBStore.memoryName(url) != nil { result.url = url }
    }
  default: break
  }
  if ![.inMemory, .lmdb].contains(result.type) { result.engineOptions = engineOptions(options) }
  // The name that stores of all entities give as theirs.
  result.configuration = configuration == ManagedObjectModel.defaultConfigurationName ? nil : configuration
  result.takesUndeclaredSlots = true
  func flag(_ key: String) -> Bool { boolean(options, key) }
  result.isReadOnly = flag(NSReadOnlyPersistentStoreOption)
  result.migratesAutomatically = flag(NSMigratePersistentStoresAutomaticallyOption)
  result.infersMappingModel = flag(NSInferMappingModelAutomaticallyOption)
  if let stages = options?[NSPersistentStoreStagedMigrationManagerOptionKey] as? NSStagedMigrationManager {
    result.stagedMigrationManager = stages
  }
  result.knownModels = MigrationOptions.knownModels(options)
  result.permittedLosses = MigrationOptions.permittedLosses(options)
  result.keepsReplacedFiles = flag(StrataKeepsReplacedFilesOption)
  result.ignoresModelVersion = flag(NSIgnorePersistentStoreVersioningOption)
  result.compactsAutomatically = flag(StrataCompactsAutomaticallyOption)
  if let durability = try durabilityOption(options) { result.durability = durability }
  result.recordsHistory = flag(NSPersistentHistoryTrackingKey)
  result.historyRetention = HistoryOptions.retention(options)
  result.postsRemoteChangeNotifications = flag(NSPersistentStoreRemoteChangeNotificationPostOptionKey)
  if let seconds = (options?[NSPersistentStoreTimeoutOption] as? NSNumber)?.doubleValue
    ?? (options?[NSPersistentStoreTimeoutOption] as? Double), !seconds.isNaN
  {
    // Any number may be set, and a `Duration` does not hold all: 30 years are for ever.
    result.timeout = .seconds(min(max(seconds, 0), 1e9))
  }
  return result
}

/// The type of store below that a name of Core Data's stands for: one of Strata's own for Apple's names, otherwise that of an engine or of a class that is
/// registered.
/// - Throws: `CoreDataError` 134000 when nothing is registered by that name.
func engineType(_ name: String) throws -> PersistentStoreDescription.StoreType {
  switch name {
  case NSInMemoryStoreType: return .inMemory
  case NSSQLiteStoreType, NSBinaryStoreType: return .lmdb
  default:
    let type = PersistentStoreDescription.StoreType(rawValue: name)
    if StoreEngines.registered(type) != nil { return type }
    let others = StoreEngines.types.filter { $0 != "LMDB" && $0 != NSInMemoryStoreType }
    let names = [NSSQLiteStoreType, NSBinaryStoreType, NSInMemoryStoreType] + others
    throw CoreDataError(
      .persistentStoreInvalidType,
      "“\(name)” is no type of store: \(names.dropLast().joined(separator: ", ")) and \(names[names.count - 1]) are."
    )
  }
}

/// A store that is looked at without being opened here.
func closedStore(type: String, url: URL, options: [AnyHashable: Any]?) throws -> PersistentStoreDescription {
  var result = PersistentStoreDescription(type: try engineType(type), url: url)
  if ![.inMemory, .lmdb].contains(result.type) { result.engineOptions = engineOptions(options) }
  return result
}

/// The options that are an engine's own, such as `adoptsTables` of stores on PostgreSQL: all but those by names of Core Data's and of Strata's. The engine refuses what
/// it does not know. Numbers and Booleans are passed on as texts.
func engineOptions(_ options: [AnyHashable: Any]?) -> [String: String] {
  var result: [String: String] = [:]
  for case let (name as String, value) in options ?? [:] where !isCommonOption(name) {
    result[name] = "\(value)"
  }
  return result
}

private func isCommonOption(_ name: String) -> Bool { name.hasPrefix("NS") || name.hasPrefix("Strata") }
