import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Names of tables and columns that the model gives.
@Suite struct GivenNameTests {
  /// Books of authors, with readers: a hierarchy, a to-one relationship and a table of links.
  private func model(
    _ names: [String: [String: Any]] = [:], modifier: String? = nil
  ) -> ManagedObjectModel {
    func attribute(_ name: String) -> AttributeDescription {
      AttributeDescription(name, .string, isOptional: true)
    }
    let book = EntityDescription("Book", properties: [attribute("title"), attribute("note")])
    let novel = EntityDescription("Novel", properties: [attribute("plot")])
    book.subentities = [novel]
    let author = EntityDescription("Author", properties: [attribute("name")])
    for (owner, name, count, other, back, backCount) in [
      (book, "author", 1, author, "books", 0), (book, "readers", 0, author, "reads", 0),
    ] {
      let there = RelationshipDescription(name, to: other, maxCount: count)
      let here = RelationshipDescription(back, to: owner, maxCount: backCount)
      there.inverseRelationship = here
      here.inverseRelationship = there
      owner.properties.append(there)
      other.properties.append(here)
    }
    author.versionHashModifier = modifier
    for (place, entries) in names {
      let parts = place.split(separator: ".").map(String.init)
      for entity in [book, novel, author] where entity.name == parts[0] {
        if parts.count == 1 {
          entity.userInfo = entries
        } else {
          entity.propertiesByName[parts[1]]?.userInfo = entries
        }
      }
    }
    return ManagedObjectModel(entities: [book, novel, author])
  }

  private let given: [String: [String: Any]] = [
    "Book": ["postgres.table": "tbl_Books", "colour": "red"],
    "Book.title": ["postgres.column": "TITEL \"1\""],
    "Novel.plot": ["postgres.column": "book_plot"], "Book.author": ["postgres.column": "author_id"],
    "Author.reads": ["postgres.table": "reading"],
  ]

  @Test func namesOfTheModelAreUsedAsTheyAre() throws {
    let stand = try ServerStand(model(given))
    let context = stand.context()
    let author = try context.make("Author", ["name": "Ada"])
    let novel = try context.make("Novel", ["title": "t", "note": "n", "plot": "p", "author": author])
    novel.add([author], to: "readers")
    try context.save()
    let row = try stand.sql(
      "SELECT b.\"TITEL \"\"1\"\"\", b.note, b.book_plot, a.name FROM \(stand.table("tbl_Books")) b JOIN \(stand.table("author")) a ON a.pk = b.author_id JOIN \(stand.table("reading")) r ON r.dst = b.pk AND r.src = a.pk"
    )
    #expect(row?.rowCount == 1)
    // A model that says nothing of names opens the store with those that it has; one that says something else is refused.
    let silent = try stand.neighbour(model())
    #expect(try silent.context().texts("Novel", "plot") == ["p"])
    for store in silent.coordinator.persistentStores { try silent.coordinator.remove(store) }
    var other = given
    other["Book.title"] = ["postgres.column": "heading"]
    let error = #expect(throws: StorageError.self) { try stand.neighbour(model(other)) }
    #expect(error?.kind == .invalid)
    #expect(error?.detail.contains("“heading”") == true && error?.detail.contains("“TITEL \"1\"”") == true)
  }

  @Test func aMigrationGivesOtherNames() throws {
    let stand = try ServerStand(model(given))
    let context = stand.context()
    let author = try context.make("Author", ["name": "Ada"])
    let novel = try context.make("Novel", ["title": "t", "plot": "p", "author": author])
    novel.add([author], to: "readers")
    try context.save()
    for store in stand.coordinator.persistentStores { try stand.coordinator.remove(store) }
    var other = given
    other["Book"] = ["postgres.table": "volumes"]
    other["Book.title"] = ["postgres.column": "heading"]
    other["Author.reads"] = nil
    try PostgresStores.migrate(at: stand.url, to: model(other, modifier: "2"))
    let migrated = try stand.neighbour(model(other, modifier: "2"))
    let reader = migrated.context()
    let found = try #require(try reader.all("Novel").first)
    #expect(found.value(forKey: "title") as? String == "t")
    #expect(found.set("readers").count == 1)
    let rows = try stand.sql(
      "SELECT heading FROM \(stand.table("volumes")) v JOIN \(stand.table("author_reads")) r ON r.dst = v.pk")
    #expect(try rows?.text(0, 0) == "t")
    for store in migrated.coordinator.persistentStores { try migrated.coordinator.remove(store) }
  }

