import Foundation
import StrataCore

/// Stores of Apple's Core Data and SwiftData in SQLite: what they are of, and their objects in a store of Strata's, and back.
///
/// The store that is read is never written, and nothing is left beside it; see Docs/AppleStores.md. All functions may be called on any thread and block it
/// for as long as they take.
public enum AppleSQLite {
  /// The name of the type of such stores, for descriptions and coordinators; the same as `PersistentStoreDescription.StoreType.appleSQLite`. The first use makes
  /// the type known to all coordinators of the process. Core Data calls it `NSSQLiteStoreType`, which here means Strata's own files.
  public static let storeType: String = PersistentStoreDescription.StoreType.appleSQLite.rawValue

  /// Whether a file is a store of Core Data in SQLite. Reads its header and the names of its tables.
  public static func isStore(at url: URL) -> Bool {
    guard let file = try? SourceFile(url.path) else { return false }
    defer { file.close() }
    return (try? AppleCatalogue(file.database)) != nil
  }

  /// The model in a store's cache, changeable. It has neither fetched properties, predicates and indexes nor derivations.
  /// - Throws: ``AppleStoreError``: `.missing`, `.notAStore`, `.noModel` when there is none or it cannot be read.
  public static func model(at url: URL) throws -> ManagedObjectModel {
    let file = try SourceFile(url.path)
    defer { file.close() }
    return try AppleCatalogue(file.database).cachedModel().model
  }

  /// Makes a store of Strata of one in Apple's format. The objects keep their keys and the store its UUID, so URIs mean the same objects; the program's
  /// own metadata come along.
  ///
  /// Reads one state of the store, which may be in use. The new store is written under another name beside its place, checked, compared with the original
  /// value by value and link by link, and gets its name then. Memory grows by some bytes for each object, besides the largest value.
  ///
  /// What is wrong in the original is in the report: links that lead nowhere become nil, as values that do not fit their type.
  /// - Parameters:
  ///   - source: Apple's store.
  ///   - destination: The new store's file, which must not exist.
  ///   - options: The model, and what is not to happen.
  ///   - progress: Called on this thread about every thousand objects. When it throws, the work ends and nothing is left of it.
  /// - Returns: What came along, and what did not.
  /// - Throws: ``AppleStoreError``; ``ModelError`` for a model that is none; ``StorageError`` for the new store's file; what `progress` throws.
  public static func importStore(
    from source: URL, to destination: URL, options: AppleImportOptions = AppleImportOptions(),
    progress: (AppleStoreProgress) throws -> Void = { _ in }
  ) throws -> AppleStoreReport {
    try withoutActuallyEscaping(progress) { progress in
      try FileSizeLimit.withoutSignal {
        try AppleImport(
          source: source.path, destination: destination.path, options: options, progress: progress
        ).run()
      }
    }
  }

  /// Makes a store in Apple's format of one of Strata, for Core Data to open. Keys and UUID stay.
  ///
  /// The hashes by which Core Data knows the versions of entities are made by Apple's framework alone, so they must be brought: see ``AppleEntityHashes``.
  /// The new store is checked and compared with the original before it gets its name.
  ///
  /// The format keeps fewer digits of decimals, no NaN, and one owner for each member of a to-many relationship without inverse: what loses something is
  /// refused unless `permitsLosses`.
  /// - Parameters:
  ///   - source: Strata's store, which may be in use.
  ///   - destination: The new store's file, which must not exist, nor a folder of large values of its name.
  ///   - hashes: Where the hashes come from.
  ///   - permitsLosses: Whether to go on when something has no exact form.
  ///   - progress: As for ``importStore(from:to:options:progress:)``.
  /// - Returns: What came along, and what did not.
  /// - Throws: ``AppleStoreError``; ``StorageError`` for Strata's store; what `progress` throws.
  public static func exportStore(
    from source: URL, to destination: URL, hashes: AppleEntityHashes, permitsLosses: Bool = false,
    progress: (AppleStoreProgress) throws -> Void = { _ in }
  ) throws -> AppleStoreReport {
    try withoutActuallyEscaping(progress) { progress in
      try FileSizeLimit.withoutSignal {
        try AppleExport(
          source: source, destination: destination.path, hashes: hashes, permitsLosses: permitsLosses,
          progress: progress
        ).run()
      }
    }
  }

  /// Removes what is unfinished of this process, which ends now.
  package static func removeUnfinishedFiles() { TemporaryFolder.removeAll() }
}

/// Where the version hashes of entities come from that only Apple's framework can make.
public enum AppleEntityHashes: Sendable, Hashable {
  /// An empty store that the app has made: its tables, hashes and model are taken over.
  case template(URL)
  /// The file `VersionInfo.plist` in the app's compiled model, the `.momd`; `version` names one of its models, nil the current one.
  case versionInfo(URL, version: String? = nil)
}
