import CoreDataCombine
import Foundation
import Testing

// What is published, and what the model and its mappings say.

extension LedgerChecks {
  // MARK: Combine

  @Test("A view model follows the properties of an account, its own drafts, and what others save")
  func viewModel() throws {
    let context = context()
    try context.performAndWait {
      let account = Account(name: "Cash", kind: .checking, context: context)
      try context.save()
      let model = AccountViewModel(account: account)
      var announced = 0
      let subscription = model.objectWillChange.sink { announced += 1 }
      #expect(model.title == "Cash" && model.subtitle == "Checking" && !model.isLocked)
      account.kind = .credit
      account.isLocked = true
      #expect(model.subtitle == "Credit" && model.isLocked && announced == 2)
      entry("coffee", "-2", 0, account, context)
      context.processPendingChanges()
      #expect(model.entryCount == 1)
      model.draftName = "  "
      #expect(!model.isDraftValid)
      model.draftName = "Wallet"
      #expect(model.isDraftValid)
      try model.commitDraft()
      #expect(model.title == "Wallet" && !context.hasChanges && model.draftName.isEmpty)
      let other = self.context()
      try other.performAndWait {
        let same = try #require(try account.inContext(other))
        same.name = "Purse"
        try other.save()
      }
      context.refresh(account, mergeChanges: true)
      context.processPendingChanges()
      #expect(model.title == "Purse")
      subscription.cancel()
    }
  }

  @Test("A balance follows the entries; a group of objects tells of each of them")
  func balance() throws {
    let context = context()
    try context.performAndWait {
      let account = Account(name: "Cash", kind: .checking, context: context)
      let other = Account(name: "Bank", kind: .savings, context: context)
      try context.save()
      let balance = BalanceViewModel(account: account, context: context)
      entry("coffee", "-2.50", 0, account, context)
      entry("gift", "10", 0, account, context)
      context.processPendingChanges()
      #expect(balance.balance == NSDecimalNumber(string: "7.5") && balance.lastText == "gift")
      entry("rent", "-500", 0, other, context)
      context.processPendingChanges()
      #expect(balance.lastText == "gift")
      let group = ObjectGroup([account, other])
      var count = 0
      let subscription = group.objectWillChange.sink { count += 1 }
      account.note = "a"
      other.note = "b"
      #expect(count == 2 && group.changeCount == 2)
      subscription.cancel()
    }
  }

  @Test("Lists are published in sections of a computed property, and searched while somebody types")
  func publishedLists() throws {
    let context = context()
    try context.performAndWait {
      try stock(context)
      let request: NSFetchRequest<Account> = Account.fetchRequest()
      request.sortDescriptors = [NSSortDescriptor(key: "kindValue", ascending: true)]
      var outlines: [[String]] = []
      let subscription = context.publisher(for: request, sectionKeyPath: "kindTitle")
        .sink(
          receiveCompletion: { _ in Issue.record("a list does not end") },
          receiveValue: { outlines.append($0.outline { $0.name ?? "" }.map { $0.lowercased() }) })
      #expect(outlines.count == 1 && outlines[0].count == 3 && outlines[0][2] == "credit: broker")
      _ = Account(name: "Visa", kind: .credit, context: context)
      context.processPendingChanges()
      #expect(outlines.count == 2 && outlines[1][2].contains("visa"))
      subscription.cancel()
      _ = Account(name: "Late", kind: .credit, context: context)
      context.processPendingChanges()
      #expect(outlines.count == 2)

      for name in ["food", "fuel", "rent"] { Tag.insert(into: context) { $0.name = name } }
      let search = SearchViewModel(context: context)
      #expect(search.titles == ["food", "fuel", "rent"])
      search.query = "F"
      #expect(search.titles == ["food", "fuel"])
      Tag.insert(into: context) { $0.name = "films" }
      context.processPendingChanges()
      #expect(search.titles == ["films", "food", "fuel"] && search.failure == nil)
    }
  }

  @Test("Saves are published and merged; blocks run when somebody subscribes")
  func publishedSaves() throws {
    let (one, two) = (context(), context())
    var summaries: [SaveSummary] = []
    let saves = one.saves.sink { summaries.append($0) }
    let merger = SaveMerger(from: [one], into: two)
    var made = 0
    let block = one.performPublisher { context -> NSManagedObjectID in
      made += 1
      let tag = Tag.insert(into: context) { $0.name = "tag \(made)" }
      try context.save()
      return tag.objectID
    }
    #expect(made == 0)
    var ids: [NSManagedObjectID] = []
    let first = block.sink(receiveCompletion: { _ in }, receiveValue: { ids.append($0) })
    let second = block.sink(receiveCompletion: { _ in }, receiveValue: { ids.append($0) })
    #expect(made == 2 && ids.count == 2)
    #expect(summaries == [SaveSummary(inserted: 1), SaveSummary(inserted: 1)] && merger.mergedSaves == 2)
    merger.stop()
    var failure: NSError?
    one.performAndWait { _ = Account(name: "   ", kind: .checking, context: one) }
    let third = one.savePublisher().sink(
      receiveCompletion: { if case .failure(let error) = $0 { failure = error } },
      receiveValue: { _ in Issue.record("it is not valid") })
    #expect(failure?.domain == LedgerError.domain && merger.mergedSaves == 2)
    var stores: [Int] = []
    let changes = stack.storeChanges.sink { stores.append($0) }
    try stack.destroy()
    #expect(stores == [1, 0])
    for subscription in [saves, first, second, third, changes] { subscription.cancel() }
  }

