import Foundation
import Strata
import Testing

/// Changes of the model that no row is written anew for: rows keep the layout they have and are read through it (rules 306–308).
struct InPlaceChangeTests {
  let stand: MigrationStand

  init() throws { stand = try MigrationStand() }

  // MARK: Models

  /// Notes of one version: a title, and what `more` adds, in front of it or behind it.
  static func notes(
    _ more: [AttributeDescription] = [], before: [AttributeDescription] = [],
    _ others: [EntityDescription] = []
  ) -> ManagedObjectModel {
    let title = AttributeDescription("title", .string, isOptional: false, defaultValue: "")
    let note = EntityDescription("Note", properties: before + [title] + more)
    note.indexes = [FetchIndexDescription(name: "byTitle", attributes: ["title"])]
    return ManagedObjectModel(entities: [note] + others)
  }

  private func addNotes(_ titles: [String], _ context: ManagedObjectContext, _ values: [String: Any] = [:])
    throws
  {
    try context.performAndWait {
      for title in titles { context.newObject("Note", values.merging(["title": title]) { $1 }) }
      try context.save()
    }
  }

  /// What tells one file from another under the same name.
  private func file() throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: stand.url.path)
    return try #require((attributes[.systemFileNumber] as? NSNumber)?.intValue)
  }

  /// A value of every note, by title.
  private func values(_ key: String, _ context: ManagedObjectContext) throws -> [String: AnyHashable?] {
    try context.performAndWait {
      try context.objectsByName("Note", by: "title").mapValues { $0.value(forKey: key) as? AnyHashable }
    }
  }

  // MARK: Attributes

  @Test(
    "rules 306, 307: attributes that come need no row to be written, wherever they stand; old rows show their defaults"
  )
  func attributesCome() throws {
    try addNotes(["a", "b"], stand.open(Self.notes()))
    let before = try file()
    let day = Date(timeIntervalSinceReferenceDate: 5)
    let model = Self.notes(
      [
        AttributeDescription("stars", .integer16, isOptional: false, defaultValue: 3),
        AttributeDescription("day", .date, defaultValue: day), AttributeDescription("body", .string),
      ], before: [AttributeDescription("author", .string, defaultValue: "nobody")])
    let context = try stand.open(model)
    #expect(try file() == before, "the file is the one that it was")
    #expect(try values("stars", context) == ["a": 3, "b": 3])
    #expect(try values("author", context) == ["a": "nobody", "b": "nobody"])
    #expect(try values("day", context) == ["a": day, "b": day])
    #expect(try values("body", context) == ["a": nil, "b": nil])
    try context.performAndWait {
      let request = try FetchRequest<ManagedObject>(
        entityName: "Note", predicate: FetchPredicate(format: "stars == 3 AND author BEGINSWITH 'no'"),
        sortDescriptors: [FetchSort("stars"), FetchSort("title", ascending: false)])
      #expect(
        try context.fetch(request).map { $0.textValue("title") } == ["b", "a"], "the store compares them too")
      let notes = try context.objectsByName("Note", by: "title")
      notes["a"]?.setValue("text", forKey: "body")
      notes["a"]?.setValue(5, forKey: "stars")
      try context.save()
    }
    #expect(try stand.problems() == [])
    let again = try stand.open(model)
    #expect(try values("stars", again) == ["a": 5, "b": 3])
    #expect(try values("body", again) == ["a": "text", "b": nil])
    #expect(try values("author", again) == ["a": "nobody", "b": "nobody"])
  }

  @Test("rule 307: old rows keep the default that an attribute came with; new objects get the one of now")
  func defaultsStay() throws {
    func stars(_ value: Int) -> ManagedObjectModel {
      Self.notes([AttributeDescription("stars", .integer16, isOptional: false, defaultValue: value)])
    }
    try addNotes(["old"], stand.open(Self.notes()))
    try stand.open(stars(3))
    let context = try stand.open(stars(4))
    try addNotes(["new"], context)
    #expect(try values("stars", context) == ["old": 3, "new": 4])
    // Written anew they stay what they were.
    let again = try stand.open(
      Self.notes([
        AttributeDescription("stars", .integer16, isOptional: false, defaultValue: 9),
        AttributeDescription("body", .string),
      ])
    ) { $0.migratesAllRows = true }
    #expect(try values("stars", again) == ["old": 3, "new": 4])
    #expect(try stand.problems() == [])
  }

  @Test("rules 306, 307: a default value that is too large for a row keeps no row from staying as it is")
  func largeDefaults() throws {
    let text = String(repeating: "long ", count: 1_000)
    func model(_ more: AttributeDescription...) -> ManagedObjectModel {
      Self.notes([AttributeDescription("body", .string, defaultValue: text)] + more)
    }
    func stars() -> AttributeDescription {
      AttributeDescription("stars", .integer16, isOptional: false, defaultValue: 3)
    }
    try addNotes(["a"], stand.open(model()))
    try addNotes(["b"], stand.open(model()), ["body": "short"])
    let before = try file()
    for other in [model(stars()), model(stars(), AttributeDescription("day", .date))] {
      let context = try stand.open(other)
      #expect(try file() == before)
      #expect(try values("body", context) == ["a": text, "b": "short"])
      #expect(try values("stars", context) == ["a": 3, "b": 3])
    }
    #expect(try stand.problems() == [])
  }

  @Test(
    "rule 307: rows of five layouts in one store, and what a migration that writes all of them makes of them")
  func fiveLayouts() throws {
    func model(_ count: Int, removed: Bool = false) -> ManagedObjectModel {
      let numbers = (0..<count).map {
        AttributeDescription("n\($0)", .integer64, isOptional: false, defaultValue: 10 + $0)
      }
      let texts = (0..<count).filter { !removed || $0 > 0 }.map { AttributeDescription("t\($0)", .string) }
      return Self.notes(numbers, before: texts.reversed())
    }
    var expected: [String: [String: AnyHashable?]] = [:]
    var original: Int?
    for version in 0...5 {
      let context = try stand.open(model(version))
      let now = try file()
      #expect(original == nil || original == now, "version \(version)")
      original = now
      let title = "v\(version)"
      var values: [String: Any] = [:]
      if version > 0 { values = ["n0": version, "t\(version - 1)": title] }
      try addNotes([title], context, values)
      for number in 0..<5 {
        let own = version > 0 && number == 0 ? version : 10 + number
        expected["n\(number)", default: [:]][title] = own
        expected["t\(number)", default: [:]][title] = .some(number == version - 1 ? title : nil)
      }
    }
    var context = try stand.open(model(5))
    for (key, values) in expected { #expect(try self.values(key, context) == values, "\(key)") }
    #expect(try stand.problems() == [])
    context = try stand.open(model(5, removed: true)) { $0.permittedLosses = ["Note.t0"] }
    #expect(try file() != original, "what takes something away writes a new file")
    expected["t0"] = nil
    for (key, values) in expected { #expect(try self.values(key, context) == values, "\(key)") }
    #expect(try stand.problems() == [])
  }

  @Test(
    "rules 307, 308: a number is renamed without a row being written; a new attribute of the old name does not show its values"
  )
  func renamed() throws {
    let context = try stand.open(Self.notes([AttributeDescription("size", .integer64)]))
    try addNotes(["a"], context, ["size": 7])
    let before = try file()
    let renamed = try stand.open(
      Self.notes([AttributeDescription("length", .integer64).renamed(from: "size")]))
    #expect(try file() == before)
    #expect(try values("length", renamed) == ["a": 7])
    try addNotes(["b"], renamed, ["length": 8])
    #expect(try stand.problems() == [])
    let both = try stand.open(
      Self.notes([
        AttributeDescription("length", .integer64), AttributeDescription("size", .integer64, defaultValue: 1),
      ]))
    #expect(try values("length", both) == ["a": 7, "b": 8])
    #expect(try values("size", both) == ["a": 1, "b": 1])
    #expect(try file() != before, "names with two meanings need all rows to be written")
    #expect(try stand.problems() == [])
  }

  /// Notes with a length, and what it was called before.
  private static func lengths(
    from identifier: String? = nil, _ more: [AttributeDescription] = []
  ) -> ManagedObjectModel {
    let length = AttributeDescription("length", .integer64)
    return notes([identifier.map { length.renamed(from: $0) } ?? length] + more)
  }

  @Test("rules 299, 308: a renaming identifier that goes later takes no values along; the version stays")
  func identifierGoes() throws {
    try addNotes(["a", "b"], stand.open(Self.notes([AttributeDescription("size", .integer64)])), ["size": 7])
    try addNotes(["c"], stand.open(Self.lengths(from: "size")), ["length": 8])
    let before = try file()
    var context = try stand.open(Self.lengths())
    #expect(try file() == before)
    #expect(try values("length", context) == ["a": 7, "b": 7, "c": 8])
    try addNotes(["d"], context, ["length": 9])
    try context.performAndWait {
      try context.objectsByName("Note", by: "title")["b"]?.setValue("B", forKey: "title")
      try context.save()
    }
    let expected: [String: AnyHashable?] = ["a": 7, "B": 7, "c": 8, "d": 9]
    #expect(try values("length", context) == expected)
    #expect(try stand.problems() == [])
    for identifier in ["size", "width", nil] {
      context = try stand.open(Self.lengths(from: identifier))
      #expect(try values("length", context) == expected, "\(identifier ?? "none")")
      #expect(try stand.problems() == [])
    }
    #expect(try file() == before)
    try stand.close()
    let saved = stand.folder.url.appendingPathComponent("Saved.strata")
    #expect(try LMDBStore.salvage(from: stand.url, to: saved).rowCount == 4)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.lengths())
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: saved))
    #expect(try values("length", ManagedObjectContext(.privateQueue, coordinator: coordinator)) == expected)
    try coordinator.remove(store)
    let stars = AttributeDescription("stars", .integer16, isOptional: false, defaultValue: 3)
    context = try stand.open(Self.lengths(from: nil, [stars]))
    #expect(try values("length", context) == expected)
    #expect(try values("stars", context) == ["a": 3, "B": 3, "c": 3, "d": 3])
    #expect(try stand.problems() == [])
  }

  @Test("rules 299, 308: when a renaming identifier has gone, a new attribute of the old name has no values")
  func oldNameComesBack() throws {
    try addNotes(["a"], stand.open(Self.notes([AttributeDescription("size", .integer64)])), ["size": 7])
    try addNotes(["b"], stand.open(Self.lengths(from: "size")), ["length": 8])
    try stand.open(Self.lengths())
    let later = try stand.open(Self.lengths(from: nil, [AttributeDescription("size", .integer64)]))
    #expect(try values("length", later) == ["a": 7, "b": 8])
    #expect(try values("size", later) == ["a": nil, "b": nil])
    #expect(try stand.problems() == [])
  }

  @Test("rule 307: a renaming identifier that comes later keeps no change from touching no row")
  func identifierComes() throws {
    func model(from identifier: String?, _ more: [AttributeDescription] = []) -> ManagedObjectModel {
      let stars = AttributeDescription("stars", .integer16, isOptional: false, defaultValue: 3)
      return Self.notes([identifier.map { stars.renamed(from: $0) } ?? stars] + more)
    }
    try addNotes(["a"], stand.open(Self.notes()))
    let before = try file()
    try addNotes(["b"], stand.open(model(from: nil)), ["stars": 4])
    try addNotes(["c"], stand.open(model(from: "rank")), ["stars": 5])
    let day = Date(timeIntervalSinceReferenceDate: 5)
    let later = try stand.open(
      model(from: "rank", [AttributeDescription("day", .date, defaultValue: day)]))
    #expect(try file() == before, "the file is the one that it was")
    #expect(try values("stars", later) == ["a": 3, "b": 4, "c": 5])
    #expect(try values("day", later) == ["a": day, "b": day, "c": day])
    #expect(try stand.problems() == [])
  }

  @Test("rule 307: large values stay where they are while attributes come")
  func largeValues() throws {
    let large = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0) })
    let context = try stand.open(Self.notes([AttributeDescription("image", .binaryData)]))
    try addNotes(["a"], context, ["image": large])
    let before = try file()
    let later = try stand.open(
      Self.notes(
        [AttributeDescription("image", .binaryData)],
        before: [AttributeDescription("stars", .integer16, isOptional: false, defaultValue: 1)]))
    #expect(try file() == before)
    #expect(try values("image", later) == ["a": large])
    try later.performAndWait {
      try later.objectsByName("Note", by: "title")["a"]?.setValue(7, forKey: "stars")
      try later.save()
    }
    #expect(try stand.problems() == [])
    let again = try stand.open(
      Self.notes(
        [AttributeDescription("image", .binaryData)],
        before: [AttributeDescription("stars", .integer16, isOptional: false, defaultValue: 1)]))
    #expect(try values("image", again) == ["a": large])
    #expect(try values("stars", again) == ["a": 7])
  }

  // MARK: Relationships and entities

  /// Notes with a folder and tags.
  private static func sorted() -> ManagedObjectModel {
    let folder = EntityDescription("Folder", properties: [AttributeDescription("name", .string)])
    let tag = EntityDescription("Tag", properties: [AttributeDescription("name", .string)])
    let model = notes([], [folder, tag])
    let note = model.entitiesByName["Note"]!
    relateInMigration(
      RelationshipDescription("folder", to: folder, maxCount: 1), of: note,
      RelationshipDescription("notes", to: note, maxCount: 0, isOrdered: true), of: folder)
    relateInMigration(
      RelationshipDescription("tags", to: tag, maxCount: 0), of: note,
      RelationshipDescription("notes", to: note, maxCount: 0), of: tag)
    return model
  }

  @Test("rule 307: entities and relationships come without a row being written, and are used at once")
  func relationshipsCome() throws {
    try addNotes(["a", "b"], stand.open(Self.notes()))
    let before = try file()
    let context = try stand.open(Self.sorted())
    #expect(try file() == before)
    try context.performAndWait {
      let notes = try context.objectsByName("Note", by: "title")
      let (first, second) = (try #require(notes["a"]), try #require(notes["b"]))
      #expect(first.value(forKey: "folder") == nil)
      #expect(first.memberNames("tags") == [])
      let folder = context.newObject("Folder", ["name": "work"])
      folder.setValue([second, first], forKey: "notes")
      first.setValue(Set([context.newObject("Tag", ["name": "red"])]), forKey: "tags")
      try context.save()
    }
    #expect(try stand.problems() == [])
    let again = try stand.open(Self.sorted())
    try again.performAndWait {
      let folder = try #require(try again.objectsByName("Folder")["work"])
      #expect(folder.memberNames("notes", of: "title") == ["b", "a"])
      #expect(try again.objectsByName("Tag")["red"]?.memberNames("notes", of: "title") == ["a"])
    }
  }

  // MARK: What survives

  @Test("rules 277, 284: history and tokens survive a change that touches no row")
  func historySurvives() throws {
    let context = try stand.open(Self.notes()) { $0.recordsHistory = true }
    try addNotes(["a"], context)
    let token = try #require(try stand.coordinator?.currentHistoryToken())
    try addNotes(["b"], context)
    let later = try stand.open(Self.notes([AttributeDescription("stars", .integer16)]))
    try addNotes(["c"], later)
    let news = try #require(try stand.coordinator?.history(.fetchHistory(after: token)).transactions)
    #expect(news.count == 2)
    later.performAndWait {
      let titles = news.flatMap { $0.changes ?? [] }.compactMap {
        try? later.existingObject(with: $0.changedObjectID).textValue("title")
      }
      #expect(titles == ["b", "c"])
    }
  }

  // MARK: What needs a new file

  @Test(
    "rule 307: what changes rows, constraints or meanings writes a new file",
    arguments: ["mandatory", "text renamed", "unique", "derived", "large default", "asked for"])
  func newFile(_ change: String) throws {
    func body(_ isOptional: Bool) -> AttributeDescription {
      AttributeDescription("body", .string, isOptional: isOptional, defaultValue: isOptional ? nil : "none")
    }
    func count(_ type: AttributeType) -> AttributeDescription { AttributeDescription("count", type) }
    try addNotes(["a"], stand.open(Self.notes([body(true), count(.integer16)])), ["count": 5])
    let before = try file()
    var model: ManagedObjectModel
    switch change {
    case "mandatory": model = Self.notes([body(false), count(.integer16)])
    case "text renamed":
      model = Self.notes([
        AttributeDescription("text", .string).renamed(from: "body"), count(.integer16),
      ])
    case "unique":
      model = Self.notes([body(true), count(.integer16)])
      model.entitiesByName["Note"]?.uniquenessConstraints = [["title"]]
      model.entitiesByName["Note"]?.versionHashModifier = "unique"
    case "derived":
      model = Self.notes([
        body(true), count(.integer16),
        DerivedAttributeDescription("upper", .string, derivationExpression: "uppercase:(title)"),
      ])
    case "large default":
      let large = String(repeating: "x", count: 100_000)
      model = Self.notes([
        body(true), count(.integer16), AttributeDescription("extra", .string, defaultValue: large),
      ])
    default: model = Self.notes([body(true), count(.integer16), AttributeDescription("extra", .string)])
    }
    let context = try stand.open(model) {
      $0.migratesAllRows = change == "asked for"
    }
    #expect(try file() != before)
    #expect(try values("title", context) == ["a": "a"])
    if change == "mandatory" { #expect(try values("body", context) == ["a": "none"]) }
    if change == "derived" { #expect(try values("upper", context) == ["a": "A"]) }
    #expect(try stand.problems() == [])
  }

  @Test("rule 307: rows that a default value may make too long are written anew, with values outside of them")
  func longRows() throws {
    let names = (0..<59).map { "t\($0)" }
    func model(_ more: [AttributeDescription]) -> ManagedObjectModel {
      Self.notes(names.map { AttributeDescription($0, .string) } + more)
    }
    let (text, extra) = (String(repeating: "x", count: 1_010), String(repeating: "y", count: 200))
    var texts: [String: Any] = [:]
    for name in names { texts[name] = text }
    try addNotes(["a"], stand.open(model([])), texts)
    let later = model([AttributeDescription("extra", .string, defaultValue: extra)])
    let context = try stand.open(later)
    for name in names { #expect(try values(name, context) == ["a": text], "\(name)") }
    #expect(try values("extra", context) == ["a": extra])
    #expect(try stand.problems() == [])
    try context.performAndWait {
      try context.objectsByName("Note", by: "title")["a"]?.setValue("new", forKey: "t0")
      try context.save()
    }
    #expect(try stand.problems() == [])
    let again = try stand.open(later)
    #expect(try values("t0", again) == ["a": "new"])
    #expect(try values("t58", again) == ["a": text])
    #expect(try values("extra", again) == ["a": extra])
  }

  @Test("rule 308: a cancelled migration has changed nothing")
  func cancelled() throws {
    try addNotes(["a"], stand.open(Self.notes()))
    try stand.close()
    let before = try Data(contentsOf: stand.url)
    let progress = BatchProgress()
    progress.cancel()
    let error = #expect(throws: CoreDataError.self) {
      try LMDBStore.migrate(
        at: stand.url, to: Self.notes([AttributeDescription("stars", .integer16)]), progress: progress)
    }
    #expect(error?.code == .migrationCancelled)
    #expect(try Data(contentsOf: stand.url) == before)
  }

  @Test("what is salvaged from a store with rows of earlier layouts shows the same")
  func salvaged() throws {
    try addNotes(["a"], stand.open(Self.notes()))
    try addNotes(
      ["b"],
      stand.open(Self.notes([AttributeDescription("stars", .integer16, isOptional: false, defaultValue: 3)])))
    // The default of the model in the store is another one by now.
    try stand.open(
      Self.notes([AttributeDescription("stars", .integer16, isOptional: false, defaultValue: 4)]))
    try stand.close()
    let saved = stand.folder.url.appendingPathComponent("Saved.strata")
    let report = try LMDBStore.salvage(from: stand.url, to: saved)
    #expect(report.rowCount == 2)
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: Self.notes([
        AttributeDescription("stars", .integer16, isOptional: false, defaultValue: 4)
      ]))
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: saved))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    #expect(try values("stars", context) == ["a": 3, "b": 3])
    try coordinator.remove(store)
  }
}
