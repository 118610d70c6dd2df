import Foundation
import StrataCore

extension NSMappingModel {
  /// Reads the mapping model at `url`: an `.xcmappingmodel`, which Xcode edits. For the `.cdm` that Xcode would compile, the source of the same name beside
  /// it. The models it is between are looked for beside it, by the names that it has for them, and among the program's resources.
  ///
  /// Nil when there is none, it cannot be read, or a model is missing; standard error says which.
  public convenience init?(contentsOf url: URL?) {
    guard let url else { return nil }
    do {
      let source = try MappingModelSource(contentsOf: ModelLocations.source(of: url))
      self.init(
        entityMappings: try source.mappings(try source.model("source"), try source.model("destination")))
    } catch {
      Diagnostics.write("NSMappingModel(contentsOf:): \(error)", .error, module: "CoreData")
      return nil
    }
  }

  /// The mapping model between the two models among the resources of `bundles`; of the main bundle, and of the resource bundles beside the program, for
  /// nil. It is one whose models have the entities of these two, with the same version hashes.
  ///
  /// Nil when there is none. One that cannot be read is passed over; standard error says why.
  public convenience init?(
    from bundles: [Bundle]?, forSourceModel sourceModel: NSManagedObjectModel?,
    destinationModel: NSManagedObjectModel?
  ) {
    guard let sourceModel, let destinationModel else { return nil }
    for url in ModelLocations.mappingModels(in: bundles) {
      do {
        let source = try MappingModelSource(contentsOf: url)
        guard try source.model("source").entityVersionHashesByName == sourceModel.entityVersionHashesByName,
          try source.model("destination").entityVersionHashesByName
            == destinationModel.entityVersionHashesByName
        else { continue }
        self.init(entityMappings: try source.mappings(sourceModel, destinationModel))
        return
      } catch {
        Diagnostics.write("NSMappingModel(from:): \(error)", .error, module: "CoreData")
      }
    }
    return nil
  }
}

/// A mapping model that is being read.
private struct MappingModelSource {
  private let url: URL
  private let document: MappingModelDocument

  init(contentsOf url: URL) throws {
    self.url = url
    document = try MappingModelDocument(contentsOf: url)
  }

  private func refused(_ words: String) -> CoreDataError {
    CoreDataError(.migration, "\(url.path): \(words)")
  }

  /// One of the two models, `source` or `destination`.
  /// - Throws: `CoreDataError` 134110 when it is not found, or cannot be read.
  func model(_ which: String) throws -> NSManagedObjectModel {
    guard let path = document.model.text("\(which)modelpath") else {
      throw refused("The mapping model does not name its \(which) model.")
    }
    let parts = path.split(separator: "/").map(String.init)
    let isVersion = parts.count > 1 && parts[parts.count - 2].hasSuffix(".xcdatamodeld")
    let name = parts.suffix(isVersion ? 2 : 1).joined(separator: "/")
    let folders = [url.deletingLastPathComponent()] + ModelLocations.folders()
    for folder in folders {
      let file = folder.appendingPathComponent(name)
      guard FileManager.default.fileExists(atPath: file.path) else { continue }
      return try NSManagedObjectModel.mergedModel(contentsOf: [file])
    }
    throw refused("The \(which) model “\(name)” is neither beside the mapping model nor among the resources.")
  }

  func mappings(_ source: NSManagedObjectModel, _ destination: NSManagedObjectModel) throws
    -> [NSEntityMapping]
  {
    try document.entityMappings.map { try mapping($0, source, destination) }
  }

