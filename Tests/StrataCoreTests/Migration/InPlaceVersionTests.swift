import Foundation
import Testing

@testable import StrataCore

/// A change of the model that touches no row, seen from a program that has the store open with the model of before.
@Suite struct InPlaceVersionTests {
  /// The model of fixtures with one more attribute in front of those of Place, and an entity.
  private static func model() -> ManagedObjectModel {
    let model = StoreFixture.model()
    model.entitiesByName["Place"]?.properties.insert(
      AttributeDescription("height", .integer32, isOptional: false, defaultValue: 8), at: 0)
    model.entities.append(EntityDescription("Trip", properties: [AttributeDescription("name", .string)]))
    return model
  }

  /// What the change writes.
  private static func fills(_ store: LMDBStore, _ model: ManagedObjectModel) throws -> RowFills {
    let source = store.parts.schema
    let pairing = ModelPairing(source.model, model)
    let plan = try MigrationPlan(
      pairing, from: source, holding: Set(source.entities.map(\.name)), to: model.schema())
    let (catalogue, versions) = try store.parts.environment.read { transaction in
      (try store.parts.readCatalogue(transaction), try store.parts.storedVersions(transaction))
    }
    return try InPlaceChange(
      pairing, plan, LossPlan(pairing, plan), catalogue, #require(versions)
    ).fills
  }

  private static func change(_ fixture: StoreFixture, _ fills: RowFills, _ model: ManagedObjectModel) throws
    -> LMDBStore
  {
    var options = LMDBStoreOptions.scratch
    options.ignoresVersionHashes = true
    options.fills = fills
    return try fixture.secondStore(model, options: options)
  }

  /// The rows of Place as texts, with their versions.
  private static func places(_ store: LMDBStore) throws -> [String] {
    let entity = try #require(store.parts.schema.entity(named: "Place"))
    let rows = try store.fetch(
      ResolvedFetchRequest(FetchRequest<Int>(entityName: "Place"), schema: store.parts.schema), mode: .rows
    ).rows
    return rows.map { row in
      let values = ["height", "name", "x"].compactMap { name -> String? in
        guard let slot = entity.slot(named: name), let value = row.snapshot?.value(slot, entity.layout) else {
          return nil
        }
        return "\(name) \(value)"
      }
      return "p\(row.primaryKey) v\(row.snapshot?.version ?? 0) \(values.joined(separator: ", "))"
    }.sorted()
  }

  @Test(
    "rules 304, 316: who has the store open with the model of before reads on; what it saves is refused, with what differs"
  )
  func olderProgram() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Place", ["name": "a", "x": 1], key: 1)])
    let row = try #require(try fixture.fetch("Place").rows.first)
    try fixture.commit(updates: [fixture.update(row, ["x": 2])])
    let before = try Self.places(fixture.store)
    #expect(before == ["p1 v2 name \"a\", x 2"])
    let model = Self.model()
    let newer = try Self.change(fixture, Self.fills(fixture.store, model), model)
    defer { newer.close() }
    #expect(try Self.places(newer) == ["p1 v2 height 8, name \"a\", x 2"], "versions go on")

    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.attach(newer)
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let place = ManagedObject(entity: try #require(model.entitiesByName["Place"]), insertInto: context)
    place.setValue("b", forKey: "name")
    place.setValue(9, forKey: "height")
    try context.save()

    let seen = try Self.places(fixture.store)
    #expect(seen.count == 2 && seen.contains { $0.contains("v1 name \"b\"") }, "\(seen)")
    let stale = try #require(try fixture.fetch("Place").rows.first { $0.primaryKey == 1 })
    for change in [
      ChangeSet(updates: [try fixture.update(stale, ["x": 7])]),
      ChangeSet(inserts: [try fixture.insert("Place", ["name": "c"])]),
    ] {
      let error = #expect(throws: (any Error).self) { try fixture.commit([change])[0].get() }
      let found = try #require(error)
      let explained = try #require(fixture.store.explained(found) as? CoreDataError)
      #expect(explained.code == .persistentStoreIncompatibleVersionHash)
      #expect("\(explained)".contains("Place"), "\(explained)")
    }
    #expect(try Self.places(newer).count == 2)
    #expect(try newer.check().problems == [])
  }

  @Test("who was slower changes nothing")
  func slower() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Place", ["name": "a"], key: 1)])
    let model = Self.model()
    let fills = try Self.fills(fixture.store, model)
    try Self.change(fixture, fills, model).close()
    let other = Self.model()
    other.entitiesByName["Trip"]?.properties.append(AttributeDescription("length", .integer32))
    let error = #expect(throws: StorageError.self) { try Self.change(fixture, fills, other).close() }
    #expect(error?.kind == .replaced)
  }

  @Test("an entry that is damaged is said to be, and the store is not changed")
  func damagedEntry() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Place", ["name": "a"], key: 1)])
    let model = Self.model()
    let newer = try Self.change(fixture, Self.fills(fixture.store, model), model)
    let parts = newer.parts
    let (key, bytes) = try parts.environment.read { transaction in
      try #require(try parts.meta.entries(RowFill.prefix, transaction).first)
    }
    for (value, isSeenAtOpening) in [
      (Array(bytes.prefix(9)), true), (bytes.dropLast(4) + [1, 2, 3, 4], false),
    ] {
      try parts.environment.write { transaction in
        try parts.meta.put(RowFill.prefix + key, value, transaction)
        try StoreCatalogue.raiseGeneration(parts.meta, transaction)
      }
      let error = #expect(throws: StorageError.self) {
        let store = try fixture.secondStore(model)
        defer { store.close() }
        #expect(!isSeenAtOpening)
        _ = try Self.places(store)
      }
      #expect(error?.kind == .damaged)
    }
    newer.close()
  }

  @Test(
    "versions that know nothing of rows of earlier layouts refuse the store; one whose entities alone have grown stays as it was"
  )
  func format() throws {
    func format(_ store: LMDBStore) throws -> UInt32? {
      try store.parts.environment.read { try store.parts.meta.number("format", UInt32.self, $0) }
    }
    let fixture = try StoreFixture()
    let before = try format(fixture.store)
    let more = StoreFixture.model()
    more.entities.append(EntityDescription("Trip", properties: [AttributeDescription("name", .string)]))
    let grown = try Self.change(fixture, Self.fills(fixture.store, more), more)
    #expect(try format(grown) == before)
    grown.close()
    let other = try StoreFixture()
    let model = Self.model()
    let filled = try Self.change(other, Self.fills(other.store, model), model)
    #expect(try format(filled) == MetaKeyspace.filledFormat)
    filled.close()
  }
}
