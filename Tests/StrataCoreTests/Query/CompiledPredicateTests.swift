import Foundation
import Testing

@testable import StrataCore

extension StoreFixture {
  fileprivate func program(_ request: ResolvedFetchRequest) -> CompiledPredicate {
    request.binder(storeIdentifier: store.identifier).compile(request.predicate, request.entity.number)
  }

  /// The program's answer for an object with these values, by slot, as contexts ask.
  fileprivate func isTrue(
    _ program: CompiledPredicate, _ name: String, key: UInt64 = 1, _ values: [AttributeValue]
  ) throws -> Bool {
    let view = ValuesView(schema, store.identifier, entity(name))
    return try Evaluation(view).matches(program, ValuesView.Node(primaryKey: key, values: values))
  }

  /// The same for an Item that has one value.
  fileprivate func isTrue(_ program: CompiledPredicate, _ key: String, _ value: AttributeValue) throws -> Bool
  {
    let item = entity("Item")
    return try isTrue(program, "Item", item.attributes.map { $0.name == key ? value : .null })
  }
}

@Suite struct CompiledPredicateTests {
  /// The program on row bytes, the program on values and the plain definition agree.
  @Test(arguments: [UInt64(1), 2, 3])
  func predicateOnBytesOnValuesAndByDefinitionAgree(seed: UInt64) throws {
    print("predicate seed \(seed)")
    let fixture = try StoreFixture(inMemory: true)
    var random = RandomValues(seed: seed)
    let entity = fixture.entity("Special")
    var rows: [(change: RowChange, values: [AttributeValue])] = []
    for _ in 0..<80 {
      var values: [String: AttributeValue] = [:]
      for attribute in entity.attributes where !attribute.isTransient {
        values[attribute.name] = random.value(attribute.type)
      }
      let change = try fixture.insert("Special", values)
      rows.append((change, entity.attributes.map { values[$0.name] ?? .null }))
    }
    let identifiers = rows.map { fixture.identifier("Special", $0.change.primaryKey) }
    for _ in 0..<rounds(400, long: 5_000) {
      let predicate = random.predicate(entity, identifiers: identifiers)
      let program = fixture.program(try fixture.resolve("Special", predicate))
      for (row, identifier) in zip(rows, identifiers) {
        let expected = ReferencePredicate.matches(predicate, identifier: identifier) { name in
          entity.slot(named: name).map { row.values[$0] } ?? .null
        }
        let onValues = try fixture.isTrue(program, "Special", key: row.change.primaryKey, row.values)
        let onBytes = program.evaluate(
          row: row.change.row.base, table: entity.layout.table, primaryKey: row.change.primaryKey
        ) { row.values[$0] }
        if onValues != expected || onBytes != expected {
          Issue.record(
            "seed \(seed): \(predicate) of \(row.values): \(expected), values \(onValues), bytes \(onBytes)")
          return
        }
      }
    }
  }

  @Test func nilFollowsTheRules() throws {
    let fixture = try StoreFixture(inMemory: true)
    func isTrue(_ predicate: FetchPredicate, _ value: AttributeValue) throws -> Bool {
      try fixture.isTrue(fixture.program(fixture.resolve("Item", predicate)), "i32", value)
    }
    #expect(try isTrue(Attribute("i32") == nil, .null))
    #expect(try !isTrue(Attribute("i32") == nil, 1))
    #expect(try isTrue(Attribute("i32") != nil, 1))
    #expect(try isTrue(Attribute("i32") != 3, .null))
    #expect(try !isTrue(Attribute("i32") < 3, .null))
    #expect(try isTrue(!(Attribute("i32") < 3), .null))
    #expect(try !isTrue(.comparison(key: "i32", .less, .null), 1))
    #expect(try isTrue(Attribute("i32").isIn([Int?.none, 4]), .null))
    #expect(try !isTrue(Attribute("i32").isIn([4, 5]), .null))
    #expect(try isTrue(Attribute("i32").isBetween(1, 3), 3))
  }

  @Test("rule 108: a list of texts with options is one test, however long it is")
  func listsOfTextsAreOneTest() throws {
    let fixture = try StoreFixture(inMemory: true)
    func program(_ format: String, _ arguments: Any?...) throws -> CompiledPredicate {
      fixture.program(
        try fixture.resolve("Item", FetchPredicate(format: format, argumentArray: arguments)))
    }
    func isTrue(_ program: CompiledPredicate, _ value: AttributeValue) throws -> Bool {
      try fixture.isTrue(program, "t", value)
    }
    let texts = (0..<5_000).map { "Text \($0)" } + ["STRASSE", "straße", "Ünter"]
    let folded = try program("t IN[c] %@", texts)
    #expect(folded.instructions.count == 1 && folded.isLocal)
    for (value, found) in [
      ("tEXT 4999", true), ("text 5000", false), ("Straße", true), ("ünter", true), ("unter", false),
      ("", false),
    ] as [(AttributeValue, Bool)] {
      #expect(try isTrue(folded, value) == found, "\(value)")
      #expect(try isTrue(program("NOT t IN[c] %@", texts), value) != found, "\(value)")
    }
    #expect(try !isTrue(folded, .null))
    #expect(try isTrue(program("t IN[cd] %@", texts), "UNTER"))
    #expect(try isTrue(program("t IN[d] %@", texts), "Unter"))
    let orNil = try program("t IN[c] %@", texts + [nil])
    #expect(try orNil.instructions.count == 2 && isTrue(orNil, .null) && isTrue(orNil, "TEXT 7"))
    // Texts that are the same are one.
    #expect(try "\(program("t IN[c] {'x', 'X', nil}").source)" == "(t == nil) OR (t ==[c] \"x\")")
    #expect(try "\(program("t IN[c] {'x', 'y'}").source)" == "t IN[c] {\"x\", \"y\"}")
    #expect(try "\(program("t IN[c] %@", ["x", 1] as [Any]).source)" == "t IN[c] {\"x\", \"1\"}")
    #expect(throws: FetchError.self) { try program("i32 IN[c] {1, 2}") }
  }

