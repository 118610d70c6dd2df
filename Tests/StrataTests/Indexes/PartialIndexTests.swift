import Foundation
import Strata
import Testing

/// Indexes that hold only the rows that satisfy a predicate (rule 346).
@Suite struct PartialIndexTests {
  /// An index of vessels by name, of those with a length above 40 and a name.
  static func index(_ predicate: FetchPredicate? = longNamed) -> FetchIndexDescription {
    let index = FetchIndexDescription(name: "byName", attributes: ["name"])
    index.partialIndexPredicate = predicate
    return index
  }

  static let longNamed: FetchPredicate = Attribute("length") > 40 && Attribute("name") != nil

  /// The same of an object.
  static func isLongNamed(_ object: ManagedObject) -> Bool {
    IndexStand.length(object) > 40 && object.value(forKey: "name") != nil
  }

  private func stand(_ count: Int = 300, _ index: FetchIndexDescription = index()) throws -> IndexStand {
    try IndexStand(count, model: IndexStand.model(indexes: [index]))
  }

  private func entries(_ stand: IndexStand) throws -> Int? {
    try stand.coordinator.indexes(in: stand.engine).first { $0.name == "byName" }?.entryCount
  }

  /// How many rows the index should have entries of, by the objects themselves.
  private func matching(_ stand: IndexStand) throws -> Int {
    let context = stand.context()
    return try context.performAndWait {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel")).count(where: Self.isLongNamed)
    }
  }

  // MARK: What it holds

  @Test("rule 346: a partial index has an entry for each row that satisfies its predicate, and for no other")
  func entriesFollowSaves() throws {
    let stand = try stand()
    #expect(try entries(stand) == matching(stand))
    try stand.edit { context in
      let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel"))
      for (place, object) in all.enumerated() {
        switch place % 6 {
        case 0: object.setValue(100, forKey: "length")
        case 1: object.setValue(1, forKey: "length")
        case 2: object.setValue(nil, forKey: "name")
        case 3: object.setValue("renamed", forKey: "name")
        case 4: context.delete(object)
        default: object.setValue("mark \(place)", forKey: "mark")
        }
      }
    }
    let now = try matching(stand)
    #expect(try entries(stand) == now && now > 50)
    try stand.requireSound()
  }

