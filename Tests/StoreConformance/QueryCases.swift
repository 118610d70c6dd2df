import Foundation
import StrataCore

extension StoreConformance {
  // MARK: Predicates

  static let predicateCases: [ConformanceCase] =
    ValueKind.all.flatMap(comparisons) + combinations

  private static func check(
    _ stand: ConformanceStand, _ kind: ValueKind, _ predicate: FetchPredicate,
    _ matches: (AttributeValue) -> Bool
  ) throws {
    let coordinator = try stand.open()
    try stand.context(on: coordinator).makeItems(kind)
    let context = stand.context(on: coordinator)
    let found = try context.all("Item", predicate, by: FetchSort("number")).map { $0.integer("number") ?? -1 }
    let wanted = ([.null] + kind.values).enumerated().filter { matches($0.element) }.map { Int64($0.offset) }
    try expectEqual(found, wanted, "what \(predicate) finds")
    var counting = FetchRequest<ManagedObject>(entityName: "Item")
    counting.predicate = predicate
    try expectEqual(try context.count(for: counting), wanted.count, "how many \(predicate) finds")
    // The same before it is saved.
    let unsaved = stand.context(on: coordinator)
    for (number, value) in ([.null] + kind.values).enumerated() {
      unsaved.make("Item", ["number": Int64(number + 100), kind.attribute: value.anyValue])
    }
    let both = try unsaved.all("Item", predicate, by: FetchSort("number")).map { $0.integer("number") ?? -1 }
    try expectEqual(both, wanted + wanted.map { $0 + 100 }, "what \(predicate) finds with unsaved objects")
  }

  private static func comparisons(_ kind: ValueKind) -> [ConformanceCase] {
    let key = kind.attribute
    var operations: [(String, ComparisonOperator, @Sendable (Int) -> Bool)] = []
    if kind.isOrdered {
      operations = [
        ("<", .less, { $0 < 0 }), ("<=", .lessOrEqual, { $0 <= 0 }), (">", .greater, { $0 > 0 }),
        (">=", .greaterOrEqual, { $0 >= 0 }),
      ]
    }
    let middle = kind.values[kind.values.count / 2]
    var cases = operations.map { name, operation, holds in
      ConformanceCase("predicates", "\(key) \(name) a value") { stand in
        try check(stand, kind, .comparison(key: key, operation, middle)) {
          !$0.isNull && holds(AttributeValue.compare($0, middle))
        }
      }
    }
    cases += [
      ConformanceCase("predicates", "\(key) == a value") { stand in
        try check(stand, kind, .comparison(key: key, .equal, middle)) { $0 == middle }
      },
      ConformanceCase("predicates", "\(key) != a value") { stand in
        try check(stand, kind, .comparison(key: key, .notEqual, middle)) { $0 != middle }
      },
      ConformanceCase("predicates", "\(key) == nil") { stand in
        try check(stand, kind, .comparison(key: key, .equal, .null)) { $0.isNull }
      },
      ConformanceCase("predicates", "\(key) != nil") { stand in
        try check(stand, kind, .comparison(key: key, .notEqual, .null)) { !$0.isNull }
      },
      ConformanceCase("predicates", "\(key) IN values") { stand in
        let some = [kind.values[0], kind.values[kind.values.count - 1]]
        try check(stand, kind, .in(key: key, some)) { some.contains($0) }
      },
      ConformanceCase("predicates", "\(key) IN nothing") { stand in
        try check(stand, kind, .in(key: key, [])) { _ in false }
      },
      ConformanceCase("predicates", "NOT \(key) == a value") { stand in
        try check(stand, kind, .not(.comparison(key: key, .equal, middle))) { $0 != middle }
      },
    ]
    if kind.isOrdered {
      let (low, high) = (kind.values[0], middle)
      cases.append(
        ConformanceCase("predicates", "\(key) BETWEEN values") { stand in
          try check(stand, kind, .between(key: key, low: low, high: high)) {
            !$0.isNull && AttributeValue.compare($0, low) >= 0 && AttributeValue.compare($0, high) <= 0
          }
        })
    }
    return cases
  }

  private static func numbers(_ stand: ConformanceStand, _ format: String, _ wanted: [Int64]) throws {
    let context = try stand.context()
    for number in 0..<10 as Range<Int64> {
      context.make(
        "Item",
        [
          "number": number, "small": number % 3, "string": number % 2 == 0 ? "even" : "odd",
          "double": Double(number) / 4,
        ])
    }
    try context.save()
    let found = try context.all("Item", format: format, by: "number").map { $0.integer("number") ?? -1 }
    try expectEqual(found, wanted, "what \(format) finds")
  }

