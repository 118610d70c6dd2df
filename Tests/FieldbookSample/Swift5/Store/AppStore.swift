import SwiftData

/// The store of the app: where its container is made, and how it is opened in tests and previews.
enum AppStore {
  static let currentSchema = Schema(versionedSchema: SchemaV4.self)

  enum Failure: Error, Equatable {
    case cannotOpen(String)
  }

  /// The container of the app, in a folder.
  static func open(in folder: URL, named name: String = "Fieldbook") throws -> ModelContainer {
    let configuration = ModelConfiguration(
      name,
      schema: currentSchema,
      url: folder.appendingPathComponent("\(name).store"),
      cloudKitDatabase: .none)
    do {
      return try ModelContainer(
        for: currentSchema,
        migrationPlan: FieldbookPlan.self,
        configurations: [configuration])
    } catch let error as SwiftDataError where error == .loadIssueModelContainer {
      throw Failure.cannotOpen(configuration.url.lastPathComponent)
    }
  }

  /// A container that is gone with the process.
  static func inMemory() throws -> ModelContainer {
    let configuration = ModelConfiguration(schema: currentSchema, isStoredInMemoryOnly: true)
    return try ModelContainer(for: currentSchema, configurations: [configuration])
  }

  /// The same file, to look at only.
  static func openReadOnly(in folder: URL, named name: String = "Fieldbook") throws -> ModelContainer {
    try ModelContainer(
      for: currentSchema,
      configurations: ModelConfiguration(
        name, schema: currentSchema, url: folder.appendingPathComponent("\(name).store"), allowsSave: false))
  }
}
