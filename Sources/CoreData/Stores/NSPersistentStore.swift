import Foundation
import StrataCore
import Synchronization

/// A store that is attached to a coordinator, or was.
///
/// There is one object per open store while somebody holds it. May be used from any thread.
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
  private let opened: Mutex<Opened>

  struct Opened {
    weak var coordinator: NSPersistentStoreCoordinator?
    var type: String?
    nonisolated(unsafe) var options: [AnyHashable: Any]?
    // Safe: never changed in place; values are property-list values.
  }

  private init(_ store: any PersistentStore) {
    self.store = store
    opened = Mutex(Opened())
  }

  private static let known = Mutex<[ObjectIdentifier: Known]>([:])
  private struct Known { weak var store: NSPersistentStore? }

  /// The object for `store`.
  static func of(_ store: any PersistentStore, in coordinator: NSPersistentStoreCoordinator)
    -> NSPersistentStore
  {
    known.withLock { known in
      if let found = known[ObjectIdentifier(store)]?.store { return found }
      let new = NSPersistentStore(store)
      new.opened.withLock { $0.coordinator = coordinator }
      known = known.filter { $0.value.store != nil }
      known[ObjectIdentifier(store)] = Known(store: new)
      return new
    }
  }

  func remember(type: String, options: [AnyHashable: Any]?) {
    let options = Carried(options)
    opened.withLock {
      $0.type = type
      $0.options = options.value
    }
  }

  /// The coordinator the store was opened by, while it is attached there.
  public var persistentStoreCoordinator: NSPersistentStoreCoordinator? {
    guard let coordinator = opened.withLock({ $0.coordinator }),
      coordinator.StrataCore::persistentStores.contains(where: { $0 === store })
    else { return nil }
    return coordinator
  }

  /// The type it was opened as.
  public var type: String {
    opened.withLock { $0.type } ?? (store.url == nil ? NSInMemoryStoreType : NSSQLiteStoreType)
  }

  /// The options it was opened with.
  public var options: [AnyHashable: Any]? { opened.withLock { Carried($0.options) }.value }

  /// The file; nil for a store in memory.
  public var url: URL? { store.url }
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

  public override var description: String {
    "<\(type) store \(store.identifier.uuidString)\(url.map { " at \($0.path)" } ?? "")>"
  }
}