  private static let combinations: [ConformanceCase] =
    ([
      ("small == 1 AND string == 'odd'", [1, 7]), ("small == 1 OR string == 'odd'", [1, 3, 4, 5, 7, 9]),
      ("NOT (small == 1 OR string == 'odd')", [0, 2, 6, 8]), ("number > 2 AND number < 6", [3, 4, 5]),
      ("NOT (number IN {1, 2, 3}) AND number < 6", [0, 4, 5]), ("number + 1 == 5", [4]),
      ("number * 2 > 14", [8, 9]),
      ("number == small", [0, 1, 2]), ("number - small == 3", [3, 4, 5]), ("double > 2", [9]),
      ("TRUEPREDICATE", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), ("FALSEPREDICATE", []),
      ("small == 0 AND (number == 3 OR string == 'even')", [0, 3, 6]),
      ("number BETWEEN {3, 5} OR number == 9", [3, 4, 5, 9]),
    ] as [(String, [Int64])]).map { format, wanted in
      ConformanceCase("predicates", format) { stand in try numbers(stand, format, wanted) }
    }

  // MARK: Order and windows

  static let sortingCases: [ConformanceCase] =
    ValueKind.all.flatMap { kind in [true, false].map { sorting(kind, ascending: $0) } }
    + [(0, 3), (2, 3), (4, 100), (50, 5), (0, 0), (9, 1)].flatMap(windows) + ties + ordersOfTexts
    + [true, false].map(orderOfObjects)

