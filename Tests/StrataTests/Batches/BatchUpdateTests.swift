import Foundation
@_spi(Testing) import Strata
import Testing
import struct StrataCore.Mutex

/// Batch updates (rules 266, 269, 270).
struct BatchUpdateTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  private func update(
    _ entity: String = "Entry", _ predicate: FetchPredicate? = nil, _ values: [String: any Sendable],
    step: Int = 2
  ) throws -> BatchResult {
    var request = BatchUpdateRequest(entityName: entity, predicate: predicate, propertiesToUpdate: values)
    request.step = step
    request.resultType = .objectIDs
    return try context.execute(request)
  }

  @Test("rule 269: the rows that match get the values, indexes follow")
  func matchingRowsGetValues() throws {
    let ids = try store.save("a", "b", "c", "d", "e")
    let result = try update(
      "Entry", Attribute("location").isIn(["b", "c", "e"]), ["rating": 5, "notes": "big"])
    #expect(Set(result.objectIDs ?? []) == [ids[1], ids[2], ids[4]])
    #expect(result.count == 3)
    #expect(try store.savedEntries() == ["a 3", "b 5", "c 5", "d 3", "e 5"])
    let found = try store.context().entries(Attribute("rating") == 5)
    #expect(found.map(\.location) == ["b", "c", "e"])
    #expect(found.map(\.notes) == ["big", "big", "big"])
    #expect(try store.problems() == [])
  }

  @Test("rule 269: an update that sets nothing is an error")
  func nothingToSet() throws {
    try store.save("a")
    let error = #expect(throws: CoreDataError.self) { try update("Entry", nil, [:]) }
    #expect(error?.description.contains("propertiesToUpdate is empty") == true)
  }

  @Test("rule 269: subentities are updated too unless they are left out")
  func subentities() throws {
    let maker = store.context()
    for entity in ["Beach", "HiddenBeach", "Reef"] {
      try EntityDescription.insertNewObject(forEntityName: entity, into: maker).setValue(
        entity, forKey: "name")
    }
    try maker.save()
    func latitudes() throws -> [Double] {
      var request = FetchRequest<ManagedObject>(entityName: "Spot")
      request.sortDescriptors = [FetchSort("name")]
      return try store.context().fetch(request).map { $0.value(forKey: "latitude") as? Double ?? 0 }
    }
    #expect(BatchUpdateRequest(entityName: "Spot").includesSubentities)
    var request = BatchUpdateRequest(entityName: "Beach", propertiesToUpdate: ["latitude": 1.5])
    request.includesSubentities = false
    #expect(try context.execute(request).count == 1)
    #expect(try latitudes() == [1.5, 0, 0])
    #expect(try update("Spot", nil, ["latitude": 2]).count == 3)
    #expect(try latitudes() == [2, 2, 2])
    #expect(try store.problems() == [])
  }

  @Test("rule 270, better: nil on a mandatory attribute is refused, and nothing is written")
  func nilIsRefusedWhereAValueIsRequired() throws {
    try store.save("a", "b")
    for nothing in [AttributeValue.null as any Sendable, String?.none] {
      let error = #expect(throws: CoreDataError.self) {
        try update("Entry", nil, ["location": nothing, "rating": 1])
      }
      #expect(error?.code == .validationMissingMandatoryProperty)
    }
    #expect(try store.savedEntries() == ["a 3", "b 3"])
    #expect(try update("Entry", nil, ["rating": AttributeValue.null]).count == 2)
    #expect(try store.context().entries(Attribute("rating") == nil).count == 2)
  }

  @Test(
    "rule 270: duplicates are refused once everything is written; values may move along",
    arguments: [1, 2, 100])
  func uniqueness(step: Int) throws {
    let maker = store.context()
    for email in ["a", "b", "c", "d"] { _ = Surfer.make(email, in: maker) }
    try maker.save()
    let error = #expect(throws: CoreDataError.self) {
      try update("Surfer", Attribute("email") != "a", ["email": "same"], step: step)
    }
    #expect(error?.code == .managedObjectConstraintMerge)
    #expect(try update("Surfer", Attribute("email") == "d", ["email": "e"], step: step).count == 1)
    let error2 = #expect(throws: CoreDataError.self) {
      try update("Surfer", Attribute("email") == "e", ["email": "a"], step: step)
    }
    #expect(error2?.code == .managedObjectConstraintMerge)
    var request = FetchRequest<Surfer>(entityName: "Surfer")
    request.sortDescriptors = [FetchSort("email")]
    #expect(try store.context().fetch(request).map(\.email) == ["a", "b", "c", "e"])
    #expect(try store.problems() == [])
  }

  @Test("rule 270: unknown names, wrong types, derived and to-many properties are refused")
  func brokenValuesAreRefused() throws {
    try store.save("a")
    func error(_ values: [String: any Sendable]) -> String {
      do {
        _ = try update("Entry", nil, values)
        return "none"
      } catch {
        return "\(error)"
      }
    }
    #expect(error(["waves": 1]).contains("no property “waves”"))
    #expect(error(["rating": "high"]).contains("cannot take String high"))
    #expect(error(["mood": "good"]).contains("transient"))
    let team = try TemporaryStore(TeamModel.make())
    let error = #expect(throws: CoreDataError.self) {
      try team.context().execute(
        BatchUpdateRequest(entityName: "Department", propertiesToUpdate: ["employees": AttributeValue.null]))
    }
    #expect(error?.description.contains("to-many") == true)
  }

  @Test("rule 189: a context that edits an updated object finds a conflict")
  func versionsRise() throws {
    try store.save("a")
    let stale = store.context()
    let entry = try stale.entry("a")
    entry.rating = 1
    _ = try update("Entry", nil, ["notes": "new"])
    let error = #expect(throws: CoreDataError.self) { try stale.save() }
    #expect(error?.code == .managedObjectMerge)
    stale.mergePolicy = .mergeByPropertyObjectTrump
    try stale.save()
    let saved = try store.context().entry("a")
    #expect(saved.rating == 1)
    #expect(saved.notes == "new")
  }

  @Test("rows that have the values already are not written and cause no conflict")
  func nothingNewIsNotWritten() throws {
    try store.save("a", rating: 4)
    let other = store.context()
    let entry = try other.entry("a")
    entry.notes = "mine"
    #expect(try update("Entry", nil, ["rating": 4]).count == 1)
    try other.save()
    #expect(try store.context().entry("a").notes == "mine")
  }

  @Test("a to-one relationship is set by ID, the other side follows, and its absence is an error")
  func toOneRelationships() throws {
    let store = try TemporaryStore(TeamModel.make())
    let maker = store.context()
    let (sales, lab) = (maker.make(Department.self, "sales"), maker.make(Department.self, "lab"))
    for name in ["ann", "bob", "cid"] { maker.make(Employee.self, name).department = sales }
    try maker.save()
    let context = store.context()
    var request = BatchUpdateRequest(
      entityName: "Employee", predicate: Attribute("name") != "ann",
      propertiesToUpdate: ["department": lab.objectID])
    request.step = 1
    #expect(try context.execute(request).count == 2)
    try store.fresh { (context) throws in
      #expect(try context.find(Department.self, "sales").employees.names == ["ann"])
      #expect(try context.find(Department.self, "lab").employees.names == ["bob", "cid"])
    }
    request.propertiesToUpdate = ["department": AttributeValue.null]
    try context.execute(request)
    try store.fresh { (context) throws in
      #expect(try context.find(Department.self, "lab").employees.names == [])
    }
    let gone = lab.objectID
    maker.refresh(lab, mergeChanges: false)
    maker.delete(lab)
    try maker.save()
    request.propertiesToUpdate = ["department": gone]
    let error = #expect(throws: CoreDataError.self) { try context.execute(request) }
    #expect(error?.code == .managedObjectReferentialIntegrity)
    request.propertiesToUpdate = ["department": try context.find(Employee.self, "ann").objectID]
    #expect(throws: CoreDataError.self) { try context.execute(request) }
    #expect(try store.problems() == [])
  }

  @Test("one-to-one relationships stay one to one in every combination", arguments: [1, 100])
  func oneToOne(step: Int) throws {
    let store = try TemporaryStore(TeamModel.make())
    let maker = store.context()
    for name in ["ann", "bob", "cid"] {
      maker.make(Employee.self, name).desk = maker.make(Desk.self, "desk of \(name)")
    }
    try maker.save()
    func desks() throws -> [String] {
      try store.fresh { (context) throws in
        try ["ann", "bob", "cid"].map { try context.find(Employee.self, $0).desk?.name ?? "none" }
      }
    }
    func owners() throws -> [String] {
      try store.fresh { (context) throws in
        try ["ann", "bob", "cid"].map {
          try context.find(Desk.self, "desk of \($0)").employee?.name ?? "none"
        }
      }
    }
    let desk = try maker.find(Desk.self, "desk of ann").objectID
    var request = BatchUpdateRequest(
      entityName: "Employee", predicate: Attribute("name") != "cid", propertiesToUpdate: ["desk": desk])
    request.step = step
    let context = store.context()
    try context.execute(request)
    // The last one has it.
    #expect(try desks() == ["none", "desk of ann", "desk of cid"])
    #expect(try owners() == ["bob", "none", "cid"])
    let cid = try maker.find(Employee.self, "cid").objectID
    try context.execute(
      BatchUpdateRequest(
        entityName: "Desk", predicate: Attribute("name") == "desk of ann",
        propertiesToUpdate: ["employee": cid]))
    #expect(try desks() == ["none", "none", "desk of ann"])
    #expect(try owners() == ["cid", "none", "none"])
    #expect(try store.problems() == [])
  }

  @Test("rule 336: derived values follow, also those of others, and cannot be set", arguments: [1, 2, 100])
  func derivedValues(step: Int) throws {
    let store = try TemporaryStore(DerivedModel.make())
    let maker = store.context()
    let entity = try #require(store.coordinator.managedObjectModel.entitiesByName["Album"])
    func album(_ title: String) -> ManagedObject {
      let album = ManagedObject(entity: entity, insertInto: maker)
      album.setValue(title, forKey: "title")
      return album
    }
    let (first, second) = (album("First"), album("Second"))
    try maker.save()
    let context = store.context()
    func execute(_ entity: String, _ predicate: FetchPredicate?, _ values: [String: any Sendable]) throws {
      var request = BatchUpdateRequest(entityName: entity, predicate: predicate, propertiesToUpdate: values)
      request.step = step
      try context.execute(request)
    }
    var insert = BatchInsertRequest(
      entityName: "Track",
      objects: (0..<5).map { ["name": "track \($0)", "seconds": 100 + $0, "album": first.objectID] })
    insert.step = step
    try context.execute(insert)
    try execute("Track", Attribute("seconds") >= 103, ["album": second.objectID])
    try execute("Album", Attribute("title") == "Second", ["title": "Third"])
    let error = #expect(throws: CoreDataError.self) { try execute("Album", nil, ["trackCount": 1]) }
    #expect(error?.description.contains("derived") == true)
    try store.fresh { (context) throws in
      let tracks = try context.fetch(
        FetchRequest<ManagedObject>(entityName: "Track", sortDescriptors: [FetchSort("name")]))
      #expect(tracks.map { $0["albumTitle"] as? String } == ["First", "First", "First", "Third", "Third"])
      let albums = try context.fetch(
        FetchRequest<ManagedObject>(entityName: "Album", sortDescriptors: [FetchSort("title")]))
      #expect(albums.map { $0["trackCount"] as? Int64 } == [3, 2])
      #expect(albums.map { $0["seconds"] as? Int64 } == [303, 207])
      #expect(albums.map { $0["key"] as? String } == ["first", "third"])
    }
    var delete = BatchDeleteRequest(
      fetchRequest: FetchRequest<ManagedObject>(entityName: "Track", predicate: Attribute("seconds") < 102))
    delete.step = step
    try context.execute(delete)
    try store.fresh { (context) throws in
      let counts = try context.fetch(
        FetchRequest<ManagedObject>(entityName: "Album", sortDescriptors: [FetchSort("title")]))
      #expect(counts.map { $0["trackCount"] as? Int64 } == [1, 2])
    }
    #expect(try store.problems() == [])
  }

  @Test("composites are set whole or by element; large values come and go")
  func compositesAndLargeValues() throws {
    let store = try TemporaryStore(ParcelModel.make())
    let maker = store.context()
    let parcel = Parcel(context: maker)
    parcel.label = "one"
    try maker.save()
    let context = store.context()
    let long = String(repeating: "long ", count: 1_000)
    try context.execute(
      BatchUpdateRequest(
        entityName: "Parcel",
        propertiesToUpdate: [
          "address": ["city": "Lorne", "zip": 3_232] as [String: any Sendable], "note": long,
          "tint": Tint(red: 1, green: 0),
        ]))
    let reader = store.context()
    var saved = try #require(try reader.fetch(FetchRequest<Parcel>(entityName: "Parcel")).first)
    #expect(saved.value(forKey: "note") as? String == long)
    #expect(saved.address?["city"] as? String == "Lorne")
    #expect(saved.tint == Tint(red: 1, green: 0))
    #expect(
      try store.context().count(
        for: FetchRequest<Parcel>(entityName: "Parcel", predicate: Attribute("address.city") == "Lorne")) == 1
    )
    try context.execute(
      BatchUpdateRequest(
        entityName: "Parcel", propertiesToUpdate: ["address.city": "Anglesea", "note": "short"]))
    reader.refreshAllObjects()
    saved = try #require(try reader.fetch(FetchRequest<Parcel>(entityName: "Parcel")).first)
    #expect(saved.address?["zip"] as? Int64 == 3_232)
    #expect(saved.address?["city"] as? String == "Anglesea")
    #expect(saved.value(forKey: "note") as? String == "short")
    #expect(try store.problems() == [])
  }

  @Test("a composite that has a value keeps what it requires, row by row")
  func requiredElements() throws {
    let store = try TemporaryStore(
      ParcelModel.make { entities in
        for property in entities["Parcel"]?.properties ?? [] where property.name == "address" {
          (property as? CompositeAttributeDescription)?.elements.first { $0.name == "city" }?.isOptional =
            false
        }
      })
    let context = store.context()
    try context.execute(
      BatchInsertRequest(
        entityName: "Parcel", objects: [["label": "whole", "address.city": "Lorne"], ["label": "empty"]]))
    func update(_ label: String, _ values: [String: any Sendable]) throws {
      try context.execute(
        BatchUpdateRequest(
          entityName: "Parcel", predicate: Attribute("label") == label, propertiesToUpdate: values))
    }
    try update("whole", ["address.zip": 3_232])
    let error = #expect(throws: CoreDataError.self) { try update("empty", ["address.zip": 3_232]) }
    #expect(error?.code == .validationMissingMandatoryProperty)
    #expect(throws: CoreDataError.self) { try update("whole", ["address.city": AttributeValue.null]) }
    try update("whole", ["address": AttributeValue.null])
    #expect(throws: CoreDataError.self) {
      try context.execute(
        BatchInsertRequest(entityName: "Parcel", objects: [["address": ["street": "Pier"]]]))
    }
  }

  @Test(
    "rule 269: an expression is evaluated on each row as it was before the batch", arguments: [1, 2, 100])
  func expressions(step: Int) throws {
    let store = try TemporaryStore(TeamModel.make())
    let maker = store.context()
    let sales = maker.make(Department.self, "sales")
    var last: Employee?
    for number in 0..<5 {
      let employee = maker.make(Employee.self, "e\(number)")
      employee.level = Int64(number)
      employee.manager = last
      if number > 2 { employee.department = sales }
      last = employee
    }
    try maker.save()
    let context = store.context()
    func run(_ values: [String: any Sendable]) throws {
      var request = BatchUpdateRequest(entityName: "Employee", propertiesToUpdate: values)
      request.step = step
      try context.execute(request)
    }
    func employees() throws -> [Employee] {
      try context.fetch(FetchRequest<Employee>(entityName: "Employee", sortDescriptors: [FetchSort("name")]))
    }
    try run(["level": FetchExpression.function(.add, [.key("level"), .constant(10)])])
    #expect(try employees().map(\.level) == [10, 11, 12, 13, 14])
    // Each takes the manager's former level, in whichever order rows are written.
    try run(["level": FetchExpression.function(.coalesce, [.key("manager.level"), .constant(0)])])
    #expect(try employees().map(\.level) == [0, 10, 11, 12, 13])
    try run(["level": FetchExpression.aggregate(.count, .key("department.employees"))])
    #expect(try employees().map(\.level) == [0, 0, 0, 2, 2])
    try run(["manager": FetchExpression.key("manager.manager")])
    #expect(try employees().map { $0.manager?.name } == [nil, nil, "e0", "e1", "e2"])
    try run(["department": FetchExpression.objects([sales.objectID])])
    #expect(try store.fresh { try $0.find(Department.self, "sales").employees.count } == 5)
    func error(_ values: [String: any Sendable]) -> String {
      do {
        try run(values)
        return "none"
      } catch {
        return "\(error)"
      }
    }
    #expect(error(["level": FetchExpression.key("name")]).contains("cannot take \"e0\""))
    #expect(error(["level": FetchExpression.key("rank")]).contains("rank"))
    #expect(error(["level": FetchExpression.key("reports.level")]).contains("many objects"))
    #expect(error(["level": FetchExpression.key("manager")]).contains("is an object"))
    #expect(error(["manager": FetchExpression.key("level")]).contains("is none"))
    #expect(error(["manager": FetchExpression.key("department")]).contains("cannot take"))
    // An object of another entity, though an employee may have its key.
    #expect(error(["manager": FetchExpression.objects([sales.objectID])]).contains("cannot take"))
    #expect(try store.problems() == [])
  }

  @Test("an expression that gives nil where a value is required is refused")
  func expressionsThatGiveNothing() throws {
    try store.save("a")
    let error = #expect(throws: CoreDataError.self) {
      try update("Entry", nil, ["location": FetchExpression.key("notes")])
    }
    #expect(error?.code == .validationMissingMandatoryProperty)
    #expect(try store.savedEntries() == ["a 3"])
  }

  @Test("a predicate on related objects sees them as they were before the batch", arguments: [1, 100])
  func relatedPredicates(step: Int) throws {
    let store = try TemporaryStore(TeamModel.make())
    let maker = store.context()
    var last: Employee?
    for number in 0..<6 {
      let employee = maker.make(Employee.self, "e\(number)")
      employee.level = 1
      employee.manager = last
      last = employee
    }
    try maker.save()
    var request = BatchUpdateRequest(
      entityName: "Employee",
      predicate: .comparison(key: "manager.level", .equal, 1), propertiesToUpdate: ["level": 2])
    request.step = step
    let context = store.context()
    #expect(try context.execute(request).count == 5)
    #expect(try context.execute(request).count == 1)
    #expect(try store.problems() == [])
  }

  @Test("a cancelled update writes nothing")
  func cancelledUpdatesLeaveNothing() throws {
    try store.save("a", "b", "c")
    var request = BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": 1])
    request.progress.cancel()
    request.step = 1
    #expect(throws: CancellationError.self) { try context.execute(request) }
    #expect(try store.savedEntries() == ["a 3", "b 3", "c 3"])
  }

  @Test("a batch that is cancelled while it looks for rows ends, though none of them matches")
  func cancelledSearches() throws {
    var number = 0
    try context.execute(
      BatchInsertRequest(entityName: "Entry") { (values: inout [String: Any]) in
        number += 1
        values["location"] = "a place of some length, number \(number)"
        return number > 5_000
      })
    let none = try FetchPredicate(format: "location CONTAINS %@", "nowhere")
    for isDeletion in [false, true] {
      // Cancelled by what looks at the first rows.
      let box = Mutex<BatchProgress?>(nil)
      let progress = BatchProgress(monitor: FetchMonitor { _ in box.withLock { $0?.cancel() } })
      box.withLock { $0 = progress }
      var (update, deletion) = (
        BatchUpdateRequest(entityName: "Entry", predicate: none, propertiesToUpdate: ["rating": 1]),
        BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Entry", predicate: none))
      )
      (update.progress, deletion.progress) = (progress, progress)
      #expect(throws: CancellationError.self) {
        if isDeletion { try context.execute(deletion) } else { try context.execute(update) }
      }
    }
    #expect(try store.context().count(for: FetchRequest<ManagedObject>(entityName: "Entry")) == 5_000)
  }

  @Test("a store that may only be read refuses batches")
  func readOnlyStores() throws {
    try store.save("a")
    let readOnly = try store.reopened { $0.isReadOnly = true }
    let error = #expect(throws: CoreDataError.self) {
      try readOnly.context().execute(
        BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": 1]))
    }
    #expect(error?.code == .persistentStoreSave)
  }
}
