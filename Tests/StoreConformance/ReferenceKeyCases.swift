import Foundation
import StrataCore

/// Uniqueness constraints that name to-one relationships.
extension StoreConformance {
  /// The seats of Ann and of Bob, by their rows: 1 and 2 are Ann's, 1 is Bob's.
  private static func seats(_ stand: ConformanceStand) throws -> (
    coordinator: PersistentStoreCoordinator, context: ManagedObjectContext
  ) {
    let coordinator = try stand.open()
    let context = stand.context(on: coordinator)
    let (ann, bob) = (context.make("Manager", ["name": "Ann"]), context.make("Person", ["name": "Bob"]))
    for (person, row) in [(ann, 1), (ann, 2), (bob, 1)] as [(ManagedObject, Int64)] {
      context.make("Seat", ["person": person, "row": row, "note": "\(person.text("name")) \(row)"])
    }
    try context.save()
    return (coordinator, context)
  }

  /// What the store holds of them: person, row and note.
  private static func seats(_ stand: ConformanceStand, _ coordinator: PersistentStoreCoordinator) throws
    -> [String]
  {
    let context = stand.context(on: coordinator)
    for person in try context.all("Person") {
      let expected = try context.all("Seat", format: "person == %@", [person], by: "row")
      try expectEqual(person.members("seats"), Set(expected), "the seats of \(person.text("name"))")
    }
    return try context.all("Seat").map {
      "\($0.object("person")?.text("name") ?? "-") \($0.integer("row") ?? -1) \($0.text("note"))"
    }.sorted()
  }

