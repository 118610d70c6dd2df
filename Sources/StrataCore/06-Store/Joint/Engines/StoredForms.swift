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
    var result = self
    result[Self.identifierKey] = .string(identifier.uuidString)
    result[Self.typeKey] = .string(type)
    result[Self.versionHashesKey] = .dictionary(versionHashes.mapValues { .data($0) })
    result[Self.versionIdentifiersKey] = .array(versionIdentifiers.map { .string($0) })
    return result
  }

  /// The metadata without the keys that every store has.
  package var programsOwn: StoreMetadata {
    StoreMetadata(values: values.filter { !Self.standardKeys.contains($0.key) })
  }
}
