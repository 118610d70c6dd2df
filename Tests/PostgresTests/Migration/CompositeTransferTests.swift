import Foundation
import StrataCore
import Testing

@testable import StrataPostgres

/// Composite attributes in a migration on the server (rule 307).
@Suite struct CompositeTransferTests {
  private static func model(_ elements: [AttributeDescription], _ others: [PropertyDescription] = [])
    -> ManagedObjectModel
  {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Spot",
        properties: [
          AttributeDescription("name", .string), CompositeAttributeDescription("place", elements: elements),
        ] + others)
    ])
  }

  @Test("rule 307: a composite attribute that is nil stays nil, whatever default values its elements have")
  func nilStaysNil() throws {
    let url = try TestServer.required().url(TestServer.freshNamespace())
    defer { try? PostgresStores.destroy(at: url) }
    func x() -> AttributeDescription {
      AttributeDescription("x", .double, isOptional: false, defaultValue: 9.0)
    }
    func text(_ value: String?) -> AttributeDescription {
      AttributeDescription("text", .string, isOptional: value == nil, defaultValue: value)
    }
    func open(_ model: ManagedObjectModel) throws -> PersistentStoreCoordinator {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      var description = PersistentStoreDescription(type: .postgres, url: url)
      description.permittedLosses = ["Spot.gone"]
      try coordinator.addPersistentStore(description)
      return coordinator
    }
    func close(_ coordinator: PersistentStoreCoordinator) throws {
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
    let old = try open(Self.model([x(), text(nil)], [AttributeDescription("gone", .string)]))
    let writer = ManagedObjectContext(.confinement, coordinator: old)
    try writer.make("Spot", ["name": "none"]).setValue(nil, forKey: "place")
    try writer.make("Spot", ["name": "one"]).setValue(["x": 1.0], forKey: "place")
    try writer.save()
    try close(old)
    // A default value that lies outside of its row, as well.
    let large = String(repeating: "a", count: 20_000)
    let new = try open(
      Self.model([
        x(), text(large), AttributeDescription("y", .double, isOptional: false, defaultValue: 7.0),
      ]))
    let reader = ManagedObjectContext(.confinement, coordinator: new)
    var found: [String: [String: Any]] = [:]
    for object in try reader.all("Spot") {
      found[object.value(forKey: "name") as? String ?? ""] = object.value(forKey: "place") as? [String: Any]
    }
    #expect(found.keys.sorted() == ["one"])
    #expect(found["one"]?["x"] as? Double == 1 && found["one"]?["y"] as? Double == 7)
    #expect((found["one"]?["text"] as? String)?.count == large.count)
    for object in try reader.all("Spot") { object.setValue("edited", forKey: "name") }
    try reader.save()
    try close(new)
  }
}