  static let referenceKeyCases: [ConformanceCase] = [
    ConformanceCase("uniqueness", "of a reference and a value together", needs: [.uniqueness]) { stand in
      let (coordinator, context) = try seats(stand)
      let other = stand.context(on: coordinator)
      other.make("Seat", ["person": try other.one("Person", "name", .string("Ann")), "row": 2 as Int64])
      try expectCode(.managedObjectConstraintMerge, "the save") { try other.save() }
      for _ in 0..<2 {
        context.make(
          "Seat", ["person": try context.one("Person", "name", .string("Bob")), "row": 7 as Int64])
      }
      try expectCode(.managedObjectConstraintMerge, "the save of two") { try context.save() }
      try expectEqual(try seats(stand, coordinator), ["Ann 1 Ann 1", "Ann 2 Ann 2", "Bob 1 Bob 1"], "seats")
    },
    ConformanceCase(
      "uniqueness", "a new record with the key of a stored one becomes it", needs: [.uniqueness]
    ) {
      stand in
      let (coordinator, _) = try seats(stand)
      for (policy, note) in [
        (MergePolicy.mergeByPropertyObjectTrump, "new"), (.overwrite, "newer"),
        (.mergeByPropertyStoreTrump, "newer"), (.rollback, "newer"),
      ] {
        let context = stand.context(on: coordinator)
        context.mergePolicy = policy
        let ann = try context.one("Person", "name", .string("Ann"))
        let word = ["new": "new", "newer": policy === MergePolicy.overwrite ? "newer" : "no"][note] ?? ""
        context.make("Seat", ["person": ann, "row": 2 as Int64, "note": word])
        try context.save()
        try expectEqual(ann.members("seats").count, 2, "Ann's seats under \(policy)")
        try expectEqual(
          try seats(stand, coordinator), ["Ann 1 Ann 1", "Ann 2 \(note)", "Bob 1 Bob 1"], "under \(policy)")
      }
    },
    ConformanceCase("uniqueness", "an edited reference yields to a stored record", needs: [.uniqueness]) {
      stand in
      for policy in [MergePolicy.mergeByPropertyStoreTrump, .rollback] {
        let (coordinator, context) = try seats(stand)
        context.mergePolicy = policy
        let seat = try context.one("Seat", "note", .string("Bob 1"))
        let ann = try context.one("Person", "name", .string("Ann"))
        seat.setValue(ann, forKey: "person")
        try context.save()
        try expectEqual(seat.object("person")?.text("name"), "Bob", "whose seat it is")
        try expectEqual(ann.members("seats").count, 2, "Ann's seats under \(policy)")
        try expectEqual(
          try seats(stand, coordinator), ["Ann 1 Ann 1", "Ann 2 Ann 2", "Bob 1 Bob 1"], "under \(policy)")
        for object in try context.all("Seat") + context.all("Person") { context.delete(object) }
        try context.save()
      }
    },
    ConformanceCase("uniqueness", "an edited reference insists", needs: [.uniqueness]) { stand in
      let (coordinator, context) = try seats(stand)
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.one("Seat", "note", .string("Bob 1")).setValue(
        try context.one("Person", "name", .string("Ann")), forKey: "person")
      try context.save()
      try expectEqual(try seats(stand, coordinator), ["Ann 1 Bob 1", "Ann 2 Ann 2"], "seats")
    },
    ConformanceCase("uniqueness", "a reference that leads nowhere is no duplicate", needs: [.uniqueness]) {
      stand in
      let context = try stand.context()
      for row in [1, 1, 2] as [Int64] { context.make("Seat", ["row": row]) }
      let ann = context.make("Person", ["name": "Ann"])
      for _ in 0..<2 { context.make("Seat", ["person": ann]) }
      try context.save()
      try expectEqual(try context.all("Seat").count, 5, "seats")
    },
    ConformanceCase("uniqueness", "references are swapped in one save", needs: [.uniqueness]) { stand in
      let (coordinator, context) = try seats(stand)
      let (first, last) = (
        try context.one("Seat", "note", .string("Ann 1")), try context.one("Seat", "note", .string("Bob 1"))
      )
      let (ann, bob) = (first.object("person"), last.object("person"))
      first.setValue(bob, forKey: "person")
      last.setValue(ann, forKey: "person")
      try context.save()
      try expectEqual(try seats(stand, coordinator), ["Ann 1 Bob 1", "Ann 2 Ann 2", "Bob 1 Ann 1"], "seats")
    },
    ConformanceCase(
      "uniqueness", "a key is free again when its reference is given up or its target has gone",
      needs: [.uniqueness]
    ) { stand in
      let (coordinator, context) = try seats(stand)
      let ann = try context.one("Person", "name", .string("Ann"))
      try context.one("Seat", "note", .string("Ann 1")).setValue(nil, forKey: "person")
      context.make("Seat", ["person": ann, "row": 1 as Int64, "note": "another"])
      try context.save()
      try expectEqual(
        try seats(stand, coordinator), ["- 1 Ann 1", "Ann 1 another", "Ann 2 Ann 2", "Bob 1 Bob 1"],
        "given up")
      context.delete(ann)
      try context.save()
      try expectEqual(
        try seats(stand, coordinator), ["- 1 Ann 1", "- 1 another", "- 2 Ann 2", "Bob 1 Bob 1"], "gone")
    },
    ConformanceCase("uniqueness", "of a lone reference without inverse", needs: [.uniqueness]) { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let desks = (1...2).map { context.make("Desk", ["room": "r\($0)"]) }
      let seats = desks.map { context.make("Seat", ["screen": $0]) }
      try context.save()
      seats[1].setValue(desks[0], forKey: "screen")
      try expectCode(.managedObjectConstraintMerge, "the save") { try context.save() }
      seats[0].setValue(desks[1], forKey: "screen")
      try context.save()
      try expectEqual(
        try stand.context(on: coordinator).all("Seat").compactMap { $0.object("screen")?.text("room") }
          .sorted(), ["r1", "r2"], "the rooms")
    },
    ConformanceCase(
      "uniqueness", "of references, in batches", needs: [.uniqueness, .batches, .clearing]
    ) { stand in
      let (coordinator, context) = try seats(stand)
      try expectCode(.managedObjectConstraintMerge, "the batch update") {
        _ = try context.execute(
          BatchUpdateRequest(entityName: "Seat", propertiesToUpdate: ["row": 3 as Int64]))
      }
      let expression = try FetchExpression(format: "row + 1")
      _ = try context.execute(BatchUpdateRequest(entityName: "Seat", propertiesToUpdate: ["row": expression]))
      try expectEqual(
        try seats(stand, coordinator), ["Ann 2 Ann 1", "Ann 3 Ann 2", "Bob 2 Bob 1"], "moved on")
      var request = FetchRequest<ManagedObject>(entityName: "Person")
      request.predicate = .comparison(key: "name", .equal, .string("Ann"))
      _ = try context.execute(BatchDeleteRequest(fetchRequest: request))
      _ = try context.execute(BatchUpdateRequest(entityName: "Seat", propertiesToUpdate: ["row": 9 as Int64]))
      try expectEqual(
        try seats(stand, coordinator), ["- 9 Ann 1", "- 9 Ann 2", "Bob 9 Bob 1"], "after the deletion")
    },
  ]
}
