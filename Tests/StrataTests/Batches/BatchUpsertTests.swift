import Foundation
@_spi(Testing) import Strata
import Testing

/// Batch inserts of rows that exist already: the context's merge policy decides (rules 205, 272, 273).
struct BatchUpsertTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(CatalogueModel.make())
    context = store.context()
  }

  enum Form: CaseIterable { case dictionaries, dictionaryHandler, objectHandler, rowHandler }

  /// A batch insert of these records, by one of the four ways.
  private func request(
    _ entity: String, _ records: [[String: Any]], _ form: Form = .dictionaries, step: Int = 65_536
  ) -> BatchInsertRequest {
    var request: BatchInsertRequest
    var rest = records[...]
    switch form {
    case .dictionaries: request = BatchInsertRequest(entityName: entity, objects: records)
    case .dictionaryHandler:
      request = BatchInsertRequest(entityName: entity) { (values: inout [String: Any]) in
        guard let next = rest.popFirst() else { return true }
        values = next
        return false
      }
    case .objectHandler:
      request = BatchInsertRequest(entityName: entity) { (object: ManagedObject) in
        guard let next = rest.popFirst() else { return true }
        for (key, value) in next {
          let related = (value as? ManagedObjectID).flatMap { object.managedObjectContext?.object(with: $0) }
          object[key] = value is NSNull ? nil : related ?? value
        }
        return false
      }
    case .rowHandler:
      let columns = Set(records.flatMap(\.keys)).sorted()
      request = BatchInsertRequest(entityName: entity, columns: columns) { row in
        guard let next = rest.popFirst() else { return true }
        for (column, name) in columns.enumerated() {
          if let value = next[name] { row.setValue(value, forColumn: column) }
        }
        return false
      }
    }
    request.step = step
    request.resultType = .objectIDs
    return request
  }

  private func insert(
    _ records: [[String: Any]], under policy: MergePolicy, _ form: Form = .dictionaries, step: Int = 65_536
  ) throws -> BatchResult {
    context.mergePolicy = policy
    return try context.execute(request("Product", records, form, step: step))
  }

  private func refusal(
    _ records: [[String: Any]], under policy: MergePolicy, _ entity: String = "Product", step: Int = 65_536
  ) -> CoreDataError? {
    context.mergePolicy = policy
    let error = #expect(throws: CoreDataError.self) {
      try context.execute(request(entity, records, step: step))
    }
    #expect(error?.code == .managedObjectConstraintMerge)
    return error
  }

  /// Two products with every value.
  private func stock() throws -> [ManagedObjectID] {
    let writer = store.context()
    let found = [("a", 1), ("b", 2)].map { sku, number in
      writer.new(
        "Product",
        [
          "sku": sku, "name": "stored", "price": Int64(10), "note": "kept", "maker": "ACME",
          "model": Int64(number),
        ])
    }
    try writer.save()
    return found.map(\.objectID)
  }

  private func values(_ sku: String) throws -> [String] {
    try store.fresh { context in
      let product = try context.product(sku)
      return ["name", "price", "note", "maker", "model"].map { "\(product[$0] ?? "nil")" }
    }
  }

  // MARK: The policies

  @Test(
    "rule 205: a row may give a record of the same batch a part of the values that a later row has",
    arguments: Form.allCases)
  func partOfAConstraint(form: Form) throws {
    let result = try insert(
      [
        ["sku": "a", "maker": "ACME", "model": 1], ["sku": "a"], ["sku": "a", "model": 2],
        ["maker": "ACME", "model": 2, "name": "last"], ["maker": "ACME", "model": 1, "name": "other"],
      ], under: .mergeByPropertyObjectTrump, form)
    #expect(result.count == 2)
    #expect(try values("a") == ["last", "0", "nil", "ACME", "2"])
  }

  @Test(
    "rules 205, 272: under object trump a record that is there gets the values that are given, and only these",
    arguments: Form.allCases)
  func objectTrump(form: Form) throws {
    let ids = try stock()
    let result = try insert(
      [
        ["sku": "new", "name": "mine"], ["sku": "b", "name": "mine", "price": 0],
        ["sku": "a", "note": NSNull()],
      ], under: .mergeByPropertyObjectTrump, form)
    // A default that is given is a value like any other.
    #expect(try values("b") == ["mine", "0", "kept", "ACME", "2"])
    #expect(try values("a") == ["stored", "10", "nil", "ACME", "1"])
    #expect(try values("new") == ["mine", "0", "nil", "nil", "nil"])
    #expect(result.count == 3 && result.objectIDs?.count == 3)
    #expect(result.objectIDs?.dropFirst() == [ids[1], ids[0]])
    #expect(result.updatedObjectIDs == [ids[1], ids[0]])
    #expect(try store.problems() == [])
  }

  @Test("rule 205: store trump and rollback keep what is stored", arguments: Form.allCases)
  func storeTrump(form: Form) throws {
    _ = try stock()
    for policy in [MergePolicy.mergeByPropertyStoreTrump, .rollback] {
      let result = try insert(
        [["sku": "b", "name": "mine"], ["sku": "new \(policy.mergeType)", "name": "mine"]], under: policy,
        form)
      #expect(try values("b") == ["stored", "10", "kept", "ACME", "2"])
      #expect(try values("new \(policy.mergeType)")[0] == "mine")
      #expect(result.count == 1 && result.objectIDs?.count == 1 && result.updatedObjectIDs == [])
    }
    #expect(try store.products().count == 4)
    #expect(try store.problems() == [])
  }

  @Test("rule 205: overwrite gives a record all values, defaults and nil as well", arguments: Form.allCases)
  func overwrite(form: Form) throws {
    let ids = try stock()
    let result = try insert([["sku": "b", "name": "mine"]], under: .overwrite, form)
    #expect(try values("b") == ["mine", "0", "nil", "nil", "nil"])
    #expect(result.objectIDs == [ids[1]])
    #expect(try store.problems() == [])
  }

  @Test("rules 204, 273: the error policy refuses, and names the row, its values and the stored record")
  func errorPolicy() throws {
    let ids = try stock()
    let error = refusal([["sku": "x"], ["sku": "b", "name": "mine"]], under: .error)
    let text = error?.errorDescription ?? ""
    #expect(text.contains("Record 2") && text.contains("sku") && text.contains("\"b\""))
    #expect(text.contains("\(ids[1])"))
    let conflicts = error?.userInfo["conflictList"] as? [ConstraintConflict]
    #expect(conflicts?.count == 1 && conflicts?.first?.constraint == ["sku"])
    #expect(conflicts?.first?.constraintValues["sku"] as? String == "b")
    #expect(conflicts?.first?.databaseObject?.objectID == ids[1])
    #expect(conflicts?.first?.databaseSnapshot?["name"] as? String == "stored")
    #expect("\(try #require(conflicts?.first))".contains("Record 2"))
    #expect(try store.products().count == 2)
    // The next one is not poisoned.
    #expect(try insert([["sku": "x"]], under: .error).count == 1)
  }

  @Test("rule 204: of a batch with the same values twice both rows are named", arguments: [65_536, 2])
  func errorWithinBatch(step: Int) throws {
    let error = refusal([["sku": "x"], ["sku": "y"], ["sku": "z"], ["sku": "x"]], under: .error, step: step)
    let text = error?.errorDescription ?? ""
    #expect(text.contains("Record 4") && text.contains("record 1") && text.contains("\"x\""))
    #expect(try store.products() == [])
  }

  // MARK: Within the batch

  @Test(
    "rule 205: rows of one batch with the same values become one record: later values win, or the first row",
    arguments: settlingPolicies, [65_536, 2])
  func withinBatch(type: MergePolicyType, step: Int) throws {
    _ = try stock()
    let result = try insert(
      [
        ["sku": "x", "name": "one", "price": 1], ["sku": "b", "price": 5], ["sku": "x", "price": 2],
        ["sku": "y"], ["sku": "b", "name": "two"], ["sku": "x", "note": "last"],
      ], under: MergePolicy(merge: type), step: step)
    let expected: (x: [String], b: [String], count: Int) =
      switch type {
      case .mergeByPropertyObjectTrump:
        (["one", "2", "last", "nil", "nil"], ["two", "5", "kept", "ACME", "2"], 3)
      case .overwrite: (["nil", "0", "last", "nil", "nil"], ["two", "0", "nil", "nil", "nil"], 3)
      default: (["one", "1", "nil", "nil", "nil"], ["stored", "10", "kept", "ACME", "2"], 2)
      }
    #expect(try values("x") == expected.x)
    #expect(try values("b") == expected.b)
    #expect(result.count == expected.count && result.objectIDs?.count == expected.count)
    #expect(try store.products().count == 4)
    let named = try result.objectIDs?.map { try store.context().existingObject(with: $0)["sku"] as? String }
    #expect(named == (expected.count == 3 ? ["x", "b", "y"] : ["x", "y"]))
    #expect(try store.problems() == [])
  }

  @Test("a thousand rows with the same values are one record")
  func manyTwins() throws {
    let records = (0..<1_000).map { ["sku": "x\($0 % 3)", "price": $0] as [String: Any] }
    #expect(try insert(records, under: .mergeByPropertyObjectTrump, step: 300).count == 3)
    #expect(try store.products() == ["x0 nil 999", "x1 nil 997", "x2 nil 998"])
    #expect(try store.problems() == [])
  }

  // MARK: Constraints

  @Test("a constraint of several attributes finds the record too; nil is never the same")
  func compound() throws {
    let ids = try stock()
    let result = try insert(
      [
        ["maker": "ACME", "model": 2, "name": "mine"], ["maker": "ACME", "name": "nil"],
        ["maker": "ACME", "name": "nil"],
      ], under: .mergeByPropertyObjectTrump)
    #expect(try values("b") == ["mine", "10", "kept", "ACME", "2"])
    #expect(result.updatedObjectIDs == [ids[1]] && result.count == 3)
    #expect(try store.problems() == [])
  }

  @Test("a row with the values of two records is refused, with both named; store trump leaves it out")
  func severalRecords() throws {
    let ids = try stock()
    for policy in [MergePolicy.mergeByPropertyObjectTrump, .overwrite, .error] {
      let text =
        refusal([["sku": "a", "maker": "ACME", "model": 2]], under: policy)?.errorDescription ?? ""
      #expect(text.contains("Record 1") && text.contains("\(ids[0])") && text.contains("\(ids[1])"))
    }
    let result = try insert(
      [["sku": "a", "maker": "ACME", "model": 2]], under: .mergeByPropertyStoreTrump)
    #expect(result.count == 0)
    #expect(try values("a")[4] == "1")
  }

  @Test("values that are given only in part of a constraint may meet a third record: that is refused as well")
  func partOfAConstraint() throws {
    _ = try stock()
    let text =
      refusal([["sku": "a", "model": 2]], under: .mergeByPropertyObjectTrump)?.errorDescription ?? ""
    #expect(text.contains("maker") && text.contains("model"))
    #expect(try values("a")[4] == "1")
    _ = try insert(
      [["sku": "a", "model": 3], ["sku": "b", "model": 1]], under: .mergeByPropertyObjectTrump)
    #expect(try values("a")[4] == "3" && values("b")[4] == "1")
    #expect(try store.problems() == [])
  }

  @Test("an inherited constraint: a record of a subentity takes the values, one of another entity cannot")
  func inherited() throws {
    let writer = store.context()
    let bolt = writer.new("LongBolt", ["serial": 1, "length": 5])
    writer.new("Nut", ["serial": 2])
    try writer.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let result = try context.execute(request("Bolt", [["serial": 1, "note": "mine"]]))
    #expect(result.updatedObjectIDs == [bolt.objectID])
    let found = try store.context().existingObject(with: bolt.objectID)
    #expect(found["note"] as? String == "mine" && found["length"] as? Int64 == 5)
    let text =
      refusal([["serial": 2]], under: .mergeByPropertyObjectTrump, "Bolt")?.errorDescription ?? ""
    #expect(text.contains("Record 1") && text.contains("Nut"))
    context.mergePolicy = .mergeByPropertyStoreTrump
    #expect(try context.execute(request("Bolt", [["serial": 2], ["serial": 3]])).count == 1)
    #expect(try store.problems() == [])
  }

  @Test("values that are too long for an index are compared as a whole")
  func longValues() throws {
    let long = String(repeating: "x", count: 3_000)
    func records(_ range: Range<Int>, _ name: String) -> [[String: Any]] {
      range.map { ["sku": long + "\($0)", "name": name] }
    }
    _ = try insert(records(0..<20, "old"), under: .mergeByPropertyObjectTrump)
    let result = try insert(
      records(10..<30, "new") + records(25..<28, "newest"), under: .mergeByPropertyObjectTrump, step: 7)
    #expect(result.count == 20 && result.updatedObjectIDs?.count == 10)
    let names = try store.products().map { $0.split(separator: " ")[1] }
    #expect(names.filter { $0 == "old" }.count == 10)
    #expect(names.filter { $0 == "new" }.count == 17 && names.filter { $0 == "newest" }.count == 3)
    #expect(try store.problems() == [])
  }

  // MARK: Relationships

  @Test("to-one relationships that are given follow, with both ends; members stay", arguments: Form.allCases)
  func relationships(form: Form) throws {
    let writer = store.context()
    let product = writer.new("Product", ["sku": "a"])
    let (old, new) = (writer.new("Vendor", ["code": "old"]), writer.new("Vendor", ["code": "new"]))
    let (box, other) = (writer.new("Box", ["name": "box"]), writer.new("Box", ["name": "other"]))
    let neighbour = writer.new("Product", ["sku": "n", "box": other])
    product["vendor"] = old
    product["box"] = box
    product["tags"] = Set([writer.new("Tag", ["name": "tag"])])
    try writer.save()
    _ = try insert(
      [["sku": "a", "vendor": new.objectID, "box": other.objectID]], under: .mergeByPropertyObjectTrump,
      form)
    try store.fresh { context in
      let found = try context.product("a")
      #expect(found.end("vendor")?["code"] as? String == "new")
      #expect(found.end("box")?["name"] as? String == "other")
      #expect(found.names("tags") == ["tag"])
      #expect(try context.product("n").end("box") == nil)
      #expect(try context.all("Vendor", Attribute("code") == "old").first?.names("products") == [])
    }
    #expect(try store.problems() == [])
    _ = try insert([["sku": "a", "name": "x"]], under: .overwrite, form)
    try store.fresh { context in
      let found = try context.product("a")
      #expect(found.end("vendor") == nil && found.end("box") == nil && found.names("tags") == ["tag"])
    }
    #expect(try store.problems() == [])
    withExtendedLifetime(neighbour) {}
  }

  @Test(
    "rule 205: references to a row that has become another record lead to that", arguments: [65_536, 1])
  func references(step: Int) throws {
    let store = try TemporaryStore(TeamModel.make { $0["Employee"]?.uniquenessConstraints = [["name"]] })
    let writer = store.context()
    let boss = writer.make(Employee.self, "boss")
    try writer.save()
    let context = store.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    var first: ManagedObjectID?
    var number = 0
    var request = BatchInsertRequest(entityName: "Employee") { (object: ManagedObject) in
      number += 1
      guard number < 4, let employee = object as? Employee else { return true }
      employee.name = ["boss", "ann", "bob"][number - 1]
      if let first {
        employee.manager = object.managedObjectContext?.object(with: first) as? Employee
      } else {
        first = object.objectID
      }
      return false
    }
    request.step = step
    #expect(try context.execute(request).count == 3)
    try store.fresh { context in
      let ids = try ["ann", "bob"].map { try context.find(Employee.self, $0).manager?.objectID }
      #expect(ids == [boss.objectID, boss.objectID])
      #expect(try context.find(Employee.self, "boss").reports.names == ["ann", "bob"])
    }
    #expect(try store.problems() == [])
  }

  // MARK: What follows

  @Test("derived attributes follow, and rows that change nothing are not written")
  func derived() throws {
    let model = DerivedModel.make { $0["Album"]?.uniquenessConstraints = [["title"]] }
    let store = try TemporaryStore(model)
    let context = store.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    func insert(_ values: [String: Any]) throws -> BatchResult {
      var request = BatchInsertRequest(entityName: "Album", objects: [values])
      request.resultType = .objectIDs
      return try context.execute(request)
    }
    let first = try insert(["title": "Abbey"])
    let again = try insert(["title": "Abbey"])
    #expect(first.objectIDs == again.objectIDs && again.updatedObjectIDs == first.objectIDs)
    let album = try store.context().existingObject(with: try #require(first.objectIDs?.first))
    #expect(album["upper"] as? String == "ABBEY")
    #expect(try store.problems() == [])
  }

  @Test("rule 275: history separates new records from changed ones, and says what has changed")
  func history() throws {
    let store = try TemporaryStore(CatalogueModel.make()) { $0.recordsHistory = true }
    try store.stock(["a": "stored", "b": "stored"])
    let token = try #require(try store.coordinator.currentHistoryToken())
    let context = store.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.execute(
      request(
        "Product",
        [
          ["sku": "a", "name": "mine", "price": 0], ["sku": "b", "name": "stored"], ["sku": "c"],
          ["sku": "d"], ["sku": "d", "name": "twice"],
        ]))
    let transactions = try store.coordinator.history(.fetchHistory(after: token)).transactions
    #expect(transactions.count == 1)
    let changes = transactions.first?.changes ?? []
    #expect(changes.filter { $0.changeType == .insert }.count == 2)
    let updates = changes.filter { $0.changeType == .update && ($0.updatedProperties?.count ?? 0) > 0 }
    #expect(Set(updates.map { $0.updatedProperties?.map(\.name) ?? [] }) == [["name"]])
    #expect(!changes.contains { $0.changeType == .delete })
    // What changes nothing makes no transaction.
    try context.execute(request("Product", [["sku": "a", "name": "mine"]]))
    #expect(try store.coordinator.history(.fetchHistory(after: token)).transactions.count == 1)
  }

  @Test("rule 274: contexts that follow the store report new records as inserted, others as refreshed")
  func liveContexts() throws {
    let ids = try stock()
    let reader = store.context(.privateQueue)
    reader.automaticallyMergesChangesFromParent = true
    let held = try context.product("a")
    let other = try reader.performAndWait { try reader.product("b") }
    let recorder = NotificationRecorder(context)
    _ = try insert(
      [
        ["sku": "a", "name": "mine"], ["sku": "b", "name": "mine"], ["sku": "c"], ["sku": "c", "price": 3],
      ],
      under: .mergeByPropertyObjectTrump)
    #expect(held["name"] as? String == "mine")
    let told = recorder.all(.didMerge)
    #expect(told.reduce(into: Set()) { $0.formUnion($1.insertedIDs) }.count == 1)
    #expect(told.reduce(into: Set()) { $0.formUnion($1.updatedIDs) } == Set(ids))
    reader.performAndWait { #expect(other["name"] as? String == "mine") }
  }

  @Test("a custom policy counts by its type: there are no objects to resolve")
  func ownPolicy() throws {
    _ = try stock()
    let policy = CountingPolicy(merge: .mergeByPropertyObjectTrump)
    #expect(try insert([["sku": "a", "name": "mine"]], under: policy).count == 1)
    #expect(policy.calls == 0)
    #expect(try values("a")[0] == "mine")
  }

  @Test("rule 205: executed in a child, the child's own policy decides, whatever its parent's is")
  func inAChild() throws {
    _ = try stock()
    let child = ManagedObjectContext(.confinement)
    child.parent = context
    let records: [[String: Any]] = [["sku": "b", "name": "mine"]]
    context.mergePolicy = .mergeByPropertyObjectTrump
    child.mergePolicy = .error
    let error = #expect(throws: CoreDataError.self) { try child.execute(request("Product", records)) }
    #expect(error?.code == .managedObjectConstraintMerge)
    child.mergePolicy = .mergeByPropertyStoreTrump
    try child.execute(request("Product", records))
    #expect(try values("b") == ["stored", "10", "kept", "ACME", "2"])
    (context.mergePolicy, child.mergePolicy) = (.error, .mergeByPropertyObjectTrump)
    try child.execute(request("Product", records))
    #expect(try values("b") == ["mine", "10", "kept", "ACME", "2"])
    #expect(try store.problems() == [])
  }

  @Test("the progress counts every row, whatever happens to it", arguments: settlingPolicies)
  func progress(type: MergePolicyType) throws {
    _ = try stock()
    context.mergePolicy = MergePolicy(merge: type)
    let batch = request("Product", [["sku": "a"], ["sku": "x"], ["sku": "x"], ["sku": "y"]], step: 3)
    try context.execute(batch)
    #expect(batch.progress.completedCount == 4 && batch.progress.totalCount == 4)
  }

  /// Sets a value at birth.
  final class Stamped: ManagedObject {
    override class var declaredSlots: [String]? { [] }
    override func awakeFromInsert() {
      super.awakeFromInsert()
      self["origin"] = "born"
    }
  }

  @Test("what awakeFromInsert() sets is no value that the handler has given; a new record has it")
  func awaking() throws {
    let stamped = EntityDescription(
      "Stamped", managedObjectClass: Stamped.self,
      properties: [AttributeDescription("key", .string), AttributeDescription("origin", .string)],
      uniquenessConstraints: [["key"]])
    let store = try TemporaryStore(ManagedObjectModel(entities: [stamped]))
    let context = store.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let first = context.new("Stamped", ["key": "a", "origin": "stored"])
    try context.save()
    var keys = ["a", "b"][...]
    var request = BatchInsertRequest(entityName: "Stamped") { (object: ManagedObject) in
      guard let key = keys.popFirst() else { return true }
      object["key"] = key
      return false
    }
    request.resultType = .objectIDs
    let ids = try #require(try context.execute(request).objectIDs)
    let origins = try ids.map { try store.context().existingObject(with: $0)["origin"] as? String }
    #expect(ids.first == first.objectID && origins == ["stored", "born"])
    #expect(try store.problems() == [])
  }
}
