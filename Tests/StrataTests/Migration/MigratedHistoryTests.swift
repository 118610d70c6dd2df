import Foundation
import Strata
import Testing

/// What happens to a store's history when the store is migrated.
struct MigratedHistoryTests {
  let stand: MigrationStand

  init() throws { stand = try MigrationStand() }

  @Test("rules 277, 284: a migrated store continues its history; tokens and named readers go on")
  func goesOn() throws {
    let context = try stand.open(LightweightMigrationTests.first()) { $0.recordsHistory = true }
    try context.performAndWait {
      context.newObject("Shelf", ["name": "top"])
      try context.save()
    }
    let before = try #require(stand.coordinator)
    let token = try before.currentHistoryToken()
    try before.setHistoryConsumer(named: "widget", to: token)
    try context.performAndWait {
      context.newObject("Shelf", ["name": "bottom"])
      try context.save()
    }
    let later = try before.currentHistoryToken()

    // The option is not given again: a store that records a history continues.
    let after = try stand.open(LightweightMigrationTests.second())
    let new = try #require(stand.coordinator)
    let store = try #require(new.persistentStores.first)
    for origin in [
      PersistentHistoryRequest.fetchHistory(after: token), .fetchHistory(after: .consumer("widget")),
    ] {
      let transactions = try new.history(origin).transactions
      #expect(transactions.count == 1)
      #expect(transactions.first?.changes?.map(\.changedObjectID.entityName) == ["Shelf"])
    }
    #expect(try new.history(.fetchHistory(after: later)).transactions.isEmpty)
    #expect(try new.historyConsumers(of: store).map(\.name) == ["widget"])
    try after.performAndWait {
      after.newObject("Label", ["name": "red"])
      try after.save()
    }
    let news = try new.history(.fetchHistory(after: later)).transactions
    #expect(news.count == 1)
    #expect(news.first?.changes?.map(\.changedObjectID.entityName) == ["Label"])
    #expect(try new.history(.fetchHistory(after: PersistentHistoryToken?.none)).transactions.count == 3)
    #expect(try stand.problems() == [])
    // Rule 283.
    #expect(try new.history(.deleteHistory(before: later)).count == 1)
    #expect(try new.history(.fetchHistory(after: later)).transactions.count == 1)
  }

  // MARK: Names

  private static func trips(_ attributes: [AttributeDescription], _ entity: String = "Trip")
    -> ManagedObjectModel
  {
    let trip = EntityDescription(entity, properties: attributes)
    if entity != "Trip" { trip.renamingIdentifier = "Trip" }
    let place = EntityDescription("Place", properties: [AttributeDescription("name", .string)])
    return ManagedObjectModel(entities: [trip, place])
  }