  private static func sorting(_ kind: ValueKind, ascending: Bool) -> ConformanceCase {
    ConformanceCase("sorting", "by \(kind.attribute), \(ascending ? "ascending" : "descending")") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let values = [.null] + kind.values
      for number in values.indices.reversed() {
        context.make("Item", ["number": Int64(number), kind.attribute: values[number].anyValue])
      }
      try context.save()
      let order = values.indices.sorted { AttributeValue.compare(values[$0], values[$1]) < 0 }.map {
        Int64($0)
      }
      let wanted = ascending ? order : order.reversed()
      let sort = FetchSort(kind.attribute, ascending: ascending)
      let found = try stand.context(on: coordinator).all("Item", by: sort).map { $0.integer("number") ?? -1 }
      try expectEqual(found, wanted, "the order")
      // Unsaved objects take their places.
      let mixed = stand.context(on: coordinator)
      for item in try mixed.all("Item") where (item.integer("number") ?? 0) % 2 == 0 {
        let value = item.value(forKey: kind.attribute)
        let number = item.value(forKey: "number")
        mixed.delete(item)
        mixed.make("Item", ["number": number, kind.attribute: value])
      }
      try expectEqual(
        try mixed.all("Item", by: sort).map { $0.integer("number") ?? -1 }, wanted,
        "the order with unsaved objects")
    }
  }

  private static func windows(_ window: (offset: Int, limit: Int)) -> [ConformanceCase] {
    [false, true].map { hasUnsaved in
      let name = "offset \(window.offset), limit \(window.limit)\(hasUnsaved ? ", with unsaved objects" : "")"
      return ConformanceCase("sorting", name) { stand in
        let context = try stand.context()
        for number in 0..<10 as Range<Int64> { context.make("Item", ["number": number * 2]) }
        try context.save()
        var all = (0..<10).map { Int64($0 * 2) }
        if hasUnsaved {
          for number in [5, 11] as [Int64] { context.make("Item", ["number": number]) }
          context.delete(try context.one("Item", "number", 4))
          all = (all.filter { $0 != 4 } + [5, 11]).sorted()
        }
        var request = FetchRequest<ManagedObject>(entityName: "Item")
        request.sortDescriptors = [FetchSort("number")]
        request.fetchOffset = window.offset
        request.fetchLimit = window.limit
        let rest = all.dropFirst(window.offset)
        let wanted = Array(window.limit == 0 ? rest : rest.prefix(window.limit))
        try expectEqual(try context.fetch(request).map { $0.integer("number") ?? -1 }, wanted, "the objects")
        try expectEqual(try context.count(for: request), wanted.count, "the count")
        let ids = try context.fetch(request.returning(ManagedObjectID.self))
        try expectEqual(ids.map { context.object(with: $0).integer("number") ?? -1 }, wanted, "the IDs")
      }
    }
  }

  private static let ties: [ConformanceCase] = [
    ConformanceCase("sorting", "by two keys") { stand in
      let context = try stand.context()
      for number in 0..<12 as Range<Int64> { context.make("Item", ["number": number, "small": number % 3]) }
      try context.save()
      let found = try context.all("Item", by: FetchSort("small", ascending: false), FetchSort("number"))
      try expectEqual(
        found.map { $0.integer("number") ?? -1 }, [2, 5, 8, 11, 1, 4, 7, 10, 0, 3, 6, 9], "the order")
    },
    ConformanceCase("sorting", "by what a relationship leads to") { stand in
      let context = try stand.context()
      let bosses = ["Zoe", "Abe"].map { context.make("Person", ["name": $0]) }
      for (place, name) in ["a", "b", "c"].enumerated() {
        context.make("Person", ["name": name, "boss": place < 2 ? bosses[place] : nil])
      }
      try context.save()
      let found = try context.all("Person", by: FetchSort("boss.name"), FetchSort("name"))
      try expectEqual(texts(found, "name"), ["Abe", "Zoe", "c", "b", "a"], "the order")
    },
  ]

  /// The order of primary keys, which pages without sort keys have as well: alone, behind another sort key, and in windows.
  private static func orderOfObjects(ascending: Bool) -> ConformanceCase {
    let name = "by the objects themselves, \(ascending ? "ascending" : "descending")"
    return ConformanceCase("sorting", name) { stand in
      let coordinator = try stand.open()
      let filling = stand.context(on: coordinator)
      for number in 0..<8 as Range<Int64> {
        filling.make("Item", ["number": number, "small": number % 2])
        filling.make(number % 2 == 0 ? "Person" : "Manager", ["name": "\(number)"])
      }
      try filling.save()
      let context = stand.context(on: coordinator)
      func keyed(_ entity: String) throws -> [ManagedObject] {
        let page = try context.fetchPage(FetchRequest<ManagedObject>(entityName: entity), size: 100)
        return ascending ? page.results : page.results.reversed()
      }
      func numbers(_ objects: [ManagedObject]) -> [Int64] { objects.map { $0.integer("number") ?? -1 } }
      let byObject = FetchSort("objectID", ascending: ascending)
      var request = FetchRequest<ManagedObject>(entityName: "Item")
      let all = numbers(try keyed("Item"))
      for key in ["objectID", "self", "SELF"] {
        request.sortDescriptors = [FetchSort(key, ascending: ascending)]
        try expectEqual(numbers(try context.fetch(request)), all, "the order by \(key)")
      }
      // What stands behind the object decides nothing.
      request.sortDescriptors = [FetchSort("small"), byObject, FetchSort("number", ascending: !ascending)]
      try expectEqual(
        numbers(try context.fetch(request)), all.filter { $0 % 2 == 0 } + all.filter { $0 % 2 == 1 },
        "the order by two keys")
      request.sortDescriptors = [byObject]
      request.predicate = .comparison(key: "number", .greater, 0)
      (request.fetchOffset, request.fetchLimit) = (1, 3)
      let some = all.filter { $0 > 0 }
      let window = Array(some[1...3])
      try expectEqual(numbers(try context.fetch(request)), window, "the window")
      try expectEqual(try context.count(for: request), 3, "the count")
      let ids = try context.fetch(request.returning(ManagedObjectID.self))
      try expectEqual(numbers(ids.map { context.object(with: $0) }), window, "the IDs")
      var values = request.returning(FetchedDictionary.self)
      values.propertiesToFetch = ["number"]
      try expectEqual(
        try rows(values, context).compactMap { $0["number"] }, window.map { AttributeValue.integer($0) },
        "the rows of values")
      (request.fetchOffset, request.fetchLimit) = (0, 0)
      let first = try context.fetchPage(request, size: 3)
      let second = try context.fetchPage(request, size: 3, after: first.continuation)
      try expectEqual(numbers(first.results + second.results), Array(some.prefix(6)), "two pages")
      try expectEqual(
        texts(try context.all("Person", by: byObject), "name"), texts(try keyed("Person"), "name"),
        "the order of a hierarchy")
      context.make("Item", ["number": Int64(8)])
      context.delete(try context.one("Item", "number", 3))
      request.predicate = nil
      try expectEqual(
        numbers(try context.fetch(request)), numbers(try keyed("Item")), "the order with an unsaved object")
    }
  }

  /// Orders of texts that are not that of their bytes, in whole and in windows.
  private static let ordersOfTexts: [ConformanceCase] = [true, false].flatMap { ascending in
    [TextCollation.localizedStandard, .caseInsensitive].map { orderOfTexts($0, ascending: ascending) }
  }

  private static func orderOfTexts(_ comparator: TextCollation, ascending: Bool) -> ConformanceCase {
    let name = "texts in the order \(comparator), \(ascending ? "ascending" : "descending")"
    return ConformanceCase("sorting", name) { stand in
      let coordinator = try stand.open()
      let filling = stand.context(on: coordinator)
      for (number, text) in ["item 10", "b", "Item 9", "A"].enumerated() {
        filling.make("Item", ["number": Int64(number), "string": text])
      }
      filling.make("Item", ["number": Int64(4)])
      try filling.save()
      // By number; people count, and nobody else does. By bytes “Item 9” would come before “b”.
      let order: [Int64] = comparator == .localizedStandard ? [4, 3, 1, 2, 0] : [4, 3, 1, 0, 2]
      let wanted = ascending ? order : order.reversed()
      let context = stand.context(on: coordinator)
      var request = FetchRequest<ManagedObject>(entityName: "Item")
      request.sortDescriptors = [FetchSort("string", ascending: ascending, comparator: comparator)]
      func numbers() throws -> [Int64] { try context.fetch(request).map { $0.integer("number") ?? -1 } }
      try expectEqual(try numbers(), wanted, "the order")
      (request.fetchOffset, request.fetchLimit) = (1, 3)
      try expectEqual(try numbers(), Array(wanted[1...3]), "the window")
      try expectEqual(try context.count(for: request), 3, "the count")
      let ids = try context.fetch(request.returning(ManagedObjectID.self))
      try expectEqual(
        ids.map { context.object(with: $0).integer("number") ?? -1 }, Array(wanted[1...3]), "the IDs")
      (request.fetchOffset, request.fetchLimit) = (0, 2)
      request.predicate = .comparison(key: "number", .less, 4)
      try expectEqual(try numbers(), Array(wanted.filter { $0 < 4 }.prefix(2)), "the window of some")
      context.make("Item", ["number": Int64(-1), "string": "a"])
      request.fetchLimit = 0
      let mixed = try numbers().filter { $0 != 3 }
      try expectEqual(
        mixed, ascending ? [-1] + order.filter { $0 < 3 } : order.filter { $0 < 3 }.reversed() + [-1],
        "the order with an unsaved object")
    }
  }

  // MARK: Text

  static let textCases: [ConformanceCase] =
    ([
      ("string BEGINSWITH 'Str'", ["Strata", "Straße"]),
      ("string BEGINSWITH[c] 'str'", ["Strata", "Straße", "strand"]),
      ("string ENDSWITH 'a'", ["Strata", "data"]), ("string CONTAINS 'at'", ["Strata", "data"]),
      ("string CONTAINS[c] 'AT'", ["Strata", "data"]), ("string CONTAINS[cd] 'cafe'", ["Café"]),
      ("string ==[c] 'STRAND'", ["strand"]), ("string ==[d] 'Cafe'", ["Café"]),
      ("string LIKE 'St*'", ["Strata", "Straße"]),
      ("string LIKE 's?rand'", ["strand"]), ("string LIKE[c] 'S*A'", ["Strata"]),
      ("string MATCHES 'S.*a'", ["Strata"]),
      ("string MATCHES '.{4}'", ["Café", "data"]), ("string IN[c] {'DATA', 'x'}", ["data"]),
      ("NOT string CONTAINS 'a'", ["nil"]), ("string == ''", []),
      ("string BEGINSWITH ''", []), ("string CONTAINS[cd] ''", []), ("string ENDSWITH[c] ''", []),
      ("string LIKE '*'", ["Café", "Strata", "Straße", "data", "strand"]),
      ("NOT string ENDSWITH '' AND string != nil", ["Café", "Strata", "Straße", "data", "strand"]),
      ("string < 'a'", ["Café", "Strata", "Straße"]), ("string CONTAINS '%'", []), ("string LIKE '*_*'", []),
    ] as [(String, [String])]).map { format, wanted in
      ConformanceCase("text", format) { stand in
        let context = try stand.context()
        for text in ["Strata", "strand", "Straße", "Café", "data", nil] {
          context.make("Item", ["string": text])
        }
        try context.save()
        let found = texts(try context.all("Item", format: format, by: "string"), "string")
        // How nil answers a negation is not this case's matter.
        let ignored = wanted == ["nil"] ? ["nil"] : []
        try expectEqual(
          found.filter { !ignored.contains($0) }, wanted.filter { $0 != "nil" }, "what \(format) finds")
      }
    }

  // MARK: Rows of values

  static let dictionaryCases: [ConformanceCase] = aggregates + otherRows

  private static func fill(_ stand: ConformanceStand) throws -> ManagedObjectContext {
    let context = try stand.context()
    for number in 1...6 as ClosedRange<Int64> {
      context.make(
        "Item",
        [
          "number": number, "small": number % 2, "double": Double(number) / 2,
          "string": number < 4 ? "low" : "high",
        ])
    }
    context.make("Item", ["small": 1 as Int64])
    try context.save()
    return context
  }

  private static func rows(_ request: FetchRequest<FetchedDictionary>, _ context: ManagedObjectContext) throws
    -> [[String: AttributeValue]]
  {
    try context.fetch(request).map { row in
      row.dictionary.mapValues { AttributeValue($0, type: .undefined) ?? .null }
    }
  }

  private static let aggregates: [ConformanceCase] =
    ([
      ("count:(number)", .integer(6)), ("sum:(number)", .integer(21)), ("min:(number)", .integer(1)),
      ("max:(number)", .integer(6)), ("average:(number)", .double(3.5)), ("sum:(double)", .double(10.5)),
      ("min:(string)", .string("high")), ("max:(string)", .string("low")),
    ] as [(String, AttributeValue)]).map { format, wanted in
      ConformanceCase("rows of values", format) { stand in
        let context = try fill(stand)
        var request = FetchRequest<FetchedDictionary>(entityName: "Item")
        request.propertiesToFetch = [.expression("it", try FetchExpression(format: format))]
        let found = try rows(request, context)
        try expectEqual(found.count, 1, "rows")
        try expect(
          found.first?["it"].map { AttributeValue.compare($0, wanted) == 0 } ?? false,
          "\(format) gave \(found), where \(wanted) was expected")
      }
    }

  private static let otherRows: [ConformanceCase] = [
    ConformanceCase("rows of values", "columns in order") { stand in
      let context = try fill(stand)
      var request = FetchRequest<FetchedDictionary>(entityName: "Item")
      request.propertiesToFetch = ["number", "string"]
      request.predicate = .comparison(key: "number", .greater, 3)
      request.sortDescriptors = [FetchSort("number", ascending: false)]
      let found = try rows(request, context)
      try expectEqual(found.map { $0["number"] }, [6, 5, 4], "the numbers")
      try expectEqual(found.first?["string"], .string("high"), "the text")
    },
    ConformanceCase("rows of values", "grouped") { stand in
      let context = try fill(stand)
      var request = FetchRequest<FetchedDictionary>(entityName: "Item")
      request.propertiesToFetch = ["string", .expression("sum", try FetchExpression(format: "sum:(number)"))]
      request.propertiesToGroupBy = ["string"]
      request.predicate = .comparison(key: "string", .notEqual, .null)
      request.sortDescriptors = [FetchSort("string")]
      let found = try rows(request, context)
      try expectEqual(found.map { $0["string"] }, [.string("high"), .string("low")], "the groups")
      try expectEqual(found.map { $0["sum"] }, [.integer(15), .integer(6)], "the sums")
    },
    ConformanceCase("rows of values", "grouped, of which some are left out") { stand in
      let context = try fill(stand)
      var request = FetchRequest<FetchedDictionary>(entityName: "Item")
      request.propertiesToFetch = ["small", .expression("n", try FetchExpression(format: "count:(number)"))]
      request.propertiesToGroupBy = ["small"]
      request.havingPredicate = try FetchPredicate(format: "count:(number) > 2")
      request.sortDescriptors = [FetchSort("small")]
      try expectEqual(try rows(request, context).map { $0["small"] }, [0, 1], "the groups")
    },
    ConformanceCase("rows of values", "each once") { stand in
      let context = try fill(stand)
      var request = FetchRequest<FetchedDictionary>(entityName: "Item")
      request.propertiesToFetch = ["string"]
      request.returnsDistinctResults = true
      request.sortDescriptors = [FetchSort("string")]
      try expectEqual(try context.fetch(request).count, 3, "rows")
    },
    ConformanceCase("rows of values", "unsaved changes take no part") { stand in
      let context = try fill(stand)
      context.make("Item", ["number": 99 as Int64])
      var request = FetchRequest<FetchedDictionary>(entityName: "Item")
      request.propertiesToFetch = [.expression("max", try FetchExpression(format: "max:(number)"))]
      try expectEqual(try rows(request, context).first?["max"], .integer(6), "the greatest")
    },
    ConformanceCase("rows of values", "an offset and a limit") { stand in
      let context = try fill(stand)
      var request = FetchRequest<FetchedDictionary>(entityName: "Item")
      request.propertiesToFetch = ["number"]
      request.sortDescriptors = [FetchSort("number")]
      request.fetchOffset = 2
      request.fetchLimit = 3
      try expectEqual(try rows(request, context).map { $0["number"] }, [2, 3, 4], "the numbers")
    },
  ]
}
