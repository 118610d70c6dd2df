//
//  MigrationPlanner.swift
//  LedgerKit
//

import CoreData
import Foundation

public enum MigrationError: Error, Equatable {
  case unknownStore
  case noMapping(from: String, to: String)
}

/// Migrates a store one version after the other.
public final class MigrationPlanner {
  public struct Step {
    public let source: NSManagedObjectModel
    public let destination: NSManagedObjectModel
    public let mapping: NSMappingModel
  }

  private let versions: [NSManagedObjectModel]
  private let bundle: Bundle
  public private(set) var progress: [Float] = []

  public init(versions: [NSManagedObjectModel], bundle: Bundle) {
    self.versions = versions
    self.bundle = bundle
  }

  /// The versions of a model among the resources, by their names.
  public static func versions(of name: String, in bundle: Bundle) -> [NSManagedObjectModel] {
    let urls = bundle.urls(forResourcesWithExtension: "mom", subdirectory: "\(name).momd") ?? []
    func stem(_ url: URL) -> String { return url.deletingPathExtension().lastPathComponent }
    return urls.sorted { stem($0).localizedStandardCompare(stem($1)) == .orderedAscending }
      .compactMap { NSManagedObjectModel(contentsOf: $0) }
  }

  public func requiresMigration(at url: URL) throws -> Bool {
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: url, options: nil)
    guard let last = versions.last else { return false }
    return !last.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
  }

  public func steps(at url: URL) throws -> [Step] {
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: NSSQLiteStoreType, at: url, options: nil)
    guard let first = versions.firstIndex(where: {
      $0.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    }) else {
      throw MigrationError.unknownStore
    }
    var steps: [Step] = []
    for index in first..<(versions.count - 1) {
      let (source, destination) = (versions[index], versions[index + 1])
      steps.append(Step(source: source, destination: destination, mapping: try mapping(source, destination)))
    }
    return steps
  }

  private func mapping(_ source: NSManagedObjectModel, _ destination: NSManagedObjectModel) throws -> NSMappingModel {
    if let mapping = NSMappingModel(from: [bundle], forSourceModel: source, destinationModel: destination) {
      return mapping
    }
    do {
      return try NSMappingModel.inferredMappingModel(forSourceModel: source, destinationModel: destination)
    } catch {
      throw MigrationError.noMapping(
        from: source.versionIdentifiers.description, to: destination.versionIdentifiers.description)
    }
  }

  public func migrate(at url: URL) throws {
    for step in try steps(at: url) {
      let manager = NSMigrationManager(sourceModel: step.source, destinationModel: step.destination)
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let temporary = folder.appendingPathComponent(url.lastPathComponent)
      try manager.migrateStore(
        from: url, sourceType: NSSQLiteStoreType, options: nil, with: step.mapping, toDestinationURL: temporary,
        destinationType: NSSQLiteStoreType, destinationOptions: nil)
      progress.append(manager.migrationProgress)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: step.destination)
      try coordinator.replacePersistentStore(
        at: url, destinationOptions: nil, withPersistentStoreFrom: temporary, sourceOptions: nil,
        ofType: NSSQLiteStoreType)
    }
  }
}

/// Splits a full name when people are migrated.
@objc(PersonMigrationPolicy)
public final class PersonMigrationPolicy: NSEntityMigrationPolicy {
  public override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    let people = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])
    for person in people where person.value(forKey: "familyName") == nil {
      person.setValue("unknown", forKey: "familyName")
    }
  }
}
