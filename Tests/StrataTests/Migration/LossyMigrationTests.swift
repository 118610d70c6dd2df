import Foundation
import Strata
import Testing

/// Migrations that take something away: what they need, and what is said without (rules 304, 306, 307).
struct LossyMigrationTests {
  let stand: MigrationStand

  init() throws { stand = try MigrationStand() }

  // MARK: Models

  /// Trips, as the first program knows them.
  private static func one() -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Trip", properties: [AttributeDescription("name", .string), AttributeDescription("note", .string)])
    ])
  }

  /// Trips with a rating and stops: the next program.
  private static func two() -> ManagedObjectModel {
    let trip = EntityDescription(
      "Trip",
      properties: [
        AttributeDescription("name", .string), AttributeDescription("note", .string),
        AttributeDescription("rating", .integer16),
      ])
    let stop = EntityDescription("Stop", properties: [AttributeDescription("name", .string)])
    relateInMigration(
      RelationshipDescription("stops", to: stop, maxCount: 0), of: trip,
      RelationshipDescription("trip", to: trip, maxCount: 1), of: stop)
    return ManagedObjectModel(entities: [trip, stop])
  }

  private func fill(_ model: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> Void) throws {
    let context = try stand.open(model)
    try context.performAndWait {
      try body(context)
      try context.save()
    }
    try stand.close()
  }

  /// Three trips of the first program; the second one gives two of them ratings, and one of them 40 stops.
  private func fillBoth() throws {
    try fill(Self.one()) { context in
      for name in ["a", "b", "c"] { context.newObject("Trip", ["name": name, "note": "!"]) }
    }
    try fill(Self.two()) { context in
      let trips = try context.objectsByName("Trip")
      trips["a"]?.setValue(3, forKey: "rating")
      trips["b"]?.setValue(5, forKey: "rating")
      trips["a"]?.setValue(
        Set((0..<40).map { context.newObject("Stop", ["name": "\($0)"]) }), forKey: "stops")
    }
  }

  // MARK: Refusals

  @Test(
    "a program of the version before does not take a store apart: refused with what would be lost, not a byte changed"
  )
  func olderProgram() throws {
    try fillBoth()
    let before = try Data(contentsOf: stand.url)
    let error = #expect(throws: CoreDataError.self) { try stand.open(Self.one()) }
    #expect(error?.code == .migrationMissingSourceModel)
    let text = error?.description ?? ""
    #expect(text.contains("Stop (40 objects)"), "\(text)")
    #expect(text.contains("Trip.rating (2 objects)"), "\(text)")
    #expect(try Data(contentsOf: stand.url) == before)
    #expect(try stand.files() == ["Shop.strata", "Shop.strata-lock"])
    let context = try stand.open(Self.two()) { $0.migratesAutomatically = false }
    let count = try context.performAndWait { try context.objectsByName("Stop").count }
    #expect(count == 40)
  }

  @Test("what is removed and holds nothing needs no more than before, forwards and backwards")
  func nothingToLose() throws {
    try fill(Self.one()) { $0.newObject("Trip", ["name": "a"]) }
    try stand.open(Self.two())
    let context = try stand.open(Self.one())
    let names = try context.performAndWait { try context.objectsByName("Trip").keys.sorted() }
    #expect(names == ["a"])
    #expect(try stand.problems() == [])
  }

  // MARK: Evidence

  /// Trips without notes: what the program after the second has.
  private static func three() -> ManagedObjectModel {
    let model = two()
    model.entitiesByName["Trip"]?.properties.removeAll { $0.name == "note" }
    return model
  }

  private func error(
    _ model: ManagedObjectModel, _ configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> CoreDataError {
    try stand.close()
    let before = try Data(contentsOf: stand.url)
    let error = #expect(throws: CoreDataError.self) { try stand.open(model, configure) }
    #expect(try Data(contentsOf: stand.url) == before, "a refused store is not changed")
    return try #require(error)
  }

  private func tripCount(_ context: ManagedObjectContext) throws -> Int {
    try context.performAndWait { try context.fetch(FetchRequest<ManagedObject>(entityName: "Trip")).count }
  }

  @Test(
    "a newer program that hands over the model before may drop an attribute for good; one that does not gets the remedy"
  )
  func forward() throws {
    try fillBoth()
    let refusal = try error(Self.three())
    #expect(refusal.code == .migrationMissingSourceModel)
    #expect(refusal.description.contains("Trip.note (3 objects)"), "\(refusal)")
    #expect(refusal.description.contains("knownModels = ["))
    #expect(refusal.description.contains("permittedLosses = [\"Trip.note\"]"))
    #expect(refusal.errorUserInfo[MigrationPermission.lossesKey] as? [String: Int] == ["Trip.note": 3])
    // The first version alone does not name the second.
    #expect(try error(Self.three()) { $0.knownModels = [Self.one()] }.code == .migrationMissingSourceModel)
    let context = try stand.open(Self.three()) { $0.knownModels = [Self.one(), Self.two()] }
    #expect(try tripCount(context) == 3)
    #expect(try stand.problems() == [])
  }

  @Test(
    "a store that was of the program's version before goes back only by permission, even when the later model is known"
  )
  func backwards() throws {
    try fillBoth()
    let refusal = try error(Self.one()) { $0.knownModels = [Self.two()] }
    #expect(refusal.code == .migration)
    #expect(refusal.description.contains("has been of this version before"), "\(refusal)")
    // Each thing by its name.
    let rest = try error(Self.one()) { $0.permittedLosses = ["Stop", "Trip"] }
    #expect(rest.errorUserInfo[MigrationPermission.lossesKey] as? [String: Int] == ["Trip.rating": 2])
    let context = try stand.open(Self.one()) { $0.permittedLosses = ["Stop", "Trip.rating"] }
    #expect(try tripCount(context) == 3)
    #expect(try stand.problems() == [])
  }

  @Test(
    "a store that has never been of the program's version may come to it from a later model that the program knows"
  )
  func neverBeen() throws {
    try fill(Self.two()) { $0.newObject("Trip", ["name": "a", "rating": 1]) }
    #expect(try error(Self.one()).code == .migrationMissingSourceModel)
    let context = try stand.open(Self.one()) { $0.knownModels = [Self.two()] }
    #expect(try tripCount(context) == 1)
  }

  @Test("copies keep the lineage: backups, replaced stores, salvaged ones, those made by mapping models")
  func lineage() throws {
    try fillBoth()
    let folder = stand.folder.url
    func refuses(_ url: URL) throws -> Bool {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.one())
      var description = PersistentStoreDescription(url: url)
      description.knownModels = [Self.two()]
      let error = #expect(throws: CoreDataError.self) { try coordinator.addPersistentStore(description) }
      return error?.code == .migration
    }
    let (backup, replaced) = (
      folder.appendingPathComponent("B.strata"), folder.appendingPathComponent("R.strata")
    )
    try stand.open(Self.two())
    try #require(stand.coordinator?.persistentStores.first as? LMDBStore).backup(to: backup)
    try stand.close()
    #expect(try refuses(backup))
    try LMDBStore.replace(at: replaced, with: stand.url)
    #expect(try refuses(replaced))
    let salvaged = folder.appendingPathComponent("S.strata")
    _ = try LMDBStore.salvage(from: stand.url, to: salvaged)
    #expect(try refuses(salvaged))
    let mapped = folder.appendingPathComponent("M.strata")
    let manager = MigrationManager(sourceModel: Self.two(), destinationModel: Self.three())
    try manager.migrateStore(
      from: PersistentStoreDescription(url: stand.url),
      with: MappingModel(entityMappings: [
        EntityMapping("trips", from: "Trip", to: "Trip", type: .copy),
        EntityMapping("stops", from: "Stop", to: "Stop", type: .copy),
      ]), to: PersistentStoreDescription(url: mapped))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.one())
    var description = PersistentStoreDescription(url: mapped)
    description.knownModels = [Self.three()]
    let error = #expect(throws: CoreDataError.self) { try coordinator.addPersistentStore(description) }
    #expect(error?.code == .migration)
  }

  @Test("a manager with both models migrates into another file, whatever is removed; the source stays")
  func manager() throws {
    try fillBoth()
    let there = stand.folder.url.appendingPathComponent("New.strata")
    let mapping = try MappingModel.inferredMappingModel(
      forSourceModel: Self.two(), destinationModel: Self.three())
    func migrate(from model: ManagedObjectModel) throws {
      try MigrationManager(sourceModel: model, destinationModel: Self.three()).migrateStore(
        from: PersistentStoreDescription(url: stand.url), with: mapping,
        to: PersistentStoreDescription(url: there))
    }
    let error = #expect(throws: CoreDataError.self) { try migrate(from: Self.one()) }
    #expect(error?.code == .migrationManagerSourceStore)
    try migrate(from: Self.two())
    #expect(try stand.files().filter { $0.contains("before") } == [])
    #expect(try LMDBStore.model(at: there).versionChecksum == Self.three().versionChecksum)
    #expect(try LMDBStore.model(at: stand.url).versionChecksum == Self.two().versionChecksum)
  }

  @Test("stages vouch for the versions in them")
  func stages() throws {
    try fillBoth()
    let (two, three) = (Self.two(), Self.three())
    let context = try stand.open(three) {
      $0.stagedMigrationManager = StagedMigrationManager([
        LightweightMigrationStage([two.versionChecksum, three.versionChecksum])
      ])
    }
    #expect(try tripCount(context) == 3)
    try stand.close()
    // What a step takes away is kept as everywhere: the store as it was.
    #expect(try kept() == ["Shop.strata-before-1"])
    let old = PersistentStoreCoordinator(managedObjectModel: two)
    var description = PersistentStoreDescription(
      url: stand.folder.url.appendingPathComponent("Shop.strata-before-1"))
    description.migratesAutomatically = false
    let store = try old.addPersistentStore(description)
    let reader = ManagedObjectContext(.privateQueue, coordinator: old)
    let notes = try reader.performAndWait {
      try reader.objectsByName("Trip").mapValues { $0.textValue("note") }
    }
    #expect(notes == ["a": "!", "b": "!", "c": "!"])
    try old.remove(store)
  }

  @Test("a model from an .xcdatamodeld knows the versions beside it")
  func versionsBeside() throws {
    func write(_ version: Int, _ attributes: String...) throws {
      let url = stand.folder.url.appendingPathComponent("Shop.xcdatamodeld/Shop \(version).xcdatamodel")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      let text =
        """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
          <entity name="Trip" syncable="YES">
        """
        + attributes.map { "<attribute name=\"\($0)\" optional=\"YES\" attributeType=\"String\"/>" }.joined()
        + "</entity></model>"
      try Data(text.utf8).write(to: url.appendingPathComponent("contents"))
    }
    let bundle = stand.folder.url.appendingPathComponent("Shop.xcdatamodeld")
    try write(1, "name", "note")
    try fill(try ManagedObjectModel(contentsOf: bundle)) {
      $0.newObject("Trip", ["name": "a", "note": "!"])
    }
    try write(2, "name")
    // The same model without what lies beside it.
    let alone = ManagedObjectModel(entities: [
      EntityDescription("Trip", properties: [AttributeDescription("name", .string)])
    ])
    #expect(try error(alone).code == .migrationMissingSourceModel)
    // Copies and merged models know what their parts know.
    let merged = try ManagedObjectModel(byMerging: [try ManagedObjectModel(contentsOf: bundle)])
    let context = try stand.open(merged)
    #expect(try tripCount(context) == 1)
  }

  // MARK: Ignoring the version

  @Test(
    "rule 304: a program that ignores the version may write to a store only where that loses nothing; it may read"
  )
  func ignoringTheVersion() throws {
    try fill(Self.two()) { context in
      let stop = context.newObject("Stop", ["name": "a"])
      context.newObject("Trip", ["name": "a", "rating": 4, "stops": Set([stop])])
    }
    let refusal = try error(Self.one()) {
      ($0.ignoresModelVersion, $0.migratesAutomatically) = (true, false)
    }
    #expect(refusal.code == .persistentStoreIncompatibleVersionHash)
    #expect(refusal.description.contains("Stop (1 object)"), "\(refusal)")
    #expect(refusal.description.contains("Trip.rating (1 object)"), "\(refusal)")
    // With migration it is one that takes something away, like any other.
    let migrating = try error(Self.one()) { $0.ignoresModelVersion = true }
    #expect(migrating.code == .migrationMissingSourceModel)
    let losses = migrating.errorUserInfo[MigrationPermission.lossesKey] as? [String: Int]
    #expect(losses?["Stop"] == 1 && losses?["Trip.rating"] == 1)
    #expect(try stand.files() == ["Shop.strata", "Shop.strata-lock"])
    let context = try stand.open(Self.one()) { ($0.ignoresModelVersion, $0.isReadOnly) = (true, true) }
    #expect(try tripCount(context) == 1)
    let reader = try stand.open(Self.two()) { $0.migratesAutomatically = false }
    let stops = try reader.performAndWait { try reader.objectsByName("Stop").count }
    #expect(stops == 1)
  }

  @Test("rule 304: where what is newer holds nothing, a program that ignores the version writes")
  func ignoringAnEmptyVersion() throws {
    try fill(Self.two()) { $0.newObject("Trip", ["name": "a", "note": "!"]) }
    let context = try stand.open(Self.one()) {
      ($0.ignoresModelVersion, $0.migratesAutomatically) = (true, false)
    }
    try context.performAndWait {
      context.newObject("Trip", ["name": "b"])
      try context.save()
    }
    #expect(try tripCount(context) == 2)
    #expect(try stand.problems() == [])
  }

  @Test("rule 304: an entity of another name and its values go on where the version is ignored, both ways")
  func ignoringARenaming() throws {
    func model(_ entity: String, _ attribute: String, isNewer: Bool) -> ManagedObjectModel {
      let name = AttributeDescription(attribute, .string)
      let description = EntityDescription(entity, properties: [name])
      if isNewer { (name.renamingIdentifier, description.renamingIdentifier) = ("name", "Car") }
      return ManagedObjectModel(entities: [description])
    }
    let car = { model("Car", "name", isNewer: false) }
    let auto = { model("Auto", "title", isNewer: true) }
    try fill(auto()) { context in
      for title in ["a", "b"] { context.newObject("Auto", ["title": title]) }
    }
    func names(_ model: ManagedObjectModel, _ entity: String, _ key: String) throws -> [String] {
      let context = try stand.open(model) {
        ($0.ignoresModelVersion, $0.migratesAutomatically) = (true, false)
      }
      let names = try context.performAndWait {
        try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).map {
          $0.value(forKey: key) as? String ?? ""
        }
      }
      try stand.close()
      return names.sorted()
    }
    #expect(try names(car(), "Car", "name") == ["a", "b"])
    #expect(try names(auto(), "Auto", "title") == ["a", "b"])
  }

  @Test("rule 304: what cannot be inferred is refused although the version is ignored, with the reason")
  func ignoringWhatCannotBeInferred() throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      ManagedObjectModel(entities: [
        EntityDescription("Trip", properties: [AttributeDescription("name", type)])
      ])
    }
    try fill(model(.string)) { $0.newObject("Trip", ["name": "a"]) }
    let refusal = try error(model(.date)) {
      ($0.ignoresModelVersion, $0.migratesAutomatically) = (true, false)
    }
    #expect(refusal.code == .persistentStoreIncompatibleVersionHash)
    #expect(refusal.description.contains("Trip.name"), "\(refusal)")
    #expect(refusal.userInfo[NSUnderlyingErrorKey] is CoreDataError)
    let context = try stand.open(model(.string)) { $0.ignoresModelVersion = true }
    #expect(try tripCount(context) == 1)
  }

  // MARK: What is a loss

  /// What refusing says when a store of the first model with this content is opened with the second one.
  private func losses(
    _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> Void
  ) throws -> [String: Int] {
    try fill(old, body)
    do {
      try stand.open(new)
      return [:]
    } catch let error as CoreDataError {
      return try #require(error.errorUserInfo[MigrationPermission.lossesKey] as? [String: Int], "\(error)")
    }
  }

  @Test("inherited values are named by the entity that declares them, also when one subentity keeps them")
  func inheritance() throws {
    func model(_ place: String) -> ManagedObjectModel {
      let entities = ["Vehicle", "Car", "Boat"].map { name in
        EntityDescription(
          name,
          properties: [AttributeDescription("a" + name, .string)]
            + (name == place ? [AttributeDescription("length", .double)] : []))
      }
      entities[0].subentities = [entities[1], entities[2]]
      return ManagedObjectModel(entities: entities)
    }
    let found = try losses(model("Vehicle"), model("Car")) { context in
      for name in ["Car", "Car", "Boat", "Boat", "Boat", "Vehicle"] {
        context.newObject(name, ["length": 1.0])
      }
      context.newObject("Boat")
    }
    #expect(found == ["Vehicle.length": 4])
  }

  @Test(
    "a value counts though it equals the default; one that becomes transient or derived is lost; nil and what is derived are not"
  )
  func values() throws {
    func model(_ change: (EntityDescription) -> Void) -> ManagedObjectModel {
      let trip = EntityDescription(
        "Trip",
        properties: [
          AttributeDescription("name", .string),
          AttributeDescription("days", .integer32, isOptional: false, defaultValue: 1),
          AttributeDescription("mood", .string), AttributeDescription("empty", .string),
          AttributeDescription("title", .string),
          DerivedAttributeDescription("folded", .string, derivationExpression: "canonical:(name)"),
        ])
      change(trip)
      return ManagedObjectModel(entities: [trip])
    }
    let new = model { trip in
      trip.properties.removeAll { ["days", "empty", "folded", "title"].contains($0.name) }
      trip.attributesByName["mood"]?.isTransient = true
      trip.properties.append(
        DerivedAttributeDescription("title", .string, derivationExpression: "canonical:(name)"))
    }
    let found = try losses(model { _ in }, new) { context in
      context.newObject("Trip", ["name": "a", "mood": "good", "title": "A"])
      context.newObject("Trip", ["name": "b"])
    }
    #expect(found == ["Trip.days": 2, "Trip.mood": 1, "Trip.title": 1])
  }

  @Test(
    "a relationship is lost when neither end stays; its order when its end is removed; members that are removed with their entity do not count"
  )
  func relationships() throws {
    func model(_ ends: (String?, String?), isOrdered: Bool = true, hasTags: Bool = true) -> ManagedObjectModel
    {
      let trip = EntityDescription("Trip", properties: [AttributeDescription("name", .string)])
      let stop = EntityDescription("Stop", properties: [AttributeDescription("name", .string)])
      let tag = EntityDescription("Tag", properties: [AttributeDescription("name", .string)])
      let stops = RelationshipDescription("stops", to: stop, maxCount: 0, isOrdered: isOrdered)
      let back = RelationshipDescription("trip", to: trip, maxCount: 1)
      if ends.0 != nil { trip.properties.append(stops) }
      if ends.1 != nil { stop.properties.append(back) }
      if ends.0 != nil, ends.1 != nil {
        stops.inverseRelationship = back
        back.inverseRelationship = stops
      }
      if hasTags { trip.properties.append(RelationshipDescription("tags", to: tag, maxCount: 0)) }
      return ManagedObjectModel(entities: [trip, stop] + (hasTags ? [tag] : []))
    }
    func found(_ new: ManagedObjectModel) throws -> [String: Int] {
      try stand.close()
      if FileManager.default.fileExists(atPath: stand.url.path) { try LMDBStore.destroy(at: stand.url) }
      return try losses(model(("stops", "trip")), new) { context in
        for (name, count) in [("a", 3), ("b", 1), ("c", 0)] {
          let stops = (0..<count).map { context.newObject("Stop", ["name": "\(name)\($0)"]) }
          let trip = context.newObject("Trip", ["name": name])
          trip.setValue(stops, forKey: "stops")
          if name == "a" { trip.setValue(Set([context.newObject("Tag", ["name": "t"])]), forKey: "tags") }
        }
      }
    }
    #expect(try found(model((nil, nil))) == ["Trip.stops": 2, "Stop.trip": 4])
    #expect(try found(model((nil, "trip"))) == ["Trip.stops": 1], "the order of three stops")
    #expect(try found(model(("stops", nil))) == [:], "the stops know it no more, the trips do")
    #expect(try found(model(("stops", "trip"), isOrdered: false)) == ["Trip.stops": 1])
    #expect(try found(model(("stops", "trip"), hasTags: false)) == ["Tag": 1])
  }

  // MARK: The file from before

  /// The kept files' names.
  private func kept() throws -> [String] {
    try stand.files().filter { $0.contains("before") && !$0.hasSuffix("-lock") }
  }

  @Test("what is removed is kept beside the store until the next save of any process")
  func keptUntilSave() throws {
    try fillBoth()
    try stand.open(Self.three()) { $0.permittedLosses = ["Trip.note"] }
    #expect(try kept() == ["Shop.strata-before-1"])
    try stand.close()
    #expect(try kept() == ["Shop.strata-before-1"], "closing is no save")
    // It is the store as it was.
    let old = stand.folder.url.appendingPathComponent("Shop.strata-before-1")
    #expect(try LMDBStore.model(at: old).versionChecksum == Self.two().versionChecksum)
    // Opened once more, and saved to.
    let context = try stand.open(Self.three())
    try context.performAndWait {
      context.newObject("Trip", ["name": "d"])
      try context.save()
    }
    try stand.close()
    #expect(try kept() == [])
    #expect(try tripCount(stand.open(Self.three())) == 4)
    #expect(try stand.problems() == [])
  }

  @Test("a batch is a save; what is lossless keeps nothing")
  func batch() throws {
    try fillBoth()
    let context = try stand.open(Self.three()) { $0.permittedLosses = ["Trip.note"] }
    try context.performAndWait {
      var update = BatchUpdateRequest(entityName: "Trip")
      update.propertiesToUpdate = ["rating": 4]
      _ = try context.execute(update)
    }
    try stand.close()
    #expect(try kept() == [])
    try stand.open(Self.two())
    try stand.close()
    #expect(try kept() == [])
  }

  @Test(
    "an option keeps it longer; two migrations keep two files; a later save without the option removes them")
  func keptLonger() throws {
    try fillBoth()
    func save(_ model: ManagedObjectModel, _ losses: Set<String>, keeps: Bool) throws {
      let context = try stand.open(model) {
        $0.permittedLosses = losses
        $0.keepsReplacedFiles = keeps
      }
      try context.performAndWait {
        context.newObject("Trip", ["name": "x"])
        try context.save()
      }
      try stand.close()
    }
    try save(Self.three(), ["Trip.note"], keeps: true)
    #expect(try kept() == ["Shop.strata-before-1"])
    try save(Self.one(), ["Stop", "Trip.rating"], keeps: true)
    #expect(try kept() == ["Shop.strata-before-1", "Shop.strata-before-2"])
    try save(Self.one(), [], keeps: false)
    #expect(try kept() == [])
  }

  @Test("the former file reverts the migration; destroying the store removes it")
  func takenBack() throws {
    try fillBoth()
    try stand.open(Self.three()) { $0.permittedLosses = ["Trip.note"] }
    try stand.close()
    let old = stand.folder.url.appendingPathComponent("Shop.strata-before-1")
    try LMDBStore.replace(at: stand.url, with: old)
    #expect(try kept() == [])
    let context = try stand.open(Self.two()) { $0.migratesAutomatically = false }
    try context.performAndWait {
      let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Trip")).map {
        $0.textValue("note")
      }
      #expect(notes == ["!", "!", "!"])
    }
    try stand.open(Self.three()) { $0.permittedLosses = ["Trip.note"] }
    try stand.close()
    #expect(try kept() == ["Shop.strata-before-1"])
    try LMDBStore.destroy(at: stand.url)
    #expect(try stand.files() == [])
  }

  @Test("a copy's save does not touch what is kept beside the store that it was made of")
  func copies() throws {
    try fillBoth()
    try stand.open(Self.three()) { $0.permittedLosses = ["Trip.note"] }
    let copy = stand.folder.url.appendingPathComponent("Copy.strata")
    try #require(stand.coordinator?.persistentStores.first as? LMDBStore).backup(to: copy)
    try stand.close()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.three())
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: copy))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      context.newObject("Trip", ["name": "d"])
      try context.save()
    }
    try coordinator.remove(store)
    #expect(try kept() == ["Shop.strata-before-1"])
  }
}
