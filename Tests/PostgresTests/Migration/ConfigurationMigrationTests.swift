import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// A configuration that loses an entity in another version of the model.
@Suite struct ConfigurationMigrationTests {
  /// Two entities; the configuration has the first, and at first the second as well.
  private func model(isLater: Bool) -> ManagedObjectModel {
    func attribute(_ name: String) -> AttributeDescription {
      AttributeDescription(name, .string, isOptional: true)
    }
    let own = EntityDescription(
      "Own", properties: isLater ? [attribute("name"), attribute("note")] : [attribute("name")])
    let other = EntityDescription("Other", properties: [attribute("name")])
    let model = ManagedObjectModel(entities: [own, other])
    model.setEntities(isLater ? [own] : [own, other], forConfigurationName: "Part")
    return model
  }

  /// Only objects of the entity would be lost.
  @Test(arguments: [false, true]) func anEntityWithoutObjectsMayLeaveTheConfiguration(hasObjects: Bool) throws
  {
    let url = try TestServer.required().url(TestServer.freshNamespace())
    defer { try? PostgresStores.destroy(at: url) }
    let before = PersistentStoreCoordinator(managedObjectModel: model(isLater: false))
    let store = try before.addPostgresStore(at: url, configuration: "Part")
    let context = ManagedObjectContext(.confinement, coordinator: before)
    try context.make("Own", ["name": "a"])
    if hasObjects { try context.make("Other", ["name": "b"]) }
    try context.save()
    try before.remove(store)
    if hasObjects {
      let error = #expect(throws: CoreDataError.self) {
        try PostgresStores.migrate(at: url, to: model(isLater: true), configuration: "Part")
      }
      #expect(error?.code == .migration && error?.errorDescription?.contains("Other") == true)
      return
    }
    try PostgresStores.migrate(at: url, to: model(isLater: true), configuration: "Part")
    let after = PersistentStoreCoordinator(managedObjectModel: model(isLater: true))
    let later = try after.addPostgresStore(at: url, configuration: "Part")
    let reader = ManagedObjectContext(.confinement, coordinator: after)
    let own = try #require(try reader.all("Own").first)
    #expect(own.value(forKey: "name") as? String == "a")
    own.setValue("n", forKey: "note")
    try reader.save()
    try after.remove(later)
  }
}
