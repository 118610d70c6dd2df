import SwiftData
import Testing

/// Pets that may have a feed, and symptoms with a text.
enum PetCareV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] { [Pet.self, Symptom.self] }
  @Model final class Pet {
    var name: String
    var feed: String?
    init(_ name: String, _ feed: String?) {
      self.name = name
      self.feed = feed
    }
  }
  @Model final class Symptom {
    var text: String
    init(_ text: String) { self.text = text }
  }
}

/// Pets have a feed, and symptoms an area instead of a text.
enum PetCareV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)
  static var models: [any PersistentModel.Type] { [Pet.self, Symptom.self] }
  enum Area: String, Codable { case calf, knee }
  @Model final class Pet {
    var name: String
    var feed: String
    init(_ name: String, _ feed: String) {
      self.name = name
      self.feed = feed
    }
  }
  @Model final class Symptom {
    var area: Area
    init(_ area: Area) { self.area = area }
  }
}

/// Fills what was nil, and takes symptoms out until there is a place for them.
enum PetCarePlan: SchemaMigrationPlan {
  nonisolated(unsafe) static var texts: [String] = []  // Of one test at a time, on its thread.
  static var schemas: [any VersionedSchema.Type] { [PetCareV1.self, PetCareV2.self] }
  static var stages: [MigrationStage] {
    [
      .custom(
        fromVersion: PetCareV1.self, toVersion: PetCareV2.self,
        willMigrate: { context in
          for pet in try context.fetch(FetchDescriptor<PetCareV1.Pet>()) where pet.feed == nil {
            pet.feed = "both"
          }
          for symptom in try context.fetch(FetchDescriptor<PetCareV1.Symptom>()) {
            texts.append(symptom.text)
            context.delete(symptom)
          }
          try context.save()
        },
        didMigrate: { context in
          for text in texts { context.insert(PetCareV2.Symptom(PetCareV2.Area(rawValue: text) ?? .calf)) }
          texts = []
          try context.save()
        })
    ]
  }
}

@Suite("Properties that must have a value from a version on", .serialized)
struct NeededPropertyTests {
  private let folder: Folder
  private var configuration: ModelConfiguration { ModelConfiguration(url: folder.file()) }

  init() throws { folder = try Folder() }

  private func fill(_ feeds: [String?], _ symptoms: [String] = []) throws {
    let context = ModelContext(
      try ModelContainer(for: Schema(versionedSchema: PetCareV1.self), configurations: configuration))
    for (number, feed) in feeds.enumerated() { context.insert(PetCareV1.Pet("\(number)", feed)) }
    for symptom in symptoms { context.insert(PetCareV1.Symptom(symptom)) }
    try context.save()
  }

  @Test("M4: a handler fills what was nil, and empties what gets a new mandatory property")
  func filled() throws {
    try fill(["am", nil], ["knee"])
    let container = try ModelContainer(
      for: Schema(versionedSchema: PetCareV2.self), migrationPlan: PetCarePlan.self,
      configurations: configuration)
    let context = ModelContext(container)
    let pets = try context.fetch(FetchDescriptor<PetCareV2.Pet>(sortBy: [SortDescriptor(\.name)]))
    #expect(pets.map(\.feed) == ["am", "both"])
    #expect(try context.fetch(FetchDescriptor<PetCareV2.Symptom>()).map(\.area) == [.knee])
  }

  @Test("M2: without a plan a property may become mandatory where no model lacks a value")
  func complete() throws {
    try fill(["am", "pm"])
    let context = ModelContext(
      try ModelContainer(for: Schema(versionedSchema: PetCareV2.self), configurations: configuration))
    #expect(try context.fetch(FetchDescriptor<PetCareV2.Pet>()).map(\.feed).sorted() == ["am", "pm"])
    context.insert(PetCareV2.Symptom(.calf))
    try context.save()
  }

  @Test("M2: without a plan what lacks a value is named, and nothing is changed")
  func incomplete() throws {
    try fill(["am", nil], ["knee"])
    let error = #expect(throws: SwiftDataError.self) {
      try ModelContainer(for: Schema(versionedSchema: PetCareV2.self), configurations: configuration)
    }
    #expect(error == .loadIssueModelContainer)
    let reason = error?.reason ?? ""
    #expect(reason.contains("Pet.feed becomes mandatory, and has no default value: 1 object has none"))
    #expect(reason.contains("Symptom.area is new and mandatory"), "\(reason)")
    let context = ModelContext(
      try ModelContainer(for: Schema(versionedSchema: PetCareV1.self), configurations: configuration))
    #expect(try context.fetchCount(FetchDescriptor<PetCareV1.Symptom>()) == 1)
  }
}
