import Foundation
import StrataCore

extension NSManagedObjectModelReference {
  /// A model in a file: any version of an `.xcdatamodeld` that has the checksum.
  public convenience init(fileURL: URL, versionChecksum: String) {
    self.init(versionChecksum: versionChecksum) {
      try NSManagedObjectModel.version(
        withChecksum: versionChecksum, at: [ModelLocations.source(of: fileURL)])
    }
  }

  /// The model called `modelName` in the bundle's resources, those of the main bundle for nil; its version that has the checksum.
  public convenience init(name modelName: String, in bundle: Bundle?, versionChecksum: String) {
    self.init(versionChecksum: versionChecksum) {
      let places =
        bundle.map { ModelLocations.urls(in: $0) }
        ?? ModelLocations.folders().flatMap { ModelLocations.urls(in: $0) }
      return try NSManagedObjectModel.version(
        withChecksum: versionChecksum,
        at: places.filter { $0.deletingPathExtension().lastPathComponent == modelName })
    }
  }

  /// The model in the bundle's resources whose entities have these hashes.
  public convenience init(
    entityVersionHashes versionHash: [AnyHashable: Any], in bundle: Bundle?, versionChecksum: String
  ) {
    var hashes: [String: Data] = [:]
    for (key, value) in versionHash {
      if let name = key.base as? String, let hash = value as? Data { hashes[name] = hash }
    }
    self.init(versionChecksum: versionChecksum) { [hashes] in
      NSManagedObjectModel.mergedModel(
        from: bundle.map { [$0] }, forStoreMetadata: [NSStoreModelVersionHashesKey: hashes])
    }
  }
}

extension NSManagedObjectModel {
  /// The version of one of the models at `places` that has the checksum.
  fileprivate static func version(withChecksum checksum: String, at places: [URL]) throws
    -> NSManagedObjectModel?
  {
    for place in places {
      for version in try versions(of: place) {
        let model = try mergedModel(contentsOf: [version.url])
        if model.versionChecksum == checksum { return model }
      }
    }
    return nil
  }
}
