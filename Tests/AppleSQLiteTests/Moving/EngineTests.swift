import CStrataSQLite
import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataAppleSQLite

/// A store in Apple's format as a coordinator reads it where it lies: as the same store of Strata, but for writing.
@Suite struct EngineTests {
  private func open(
    _ path: String, _ type: PersistentStoreDescription.StoreType, _ model: ManagedObjectModel
  ) throws -> (PersistentStoreCoordinator, any PersistentStore, ManagedObjectContext) {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(type: type, url: URL(fileURLWithPath: path))
    description.isReadOnly = type == .appleSQLite
    let store = try coordinator.addPersistentStore(description)
    return (coordinator, store, ManagedObjectContext(.privateQueue, coordinator: coordinator))
  }

  private func text(_ value: Any?) -> String {
    switch value {
    case nil: "nil"
    case let data as Data: data.base64EncodedString()
    case let elements as [String: Any]:
      elements.sorted { $0.key < $1.key }.map { "\($0.key): \(text($0.value))" }.joined(separator: ", ")
    case let value?: "\(value)"
    }
  }

  /// Every object with its values and links, as a program sees them.
  private func everything(_ context: ManagedObjectContext, _ model: ManagedObjectModel) throws -> [String:
    [String: String]]
  {
    func name(_ object: ManagedObject) -> String { object.objectID.uriRepresentation().absoluteString }
    return try context.performAndWait {
      var found: [String: [String: String]] = [:]
      for root in model.entities where root.superentity == nil {
        for object in try context.fetch(FetchRequest<ManagedObject>(entityName: root.name ?? "")) {
          var values: [String: String] = [:]
          for (key, property) in object.entity.propertiesByName where !property.isTransient {
            if let relationship = property as? RelationshipDescription {
              let value = object.value(forKey: key)
              if let members = value as? [ManagedObject] {
                values[key] = members.map(name).joined(separator: " ")
              } else if let members = value as? Set<ManagedObject> {
                values[key] = members.map(name).sorted().joined(separator: " ")
              } else {
                values[key] = (value as? ManagedObject).map(name) ?? "nil"
              }
              if relationship.isToMany && value == nil { values[key] = "no members" }
            } else if let attribute = property as? AttributeDescription,
              attribute.attributeType != .transformable
            {
              values[key] = text(object.value(forKey: key))
            }
          }
          found[name(object)] = values
        }
      }
      return found
    }
  }

  /// A random condition on attributes and relationships of an entity.
  private func condition(
    _ entity: EntitySchema, _ schema: Schema, _ graph: PlainGraph, _ random: inout SeededGenerator
  ) -> String? {
    let attributes = entity.attributes.filter { attribute in
      attribute.relationship == nil && !attribute.isTransient && !attribute.name.contains(".")
        && [.integer16, .integer32, .integer64, .string, .date, .boolean].contains(attribute.type)
    }
    if random.chance(25), let link = random.pickAny(entity.relationships.filter { !$0.isTransient }) {
      if link.isToMany { return "\(link.name).@count \(random.pick([">", "==", "<"])) \(random.below(4))" }
      return random.chance(50) ? "\(link.name) == nil" : "\(link.name) != nil"
    }
    guard let attribute = random.pickAny(attributes) else { return nil }
    let sign = random.pick(["==", "!=", "<", "<=", ">", ">="])
    let known = graph.objects.filter { entity.subtree.contains($0.key.entity) }
      .compactMap { $0.value.values[attribute.name] }.sorted { "\($0)" < "\($1)" }
    switch random.pickAny(known) {
    case .integer(let value)? where attribute.type != .boolean: return "\(attribute.name) \(sign) \(value)"
    case .boolean(let value)?: return "\(attribute.name) == \(value ? "true" : "false")"
    case .string(let value)? where value.allSatisfy({ $0.isASCII && $0.isLetter }):
      return random.chance(50)
        ? "\(attribute.name) \(sign) '\(value)'" : "\(attribute.name) CONTAINS '\(value)'"
    default: return "\(attribute.name) \(random.chance(50) ? "==" : "!=") nil"
    }
  }

