import Foundation

// Forms that stores, tools and engines outside of this module keep models and metadata in.

extension ManagedObjectModel {
  /// The model as a store keeps it: JSON with sorted keys.
  /// - Throws: ``ModelError`` when something in it has no form there.
  package func encodedForStores() throws -> Data { try ModelCoding.encode(self) }

  /// A model of what a store keeps, changeable. Classes are known by their names only.
  /// - Throws: ``ModelError`` for bytes that are no model.
  package static func decoded(fromStores data: Data) throws -> ManagedObjectModel {
    try ModelCoding.decode(data)
  }
}

extension StoreMetadata {
  /// The metadata with the keys that every store has (rule 303).
  package func withStandardKeys(
    identifier: UUID, type: String, versionHashes: [String: Data], versionIdentifiers: [String]
  ) -> StoreMetadata {
    adding(
      identifier: identifier, type: type,
      versions: StoredVersions(hashes: versionHashes, identifiers: versionIdentifiers))
  }
}
