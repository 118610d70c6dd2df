import Foundation
import Strata
import Testing

@testable import StrataCommand
@testable import StrataPostgres

/// `strata-postgres`: the commands that look, on a store on a server.
@Suite struct CommandLineTests {
  private struct Said {
    let code: Int32
    let output: String
    let error: String
    var lines: [String] { output.split(separator: "\n").map(String.init) }
  }

  private func run(_ arguments: String...) -> Said {
    let (output, errors) = (Output.capturing(), Output.capturing())
    // As the program does when it begins.
    _ = PersistentStoreDescription.StoreType.postgres
    let code = Output.$current.withValue(output) {
      Output.$errors.withValue(errors) { runStrata(arguments) }
    }
    return Said(code: code, output: output.text, error: errors.text)
  }

  private func filled() throws -> ServerStand {
    var options = PostgresStoreOptions()
    options.recordsHistory = true
    let stand = try ServerStand(Library.make(), options: options)
    let context = stand.context()
    context.transactionAuthor = "Eve"
    let author = try context.make("Author", ["name": "Ada"])
    for number in 0..<5 {
      let book = try context.make(
        number == 0 ? "Novel" : "Book",
        ["title": "title \(number)", "pages": Int32(number), "author": author])
      if number == 3 { book.setValue(String(repeating: "x", count: 3_000), forKey: "text") }
    }
    try context.save()
    return stand
  }

  @Test func commandsThatLookOpenAStoreByItsAddress() throws {
    let stand = try filled()
    let address = stand.url.absoluteString
    let count = run("count", address, "Book", "--where", "pages >= 2")
    #expect(count.code == 0 && count.output == "3\n", "\(count)")
    let rows = run("rows", address, "Book", "--sort", "pages:desc", "--columns", "title,author.name", "--csv")
    #expect(rows.lines.first == "title,author.name")
    #expect(rows.lines.dropFirst().map { $0 } == (0..<5).reversed().map { "title \($0),Ada" }, "\(rows)")
    let json = run("rows", address, "Book", "--where", "pages == 3", "--json")
    #expect(json.code == 0 && json.output.contains(String(repeating: "x", count: 3_000)))
    let schema = run("schema", address)
    #expect(schema.code == 0 && schema.output.contains("Novel: Book"), "\(schema)")
    let info = run("info", address)
    #expect(info.code == 0 && info.lines.contains("saves       1"), "\(info)")
    #expect(info.lines.contains("Novel: 1 object") && info.lines.contains("Book: 4 objects"))
    let history = run("history", address)
    #expect(history.code == 0 && history.output.contains("6 inserted  by Eve"), "\(history)")
    let book = try #require(try stand.context().all("Book", .comparison(key: "pages", .equal, 4)).first)
    let show = run("show", address, "Book/\(book.objectID.uriRepresentation().lastPathComponent)")
    #expect(show.code == 0 && show.output.contains("title 4"), "\(show)")
    // None of them has written anything.
    #expect(try stand.store.commitNumber() == 1)
  }

  /// A dump of a store on a server is one of any store: a file is made of it that has the same objects, and its dump the same bytes.
  @Test func aDumpIsLoadedIntoAFile() throws {
    let stand = try filled()
    let context = stand.context()
    let books = try context.all("Book", by: "title")
    let subjects = try (0..<3).map { try context.make("Subject", ["name": "subject \($0)"]) }
    for book in books { book.add(Array(subjects.prefix(2)), to: "subjects") }
    let list = try context.make("List", ["name": "list"])
    list.setValue([books[3], books[0], books[2]], forKey: "entries")
    // More rows than are read at a time, and more owners than are asked for together.
    for number in 0..<1_300 {
      let subject = try context.make("Subject", ["name": "more \(number)"])
      if number % 5 == 0 { subject.add([books[number % 4]], to: "books") }
    }
    try context.save()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dump-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    let dump = run("dump", stand.url.absoluteString, path("a.jsonl"))
    #expect(dump.code == 0, "\(dump)")
    #expect(dump.output.hasPrefix("1,310 objects"), "\(dump)")
    let load = run("load", path("a.jsonl"), path("a.strata"))
    #expect(load.code == 0, "\(load)")
    #expect(run("dump", path("a.strata"), path("b.jsonl")).code == 0)
    let (first, second) = (
      try String(contentsOfFile: path("a.jsonl"), encoding: .utf8),
      try String(contentsOfFile: path("b.jsonl"), encoding: .utf8)
    )
    #expect(first.split(separator: "\n").count > 1_310)
    #expect(first == second)
    #expect(first.contains(String(repeating: "x", count: 3_000)))
    let csv = run("dump", stand.url.absoluteString, path("csv"), "--csv")
    #expect(csv.code == 0, "\(csv)")
    #expect(FileManager.default.fileExists(atPath: path("csv/Novel.csv")))
    // Keys that were given to others are not given again.
    let file = PersistentStoreCoordinator(managedObjectModel: Library.make())
    try file.addPersistentStore(PersistentStoreDescription(url: URL(fileURLWithPath: path("a.strata"))))
    let later = ManagedObjectContext(.confinement, coordinator: file)
    let made = try later.make("Subject", ["name": "later"])
    try later.save()
    #expect(try later.count(for: FetchRequest<ManagedObject>(entityName: "Subject")) == 1_304)
    let keys = try context.all("Subject").map { $0.objectID.uriRepresentation().lastPathComponent }
    #expect(!keys.contains(made.objectID.uriRepresentation().lastPathComponent))
  }

