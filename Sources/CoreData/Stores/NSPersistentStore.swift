import Foundation
import StrataCore

/// A store that is attached to a coordinator, or was.
///
/// There is one object per open store while it is held. May be used from any thread.
public final class NSPersistentStore: NSObject, Sendable {
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

  /// The store below.
  let store: any PersistentStore

  private init(_ store: any PersistentStore) { self.store = store }

  /// What is known of a store that is alive, whether or not its object is held.
  private struct Known {
    weak var store: (any PersistentStore)?
    weak var object: NSPersistentStore?
    weak var coordinator: NSPersistentStoreCoordinator?
    var type: String?
    var options: Carried<[AnyHashable: Any]?> = Carried(nil)
  }

  private static let known = Mutex<[ObjectIdentifier: Known]>([:])

  /// The object for `store`.
  static func of(_ store: any PersistentStore, in coordinator: NSPersistentStoreCoordinator)
    -> NSPersistentStore
  {
    known.withLock { known in
      known = known.filter { $0.value.store != nil }
      var entry = known[ObjectIdentifier(store)] ?? Known(store: store)
      let object = entry.object ?? NSPersistentStore(store)
      entry.object = object
      entry.coordinator = coordinator
      known[ObjectIdentifier(store)] = entry
      return object
    }
  }

  private var entry: Known? { Self.known.withLock { $0[ObjectIdentifier(store)] } }

  /// How a store is being opened.
  struct Opening: Sendable {
    let type: String
    let options: Carried<[AnyHashable: Any]?>
  }

  /// What the thread is opening: for those who are told of the store before it is returned.
  @TaskLocal static var opening: Opening?

  func remember(_ opening: Opening) {
    Self.known.withLock { known in
      known[ObjectIdentifier(store)]?.type = opening.type
      known[ObjectIdentifier(store)]?.options = opening.options
    }
  }

  /// The coordinator the store was opened by, while it is attached there.
  public var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    guard let coordinator = entry?.coordinator,
      coordinator.StrataCore::persistentStores.contains(where: { $0 === store })
    else { return nil }
    return coordinator
  }

  /// The type it was opened as.
  public var type: String {
    entry?.type ?? (store.url == nil ? NSInMemoryStoreType : NSSQLiteStoreType)
  }

  /// The options it was opened with.
  public var options: [AnyHashable: Any]? { entry?.options.value }

  /// The file; `/dev/null` for a store in memory of a type that is on disk otherwise; nil for one of type `NSInMemoryStoreType`.
  public var url: URL? {
    if let url = store.url { return url }
    return type == NSInMemoryStoreType ? nil : URL(fileURLWithPath: "/dev/null")
  }
  /// The store's UUID.
  public var identifier: String! { store.identifier.uuidString }
  /// The configuration it was opened with.
  public var configurationName: String { store.configurationName ?? "PF_DEFAULT_CONFIGURATION_NAME" }
  /// Whether saves to it are refused.
  public var isReadOnly: Bool { store.isReadOnly }

  /// The store's metadata. Setting it waits for the next save, as `NSPersistentStoreCoordinator.setMetadata(_:for:)`.
  public var metadata: [String: Any]! {
    get { persistentStoreCoordinator?.metadata(for: self) ?? appleSpelled(store.metadata.dictionary) }
    set { persistentStoreCoordinator?.setMetadata(newValue, for: self) }
  }

  /// The metadata of the store in the file at `url`, which need not be open.
  /// - Throws: `CocoaError` 134080 when there is none, or it cannot be read.
  public class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
    try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url)
  }

  /// Writes the metadata of the store in the file at `url`.
  /// - Throws: `CocoaError` 134070 for values that are no property-list values, 134080 when the file cannot be written.
  public class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
    try NSPersistentStoreCoordinator.setMetadata(
      metadata, forPersistentStoreOfType: NSSQLiteStoreType, at: url)
  }

  public override var description: String {
    "<\(type) store \(store.identifier.uuidString)\(url.map { " at \($0.path)" } ?? "")>"
  }
}
