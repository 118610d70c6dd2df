import Foundation
import StrataCore

/// What becomes of a store's history when the store is migrated.
extension StoreConformance {
  static let migratedHistoryCases: [ConformanceCase] =
    [
      migrated("tokens, named readers and numbers go on") { stand in
        var coordinator = try stand.reopen(trips(1, ["name": nil])) { $0.recordsHistory = true }
        func save(_ name: String) throws {
          let context = stand.context(on: coordinator)
          context.transactionAuthor = "author"
          context.make("Trip", ["name": name])
          try context.save()
        }
        let beginning = try coordinator.currentHistoryToken()
        try save("a")
        let token = try coordinator.currentHistoryToken()
        try coordinator.setHistoryConsumer(named: "widget", to: token)
        try save("b")
        let newest = try coordinator.currentHistoryToken()
        let before = try coordinator.history(.fetchHistory(after: beginning)).transactions

        // The option is not given again: a store that records a history continues.
        coordinator = try stand.reopen(trips(2, ["name": nil, "number": nil])) { $0.migratesAllRows = true }
        let after = try coordinator.history(.fetchHistory(after: beginning)).transactions
        try expectEqual(after.map(\.transactionNumber), before.map(\.transactionNumber), "the numbers")
        try expectEqual(after.map(\.timestamp), before.map(\.timestamp), "the times")
        try expectEqual(after.map(\.token), before.map(\.token), "the tokens")
        try expect(after.allSatisfy { $0.author == "author" }, "the author is gone")
        try expectEqual(try said(coordinator, after: token), [["Trip insert p2"]], "after a token")
        let readers = coordinator.persistentStores.first
        try expectEqual(
          try readers.map { try coordinator.historyConsumers(of: $0).map(\.name) }, ["widget"], "the readers")
        try expectEqual(
          try coordinator.history(.fetchHistory(after: .consumer("widget"))).transactions.count, 1,
          "after the reader's place")
        try expectEqual(try said(coordinator, after: newest), [], "after the newest token")
        try save("c")
        try expectEqual(
          try said(coordinator, after: newest).map { $0.map(withoutKeys) }, [["Trip insert p"]],
          "what was saved since")
        // A token of now holds for what was before, too.
        let last = try coordinator.currentHistoryToken()
        try expectEqual(
          try coordinator.history(.deleteHistory(before: last)).count, 2, "transactions that were deleted")
        try expectCode(.persistentHistoryTokenExpired, "a token of what was deleted") {
          _ = try coordinator.history(.fetchHistory(after: beginning))
        }
      },
      migrated("what is renamed has the name of now, what is gone is left out, and nobody inherits it") {
        stand in
        func first() -> ManagedObjectModel { trips(1, ["name": nil, "note": nil], link: ("owner", "owned")) }
        func second() -> ManagedObjectModel {
          // Another `name`: nothing was ever saved of it.
          trips(2, ["title": "name", "name": "nothing"], "Tour", link: ("boss", "team"))
        }
        var coordinator = try stand.reopen(first()) { $0.recordsHistory = true }
        var context = stand.context(on: coordinator)
        let trip = context.make("Trip", ["name": "a", "note": "n"])
        let other = context.make("Trip", ["name": "o"])
        context.make("Place", ["word": "w"])
        try context.save()
        trip.setValue("b", forKey: "name")
        trip.setValue("m", forKey: "note")
        try context.save()
        trip.setValue(other, forKey: "owner")
        try context.save()
        context.delete(trip)
        try context.save()
        coordinator = try stand.reopen(second()) { $0.knownModels = [first()] }
        let renamed = [
          ["Place insert p1", "Tour insert p1", "Tour insert p2"], ["Tour update p1 title"],
          ["Tour update p1 boss", "Tour update p2 team"],
          ["Tour delete p1 title=b", "Tour update p2 team"],
        ]
        try expectEqual(try said(coordinator), renamed, "what the history says")
        context = stand.context(on: coordinator)
        let tour = context.make("Tour", ["title": "t", "name": "x"])
        try context.save()
        context.delete(tour)
        try context.save()
        try expectEqual(
          try said(coordinator).suffix(2).map { $0.map(withoutKeys) },
          [["Tour insert p"], ["Tour delete p name=x,title=t"]], "afterwards")
      },
      migrated("what was gone does not come back with its name") { stand in
        func full(_ version: Int) -> ManagedObjectModel {
          trips(version, ["name": nil, "note": nil])
        }
        func small() -> ManagedObjectModel {
          let model = trips(2, ["name": nil])
          model.entities.removeAll { $0.name == "Place" }
          return model
        }
        var coordinator = try stand.reopen(full(1)) { $0.recordsHistory = true }
        func save() throws {
          let context = stand.context(on: coordinator)
          let trip = context.make("Trip", ["name": "a", "note": "n"])
          context.make("Place", ["word": "w"])
          try context.save()
          trip.setValue("m", forKey: "note")
          try context.save()
          context.delete(trip)
          try context.save()
        }
        try save()
        try expectEqual(
          try said(coordinator),
          [
            ["Place insert p1", "Trip insert p1"], ["Trip update p1 note"], ["Trip delete p1 name=a,note=m"],
          ], "before")
        coordinator = try stand.reopen(small()) { $0.knownModels = [full(1)] }
        let rest = [["Trip insert p1"], ["Trip update p1"], ["Trip delete p1 name=a"]]
        try expectEqual(try said(coordinator), rest, "without note and place")
        coordinator = try stand.reopen(full(3))
        try expectEqual(try said(coordinator), rest, "with others of their names")
        try save()
        let news = try said(coordinator).dropFirst(3).map { $0.map(withoutKeys) }
        try expectEqual(
          Array(news),
          [["Place insert p", "Trip insert p"], ["Trip update p note"], ["Trip delete p name=a,note=m"]],
          "what is saved of the others")
      },
      migrated("names that are exchanged are exchanged in the history") { stand in
        func model(_ version: Int) -> ManagedObjectModel {
          let (one, two) = version == 1 ? ("One", "Two") : ("Two", "One")
          let (a, b) = version == 1 ? ("a", "b") : ("b", "a")
          return ManagedObjectModel(
            entities: [(one, "first"), (two, "second")].map { name, identifier in
              let entity = EntityDescription(
                name, properties: [(a, "third"), (b, "fourth")].map { preserved($0.0, from: $0.1) })
              entity.renamingIdentifier = identifier
              // Names that change places alone are no other version.
              entity.versionHashModifier = "\(version)"
              return entity
            })
        }
        var coordinator = try stand.reopen(model(1)) { $0.recordsHistory = true }
        let context = stand.context(on: coordinator)
        let one = context.make("One", ["a": "1", "b": "2"])
        let two = context.make("Two", ["b": "3"])
        try context.save()
        one.setValue("4", forKey: "a")
        try context.save()
        context.delete(one)
        context.delete(two)
        try context.save()
        coordinator = try stand.reopen(model(2))
        try expectEqual(
          try said(coordinator),
          [
            ["One insert p1", "Two insert p1"], ["Two update p1 b"],
            ["One delete p1 a=3", "Two delete p1 a=2,b=4"],
          ],
          "exchanged")
        coordinator = try stand.reopen(model(1)) { $0.knownModels = [model(2)] }
        try expectEqual(
          try said(coordinator),
          [
            ["One insert p1", "Two insert p1"], ["One update p1 a"],
            ["One delete p1 a=4,b=2", "Two delete p1 b=3"],
          ],
          "and back")
      },
      migrated("what is inherited, and elements of composite attributes, have the names of now") { stand in
        func model(_ name: String, _ place: String, _ city: String) -> ManagedObjectModel {
          let composite = CompositeAttributeDescription(
            place, elements: [preserved(city, from: city == "city" ? nil : "city")])
          composite.preservesValueInHistoryOnDeletion = true
          if place != "place" { composite.renamingIdentifier = "place" }
          let base = EntityDescription(
            "Base", properties: [preserved(name, from: name == "name" ? nil : "name"), composite])
          let lower = EntityDescription("Lower", properties: [AttributeDescription("word", .string)])
          base.subentities = [lower]
          return ManagedObjectModel(entities: [base, lower])
        }
        var coordinator = try stand.reopen(model("name", "place", "city")) { $0.recordsHistory = true }
        let context = stand.context(on: coordinator)
        let lower = context.make("Lower", ["name": "a", "place": ["city": "x"]])
        try context.save()
        lower.setValue("b", forKey: "name")
        try context.save()
        lower.setValue(["city": "y"], forKey: "place")
        try context.save()
        context.delete(lower)
        try context.save()
        try expectEqual(
          try said(coordinator),
          [
            ["Lower insert p1"], ["Lower update p1 name"], ["Lower update p1 place"],
            ["Lower delete p1 name=b,place=[\"city\": \"y\"]"],
          ], "before")
        coordinator = try stand.reopen(model("title", "spot", "town"))
        try expectEqual(
          try said(coordinator),
          [
            ["Lower insert p1"], ["Lower update p1 title"], ["Lower update p1 spot"],
            ["Lower delete p1 spot=[\"town\": \"y\"],title=b"],
          ], "afterwards")
      },
      migrated("it goes on through stages, and what their code saves is in it") { stand in
        let (one, two, three) = (
          trips(1, ["name": nil]), trips(2, ["title": "name"]), trips(3, ["heading": "title"], "Tour")
        )
        let models = [one, two, three]
        models.forEach(stand.engine.adapt)
        var coordinator = try stand.reopen(one, isAdapted: true) { $0.recordsHistory = true }
        let context = stand.context(on: coordinator)
        let trip = context.make("Trip", ["name": "a"])
        try context.save()
        trip.setValue("b", forKey: "name")
        try context.save()
        let token = try coordinator.currentHistoryToken()
        let stages = zip(models, models.dropFirst()).map { old, new in
          let stage = CustomMigrationStage(
            migratingFrom: ManagedObjectModelReference(model: old, versionChecksum: old.versionChecksum),
            to: ManagedObjectModelReference(model: new, versionChecksum: new.versionChecksum))
          stage.didMigrateHandler = { manager, _ in
            guard let context = manager.container?.newBackgroundContext() else { return }
            try context.performAndWait {
              for entity in ["Trip", "Tour"]
              where context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[entity] != nil {
                for trip in try context.all(entity) {
                  for key in trip.entity.attributesByName.keys { trip.setValue("c", forKey: key) }
                }
                context.make(entity)
              }
              try context.save()
            }
          }
          return stage
        }
        coordinator = try stand.reopen(three, isAdapted: true) {
          $0.stagedMigrationManager = StagedMigrationManager(stages)
        }
        let found = try said(coordinator)
        try expectEqual(
          Array(found.prefix(2)), [["Tour insert p1"], ["Tour update p1 heading"]], "from before")
        let news = try said(coordinator, after: token).map { $0.map(withoutKeys) }
        // The second time the first trip has its value already.
        try expectEqual(
          news, [["Tour insert p", "Tour update p heading"], ["Tour insert p", "Tour update p heading"]],
          "what the stages have saved")
      },
      migrated("it goes on in a store that holds the entities of a configuration") { stand in
        func model(_ version: Int, _ attribute: [String: String?]) -> ManagedObjectModel {
          let model = trips(version, attribute, version == 1 ? "Trip" : "Tour")
          model.setEntities(
            model.entities.filter { $0.name != "Place" }, forConfigurationName: "Trips")
          return model
        }
        var coordinator = try stand.reopen(model(1, ["name": nil])) {
          $0.recordsHistory = true
          $0.configuration = "Trips"
        }
        let context = stand.context(on: coordinator)
        let trip = context.make("Trip", ["name": "a"])
        try context.save()
        trip.setValue("b", forKey: "name")
        try context.save()
        let token = try coordinator.currentHistoryToken()
        coordinator = try stand.reopen(model(2, ["title": "name"])) { $0.configuration = "Trips" }
        try expectEqual(try said(coordinator), [["Tour insert p1"], ["Tour update p1 title"]], "from before")
        try expectEqual(try said(coordinator, after: token), [], "after the token")
      },
    ]
    + (1...6).map { seed in
      migrated("random changes of models, seed \(seed)") { try RandomRenamings(seed: seed).run(on: $0) }
    }

