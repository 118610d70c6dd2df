import SwiftData
import Testing

enum FirstVersion: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Note.self] }

  @Model final class Note {
    var text: String
    init(text: String) { self.text = text }
  }
}

enum SecondVersion: VersionedSchema {
  static var versionIdentifier: Schema.Version { Schema.Version(2, 0, 0) }
  static var models: [any PersistentModel.Type] { [Note.self] }

  @Model final class Note {
    var text: String
    var length = 0
    init(text: String) { self.text = text }
  }
}

enum ThirdVersion: VersionedSchema {
  static let versionIdentifier = Schema.Version(3, 0, 0)
  static var models: [any PersistentModel.Type] { [Note.self] }

  @Model final class Note {
    @Attribute(originalName: "text") var body: String
    var length = 0
    init(body: String) { self.body = body }
  }
}

enum NotePlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] {
    [FirstVersion.self, SecondVersion.self, ThirdVersion.self]
  }
  static var stages: [MigrationStage] { [measure, rename] }

  static let measure = MigrationStage.custom(
    fromVersion: FirstVersion.self, toVersion: SecondVersion.self, willMigrate: nil,
    didMigrate: { context in
      for note in try context.fetch(FetchDescriptor<SecondVersion.Note>()) { note.length = note.text.count }
      try context.save()
    })
  static let rename = MigrationStage.lightweight(
    fromVersion: SecondVersion.self, toVersion: ThirdVersion.self)
}

/// A plan with one version only.
enum Plan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [Only.self] }
  static var stages: [MigrationStage] { [] }
  enum Only: VersionedSchema {
    static let versionIdentifier = Schema.Version(1, 0, 0)
    static var models: [any PersistentModel.Type] { [Trip.self] }
  }
}

@Suite("Migration")
struct MigrationRows {
  @Test("protocols VersionedSchema and SchemaMigrationPlan; enum MigrationStage and both cases")
  func plan() throws {
    let folder = try Folder()
    let configuration = ModelConfiguration(url: folder.file("notes.store"))
    do {
      let container = try ModelContainer(
        for: Schema(versionedSchema: FirstVersion.self), configurations: configuration)
      let context = ModelContext(container)
      context.insert(FirstVersion.Note(text: "four"))
      try context.save()
    }
    let container = try ModelContainer(
      for: Schema(versionedSchema: ThirdVersion.self), migrationPlan: NotePlan.self,
      configurations: configuration)
    let note = try #require(ModelContext(container).fetch(FetchDescriptor<ThirdVersion.Note>()).first)
    #expect(note.body == "four" && note.length == 4)
  }
}
