import Foundation

extension ManagedObjectModel {
  /// The version hash of every entity (rules 299–302).
  public var entityVersionHashesByName: [String: Data] {
    Dictionary(entities.map { ($0.name ?? "", $0.versionHash) }, uniquingKeysWith: { _, last in last })
  }

  /// Base64 of a 128-bit hash over all entities' version hashes (rule 315).
  public var versionChecksum: String { VersionHash.checksum(of: entityVersionHashesByName) }

  /// Whether a store with that metadata holds exactly the entities of the configuration, in this version.
  ///
  /// False for metadata without hashes, such as empty metadata (rule 305), and for an unknown configuration.
  public func isConfiguration(
    withName name: String?, compatibleWithStoreMetadata metadata: [String: Any]
  ) -> Bool {
    guard let hashes = metadata[StoreMetadataKey.modelVersionHashes] as? [String: Data],
      let entities = entities(forConfigurationName: name)
    else { return false }
    let own = Dictionary(entities.map { ($0.name ?? "", $0.versionHash) }, uniquingKeysWith: { a, _ in a })
    return own == hashes
  }
}

extension ManagedObjectModel {
  /// The configuration that has these entities and no others; nil for all of the model's, for none, and when there is no such configuration.
  func configuration(holding held: Set<String>) -> String? {
    if held.isEmpty || held == Set(entities.compactMap(\.name)) { return nil }
    return configurations.first { name in
      Set(entities(forConfigurationName: name)?.compactMap(\.name) ?? []) == held
    }
  }

  /// The checksum of the model that the entities of a store with that metadata make up.
  package static func versionChecksum(ofStoreMetadata metadata: [String: Any]) -> String? {
    (metadata[StoreMetadataKey.modelVersionHashes] as? [String: Data]).map { VersionHash.checksum(of: $0) }
  }
}

/// The names under which a store's metadata keeps what belongs to the model (rule 303).
public enum StoreMetadataKey {
  /// Entity name → version hash.
  public static let modelVersionHashes = "NSStoreModelVersionHashes"
  /// The model's version identifiers.
  public static let modelVersionIdentifiers = "NSStoreModelVersionIdentifiers"
  /// The store's type.
  public static let storeType = "NSStoreType"
  /// The store's UUID.
  public static let storeUUID = "NSStoreUUID"
}