  @Test(arguments: RoundTripTests.seeds.prefix(6))
  func aStoreThatIsReadWhereItLiesIsAsOneThatWasImported(seed: Int) throws {
    let folder = try ScratchFolder()
    var (fixture, schema, graph) = try RoundTripTests.make(seed, in: folder)
    try fixture.write(journalMode: seed.isMultiple(of: 2) ? "WAL" : "DELETE")
    let before = try contents(of: folder)
    let (_, apple, here) = try open(
      folder("App.sqlite"), .appleSQLite, try AppleSQLite.model(at: folder.url("App.sqlite")))
    #expect(apple.identifier == fixture.identifier && apple.isReadOnly && apple.storeType == "AppleSQLite")
    let model = try AppleSQLite.model(at: folder.url("App.sqlite"))
    let mine = try everything(here, model)
    #expect(mine.count == graph.objects.count)
    #expect(try contents(of: folder) == before)
    _ = try AppleSQLite.importStore(from: folder.url("App.sqlite"), to: folder.url("A.strata"))
    let (_, _, there) = try open(folder("A.strata"), .lmdb, try LMDBStore.model(at: folder.url("A.strata")))
    let theirs = try everything(there, model)
    for (object, values) in theirs where mine[object] != values {
      Issue.record("\(object): \(mine[object] ?? [:]) is \(values)")
    }
    // And random requests find the same objects in the same order.
    var random = SeededGenerator(seed: UInt64(seed) &* 31)
    var found = 0
    for _ in 0..<60 {
      let entity = random.pick(schema.entities)
      var words = (0..<(1 + random.below(2))).compactMap { _ in condition(entity, schema, graph, &random) }
      if random.chance(30) { words = words.map { "NOT (\($0))" } }
      let format = words.joined(separator: random.chance(70) ? " AND " : " OR ")
      let sorts = entity.attributes.filter {
        $0.relationship == nil && !$0.isTransient
          && [.integer64, .string, .date, .integer16].contains($0.type) && !$0.name.contains(".")
      }
      let sort = random.pickAny(sorts).map { ($0.name, random.chance(50)) }
      let (limit, offset) = (
        random.chance(30) ? 1 + random.below(10) : 0, random.chance(30) ? random.below(5) : 0
      )
      func ask(_ context: ManagedObjectContext) throws -> ([String], Int) {
        try context.performAndWait {
          var request = FetchRequest<ManagedObject>(entityName: entity.name)
          if !format.isEmpty { request.predicate = try FetchPredicate(format: format) }
          // Without an order the window could be any.
          request.sortDescriptors = sort.map { [FetchSort($0.0, ascending: $0.1)] } ?? []
          if sort != nil { (request.fetchLimit, request.fetchOffset) = (limit, offset) }
          let names = try context.fetch(request).map { $0.objectID.uriRepresentation().absoluteString }
          return (sort == nil ? names.sorted() : names, try context.count(for: request))
        }
      }
      let (own, other) = (try ask(here), try ask(there))
      #expect(own == other, "\(entity.name) where \(format) by \(sort.map { "\($0)" } ?? "nothing")")
      found += own.0.count
    }
    #expect(found > 0)
  }

