import Foundation
import Strata
import Testing

/// What the merge policies make of duplicates (rule 205).
struct DuplicateInsertTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(CatalogueModel.make())
    context = store.context()
  }

  @Test(
    "rule 205: what happens to the values of a new object that is stored already",
    arguments: [
      (.mergeByPropertyObjectTrump, "mine", 5, "kept"), (.mergeByPropertyStoreTrump, "stored", 5, "kept"),
      (.overwrite, "mine", 0, nil), (.rollback, "stored", 5, "kept"),
    ] as [(MergePolicyType, String, Int64, String?)])
  func values(type: MergePolicyType, name: String, price: Int64, note: String?) throws {
    let writer = store.context()
    let stored = writer.new("Product", ["sku": "a", "name": "stored", "price": 5, "note": "kept"])
    try writer.save()
    context.mergePolicy = MergePolicy(merge: type)
    let duplicate = context.new("Product", ["sku": "a", "name": "mine"])
    context.new("Product", ["sku": "b", "name": "other"])
    try context.save()
    #expect(!context.hasChanges && duplicate.managedObjectContext == nil && !duplicate.isInserted)
    try store.fresh { reader in
      let product = try reader.product("a")
      #expect(product.objectID == stored.objectID)
      #expect(product["name"] as? String == name && product["price"] as? Int64 == price)
      #expect(product["note"] as? String == note)
      #expect(try reader.all("Product").count == 2)
    }
    #expect(try store.problems().isEmpty)
  }

  @Test("rule 205: a duplicate that says nothing new writes nothing", arguments: settlingPolicies)
  func nothingNew(type: MergePolicyType) throws {
    try store.stock(["a": "same"])
    context.mergePolicy = MergePolicy(merge: type)
    context.new("Product", ["sku": "a", "name": "same"])
    let log = Log<Set<ManagedObjectID>>()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectIDsNotification, object: context, queue: nil
    ) { note in
      for key in ["inserted_objectIDs", "updated_objectIDs", "deleted_objectIDs"] {
        log.add(note.userInfo?[key] as? Set<ManagedObjectID> ?? [])
      }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    let before = try store.fresh { try $0.product("a").committedValues(forKeys: nil).count }
    try context.save()
    #expect(log.list.count == 3 && log.list[0].isEmpty && log.list[2].isEmpty)
    #expect(try store.fresh { try $0.product("a").committedValues(forKeys: nil).count } == before)
    #expect(!context.hasChanges)
  }

  @Test("rule 205: transient values that are set go with the others")
  func transientValues() throws {
    try store.stock(["a": "stored"])
    context.mergePolicy = .mergeByPropertyObjectTrump
    let kept = try context.product("a")
    kept["mood"] = "kept"
    context.new("Product", ["sku": "a"])
    try context.save()
    #expect(kept["mood"] as? String == "kept")
    context.new("Product", ["sku": "a", "mood": "new"])
    try context.save()
    #expect(kept["mood"] as? String == "new")
  }

  @Test(
    "rule 205: relationships are merged under object trump: to-many united, to-one of the duplicate if it set one"
  )
  func relationships() throws {
    let writer = store.context()
    let stored = writer.new("Product", ["sku": "a"])
    (stored["vendor"], stored["box"]) = (
      writer.new("Vendor", ["code": "old", "name": "old"]), writer.new("Box")
    )
    stored["tags"] = Set([writer.new("Tag", ["name": "x"]), writer.new("Tag", ["name": "y"])])
    stored["parts"] = [writer.new("Bolt", ["serial": 1])]
    try writer.save()
    let vendor = context.new("Vendor", ["code": "new", "name": "new"])
    let known = try #require(try context.all("Tag", Attribute("name") == "y").first)
    let duplicate = context.new("Product", ["sku": "a"])
    duplicate["vendor"] = vendor
    duplicate["tags"] = Set([known, context.new("Tag", ["name": "z"])])
    duplicate["parts"] = [context.new("Nut", ["serial": 2]), context.new("Nut", ["serial": 3])]
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    for reader in [context, store.context()] {
      let product = try reader.product("a")
      #expect(product.end("vendor")?["name"] as? String == "new" && product.end("box") != nil)
      #expect(product.names("tags") == ["x", "y", "z"])
      #expect((product["parts"] as? [ManagedObject])?.map { $0["serial"] as? Int64 } == [1, 2, 3])
      #expect(product.end("vendor")?.names("products") == ["a"])
      let old = try reader.all("Vendor", Attribute("code") == "old")[0]
      #expect(old.names("products") == [])
    }
    #expect(try store.problems().isEmpty)
  }

  @Test(
    "rule 205: what others say of the duplicate they say of the record that is kept",
    arguments: settlingPolicies)
  func referencesToTheDuplicate(type: MergePolicyType) throws {
    try store.stock(["a": "stored"])
    context.mergePolicy = MergePolicy(merge: type)
    let duplicate = context.new("Product", ["sku": "a"])
    let bolt = context.new("Bolt", ["serial": 1])
    bolt["product"] = duplicate
    let tag = context.new("Tag", ["name": "x"])
    tag["products"] = Set([duplicate])
    let order = context.new("Order", ["name": "one"])
    order["item"] = duplicate
    order["extras"] = Set([duplicate, context.new("Product", ["sku": "b"])])
    try context.save()
    for reader in [context, store.context()] {
      let product = try reader.product("a")
      #expect(try reader.all("Bolt")[0].end("product") === product)
      #expect(try reader.all("Tag")[0].names("products") == ["a"])
      let order = try reader.all("Order")[0]
      #expect(order.end("item") === product && order.names("extras") == ["a", "b"])
    }
    #expect(try store.problems().isEmpty)
  }

  @Test("rule 205: a duplicate that refers to the record it duplicates, or to itself")
  func selfReference() throws {
    let model = ManagedObjectModel(entities: [
      {
        let person = EntityDescription(
          "Person", properties: [AttributeDescription("name", .string)], uniquenessConstraints: [["name"]])
        let boss = RelationshipDescription("boss", to: person, maxCount: 1)
        let team = RelationshipDescription("team", to: person, maxCount: 0)
        (boss.inverseRelationship, team.inverseRelationship) = (team, boss)
        let friends = RelationshipDescription("friends", to: person, maxCount: 0)
        friends.inverseRelationship = friends
        person.properties += [boss, team, friends]
        return person
      }()
    ])
    let store = try TemporaryStore(model)
    let context = store.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let ann = context.new("Person", ["name": "Ann"])
    try context.save()
    let twin = context.new("Person", ["name": "Ann"])
    (twin["boss"], twin["friends"]) = (ann, Set([ann, twin]))
    try context.save()
    #expect(ann.end("boss") == nil && ann.names("friends") == [] && ann.names("team") == [])
    let other = context.new("Person", ["name": "Ann"])
    other["boss"] = other
    try context.save()
    #expect(ann.end("boss") === ann && ann.names("team") == ["Ann"])
    #expect(try store.problems().isEmpty)
  }

  @Test(
    "rule 205: the same between new objects of one save: the oldest is kept",
    arguments: [
      (.mergeByPropertyObjectTrump, "third", 7, "first"), (.mergeByPropertyStoreTrump, "first", 0, "first"),
      (.overwrite, "third", 0, nil), (.rollback, "first", 0, "first"),
    ] as [(MergePolicyType, String, Int64, String?)])
  func withinASave(type: MergePolicyType, name: String, price: Int64, note: String?) throws {
    context.mergePolicy = MergePolicy(merge: type)
    let first = context.new("Product", ["sku": "a", "name": "first", "note": "first"])
    let second = context.new("Product", ["sku": "a", "name": "second", "price": 7])
    let third = context.new("Product", ["sku": "a", "name": "third"])
    try context.save()
    #expect(first.managedObjectContext === context && !first.isInserted)
    #expect(second.managedObjectContext == nil && third.managedObjectContext == nil)
    #expect(try store.products() == ["a \(name) \(price)"])
    #expect(first["note"] as? String == note)
  }

  @Test("rule 205: several new objects and a stored one end as one record", arguments: settlingPolicies)
  func manyAndAStoredOne(type: MergePolicyType) throws {
    try store.stock(["a": "stored"])
    let policy = CountingPolicy(merge: type)
    context.mergePolicy = policy
    for number in 0..<10 { context.new("Product", ["sku": "a", "name": "\(number)"]) }
    try context.save()
    let isYielding = type == .rollback || type == .mergeByPropertyStoreTrump
    #expect(try store.products() == ["a \(isYielding ? "stored" : "9") 0"])
    #expect(policy.calls == 1)
  }

  @Test("a policy can be asked about one object for two constraints: the next attempt settles what is left")
  func twoConstraints() throws {
    let writer = store.context()
    let one = writer.new("Product", ["sku": "a", "name": "one"])
    let two = writer.new("Product", ["maker": "ACME", "model": 1, "name": "two", "note": "of two"])
    two["tags"] = Set([writer.new("Tag", ["name": "x"])])
    try writer.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.new("Product", ["sku": "a", "maker": "ACME", "model": 1, "name": "new"])
    try context.save()
    try store.fresh { reader in
      let all = try reader.all("Product")
      #expect(all.map(\.objectID) == [one.objectID])
      #expect(all[0]["name"] as? String == "new" && all[0]["model"] as? Int64 == 1)
      #expect(all[0].names("tags") == ["x"])
    }
  }

  // MARK: Hierarchies

  @Test("rule 205: a duplicate of a superentity is merged into the more special record")
  func intoASubentity() throws {
    let bolt = context.new("LongBolt", ["serial": 1, "length": 5])
    try context.save()
    context.mergePolicy = .overwrite
    context.new("Bolt", ["serial": 1, "length": 6, "note": "new"])
    try context.save()
    #expect(bolt["length"] as? Int64 == 6 && bolt["note"] as? String == "new")
    #expect(try store.fresh { try $0.all("Part").count } == 1)
  }

  @Test("rule 205: a duplicate of a subentity takes the place of the less special record, and its values")
  func intoASuperentity() throws {
    let bolt = context.new("Bolt", ["serial": 1, "length": 5, "note": "old"])
    let product = context.new("Product", ["sku": "a"])
    product["parts"] = [bolt]
    try context.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let special = context.new("LongBolt", ["serial": 1, "length": 6])
    try context.save()
    #expect(special["note"] as? String == "old" && special["length"] as? Int64 == 6)
    #expect(special.end("product") === product && bolt.managedObjectContext == nil)
    #expect(try store.fresh { try $0.all("Part").count } == 1)
  }

  @Test("rule 205: what has no place in the stored record is refused, and nothing is changed")
  func siblings() throws {
    context.new("Nut", ["serial": 1, "width": 3])
    try context.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let bolt = context.new("Bolt", ["serial": 1, "length": 5])
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    #expect(context.insertedObjects == [bolt])
    context.mergePolicy = .overwrite
    try context.save()
    #expect(try store.fresh { try $0.all("Part").map { $0.entity.name } } == ["Bolt"])
  }

  @Test("rule 205: two siblings do not fit each other because each fits a new record of their superentity")
  func siblingsBesideTheirSuperentity() throws {
    let bolt = EntityDescription("Bolt", properties: [AttributeDescription("length", .integer64)])
    let nut = EntityDescription("Nut", properties: [AttributeDescription("width", .integer64)])
    let part = EntityDescription(
      "Part", properties: [AttributeDescription("serial", .integer64)], uniquenessConstraints: [["serial"]],
      subentities: [bolt, nut])
    let store = try TemporaryStore(ManagedObjectModel(entities: [part, bolt, nut]))
    let context = store.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let plain = context.new("Part", ["serial": 1])
    context.new("Bolt", ["serial": 1, "length": 5])
    let other = context.new("Nut", ["serial": 1])
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectConstraintMerge && context.insertedObjects.count == 3)
    context.delete(other)
    try context.save()
    #expect(plain.managedObjectContext == nil)
    try store.fresh { reader throws in
      #expect(try reader.all("Part").map { $0.entity.name } == ["Bolt"])
      #expect(try reader.all("Bolt").first?["length"] as? Int64 == 5)
    }
  }

  // MARK: What others are notified of

  @Test(
    "a duplicate is reported as deleted before the save is reported, and is no part of that",
    arguments: settlingPolicies)
  func notifications(type: MergePolicyType) throws {
    try store.stock(["a": "stored"])
    context.mergePolicy = MergePolicy(merge: type)
    let duplicate = context.new("Product", ["sku": "a", "name": "mine"])
    context.processPendingChanges()
    let events = Log<String>()
    let id = duplicate.objectID
    func observe(_ name: Notification.Name, _ word: String) -> any NSObjectProtocol {
      NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { note in
        for key in ["inserted", "updated", "deleted", "refreshed"] {
          for object in note.userInfo?[key] as? Set<ManagedObject> ?? [] {
            events.add("\(word) \(key) \(object.objectID == id ? "duplicate" : "stored")")
          }
        }
      }
    }
    let tokens = [
      observe(ManagedObjectContext.didChangeObjectsNotification, "change"),
      observe(ManagedObjectContext.didSaveObjectsNotification, "save"),
    ]
    defer { for token in tokens { NotificationCenter.default.removeObserver(token) } }
    try context.save()
    let isYielding = type == .rollback || type == .mergeByPropertyStoreTrump
    #expect(events.list.contains("change deleted duplicate"))
    #expect(!events.list.contains { $0.hasPrefix("save") && $0.hasSuffix("duplicate") })
    #expect(events.list.contains("save updated stored") == !isYielding)
    #expect(duplicate.isDeleted == false && duplicate.managedObjectContext == nil)
    #expect(duplicate["name"] as? String == "mine")
  }

  @Test("another context that merges the save is told of the kept record only")
  func mergedElsewhere() throws {
    try store.stock(["a": "stored"])
    let other = store.context()
    let seen = try other.product("a")
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.new("Product", ["sku": "a", "name": "mine"])
    let notes = Log<Notification>()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: context, queue: nil
    ) { notes.add($0) }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    other.mergeChanges(fromContextDidSave: try #require(notes.first))
    #expect(seen["name"] as? String == "mine" && !other.hasChanges)
    #expect(try other.all("Product").count == 1)
  }

  @Test("undo brings the duplicate back and gives the kept record its values")
  func undo() throws {
    try store.stock(["a": "stored"])
    context.undoManager = UndoManager()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let duplicate = context.new("Product", ["sku": "a", "name": "mine"])
    try context.save()
    let kept = try context.product("a")
    #expect(kept["name"] as? String == "mine")
    context.undo()
    #expect(kept["name"] as? String == "stored")
    #expect(duplicate.isInserted && duplicate["name"] as? String == "mine")
    try context.save()
    #expect(try store.products() == ["a mine 0"])
  }

  @Test("validation checks what the merge has made")
  func validation() throws {
    let model = CatalogueModel.make()
    (model.entitiesByName["Product"]?.relationshipsByName["tags"])?.maxCount = 2
    let store = try TemporaryStore(model)
    let context = store.context()
    let first = context.new("Product", ["sku": "a"])
    first["tags"] = Set([context.new("Tag", ["name": "x"]), context.new("Tag", ["name": "y"])])
    try context.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.new("Product", ["sku": "a"])["tags"] = Set([context.new("Tag", ["name": "z"])])
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationRelationshipExceedsMaximumCount)
    #expect(try store.fresh { try $0.all("Tag").count } == 2)
  }

  // MARK: How much work it is

  @Test(
    "all conflicts of an attempt are settled together, in one more attempt, whatever their number")
  func workGrowsWithTheConflicts() throws {
    // Enough for what large saves do ahead of the store's answer.
    let count = 12_000
    let writer = store.context()
    for number in 0..<count / 2 { writer.new("Product", ["sku": "\(number * 2)", "name": "stored"]) }
    try writer.save()
    let policy = CountingPolicy(merge: .mergeByPropertyObjectTrump)
    context.mergePolicy = policy
    for number in 0..<count { context.new("Product", ["sku": "\(number)", "name": "new"]) }
    try context.save()
    #expect(policy.calls == 1 && policy.conflicts == count / 2)
    #expect(context.statistics.saveAttempts == 2)
    // One object for each stored record, none looked for one by one.
    #expect(context.statistics.objectsMade == count / 2 && context.statistics.faultsFired == 0)
    #expect(context.statistics.fetches == 0)
    let names = try store.fresh { try $0.all("Product").map { $0["name"] as? String } }
    #expect(names.count == count && names.allSatisfy { $0 == "new" })
  }
}
