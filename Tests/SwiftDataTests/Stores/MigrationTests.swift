import SwiftData
import Testing

enum LogV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Entry.self] }
  @Model final class Entry {
    var text: String
    init(_ text: String) { self.text = text }
  }
}

enum LogV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Entry.self] }
  @Model final class Entry {
    @Attribute(originalName: "text") var body: String
    var stars = 1
    init(_ body: String) { self.body = body }
  }
}

enum LogV3: VersionedSchema {
  static let versionIdentifier = Schema.Version(3, 0, 0)
  static var models: [any PersistentModel.Type] { [Entry.self, Topic.self] }
  @Model final class Entry {
    @Attribute(.unique, originalName: "text") var body: String
    var stars = 1
    var length: Int?
    var topic: Topic?
    init(_ body: String) { self.body = body }
  }
  @Model final class Topic {
    var name: String
    @Relationship(inverse: \Entry.topic) var entries: [Entry] = []
    init(_ name: String) { self.name = name }
  }
}

enum LogPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [LogV1.self, LogV2.self, LogV3.self] }
  static var stages: [MigrationStage] {
    [
      .lightweight(fromVersion: LogV1.self, toVersion: LogV2.self),
      .custom(
        fromVersion: LogV2.self, toVersion: LogV3.self,
        willMigrate: { context in
          // One of each text: the next version has them unique.
          var seen: Set<String> = []
          for entry in try context.fetch(
            FetchDescriptor<LogV2.Entry>(sortBy: [SortDescriptor(\.stars, order: .reverse)]))
          {
            if !seen.insert(entry.body).inserted { context.delete(entry) }
          }
          try context.save()
        },
        didMigrate: { context in
          let topic = LogV3.Topic("all")
          context.insert(topic)
          for entry in try context.fetch(FetchDescriptor<LogV3.Entry>()) {
            entry.length = entry.body.count
            entry.topic = topic
          }
          try context.save()
        }),
    ]
  }
}

enum RefusingPlan: SchemaMigrationPlan {
  struct Refusal: Error {}
  static var schemas: [any VersionedSchema.Type] { [LogV1.self, LogV2.self] }
  static var stages: [MigrationStage] {
    [
      .custom(
        fromVersion: LogV1.self, toVersion: LogV2.self, willMigrate: { _ in throw Refusal() }, didMigrate: nil
      )
    ]
  }
}

/// What a handler does that must not run.
private func empty(_ context: ModelContext) throws {
  for entry in try context.fetch(FetchDescriptor<LogV1.Entry>()) { context.delete(entry) }
  try context.save()
}

/// Its second version cannot be inferred.
enum ImpossiblePlan: SchemaMigrationPlan {
  enum Next: VersionedSchema {
    static let versionIdentifier = Schema.Version(2, 0, 0)
    static var models: [any PersistentModel.Type] { [Numbered.Entry.self] }
  }
  static var schemas: [any VersionedSchema.Type] { [LogV1.self, Next.self] }
  static var stages: [MigrationStage] {
    [
      .custom(
        fromVersion: LogV1.self, toVersion: Next.self,
        willMigrate: { try empty($0) }, didMigrate: nil)
    ]
  }
}

/// What comes behind its custom stage cannot be inferred.
enum ImpossibleEndPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [LogV1.self, LogV2.self, ImpossiblePlan.Next.self] }
  static var stages: [MigrationStage] {
    [
      .custom(
        fromVersion: LogV1.self, toVersion: LogV2.self,
        willMigrate: { try empty($0) }, didMigrate: nil),
      .lightweight(fromVersion: LogV2.self, toVersion: ImpossiblePlan.Next.self),
    ]
  }
}

enum Strict {
  @Model final class Entry {
    var text: String
    var must: Date
    init(_ text: String) {
      self.text = text
      must = .now
    }
  }
}

/// What was a text is a number.
enum Numbered {
  @Model final class Entry {
    @Attribute(originalName: "text") var body: Int
    init(_ body: Int) { self.body = body }
  }
}

enum Smaller {
  @Model final class Entry {
    var note: String?
    init() {}
  }
}

/// Two stores: entries and clippings in the one, stamps in the other.
enum TwoV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Entry.self, Clipping.self, Stamp.self] }
  @Model final class Entry {
    var text: String
    init(_ text: String) { self.text = text }
  }
  /// No later version has it.
  @Model final class Clipping {
    var text: String
    init(_ text: String) { self.text = text }
  }
}

enum TwoV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Entry.self, Stamp.self] }
  @Model final class Entry {
    var text: String
    var length = 0
    init(_ text: String) { self.text = text }
  }
}

