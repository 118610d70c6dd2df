import Foundation
import Strata
import StrataCommand
import Testing

/// Relationships with very many members: what is read and sent is what is looked at, or was changed.
@Suite struct ManyMembersTests {
  /// A page without a server, in this process: its figures can be read.
  private struct Asked {
    let browser: StoreBrowser
    /// Its folder goes with it.
    let library: Library

    init(_ library: Library) throws {
      self.library = library
      try library.close()
      browser = try StoreBrowser(library.path, writes: true)
    }

    func answer(_ request: BrowseRequest) throws -> (size: Int, object: [String: Any]) {
      // Unsafe: set on this thread, before `answer(_:reply:)` returns; none of these requests waits.
      nonisolated(unsafe) var answer: BrowseAnswer?
      browser.answer(request) { answer = $0 }
      let found = try #require(answer)
      let text = String(decoding: found.body, as: UTF8.self)
      #expect(found.status == 200, "\(request): \(text)")
      return (
        found.body.count,
        try #require(try JSONSerialization.jsonObject(with: Data(found.body)) as? [String: Any])
      )
    }

    func change(_ name: String, _ body: [String: Any] = [:]) throws -> (size: Int, object: [String: Any]) {
      let bytes = Array(try JSONSerialization.data(withJSONObject: body))
      return try answer(BrowseRequest(name: name, body: bytes, isPost: true))
    }

    /// Adds a member, or takes it away.
    func member(_ id: String, of owner: String, adds: Bool) throws -> (size: Int, object: [String: Any]) {
      try change("edit", ["kind": "member", "id": owner, "name": "books", "value": id, "adds": adds])
    }

    /// All members as the pages have them.
    func members(of owner: String, limit: Int) throws -> [String] {
      var found: [String] = []
      var query = ["id": owner, "relationship": "books", "limit": String(limit)]
      while true {
        let page = try answer(BrowseRequest(name: "members", query: query)).object
        let members = try #require(page["members"] as? [[String: Any]])
        found += try members.map { try #require($0["id"] as? String) }
        #expect(members.count <= limit)
        guard let next = page["next"] as? String else {
          #expect(page["count"] as? Int == found.count)
          return found
        }
        query["after"] = next
      }
    }
  }

  /// What was done to the books of an author, as the page is told.
  private static func books(_ answer: [String: Any], of author: String) throws -> [String: Any] {
    let changes = try #require(answer["changes"] as? [[String: Any]])
    let change = try #require(changes.first { $0["id"] as? String == author }, "\(answer)")
    return try #require((change["members"] as? [String: [String: Any]])?["books"], "\(change)")
  }

  private static func added(_ books: [String: Any]) -> [String]? {
    (books["added"] as? [[String: Any]])?.compactMap { $0["id"] as? String }
  }

  @Test(arguments: [300, 6_000])
  func aMemberIsAddedAndTakenAwayWithoutTheOthers(count: Int) throws {
    let page = try Asked(try Library(books: count))
    _ = try page.change("discard")
    let before = try #require(page.browser.editStatistics)
    let taken = try page.member("Book/p3", of: "Author/p1", adds: false)
    let books = try Self.books(taken.object, of: "Author/p1")
    #expect(books["removed"] as? [String] == ["Book/p3"] && Self.added(books) == [])
    #expect(books["count"] as? Int == count / 3 - 1)
    let given = try page.member("Book/p4", of: "Author/p1", adds: true)
    let more = try Self.books(given.object, of: "Author/p1")
    #expect(more["removed"] as? [String] == ["Book/p3"] && Self.added(more) == ["Book/p4"])
    #expect(more["count"] as? Int == count / 3)
    #expect(
      try Self.books(given.object, of: "Author/p2")["removed"] as? [String] == ["Book/p4"],
      "it was another author's")
    let undone = try page.change("undo")
    #expect(Self.added(try Self.books(undone.object, of: "Author/p1")) == [])
    let again = try page.change("redo")
    #expect(Self.added(try Self.books(again.object, of: "Author/p1")) == ["Book/p4"])
    let saved = try page.change("save")
    #expect(saved.object["total"] as? Int == 0)
    // The same figures, however many members there are.
    let after = try #require(page.browser.editStatistics)
    #expect(after.faultsFired - before.faultsFired + after.rowsRead - before.rowsRead <= 6, "\(after)")
    #expect(max(taken.size, given.size, again.size) < 2_500)
    let members = try page.members(of: "Author/p1", limit: 90)
    #expect(members.count == count / 3 && members.first == "Book/p4" && !members.contains("Book/p3"))
    #expect(
      after.relationshipFaultsFired == before.relationshipFaultsFired, "the members were not loaded")
  }

  @Test func theOrderOfMembersIsKept() throws {
    let page = try Asked(try Library(books: 900, isOrdered: true))
    let before = try page.members(of: "Author/p1", limit: 500)
    #expect(before.count == 300)
    let taken = try page.member("Book/p6", of: "Author/p1", adds: false)
    #expect(try Self.books(taken.object, of: "Author/p1")["removed"] as? [String] == ["Book/p6"])
    _ = try page.member("Book/p1", of: "Author/p1", adds: true)
    // One that is there moves to the end.
    let moved = try Self.books(
      try page.member("Book/p3", of: "Author/p1", adds: true).object, of: "Author/p1")
    #expect(Self.added(moved) == ["Book/p1", "Book/p3"], "\(moved)")
    #expect(
      Set(moved["removed"] as? [String] ?? []) == ["Book/p6", "Book/p3"] && moved["count"] as? Int == 300)
    let undone = try Self.books(try page.change("undo").object, of: "Author/p1")
    #expect(Self.added(undone) == ["Book/p1"] && undone["removed"] as? [String] == ["Book/p6"], "\(undone)")
    let again = try Self.books(try page.change("redo").object, of: "Author/p1")
    #expect(Self.added(again) == ["Book/p1", "Book/p3"], "\(again)")
    _ = try page.change("save")
    #expect(page.browser.editStatistics?.relationshipFaultsFired == 0, "the members were not loaded")
    let expected = before.filter { $0 != "Book/p6" && $0 != "Book/p3" } + ["Book/p1", "Book/p3"]
    for limit in [1, 7, 100, 500] { #expect(try page.members(of: "Author/p1", limit: limit) == expected) }
  }

  @Test func pagesOfMembersAreTheWholeList() throws {
    for isOrdered in [false, true] {
      let page = try Asked(try Library(books: 3_000, isOrdered: isOrdered))
      let expected = (1...1_000).map { "Book/p\($0 * 3)" }
      for limit in [1, 99, 500] {
        let found = try page.members(of: "Author/p1", limit: limit)
        #expect(isOrdered ? found.sorted() == expected.sorted() : found == expected, "\(isOrdered) \(limit)")
      }
    }
    let page = try Page(try Library())
    for after in ["x", "1", "1-", "-1-1", "1-2-3", ""] {
      let answer = try page.client.get(
        "members", ["id": "Author/p1", "relationship": "books", "after": after])
      #expect(answer.status == 400 && answer.text.contains("next"), "\(after): \(answer)")
    }
  }
}
