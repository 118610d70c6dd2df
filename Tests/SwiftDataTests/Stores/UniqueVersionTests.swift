import SwiftData
import Testing

enum CoinsV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Coin.self] }
  @Model final class Coin {
    var name: String
    init(_ name: String) { self.name = name }
  }
}

enum CoinsV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Coin.self] }
  @Model final class Coin {
    @Attribute(.unique) var name: String
    init(_ name: String) { self.name = name }
  }
}

/// The same as the first, under another number.
enum CoinsV1Again: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 1, 0)
  static var models: [any PersistentModel.Type] { [Coin.self] }
  @Model final class Coin {
    var name: String
    init(_ name: String) { self.name = name }
  }
}

enum CoinsPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [CoinsV1.self, CoinsV2.self] }
  static var stages: [MigrationStage] { [.lightweight(fromVersion: CoinsV1.self, toVersion: CoinsV2.self)] }
}

enum CoinsTwicePlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [CoinsV1.self, CoinsV1Again.self, CoinsV2.self] }
  static var stages: [MigrationStage] {
    [
      .lightweight(fromVersion: CoinsV1.self, toVersion: CoinsV1Again.self),
      .lightweight(fromVersion: CoinsV1Again.self, toVersion: CoinsV2.self),
    ]
  }
}

@Suite("Versions with keys")
struct UniqueVersionTests {
  private let folder: Folder
  init() throws { folder = try Folder() }

  private func fill(_ names: [String]) throws {
    let context = ModelContext(
      try ModelContainer(
        for: Schema(versionedSchema: CoinsV1.self), configurations: ModelConfiguration(url: folder.file())))
    for name in names { context.insert(CoinsV1.Coin(name)) }
    try context.save()
  }

  private func names() throws -> [String] {
    let context = ModelContext(
      try ModelContainer(
        for: Schema(versionedSchema: CoinsV1.self), configurations: ModelConfiguration(url: folder.file())))
    return try context.fetch(FetchDescriptor<CoinsV1.Coin>(sortBy: [SortDescriptor(\.name)])).map(\.name)
  }

  @Test(
    "S59, M6: uniqueness is refused while there are duplicates, with a plan and without, and the store stays as it was"
  )
  func duplicates() throws {
    try fill(["a", "a", "b"])
    #expect(throws: SwiftDataError.loadIssueModelContainer) {
      try ModelContainer(
        for: Schema(versionedSchema: CoinsV2.self), configurations: ModelConfiguration(url: folder.file()))
    }
    #expect(throws: SwiftDataError.loadIssueModelContainer) {
      try ModelContainer(
        for: Schema(versionedSchema: CoinsV2.self), migrationPlan: CoinsPlan.self,
        configurations: ModelConfiguration(url: folder.file()))
    }
    #expect(try names() == ["a", "a", "b"])
  }

  @Test("M7: two versions with the same content are one: the step between them does nothing")
  func sameVersions() throws {
    try fill(["a", "b"])
    let context = ModelContext(
      try ModelContainer(
        for: Schema(versionedSchema: CoinsV2.self), migrationPlan: CoinsTwicePlan.self,
        configurations: ModelConfiguration(url: folder.file())))
    #expect(
      try context.fetch(FetchDescriptor<CoinsV2.Coin>(sortBy: [SortDescriptor(\.name)])).map(\.name) == [
        "a", "b",
      ])
  }
}
