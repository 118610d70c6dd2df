import Foundation
import Strata
import Testing

/// Rows of values (rules 88, 95–100).
struct DictionaryTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(SalesModel.make())
    let writer = store.context()
    let lamp = writer.addProduct("Lamp", group: "light")
    let desk = writer.addProduct("Desk", group: "wood")
    let rows: [(String?, Int64?, Double?, Product?)] = [
      ("North", 3, 1.5, lamp), ("North", 5, 2.5, desk), ("South", 1, nil, lamp), ("South", nil, 4, nil),
      (nil, 7, 0.5, desk), ("West", 2, 2, lamp),
    ]
    for (region, amount, price, product) in rows { writer.addSale(region, amount, price: price, of: product) }
    try writer.save()
    context = store.context()
  }

  private func rows(_ request: FetchRequest<FetchedDictionary>) throws -> [String] {
    try context.fetch(request).map { row in
      row.keys.map { row[$0].map { "\($0)" } ?? row.objectID($0).map { _ in "object" } ?? "-" }
        .joined(separator: " ")
    }
  }

  @Test("rule 95: without properties a row has every attribute and no relationship")
  func everyAttribute() throws {
    let row = try #require(try context.fetch(.sales(sorted: [FetchSort("amount", ascending: false)])).first)
    #expect(row.keys == ["region", "amount", "price", "tax", "day", "isPaid"])
    #expect(row["amount"] == 7 && row["region"] == .null && row.integer("amount") == 7)
    #expect(row.double("price") == 0.5 && row.string("region") == nil && row["nothing"] == nil)
    #expect(row.dictionary.keys.sorted() == ["amount", "price"])
    #expect(row.dictionary["amount"] as? Int64 == 7)
    #expect(context.statistics.objectsMade == 0)
  }

  @Test("columns by name, through to-one relationships and computed, in the order asked for")
  func columns() throws {
    let request = FetchRequest.sales(
      [
        "product.name", "amount",
        .expression("double", .function(.multiply, [.key("amount"), .constant(2)])),
        .expression("fixed", .constant("x")),
      ], sorted: [FetchSort("amount")])
    #expect(
      try rows(request) == [
        "nil nil nil \"x\"", "\"Lamp\" 1 2 \"x\"", "\"Lamp\" 2 4 \"x\"", "\"Lamp\" 3 6 \"x\"",
        "\"Desk\" 5 10 \"x\"", "\"Desk\" 7 14 \"x\"",
      ])
  }

  @Test("rule 96: a to-one gives the object ID, a to-many is an error in both forms")
  func relationshipsAsColumns() throws {
    let found = try context.fetch(
      .sales(["product", "objectID", .expression("self", .evaluatedObject)], sorted: [FetchSort("amount")]))
    let lamp = try context.fetch(FetchRequest<Product>(predicate: Attribute("name") == "Lamp"))[0].objectID
    #expect(found[1].objectID("product") == lamp && found[0].objectID("product") == nil)
    #expect(found[1].objectID("self") == found[1].objectID("objectID"))
    #expect(found[1].objectID("self")?.entityName == "Sale")
    #expect(found[1].dictionary["product"] as? ManagedObjectID == lamp)
    var request = FetchRequest<FetchedDictionary>(entityName: "Product")
    for column in ["sales", .expression("s", .key("sales"))] as [FetchColumn] {
      request.propertiesToFetch = [column]
      let error = #expect(throws: FetchError.self) { try context.fetch(request) }
      #expect(error?.description.contains("to-many") == true)
    }
    request.propertiesToFetch = ["name", .expression("n", .aggregate(.count, .key("sales")))]
    request.sortDescriptors = [FetchSort("name")]
    #expect(try rows(request) == ["\"Desk\" 2", "\"Lamp\" 3"])
  }

  @Test("rule 97: aggregates without groups make one row, also of nothing")
  func aggregatesOfAll() throws {
    var request = FetchRequest.sales([
      .count(as: "n"), .sum("amount"), .expression("mean", .aggregate(.average, .key("price"))),
      .expression("least", .aggregate(.minimum, .key("amount"))),
      .expression("last", .aggregate(.maximum, .key("region"))),
      .expression("known", .aggregate(.count, .key("amount"))),
    ])
    #expect(try rows(request) == ["6 18 2.1 1 \"West\" 5"])
    #expect(try context.count(for: request) == 1)
    request.predicate = Attribute("amount") > 100
    #expect(try rows(request) == ["0 0 nil nil nil 0"])
  }

  @Test("rule 97: a sort key says nothing about one row of aggregates, and is ignored; with groups it counts")
  func sortedAggregatesOfAll() throws {
    var request = FetchRequest.sales(
      [.count(as: "n"), .sum("amount")], sorted: [FetchSort("region"), FetchSort("amount", ascending: false)])
    #expect(try rows(request) == ["6 18"])
    #expect(try context.count(for: request) == 1)
    request.sortDescriptors = [FetchSort("n")]
    #expect(try rows(request) == ["6 18"])
    request.havingPredicate = Attribute("n") > 100
    #expect(try rows(request) == [])
    request.havingPredicate = nil
    request.sortDescriptors = [FetchSort("product.name")]
    request.returnsDistinctResults = true
    request.fetchLimit = 3
    #expect(try rows(request) == ["6 18"])
    request.sortDescriptors = [FetchSort("nothing")]
    #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(throws: FetchError.self) {
      try context.fetch(.sales(["region", .count(as: "n")], by: ["region"], sorted: [FetchSort("amount")]))
    }
  }

  @Test("rule 97: with groups there is one row for each, nil being a group")
  func groups() throws {
    let request = FetchRequest.sales(
      ["region", .count(as: "n"), .sum("amount")], by: ["region"], sorted: [FetchSort("region")])
    #expect(
      try rows(request) == ["nil 1 7", "\"North\" 2 8", "\"South\" 2 1", "\"West\" 1 2"])
    #expect(try context.count(for: request) == 4)
    #expect(context.statistics.objectsMade == 0)
  }

  @Test("grouping by objects, by paths and by several keys; sorting by an aggregate; windows")
  func manyWaysToGroup() throws {
    #expect(
      try rows(
        .sales(["product", .count(as: "n")], by: ["product"], sorted: [FetchSort("n", ascending: false)]))
        == ["object 3", "object 2", "nil 1"])
    #expect(
      try rows(
        .sales(
          ["product.group", .sum("amount")], by: ["product.group"], sorted: [FetchSort("product.group")]))
        == ["nil 0", "\"light\" 6", "\"wood\" 12"])
    var request = FetchRequest.sales(
      ["region", "product.name", .count(as: "n")], by: ["region", "product.name"],
      sorted: [FetchSort("region", ascending: false), FetchSort("product.name")])
    #expect(
      try rows(request) == [
        "\"West\" \"Lamp\" 1", "\"South\" nil 1", "\"South\" \"Lamp\" 1", "\"North\" \"Desk\" 1",
        "\"North\" \"Lamp\" 1", "nil \"Desk\" 1",
      ])
    request.fetchOffset = 1
    request.fetchLimit = 2
    #expect(try rows(request) == ["\"South\" nil 1", "\"South\" \"Lamp\" 1"])
    let half = FetchColumn.expression("half", .function(.divide, [.key("amount"), .constant(2)]))
    #expect(
      try rows(
        .sales(
          ["half", .count(as: "n")].map { $0 == "half" ? half : $0 }, by: [half], sorted: [FetchSort("half")])
      )
        == ["nil 1", "0 1", "1 2", "2 1", "3 1"])
  }

  @Test("rule 98: columns of a grouped request are keys, literals, aggregates, or computed from those")
  func wrongColumns() throws {
    #expect(
      try rows(
        .sales(
          [
            .expression("text", .constant("x")),
            .expression(
              "mean",
              .function(.divide, [.aggregate(.sum, .key("amount")), .aggregate(.count, .evaluatedObject)])),
            .expression("up", .function(.uppercase, [.key("region")])),
          ], by: ["region"], sorted: [FetchSort("up")])) == [
          "\"x\" 7 nil", "\"x\" 4 \"NORTH\"", "\"x\" 0 \"SOUTH\"", "\"x\" 2 \"WEST\"",
        ])
    for request in [
      FetchRequest.sales(["amount"], by: ["region"]), .sales(["amount", .count(as: "n")]),
      .sales([.expression("x", .function(.add, [.key("amount"), .aggregate(.count, .evaluatedObject)]))]),
      .sales(["region"], by: ["region"], sorted: [FetchSort("amount")]),
    ] {
      let error = #expect(throws: FetchError.self) { try context.fetch(request) }
      #expect(error?.description.contains("is neither grouped by nor an aggregate nor a literal") == true)
    }
    #expect(throws: FetchError.self) {
      try context.fetch(.sales([.expression("x", .key("region")), .expression("x", .key("amount"))]))
    }
    #expect(try context.fetch(.sales(["region", "region"])).first?.keys.sorted() == ["region"])
    #expect(throws: FetchError.self) { try context.fetch(.sales([.sum("region")])) }
    #expect(throws: FetchError.self) { try context.fetch(.sales(["memo"])) }
    #expect(throws: FetchError.self) { try context.fetch(.sales(["nothing"])) }
  }

  @Test("rule 98: a column computed from what is not grouped by has the value of one row of the group")
  func samples() throws {
    let double = FetchColumn.expression("double", .function(.multiply, [.key("amount"), .constant(2)]))
    var request = FetchRequest.sales(
      ["product.name", double, .count(as: "n")], by: ["product.name"], sorted: [FetchSort("product.name")])
    let found = try context.fetch(request)
    #expect(found.map { $0.string("product.name") } == [nil, "Desk", "Lamp"])
    #expect(found.map { $0.integer("n") } == [1, 2, 3])
    #expect(found[0]["double"] == .null)
    #expect([10, 14].contains(found[1].integer("double")))
    #expect([2, 4, 6].contains(found[2].integer("double")))
    // It can be sorted by, and asked for in having, as every other column.
    request.sortDescriptors = [FetchSort("double", ascending: false)]
    request.havingPredicate = .compare(FetchComparison(.key("double"), .greater, .constant(0)))
    #expect(try context.fetch(request).map { $0.string("product.name") } == ["Desk", "Lamp"])
    // Without groups there is one row, also of nothing.
    var all = FetchRequest.sales([double, .count(as: "n")])
    all.predicate = .compare(FetchComparison(.key("amount"), .equal, .constant(1)))
    #expect(try rows(all) == ["2 1"])
    all.predicate = .nothing
    #expect(try rows(all) == ["nil 0"])
  }

  @Test("rule 99: having takes the alias, the aggregate and the variable form")
  func having() throws {
    var request = FetchRequest.sales(
      ["region", .sum("amount", as: "total")], by: ["region"], sorted: [FetchSort("region")])
    let isLarge: (FetchExpression) -> FetchPredicate = {
      .compare(FetchComparison($0, .greater, .constant(2)))
    }
    for form in [
      .key("total"), .aggregate(.sum, .key("amount")), .variable("total"),
    ] as [FetchExpression] {
      request.havingPredicate = isLarge(form)
      #expect(try rows(request) == ["nil 7", "\"North\" 8"])
      #expect(try context.count(for: request) == 2)
    }
    request.havingPredicate = isLarge(.aggregate(.count, .evaluatedObject)) || Attribute("region") == "West"
    #expect(try rows(request) == ["\"West\" 2"])
    request.havingPredicate = Attribute("region") == nil
    #expect(try rows(request) == ["nil 7"])
    request.havingPredicate = isLarge(.key("price"))
    #expect(throws: FetchError.self) { try context.fetch(request) }
    request.havingPredicate = isLarge(.variable("unknown"))
    #expect(throws: FetchError.self) { try context.fetch(request) }
  }

  @Test("rule 100: distinct rows come once; without propertiesToFetch nothing changes")
  func distinct() throws {
    var request = FetchRequest.sales(["region"], sorted: [FetchSort("region", ascending: false)])
    #expect(try rows(request).count == 6)
    request.returnsDistinctResults = true
    #expect(try rows(request) == ["\"West\"", "\"South\"", "\"North\"", "nil"])
    #expect(try context.count(for: request) == 4)
    request.fetchOffset = 1
    request.fetchLimit = 2
    #expect(try rows(request) == ["\"South\"", "\"North\""])
    #expect(try context.count(for: request) == 2)
    request.sortDescriptors = [FetchSort("amount")]
    request.fetchOffset = 0
    #expect(try rows(request) == ["\"South\"", "\"West\""])
    var all = FetchRequest.sales()
    all.returnsDistinctResults = true
    #expect(try rows(all).count == 6)
  }

  @Test("rule 88: unsaved changes never take part, those of a parent neither")
  func unsavedChanges() throws {
    context.addSale("East", 100)
    for sale in try context.fetch(FetchRequest<Sale>(predicate: Attribute("region") == "North")) {
      sale.region = "changed"
    }
    context.delete(try context.fetch(FetchRequest<Sale>(predicate: Attribute("region") == "West"))[0])
    let request = FetchRequest.sales(["region"], sorted: [FetchSort("region")])
    let stored = ["nil", "\"North\"", "\"North\"", "\"South\"", "\"South\"", "\"West\""]
    #expect(try rows(request) == stored)
    let child = ManagedObjectContext(.confinement, parent: context)
    #expect(try child.fetch(request).map { "\($0["region"] ?? "?")" } == stored)
    #expect(try context.count(for: request) == 6)
  }

  @Test("values are brought into the type of their column; what does not fit is an error")
  func resultTypes() throws {
    let request = FetchRequest.sales([
      .sum("amount", .double), .expression("mean", .aggregate(.average, .key("amount")), .integer64),
      .expression("decimal", .aggregate(.sum, .key("price")), .decimal),
    ])
    let row = try context.fetch(request)[0]
    #expect(row[0] == .value(.double(18)) && row["mean"] == .integer(3) && row["decimal"] == .decimal(10.5))
    let error = #expect(throws: FetchError.self) {
      try context.fetch(.sales([.expression("r", .aggregate(.maximum, .key("region")), .date)]))
    }
    #expect(error?.description.contains("“r”") == true)
  }

  @Test("a sum of more than 64 bits is an error, not a number")
  func overflow() throws {
    let writer = store.context()
    writer.addSale("East", .max)
    writer.addSale("East", 1)
    try writer.save()
    let error = #expect(throws: FetchError.self) { try context.fetch(.sales([.sum("amount")])) }
    #expect(error?.description.contains("too large") == true)
    #expect(throws: FetchError.self) { try context.fetch(.sales([.sum("amount")], by: ["region"])) }
    #expect(
      try context.fetch(.sales([.expression("m", .aggregate(.maximum, .key("amount")))]))[0]["m"]
        == .integer(.max))
  }

  @Test("rules 106, 322: groups and orders go across stores; affectedStores limits them")
  func severalStores() throws {
    let second = try PersistentStoreCoordinator.withTwoStores(SalesModel.make())
    let writer = ManagedObjectContext(.confinement, coordinator: second)
    for (place, region) in ["a", "b", "a", "c"].enumerated() {
      let sale = writer.addSale(region, Int64(place))
      try writer.assign(sale, to: second.persistentStores[place % 2])
    }
    try writer.save()
    let reader = ManagedObjectContext(.confinement, coordinator: second)
    var request = FetchRequest.sales(
      ["region", .count(as: "n"), .sum("amount")], by: ["region"], sorted: [FetchSort("region")])
    #expect(
      try reader.fetch(request).map { "\($0)" } == [
        "{region: \"a\", n: 2, sum: 2}", "{region: \"b\", n: 1, sum: 1}", "{region: \"c\", n: 1, sum: 3}",
      ])
    request.affectedStores = [second.persistentStores[1].identifier]
    #expect(try reader.fetch(request).count == 2)
    var plain = FetchRequest.sales(["amount"], sorted: [FetchSort("amount", ascending: false)])
    plain.fetchOffset = 1
    plain.fetchLimit = 2
    #expect(try reader.fetch(plain).map { $0["amount"] } == [2, 1])
    #expect(try reader.count(for: plain) == 2)
  }

  @Test("a pinned generation is what the rows are made of")
  func pinnedGeneration() throws {
    try context.setQueryGenerationFrom(.current)
    #expect(try rows(.sales([.count(as: "n")])) == ["6"])
    let writer = store.context()
    writer.addSale("East", 1)
    try writer.save()
    #expect(try rows(.sales([.count(as: "n")])) == ["6"])
    try context.setQueryGenerationFrom(nil)
    #expect(try rows(.sales([.count(as: "n")])) == ["7"])
  }
}

extension PersistentStoreCoordinator {
  /// Two stores in memory below one coordinator.
  static func withTwoStores(_ model: ManagedObjectModel) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    for _ in 0..<2 { try coordinator.addPersistentStore(.inMemory) }
    return coordinator
  }
}
