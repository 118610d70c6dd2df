import Foundation
import StrataCore

/// The metadata of a store that is written: hashes that were brought, the sums that follow from them, what the program keeps there.
struct AppleMetadata {
  /// The sum that Core Data compares stores and models by: over the names and hashes of all entities, by name.
  static func digest(_ hashes: [String: Data]) -> String {
    var bytes = Data()
    for name in hashes.keys.sorted() { bytes += Data(name.utf8) + (hashes[name] ?? Data()) }
    return SHA512.digest(of: bytes).base64EncodedString()
  }

  /// The shorter sum, over the hashes alone.
  static func checksum(_ hashes: [String: Data]) -> String {
    let bytes = hashes.keys.sorted().reduce(into: [UInt8]()) { $0 += hashes[$1] ?? Data() }
    return Data(SHA256.digest(of: bytes)).base64EncodedString()
  }

  /// The property list of a new store.
  static func list(_ hashes: [String: Data], identifiers: [String]) -> [String: Any] {
    [
      "NSPersistenceFrameworkVersion": 1_345, "NSStoreType": "SQLite", "_NSAutoVacuumLevel": "2",
      "NSStoreModelVersionHashes": hashes, "NSStoreModelVersionHashesVersion": 3,
      "NSStoreModelVersionIdentifiers": identifiers, "NSStoreModelVersionHashesDigest": digest(hashes),
      "NSStoreModelVersionChecksumKey": checksum(hashes),
    ]
  }

  /// The bytes of a property list, the program's own values added.
  /// - Throws: `AppleStoreError`.
  static func encoded(_ list: [String: Any], adding own: StoreMetadata) throws -> Data {
    // What the template's program has put there is that program's, and the store's own is what comes along.
    let standard = list.filter { AppleCatalogue.isStandard($0.key) }
    let program = own.dictionary.filter { !AppleCatalogue.isStandard($0.key) }
    let all = standard.merging(program) { standard, _ in standard }
    do {
      return try PropertyListSerialization.data(fromPropertyList: all, format: .binary, options: 0)
    } catch {
      throw AppleStoreError(.other, "The metadata have no form as a property list.")
    }
  }

  /// The hashes in a `VersionInfo.plist`.
  /// - Throws: `AppleStoreError`.
  static func hashes(_ url: URL, version: String?) throws -> [String: Data] {
    let data: Data
    do { data = try Data(contentsOf: url) } catch {
      throw AppleStoreError(
        access(url.path, F_OK) == 0 ? .permission : .missing,
        "\(url.path) cannot be read: \(error.localizedDescription)")
    }
    let list = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
    guard let models = list?["NSManagedObjectModel_VersionHashes"] as? [String: [String: Data]],
      !models.isEmpty
    else {
      throw AppleStoreError(
        .needsHashes,
        "\(url.path) is no VersionInfo.plist of a compiled model: it has no NSManagedObjectModel_VersionHashes."
      )
    }
    let current = list?["NSManagedObjectModel_CurrentVersionName"] as? String
    let names = models.keys.sorted().joined(separator: ", ")
    guard let name = version ?? current ?? (models.count == 1 ? models.keys.first : nil) else {
      throw AppleStoreError(.noVersion, "\(url.path) has several versions, and none was named: \(names).")
    }
    guard let hashes = models[name] else {
      throw AppleStoreError(.noVersion, "\(url.path) has no version “\(name)”, but \(names).")
    }
    if let wrong = hashes.first(where: { $0.value.count != 32 })?.key {
      throw AppleStoreError(.needsHashes, "\(url.path): the hash of \(wrong) has not 32 bytes.")
    }
    return hashes
  }
}
