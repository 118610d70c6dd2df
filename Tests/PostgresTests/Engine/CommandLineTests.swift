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

  @Test func whatWorksOnFilesOnlySaysSo() throws {
    let stand = try filled()
    for command in ["check", "stats", "compact"] {
      let said = run(command, stand.url.absoluteString)
      #expect(said.code == 64)
      #expect(said.error.contains("“strata \(command)” works on files"), "\(said)")
      #expect(said.error.contains("info, schema, rows, show, count"), "\(said)")
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
