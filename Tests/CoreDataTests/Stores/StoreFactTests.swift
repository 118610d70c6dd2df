import CoreData
import Testing

@Suite("What stores know")
final class StoreFactTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("company-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func context(_ coordinator: NSPersistentStoreCoordinator) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  @Test(
    "Of a store that several coordinators have open, an ID tells the running context's; each takes another's for its own"
  )
  func sharedFile() throws {
    let url = folder.appendingPathComponent("shared")
    func open() throws -> (NSPersistentStoreCoordinator, NSPersistentStore) {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyStand.model())
      return (
        coordinator,
        try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url)
      )
    }
    let all = try [open(), open(), open()]
    for (number, (coordinator, own)) in all.enumerated() {
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      let other = all[(number + 1) % all.count].1
      context.performAndWait {
        let object = CompanyStand.make("Desk", context)
        #expect(object.objectID.persistentStore === own)
        #expect(object.objectID.entity === coordinator.managedObjectModel.entitiesByName["Desk"])
        context.assign(object, to: other)
        var metadata = coordinator.metadata(for: other)
        metadata["note"] = "\(number)"
        coordinator.setMetadata(metadata, for: other)
        #expect(coordinator.metadata(for: own)["note"] as? String == "\(number)")
        #expect(coordinator.url(for: other) == own.url)
      }
    }
    try all[0].0.remove(all[1].1)
    #expect(all.map { $0.0.persistentStores.count } == [0, 1, 1])
    #expect(throws: CocoaError.self) { try all[0].0.remove(all[0].1) }
  }

  @Test("Two stores by configurations: objects go where their entity is, fetches cover both")
  func configurations() throws {
    func entity(_ name: String) -> NSEntityDescription {
      let entity = NSEntityDescription()
      entity.name = name
      entity.properties = [CompanyStand.attribute("name", .stringAttributeType)]
      return entity
    }
    let (a, b, shared) = (entity("A"), entity("B"), entity("Shared"))
    let model = NSManagedObjectModel()
    model.entities = [a, b, shared]
    model.setEntities([a, shared], forConfigurationName: "One")
    model.setEntities([b, shared], forConfigurationName: "Two")
    #expect(Set(model.configurations).isSuperset(of: ["One", "Two"]))
    #expect(Set(model.entities(forConfigurationName: "One")?.compactMap(\.name) ?? []) == ["A", "Shared"])
    #expect(model.entities(forConfigurationName: "Three") == nil)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let one = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: "One", at: folder.appendingPathComponent("one"))
    let two = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: "Two", at: folder.appendingPathComponent("two"))
    #expect(one.configurationName == "One" && coordinator.persistentStores.count == 2)
    let context = context(coordinator)
    let objects = ["A", "B", "Shared", "Shared"].map { CompanyStand.make($0, context) }
    for (number, object) in objects.enumerated() { object.setValue("\(number)", forKey: "name") }
    context.assign(objects[2], to: one)
    context.assign(objects[3], to: two)
    try context.save()
    #expect(objects.map { $0.objectID.persistentStore === one } == [true, false, true, false])
    #expect(try context.texts("Shared", "name") == ["2", "3"])
    let request = NSFetchRequest<NSManagedObject>(entityName: "Shared")
    request.affectedStores = [two]
    #expect(try context.fetch(request).map { $0.value(forKey: "name") as? String } == ["3"])
    let others = NSFetchRequest<any NSFetchRequestResult>(entityName: "Shared")
    others.affectedStores = [two]
    let deletion = NSBatchDeleteRequest(fetchRequest: others)
    deletion.resultType = .resultTypeCount
    #expect((try context.execute(deletion) as? NSBatchDeleteResult)?.result as? Int == 1)
    #expect(try self.context(coordinator).texts("Shared", "name") == ["2"])
    try coordinator.remove(two)
    #expect(try self.context(coordinator).texts("Shared", "name") == ["2"])
  }

  @Test("Metadata: type, UUID, the program's own after a save, and without opening the store")
  func metadata() throws {
    let url = folder.appendingPathComponent("store")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyStand.model())
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    var metadata = coordinator.metadata(for: store)
    #expect(metadata[NSStoreTypeKey] as? String == NSSQLiteStoreType && store.type == NSSQLiteStoreType)
    #expect(metadata[NSStoreUUIDKey] as? String == store.identifier)
    metadata["seeded"] = 3
    coordinator.setMetadata(metadata, for: store)
    let context = context(coordinator)
    Employee(context: context).name = "Ed"
    try context.save()
    #expect(coordinator.metadata(for: store)["seeded"] as? Int == 3)
    #expect(coordinator.persistentStore(for: url) === store && coordinator.url(for: store) == url)
    try coordinator.remove(store)
    #expect(coordinator.persistentStores.isEmpty && coordinator.persistentStore(for: url) == nil)
    let read = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url)
    #expect(
      read["seeded"] as? Int == 3 && read[NSStoreUUIDKey] as? String == metadata[NSStoreUUIDKey] as? String)
    #expect(CompanyStand.model().isConfiguration(withName: nil, compatibleWithStoreMetadata: read))
    #expect((read[NSStoreModelVersionHashesKey] as? [String: Data])?.count == 6)
  }

  @Test("A store that is migrated to another URL keeps its data and its configuration")
  func moved() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyStand.model())
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("old"))
    let before = context(coordinator)
    Employee(context: before).name = "Ed"
    try before.save()
    let there = folder.appendingPathComponent("new")
    let moved = try coordinator.migratePersistentStore(
      store, to: there, options: nil, withType: NSSQLiteStoreType)
    #expect(moved.url == there && coordinator.persistentStores.count == 1)
    #expect(try context(coordinator).texts("Employee", "name") == ["Ed"])
    #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("old").path))
  }

  @Test("URIs of IDs lead back to objects, also after the store was opened again")
  func uris() throws {
    let url = folder.appendingPathComponent("uris")
    var coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyStand.model())
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url)
    let first = context(coordinator)
    let ed = Employee(context: first)
    ed.name = "Ed"
    try first.obtainPermanentIDs(for: [ed])
    try first.save()
    let uri = ed.objectID.uriRepresentation()
    #expect(uri.scheme == "x-coredata" && !ed.objectID.isTemporaryID)
    try coordinator.remove(coordinator.persistentStores[0])
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyStand.model())
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url)
    let id = try #require(coordinator.managedObjectID(forURIRepresentation: uri))
    #expect((try context(coordinator).existingObject(with: id) as? Employee)?.name == "Ed")
    #expect(id.entity.name == "Employee" && id.uriRepresentation() == uri)
    #expect(coordinator.managedObjectID(forURIRepresentation: URL(fileURLWithPath: "/nowhere")) == nil)
  }

  @Test("The defaults of a store description and of a container")
  func descriptions() throws {
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("a"))
    #expect(
      description.type == NSSQLiteStoreType && description.configuration == nil && !description.isReadOnly)
    #expect(description.shouldMigrateStoreAutomatically && description.shouldInferMappingModelAutomatically)
    #expect(!description.shouldAddStoreAsynchronously && description.timeout == 240)
    // Unchecked, as its superclass says: it adds no state.
    final class Own: NSPersistentContainer, @unchecked Sendable {
      override class func defaultDirectoryURL() -> URL { URL(fileURLWithPath: "/company") }
    }
    let container = Own(name: "Company", managedObjectModel: CompanyStand.model())
    #expect(container.persistentStoreDescriptions.count == 1 && container.name == "Company")
    #expect(container.persistentStoreDescriptions[0].url?.path == "/company/Company.sqlite")
    #expect(container.viewContext.concurrencyType == .mainQueueConcurrencyType)
    #expect(container.newBackgroundContext().concurrencyType == .privateQueueConcurrencyType)
    #expect(container.newBackgroundContext() !== container.newBackgroundContext())
  }

  @Test("History filtered by context, by kind of change and by entity")
  func history() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyStand.model())
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("history"),
      options: [NSPersistentHistoryTrackingKey: true])
    let (one, two) = (context(coordinator), context(coordinator))
    (one.name, one.transactionAuthor) = ("one", "me")
    two.name = "two"
    Employee(context: one).name = "Ed"
    try one.save()
    let token = coordinator.currentPersistentHistoryToken(fromStores: nil)
    try two.employee("Ed").age = 4
    CompanyStand.chore("tea", 1, nil, two)
    try two.save()
    func transactions(_ predicate: NSPredicate, after token: NSPersistentHistoryToken?) throws
      -> [NSPersistentHistoryTransaction]
    {
      let fetch = try #require(NSPersistentHistoryTransaction.fetchRequest)
      fetch.predicate = predicate
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
      request.fetchRequest = fetch
      let result = try one.execute(request) as? NSPersistentHistoryResult
      return result?.result as? [NSPersistentHistoryTransaction] ?? []
    }
    #expect(try transactions(NSPredicate(format: "contextName == 'one'"), after: nil).map(\.author) == ["me"])
    #expect(try transactions(NSPredicate(format: "author == nil"), after: nil).map(\.contextName) == ["two"])
    #expect(try transactions(NSPredicate(format: "author != 'me'"), after: token).count == 1)
    #expect(try transactions(NSPredicate(format: "author == %@", "me"), after: token).isEmpty)
    #expect(
      try transactions(NSPredicate(format: "timestamp > %@", NSDate.distantPast as NSDate), after: nil).count
        == 2)
    let fetch = try #require(NSPersistentHistoryChange.fetchRequest)
    fetch.predicate = NSPredicate(
      format: "changeType == %d", NSPersistentHistoryChangeType.insert.rawValue)
    let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
    request.resultType = .changesOnly
    let changes =
      (try one.execute(request) as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryChange]
    #expect(Set(changes?.compactMap { $0.changedObjectID.entity.name } ?? []) == ["Employee", "Chore"])
  }

  @Test("Ages and timeouts that no clock knows keep nothing from being opened and saved")
  func endlessTimes() throws {
    for (number, seconds) in [TimeInterval.infinity, .nan, 1e300, 1e19].enumerated() {
      let url = folder.appendingPathComponent("endless\(number)")
      let description = NSPersistentStoreDescription(url: url)
      description.historyMaximumAge = seconds
      description.timeout = seconds
      description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyStand.model())
      let store = try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: description.options)
      let view = context(coordinator)
      for name in ["Ed", "Al"] {
        Employee(context: view).name = name
        try view.save()
      }
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
      request.resultType = .count
      #expect((try view.execute(request) as? NSPersistentHistoryResult)?.result as? Int == 2)
      try coordinator.remove(store)
    }
  }
}