  /// What is wrong with names is told at once, and nothing is made.
  @Test(arguments: [
    (["Novel": ["postgres.table": "novels"]], "Novel has the table of Book"),
    (
      ["Book.title": ["postgres.column": "note_x"], "Book.note": ["postgres.column": "note_x"]],
      "named by Book."
    ),
    (
      ["Book.title": ["postgres.column": "x"], "Novel.plot": ["postgres.column": "x"]],
      "named by Book.title and by Novel.plot"
    ),
    (["Book.title": ["postgres.column": "pk"]], "one of the store's or of the server's own"),
    (["Book.title": ["postgres.column": "xmin"]], "one of the store's or of the server's own"),
    (["Book.title": ["postgres.column": "outside_3"]], "one of the store's or of the server's own"),
    (["Book": ["postgres.table": "strata_store"]], "one of the store's own"),
    (["Book": ["postgres.table": "t"], "Author": ["postgres.table": "t"]], "The table “t” is named by"),
    (
      ["Book": ["postgres.table": "t"], "Book.readers": ["postgres.table": "t"]], "The table “t” is named by"
    ),
    (
      ["Book.readers": ["postgres.table": "a"], "Author.reads": ["postgres.table": "b"]],
      "share a table of links"
    ),
    (["Book.title": ["postgres.column": ""]], "no name on PostgreSQL"),
    (["Book.title": ["postgres.column": String(repeating: "é", count: 32)]], "no name on PostgreSQL"),
    (["Book.title": ["postgres.column": "a\0b"]], "no name on PostgreSQL"),
    (["Book.title": ["postgres.colum": "a"]], "names nothing that it has"),
    (["Book.title": ["postgres.table": "a"]], "names nothing that it has"),
    (["Author.books": ["postgres.column": "a"]], "names nothing that it has"),
  ])
  func namesThatCannotBeAreRefused(names: [String: [String: String]], reason: String) throws {
    let url = try TestServer.required().url(TestServer.freshNamespace())
    let model = model(names)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let error = #expect(throws: StorageError.self) { try coordinator.addPostgresStore(at: url) }
    #expect(error?.kind == .invalid)
    #expect(error?.detail.contains(reason) == true, "\(error?.detail ?? "")")
    #expect(throws: StorageError.self) { try PostgresStores.metadata(at: url) }
  }

  @Test func aNumberIsNoName() throws {
    let refusals = GivenNames(try model(["Book": ["postgres.table": 7]]).schema()).refusals
    #expect(refusals.count == 1)
    #expect(refusals.first?.contains("no name on PostgreSQL") == true)
  }

  /// Names by rule give way to those of the model.
  @Test func namesByRuleGiveWay() throws {
    let mapping = try MappingBuilder.mapping(
      try model(["Book.title": ["postgres.column": "note"], "Book": ["postgres.table": "author"]]).schema(),
      namespace: "n")
    #expect(mapping.names["Book.title"] == "note")
    #expect(mapping.names["Book.note"]?.hasPrefix("note_") == true)
    #expect(mapping.names["table Book"] == "author")
    #expect(mapping.names["table Author"]?.hasPrefix("author_") == true)
  }

  /// A quote and a mark behind it are one character, and two scalars.
  @Test func anIndexOverANameWithAMarkBehindAQuoteIsListed() throws {
    let title = AttributeDescription("title", .string, isOptional: true)
    title.userInfo = ["postgres.column": "a\"\u{308}b"]
    let book = EntityDescription("Book", properties: [title], uniquenessConstraints: [["title"]])
    let stand = try ServerStand(ManagedObjectModel(entities: [book]))
    #expect(try stand.store.indexes().map(\.name) == ["unique(title)"])
    let context = stand.context()
    try context.make("Book", ["title": "One"])
    try context.save()
    #expect(try stand.context().texts("Book", "title") == ["One"])
  }
}
