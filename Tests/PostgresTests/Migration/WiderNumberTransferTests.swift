import Foundation
import StrataCore
import Testing

@testable import StrataPostgres

/// Numbers that get a wider type in a migration on the server (rule 307).
@Suite struct WiderNumberTransferTests {
  private static func model(isWide: Bool) -> ManagedObjectModel {
    func number(_ name: String, _ narrow: AttributeType, _ wide: AttributeType) -> AttributeDescription {
      AttributeDescription(name, isWide ? wide : narrow)
    }
    return ManagedObjectModel(entities: [
      EntityDescription(
        "Item",
        properties: [
          AttributeDescription("name", .string), number("small", .integer16, .integer32),
          number("code", .integer16, .integer64), number("middle", .integer32, .integer64),
          number("share", .float, .double), number("exact", .integer32, .double),
          number("least", .integer16, .double),
          AttributeDescription(
            "grade", isWide ? .integer64 : .integer16, isOptional: !isWide,
            defaultValue: isWide ? Int64(5_000_000_000) : nil),
        ],
        uniquenessConstraints: [["code"]],
        indexes: [FetchIndexDescription(name: "byMiddle", attributes: ["middle"])])
    ])
  }

  @Test("rule 307: integers, and floats, become wider; rows without a value stay without one")
  func widened() throws {
    let url = try TestServer.required().url(TestServer.freshNamespace())
    defer { try? PostgresStores.destroy(at: url) }
    func open(_ model: ManagedObjectModel) throws -> PersistentStoreCoordinator {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(PersistentStoreDescription(type: .postgres, url: url))
      return coordinator
    }
    func close(_ coordinator: PersistentStoreCoordinator) throws {
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
    let old = try open(Self.model(isWide: false))
    let writer = ManagedObjectContext(.confinement, coordinator: old)
    for (name, number) in [("least", -32_768), ("most", 32_767)] {
      try writer.make(
        "Item",
        [
          "name": name, "small": number, "code": number, "middle": number * 65_536, "exact": number * 65_536,
          "least": number, "share": Float(number) / 10, "grade": number,
        ])
    }
    try writer.make("Item", ["name": "none"])
    try writer.save()
    try close(old)

    let new = try open(Self.model(isWide: true))
    let reader = ManagedObjectContext(.confinement, coordinator: new)
    var items: [String: ManagedObject] = [:]
    for item in try reader.all("Item") { items[item.value(forKey: "name") as? String ?? ""] = item }
    for (name, number) in [("least", -32_768), ("most", 32_767)] {
      let item = try #require(items[name])
      #expect(item.value(forKey: "small") as? Int64 == Int64(number))
      #expect(item.value(forKey: "code") as? Int64 == Int64(number))
      #expect(item.value(forKey: "middle") as? Int64 == Int64(number) * 65_536)
      #expect(item.value(forKey: "exact") as? Double == Double(number) * 65_536)
      #expect(item.value(forKey: "least") as? Double == Double(number))
      #expect(item.value(forKey: "share") as? Double == Double(Float(number) / 10))
      #expect(item.value(forKey: "grade") as? Int64 == Int64(number))
    }
    let none = try #require(items["none"])
    for key in ["small", "code", "middle", "exact", "least", "share"] {
      #expect(none.value(forKey: key) == nil)
    }
    #expect(none.value(forKey: "grade") as? Int64 == 5_000_000_000)
    none.setValue(Int64(1) << 40, forKey: "middle")
    try reader.save()
    let large = try reader.all("Item", Attribute("middle") > Int64(1) << 39)
    #expect(large.map { $0.value(forKey: "name") as? String } == ["none"])
    try close(new)
  }
}
