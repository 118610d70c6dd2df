#if !canImport(Darwin)
  import CoreData
  import StrataAppleSQLite
  import Testing

  /// By Apple's names, as a program does that moves to another place.
  @Suite struct AppleNameTests {
    @Test func aStoreOfApplesIsMigratedByItsCoordinator() throws {
      let small = try SmallStore()
      let model = try AppleSQLite.model(at: small.url)
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let store = try coordinator.addPersistentStore(
        ofType: AppleSQLite.storeType, configurationName: nil, at: small.url,
        options: [NSReadOnlyPersistentStoreOption: true])
      let identifier = store.identifier
      let context = NSManagedObjectContext(.privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      let id = try context.performAndWait {
        let request = NSFetchRequest<NSManagedObject>(entityName: "Person")
        request.predicate = NSPredicate(format: "name == %@", "person 2")
        let person = try #require(try context.fetch(request).first)
        context.reset()
        return person.objectID
      }
      let moved = try coordinator.migratePersistentStore(store, to: small.new, withType: NSSQLiteStoreType)
      #expect(moved.identifier == identifier && moved.type == NSSQLiteStoreType && !moved.isReadOnly)
      // The same URI means the same object, and now it can be changed.
      try context.performAndWait {
        let uri = id.uriRepresentation()
        let same = try #require(coordinator.managedObjectID(forURIRepresentation: uri))
        let person = try context.existingObject(with: same)
        #expect(person.value(forKey: "name") as? String == "person 2")
        #expect((person.value(forKey: "photo") as? Data)?.count == 130_000)
        person.setValue("new", forKey: "name")
        try context.save()
      }
      try coordinator.remove(moved)
      #expect(
        try PlainGraph(strata: small.new.path).objects.values.contains { $0.values["name"] == .string("new") }
      )
      #expect(try small.names == ["App.sqlite", ".App_SUPPORT", "New.strata"])
    }

    /// What would be lost is said instead.
    @Test func lossesEndTheMigration() throws {
      let small = try SmallStore()
      let model = try AppleSQLite.model(at: small.url)
      try small.run("UPDATE ZPERSON SET ZTEAM = 99 WHERE Z_PK = 2")
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let store = try coordinator.addPersistentStore(
        ofType: AppleSQLite.storeType, configurationName: nil, at: small.url,
        options: [NSReadOnlyPersistentStoreOption: true])
      let error = #expect(throws: (any Error).self) {
        try coordinator.migratePersistentStore(store, to: small.new, withType: NSSQLiteStoreType)
      }
      #expect(error.map { "\($0)".contains("Person/p2.team") } == true, "\(error.map { "\($0)" } ?? "")")
      #expect(coordinator.persistentStores.count == 1)
      #expect(try !small.names.contains("New.strata"))
    }
  }
#endif
