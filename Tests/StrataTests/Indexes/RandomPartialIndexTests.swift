import Foundation
import Strata
import Testing

/// Random rows and random edits: what a partial index finds, and what a look at every object finds.
@Suite struct RandomPartialIndexTests {
  /// `STRATA_SEED=n` repeats one run.
  static let seeds =
    ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) }.map { [$0] }
    ?? (0..<6).map { _ in UInt64.random(in: 0...UInt64.max) }

  /// A predicate, and what it says of an object.
  struct Condition: Sendable {
    let predicate: FetchPredicate
    let holds: @Sendable (ManagedObject) -> Bool

    static func length(_ object: ManagedObject) -> Int? {
      (object.value(forKey: "length") as? NSNumber)?.intValue
    }
    static func name(_ object: ManagedObject) -> String? { object.value(forKey: "name") as? String }

    static func && (left: Condition, right: Condition) -> Condition {
      Condition(predicate: left.predicate && right.predicate) { left.holds($0) && right.holds($0) }
    }
    static func || (left: Condition, right: Condition) -> Condition {
      Condition(predicate: left.predicate || right.predicate) { left.holds($0) || right.holds($0) }
    }
    static func above(_ length: Int) -> Condition {
      Condition(predicate: Attribute("length") > length) { Self.length($0).map { $0 > length } ?? false }
    }
    static func named(_ name: String) -> Condition {
      Condition(predicate: Attribute("name") == name) { Self.name($0) == name }
    }
    static let hasName = Condition(predicate: Attribute("name") != nil) { Self.name($0) != nil }
    static let hasNoName = Condition(predicate: Attribute("name") == nil) { Self.name($0) == nil }
    static let isBuilt = Condition(predicate: Attribute("built") != nil) { $0.value(forKey: "built") != nil }
    static let isOneOfThree = Condition(
      predicate: Attribute("name").isIn(["vessel 1", "vessel 2", "vessel 3"])
    ) { object in Self.name(object).map { ["vessel 1", "vessel 2", "vessel 3"].contains($0) } ?? false }
    static let isNotTen = Condition(predicate: Attribute("length") != 10) { Self.length($0) != 10 }
    static let isShort = Condition(predicate: Attribute("length") < 60) {
      Self.length($0).map { $0 < 60 } ?? false
    }
  }

  static let conditions: [Condition] = [
    .above(50), .hasName, .hasNoName, .above(20) && .isShort, .isOneOfThree, .isNotTen && .isBuilt,
    .hasNoName || .named("vessel 5"),
  ]

  @Test("random rows, edits and batches: a partial index finds what all rows say", arguments: seeds)
  func sameAnswers(seed: UInt64) throws {
    var dice = Dice(seed: seed)
    let attributes = [["name"], ["length"], ["name", "length"], ["built"], ["length", "built"]]
    var indexes: [FetchIndexDescription] = []
    var conditions: [Condition] = []
    for number in 0..<3 {
      let index = FetchIndexDescription(name: "some\(number)", attributes: attributes[dice.roll(5)])
      conditions.append(Self.conditions[dice.roll(Self.conditions.count)])
      index.partialIndexPredicate = conditions[number].predicate
      indexes.append(index)
    }
    let stand = try IndexStand(
      60 + dice.roll(200), model: IndexStand.model(indexes: indexes))
    var used = 0
    for round in 0..<12 {
      try change(stand, &dice, round)
      let check = try stand.engine.check()
      #expect(check.isSound, "seed \(seed), round \(round): \(check.problems)")
      for _ in 0..<6 {
        used += try compare(stand, conditions, &dice) ? 1 : 0
      }
    }
    #expect(used > 0, "seed \(seed): no fetch used an index")
  }

  /// Saves and batches.
  private func change(_ stand: IndexStand, _ dice: inout Dice, _ round: Int) throws {
    let context = stand.context()
    try context.performAndWait {
      let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel"))
      for _ in 0..<dice.roll(25) {
        let object = all[dice.roll(all.count)]
        if object.isDeleted { continue }
        switch dice.roll(6) {
        case 0: object.setValue(dice.roll(101), forKey: "length")
        case 1: object.setValue(dice.roll(3) == 0 ? nil : "vessel \(dice.roll(8))", forKey: "name")
        case 2: object.setValue(dice.roll(4) == 0 ? nil : Date(timeIntervalSince1970: 0), forKey: "built")
        case 3: object.setValue(nil, forKey: "length")
        case 4: if all.count > 40 { context.delete(object) }
        default: try IndexStand.make(dice.roll(1_000), context)
        }
      }
      try context.save()
      if round % 3 == 2 {
        var request = BatchUpdateRequest(entityName: dice.roll(2) == 0 ? "Vessel" : "Ferry")
        request.predicate = Attribute("length") < dice.roll(100)
        request.propertiesToUpdate = ["length": dice.roll(100)]
        try context.execute(request)
      }
      if round % 4 == 3 {
        let some = FetchRequest<ManagedObject>(
          entityName: "Vessel", predicate: Attribute("length") == dice.roll(100))
        try context.execute(BatchDeleteRequest(fetchRequest: some))
      }
    }
  }

  /// Whether a partial index was used.
  private func compare(_ stand: IndexStand, _ conditions: [Condition], _ dice: inout Dice) throws -> Bool {
    let context = stand.context()
    var wanted = conditions[dice.roll(conditions.count)]
    switch dice.roll(4) {
    case 0: break
    case 1: wanted = wanted && .named("vessel \(dice.roll(8))")
    case 2: wanted = .above(dice.roll(100)) && wanted
    // What is close to the index's predicate, and does not say as much.
    default: wanted = wanted || .above(dice.roll(100))
    }
    let sorts = dice.roll(2) == 0 ? [] : [FetchSort("length", ascending: dice.roll(2) == 0)]
    let request = FetchRequest<ManagedObject>(
      entityName: dice.roll(3) == 0 ? "Ferry" : "Vessel", predicate: wanted.predicate, sortDescriptors: sorts,
      fetchLimit: dice.roll(3) == 0 ? 5 : 0)
    return try context.performAndWait {
      let all = try context.fetch(FetchRequest<ManagedObject>(entityName: request.entityName))
      let expected = all.filter(wanted.holds)
      let found = try context.fetch(request)
      let explanation = try context.explain(request, .executing)
      let place = "seed \(dice.seed): \(explanation)"
      #expect(Set(found).isSubset(of: expected), "\(place)")
      #expect(
        found.count == (request.fetchLimit > 0 ? min(request.fetchLimit, expected.count) : expected.count),
        "\(place)")
      if let sort = sorts.first {
        let lengths = found.map { ($0.value(forKey: "length") as? NSNumber)?.intValue ?? -1 }
        #expect(lengths == lengths.sorted(by: { sort.ascending ? $0 < $1 : $0 > $1 }), "\(place)")
      }
      var unlimited = request
      unlimited.fetchLimit = 0
      #expect(try context.count(for: unlimited) == expected.count, "\(place)")
      return explanation.stores[0].indexNames.contains { $0.hasPrefix("Vessel.some") }
    }
  }
}