  private static func migrated(_ name: String, _ run: @escaping @Sendable (ConformanceStand) throws -> Void)
    -> ConformanceCase
  {
    ConformanceCase("a migrated history", name, needs: [.history, .migration], run: run)
  }

  /// An attribute whose value stays of deleted objects, with what it was called.
  static func preserved(_ name: String, from identifier: String?) -> AttributeDescription {
    let attribute = AttributeDescription(name, .string)
    attribute.preservesValueInHistoryOnDeletion = true
    attribute.renamingIdentifier = identifier
    return attribute
  }

  /// Trips with these attributes, by name with what each was called, and places.
  private static func trips(
    _ version: Int, _ attributes: [String: String?], _ name: String = "Trip",
    link: (one: String, many: String)? = nil
  ) -> ManagedObjectModel {
    let trip = EntityDescription(
      name,
      properties: attributes.sorted { $0.key < $1.key }.map { preserved($0.key, from: $0.value) })
    if name != "Trip" { trip.renamingIdentifier = "Trip" }
    trip.versionHashModifier = "\(version)"
    if let link { relateToItself(trip, link.one, link.many, identifiers: ("owner", "owned")) }
    let other = EntityDescription("Place", properties: [AttributeDescription("word", .string)])
    return ManagedObjectModel(entities: [trip, other])
  }

