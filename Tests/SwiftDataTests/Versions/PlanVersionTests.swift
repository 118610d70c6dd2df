import SwiftData
import Testing

/// Before there were versions.
enum PageV0: VersionedSchema {
  static let versionIdentifier = Schema.Version(0, 0, 0)
  static var models: [any PersistentModel.Type] { [Page.self] }
  @Model final class Page {
    var name = ""
    var gone = "g"
    init() {}
  }
}

enum PageV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Page.self] }
  @Model final class Page {
    var name = ""
    var added = 0
    init() {}
  }
}

enum PageV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Page.self] }
  @Model final class Page {
    var name = ""
    var added = 0
    var more = 1
    init() {}
  }
}

/// One version, and no stage.
enum FirstPagePlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [PageV1.self] }
  static var stages: [MigrationStage] { [] }
}

enum SecondPagePlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [PageV2.self] }
  static var stages: [MigrationStage] { [] }
}

/// Two versions, and no stage between them.
enum KnowingPagePlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [PageV0.self, PageV1.self] }
  static var stages: [MigrationStage] { [] }
}

enum EmptyingPagePlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [PageV1.self, PageV2.self] }
  static var stages: [MigrationStage] {
    [
      .custom(
        fromVersion: PageV1.self, toVersion: PageV2.self,
        willMigrate: { context in
          try context.delete(model: PageV1.Page.self)
          try context.save()
        }, didMigrate: nil)
    ]
  }
}

@Suite("Plans and versions")
struct PlanVersionTests {
  private let folder: Folder
  private var configuration: ModelConfiguration { ModelConfiguration(url: folder.file()) }

  init() throws { folder = try Folder() }

  private func fill<Model: PersistentModel>(_ model: Model) throws {
    let context = ModelContext(try ModelContainer(for: Model.self, configurations: configuration))
    context.insert(model)
    try context.save()
  }

  /// What a container says; it names nothing that SwiftData's configurations lack.
  private func refusal(_ type: any PersistentModel.Type, _ plan: (any SchemaMigrationPlan.Type)?) throws
    -> SwiftDataError
  {
    let error = try #require(
      #expect(throws: SwiftDataError.self) {
        try ModelContainer(for: type, migrationPlan: plan, configurations: configuration)
      })
    #expect(!error.reason.contains("knownModels") && !error.reason.contains("permittedLosses"))
    return error
  }

  @Test("M10: a plan of one version takes nothing away from a store whose version it does not have")
  func unknownVersion() throws {
    try fill(PageV0.Page())
    let error = try refusal(PageV1.Page.self, FirstPagePlan.self)
    #expect(error == .unknownSchema)
    #expect(error.reason.contains("Page.gone (1 object)") && error.reason.contains("plan"))
    // A plan that has it does.
    let context = ModelContext(
      try ModelContainer(
        for: PageV1.Page.self, migrationPlan: KnowingPagePlan.self, configurations: configuration))
    #expect(try context.fetch(FetchDescriptor<PageV1.Page>()).map(\.added) == [0])
  }

  @Test("M10: a store that a later program has migrated is refused as that, with a plan of one version")
  func laterVersion() throws {
    try fill(PageV1.Page())
    do {
      let context = ModelContext(try ModelContainer(for: PageV2.Page.self, configurations: configuration))
      #expect(try context.fetch(FetchDescriptor<PageV2.Page>()).map(\.more) == [1])
    }
    #expect(try refusal(PageV1.Page.self, FirstPagePlan.self) == .backwardMigration)
    let error = try refusal(PageV1.Page.self, nil)
    #expect(error == .loadIssueModelContainer && error.reason.contains("Page.more (1 object)"))
  }

  @Test("M3: a plan of one version does what can be inferred and takes nothing away")
  func inferred() throws {
    try fill(PageV1.Page())
    let context = ModelContext(
      try ModelContainer(
        for: PageV2.Page.self, migrationPlan: SecondPagePlan.self, configurations: configuration))
    #expect(try context.fetch(FetchDescriptor<PageV2.Page>()).map(\.more) == [1])
  }

  @Test("M4: a handler does not run while this process has the store open")
  func openElsewhere() throws {
    do {
      let held = ModelContext(try ModelContainer(for: PageV1.Page.self, configurations: configuration))
      held.insert(PageV1.Page())
      try held.save()
      let error = try refusal(PageV2.Page.self, EmptyingPagePlan.self)
      #expect(error == .loadIssueModelContainer && error.reason.contains("open in this process"))
      #expect(try held.fetchCount(FetchDescriptor<PageV1.Page>()) == 1)
    }
    let context = ModelContext(
      try ModelContainer(
        for: PageV2.Page.self, migrationPlan: EmptyingPagePlan.self, configurations: configuration))
    #expect(try context.fetchCount(FetchDescriptor<PageV2.Page>()) == 0)
  }
}
