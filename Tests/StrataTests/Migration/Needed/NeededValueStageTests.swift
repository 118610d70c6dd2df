import Foundation
import Strata
import Testing

/// Handlers that give objects what they must have in the next version, as custom stages are for (rule 314).
struct NeededValueStageTests {
  let stand: MigrationStand

  init() throws {
    stand = try MigrationStand()
    let context = try stand.open(Self.model(isOptional: true))
    try context.performAndWait {
      context.newObject("Pet", ["name": "a"])
      context.newObject("Pet", ["name": "b", "feed": "am"])
      try context.save()
    }
    try stand.close()
  }

  private static func model(isOptional: Bool) -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Pet",
        properties: [
          AttributeDescription("name", .string),
          AttributeDescription("feed", .string, isOptional: isOptional),
        ])
    ])
  }

  /// Opens the store with the mandatory attribute, by a stage whose first handler does `work` with each pet without a feed.
  private func open(_ work: @escaping (ManagedObjectContext, ManagedObject) -> Void) throws
    -> ManagedObjectContext
  {
    func reference(_ model: ManagedObjectModel) -> ManagedObjectModelReference {
      ManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum)
    }
    let stage = CustomMigrationStage(
      migratingFrom: reference(Self.model(isOptional: true)), to: reference(Self.model(isOptional: false)))
    stage.willMigrateHandler = { manager, _ in
      let context = try #require(manager.container).newBackgroundContext()
      try context.performAndWait {
        for pet in try context.fetch(FetchRequest<ManagedObject>(entityName: "Pet"))
        where pet.value(forKey: "feed") == nil {
          work(context, pet)
        }
        try context.save()
      }
    }
    return try stand.open(Self.model(isOptional: false)) {
      $0.stagedMigrationManager = StagedMigrationManager([stage])
    }
  }

  private func feeds(_ context: ManagedObjectContext) throws -> [String: String?] {
    try context.performAndWait { try context.objectsByName("Pet").mapValues { $0.textValue("feed") } }
  }

  @Test("rule 314: an attribute becomes mandatory when the first handler has filled what was nil")
  func filled() throws {
    let context = try open { $1.setValue("both", forKey: "feed") }
    #expect(try feeds(context) == ["a": "both", "b": "am"])
    #expect(try stand.problems() == [])
    try stand.close()
  }

  @Test("rule 314: the same when it has deleted the objects")
  func deleted() throws {
    let context = try open { $0.delete($1) }
    #expect(try feeds(context) == ["b": "am"])
    try stand.close()
  }

  @Test("rules 309, 314: what the handler has left nil is 134110 with the object; what it has saved stays")
  func forgotten() throws {
    let error = #expect(throws: CoreDataError.self) {
      _ = try open { $1.setValue("seen", forKey: "name") }
    }
    #expect(error?.code == .migration)
    #expect(error?.description.contains("Pet.feed becomes mandatory") == true, "\(String(describing: error))")
    #expect(error?.description.contains("1 object has none, Pet/p") == true)
    let before = Self.model(isOptional: true).versionChecksum
    #expect(try LMDBStore.model(at: stand.url).versionChecksum == before)
    let context = try stand.open(Self.model(isOptional: true))
    #expect(try feeds(context) == ["seen": nil, "b": "am"])
    try stand.close()
    // The next attempt does what was forgotten.
    let later = try open { $1.setValue("both", forKey: "feed") }
    #expect(try feeds(later) == ["seen": "both", "b": "am"])
    try stand.close()
  }
}
