import Foundation

// Forms that engines outside of this module keep models and metadata in.

extension ManagedObjectModel {
  /// The model in the form in which stores keep it.
  /// - Throws: `ModelError` when something in it has no such form.
  package func storedForm() throws -> Data { try ModelCoding.encode(self) }

  /// The model that a store keeps, changeable. Classes are found by name.
  /// - Throws: `ModelError` when the bytes are damaged.
  package static func model(storedForm: Data) throws -> ManagedObjectModel {
    try ModelCoding.decode(storedForm)
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
