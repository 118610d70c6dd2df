import Foundation
import StrataCore

extension NSManagedObjectModel {
  /// Reads the model at `url`: what Xcode edits, an `.xcdatamodeld` (its current version), an `.xcdatamodel`, or a bare `contents`
  /// file. For the `.momd` or `.mom` that Xcode would compile, the source of the same name beside it. Nil when there is none,
  /// or it cannot be read; then standard error says why, as `mergedModel(contentsOf:)` throws it.
  public convenience init?(contentsOf url: URL) {
    guard let model = Self.model(at: [ModelLocations.source(of: url)], for: "init(contentsOf:)") else {
      return nil
    }
    self.init(takingOver: model)
  }

  /// The same; the models in the main bundle for nil.
  public convenience init?(byMerging models: [NSManagedObjectModel]?) {
    guard let models else {
      guard let merged = NSManagedObjectModel.mergedModel(from: nil) else { return nil }
      self.init(takingOver: merged)
      return
    }
    guard let merged = Self.merged(models) else { return nil }
    self.init(takingOver: merged)
  }

  /// A model with the entities of all `models`. Nil when two define an entity differently; standard error says which.
  public convenience init?(byMerging models: [NSManagedObjectModel]) {
    guard let merged = Self.merged(models) else { return nil }
    self.init(takingOver: merged)
  }

  /// A model with those entities of `models` that have the versions the metadata of a store names. Nil when one is missing.
  public convenience init?(byMerging models: [NSManagedObjectModel], forStoreMetadata metadata: [String: Any])
  {
    guard let merged = Self.merged(models, metadata) else { return nil }
    self.init(takingOver: merged)
  }

  /// The models in the bundles' resources as one; those of the main bundle, and of the resource bundles beside the program, for
  /// nil. Nil when there is none, one cannot be read, or two define an entity differently; of the last two standard error says why.
  public static func mergedModel(from bundles: [Bundle]?) -> NSManagedObjectModel? {
    let found = urls(in: bundles)
    return found.isEmpty ? nil : model(at: found, for: "mergedModel(from:)")
  }

  /// The versions of models in the bundles' resources that a store with that metadata was written with, as one. What cannot be read
  /// is passed over; standard error says why.
  public static func mergedModel(from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any])
    -> NSManagedObjectModel?
  {
    let caller = "mergedModel(from:forStoreMetadata:)"
    let found = urls(in: bundles).flatMap { url in saying(caller) { try versions(of: url) } ?? [] }
    return merged(found.compactMap { model(at: [$0.url], for: caller) }, metadata)
  }

  /// The version checksums of all versions of the model at `modelURL`, by name.
  /// - Throws: `CocoaError` 134020 for a model that cannot be read, with file and line.
  public static func checksumsForVersionedModel(at modelURL: URL) throws -> [String: String] {
    try cocoa(.persistentStoreIncompatibleSchema) {
      var result: [String: String] = [:]
      for version in try versions(of: ModelLocations.source(of: modelURL)) {
        result[version.name] = try mergedModel(contentsOf: [version.url]).versionChecksum
      }
      return result
    }
  }

  /// Names of versions, for people.
  public var versionIdentifiers: Set<AnyHashable> {
    get { Set(self.StrataCore::versionIdentifiers.map { AnyHashable($0) }) }
    set { self.StrataCore::versionIdentifiers = Set(newValue.map { ($0.base as? String) ?? "\($0.base)" }) }
  }

  private static func urls(in bundles: [Bundle]?) -> [URL] {
    if let bundles { return bundles.flatMap { ModelLocations.urls(in: $0) } }
    return ModelLocations.bundleFolders().flatMap { ModelLocations.urls(in: $0) }
  }

  /// The models at `urls` as one. Nil when that fails; standard error says why, unless there is nothing at all of them.
  private static func model(at urls: [URL], for caller: String) -> NSManagedObjectModel? {
    guard urls.contains(where: { FileManager.default.fileExists(atPath: $0.path) }) else { return nil }
    return saying(caller) { try NSManagedObjectModel.mergedModel(contentsOf: urls) }
  }

  /// What `body` answers; nil when it throws, and then standard error says why.
  private static func saying<Answer>(_ caller: String, _ body: () throws -> Answer) -> Answer? {
    do { return try body() } catch {
      Diagnostics.write("NSManagedObjectModel.\(caller): \(error)", .error, module: "CoreData")
      return nil
    }
  }

  private static func merged(_ models: [NSManagedObjectModel]) -> NSManagedObjectModel? {
    saying("init(byMerging:)") { try NSManagedObjectModel.make(byMerging: models) }
  }

  private static func merged(_ models: [NSManagedObjectModel], _ metadata: [String: Any])
    -> NSManagedObjectModel?
  {
    guard let hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data] else { return nil }
    let fitting = models.filter { model in
      !model.entities.isEmpty && model.entityVersionHashesByName.allSatisfy { hashes[$0.key] == $0.value }
    }
    guard let merged = merged(fitting),
      merged.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    else { return nil }
    return merged
  }
}