enum TwoPlan: SchemaMigrationPlan {
  static var schemas: [any VersionedSchema.Type] { [TwoV1.self, TwoV2.self] }
  static var stages: [MigrationStage] {
    [
      .custom(
        fromVersion: TwoV1.self, toVersion: TwoV2.self,
        willMigrate: { context in
          for clipping in try context.fetch(FetchDescriptor<TwoV1.Clipping>()) {
            context.insert(TwoV1.Entry(clipping.text))
          }
          try context.save()
        },
        didMigrate: { context in
          for entry in try context.fetch(FetchDescriptor<TwoV2.Entry>()) { entry.length = entry.text.count }
          try context.save()
        })
    ]
  }
}

@Suite("Migration")
struct MigrationTests {
  private func fill(_ url: URL) throws {
    let context = ModelContext(
      try ModelContainer(
        for: Schema(versionedSchema: LogV1.self), configurations: ModelConfiguration(url: url)))
    for text in ["one", "two", "one"] { context.insert(LogV1.Entry(text)) }
    try context.save()
  }

  @Test("M1: without a plan, what can be inferred is done: added, renamed and removed properties")
  func lightweight() throws {
    let folder = try Folder()
    try fill(folder.file())
    do {
      let context = ModelContext(
        try ModelContainer(for: LogV2.Entry.self, configurations: ModelConfiguration(url: folder.file())))
      let found = try context.fetch(FetchDescriptor<LogV2.Entry>())
      #expect(found.map(\.body).sorted() == ["one", "one", "two"])
      #expect(found.allSatisfy { $0.stars == 1 })
    }
    let context = ModelContext(
      try ModelContainer(for: Smaller.Entry.self, configurations: ModelConfiguration(url: folder.file())))
    #expect(try context.fetch(FetchDescriptor<Smaller.Entry>()).map(\.note) == [nil, nil, nil])
  }