  @Test("batches and imports keep it, and so do large saves whose entries are made ahead")
  func entriesFollowBatches() throws {
    let stand = try stand(0)
    let context = stand.context()
    try context.performAndWait {
      let rows: [[String: Any]] = (0..<2_500).map {
        ["name": "vessel \($0 % 40)", "length": $0 % 90, "mark": "m\($0)"]
      }
      try context.execute(BatchInsertRequest(entityName: "Vessel", objects: rows))
      var update = BatchUpdateRequest(entityName: "Vessel")
      update.predicate = Attribute("length") == 10
      update.propertiesToUpdate = ["length": 80]
      try context.execute(update)
      let some = FetchRequest<ManagedObject>(entityName: "Vessel", predicate: Attribute("length") == 50)
      try context.execute(BatchDeleteRequest(fetchRequest: some))
    }
    #expect(try entries(stand) == matching(stand))
    try stand.requireSound("after batches")
    // Entries of saves of so many rows are made by a second thread.
    try stand.edit { context in
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel")) {
        object.setValue(90 - IndexStand.length(object), forKey: "length")
      }
    }
    #expect(try entries(stand) == matching(stand))
    try stand.requireSound("after a large save")
    try stand.edit { context in for number in 0..<1_500 { try IndexStand.make(number, context) } }
    #expect(try entries(stand) == matching(stand))
    try stand.requireSound("after an import")
  }

  @Test("predicates on texts, on large values and on derived attributes decide, too")
  func otherAttributes() throws {
    let boat = EntityDescription(
      "Boat",
      properties: [
        AttributeDescription("log", .string), AttributeDescription("name", .string),
        AttributeDescription("length", .integer32),
        DerivedAttributeDescription("upper", .string, derivationExpression: "uppercase:(name)"),
      ])
    func add(_ name: String, _ format: String) throws {
      let index = FetchIndexDescription(name: name, attributes: ["length"])
      index.partialIndexPredicate = try FetchPredicate(format: format)
      boat.indexes.append(index)
    }
    try add("stormy", "log CONTAINS[cd] 'storm' OR log ENDSWITH 'calm'")
    try add("upper", "upper BEGINSWITH 'A' AND NOT (length IN {3, 4})")
    try add("named", "name LIKE 'a*' AND length BETWEEN {0, 50}")
    let folder = try TemporaryFolder()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel(entities: [boat]))
    let store = try coordinator.addPersistentStore(
      PersistentStoreDescription(url: folder.url.appendingPathComponent("Boats.strata")))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for number in 0..<200 {
        let object = try EntityDescription.insertNewObject(forEntityName: "Boat", into: context)
        object.setValue(number % 3 == 0 ? "anna \(number)" : "berta", forKey: "name")
        object.setValue(number % 60, forKey: "length")
        // Every fourth lies outside of the row.
        let padding = String(repeating: "sea ", count: number % 4 == 0 ? 40_000 : 4)
        object.setValue(padding + (number % 5 == 0 ? "STÖRM and more" : "calm"), forKey: "log")
      }
      try context.save()
      for (place, object) in try context.fetch(FetchRequest<ManagedObject>(entityName: "Boat")).enumerated() {
        if place % 7 == 0 { object.setValue("Alma", forKey: "name") }
        if place % 11 == 0 { object.setValue("nothing", forKey: "log") }
        if place % 13 == 0 { context.delete(object) }
      }
      try context.save()
      let conditions: [(String, (String, String, Int) -> Bool)] = [
        ("stormy", { log, _, _ in log.contains("STÖRM") || log.hasSuffix("calm") }),
        ("upper", { _, name, length in name.uppercased().hasPrefix("A") && length != 3 && length != 4 }),
        ("named", { _, name, length in name.hasPrefix("a") && length <= 50 }),
      ]
      for (name, holds) in conditions {
        let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Boat"))
        let expected = all.filter { boat in
          holds(
            boat.value(forKey: "log") as? String ?? "", boat.value(forKey: "name") as? String ?? "",
            IndexStand.length(boat))
        }
        let index = try #require(try coordinator.indexes(in: store).first { $0.name == name })
        #expect(index.entryCount == expected.count && !expected.isEmpty, "\(name)")
        let predicate = try FetchPredicate(format: try #require(index.predicateFormat))
        #expect(predicate == boat.indexes.first { $0.name == name }?.partialIndexPredicate)
        let request = FetchRequest<ManagedObject>(entityName: "Boat", predicate: predicate)
        #expect(Set(try context.fetch(request)) == Set(expected), "\(name)")
      }
    }
    let engine = try #require(store as? LMDBStore)
    #expect(try engine.check().problems.isEmpty)
  }

  // MARK: Who uses it

  @Test("a fetch uses it where its predicate has each part of the index's; explain names the rows")
  func usedWhereImplied() throws {
    let stand = try stand()
    let context = stand.context()
    try context.performAndWait {
      func request(_ predicate: FetchPredicate?, _ sorts: [FetchSort] = [], limit: Int = 0) -> FetchRequest<
        ManagedObject
      > {
        FetchRequest(
          entityName: "Vessel", predicate: predicate, sortDescriptors: sorts, fetchLimit: limit)
      }
      func usesIndex(_ request: FetchRequest<ManagedObject>) throws -> Bool {
        try context.explain(request).indexName == "Vessel.byName"
      }
      let long = Attribute("length") > 40
      let named = Attribute("name") == "vessel 3"
      #expect(try usesIndex(request(named && long)))
      #expect(try usesIndex(request(long && named && Attribute("built") != nil)))
      // A name that is something is not nil; so is one that is compared as a text.
      #expect(try usesIndex(request(long && Attribute("name") != nil)))
      #expect(try usesIndex(request(try FetchPredicate(format: "length > 40 AND name BEGINSWITH 'vessel'"))))
      #expect(
        try usesIndex(request(try FetchPredicate(format: "length > 40 AND name CONTAINS[c] 'VESSEL 1'"))))
      // It would lack rows.
      #expect(try !usesIndex(request(named)))
      #expect(try !usesIndex(request(long)))
      #expect(try !usesIndex(request(named || long)))
      #expect(try !usesIndex(request(named && Attribute("length") > 30)))
      #expect(try !usesIndex(request(Attribute("name") == nil && long)))
      #expect(try !usesIndex(request(nil, [FetchSort("name")], limit: 5)))
      // That something above 50 is above 40 is not proven.
      #expect(try !usesIndex(request(named && Attribute("length") > 50)))
      let explanation = try context.explain(request(named && long), .executing)
      #expect(explanation.description.contains("of rows with length > 40 AND name != nil"))
      #expect(explanation.stores[0].execution?.rowsExamined == explanation.returned)
      // A count of all its rows looks at no row.
      let count = try context.explainCount(for: request(Self.longNamed), .executing)
      #expect(count.indexName == "Vessel.byName" && count.stores[0].execution?.rowsExamined == 0)
    }
  }

  @Test("an order with a limit comes from its entries")
  func ordered() throws {
    let byLength = FetchIndexDescription(name: "byLength", attributes: ["length"])
    byLength.partialIndexPredicate = Attribute("name") != nil
    let stand = try stand(300, byLength)
    let context = stand.context()
    try context.performAndWait {
      let request = FetchRequest<ManagedObject>(
        entityName: "Vessel", predicate: Attribute("name") != nil, sortDescriptors: [FetchSort("length")],
        fetchLimit: 3)
      let first = try context.explain(request, .executing)
      #expect(first.indexName == "Vessel.byLength" && first.stores[0].isOrdered)
      #expect(first.stores[0].execution?.rowsExamined == 3)
    }
  }

  @Test("where most rows are in it, and all of them are wanted, rows are scanned")
  func scansInstead() throws {
    let stand = try stand(600, Self.index(Attribute("length") >= 0))
    let context = stand.context()
    try context.performAndWait {
      let request = FetchRequest<ManagedObject>(entityName: "Vessel", predicate: Attribute("length") >= 0)
      let explanation = try context.explain(request, .executing)
      #expect(explanation.stores[0].execution?.hasScannedInstead == true)
      #expect(explanation.returned == 600)
      #expect(try context.count(for: request) == 600)
    }
  }

  // MARK: Programs that do not know it

  @Test("a program whose model has the index without the predicate makes it one of all rows, and back")
  func otherPrograms() throws {
    let first = try stand(200)
    first.close()
    // As a program of before partial indexes would: what it finds there is an index of another meaning.
    let plain = try IndexStand(0, model: IndexStand.model(indexes: [Self.index(nil)]), in: first)
    try plain.edit { context in for number in 200..<250 { try IndexStand.make(number, context) } }
    #expect(try entries(plain) == 250)
    try plain.requireSound("all rows")
    plain.close()
    let none = try IndexStand(0, in: first)
    try none.edit { context in for number in 250..<300 { try IndexStand.make(number, context) } }
    #expect(try entries(none) == nil)
    none.close()
    let again = try IndexStand(0, model: IndexStand.model(indexes: [Self.index()]), in: first)
    #expect(try entries(again) == matching(again))
    try again.requireSound("back")
  }

  @Test("two programs that have a store open at once, one without the predicate: neither finds too little")
  func sideBySide() throws {
    let partial = try stand(150)
    let plain = try IndexStand(0, model: IndexStand.model(indexes: [Self.index(nil)]), in: partial)
    for round in 0..<4 {
      try partial.edit { _ = try IndexStand.make(1_000 + round, $0) }
      try plain.edit { _ = try IndexStand.make(2_000 + round, $0) }
      for stand in [partial, plain] {
        let context = stand.context()
        try context.performAndWait {
          let request = FetchRequest<ManagedObject>(
            entityName: "Vessel", predicate: Self.longNamed && Attribute("name") == "vessel 3")
          let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel"))
          let expected = all.filter {
            Self.isLongNamed($0) && $0.value(forKey: "name") as? String == "vessel 3"
          }
          #expect(Set(try context.fetch(request)) == Set(expected))
        }
        try stand.requireSound("round \(round)")
      }
    }
  }

  // MARK: Coming and going

  @Test("one that is added while the store is in use is kept from the first row on, and over opening again")
  func added() async throws {
    let stand = try IndexStand(400)
    let index = Self.index()
    try await stand.coordinator.addIndex(index, toEntityNamed: "Vessel", in: stand.engine) { progress in
      do {
        try stand.edit { context in
          for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel", fetchLimit: 40)) {
            object.setValue((IndexStand.length(object) + progress.completedRows) % 101, forKey: "length")
          }
          try IndexStand.make(500 + progress.completedRows, context)
        }
        try stand.requireSound("after \(progress.completedRows) rows")
      } catch {
        Issue.record(error)
      }
    }
    #expect(try entries(stand) == matching(stand))
    // Another predicate under its name is another index.
    let other = Self.index(Attribute("length") > 41)
    await #expect(throws: CoreDataError.self) {
      try await stand.coordinator.addIndex(other, toEntityNamed: "Vessel", in: stand.engine)
    }
    stand.close()
    let again = try IndexStand(0, in: stand)
    try again.edit { context in for number in 900..<950 { try IndexStand.make(number, context) } }
    #expect(try entries(again) == matching(again))
    let context = again.context()
    let used = try context.performAndWait {
      let request = FetchRequest<ManagedObject>(
        entityName: "Vessel", predicate: Self.longNamed && Attribute("name") == "vessel 4")
      return try context.explain(request).indexName
    }
    #expect(used == "Vessel.byName")
    try again.requireSound()
    try await again.remove("byName")
    #expect(try entries(again) == nil)
  }

  @Test(
    "a migration builds the model's anew, keeps one that was added, and lets it go with an attribute of another name"
  )
  func migrated() async throws {
    func model(renames: Bool, _ version: Int) -> ManagedObjectModel {
      let length = AttributeDescription(renames ? "size" : "length", .integer32)
      if renames { length.renamingIdentifier = "length" }
      let boat = EntityDescription(
        "Boat",
        properties: [
          AttributeDescription("name", .string), length, AttributeDescription("extra\(version)", .string),
        ])
      if !renames {
        let index = FetchIndexDescription(name: "declared", attributes: ["name"])
        index.partialIndexPredicate = Attribute("length") > 5
        boat.indexes = [index]
      }
      return ManagedObjectModel(entities: [boat])
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Boats.strata")
    func open(_ model: ManagedObjectModel) throws -> PersistentStoreCoordinator {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      var description = PersistentStoreDescription(url: url)
      description.permittedLosses = ["Boat.extra1", "Boat.extra2"]
      try coordinator.addPersistentStore(description)
      return coordinator
    }
    func indexes(_ coordinator: PersistentStoreCoordinator) throws -> [String] {
      try coordinator.indexes(in: coordinator.persistentStores[0]).map { "\($0.name) \($0.entryCount)" }
    }
    let first = try open(model(renames: false, 1))
    let context = ManagedObjectContext(.privateQueue, coordinator: first)
    try context.performAndWait {
      for number in 0..<10 {
        let boat = try EntityDescription.insertNewObject(forEntityName: "Boat", into: context)
        boat.setValue("boat \(number)", forKey: "name")
        boat.setValue(number, forKey: "length")
      }
      try context.save()
    }
    let added = FetchIndexDescription(name: "added", attributes: ["name"])
    added.partialIndexPredicate = Attribute("length") <= 2
    try await first.addIndex(added, toEntityNamed: "Boat", in: first.persistentStores[0])
    #expect(try indexes(first) == ["added 3", "declared 4"])
    try first.remove(first.persistentStores[0])
    let second = try open(model(renames: false, 2))
    #expect(try indexes(second) == ["added 3", "declared 4"])
    try second.remove(second.persistentStores[0])
    let third = try open(model(renames: true, 3))
    #expect(try indexes(third) == [])
    let engine = try #require(third.persistentStores[0] as? LMDBStore)
    #expect(try engine.check().problems.isEmpty)
  }

  @Test("a salvaged store, and a copy of the model, have it")
  func salvagedAndCopied() throws {
    let model = IndexStand.model(indexes: [Self.index()])
    let copy: ManagedObjectModel = try model.copy()
    let index = try #require(copy.entitiesByName["Vessel"]?.indexes.first)
    #expect(index.partialIndexPredicate == Self.longNamed)
    let stand = try stand()
    let expected = try matching(stand)
    stand.close()
    let rescued = stand.folder.url.appendingPathComponent("Rescued.strata")
    let report = try LMDBStore.salvage(from: stand.url, to: rescued)
    #expect(report.rowCount == 300 && report.check.isSound)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: rescued))
    #expect(try coordinator.indexes(in: store).first { $0.name == "byName" }?.entryCount == expected)
    #expect(try #require(store as? LMDBStore).check().problems.isEmpty)
  }

  // MARK: What is refused

  @Test(
    "predicates that one row does not decide are refused with a sentence, and there is no file",
    arguments: [
      ("ANY crew.name == 'Ada'", "looks at members of a relationship"),
      ("crew.@count > 2", "computes something"),
      ("captain.name == 'Ada'", "a predicate on captain.name, which is no attribute of the entity"),
      ("captain == nil", "a predicate on captain, which is no attribute of the entity"),
      ("depth > 3", "a predicate on depth, which is no attribute of the entity"),
      ("seats > 3", "a predicate on seats, which is no attribute of the entity"),
      ("note == 'x'", "a predicate on note, which is transient"),
      ("length > $LIMIT", "has the variable $LIMIT"),
      ("length > width", "compares two attributes with each other"),
      ("length + 1 > 3", "computes something"),
      ("built < now()", "computes something"),
      ("SELF IN {}", "looks at objects"),
      ("1 == 1", "compares constants with each other"),
      ("built == 'long'", "does not fit the entity"),
      ("plan == 'x'", "does not fit the entity"),
    ])
  func refusals(format: String, reason: String) throws {
    let boat = EntityDescription(
      "Boat",
      properties: [
        AttributeDescription("name", .string), AttributeDescription("length", .integer32),
        AttributeDescription("width", .integer32), AttributeDescription("built", .date),
        AttributeDescription("plan", .transformable),
        AttributeDescription("note", .string, isTransient: true),
      ])
    let sailor = EntityDescription("Sailor", properties: [AttributeDescription("name", .string)])
    boat.properties.append(RelationshipDescription("crew", to: sailor, maxCount: 0))
    boat.properties.append(RelationshipDescription("captain", to: sailor, maxCount: 1))
    let ferry = EntityDescription("Ferry", properties: [AttributeDescription("seats", .integer32)])
    boat.subentities = [ferry]
    let index = FetchIndexDescription(name: "some", attributes: ["name"])
    index.partialIndexPredicate = try FetchPredicate(format: format)
    boat.indexes = [index]
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [boat, sailor, ferry]))
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Boats.strata")
    let error = #expect(throws: ModelError.self) {
      try coordinator.addPersistentStore(PersistentStoreDescription(url: url))
    }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "none")")
    #expect(error?.description.contains("Boat.some") == true)
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test("a #Predicate is refused, and added indexes are looked at as the model's are")
  func otherRefusals() async throws {
    let stand = try IndexStand(10)
    let index = FetchIndexDescription(name: "some", attributes: ["name"])
    index.partialIndexPredicate = Attribute("length") == Date(timeIntervalSince1970: 0)
    await #expect(throws: ModelError.self) {
      try await stand.coordinator.addIndex(index, toEntityNamed: "Vessel", in: stand.engine)
    }
    let other = FetchIndexDescription(name: "some", attributes: ["name"])
    other.partialIndexPredicate = Attribute("depth") == 3
    await #expect(throws: ModelError.self) {
      try await stand.coordinator.addIndex(other, toEntityNamed: "Vessel", in: stand.engine)
    }
    #expect(try stand.names == ["Vessel.unique(mark)"])
  }
}
