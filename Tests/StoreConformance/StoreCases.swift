import Foundation
import StrataCore

extension StoreConformance {
  // MARK: Identity

  static let identityCases: [ConformanceCase] = [
    ConformanceCase("identity", "an ID leads to its object, in every context") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let id = context.make("Item", ["number": 4 as Int64]).objectID
      try context.save()
      let other = stand.context(on: coordinator)
      try expectEqual(other.object(with: id).integer("number"), 4, "the number")
      try expectEqual(try other.existingObject(with: id).objectID, id, "the ID")
      try expect(other.object(with: id) === (try other.one("Item", "number", 4)), "two objects of one record")
    },
    ConformanceCase("identity", "a URI leads back to its ID") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let item = context.make("Item", ["number": 4 as Int64])
      try context.save()
      let found = coordinator.managedObjectID(forURIRepresentation: item.objectID.uriRepresentation())
      try expectEqual(found, item.objectID, "the ID")
      try expect(!item.objectID.isTemporaryID, "it is temporary")
    },
    ConformanceCase("identity", "the IDs of records that have gone are not given again") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      var seen: Set<ManagedObjectID> = []
      for _ in 0..<20 {
        let item = context.make("Item")
        try expect(seen.insert(item.objectID).inserted, "an ID came twice")
        try context.save()
        context.delete(item)
        try context.save()
      }
    },
    ConformanceCase("identity", "IDs are the same when the store is opened again", needs: [.persistence]) {
      stand in
      let context = try stand.context()
      let uri = try {
        let item = context.make("Item", ["number": 4 as Int64])
        try context.save()
        return item.objectID.uriRepresentation()
      }()
      try stand.close()
      let coordinator = try stand.open()
      guard let id = coordinator.managedObjectID(forURIRepresentation: uri) else {
        throw NotConforming(description: "\(uri) leads nowhere")
      }
      try expectEqual(stand.context(on: coordinator).object(with: id).integer("number"), 4, "the number")
    },
    ConformanceCase("identity", "an ID of no record") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let item = context.make("Item")
      try context.save()
      let id = item.objectID
      context.delete(item)
      try context.save()
      let other = stand.context(on: coordinator)
      try expectCode(.managedObjectReferentialIntegrity, "existingObject") {
        _ = try other.existingObject(with: id)
      }
    },
    ConformanceCase("identity", "fetched by their IDs, in a predicate") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let items = (0..<6).map { context.make("Item", ["number": Int64($0)]) }
      try context.save()
      let wanted = [1, 4].map { items[$0].objectID }
      let found = try stand.context(on: coordinator).all("Item", .selfIn(wanted), by: FetchSort("number"))
      try expectEqual(found.map(\.objectID), wanted, "the objects")
    },
    ConformanceCase("identity", "objects of an entity and its subentities") { stand in
      let context = try stand.context()
      for name in ["a", "b"] { context.make("Person", ["name": name]) }
      context.make("Manager", ["name": "m", "level": 2 as Int64])
      try context.save()
      try expectEqual(
        texts(try context.all("Person", by: FetchSort("name")), "name"), ["a", "b", "m"], "all")
      try expectEqual(texts(try context.all("Manager"), "name"), ["m"], "the subentity")
      var own = FetchRequest<ManagedObject>(entityName: "Person")
      own.includesSubentities = false
      try expectEqual(try context.fetch(own).count, 2, "without subentities")
      try expectEqual(try context.count(for: own), 2, "counted without subentities")
    },
  ]

  // MARK: Faults

  static let faultCases: [ConformanceCase] = [
    ConformanceCase("faults", "a fetched object is a fault until it is looked at") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      context.make("Item", ["number": 1 as Int64])
      try context.save()
      let item = try stand.context(on: coordinator).one("Item", "number", 1)
      try expect(item.isFault, "it is no fault")
      try expectEqual(item.integer("number"), 1, "the number")
      try expect(!item.isFault, "it is a fault still")
    },
    ConformanceCase("faults", "the record has gone meanwhile") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let item = context.make("Item", ["number": 1 as Int64])
      try context.save()
      let other = stand.context(on: coordinator)
      let fault = other.object(with: item.objectID)
      context.delete(item)
      try context.save()
      try expect(fault.value(forKey: "number") == nil && fault.isDeleted, "it is not inaccessible")
    },
    ConformanceCase("faults", "refresh shows what others have saved, under what is edited here") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let item = context.make("Item", ["number": 1 as Int64, "string": "a"])
      try context.save()
      let other = stand.context(on: coordinator)
      let seen = try other.one("Item", "number", 1)
      seen.setValue(9 as Int64, forKey: "small")
      item.setValue("b", forKey: "string")
      try context.save()
      other.refresh(seen, mergeChanges: true)
      try expectEqual(seen.text("string"), "b", "the string")
      try expectEqual(seen.integer("small"), 9, "the edit")
    },
    ConformanceCase("faults", "a context that is reset reads again") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let item = context.make("Item", ["number": 1 as Int64, "string": "a"])
      try context.save()
      let other = stand.context(on: coordinator)
      _ = try other.one("Item", "number", 1).text("string")
      item.setValue("b", forKey: "string")
      try context.save()
      other.reset()
      try expectEqual(try other.one("Item", "number", 1).text("string"), "b", "the string")
    },
    ConformanceCase("faults", "a child context sees its parent's edits, the store's rows below") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      for number in 0..<3 as Range<Int64> {
        context.make("Item", ["number": number, "string": "s\(number)"])
      }
      try context.save()
      let parent = ManagedObjectContext(.privateQueue, coordinator: coordinator)
      try parent.performAndWait {
        try parent.one("Item", "number", 1).setValue("edited", forKey: "string")
        parent.delete(try parent.one("Item", "number", 0))
      }
      let child = ManagedObjectContext(.privateQueue)
      child.parent = parent
      try child.performAndWait {
        try expectEqual(
          texts(try child.all("Item", by: FetchSort("number")), "string"), ["edited", "s2"], "the child's")
        try child.one("Item", "number", 2).setValue("child", forKey: "string")
        child.make("Item", ["number": 3 as Int64, "string": "new"])
        try child.save()
      }
      try expectEqual(
        texts(try stand.context(on: coordinator).all("Item", by: FetchSort("number")), "string"),
        ["s0", "s1", "s2"],
        "what is stored before the parent saves")
      try parent.performAndWait { try parent.save() }
      try expectEqual(
        texts(try stand.context(on: coordinator).all("Item", by: FetchSort("number")), "string"),
        ["edited", "child", "new"], "what is stored afterwards")
    },
    ConformanceCase("faults", "many objects, read in one pass") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      for number in 0..<3_000 as Range<Int64> {
        context.make("Item", ["number": number, "double": Double(number)])
      }
      try context.save()
      let found = try stand.context(on: coordinator).all("Item", by: FetchSort("number", ascending: false))
      try expectEqual(found.count, 3_000, "items")
      try expectEqual(
        found.reduce(0) { $0 + (($1.value(forKey: "double") as? Double) ?? 0) }, 4_498_500, "the sum")
    },
    ConformanceCase("faults", "derived attributes follow from others", needs: [.derivation]) { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let total = context.make("Total", ["name": "T"])
      let parts = (1...3).map { context.make("Part", ["amount": Int64($0), "total": total]) }
      try context.save()
      try expectEqual(total.integer("partCount"), 3, "parts")
      context.delete(parts[0])
      try context.save()
      try expectEqual(
        try stand.context(on: coordinator).one("Total", "name", "T").integer("partCount"), 2, "parts")
      try expectEqual(
        try stand.context(on: coordinator).all("Total", format: "partCount == 2", by: "name").count, 1,
        "found")
    },
  ]

  // MARK: Batches

  private static func filled(_ stand: ConformanceStand) throws -> (
    PersistentStoreCoordinator, ManagedObjectContext
  ) {
    let coordinator = try stand.open()
    let context = stand.context(on: coordinator)
    for number in 0..<10 as Range<Int64> { context.make("Item", ["number": number, "small": number % 2]) }
    try context.save()
    return (coordinator, stand.context(on: coordinator))
  }

  private static func numbers(
    _ stand: ConformanceStand, _ coordinator: PersistentStoreCoordinator, _ key: String = "number"
  ) throws
    -> [Int64]
  {
    try stand.context(on: coordinator).all("Item", by: FetchSort("number")).map { $0.integer(key) ?? -1 }
  }

  static let batchCases: [ConformanceCase] = [
    ConformanceCase("batches", "insert", needs: [.batches]) { stand in
      let (coordinator, context) = try filled(stand)
      var request = BatchInsertRequest(
        entityName: "Item", objects: (10..<15).map { ["number": Int64($0), "string": "s\($0)"] })
      request.resultType = .objectIDs
      let result = try context.execute(request)
      try expectEqual(result.count, 5, "the count")
      try expectEqual(try numbers(stand, coordinator), Array(0..<15), "the numbers")
      let ids = result.objectIDs ?? []
      try expectEqual(
        ids.map { context.object(with: $0).text("string") }, (10..<15).map { "s\($0)" }, "the objects")
    },
    ConformanceCase("batches", "update of what matches", needs: [.batches]) { stand in
      let (coordinator, context) = try filled(stand)
      let count = try context.execute(
        BatchUpdateRequest(
          entityName: "Item", predicate: .comparison(key: "small", .equal, 1),
          propertiesToUpdate: ["small": 7 as Int64])
      ).count
      try expectEqual(count, 5, "the count")
      try expectEqual(try numbers(stand, coordinator, "small"), [0, 7, 0, 7, 0, 7, 0, 7, 0, 7], "the values")
    },
    ConformanceCase("batches", "update by an expression", needs: [.batches]) { stand in
      let (coordinator, context) = try filled(stand)
      let expression = try FetchExpression(format: "number * 10")
      try _ = context.execute(
        BatchUpdateRequest(entityName: "Item", propertiesToUpdate: ["large": expression]))
      try expectEqual(try numbers(stand, coordinator, "large"), (0..<10).map { Int64($0 * 10) }, "the values")
    },
    ConformanceCase("batches", "update to nil", needs: [.batches]) { stand in
      let (coordinator, context) = try filled(stand)
      _ = try context.execute(
        BatchUpdateRequest(entityName: "Item", propertiesToUpdate: ["small": AttributeValue.null]))
      try expectEqual(try numbers(stand, coordinator, "small"), Array(repeating: -1, count: 10), "the values")
    },
    ConformanceCase("batches", "delete of what matches", needs: [.batches]) { stand in
      let (coordinator, context) = try filled(stand)
      var fetch = FetchRequest<ManagedObject>(entityName: "Item")
      fetch.predicate = .comparison(key: "number", .greater, 3)
      try expectEqual(try context.execute(BatchDeleteRequest(fetchRequest: fetch)).count, 6, "the count")
      try expectEqual(try numbers(stand, coordinator), [0, 1, 2, 3], "the numbers")
    },
    ConformanceCase("batches", "delete by IDs", needs: [.batches]) { stand in
      let (coordinator, context) = try filled(stand)
      let ids = try context.all("Item", format: "number IN {2, 5}", by: "number").map(\.objectID)
      try expectEqual(try context.execute(BatchDeleteRequest(objectIDs: ids)).count, 2, "the count")
      try expectEqual(try numbers(stand, coordinator), [0, 1, 3, 4, 6, 7, 8, 9], "the numbers")
    },
    ConformanceCase("batches", "delete in order, with a limit", needs: [.batches]) { stand in
      let (coordinator, context) = try filled(stand)
      var fetch = FetchRequest<ManagedObject>(entityName: "Item")
      fetch.sortDescriptors = [FetchSort("number", ascending: false)]
      fetch.fetchLimit = 4
      _ = try context.execute(BatchDeleteRequest(fetchRequest: fetch))
      try expectEqual(try numbers(stand, coordinator), [0, 1, 2, 3, 4, 5], "the numbers")
    },
    ConformanceCase("batches", "delete follows the delete rules", needs: [.batches]) { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let boss = context.make(
        "Person", ["name": "b", "diary": ["1", "2"].map { context.make("Page", ["text": $0]) }])
      context.make("Person", ["name": "w", "boss": boss])
      try context.save()
      var fetch = FetchRequest<ManagedObject>(entityName: "Person")
      fetch.predicate = .comparison(key: "name", .equal, "b")
      _ = try stand.context(on: coordinator).execute(BatchDeleteRequest(fetchRequest: fetch))
      let seen = stand.context(on: coordinator)
      try expect(try seen.all("Page").isEmpty, "the diary is there still")
      try expect(try seen.one("Person", "name", "w").object("boss") == nil, "there is a boss still")
    },
    ConformanceCase("batches", "an update is a conflict for who has edited the record", needs: [.batches]) {
      stand in
      let (coordinator, context) = try filled(stand)
      let editor = stand.context(on: coordinator)
      let item = try editor.one("Item", "number", 3)
      item.setValue("edited", forKey: "string")
      _ = try context.execute(
        BatchUpdateRequest(entityName: "Item", propertiesToUpdate: ["small": 9 as Int64]))
      try expectConflict("the save") { try editor.save() }
    },
    ConformanceCase(
      "batches", "duplicates are refused, and nothing is inserted", needs: [.batches, .uniqueness]
    ) { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      context.make("Account", ["number": 3 as Int64])
      try context.save()
      _ = try expectError("the batch") {
        _ = try context.execute(
          BatchInsertRequest(entityName: "Account", objects: (1...5).map { ["number": Int64($0)] }))
      }
      try expectEqual(try stand.context(on: coordinator).all("Account").count, 1, "accounts")
    },
    ConformanceCase("batches", "duplicates update the records there are", needs: [.batches, .uniqueness]) {
      stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      context.make("Account", ["number": 3 as Int64, "balance": 1.0, "owner": "o"])
      try context.save()
      context.mergePolicy = .mergeByPropertyObjectTrump
      _ = try context.execute(
        BatchInsertRequest(
          entityName: "Account", objects: (1...5).map { ["number": Int64($0), "balance": 2.0] }))
      let found = try stand.context(on: coordinator).all("Account", by: FetchSort("number"))
      try expectEqual(
        found.map { $0.value(forKey: "balance") as? Double }, Array(repeating: 2.0, count: 5), "the balances")
      try expectEqual(found[2].text("owner"), "o", "the owner")
    },
  ]

  // MARK: History

  private static func historyStack(_ stand: ConformanceStand) throws -> (
    PersistentStoreCoordinator, ManagedObjectContext
  ) {
    let coordinator = try stand.open { $0.recordsHistory = true }
    let context = stand.context(on: coordinator)
    context.transactionAuthor = "author"
    context.name = "writer"
    return (coordinator, context)
  }

  static let historyCases: [ConformanceCase] = [
    ConformanceCase("history", "each save is a transaction with its changes", needs: [.history]) { stand in
      let (_, context) = try historyStack(stand)
      let item = context.make("Item", ["number": 1 as Int64])
      try context.save()
      item.setValue(2 as Int64, forKey: "number")
      try context.save()
      context.delete(item)
      try context.save()
      let found = try context.execute(PersistentHistoryRequest.fetchHistory(after: .beginning)).transactions
      try expectEqual(
        found.map { ($0.changes ?? []).map(\.changeType) }, [[.insert], [.update], [.delete]], "the changes")
      try expect(found.allSatisfy { $0.author == "author" && $0.contextName == "writer" }, "the origin")
      try expectEqual(found[1].changes?.first?.updatedPropertyNames, ["number"], "the property")
      try expect(
        found.allSatisfy { ($0.changes ?? []).allSatisfy { $0.changedObjectID == item.objectID } }, "the IDs")
    },
    ConformanceCase("history", "after a token there is only what is newer", needs: [.history]) { stand in
      let (coordinator, context) = try historyStack(stand)
      context.make("Item")
      try context.save()
      let token = try coordinator.currentHistoryToken(fromStores: nil)
      try expectEqual(
        try context.execute(PersistentHistoryRequest.fetchHistory(after: token)).transactions.count, 0,
        "nothing newer")
      for _ in 0..<3 {
        context.make("Item")
        try context.save()
      }
      try expectEqual(
        try context.execute(PersistentHistoryRequest.fetchHistory(after: token)).transactions.count, 3,
        "transactions")
    },
    ConformanceCase("history", "what is older is deleted", needs: [.history]) { stand in
      let (coordinator, context) = try historyStack(stand)
      for _ in 0..<3 {
        context.make("Item")
        try context.save()
      }
      let token = try coordinator.currentHistoryToken(fromStores: nil)
      context.make("Item")
      try context.save()
      _ = try context.execute(PersistentHistoryRequest.deleteHistory(before: token))
      let left = try context.execute(PersistentHistoryRequest.fetchHistory(after: .beginning)).transactions
        .count
      try expect(left == 1 || left == 2, "\(left) transactions are left of 4")
    },
    ConformanceCase("history", "what a predicate chooses is deleted", needs: [.history]) { stand in
      let (_, context) = try historyStack(stand)
      for author in ["a", "b", "a"] {
        context.transactionAuthor = author
        context.make("Item")
        try context.save()
      }
      var request = PersistentHistoryRequest.deleteHistory(before: Date.distantFuture)
      request.transactionPredicate = .comparison(key: "author", .equal, .string("a"))
      _ = try context.execute(request)
      let left = try context.execute(PersistentHistoryRequest.fetchHistory(after: .beginning)).transactions
      try expectEqual(left.map(\.author), ["b", "a"], "the authors")
    },
    ConformanceCase("history", "batches are recorded", needs: [.history, .batches]) { stand in
      let (_, context) = try historyStack(stand)
      _ = try context.execute(
        BatchInsertRequest(entityName: "Item", objects: (0..<4).map { ["number": Int64($0)] }))
      let found = try context.execute(PersistentHistoryRequest.fetchHistory(after: .beginning)).transactions
      try expectEqual(
        found.flatMap { $0.changes ?? [] }.map(\.changeType), Array(repeating: .insert, count: 4), "changes")
    },
    ConformanceCase("history", "a store that records none says so", needs: [.history]) { stand in
      let coordinator = try stand.open()
      try expect(try coordinator.currentHistoryToken(fromStores: nil) == nil, "there is a token")
    },
  ]

  // MARK: Generations

  static let generationCases: [ConformanceCase] = [
    ConformanceCase("generations", "a pinned context sees one commit", needs: [.generations]) { stand in
      let (coordinator, context) = try filled(stand)
      let pinned = stand.context(on: coordinator)
      try pinned.setQueryGenerationFrom(.current)
      try expectEqual(try pinned.all("Item").count, 10, "items before")
      context.delete(try context.one("Item", "number", 1))
      try context.one("Item", "number", 2).setValue("x", forKey: "string")
      context.make("Item", ["number": 50 as Int64])
      try context.save()
      try expectEqual(
        try pinned.all("Item", by: FetchSort("number")).map { $0.integer("number") }, Array(0..<10), "pinned")
      try expectEqual(try pinned.one("Item", "number", 2).text("string"), "nil", "a value")
      try pinned.setQueryGenerationFrom(nil)
      try expectEqual(try pinned.all("Item").count, 10, "items afterwards")
      try expect(
        try pinned.all("Item", format: "number == 50", by: "number").count == 1, "the new item is missing")
    },
    ConformanceCase("generations", "two contexts share one", needs: [.generations]) { stand in
      let (coordinator, context) = try filled(stand)
      let pinned = stand.context(on: coordinator)
      try pinned.setQueryGenerationFrom(.current)
      _ = try pinned.all("Item")
      context.make("Item", ["number": 50 as Int64])
      try context.save()
      let other = stand.context(on: coordinator)
      try other.setQueryGenerationFrom(pinned.queryGenerationToken)
      try expectEqual(try other.all("Item").count, 10, "items")
    },
    ConformanceCase("generations", "relationships are of the same commit", needs: [.generations]) { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      let boss = context.make("Person", ["name": "b"])
      context.make("Person", ["name": "w", "boss": boss])
      try context.save()
      let pinned = stand.context(on: coordinator)
      try pinned.setQueryGenerationFrom(.current)
      let seen = try pinned.one("Person", "name", "b")
      context.make("Person", ["name": "x", "boss": boss])
      try context.save()
      try expectEqual(texts(seen.members("team"), "name"), ["w"], "the team")
    },
  ]

  // MARK: The store itself

  static let storeCases: [ConformanceCase] = [
    ConformanceCase("the store", "says who it is") { stand in
      let coordinator = try stand.open()
      guard let store = coordinator.persistentStores.first else {
        throw NotConforming(description: "no store is attached")
      }
      let metadata = coordinator.metadata(for: store)
      try expectEqual(
        metadata[StoreMetadata.identifierKey] as? String, store.identifier.uuidString, "the UUID")
      try expectEqual(metadata[StoreMetadata.typeKey] as? String, store.storeType, "the type")
      try expect(!store.isReadOnly, "it is read-only")
    },
    ConformanceCase("the store", "metadata are written by the next save") { stand in
      let coordinator = try stand.open()
      let store = coordinator.persistentStores[0]
      var metadata = coordinator.metadata(for: store)
      metadata["color"] = "green"
      try coordinator.setMetadata(metadata, for: store)
      try stand.context(on: coordinator).save()
      try expectEqual(store.metadata["color"], .string("green"), "the color")
    },
    ConformanceCase("the store", "metadata are there when it is opened again", needs: [.persistence]) {
      stand in
      let coordinator = try stand.open()
      let store = coordinator.persistentStores[0]
      let identifier = store.identifier
      try coordinator.setMetadata(["n": 5, "text": "t", "list": [1, 2]], for: store)
      try stand.context(on: coordinator).save()
      try stand.close()
      let again = try stand.open().persistentStores[0]
      try expectEqual(again.identifier, identifier, "the UUID")
      try expectEqual(again.metadata["n"], .integer(5), "a number")
      try expectEqual(again.metadata["list"], .array([.integer(1), .integer(2)]), "a list")
    },
    ConformanceCase("the store", "metadata and model without opening it", needs: [.closedStores]) { stand in
      let identifier = try {
        let coordinator = try stand.open()
        try stand.context(on: coordinator).save()
        return coordinator.persistentStores[0].identifier
      }()
      try stand.close()
      let kind = try StoreEngines.kind(stand.description.type)
      let found = try kind.metadata(of: stand.description)
      try expectEqual(found[StoreMetadata.identifierKey], .string(identifier.uuidString), "the UUID")
      let model = try kind.model(of: stand.description, withClasses: false)
      try expectEqual(model.versionChecksum, stand.model.versionChecksum, "the model")
      var values = found
      values["note"] = .string("set")
      try kind.setMetadata(values, of: stand.description)
      try expectEqual(try kind.metadata(of: stand.description)["note"], .string("set"), "what was set")
    },
    ConformanceCase("the store", "read-only: fetched, and not saved", needs: [.persistence]) { stand in
      let context = try stand.context()
      context.make("Item", ["number": 1 as Int64])
      try context.save()
      try stand.close()
      let reader = stand.context(on: try stand.open { $0.isReadOnly = true })
      let item = try reader.one("Item", "number", 1)
      item.setValue("x", forKey: "string")
      try expectCode(.persistentStoreSave, "the save") { try reader.save() }
    },
    ConformanceCase("the store", "two coordinators see each other's saves", needs: [.sharing]) { stand in
      let one = try stand.context()
      let two = try stand.context()
      let item = one.make("Item", ["number": 1 as Int64])
      try one.save()
      let seen = try two.one("Item", "number", 1)
      seen.setValue("two", forKey: "string")
      try two.save()
      try expectEqual(
        try stand.context().one("Item", "number", 1).text("string"), "two", "the string in a third")
      item.setValue("one", forKey: "string")
      try expectConflict("the save on what is old") { try one.save() }
    },
    ConformanceCase("the store", "is emptied by destroyPersistentStore", needs: [.destroying]) { stand in
      let context = try stand.context()
      context.make("Item")
      try context.save()
      try stand.close()
      guard let url = stand.description.url else { throw NotConforming(description: "there is no URL") }
      try PersistentStoreCoordinator(managedObjectModel: stand.model).destroyPersistentStore(
        at: url, type: stand.description.type)
      try expect(try stand.context().all("Item").isEmpty, "the item is there still")
    },
    ConformanceCase(
      "the store", "another version of the model is refused without migration", needs: [.migration]
    ) { stand in
      let context = try stand.context()
      context.make("Item", ["number": 1 as Int64])
      try context.save()
      try stand.close()
      try expectCode(.persistentStoreIncompatibleVersionHash, "opening") {
        _ = try stand.open(newer(stand)) { $0.migratesAutomatically = false }
      }
      try expectEqual(try stand.context().all("Item").count, 1, "items in the store that was refused")
    },
    ConformanceCase("the store", "an attribute is added by migration, and values stay", needs: [.migration]) {
      stand in
      let context = try stand.context()
      let boss = context.make("Person", ["name": "b"])
      context.make("Person", ["name": "w", "boss": boss])
      context.make("Item", ["number": 1 as Int64, "string": "kept", "list": ["x"]])
      try context.save()
      try stand.close()
      let after = stand.context(on: try stand.open(newer(stand)))
      let item = try after.one("Item", "number", 1)
      try expectEqual(item.text("string"), "kept", "the string")
      try expectEqual(item.value(forKey: "list") as? [String], ["x"], "the list")
      try expectEqual(item.integer("added"), 42, "the default of the new attribute")
      try expectEqual(try after.one("Person", "name", "w").object("boss")?.text("name"), "b", "the boss")
    },
    ConformanceCase("the store", "a closed store answers with an error") { stand in
      let coordinator = try stand.open()
      let context = stand.context(on: coordinator)
      context.make("Item")
      try context.save()
      try coordinator.remove(coordinator.persistentStores[0])
      _ = try expectError("a fetch") { _ = try context.all("Item") }
    },
    ConformanceCase("the store", "an empty save does nothing") { stand in
      let context = try stand.context()
      try context.save()
      try expect(try context.all("Item").isEmpty, "there is an item")
    },
  ]

  /// The model with one more attribute.
  private static func newer(_ stand: ConformanceStand) -> ManagedObjectModel {
    let model = stand.model
    model.entitiesByName["Item"]?.properties.append(
      AttributeDescription("added", .integer64, defaultValue: 42 as Int64))
    return model
  }
}