  private func changes() throws -> [String] {
    let coordinator = try #require(stand.coordinator)
    return try coordinator.history(.fetchHistory(after: PersistentHistoryToken?.none)).transactions.flatMap {
      ($0.changes ?? []).map { change in
        let properties =
          change.updatedProperties.map { Set($0.map(\.name)).sorted().joined(separator: ",") } ?? ""
        let values = change.tombstone.map { values in
          values.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: ",")
        }
        return "\(change.changedObjectID.entityName) \(change.changeType) \(properties)\(values ?? "")"
      }
    }
  }

  @Test(
    "rules 277, 284: what the history says is said of the attributes as they are called now, name by name and entity by entity"
  )
  func renamed() throws {
    func kept(_ name: String, from old: String? = nil) -> AttributeDescription {
      let attribute = AttributeDescription(name, .string)
      attribute.preservesValueInHistoryOnDeletion = true
      return old.map { attribute.renamed(from: $0) } ?? attribute
    }
    let number = AttributeDescription("number", .integer32)
    var context = try stand.open(Self.trips([kept("name"), kept("note"), number])) {
      $0.recordsHistory = true
    }
    try context.performAndWait {
      let trip = context.newObject("Trip", ["name": "a", "note": "n"])
      context.newObject("Place", ["name": "p"])
      try context.save()
      trip.setValue("b", forKey: "name")
      trip.setValue(1, forKey: "number")
      try context.save()
      context.delete(trip)
      try context.save()
    }
    let first = try changes()
    #expect(
      first.contains("Trip update name,number") && first.contains("Trip delete name=b,note=n"), "\(first)")
    // Places keep their name. Trips get another attribute of that name, and another name themselves.
    context = try stand.open(
      Self.trips(
        [
          kept("title", from: "name"), kept("name", from: "nothing"),
          AttributeDescription("number", .integer32),
        ], "Tour")
    ) { $0.permittedLosses = ["Trip.note"] }
    let second = try changes()
    #expect(
      second.map { $0.replacing("Trip", with: "Tour") }.sorted()
        == [
          "Place insert ", "Tour delete title=b", "Tour insert ", "Tour update number,title",
        ], "\(second)")
    #expect(try stand.problems() == [])
    try context.performAndWait {
      let tour = context.newObject("Tour", ["name": "x", "title": "y"])
      try context.save()
      tour.setValue("z", forKey: "name")
      try context.save()
    }
    // What is renamed once more goes on, in place or not.
    try stand.open(
      Self.trips(
        [
          kept("heading", from: "title"), kept("name"),
          AttributeDescription("count", .integer32).renamed(from: "number"),
        ], "Tour")
    ) { $0.permittedLosses = ["Trip.note"] }
    let third = try changes()
    #expect(
      third.sorted()
        == [
          "Place insert ", "Tour delete heading=b", "Tour insert ", "Tour insert ",
          "Tour update count,heading",
          "Tour update name",
        ], "\(third)")
    #expect(try stand.problems() == [])
  }

  /// Names are few, so that attributes of several entities share them, and change them over and over.
  @Test(
    "rules 277, 284: random changes of names: the history says what was changed, by the names of now",
    arguments: ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) }.map { [$0] }
      ?? Array(1...12))
  func randomNames(seed: UInt64) throws {
    print("history seed \(seed)")
    var dice = Dice(seed: seed)
    /// Of each entity, the attributes' numbers by name.
    var names: [[String: Int]] = (0..<2).map { entity in
      Dictionary(uniqueKeysWithValues: ["a", "b", "c"].enumerated().map { ($1, entity * 100 + $0) })
    }
    var last = 1_000
    var former = names
    func model(_ version: Int) -> ManagedObjectModel {
      ManagedObjectModel(
        entities: names.indices.map { entity in
          let description = EntityDescription(
            "E\(entity)",
            properties: names[entity].sorted { $0.key < $1.key }.map { name, number in
              // Whole numbers may be renamed in place.
              let attribute = AttributeDescription(name, .integer32)
              attribute.renamingIdentifier = "n\(number)"
              return attribute
            })
          // Names that only change places are no other version.
          description.versionHashModifier = "\(version)"
          return description
        })
    }
    var expected: [(entity: Int, numbers: Set<Int>)] = []
    var context = try stand.open(model(0)) { $0.recordsHistory = true }
    let start = try stand.coordinator?.currentHistoryToken()
    for version in 0..<8 {
      try context.performAndWait {
        for _ in 0..<3 {
          let entity = dice.roll(2)
          let object = context.newObject("E\(entity)")
          try context.save()
          let chosen = names[entity].sorted { $0.key < $1.key }.filter { _ in dice.roll(2) == 0 }
          for (name, _) in chosen { object.setValue(dice.roll(1_000) + 1, forKey: name) }
          if chosen.isEmpty { continue }
          try context.save()
          expected.append((entity, Set(chosen.map(\.value))))
        }
      }
      former = names
      for entity in names.indices {
        var numbers = names[entity].values.sorted()
        if dice.roll(3) == 0, numbers.count > 1 { numbers.remove(at: dice.roll(numbers.count)) }
        if dice.roll(3) == 0, numbers.count < 5 {
          last += 1
          numbers.append(last)
        }
        let all = ["a", "b", "c", "d", "e"].shuffled(using: &dice)
        var next: [String: Int] = [:]
        for number in numbers {
          let old = former[entity].first { $0.value == number }?.key
          let free = all.filter { next[$0] == nil }
          // A new one of a name that there was would continue what had it.
          let name = old == nil ? "k\(number)" : dice.roll(2) == 0 ? old : free.first
          next[name.flatMap { next[$0] == nil ? $0 : nil } ?? "g\(number)"] = number
        }
        names[entity] = next
      }
      let next = model(version + 1)
      context = try stand.open(next) { description in
        description.migratesAllRows = dice.roll(2) == 0
        description.permittedLosses = Set(
          former.indices.flatMap { entity in
            former[entity].filter { !names[entity].values.contains($0.value) }.map { "E\(entity).\($0.key)" }
          })
      }
      let transactions = try #require(stand.coordinator).history(.fetchHistory(after: start)).transactions
      let found = transactions.flatMap { $0.changes ?? [] }.filter { $0.changeType == .update }
      try #require(found.count == expected.count, "seed \(seed), version \(version)")
      for (change, wanted) in zip(found, expected) {
        let present = names[wanted.entity].filter { wanted.numbers.contains($0.value) }.map(\.key).sorted()
        let said = (change.updatedProperties ?? []).map(\.name).sorted()
        #expect(said == present, "seed \(seed), version \(version), E\(wanted.entity)")
      }
      #expect(try stand.problems() == [], "seed \(seed), version \(version)")
    }
  }

  @Test("rule 277: a store without a history has none after its migration")
  func noHistory() throws {
    let before = try stand.open(LightweightMigrationTests.first())
    try before.performAndWait {
      before.newObject("Shelf", ["name": "top"])
      try before.save()
    }
    try stand.open(LightweightMigrationTests.second())
    let error = #expect(throws: CoreDataError.self) {
      try stand.coordinator?.history(.fetchHistory(after: PersistentHistoryToken?.none))
    }
    #expect(error?.code == .persistentStoreUnsupportedRequestType)
  }
}