  private func mapping(
    _ object: MappingModelDocument.Object, _ source: NSManagedObjectModel, _ destination: NSManagedObjectModel
  ) throws -> NSEntityMapping {
    let (sourceName, destinationName) = (object.text("sourcename"), object.text("destinationname"))
    let old = try entity(sourceName, source, "source")
    let new = try entity(destinationName, destination, "destination")
    let mapping = NSEntityMapping()
    mapping.name =
      object.text("name") ?? [sourceName, destinationName].compactMap { $0 }.joined(separator: "To")
    mapping.sourceEntityName = sourceName
    mapping.destinationEntityName = destinationName
    mapping.sourceEntityVersionHash = old?.versionHash
    mapping.destinationEntityVersionHash = new?.versionHash
    mapping.entityMigrationPolicyClassName = object.text("migrationpolicyclassname")
    switch (old, new) {
    case (nil, _): mapping.mappingType = .addEntityMappingType
    case (_, nil): mapping.mappingType = .removeEntityMappingType
    case _ where mapping.entityMigrationPolicyClassName != nil: mapping.mappingType = .customEntityMappingType
    case (let old?, let new?):
      mapping.mappingType =
        old.versionHash == new.versionHash ? .copyEntityMappingType : .transformEntityMappingType
    }
    mapping.sourceExpression = try sourceExpression(object)
    mapping.attributeMappings = try document.referred("attributemappings", by: object).compactMap {
      try property($0, mapping.name) { name, path in
        old?.attributesByName[path.split(separator: ".").first.map(String.init) ?? path] == nil
          && old?.relationshipsByName[path.split(separator: ".").first.map(String.init) ?? path] == nil
          ? nil : NSPropertyMapping(name, from: path)
      }
    }
    mapping.relationshipMappings = try document.referred("relationshipmappings", by: object).compactMap {
      try relationship($0, mapping.name, old)
    }
    return mapping
  }

  private func entity(_ name: String?, _ model: NSManagedObjectModel, _ which: String) throws
    -> NSEntityDescription?
  {
    guard let name else { return nil }
    guard let entity = model.entitiesByName[name] else {
      throw refused("The \(which) model has no entity “\(name)”, which is mapped.")
    }
    return entity
  }

  /// Which objects are migrated: all of the entity, those of a filter, or what an expression says.
  private func sourceExpression(_ object: MappingModelDocument.Object) throws -> NSExpression? {
    if object.flag("autogenerateexpression") != true, let data = try archive("sourceexpressiondata", object) {
      return try ArchivedExpressions.expression(from: data)
    }
    guard let name = object.text("sourcename"), let filter = object.text("sourcefilterpredicatestring") else {
      return nil
    }
    return NSExpression(
      forFunction: NSExpression(forVariable: NSMigrationManagerKey), selectorName: MigrationFunctions.request,
      arguments: [NSExpression(forConstantValue: name), NSExpression(forConstantValue: filter)])
  }

  private func archive(_ name: String, _ object: MappingModelDocument.Object) throws -> Data? {
    guard let text = object.text(name) else { return nil }
    guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
      throw refused("“\(name)” is no Base64.")
    }
    return data
  }

  /// The mapping of a property with the expression that its author wrote, or with what `generated` makes for the key path of the source.
  private func property(
    _ object: MappingModelDocument.Object, _ owner: String,
    _ generated: (_ name: String, _ path: String) -> NSPropertyMapping?
  ) throws -> NSPropertyMapping? {
    guard let name = object.text("name") else { return nil }
    if object.flag("autogenerateexpression") != true, let data = try archive("valueexpressiondata", object) {
      let mapping = NSPropertyMapping()
      mapping.name = name
      do { mapping.valueExpression = try ArchivedExpressions.expression(from: data) } catch {
        throw refused("In the mapping “\(owner)”, “\(name)”: \(error)")
      }
      return mapping
    }
    if let mapping = generated(name, object.text("sourcekeypath") ?? name) { return mapping }
    // The source has nothing of that name: the property keeps what a new object has.
    let mapping = NSPropertyMapping()
    mapping.name = name
    return mapping
  }

  private func relationship(
    _ object: MappingModelDocument.Object, _ owner: String, _ old: NSEntityDescription?
  ) throws -> NSPropertyMapping? {
    try property(object, owner) { name, path in
      guard old?.relationshipsByName[path] != nil else { return nil }
      guard let through = object.text("sourcemappingname") else {
        return NSPropertyMapping(name, fromRelationship: path)
      }
      let mapping = NSPropertyMapping()
      mapping.name = name
      mapping.valueExpression = NSExpression(
        forFunction: NSExpression(forVariable: NSMigrationManagerKey),
        selectorName: MigrationFunctions.byMapping,
        arguments: [
          NSExpression(forConstantValue: through),
          NSExpression(.keyPath(NSExpression(forVariable: NSMigrationSourceObjectKey), path)),
        ])
      return mapping
    }
  }
}