  static func relateToItself(
    _ entity: EntityDescription, _ one: String, _ many: String, identifiers: (one: String, many: String)
  ) {
    let there = RelationshipDescription(one, to: entity, maxCount: 1)
    let back = RelationshipDescription(many, to: entity, maxCount: 0)
    there.renamingIdentifier = identifiers.one
    back.renamingIdentifier = identifiers.many
    there.inverseRelationship = back
    back.inverseRelationship = there
    entity.properties += [there, back]
  }

  /// Where it is not known which keys new objects get.
  private static func withoutKeys(_ line: String) -> String { line.filter { !$0.isNumber } }

  /// What the history says, transaction by transaction.
  static func said(_ coordinator: PersistentStoreCoordinator, after token: PersistentHistoryToken? = nil)
    throws
    -> [[String]]
  {
    try coordinator.history(.fetchHistory(after: token)).transactions.map { transaction in
      (transaction.changes ?? []).map { change in
        let values = (change.tombstone ?? [:]).map { "\($0.key)=\($0.value)" }
        let details = (change.updatedPropertyNames.sorted() + values.sorted()).joined(separator: ",")
        let words = [
          change.changedObjectID.entityName, "\(change.changeType)",
          change.changedObjectID.uriRepresentation().lastPathComponent, details,
        ]
        return words.filter { !$0.isEmpty }.joined(separator: " ")
      }.sorted()
    }
  }
}

extension ConformanceStand {
  /// Opens the store with another version of its model, and nowhere else.
  func reopen(
    _ model: ManagedObjectModel, isAdapted: Bool = false,
    configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> PersistentStoreCoordinator {
    try close()
    if !isAdapted { engine.adapt(model) }
    return try open(model, configure: configure)
  }
}