  // MARK: Batches, models, mappings

  @Test("Batches set, count up, make and delete; contexts that listen are told")
  func processing() throws {
    let (context, listener) = (context(), context())
    try context.performAndWait {
      try stock(context)
      let account = try listener.performAndWait {
        try #require(try Account.fetch(in: listener).first { $0.name == "Bank" })
      }
      let before = listener.performAndWait { account.note }
      #expect(before == nil)
      let processor = BatchProcessor(context: context, listeners: [listener])
      #expect(
        try processor.update(Account.self, where: NSPredicate(format: "kindValue == 0"), set: ["note": "x"])
          == 2)
      let after = listener.performAndWait { account.note }
      #expect(after == "x")
      #expect(try processor.increment(Entry.self, "flags", by: 4) == 12)
      #expect(try processor.insert(Tag.self, count: 30) { $0.name = "tag \($1)" })
      #expect(try Tag.count(in: context) == 30)
      #expect(try processor.delete(Tag.self, where: NSPredicate(format: "name ENDSWITH '7'")) == 3)
      #expect(
        processor.outcomes == [.objects(2), .count(12), .status(true), .objects(3)])
      #expect(BatchProcessor.describe(NSBatchUpdateRequest(entityName: "Tag")) == "update Tag")
      #expect(BatchProcessor.describe(NSFetchRequest<Tag>(entityName: "Tag")) == "fetch")
    }
  }

  @Test("A model is written down, with all of its enumerations, and compared with another version")
  func described() throws {
    let model = try CoreDataStack.model(named: "Ledger", in: Bundle.module)
    let lines = ModelDescriber(model: model).lines
    #expect(lines.contains("  kindValue: Int16") && lines.contains("  sectionIdentifier: String? transient"))
    #expect(
      lines.contains("  attachments: [Attachment] cascade") && lines.contains("  owner: Person nullify"))
    #expect(lines.contains("  unique name"))
    let versions = MigrationPlanner.versions(of: "Ledger", in: Bundle.module)
    #expect(ModelDescriber.differences(versions[0], versions[1]) == ["~ Account", "~ Person"])
    #expect(ModelDescriber.name(of: .privateQueueConcurrencyType) == "private")
    #expect(ModelDescriber.name(of: NSFetchedResultsChangeType.move) == "move")
    var builder = ModelBuilder()
    let shelf = builder.entity("Shelf", attributes: [.init("name", .stringAttributeType)], unique: [])
    let index = NSFetchIndexDescription(
      name: "byName",
      elements: [NSFetchIndexElementDescription(property: shelf.properties[0], collationType: .binary)])
    index.partialIndexPredicate = NSPredicate(format: "name != nil")
    shelf.indexes = [index]
    #expect(
      ModelDescriber(model: builder.build()).lines.last == "  index byName +name where name != nil")
  }

  @Test("A mapping made in code migrates a store: values, new ones, and a policy of the library's own")
  func mapped() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (url, target) = (
      folder.appendingPathComponent("Old.sqlite"), folder.appendingPathComponent("New.sqlite")
    )
    let versions = MigrationPlanner.versions(of: "Ledger", in: Bundle.module)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: versions[0])
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    let old = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    old.persistentStoreCoordinator = coordinator
    try old.performAndWait {
      let person = NSEntityDescription.insertNewObject(forEntityName: "Person", into: old)
      person.setValue("Ada", forKey: "givenName")
      let account = NSEntityDescription.insertNewObject(forEntityName: "Account", into: old)
      account.setValue("Cash", forKey: "name")
      account.setValue(person, forKey: "owner")
      try old.save()
    }
    try coordinator.remove(store)
    let mapping = MappingBuilder(source: versions[0], destination: versions[1])
      .policy(PersonMigrationPolicy.self, forEntity: "Person")
      .set("Account", "note", to: NSExpression(forConstantValue: "mapped"))
      .build()
    #expect(
      mapping.entityMappings?.map { ModelDescriber.name(of: $0.mappingType) }.sorted().first == "custom")
    let manager = NSMigrationManager(sourceModel: versions[0], destinationModel: versions[1])
    try manager.migrateStore(
      from: url, sourceType: NSSQLiteStoreType, options: nil, with: mapping, toDestinationURL: target,
      destinationType: NSSQLiteStoreType, destinationOptions: nil)
    let model = try CoreDataStack.model(named: "Ledger", in: Bundle.module)
    let stack = CoreDataStack(name: "Ledger", model: model, kind: .sqlite(target))
    try stack.load()
    let context = stack.makeBackgroundContext()
    try context.performAndWait {
      let account = try #require(try Account.fetch(in: context).first)
      #expect(account.name == "Cash" && account.note == "mapped")
      #expect(account.owner?.givenName == "Ada" && account.owner?.familyName == "unknown")
      context.reset()
    }
    try stack.destroy()
  }
}