  @Test("M1, better: without a plan, what a model no longer declares is kept in the file from before")
  func removedPropertiesAreKept() throws {
    let folder = try Folder()
    let url = folder.file()
    try fill(url)
    let context = ModelContext(
      try ModelContainer(for: Smaller.Entry.self, configurations: ModelConfiguration(url: url)))
    context.insert(Smaller.Entry())
    try context.save()
    let kept = url.deletingLastPathComponent().appendingPathComponent("\(url.lastPathComponent)-before-1")
    let before = ModelContext(
      try ModelContainer(
        for: Schema(versionedSchema: LogV1.self), configurations: ModelConfiguration(url: kept)))
    #expect(
      try before.fetch(FetchDescriptor<LogV1.Entry>()).map(\.text).sorted() == ["one", "one", "two"])
  }

  @Test("M10: without a plan, a program of the version before does not take a store back")
  func thereIsNoWayBack() throws {
    let folder = try Folder()
    try fill(folder.file())
    do {
      let container = try ModelContainer(
        for: LogV2.Entry.self, configurations: ModelConfiguration(url: folder.file()))
      for entry in try ModelContext(container).fetch(FetchDescriptor<LogV2.Entry>()) {
        #expect(entry.stars == 1)
      }
    }
    #expect(throws: SwiftDataError.loadIssueModelContainer) {
      try ModelContainer(
        for: Schema(versionedSchema: LogV1.self), configurations: ModelConfiguration(url: folder.file()))
    }
  }

  @Test("M2: a new property without a default needs a plan, where there are models")
  func impossible() throws {
    let folder = try Folder()
    try fill(folder.file())
    #expect(throws: SwiftDataError.loadIssueModelContainer) {
      try ModelContainer(for: Strict.Entry.self, configurations: ModelConfiguration(url: folder.file()))
    }
    let context = ModelContext(
      try ModelContainer(for: LogV1.Entry.self, configurations: ModelConfiguration(url: folder.file())))
    #expect(try context.fetchCount(FetchDescriptor<LogV1.Entry>()) == 3)
  }

  @Test("M3, M4, M5, M6, M8, M9: a plan leads a store through its stages, whichever version it is of")
  func plan() throws {
    for start in 1...3 {
      let folder = try Folder()
      let configuration = ModelConfiguration(url: folder.file())
      switch start {
      case 1: try fill(folder.file())
      case 2:
        try fill(folder.file())
        _ = try ModelContainer(for: LogV2.Entry.self, configurations: configuration)
      default: break
      }
      let container = try ModelContainer(
        for: Schema(versionedSchema: LogV3.self), migrationPlan: LogPlan.self, configurations: configuration)
      let context = ModelContext(container)
      if start == 3 {
        let entry = LogV3.Entry("new")
        context.insert(entry)
        try context.save()
      } else {
        let found = try context.fetch(FetchDescriptor<LogV3.Entry>(sortBy: [SortDescriptor(\.body)]))
        #expect(found.map(\.body) == ["one", "two"])
        #expect(found.map(\.length) == [3, 3])
        #expect(found.allSatisfy { $0.topic?.name == "all" })
      }
      // A store of the last version runs nothing.
      let again = ModelContext(
        try ModelContainer(
          for: LogV3.Entry.self, migrationPlan: LogPlan.self, configurations: configuration))
      #expect(try again.fetchCount(FetchDescriptor<LogV3.Topic>()) == (start == 3 ? 0 : 1))
    }
  }

  @Test("M4: what a handler throws ends the opening, and the old store stays usable")
  func refusingHandler() throws {
    let folder = try Folder()
    try fill(folder.file())
    let error = #expect(throws: SwiftDataError.self) {
      try ModelContainer(
        for: LogV2.Entry.self, migrationPlan: RefusingPlan.self,
        configurations: ModelConfiguration(url: folder.file()))
    }
    #expect(error?.underlyingError is RefusingPlan.Refusal)
    let context = ModelContext(
      try ModelContainer(for: LogV1.Entry.self, configurations: ModelConfiguration(url: folder.file())))
    #expect(try context.fetchCount(FetchDescriptor<LogV1.Entry>()) == 3)
  }

  @Test("M4: a handler does not run before a step that cannot be made")
  func impossibleStep() throws {
    for plan in [ImpossiblePlan.self, ImpossibleEndPlan.self] as [any SchemaMigrationPlan.Type] {
      let folder = try Folder()
      try fill(folder.file())
      #expect(throws: SwiftDataError.loadIssueModelContainer) {
        try ModelContainer(
          for: Numbered.Entry.self, migrationPlan: plan,
          configurations: ModelConfiguration(url: folder.file()))
      }
      let context = ModelContext(
        try ModelContainer(for: LogV1.Entry.self, configurations: ModelConfiguration(url: folder.file())))
      #expect(try context.fetchCount(FetchDescriptor<LogV1.Entry>()) == 3)
    }
  }

  @Test("M10: a store of a later version, or of one that the plan does not have, is refused")
  func otherVersions() throws {
    let folder = try Folder()
    let configuration = ModelConfiguration(url: folder.file())
    try fill(folder.file())
    _ = try ModelContainer(for: LogV3.Entry.self, migrationPlan: LogPlan.self, configurations: configuration)
    let backward = #expect(throws: SwiftDataError.self) {
      try ModelContainer(for: LogV2.Entry.self, migrationPlan: LogPlan.self, configurations: configuration)
    }
    #expect(backward == .backwardMigration)
    // By the versions' numbers.
    let (own, later) = (LogV2.versionIdentifier, LogV3.versionIdentifier)
    #expect(backward?.reason.contains("lead from \(own) to \(later)") == true)
    #expect(throws: SwiftDataError.unknownSchema) {
      try ModelContainer(
        for: LogV2.Entry.self, migrationPlan: RefusingPlan.self, configurations: configuration)
    }
  }

  @Test("M3, M4: a plan leads each of several stores through its stages", arguments: [false, true])
  func severalStores(isOneOpen: Bool) throws {
    let folder = try Folder()
    func parts(_ models: [any PersistentModel.Type]) -> [ModelConfiguration] {
      [
        ModelConfiguration("log", schema: isOneOpen ? nil : Schema(models), url: folder.file("Log.store")),
        ModelConfiguration("stamps", schema: Schema([Stamp.self]), url: folder.file("Stamps.store")),
      ]
    }
    do {
      let context = ModelContext(
        try ModelContainer(
          for: Schema(versionedSchema: TwoV1.self),
          configurations: parts([TwoV1.Entry.self, TwoV1.Clipping.self])))
      context.insert(TwoV1.Entry("one"))
      context.insert(TwoV1.Clipping("three"))
      context.insert(Stamp("NO", 1))
      try context.save()
    }
    let container = try ModelContainer(
      for: Schema(versionedSchema: TwoV2.self), migrationPlan: TwoPlan.self,
      configurations: parts([TwoV2.Entry.self]))
    let context = ModelContext(container)
    let found = try context.fetch(FetchDescriptor<TwoV2.Entry>(sortBy: [SortDescriptor(\.length)]))
    #expect(found.map(\.text) == ["one", "three"])
    #expect(found.map(\.length) == [3, 5])
    #expect(try context.fetchCount(FetchDescriptor<Stamp>()) == 1)
  }
}
