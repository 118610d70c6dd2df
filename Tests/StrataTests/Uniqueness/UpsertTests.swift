import Foundation
import Strata
import Testing

/// Insert-or-update of many records by key (rule 205, better: without making duplicates first).
struct UpsertTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(CatalogueModel.make())
    context = store.context()
  }

  private func code(_ records: [[String: Any]], by keys: [String] = ["sku"], _ entity: String = "Product")
    -> CoreDataError.Code?
  {
    do {
      try context.upsert(entityName: entity, by: keys, records: records)
      return nil
    } catch {
      return (error as? CoreDataError)?.code
    }
  }

  @Test("records whose key is stored are edited, the others inserted; what is the same is left alone")
  func insertsAndUpdates() throws {
    try store.stock(["a": "one", "b": "two", "c": "three"])
    let result = try context.upsert(
      entityName: "Product", by: ["sku"],
      records: [
        ["sku": "b", "name": "TWO"], ["sku": "d", "name": "four", "price": 4], ["sku": "a", "name": "one"],
      ])
    #expect((result.insertedCount, result.updatedCount, result.unchangedCount) == (1, 1, 1))
    #expect(result.objects.map { $0["sku"] as? String } == ["b", "d", "a"])
    #expect(result.objectIDs.count == 3)
    #expect(context.insertedObjects.count == 1 && context.updatedObjects == [result.objects[0]])
    try context.save()
    #expect(try store.products() == ["a one 0", "b TWO 0", "c three 0", "d four 4"])
  }

  @Test("typed, for a custom class")
  func typed() throws {
    let surf = try TemporaryStore()
    let context = surf.context()
    let result = try context.upsert(
      Surfer.self, by: ["email"], records: [["email": "a@b", "name": "Ann", "level": 3]])
    #expect(result.objects[0].name == "Ann" && result.objects[0].isInserted)
    #expect(result.objects[0].level == 3)
    try context.save()
    #expect(try context.upsert(Surfer.self, by: ["email"], records: [["email": "a@b"]]).unchangedCount == 1)
  }

  @Test("an engine that cannot look many keys up at once is asked one by one")
  func otherEngine() throws {
    let surf = try TemporaryStore(behind: StoreGate())
    let context = surf.context()
    Surfer.make("a@b", name: "Ann", in: context)
    try context.save()
    let result = try surf.context().upsert(
      Surfer.self, by: ["email"],
      records: [["email": "c@d", "name": "Cat"], ["email": "a@b", "name": "Bea"]])
    #expect((result.insertedCount, result.updatedCount) == (1, 1))
  }

  @Test("what a record does not name stays; nil and NSNull are nil")
  func partialRecords() throws {
    let product = context.new("Product", ["sku": "a", "name": "one", "price": 3, "note": "n"])
    try context.save()
    let records: [[String: Any]] = [["sku": "a", "name": NSNull(), "note": Optional<String>.none as Any]]
    try context.upsert(entityName: "Product", by: ["sku"], records: records)
    #expect(product["name"] == nil && product["note"] == nil && product["price"] as? Int64 == 3)
  }

  @Test("unsaved objects take part: new ones, edited keys, deleted ones")
  func unsavedObjects() throws {
    try store.stock(["a": "one", "b": "two"])
    let (one, two) = (try context.product("a"), try context.product("b"))
    one["sku"] = "z"
    context.delete(two)
    let new = context.new("Product", ["sku": "n"])
    let result = try context.upsert(
      entityName: "Product", by: ["sku"],
      records: ["z", "n", "a", "b"].map { ["sku": $0, "name": "upserted"] })
    #expect(result.objects[0] === one && result.objects[1] === new)
    #expect(result.objects[2] !== one && result.objects[3] !== two && result.insertedCount == 2)
    try context.save()
    #expect(try store.products() == ["a", "b", "n", "z"].map { "\($0) upserted 0" })
  }

  @Test("works in contexts above contexts, over what those below have not saved")
  func nested() throws {
    try store.stock(["a": "stored", "b": "stored"])
    let main = ManagedObjectContext(.confinement, parent: context)
    let child = ManagedObjectContext(.confinement, parent: main)
    let grandchild = ManagedObjectContext(.confinement, parent: child)
    try context.product("a")["sku"] = "a2"
    main.new("Product", ["sku": "m", "name": "main"])
    main.processPendingChanges()
    grandchild.new("Product", ["sku": "g", "name": "grandchild"])
    try grandchild.save()
    context.processPendingChanges()
    let result = try child.upsert(
      entityName: "Product", by: ["sku"],
      records: ["a", "a2", "b", "m", "g"].map { ["sku": $0, "note": "seen"] })
    #expect(result.insertedCount == 1 && result.updatedCount == 4)
    #expect(result.objects.map { $0["name"] as? String } == [nil, "stored", "stored", "main", "grandchild"])
    try child.save()
    try main.save()
    try context.save()
    #expect(try store.products().count == 5)
    #expect(try store.fresh { try $0.all("Product").allSatisfy { $0["note"] as? String == "seen" } })
    #expect(try store.problems().isEmpty)
  }

  @Test("of records with the same key the last that names a property wins, and the object counts once")
  func duplicatesInTheInput() throws {
    try store.stock(["a": "one"])
    let result = try context.upsert(
      entityName: "Product", by: ["sku"],
      records: [
        ["sku": "a", "name": "first", "price": 1], ["sku": "b"], ["sku": "a", "name": "one"],
        ["sku": "b", "price": 2],
      ])
    #expect((result.insertedCount, result.updatedCount) == (1, 1))
    #expect(result.objects[0] === result.objects[2] && result.objects[1] === result.objects[3])
    try context.save()
    #expect(try store.products() == ["a one 1", "b nil 2"])
  }

  @Test("keys of several attributes, in any order; keys longer than an index keeps")
  func otherKeys() throws {
    let long = String(repeating: "x", count: 2_000)
    context.new("Product", ["maker": "ACME", "model": 1, "name": "old"])
    context.new("Product", ["sku": long + "1", "name": "long 1"])
    context.new("Product", ["sku": long + "2", "name": "long 2"])
    try context.save()
    let result = try context.upsert(
      entityName: "Product", by: ["model", "maker"],
      records: [["maker": "ACME", "model": 1, "name": "new"], ["maker": "ACME", "model": 2]])
    #expect((result.insertedCount, result.updatedCount) == (1, 1))
    let other = store.context()
    let found = try other.upsert(
      entityName: "Product", by: ["sku"], records: ["2", "3", "1"].map { ["sku": long + $0] })
    #expect(found.objects.map { $0["name"] as? String } == ["long 2", nil, "long 1"])
  }

  @Test("an inherited constraint: the record of a subentity is found, that of another entity refused")
  func hierarchies() throws {
    context.new("LongBolt", ["serial": 1])
    context.new("Nut", ["serial": 2])
    try context.save()
    let result = try context.upsert(
      entityName: "Bolt", by: ["serial"], records: [["serial": 1, "length": 5], ["serial": 3]])
    #expect(result.objects.map(\.entity.name) == ["LongBolt", "Bolt"])
    #expect(code([["serial": 4], ["serial": 2]], by: ["serial"], "Bolt") == .managedObjectConstraintMerge)
    #expect(context.insertedObjects.count == 1)
    #expect(code([["serial": 1]], by: ["serial"], "Part") == .coreData)
  }

  @Test("relationships take objects or IDs; members are replaced, or merged where that is asked for")
  func relationships() throws {
    let tags = ["x", "y", "z"].map { context.new("Tag", ["name": $0]) }
    let vendor = context.new("Vendor", ["code": "v"])
    let product = context.new("Product", ["sku": "a"])
    product["tags"] = Set([tags[0]])
    product["parts"] = [context.new("Bolt", ["serial": 1])]
    try context.save()
    let nut = context.new("Nut", ["serial": 2])
    let record: [String: Any] = [
      "sku": "a", "tags": [tags[1].objectID, tags[2].objectID], "vendor": vendor.objectID, "parts": [nut],
    ]
    var result = try context.upsert(
      entityName: "Product", by: ["sku"], records: [record], relationships: ["tags": .merge])
    #expect(result.updatedCount == 1 && product.end("vendor") === vendor)
    #expect(product.names("tags") == ["x", "y", "z"] && product["parts"] as? [ManagedObject] == [nut])
    try context.save()
    result = try context.upsert(
      entityName: "Product", by: ["sku"], records: [record], relationships: ["tags": .merge])
    #expect(result.unchangedCount == 1 && !context.hasChanges)
    result = try context.upsert(
      entityName: "Product", by: ["sku"],
      records: [
        ["sku": "a", "tags": Set([tags[0]]), "vendor": NSNull()],
        ["sku": "b", "vendor": vendor, "tags": tags],
      ])
    #expect(
      product.names("tags") == ["x"] && product.end("vendor") == nil && vendor.names("products") == ["b"])
    // Of a subclass of NSSet a cast would make an empty set.
    try context.upsert(
      entityName: "Product", by: ["sku"], records: [["sku": "b", "tags": NSCountedSet(array: [tags[1]])]])
    #expect(try context.product("b").names("tags") == ["y"])
    // Members to be merged are added up.
    try context.upsert(
      entityName: "Product", by: ["sku"],
      records: [["sku": "c", "tags": [tags[0]]], ["sku": "c", "tags": [tags[1]]]],
      relationships: ["tags": .merge])
    #expect(try context.product("c").names("tags") == ["x", "y"])
    try context.save()
    #expect(try store.problems().isEmpty)
  }

  @Test("what is wrong with the input is found before anything is changed")
  func wrongInput() throws {
    try store.stock(["a": "one"])
    let foreign = store.context().new("Vendor", ["code": "v"])
    let other = try TemporaryStore(CatalogueModel.make())
    let strange = other.context().new("Vendor", ["code": "v"]).objectID
    let good: [String: Any] = ["sku": "a", "name": "changed"]
    #expect(code([good], by: ["name"]) == .coreData)
    #expect(code([good], by: []) == .coreData)
    #expect(code([good], by: ["sku", "name"]) == .coreData)
    #expect(code([good], by: ["nonsense"]) == .coreData)
    #expect(code([good, ["name": "no key"]]) == .validationMissingMandatoryProperty)
    #expect(code([good, ["sku": NSNull()]]) == .validationMissingMandatoryProperty)
    #expect(code([good, ["sku": "b", "nonsense": 1]]) == .coreData)
    #expect(code([good, ["sku": "b", "price": "dear"]]) == .managedObjectValidation)
    #expect(code([good, ["sku": "b", "vendor": "v"]]) == .managedObjectValidation)
    #expect(code([good, ["sku": "b", "vendor": foreign]]) == .managedObjectValidation)
    #expect(code([good, ["sku": "b", "vendor": strange]]) == .managedObjectValidation)
    #expect(code([good, ["sku": "b", "tags": foreign]]) == .managedObjectValidation)
    #expect(code([good, ["sku": "b", "vendor": try context.product("a")]]) == .managedObjectValidation)
    #expect(throws: FetchError.self) {
      try context.upsert(entityName: "Nonsense", by: ["sku"], records: [good])
    }
    #expect(throws: CoreDataError.self) {
      try context.upsert(
        entityName: "Product", by: ["sku"], records: [good], relationships: ["vendor": .merge])
    }
    #expect(!context.hasChanges)
    #expect(code([]) == nil)
  }

  @Test("what is wrong is told with the type of the value, and with the record's number, from 1")
  func messages() throws {
    let vendor = context.new("Vendor", ["code": "v"])
    func text(_ records: [[String: Any]]) -> String {
      let error = #expect(throws: CoreDataError.self) {
        try context.upsert(entityName: "Product", by: ["sku"], records: records)
      }
      return error?.errorDescription ?? ""
    }
    let good: [String: Any] = ["sku": "a"]
    let price = text([good, ["sku": "b", "price": "5"]])
    #expect(price.hasPrefix("Record 2: Product.price is of type "), "\(price)")
    #expect(price.contains(" and cannot take String 5."), "\(price)")
    #expect(
      text([["sku": "b", "vendor": "v"]]).hasPrefix(
        "Record 1: Product.vendor is a relationship and cannot take String v."))
    #expect(text([good, good, ["sku": "c", "nonsense": 1]]).hasPrefix("Record 3: "))
    #expect(text([["name": "no key"]]).hasPrefix("Record 1 has no value for Product.sku"))
    let other = text([["sku": "b", "tags": [vendor]]])
    #expect(other.contains("and cannot take an object of Vendor."), "\(other)")
  }

  @Test("a row that another context has changed meanwhile is compared as it is now")
  func newestRows() throws {
    try store.stock(["a": "one"])
    let product = try context.product("a")
    #expect(product["name"] as? String == "one")
    let other = store.context()
    try other.product("a")["name"] = "two"
    try other.save()
    let result = try context.upsert(
      entityName: "Product", by: ["sku"], records: [["sku": "a", "name": "one"]])
    #expect(result.updatedCount == 1 && result.objects[0] === product)
    try context.save()
    #expect(try store.products() == ["a one 0"])
  }

  @Test("an upsert can be undone, and rolled back")
  func undo() throws {
    try store.stock(["a": "one"])
    context.undoManager = UndoManager()
    try context.upsert(
      entityName: "Product", by: ["sku"], records: [["sku": "a", "name": "changed"], ["sku": "b"]])
    context.undo()
    #expect(try context.all("Product").map { $0["name"] as? String } == ["one"])
    context.redo()
    #expect(try context.all("Product").count == 2)
    context.rollback()
    #expect(try context.all("Product").map { $0["name"] as? String } == ["one"])
  }

  @Test("many records are one pass: one question to the store, no fault fired, one save attempt")
  func work() throws {
    let count = 5_000
    let writer = store.context()
    for number in 0..<count / 2 { writer.new("Product", ["sku": "\(number * 2)", "name": "old"]) }
    try writer.save()
    let result = try context.upsert(
      entityName: "Product", by: ["sku"],
      records: (0..<count).lazy.map { ["sku": "\($0)", "name": $0 % 4 == 0 ? "old" : "new"] })
    #expect(result.insertedCount == count / 2 && result.unchangedCount == count / 4)
    #expect(result.updatedCount == count / 4)
    #expect(context.statistics.fetches == 1 && context.statistics.faultsFired == 0)
    try context.save()
    #expect(context.statistics.saveAttempts == 1)
    #expect(try store.products().count == count)
  }
}