  /// A text made to be slow: the time is that of both lengths, not of their product. Hangs otherwise.
  @Test("rule 108: CONTAINS reads hostile texts once", .timeLimit(.minutes(20)))
  func containsIsLinear() throws {
    let fixture = try StoreFixture(inMemory: true)
    let text = AttributeValue.string(String(repeating: "a", count: 4_000_000))
    let pattern = String(repeating: "a", count: 2_000_000) + "b"
    let program = fixture.program(try fixture.resolve("Item", Attribute("t").contains(pattern)))
    #expect(try !fixture.isTrue(program, "t", text))
    #expect(try fixture.isTrue(program, "t", .string("xaaaa" + pattern + "y")))
    // Patterns are long enough for stars to be expensive.
    let long = "*" + String(repeating: "a", count: TextMatcher.longestPattern) + "*"
    let error = #expect(throws: TextMatchError.self) {
      try fixture.resolve("Item", .comparison(key: "t", .like, .string(long)))
    }
    #expect(error?.reason == .tooLong)
  }

  @Test func subentitiesAreExcludedOnRequest() throws {  // rule 93
    let fixture = try StoreFixture(inMemory: true)
    let (item, special) = (fixture.entity("Item").number, fixture.entity("Special").number)
    #expect(try fixture.resolve("Item", includesSubentities: false).entityNumbers == [item])
    #expect(try fixture.resolve("Special").entityNumbers == [special])
    try fixture.commit(inserts: [fixture.insert("Item", [:]), fixture.insert("Special", [:])])
    #expect(try fixture.store.fetch(fixture.resolve("Item"), mode: .count).count == 2)
    #expect(
      try fixture.store.fetch(fixture.resolve("Item", includesSubentities: false), mode: .count).count == 1)
  }
}

@Suite struct PredicateResolverTests {
  private func error(_ predicate: FetchPredicate, sort: [FetchSort] = []) throws -> FetchError? {
    let fixture = try StoreFixture(inMemory: true)
    do {
      _ = try fixture.resolve("Item", predicate, sort: sort)
      return nil
    } catch let error as FetchError {
      return error
    }
  }

  @Test func wrongNamesAndTypesAreNamed() throws {
    #expect(try error(Attribute("nothing") == 1)?.reason == .unknownKey)
    #expect(try error(Attribute("memo") == "a")?.reason == .transientKey)
    #expect(try error(.everything, sort: [FetchSort("nothing")])?.reason == .unknownKey)
    #expect(
      try error(Attribute("date") == 1)?.description
        == "Item.date is of type date and cannot be compared with 1 (in the predicate)."
    )
    #expect(try error(Attribute("date") == "1")?.key == "date")
    #expect(try error(Attribute("s") == 1) == nil && error(Attribute("i32") == "1") == nil)
    #expect(try error(Attribute("i32").beginsWith("1"))?.reason == .notAString(operation: "BEGINSWITH"))
    #expect(try error(Attribute("date") > 3) != nil)
    #expect(try error(Attribute("flag") == "1") == nil)
    #expect(try error(Attribute("flag") == 2) == nil)
    #expect(try error(Attribute("flag") == 1) == nil)
    let fixture = try StoreFixture(inMemory: true)
    #expect(throws: FetchError.self) { try fixture.resolve("Nobody") }
    #expect(throws: FetchError.self) { try fixture.resolve("Item", limit: -1) }
  }

  @Test func numbersBeyondAnAttributeAreConstants() throws {
    let fixture = try StoreFixture(inMemory: true)
    func resolved(_ predicate: FetchPredicate) throws -> String {
      "\(try PredicateResolver(entity: fixture.entity("Item"), schema: fixture.schema).resolve(predicate))"
    }
    #expect(try resolved(Attribute("i16") == 100_000) == "FALSE")
    #expect(try resolved(Attribute("i16") < 100_000) == "NOT (i16 == nil)")
    #expect(try resolved(Attribute("i16") != 100_000) == "TRUE")
    #expect(try resolved(Attribute("i64") > 2.5) == "i64 > 2")
    #expect(try resolved(Attribute("i64") <= 2.5) == "i64 <= 2")
    #expect(try resolved(Attribute("i64") >= -2.5) == "i64 > -3")
    #expect(try resolved(Attribute("i64") == 2.0) == "i64 == 2")
    #expect(try resolved(.and([.everything, .or([.nothing, .and([])])])) == "TRUE")
    #expect(
      try resolved(!(Attribute("s") == "a" && Attribute("i16") > 1))
        == "(NOT (s == \"a\")) OR (NOT (i16 > 1))")
    #expect(try resolved(Attribute("s").isIn(["b", "a", "b"])) == "s IN {\"a\", \"b\"}")
  }
}