  @Test func statsTellWhereTheBytesAre() throws {
    let stand = try filled()
    let stats = run("stats", stand.url.absoluteString, "--history")
    #expect(stats.code == 0, "\(stats)")
    for words in [
      "objects of Book and below", "members of Book.subjects", "the store itself", "on the server",
      "history of",
    ] {
      #expect(stats.output.contains(words), "\(stats)")
    }
    let json = run("stats", stand.url.absoluteString, "--json")
    let value = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
    #expect((value?["objects"] as? [String: Int])?["Book"] == 4)
    let parts = try #require(value?["parts"] as? [String: Int])
    #expect((parts["objects of Book and below"] ?? 0) > 0)
    #expect(parts.values.reduce(0, +) == value?["bytes"] as? Int)
    let told = try stand.sql("SELECT pg_table_size('\(stand.table("book"))')")
    #expect(try told?.text(0, 0) == parts["objects of Book and below"].map(String.init))
  }

  @Test func explainTellsThePlanOfTheServer() throws {
    let stand = try filled()
    // Enough rows for an index to pay.
    let mapping = stand.store.mapping
    let code = mapping.codes[try #require(mapping.schema.entity(named: "Book")).number]
    try stand.sql(
      "INSERT INTO \(stand.table("book")) (pk, entity, version, title, code) SELECT n + 100000, \(code), 1, 't', 'c' || n FROM generate_series(1, 5000) n; ANALYZE \(stand.table("book"))"
    )
    let address = stand.url.absoluteString
    let one = run("explain", address, "Book", "--where", "code == 'c77'", "--analyze")
    #expect(one.code == 0 && one.output.contains("Index Scan by") && one.output.contains("code"), "\(one)")
    #expect(one.output.contains("actual: 1 row looked at, 1 returned"), "\(one)")
    let all = run("explain", address, "Book", "--where", "title == 't'", "--analyze")
    #expect(all.output.contains("Scan") && all.output.contains("No index helps"), "\(all)")
    #expect(all.output.contains("5,005 rows looked at, 5,000 returned"), "\(all)")
    let here = run("explain", address, "Book", "--where", "code MATCHES 'c7.'", "--analyze")
    #expect(
      here.code == 0 && here.output.contains("decided here") && here.output.contains("10 returned"), "\(here)"
    )
    let json = run("explain", address, "Book", "--where", "code == 'c77'", "--json")
    let value = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
    #expect(value?["access"] as? String == "index")
    #expect(value?["estimatedRows"] as? Int == 1)
    // Contexts tell it, too.
    let explanation = try stand.context().explain(
      FetchRequest<ManagedObject>(entityName: "Book", predicate: .comparison(key: "code", .equal, "c77")))
    #expect(explanation.stores.first?.access == .index)
  }

  @Test func whatWorksOnFilesOnlySaysSo() throws {
    let stand = try filled()
    for command in ["check", "compact"] {
      let said = run(command, stand.url.absoluteString)
      #expect(said.code == 64)
      #expect(said.error.contains("“strata \(command)” works on files"), "\(said)")
      #expect(said.error.contains("info, stats, schema, rows, show, count, explain"), "\(said)")
    }
    let unknown = run("count", "mysql://db.example/app", "Book")
    #expect(unknown.code == 64)
    #expect(unknown.error.contains("no addresses that begin with “mysql”"), "\(unknown)")
  }

  @Test func whatServersSayIsAnExitCode() throws {
    let server = try TestServer.required()
    let missing = run("count", try server.url(TestServer.freshNamespace()).absoluteString, "Book")
    #expect(missing.code == 4, "\(missing)")
    let unreachable = run("count", "postgres:///postgres?host=/nowhere&user=tests", "Book")
    #expect(unreachable.code == 1, "\(unreachable)")
  }
}
