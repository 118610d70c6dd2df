import Foundation
import StrataCore
import Testing

@testable import StrataPostgres

/// Values that objects must have after a migration on the server (rules 307, 309, 314).
@Suite struct NeededValueTransferTests {
  private static func model(isOptional: Bool, codeIsThere: Bool = false) -> ManagedObjectModel {
    let pet = EntityDescription(
      "Pet",
      properties: [
        AttributeDescription("name", .string),
        AttributeDescription("feed", .string, isOptional: isOptional),
        CompositeAttributeDescription(
          "place",
          elements: [
            AttributeDescription("x", .double), AttributeDescription("y", .double, isOptional: isOptional),
          ]),
      ])
    let dog = EntityDescription("Dog", properties: [AttributeDescription("trick", .string)])
    pet.subentities = [dog]
    var label = [AttributeDescription("text", .string)]
    if codeIsThere { label.append(AttributeDescription("code", .integer64, isOptional: false)) }
    return ManagedObjectModel(entities: [pet, dog, EntityDescription("Label", properties: label)])
  }

  private func open(
    _ url: URL, _ model: ManagedObjectModel, _ stages: [MigrationStage] = []
  ) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(type: .postgres, url: url)
    if !stages.isEmpty { description.stagedMigrationManager = StagedMigrationManager(stages) }
    try coordinator.addPersistentStore(description)
    return coordinator
  }

  private func close(_ coordinator: PersistentStoreCoordinator) throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  /// A store with a pet and two dogs.
  private func fill(_ url: URL, feeds: [String?], _ place: [String: Double]? = nil) throws {
    let old = try open(url, Self.model(isOptional: true))
    let writer = ManagedObjectContext(.confinement, coordinator: old)
    for (number, feed) in feeds.enumerated() {
      var values: [String: Any] = ["name": "\(number)"]
      values["feed"] = feed
      values["place"] = place
      try writer.make(number == 0 ? "Pet" : "Dog", values)
    }
    try writer.save()
    try close(old)
  }

  @Test("rules 307, 309: rows decide whether an attribute may become mandatory without a default value")
  func rowsDecide() throws {
    let url = try TestServer.required().url(TestServer.freshNamespace())
    defer { try? PostgresStores.destroy(at: url) }
    try fill(url, feeds: ["am", nil, nil], ["x": 1])
    let error = #expect(throws: CoreDataError.self) { try open(url, Self.model(isOptional: false)) }
    #expect(error?.code == .migration)
    let reasons = error?.userInfo[InferredMappingModel.reasonsKey] as? [String] ?? []
    let end = "becomes mandatory, and has no default value:"
    // An element of a composite attribute is each entity's own.
    let wanted = [
      "Pet.feed \(end) 2 objects have none, the first is Dog/p",
      "Dog.place.y \(end) 2 objects have none, the first is Dog/p",
      "Pet.place.y \(end) 1 object has none, Pet/p",
    ]
    #expect(reasons.count == 3, "\(reasons)")
    for text in wanted { #expect(reasons.contains { $0.hasPrefix(text) }, "\(reasons)") }
    // Nothing was changed; what is missing is given.
    let same = try open(url, Self.model(isOptional: true))
    let writer = ManagedObjectContext(.confinement, coordinator: same)
    for pet in try writer.all("Pet") {
      pet.setValue("pm", forKey: "feed")
      pet.setValue(nil, forKey: "place")
    }
    try writer.save()
    try close(same)
    // An attribute that no row lacks, since there is none.
    let new = try open(url, Self.model(isOptional: false, codeIsThere: true))
    let reader = ManagedObjectContext(.confinement, coordinator: new)
    #expect(try reader.all("Pet").map { $0.value(forKey: "feed") as? String } == ["pm", "pm", "pm"])
    try reader.make("Label", ["text": "a", "code": Int64(1)])
    try reader.save()
    try close(new)
  }

  @Test("rule 314: a handler fills what was nil before the step")
  func filled() throws {
    let url = try TestServer.required().url(TestServer.freshNamespace())
    defer { try? PostgresStores.destroy(at: url) }
    try fill(url, feeds: [nil, "am"])
    let (one, two) = (Self.model(isOptional: true), Self.model(isOptional: false))
    let step = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(model: one, versionChecksum: one.versionChecksum),
      to: ManagedObjectModelReference(model: two, versionChecksum: two.versionChecksum))
    step.willMigrateHandler = { manager, _ in
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        for pet in try context.all("Pet") where pet.value(forKey: "feed") == nil {
          pet.setValue("both", forKey: "feed")
        }
        try context.save()
      }
    }
    let new = try open(url, two, [step])
    let reader = ManagedObjectContext(.confinement, coordinator: new)
    let feeds = try reader.all("Pet").map { $0.value(forKey: "feed") as? String ?? "" }
    #expect(feeds.sorted() == ["am", "both"])
    try close(new)
  }
}
