import CoreData
import Foundation
import Testing

// What comes in, what changes, and what lies in files.

extension LedgerChecks {
  // MARK: Imports

  @Test("Imports: dictionaries, handlers that count outside, objects in batches, JSON")
  func imports() throws {
    let context = context()
    try context.performAndWait {
      let importer = BatchImporter(context: context, batchSize: 40)
      let tags = (0..<50).map { ImportedTag(name: "tag \($0)", color: Int32($0)) }
      #expect(try importer.importTags(tags) == 50)
      #expect(try importer.streamTags((50..<60).map { ImportedTag(name: "tag \($0)", color: 0) }).count == 10)
      try importer.fillTags([ImportedTag(name: "last", color: 9)])
      #expect(try Tag.count(in: context) == 61 && importer.report.batches == 3)
      let account = Account(name: "Cash", kind: .checking, context: context)
      try context.save()
      try importer.importEntries(
        (0..<100).map { (text: "line \($0)", amount: Double($0)) }, into: account.objectID)
      #expect(try Entry.count(in: context) == 100 && importer.report.batches == 6)
      let json = Data(
        #"[{"name": "LAST", "color": 4}, {"name": "new", "color": 0}, {"name": "tag 3", "color": 3}]"#.utf8)
      try importer.importTags(json: json)
      #expect(try Tag.count(in: context) == 62 && importer.report.skipped == 2)
      let last = try #require(try Query<Tag>(context).filter("name == %@", "last").first())
      #expect(last.color == 4)
    }
  }

  @Test("Dictionaries of objects and back, by the types of the model; deep copies")
  func serialization() throws {
    let context = context()
    try context.performAndWait {
      let account = Account(name: "Cash", kind: .credit, context: context)
      account.limit = NSDecimalNumber(string: "100.25")
      account.createdAt = Date(timeIntervalSinceReferenceDate: 0)
      let coffee = entry("coffee", "-2.50", 0, account, context)
      let receipt = Attachment.insert(into: context) { $0.fileName = "a.pdf" }
      coffee.addToAttachments(receipt)
      try context.save()
      let serializer = Serializer(includesRelationships: true)
      var dictionary = try serializer.dictionary(of: account)
      #expect(
        dictionary["limit"] as? String == "100.25"
          && dictionary["createdAt"] as? String == "2001-01-01T00:00:00Z")
      #expect(dictionary["kindValue"] as? Int64 == 2 && (dictionary["entries"] as? [String])?.count == 1)
      dictionary["name"] = "Copy"
      let copy = try #require(try serializer.insert(dictionary, into: context) as? Account)
      #expect(copy.kind == .credit && copy.limit == account.limit && copy.identifier == account.identifier)
      #expect(throws: SerializationError.unknownEntity("Nothing")) {
        try serializer.insert(["entity": "Nothing"], into: context)
      }
      #expect(throws: SerializationError.invalidValue(key: "createdAt")) {
        try serializer.insert(["entity": "Account", "createdAt": 5], into: context)
      }
      let deep = try #require(DeepCopier(into: context, excluding: ["identifier"]).copy(account) as? Account)
      let line = try #require(deep.entries?.anyObject() as? Entry)
      #expect(line !== coffee && line.text == "coffee" && line.account === deep)
      #expect((line.attachments?.firstObject as? Attachment)?.fileName == "a.pdf")
      context.rollback()
    }
  }

  // MARK: Changes

  @Test("What contexts do is written down until the logger stops")
  func logging() throws {
    let context = context()
    let logger = ChangeLogger()
    logger.start(context)
    try context.performAndWait {
      let tag = Tag.insert(into: context) { $0.name = "food" }
      try context.save()
      #expect(logger.takeLines() == ["inserted Tag", "will save", "saved 1/0/0"])
      logger.stop()
      tag.color = 3
      try context.save()
      #expect(logger.takeLines().isEmpty)
    }
  }

  @Test("Steps are undone and redone by name")
  func undo() throws {
    let context = context()
    context.performAndWait {
      let undo = UndoCoordinator(context: context)
      var tag: Tag!
      undo.step("make") { tag = Tag.insert(into: context) { $0.name = "food" } }
      undo.step("paint") { tag.color = 5 }
      undo.undo()
      #expect(tag.color == 0 && undo.canRedo)
      undo.undo()
      #expect(tag.isDeleted || tag.managedObjectContext == nil)
      undo.redo()
      undo.redo()
      #expect(tag.color == 5 && undo.canUndo && !undo.canRedo)
      context.undoManager = nil
    }
  }

  @Test("A merge policy of the library's own settles conflicts")
  func conflicts() throws {
    let (one, two) = (context(), context())
    let id: NSManagedObjectID = try one.performAndWait {
      let account = Account(name: "Cash", kind: .checking, context: one)
      account.note = "old"
      try one.save()
      return account.objectID
    }
    try two.performAndWait {
      two.mergePolicy = LedgerMergePolicy()
      let account = try #require(try two.existingObject(with: id) as? Account)
      #expect(account.note == "old")
      try one.performAndWait {
        let mine = try #require(try one.existingObject(with: id) as? Account)
        mine.note = "theirs"
        try one.save()
      }
      account.note = "mine"
      try two.save()
      #expect(account.note == "theirs / mine")
    }
  }

  @Test("The history of others is followed from a token")
  func history() throws {
    let storage = MemoryTokenStorage()
    let context = context()
    let tracker = HistoryTracker(context: context, storage: storage, author: "me")
    let writer = stack.makeBackgroundContext(author: "sync")
    try writer.performAndWait {
      let tag = Tag.insert(into: writer) { $0.name = "food" }
      try writer.save()
      tag.color = 2
      try writer.save()
      writer.delete(tag)
      try writer.save()
    }
    try context.performAndWait {
      let summaries = try tracker.process()
      #expect(summaries.map(\.author) == ["sync", "sync", "sync"])
      #expect(summaries.map(\.inserted) == [["Tag": 1], [:], [:]])
      #expect(summaries.map(\.updated) == [[:], ["Tag": 1], [:]] && summaries[2].deleted == ["Tag": 1])
      #expect(try tracker.process().isEmpty && storage.token != nil)
    }
  }

  // MARK: Models and files

  @Test("Versions of the model are found as Xcode would compile them, and described")
  func models() throws {
    let versions = MigrationPlanner.versions(of: "Ledger", in: Bundle.module)
    #expect(versions.count == 2)
    #expect(versions.map { $0.entitiesByName["Account"]?.attributesByName["note"] != nil } == [false, true])
    let report = ModelReport(try CoreDataStack.model(named: "Ledger", in: Bundle.module))
    #expect(
      report.lines.contains("  attachments →→ ordered Attachment") && report.lines.contains("  limit decimal")
    )
    #expect(throws: CoreDataStackError.self) { try CoreDataStack.model(named: "Nothing", in: Bundle.module) }
    var builder = ModelBuilder()
    let shelf = builder.entity(
      "Shelf", attributes: [.init("name", .stringAttributeType, isIndexed: true)], unique: [["name"]])
    let book = builder.entity(
      "Book", attributes: [.init("pages", .integer32AttributeType, isOptional: false, defaultValue: 1)])
    builder.relate(
      shelf, "books", toMany: true, deleteRule: .cascadeDeleteRule, book, "shelf", inverseToMany: false)
    let model = builder.build()
    #expect(
      ModelReport(model).lines == [
        "Book:", "  pages int32", "  shelf → Shelf", "Shelf:", "  books →→ Book", "  name string",
      ])
    #expect(shelf.indexes.count == 1 && shelf.cascadingKeys == ["books"])
  }

  @Test("A store of the old version is migrated step by step, kept, reopened and destroyed")
  func files() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appendingPathComponent("Ledger.sqlite")
    let versions = MigrationPlanner.versions(of: "Ledger", in: Bundle.module)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: versions[0])
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    let old = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    old.persistentStoreCoordinator = coordinator
    try old.performAndWait {
      let account = NSEntityDescription.insertNewObject(forEntityName: "Account", into: old)
      account.setValue("Cash", forKey: "name")
      try old.save()
    }
    try coordinator.remove(store)

    let planner = MigrationPlanner(versions: versions, bundle: Bundle.module)
    #expect(try planner.requiresMigration(at: url))
    #expect(try planner.steps(at: url).count == 1)
    try planner.migrate(at: url)
    #expect(try !planner.requiresMigration(at: url))
    #expect(planner.progress.count == 1)

    let stack = CoreDataStack(
      name: "Ledger", model: try CoreDataStack.model(named: "Ledger", in: Bundle.module), kind: .sqlite(url))
    try stack.load()
    #expect(stack.container.persistentStoreCoordinator.storeURLs == [url])
    let context = stack.makeBackgroundContext()
    try context.performAndWait {
      let account = try #require(try Account.fetch(in: context).first)
      #expect(account.name == "Cash")
      account.note = "migrated"
      try context.save()
      context.reset()
    }
    try stack.destroy()
    #expect(stack.container.persistentStoreCoordinator.persistentStores.isEmpty)
    #expect(!stack.isLoaded)
  }
}
