import Foundation
import Strata
import StrataCommand
import Testing

/// Edits: one context, which can be undone, saved and thrown away.
@Suite struct EditTests {
  private static func changes(_ answer: [String: Any]) throws -> [String: String] {
    let list = try #require(answer["changes"] as? [[String: Any]])
    return Dictionary(
      uniqueKeysWithValues: try list.map {
        (try #require($0["id"] as? String), try #require($0["kind"] as? String))
      })
  }

  @Test func whatIsEditedIsSavedWhenThatIsSaid() throws {
    let library = try Library(recordsHistory: true)
    let page = try Page(library, "--write")
    let edit = try page.client.post(
      "edit", ["kind": "update", "id": "Book/p1", "name": "year", "value": "2001"])
    #expect(edit.status == 200, "\(edit)")
    #expect(try Self.changes(edit.object()) == ["Book/p1": "updated"])
    let values = try #require(
      ((try edit.object()["changes"] as? [[String: Any]])?.first?["values"] as? [String: [String: Any]]))
    #expect(values["year"]?["text"] as? String == "2001" && values.count == 1)
    #expect(
      try library.values("Book", "year", where: "title == 'Book 1'") == ["1901"], "nothing is saved yet")
    #expect(try page.client.object("pending")["total"] as? Int == 1, "another page sees it, too")
    let saved = try page.client.post("save")
    #expect(saved.status == 200, "\(saved)")
    #expect(try saved.object()["total"] as? Int == 0, "\(saved)")
    #expect(try library.values("Book", "year", where: "title == 'Book 1'") == ["2001"])
    let history = try page.client.object("history", ["limit": "1"])
    #expect((history["transactions"] as? [[String: Any]])?.first?["author"] as? String == "strata browse")
  }

  @Test func editsAreUndoneOneByOne() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    for (id, value) in [("Book/p1", "First"), ("Book/p2", "Second")] {
      #expect(
        try page.client.post("edit", ["kind": "update", "id": id, "name": "title", "value": value]).status
          == 200)
    }
    let undone = try page.client.post("undo").object()
    #expect(try Self.changes(undone) == ["Book/p1": "updated"])
    #expect(undone["canUndo"] as? Bool == true && undone["canRedo"] as? Bool == true)
    #expect(try Self.changes(page.client.post("undo").object()).isEmpty)
    #expect(try page.client.post("undo").object()["canUndo"] as? Bool == false)
    #expect(try Self.changes(page.client.post("redo").object()) == ["Book/p1": "updated"])
    #expect(try Self.changes(page.client.post("redo").object()).count == 2)
    #expect(try page.client.post("save").status == 200)
    #expect(try library.values("Book", "title") == ["Book 3", "First", "Second"])
    // A save can be taken back as well, by another one.
    _ = try page.client.post("undo")
    #expect(try page.client.post("save").status == 200)
    #expect(try library.values("Book", "title") == ["Book 2", "Book 3", "First"])
  }

  @Test func whatIsThrownAwayIsGone() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let new = try page.client.post("edit", ["kind": "insert", "entity": "Book"]).object()
    let id = try #require(new["id"] as? String)
    #expect(try page.client.post("edit", ["kind": "delete", "id": "Book/p1"]).status == 200)
    #expect(try Self.changes(page.client.object("pending"))[id] == "inserted")
    let empty = try page.client.post("discard").object()
    #expect(try Self.changes(empty).isEmpty)
    #expect(empty["canUndo"] as? Bool == false)
    #expect(try page.client.post("save").status == 200)
    #expect(try library.values("Book", "title") == ["Book 1", "Book 2", "Book 3"])
    #expect(
      try page.client.post("edit", ["kind": "update", "id": id, "name": "title", "value": "x"]).status == 404)
  }

  @Test func objectsAreMadeLinkedAndDeleted() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let id = try #require(
      try page.client.post("edit", ["kind": "insert", "entity": "Book"]).object()["id"] as? String)
    // What must have a value has none: that is told where it is, and nothing is saved.
    let refused = try page.client.post("save")
    #expect(refused.status == 422, "\(refused)")
    let field = try #require((try refused.object()["fields"] as? [[String: Any]])?.first)
    #expect(
      field["id"] as? String == id && field["name"] as? String == "title"
        && (field["error"] as? String)?.isEmpty == false)
    #expect(try library.values("Book", "title").count == 3)
    for edit in [
      ["kind": "update", "id": id, "name": "title", "value": "New"],
      ["kind": "update", "id": id, "name": "price", "value": "12.50"],
      ["kind": "update", "id": id, "name": "printed", "value": "2024-02-29"],
      ["kind": "link", "id": id, "name": "author", "value": "Author/p1"],
      ["kind": "link", "id": "Shelf/p1", "name": "first", "value": id], ["kind": "delete", "id": "Book/p1"],
      ["kind": "link", "id": "Book/p2", "name": "author", "value": nil],
      ["kind": "member", "id": "Author/p1", "name": "books", "value": "Book/p2"],
    ] as [[String: String?]] {
      let answer = try page.client.post("edit", edit)
      #expect(answer.status == 200, "\(edit): \(answer)")
    }
    #expect(try page.client.post("save").status == 200)
    #expect(try library.values("Book", "title") == ["Book 2", "Book 3", "New"])
    #expect(try library.values("Book", "price", where: "title == 'New'") == ["12.5"])
    #expect(
      try library.values("Book", "title", where: "author.name == 'Ursula'") == ["Book 2", "Book 3", "New"])
    let object = try page.client.object("object", ["id": id])
    #expect(
      ((object["incoming"] as? [[String: Any]])?.first?["members"] as? [[String: Any]])?.first?["id"]
        as? String == "Shelf/p1")
    let taken = try page.client.post(
      "edit", ["kind": "member", "id": "Author/p1", "name": "books", "value": id, "adds": false])
    #expect(taken.status == 200, "\(taken)")
    #expect(try page.client.post("save").status == 200)
    #expect(try library.values("Book", "author", where: "title == 'New'") == ["nil"])
  }

  @Test func whatIsWrongChangesNothing() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let wrong: [(edit: [String: Any?], status: Int, words: String)] = [
      (["kind": "update", "id": "Book/p1", "name": "year", "value": "x"], 400, "integer16"),
      (["kind": "update", "id": "Book/p1", "name": "year", "value": "99999"], 400, "integer16"),
      (["kind": "update", "id": "Book/p1", "name": "printed", "value": "tomorrow"], 400, "2024-02-29"),
      (["kind": "update", "id": "Author/p1", "name": "portrait", "value": "***"], 400, "Base64"),
      (
        ["kind": "update", "id": "Book/p1", "name": "title", "value": String(repeating: "x", count: 41)], 422,
        "at most 40"
      ),
      (
        ["kind": "update", "id": "Book/p1", "name": "author", "value": "Author/p1"], 400,
        "no stored attribute"
      ),
      (["kind": "update", "id": "Book/p1", "name": "nothing", "value": nil], 400, "no stored attribute"),
      (["kind": "update", "id": "Book/p77", "name": "year", "value": "1"], 404, "Book/p77"),
      (["kind": "link", "id": "Book/p1", "name": "author", "value": "Book/p2"], 400, "leads to Author"),
      (["kind": "link", "id": "Book/p1", "name": "author", "value": "Author/p99"], 404, "Author/p99"),
      (["kind": "link", "id": "Book/p1", "name": "title", "value": "Author/p1"], 400, "to-one"),
      (["kind": "member", "id": "Author/p1", "name": "books", "value": "Author/p2"], 400, "leads to Book"),
      (["kind": "insert", "entity": "Nothing"], 400, "Nothing"), (["kind": "insert"], 400, "entity"),
      (["kind": "delete"], 400, "id"), (["kind": "explode", "id": "Book/p1"], 400, "explode"),
      (["what": "x"], 400, "what"), ([:], 400, "kind"),
    ]
    for (edit, status, words) in wrong {
      let answer = try page.client.post("edit", edit)
      #expect(answer.status == status && answer.text.contains(words), "\(edit): \(answer)")
      let pending = try page.client.object("pending")
      #expect(pending["total"] as? Int == 0 && pending["canUndo"] as? Bool == false, "\(edit)")
    }
    let target = "/\(page.client.secret)/api/edit"
    let headers = [
      ("Origin", Optional("http://127.0.0.1:\(page.client.port)")), ("Content-Type", "application/json"),
    ]
    for body in ["", "{", "[]", "{} {}", #"{"kind":5}"#, String(repeating: "[", count: 100_000)] {
      let answer = try page.client.ask("POST", target: target, headers: headers, body: Array(body.utf8))
      #expect(answer.status == 400, "\(body.prefix(20)): \(answer)")
    }
  }

  @Test func uniqueValuesAreKept() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    #expect(
      try page.client.post("edit", ["kind": "update", "id": "Author/p3", "name": "name", "value": "Ursula"])
        .status == 200)
    let refused = try page.client.post("save")
    #expect(refused.status == 422 && refused.text.contains("Nothing was saved"), "\(refused)")
    #expect(try library.values("Author", "name").count { $0 == "Ursula" } == 1)
    #expect(try page.client.object("pending")["total"] as? Int == 1, "the edit is still there")
    #expect(try page.client.post("undo").status == 200)
    #expect(try page.client.post("save").status == 200)
  }

  @Test func whatOthersSaveMeanwhileIsKept() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let client = page.client
    #expect(
      try client.post("edit", ["kind": "update", "id": "Book/p1", "name": "year", "value": "1"]).status == 200
    )
    let commit = try #require(try client.object("begin")["commit"] as? Int)
    try library.edit { context in
      var request = FetchRequest<ManagedObject>(entityName: "Book")
      request.predicate = try FetchPredicate(format: "title == 'Book 1'")
      for book in try context.fetch(request) { book.setValue("Renamed", forKey: "title") }
    }
    _ = try client.object("changes", ["after": String(commit), "wait": "60"])
    try Self.saveWhenMerged(client)
    #expect(try library.values("Book", "title") == ["Book 2", "Book 3", "Renamed"])
    #expect(try library.values("Book", "year", where: "title == 'Renamed'") == ["1"])
  }

  /// Saves. What another process has saved is either merged by now, or a conflict that is said; never is anything of it lost.
  private static func saveWhenMerged(_ client: Client) throws {
    let end = ContinuousClock.now + .seconds(120)
    var saved = try client.post("save")
    while saved.status != 200 {
      try #require(saved.status == 422 && saved.text.contains("Nothing was saved"), "\(saved)")
      try #require(ContinuousClock.now < end, "it was never merged: \(saved)")
      saved = try client.post("save")
    }
  }

  @Test func whatOthersMoveMeanwhileLeavesTheOrderOfMembersWhole() throws {
    let library = try Library(books: 6, isOrdered: true)
    let page = try Page(library, "--write")
    let client = page.client
    // Moved here, and not saved yet.
    #expect(
      try client.post("edit", ["kind": "link", "id": "Book/p1", "name": "author", "value": "Author/p1"])
        .status
        == 200)
    #expect(
      try client.post("edit", ["kind": "update", "id": "Book/p1", "name": "title", "value": "Moved"]).status
        == 200)
    // Another process moves it to a third author: merging that changes the members of several.
    try library.edit { context in
      var request = FetchRequest<ManagedObject>(entityName: "Book")
      request.predicate = try FetchPredicate(format: "title == 'Book 1'")
      let authors = FetchRequest<ManagedObject>(entityName: "Author")
      let third = try context.fetch(authors).first { $0.value(forKey: "name") as? String == "Aiko" }
      for book in try context.fetch(request) { book.setValue(third, forKey: "author") }
    }
    try Self.saveWhenMerged(client)
    #expect(try library.values("Book", "title", where: "author.name == 'Ursula'").contains("Moved"))
    #expect(try library.values("Book", "title").count == 6)
    #expect(try client.post("edit", ["kind": "delete", "id": "Author/p3"]).status == 200)
    #expect(try client.post("undo").status == 200)
    #expect(try client.object("pending")["total"] as? Int == 0)
  }

  @Test func anEditAfterAnotherFileHasTakenThePlaceIsOfThatFile() throws {
    let library = try Library()
    let other = try Library(books: 7)
    try other.close()
    let page = try Page(library, "--write")
    try library.close()
    #expect(rename(other.path, library.path) == 0)
    let answer = try page.client.post(
      "edit", ["kind": "update", "id": "Book/p7", "name": "title", "value": "Seven"])
    #expect(answer.status == 200, "\(answer)")
    #expect(try Self.changes(page.client.object("pending")) == ["Book/p7": "updated"])
    #expect(try page.client.post("save").status == 200)
    let titles = try page.client.object("rows", ["entity": "Book", "where": "title == 'Seven'"])
    #expect(titles["count"] as? Int == 1)
  }

  @Test func whatThePageSavesIsToldToOtherPages() throws {
    let page = try Page(try Library(), "--write")
    let commit = try #require(try page.client.object("begin")["commit"] as? Int)
    #expect(
      try page.client.post("edit", ["kind": "update", "id": "Book/p1", "name": "year", "value": "1"]).status
        == 200)
    #expect(try page.client.post("save").status == 200)
    let change = try page.client.object("changes", ["after": String(commit), "wait": "60"])
    #expect(change["isUnknown"] as? Bool == true, "\(change)")
  }

  @Test func unsavedEditsOutliveAnotherFile() throws {
    let library = try Library()
    let other = try Library(books: 7)
    try other.close()
    let page = try Page(library, "--write")
    #expect(
      try page.client.post("edit", ["kind": "update", "id": "Book/p1", "name": "year", "value": "1"]).status
        == 200)
    try library.close()
    #expect(rename(other.path, library.path) == 0)
    for answer in [try page.client.post("save"), try page.client.get("rows", ["entity": "Book"])] {
      #expect(answer.status == 409 && answer.text.contains("Throw it away"), "\(answer)")
    }
    #expect(try page.client.object("pending")["total"] as? Int == 1)
    #expect(try page.client.post("discard").status == 200)
    #expect(try page.client.object("rows", ["entity": "Book"])["count"] as? Int == 7)
    #expect(
      try page.client.post("edit", ["kind": "update", "id": "Book/p7", "name": "year", "value": "1"]).status
        == 200)
    #expect(try page.client.post("save").status == 200)
  }
}
