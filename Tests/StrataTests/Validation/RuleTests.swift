import Foundation
import Strata
import Testing

/// The rules of the model, at save and on request (rules 224–228, 231, 348, 354).
struct RuleTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(ClubModel.make())
    context = store.context()
  }

  /// A property, a value that breaks one rule, its code, and a value that is just valid.
  struct Case: Sendable, CustomTestStringConvertible {
    let key: String
    let bad: AttributeValue
    let code: CoreDataError.Code
    let good: AttributeValue
    var testDescription: String { "\(key) \(bad) is \(code)" }
  }

  static let cases: [Case] = [
    Case(key: "name", bad: .null, code: .validationMissingMandatoryProperty, good: "Bo"),
    Case(key: "name", bad: "D", code: .validationStringTooShort, good: "Du"),
    Case(key: "name", bad: "Dukedukeduke", code: .validationStringTooLong, good: "Dukedukedu"),
    Case(key: "name", bad: "duke", code: .validationStringPatternMatching, good: "DUKE"),
    Case(key: "age", bad: 151, code: .validationNumberTooLarge, good: 150),
    Case(key: "age", bad: -1, code: .validationNumberTooSmall, good: 0),
    Case(key: "visits", bad: 101, code: .validationNumberTooLarge, good: 100),
    Case(key: "visits", bad: 0, code: .validationNumberTooSmall, good: 1),
    Case(key: "total", bad: 101, code: .validationNumberTooLarge, good: 100),
    Case(key: "total", bad: 0, code: .validationNumberTooSmall, good: 1),
    Case(key: "score", bad: 9.75, code: .validationNumberTooLarge, good: 9.5),
    Case(key: "score", bad: .double(.nan), code: .validationNumberTooSmall, good: 0.5),
    Case(key: "weight", bad: .float(9.75), code: .validationNumberTooLarge, good: .float(9.5)),
    Case(key: "weight", bad: .float(0.25), code: .validationNumberTooSmall, good: .float(0.5)),
    Case(key: "fee", bad: .decimal(100), code: .validationNumberTooLarge, good: .decimal(99)),
    Case(key: "fee", bad: .decimal(0), code: .validationNumberTooSmall, good: .decimal(1)),
    Case(
      key: "joined", bad: .date(ClubModel.closed + 0.5), code: .validationDateTooLate,
      good: .date(ClubModel.closed)),
    Case(
      key: "joined", bad: .date(ClubModel.founded - 0.5), code: .validationDateTooSoon,
      good: .date(ClubModel.founded)),
    Case(
      key: "joined", bad: .date(Date(timeIntervalSinceReferenceDate: .nan)), code: .validationInvalidDate,
      good: .null),
    Case(key: "lucky", bad: 8, code: .managedObjectValidation, good: 7),
    Case(key: "biography", bad: "me", code: .validationStringTooShort, good: "me!"),
    Case(key: "mood", bad: "furious", code: .validationStringTooLong, good: "happy"),
    Case(key: "scratch", bad: 7, code: .managedObjectValidation, good: 8),
  ]

  @Test(
    "rules 227, 228: every rule refuses a save with its own code and user info, nothing is written",
    arguments: cases)
  func everyCode(_ one: Case) throws {
    let member = Member.make(in: context)
    member[one.key] = one.bad.anyValue
    let all = errors { try context.save() }
    // NaN breaks both bounds.
    let error = try #require(all.first as? CoreDataError)
    #expect(
      error.code == one.code
        && all.count == (one.bad.description == "nan" || one.code == .validationInvalidDate ? 2 : 1))
    #expect(error.userInfo[CoreDataError.Key.validationObject] as? Member === member)
    #expect(error.userInfo[CoreDataError.Key.validationKey] as? String == one.key)
    let value = error.userInfo[CoreDataError.Key.validationValue]
    #expect(AttributeValue(value, type: .undefined) == one.bad)
    #expect((error.userInfo[CoreDataError.Key.validationPredicate] == nil) == one.bad.isNull)
    #expect((error as NSError).domain == "NSCocoaErrorDomain" && (error as NSError).code == one.code.rawValue)
    #expect(try store.fresh { try $0.count(for: FetchRequest<Member>(entityName: "Member")) } == 0)
    #expect(context.insertedObjects == [member])

    member[one.key] = one.good.anyValue
    try context.save()
    // The same when an object is changed, whichever property it is that changes.
    member[one.key] = one.bad.anyValue
    #expect((errors { try context.save() }.first as? CoreDataError)?.code == one.code)
    context.rollback()
    try context.save()
  }

  @Test("rules 224, 225: the same on request, for a value that is not set", arguments: cases)
  func onRequest(_ one: Case) throws {
    let member = Member.make(in: context)
    try context.save()
    var value = one.bad.anyValue
    let found = errors { try member.validateValue(&value, forKey: one.key) }
    #expect((found.first as? CoreDataError)?.code == one.code)
    value = one.good.anyValue
    try member.validateValue(&value, forKey: one.key)
    #expect(AttributeValue(value, type: .undefined) == one.good)
    #expect(!context.hasChanges && member.name == "Duke")
  }

  @Test("rule 227: the warning of a rule is the localized description, without one a sentence says it")
  func warnings() {
    let member = Member.make("Dukedukeduke", in: context)
    #expect(errors { try context.save() }.first?.localizedDescription == "Names are short here.")
    member.name = "D"
    #expect(
      errors { try context.save() }.first?.localizedDescription
        == "Member.name must have at least 2 characters and has 1.")
    member.name = "Duke"
    member["lucky"] = 2
    #expect(errors { try context.save() }.first?.localizedDescription == "Luck is odd.")
    #expect(
      (errors { try context.save() }.first as? CoreDataError)?.userInfo[CoreDataError.Key.validationPredicate]
        is ClubModel.Odd)
  }

  @Test(
    "rules 144, 226: several failures, of one value, one object and several objects, are collected under 1560"
  )
  func severalFailures() throws {
    let first = Member.make("d", in: context)
    first["age"] = 200
    Member.make(nil, in: context)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationMultipleErrors)
    let details = errors { try context.save() }.compactMap { ($0 as? CoreDataError)?.code.rawValue }
    #expect(details == [1670, 1680, 1610, 1570])
    #expect(errors { try first.validateForInsert() }.count == 3)
    var value: Any? = "d"
    #expect(errors { try first.validateValue(&value, forKey: "name") }.count == 2)
  }

  @Test("rule 225: on request values are coerced as setters do it, and what does not fit is refused")
  func coercion() throws {
    let member = Member.make(in: context)
    func coerced(_ value: Any?, _ key: String) throws -> Any? {
      var value = value
      try member.validateValue(&value, forKey: key)
      return value
    }
    #expect(try coerced(3.0, "age") as? Int64 == 3)
    #expect(try coerced(NSNumber(value: 3), "score") as? Double == 3)
    #expect(try coerced(NSString("Duke"), "name") as? String == "Duke")
    #expect(try coerced(Optional<Int>.none as Any, "age") == nil)
    for (value, key, code) in [
      ("3" as Any, "age", CoreDataError.Code.managedObjectValidation),
      (70_000, "age", .validationNumberTooLarge), (-70_000, "age", .validationNumberTooSmall),
      (3.5, "age", .managedObjectValidation),
      (5, "name", .managedObjectValidation), ("today", "joined", .validationInvalidDate),
      ("https://example.org", "page", .validationInvalidURI), (member, "name", .managedObjectValidation),
      ("board", "boards", .managedObjectValidation), ([member], "boards", .managedObjectValidation),
      ([member], "mentor", .managedObjectValidation), (3, "mentor", .managedObjectValidation),
    ] {
      let error = errors { _ = try coerced(value, key) }.first as? CoreDataError
      #expect(error?.code == code && error?.userInfo[CoreDataError.Key.validationKey] as? String == key)
    }
  }

  @Test("rules 220, 225, 228: relationships on request: counts, predicates, entity and context")
  func relationshipsOnRequest() throws {
    let member = Member.make(in: context)
    let boards = (0..<3).map { _ in Board(context: context) }
    func check(_ value: Any?, _ key: String) -> [Int] {
      var value = value
      return errors { try member.validateValue(&value, forKey: key) }.map { ($0 as NSError).code }
    }
    #expect(check(nil, "boards") == [] && check(boards, "boards") == [1590])
    #expect(check(Set(boards.prefix(2)), "boards") == [])
    #expect(check(Member.make(nil, in: context), "mentor") == [1550])
    #expect(check(member, "mentor") == [] && check(nil, "mentor") == [])
    #expect(check(boards[0], "mentor") == [1550])
    store.fresh { other in #expect(check(Member.make(in: other), "mentor") == [1550]) }
    var value: Any? = NSSet(array: [boards[0]])
    try member.validateValue(&value, forKey: "boards")
    #expect(value as? Set<ManagedObject> == [boards[0]])
  }

  @Test("rules 225, 228: the predicate of a relationship is checked by the save")
  func relationshipsAtSave() throws {
    let nobody = Member.make(in: context)
    let member = Member.make(in: context)
    member["mentor"] = nobody
    nobody.name = nil
    #expect(
      errors { try context.save() }.map { ($0 as NSError).localizedDescription }
        == ["Member.name is a required value.", "A mentor has a name."])
    nobody.name = "Duke"
    try context.save()
  }

  @Test("rule 231: nil passes every rule where there may be no value")
  func nilPasses() throws {
    let member = Member.make(in: context)
    for key in ["age", "score", "joined", "lucky", "biography", "mood"] { member[key] = nil }
    try context.save()
  }

  @Test("rules 225, 228: an update is validated whole, though only one property has changed")
  func updatesAreValidatedWhole() throws {
    let id = Member.make(in: context).objectID
    try context.save()
    // Next time the model is stricter: rules are no part of the version hash.
    let stricter = try store.reopened(
      ClubModel.make { $0["Member"]?.attributesByName["name"]?.validationRules.append(.minimumLength(5)) })
    let later = stricter.context()
    let member = try #require(try later.existingObject(with: id) as? Member)
    member["age"] = 30
    #expect(errors { try later.save() }.map { ($0 as NSError).code } == [1670])
    member.name = "Dukes"
    try later.save()
  }

  @Test(
    "rules 225, 228: a large value beside the row is checked when it is edited, and not read again for an update"
  )
  func largeValues() throws {
    let member = Member.make(in: context)
    member["biography"] = String(repeating: "x", count: 100_001)
    #expect(errors { try context.save() }.map { ($0 as NSError).code } == [1660])
    member["biography"] = String(repeating: "x", count: 100_000)
    try context.save()
    member["age"] = 30
    try context.save()
  }

  @Test("rule 225: an object of which only members have changed is valid without being read")
  func membersOnly() throws {
    let id = Member.make(in: context).objectID
    try context.save()
    try store.fresh { other in
      let board = Board(context: other)
      board["owner"] = other.object(with: id)
      try other.save()
    }
    store.fresh { #expect(($0.object(with: id)["boards"] as? Set<ManagedObject>)?.count == 1) }
  }

  @Test("rule 224: a pattern that would be compared without end is an error, and the save comes back")
  func endlessPatterns() throws {
    let store = try TemporaryStore(
      ClubModel.make { $0["Board"]?.attributesByName["name"]?.validationRules = [.pattern("(a+)+b")] })
    let context = store.context()
    let board = Board(context: context)
    board["name"] = String(repeating: "a", count: 100)
    let error = try #require(errors { try context.save() }.first as? CoreDataError)
    #expect(error.code == .validationStringPatternMatching)
    #expect(error.localizedDescription.contains("takes too long to compare with the pattern “(a+)+b”"))
  }

  @Test("rule 224: a value that does not match is told with its pattern, both by their beginnings")
  func patternsAreTold() throws {
    let store = try TemporaryStore(
      ClubModel.make { $0["Board"]?.attributesByName["name"]?.validationRules = [.pattern("[A-Z]+")] })
    let context = store.context()
    let board = Board(context: context)
    board["name"] = "duke"
    let error = try #require(errors { try context.save() }.first as? CoreDataError)
    #expect(error.localizedDescription.contains("must match the pattern “[A-Z]+” and is “duke”"))
    board["name"] = String(repeating: "d", count: 101)
    let long = try #require(errors { try context.save() }.first as? CoreDataError)
    #expect(long.localizedDescription.contains("is “\(String(repeating: "d", count: 100))…”"))
  }

  @Test("rules 225, 317: subentities inherit rules and validators, and add their own")
  func inheritance() throws {
    let small = EntityDescription(
      "SmallPlaque", managedObjectClass: SmallPlaque.self,
      properties: [AttributeDescription("depth", .double, rules: [.maximum(1)])])
    let store = try TemporaryStore(ClubModel.make(adding: [small]) { $0["Plaque"]?.subentities = [small] })
    let context = store.context()
    let plaque = SmallPlaque(context: context)
    plaque.text = String(repeating: "x", count: 21)
    plaque["depth"] = 2.0
    plaque.onNumber = { _, number in number = 9 }
    plaque["remark"] = "small"
    #expect(errors { try context.save() }.map { ($0 as NSError).code } == [1660, 1610])
    plaque.text = "short"
    plaque["depth"] = 1.0
    try context.save()
    #expect(plaque.number == 9 && plaque.remark == "SMALL")
  }

  @Test("rule 224: an object outside any context is validated on request")
  func unattached() throws {
    let entity = try #require(store.coordinator.managedObjectModel.entitiesByName["Member"])
    let member = Member(entity: entity, insertInto: nil)
    #expect(errors { try member.validateForInsert() }.map { ($0 as NSError).code } == [1570])
    member.name = "d"
    #expect(errors { try member.validateForInsert() }.map { ($0 as NSError).code } == [1670, 1680])
    member.name = "Duke"
    try member.validateForInsert()
    var value: Any? = 151
    #expect(errors { try member.validateValue(&value, forKey: "age") }.map { ($0 as NSError).code } == [1610])
  }

  @Test("rules 225, 228: many contexts validate by the same model at once")
  func manyContexts() async throws {
    let store = store
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        let context = store.context(.privateQueue)
        group.addTask {
          try await context.perform {
            var refused = 0
            for number in 0..<200 {
              let member = Member.make(number % 2 == 0 ? "Duke" : "duke", in: context)
              do { try member.validateForInsert() } catch { refused += 1 }
              if number % 2 != 0 { context.delete(member) }
            }
            try context.save()
            return refused
          }
        }
      }
      for try await refused in group { #expect(refused == 100) }
    }
    #expect(try store.fresh { try $0.count(for: FetchRequest<Member>(entityName: "Member")) } == 800)
  }

  @Test("rule 298: rules are frozen with the model")
  func rulesAreFrozen() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer(ClubModel.make())
      let member = container.persistentStoreCoordinator.managedObjectModel.entitiesByName["Member"]
      member?.attributesByName["age"]?.validationRules = []
    }
    expectTrap(result, says: "was set after the model was taken into use", "Member.age.validationRules")
  }

  @Test("a key that the entity does not have traps")
  func unknownKeyTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer(ClubModel.make())
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      var value: Any? = 1
      try Member.make(in: context).validateValue(&value, forKey: "wings")
    }
    expectTrap(result, says: "Member", "wings")
  }
}