  @Test func nothingIsWritten() throws {
    let store = try SmallStore()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: SmallStore.model())
    // Whoever does not say that it is only read is told so.
    let error = #expect(throws: CoreDataError.self) {
      try coordinator.addPersistentStore(PersistentStoreDescription(type: .appleSQLite, url: store.url))
    }
    #expect(error?.code == .persistentStoreOpen && error?.localizedDescription.contains("isReadOnly") == true)
    let (_, _, context) = try open(store.path, .appleSQLite, SmallStore.model())
    let before = try contents(of: store.folder)
    try context.performAndWait {
      let person = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).first)
      person.setValue("new", forKey: "name")
      let error = #expect(throws: CoreDataError.self) { try context.save() }
      #expect(error?.code == .persistentStoreSave)
    }
    #expect(try contents(of: store.folder) == before)
  }

  @Test func largeValuesAndLinksBothWaysAreThere() throws {
    let store = try SmallStore()
    let (_, _, context) = try open(store.path, .appleSQLite, SmallStore.model())
    try context.performAndWait {
      var request = FetchRequest<ManagedObject>(entityName: "Person")
      request.predicate = try FetchPredicate(format: "name == 'person 2'")
      let person = try #require(try context.fetch(request).first)
      #expect(person.value(forKey: "photo") as? Data == Data(repeating: 2, count: 130_000))
      let mentor = try #require(person.value(forKey: "mentor") as? ManagedObject)
      #expect((mentor.value(forKey: "tags") as? Set<ManagedObject>)?.count == 2)
      let team = try #require(person.value(forKey: "team") as? ManagedObject)
      #expect((team.value(forKey: "tagged") as? Set<ManagedObject>) == [mentor])
      #expect((team.value(forKey: "members") as? [ManagedObject])?.first === person)
      #expect(
        (team.value(forKey: "lead") as? ManagedObject)?.value(forKey: "leads") as? ManagedObject === team)
      var loose = FetchRequest<ManagedObject>(entityName: "Team")
      loose.predicate = try FetchPredicate(format: "ANY loose.name == 'person 3'")
      #expect(try context.fetch(loose).map { $0.value(forKey: "title") as? String } == ["team 1"])
    }
  }

  /// What was saved meanwhile is not seen, or the store says that it was written.
  @Test func oneStateIsShown() throws {
    let store = try SmallStore(journalMode: "WAL")
    let app = try SQLiteDatabase(store.path, flags: SQLITE_OPEN_READWRITE, name: store.path)
    _ = try app.value("PRAGMA wal_autocheckpoint = 0")
    try app.run("UPDATE ZTEAM SET ZTITLE = 'before'")
    let (coordinator, opened, context) = try open(store.path, .appleSQLite, SmallStore.model())
    try app.run("UPDATE ZTEAM SET ZTITLE = 'after'")
    try context.performAndWait {
      let teams = try context.fetch(FetchRequest<ManagedObject>(entityName: "Team"))
      #expect(teams.allSatisfy { $0.value(forKey: "title") as? String == "before" })
    }
    try coordinator.remove(opened)
    app.close()
    // At rest nobody can be kept from writing: then it is told.
    let rest = try SmallStore(journalMode: "WAL")
    let (_, _, other) = try open(rest.path, .appleSQLite, SmallStore.model())
    try rest.run("UPDATE ZTEAM SET ZTITLE = 'after'")
    _ = other.performAndWait {
      #expect(throws: (any Error).self) { try other.fetch(FetchRequest<ManagedObject>(entityName: "Team")) }
    }
  }

  @Test func metadataAndModelAreKnownWithoutOpening() throws {
    let store = try SmallStore()
    var description = PersistentStoreDescription(type: .appleSQLite, url: store.url)
    description.isReadOnly = true
    let kind = try StoreEngines.kind(.appleSQLite)
    let metadata = try kind.metadata(of: description)
    #expect(metadata[StoreMetadata.typeKey] == .string("AppleSQLite"))
    #expect(metadata.versionHashes == store.schema.model.entityVersionHashesByName)
    #expect(try kind.model(of: description, withClasses: false).entities.count == 3)
    #expect(throws: CoreDataError.self) { try kind.destroy(description) }
    let other = ManagedObjectModel(entities: [
      EntityDescription("Other", properties: [AttributeDescription("x", .string)])
    ])
    let coordinator = PersistentStoreCoordinator(managedObjectModel: other)
    let error = #expect(throws: CoreDataError.self) { try coordinator.addPersistentStore(description) }
    #expect(error?.code == .persistentStoreIncompatibleSchema)
  }
}
