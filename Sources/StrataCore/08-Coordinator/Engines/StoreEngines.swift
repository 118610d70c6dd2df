import Foundation
import Synchronization

/// The kinds of stores that this process can open. Two are there from the start, LMDB in a file and in memory; others are registered.
package enum StoreEngines {
  private static let kinds = Mutex<[String: any StoreEngineKind]>([
    PersistentStoreDescription.StoreType.lmdb.rawValue: LMDBKind(.lmdb),
    PersistentStoreDescription.StoreType.inMemory.rawValue: LMDBKind(.inMemory),
  ])

  /// Has stores of the kind's type opened by it from now on; a kind of the same type that was registered before is replaced. Stores that are open stay.
  package static func register(_ kind: any StoreEngineKind) {
    kinds.withLock { $0[kind.storeType.rawValue] = kind }
  }

  /// Forgets the kind of a type. Stores that are open stay.
  package static func unregister(_ type: PersistentStoreDescription.StoreType) {
    _ = kinds.withLock { $0.removeValue(forKey: type.rawValue) }
  }

  /// The names of all types, sorted.
  package static var types: [String] { kinds.withLock { $0.keys.sorted() } }

  /// The kind of a type; nil when none is registered.
  package static func registered(_ type: PersistentStoreDescription.StoreType) -> (any StoreEngineKind)? {
    kinds.withLock { $0[type.rawValue] }
  }

  /// The kind of a type.
  /// - Throws: `CoreDataError` 134000 naming the types there are when none is registered.
  package static func kind(_ type: PersistentStoreDescription.StoreType) throws -> any StoreEngineKind {
    if let kind = registered(type) { return kind }
    throw CoreDataError(
      .persistentStoreInvalidType,
      "“\(type.rawValue)” is no type of store: \(types.joined(separator: ", ")) are.")
  }

  /// The type of the stores that URLs like this one name: by its scheme; of a file, a store on LMDB.
  package static func type(of url: URL) -> PersistentStoreDescription.StoreType {
    if url.isFileURL { return .lmdb }
    let scheme = url.scheme?.lowercased() ?? ""
    return kinds.withLock { kinds in
      kinds.values.first { $0.schemes.contains(scheme) }?.storeType ?? .lmdb
    }
  }
}
