import Foundation
import StrataCore

extension StoreConformance {
  // MARK: Deletions

  static let deletionCases: [ConformanceCase] = [
    ConformanceCase("deletion", "an object goes, the others stay") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let items = (0..<5).map { context.make("Item", ["number": Int64($0)]) }
      try context.save()
      context.delete(items[2])
      try context.save()
      let found = try stand.context(on: coordinator).all("Item", by: FetchSort("number"))
      try expectEqual(found.map { $0.integer("number") }, [0, 1, 3, 4], "the numbers")
    },
    ConformanceCase("deletion", "of a fault that was never read") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let id = context.make("Item", ["number": 1 as Int64]).objectID
      try context.save()
      let other = stand.context(on: coordinator)
      other.delete(other.object(with: id))
      try other.save()
      try expect(try stand.context(on: coordinator).all("Item").isEmpty, "the item is there still")
    },
    ConformanceCase("deletion", "of a new object writes nothing") { stand in
      let context = try stand.context()
      context.delete(context.make("Item"))
      try context.save()
      try expect(try context.all("Item").isEmpty, "there is an item")
    },
    ConformanceCase("deletion", "nullify: the members lose their owner") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let boss = context.make("Person", ["name": "b"])
      for name in ["x", "y"] { context.make("Person", ["name": name, "boss": boss]) }
      try context.save()
      let other = stand.context(on: coordinator)
      other.delete(try other.one("Person", "name", "b"))
      try other.save()
      let found = try stand.context(on: coordinator).all("Person", by: FetchSort("name"))
      try expectEqual(texts(found, "name"), ["x", "y"], "who is left")
      try expect(found.allSatisfy { $0.object("boss") == nil }, "somebody has the boss still")
    },
    ConformanceCase("deletion", "nullify: the owner loses a member") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let boss = context.make("Person", ["name": "b"])
      let team = ["x", "y"].map { context.make("Person", ["name": $0, "boss": boss]) }
      try context.save()
      context.delete(team[0])
      try context.save()
      try expectEqual(boss.members("team"), [team[1]], "the team here")
      let found = try stand.context(on: coordinator).one("Person", "name", "b")
      try expectEqual(texts(found.members("team"), "name"), ["y"], "the team")
    },
    ConformanceCase("deletion", "nullify: both sides of a many-to-many") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let groups = Set(["g", "h"].map { context.make("Group", ["title": $0]) })
      for name in ["x", "y"] { context.make("Person", ["name": name, "groups": groups]) }
      try context.save()
      let other = stand.context(on: coordinator)
      other.delete(try other.one("Group", "title", "g"))
      other.delete(try other.one("Person", "name", "x"))
      try other.save()
      let seen = stand.context(on: coordinator)
      try expectEqual(
        texts(try seen.one("Person", "name", "y").members("groups"), "title"), ["h"], "the groups")
      try expectEqual(
        texts(try seen.one("Group", "title", "h").members("people"), "name"), ["y"], "the people")
    },
    ConformanceCase("deletion", "cascade: the members go, in any depth of a one-to-one and a one-to-many") {
      stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let pages = ["1", "2"].map { context.make("Page", ["text": $0]) }
      context.make("Person", ["name": "p", "diary": pages, "desk": context.make("Desk", ["room": "r"])])
      context.make("Page", ["text": "3"])
      try context.save()
      let other = stand.context(on: coordinator)
      other.delete(try other.one("Person", "name", "p"))
      try other.save()
      let seen = stand.context(on: coordinator)
      try expectEqual(texts(try seen.all("Page"), "text"), ["3"], "the pages")
      try expect(try seen.all("Desk").isEmpty, "the desk is there still")
    },
    ConformanceCase("deletion", "an ordered relationship closes its gaps") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let pages = (0..<4).map { context.make("Page", ["text": "\($0)"]) }
      context.make("Person", ["name": "p", "diary": pages])
      try context.save()
      context.delete(pages[1])
      try context.save()
      let found = try stand.context(on: coordinator).one("Person", "name", "p")
      try expectEqual(texts(found.list("diary"), "text"), ["0", "2", "3"], "the diary")
    },
    ConformanceCase("deletion", "deny: a group with a guard stays") { stand in
      let context = try stand.context()
      let group = context.make("Group", ["title": "g"])
      let guardian = context.make("Person", ["name": "p", "guarded": group])
      try context.save()
      context.delete(group)
      try expectCode(.validationRelationshipDeniedDelete, "a denied deletion") { try context.save() }
      context.rollback()
      context.delete(guardian)
      context.delete(group)
      try context.save()
      try expect(try context.all("Group").isEmpty && context.all("Person").isEmpty, "not both are gone")
    },
    ConformanceCase("deletion", "without an inverse: references are cleared", needs: [.clearing]) { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      context.make("Person", ["name": "p", "mentor": context.make("Person", ["name": "m"])])
      try context.save()
      let other = stand.context(on: coordinator)
      other.delete(try other.one("Person", "name", "m"))
      try other.save()
      try expect(
        try stand.context(on: coordinator).one("Person", "name", "p").object("mentor") == nil, "a mentor")
    },
    ConformanceCase("deletion", "rolled back") { stand in
      let context = try stand.context()
      let item = context.make("Item", ["number": 1 as Int64])
      try context.save()
      context.delete(item)
      context.rollback()
      try expectEqual(item.integer("number"), 1, "the number")
      try expect(!context.hasChanges, "there are changes")
    },
    ConformanceCase("deletion", "of many at once") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      for number in 0..<500 as Range<Int64> { context.make("Item", ["number": number]) }
      try context.save()
      for item in try context.all("Item", format: "number >= 10", by: "number") { context.delete(item) }
      try context.save()
      try expectEqual(try stand.context(on: coordinator).all("Item").count, 10, "items")
    },
  ]

  // MARK: Conflicts

  private enum Act: String, CaseIterable {
    case update, delete
  }

  static let conflictCases: [ConformanceCase] =
    [MergePolicyType.error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback]
    .flatMap {
      policy in Act.allCases.flatMap { first in Act.allCases.map { conflict(policy, first, $0) } }
    } + otherConflicts

  private static func policy(_ type: MergePolicyType) -> MergePolicy {
    switch type {
    case .error: .error
    case .mergeByPropertyStoreTrump: .mergeByPropertyStoreTrump
    case .mergeByPropertyObjectTrump: .mergeByPropertyObjectTrump
    case .overwrite: .overwrite
    case .rollback: .rollback
    @unknown default: .error
    }
  }

  /// One context saves before the other, which has not seen it: the record as it is in the end, small and string, nil when it is gone.
  private static func wanted(_ policy: MergePolicyType, _ first: Act, _ second: Act) -> [String]? {
    switch (policy, first, second) {
    case (.error, .update, _), (.rollback, .update, _): ["1", "first", "first"]
    case (.error, .delete, _), (.rollback, .delete, _), (.mergeByPropertyStoreTrump, .delete, _): nil
    case (_, .delete, .delete): nil
    case (.mergeByPropertyStoreTrump, .update, .update): ["2", "first", "first"]
    case (.mergeByPropertyStoreTrump, .update, .delete): ["1", "first", "first"]
    case (_, .update, .delete): nil
    case (.mergeByPropertyObjectTrump, .update, .update): ["2", "second", "first"]
    case (_, .update, .update): ["2", "second", "old"]
    case (_, .delete, .update): ["2", "second", "old"]
    }
  }

  private static func conflict(_ type: MergePolicyType, _ first: Act, _ second: Act) -> ConformanceCase {
    ConformanceCase("conflicts", "\(type): \(first.rawValue), then \(second.rawValue) by another") { stand in
      let coordinator = try stand.open()
      let one = stand.context(on: coordinator)
      let item = one.make("Item", ["number": 7 as Int64, "small": 1 as Int64, "string": "old", "url": nil])
      item.setValue(URL(string: "http://old.example/"), forKey: "url")
      try one.save()
      let two = stand.context(on: coordinator)
      two.mergePolicy = policy(type)
      let seen = try two.one("Item", "number", 7)
      _ = seen.text("string")
      switch first {
      case .update:
        item.setValue("first", forKey: "string")
        item.setValue(URL(string: "http://first.example/"), forKey: "url")
      case .delete: one.delete(item)
      }
      try one.save()
      switch second {
      case .update:
        seen.setValue("second", forKey: "string")
        seen.setValue(2 as Int64, forKey: "small")
      case .delete: two.delete(seen)
      }
      if type == .error, !(first == .delete && second == .delete) {
        try expectConflict("the second save") { try two.save() }
      } else {
        try? two.save()
      }
      let found = try stand.context(on: coordinator).all("Item", .comparison(key: "number", .equal, 7))
      let state = found.first.map { item in
        [
          "\(item.integer("small") ?? -1)", item.text("string"),
          (item.value(forKey: "url") as? URL)?.host ?? "nil",
        ].map { $0.replacingOccurrences(of: ".example", with: "") }
      }
      try expectEqual(state, wanted(type, first, second), "the record")
    }
  }

  private static let otherConflicts: [ConformanceCase] = [
    ConformanceCase("conflicts", "all rows in conflict are told at once") { stand in
      let coordinator = try stand.open()
      let one = stand.context(on: coordinator)
      let items = (0..<5).map { one.make("Item", ["number": Int64($0)]) }
      try one.save()
      let two = stand.context(on: coordinator)
      for item in try two.all("Item") { item.setValue("two", forKey: "string") }
      for item in items.prefix(3) { item.setValue("one", forKey: "string") }
      try one.save()
      let error = try expectError("the save") { try two.save() } as? CoreDataError
      let conflicts = error?.userInfo[CoreDataError.Key.saveConflicts] as? [MergeConflict] ?? []
      try expectEqual(
        Set(conflicts.map { $0.sourceObject.integer("number") ?? -1 }), [0, 1, 2], "the conflicts")
      try expectEqual(
        try stand.context(on: coordinator).all("Item", format: "string == 'two'", by: "number").count, 0,
        "rows that were written all the same")
    },
    ConformanceCase("conflicts", "a conflict is told before a duplicate", needs: [.uniqueness]) { stand in
      let coordinator = try stand.open()
      let one = stand.context(on: coordinator)
      let account = one.make("Account", ["number": 1 as Int64, "balance": 1.0])
      try one.save()
      let two = stand.context(on: coordinator)
      try two.one("Account", "number", 1).setValue(2.0, forKey: "balance")
      two.make("Account", ["number": 1 as Int64])
      account.setValue(3.0, forKey: "balance")
      try one.save()
      try expectConflict("the save") { try two.save() }
    },
    ConformanceCase("conflicts", "detectConflicts: a record that was only looked at") { stand in
      let coordinator = try stand.open()
      let one = stand.context(on: coordinator)
      let item = one.make("Item", ["number": 1 as Int64])
      one.make("Item", ["number": 2 as Int64])
      try one.save()
      let two = stand.context(on: coordinator)
      let seen = try two.one("Item", "number", 1)
      _ = seen.integer("number")
      two.detectConflicts(for: seen)
      try two.one("Item", "number", 2).setValue("x", forKey: "string")
      item.setValue("changed", forKey: "string")
      try one.save()
      try expectConflict("the save") { try two.save() }
    },
    ConformanceCase("conflicts", "different properties of one record, retried after refresh") { stand in
      let coordinator = try stand.open()
      let one = stand.context(on: coordinator)
      let item = one.make("Item", ["number": 1 as Int64])
      try one.save()
      let two = stand.context(on: coordinator)
      let seen = try two.one("Item", "number", 1)
      _ = seen.integer("number")
      item.setValue("one", forKey: "string")
      try one.save()
      seen.setValue(5 as Int64, forKey: "small")
      try expectConflict("the save") { try two.save() }
      two.refresh(seen, mergeChanges: true)
      try two.save()
      let last = try stand.context(on: coordinator).one("Item", "number", 1)
      try expectEqual(last.text("string"), "one", "the string")
      try expectEqual(last.integer("small"), 5, "the number")
    },
    ConformanceCase("conflicts", "a save after a save of one's own is none") { stand in
      let context = try stand.context()
      let item = context.make("Item", ["number": 0 as Int64])
      for number in 1...20 as ClosedRange<Int64> {
        item.setValue(number, forKey: "number")
        try context.save()
      }
      try expectEqual(item.integer("number"), 20, "the number")
    },
    ConformanceCase("conflicts", "counters of many contexts add up, each tried until it is saved") { stand in
      let coordinator = try stand.open()
      let first = stand.context(on: coordinator)
      first.make("Item", ["number": 1 as Int64, "large": 0 as Int64])
      try first.save()
      let contexts = (0..<4).map { _ in stand.context(on: coordinator) }
      for _ in 0..<5 {
        let items = try contexts.map { try $0.one("Item", "number", 1) }
        for (context, item) in zip(contexts, items) {
          for _ in 0..<10 {
            item.setValue((item.integer("large") ?? 0) + 1, forKey: "large")
            if (try? context.save()) != nil { break }
            context.rollback()
            context.refresh(item, mergeChanges: false)
          }
        }
      }
      try expectEqual(
        try stand.context(on: coordinator).one("Item", "number", 1).integer("large"), 20, "the sum")
    },
    ConformanceCase("conflicts", "automatic merging shows what others save") { stand in
      let coordinator = try stand.open()
      let one = stand.context(on: coordinator)
      let item = one.make("Item", ["number": 1 as Int64, "string": "a"])
      try one.save()
      let two = ManagedObjectContext(.privateQueue, coordinator: coordinator)
      two.automaticallyMergesChangesFromParent = true
      let seen = try two.performAndWait {
        let seen = try two.one("Item", "number", 1)
        try expectEqual(seen.text("string"), "a", "before")
        return seen
      }
      item.setValue("b", forKey: "string")
      try one.save()
      // What was told of the save is ahead of this in the queue.
      try two.performAndWait { try expectEqual(seen.text("string"), "b", "after") }
    },
  ]

  // MARK: Uniqueness

  /// Accounts with owners and years, which are unique together.
  private static func pairs(_ stand: ConformanceStand) throws -> (
    PersistentStoreCoordinator, ManagedObjectContext
  ) {
    let coordinator = try stand.open()
    let context = stand.context(on: coordinator)
    let pairs: [(String, Int64)] = [("a", 1), ("a", 2), ("b", 3), ("c", 3), ("d", 5)]
    for (place, pair) in pairs.enumerated() {
      context.make("Account", ["number": Int64(place + 1), "owner": pair.0, "year": pair.1])
    }
    try context.save()
    return (coordinator, context)
  }

  /// What the store holds of them: number, owner and year.
  private static func pairs(_ stand: ConformanceStand, _ coordinator: PersistentStoreCoordinator) throws
    -> [String]
  {
    try stand.context(on: coordinator).all("Account", by: FetchSort("number")).map {
      "\($0.integer("number") ?? -1) \($0.text("owner")) \($0.integer("year") ?? -1)"
    }
  }

  static let uniquenessCases: [ConformanceCase] = [
    ConformanceCase("uniqueness", "a duplicate of a stored record", needs: [.uniqueness]) { stand in
      let coordinator = try stand.open()
      let one = stand.context(on: coordinator)
      one.make("Account", ["number": 1 as Int64])
      try one.save()
      let two = stand.context(on: coordinator)
      two.make("Account", ["number": 1 as Int64])
      try expectCode(.managedObjectConstraintMerge, "the save") { try two.save() }
      try expectEqual(try stand.context(on: coordinator).all("Account").count, 1, "accounts")
    },
    ConformanceCase("uniqueness", "two duplicates in one save", needs: [.uniqueness]) { stand in
      let context = try stand.context()
      for _ in 0..<2 { context.make("Account", ["number": 1 as Int64]) }
      try expectCode(.managedObjectConstraintMerge, "the save") { try context.save() }
      try expect(try stand.context(on: try stand.open()).all("Account").isEmpty, "one was written")
    },
    ConformanceCase("uniqueness", "nil is no duplicate of nil", needs: [.uniqueness]) { stand in
      let context = try stand.context()
      for _ in 0..<3 { context.make("Account", ["owner": "x"]) }
      try context.save()
      try expectEqual(try context.all("Account").count, 3, "accounts")
    },
    ConformanceCase("uniqueness", "of two attributes together", needs: [.uniqueness]) { stand in
      let context = try stand.context()
      for (owner, year) in [("a", 1), ("a", 2), ("b", 1)] as [(String, Int64)] {
        context.make("Account", ["owner": owner, "year": year])
      }
      try context.save()
      context.make("Account", ["owner": "a", "year": 2 as Int64])
      try expectCode(.managedObjectConstraintMerge, "the save") { try context.save() }
    },
    ConformanceCase("uniqueness", "a value is free again when its record has gone", needs: [.uniqueness]) {
      stand in
      let context = try stand.context()
      let account = context.make("Account", ["number": 1 as Int64])
      try context.save()
      context.delete(account)
      context.make("Account", ["number": 1 as Int64])
      try context.save()
      try expectEqual(try context.all("Account").count, 1, "accounts")
    },
    ConformanceCase("uniqueness", "values are swapped in one save", needs: [.uniqueness]) { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let accounts = (1...2).map { context.make("Account", ["number": Int64($0), "owner": "o\($0)"]) }
      try context.save()
      accounts[0].setValue(2 as Int64, forKey: "number")
      accounts[1].setValue(1 as Int64, forKey: "number")
      try context.save()
      try expectEqual(
        try stand.context(on: coordinator).one("Account", "number", 2).text("owner"), "o1", "the owner")
    },
    ConformanceCase(
      "uniqueness", "one of two attributes changes, the other stays", needs: [.uniqueness]
    ) { stand in
      let (coordinator, context) = try pairs(stand)
      let accounts = try context.all("Account", by: FetchSort("number"))
      // The first two exchange their years; the third and fourth take values that others leave, one by each attribute.
      accounts[0].setValue(2 as Int64, forKey: "year")
      accounts[1].setValue(1 as Int64, forKey: "year")
      accounts[2].setValue(8 as Int64, forKey: "year")
      accounts[3].setValue("b", forKey: "owner")
      try context.save()
      try expectEqual(
        try pairs(stand, coordinator), ["1 a 2", "2 a 1", "3 b 8", "4 b 3", "5 d 5"], "the accounts")
    },
    ConformanceCase(
      "uniqueness", "a batch update changes one of two attributes, the other stays",
      needs: [.uniqueness, .batches]
    ) { stand in
      let (coordinator, context) = try pairs(stand)
      let expression = try FetchExpression(format: "year + 1")
      _ = try context.execute(
        BatchUpdateRequest(entityName: "Account", propertiesToUpdate: ["year": expression]))
      try expectEqual(
        try pairs(stand, coordinator), ["1 a 2", "2 a 3", "3 b 4", "4 c 4", "5 d 6"], "by an expression")
      _ = try context.execute(
        BatchUpdateRequest(
          entityName: "Account", predicate: .comparison(key: "number", .greater, 2),
          propertiesToUpdate: ["year": 7 as Int64]))
      try expectEqual(
        try pairs(stand, coordinator), ["1 a 2", "2 a 3", "3 b 7", "4 c 7", "5 d 7"], "by a constant")
    },
    ConformanceCase("uniqueness", "object trump: the stored record takes the values", needs: [.uniqueness]) {
      stand in
      let coordinator = try stand.open()
      let one = stand.context(on: coordinator)
      let first = one.make("Account", ["number": 1 as Int64, "balance": 1.0, "owner": "stored"])
      try one.save()
      let two = stand.context(on: coordinator)
      two.mergePolicy = .mergeByPropertyObjectTrump
      two.make("Account", ["number": 1 as Int64, "balance": 2.0])
      try two.save()
      let found = try stand.context(on: coordinator).all("Account")
      try expectEqual(found.map { $0.value(forKey: "balance") as? Double }, [2.0], "the balances")
      try expectEqual(found.first?.objectID, first.objectID, "the record")
    },
    ConformanceCase("uniqueness", "store trump: the stored record stays", needs: [.uniqueness]) { stand in
      let coordinator = try stand.open()
      let one = stand.context(on: coordinator)
      one.make("Account", ["number": 1 as Int64, "balance": 1.0])
      try one.save()
      let two = stand.context(on: coordinator)
      two.mergePolicy = .mergeByPropertyStoreTrump
      two.make("Account", ["number": 1 as Int64, "balance": 2.0])
      try two.save()
      let found = try stand.context(on: coordinator).all("Account")
      try expectEqual(found.map { $0.value(forKey: "balance") as? Double }, [1.0], "the balances")
    },
  ]
}
