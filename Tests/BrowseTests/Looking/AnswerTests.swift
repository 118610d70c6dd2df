import Foundation
import Strata
import StrataCommand
import Testing

/// What the page is told of a store.
@Suite struct AnswerTests {
  private static func ids(_ answer: [String: Any]) throws -> [String] {
    try #require(answer["rows"] as? [[String: Any]]).map {
      try #require($0["id"] as? String ?? $0["gone"] as? String)
    }
  }

  @Test func thePageBeginsWithTheEntities() throws {
    let library = try Library(books: 5)
    let page = try Page(library)
    let begin = try page.client.object("begin")
    #expect(begin["store"] as? String == "Library.strata" && begin["writes"] as? Bool == false)
    #expect(begin["recordsHistory"] as? Bool == false)
    let entities = try #require(begin["entities"] as? [[String: Any]])
    #expect(entities.map { $0["name"] as? String } == ["Author", "Book", "Shelf"])
    #expect(entities.map { $0["count"] as? Int } == [3, 5, 1])
  }

  @Test func rowsHaveColumnsAndCells() throws {
    let page = try Page(try Library())
    let authors = try page.client.object("rows", ["entity": "Author"])
    let columns = try #require(authors["columns"] as? [[String: Any]])
    #expect(columns.map { $0["name"] as? String } == ["name", "born", "portrait", "books"])
    #expect(columns.map { $0["sorts"] as? Bool } == [true, true, false, false])
    let rows = try #require(authors["rows"] as? [[String: Any]])
    #expect(rows.map { $0["id"] as? String } == ["Author/p1", "Author/p2", "Author/p3"])
    let cells = try #require(rows[0]["cells"] as? [Any])
    #expect(cells[0] as? String == "Ursula" && cells[1] as? String == "1929")
    #expect((cells[2] as? [String: Int])?["size"] == Library.picture.count)
    #expect((cells[3] as? [String: Int])?["count"] == 1)
    #expect((rows[2]["cells"] as? [Any])?[1] is NSNull)
    let books = try page.client.object("rows", ["entity": "Book", "sort": "title:desc", "limit": "1"])
    let book = try #require((books["rows"] as? [[String: Any]])?.first)
    #expect(book["id"] as? String == "Book/p3" && books["count"] as? Int == 3)
    let author = try #require((book["cells"] as? [Any])?.last as? [String: Any])
    #expect(author["id"] as? String == "Author/p1" && author["label"] as? String == "Ursula")
  }

  @Test func windowsArePartsOfOneTable() throws {
    let library = try Library(books: 5_000)
    let page = try Page(library)
    // In the order of the keys, and in another one: all windows together are every row once.
    for query in [
      ["entity": "Book"], ["entity": "Book", "sort": "year:desc"],
      ["entity": "Book", "where": "year >= 1950"],
    ] {
      var found: [String] = []
      var (at, total) = ("", 1)
      while found.count < total {
        var part = query
        part["offset"] = String(found.count)
        part["limit"] = "499"
        if !at.isEmpty { part["at"] = at }
        let answer = try page.client.object("rows", part)
        total = try #require(answer["count"] as? Int)
        at = String(try #require(answer["commit"] as? Int))
        let ids = try Self.ids(answer)
        #expect(!ids.isEmpty)
        found += ids
      }
      let expected = try library.values("Book", "title", where: query["where"])
      #expect(found.count == expected.count && Set(found).count == found.count, "\(query)")
    }
  }

  /// The first windows of a large sorted table are found without a list of its rows, the others with it: where one ends and the other begins, many rows have the same value.
  @Test(arguments: ["year:asc", "year:desc", "price:asc", "title:desc"], ["", "year >= 1950"])
  func windowsOfALargeSortedTableAreInOneOrder(sort: String, condition: String) throws {
    let library = try Library(books: 21_000)
    let page = try Page(library)
    var query = ["entity": "Book", "sort": sort, "limit": "500"]
    if !condition.isEmpty { query["where"] = condition }
    var found: [String] = []
    for offset in stride(from: 0, to: 4_000, by: 500) {
      query["offset"] = String(offset)
      found += try Self.ids(try page.client.object("rows", query))
    }
    let parts = sort.split(separator: ":")
    let context = ManagedObjectContext(.privateQueue, coordinator: library.coordinator)
    let expected = try context.performAndWait {
      var request = FetchRequest<ManagedObjectID>(entityName: "Book")
      if !condition.isEmpty { request.predicate = try FetchPredicate(format: condition) }
      request.sortDescriptors = [FetchSort(String(parts[0]), ascending: parts[1] == "asc")]
      request.fetchLimit = 4_000
      return try context.fetch(request).map {
        $0.uriRepresentation().pathComponents.suffix(2).joined(separator: "/")
      }
    }
    #expect(found == expected)
  }

  @Test func aTableThatIsScrolledStaysWhatItWas() throws {
    let library = try Library(books: 300)
    let page = try Page(library)
    let query = ["entity": "Book", "sort": "title:asc", "limit": "100"]
    let first = try page.client.object("rows", query)
    let at = String(try #require(first["commit"] as? Int))
    try library.edit { context in
      library.make("Book", ["title": "A new one"], context)
      var request = FetchRequest<ManagedObject>(entityName: "Book")
      request.predicate = try FetchPredicate(format: "title == 'Book 300'")
      for book in try context.fetch(request) { context.delete(book) }
    }
    let same = try page.client.object("rows", query.merging(["at": at, "offset": "200"]) { $1 })
    #expect(same["commit"] as? Int == Int(at) && same["count"] as? Int == 300)
    #expect(try Self.ids(same).contains("Book/p300"), "what is gone keeps its place")
    let gone = try #require(same["rows"] as? [[String: Any]]).compactMap { $0["gone"] as? String }
    #expect(gone == ["Book/p300"])
    let next = try page.client.object("rows", query)
    #expect(next["commit"] as? Int != Int(at) && next["count"] as? Int == 300)
    #expect(try Self.ids(next).first == "Book/p301")
  }

  @Test func conditionsAreExplainedAndTheirErrorsPointedAt() throws {
    let page = try Page(try Library(books: 200))
    let found = try page.client.object(
      "rows", ["entity": "Book", "where": "year > 1990 AND author.name == 'Ursula'"])
    #expect(found["count"] as? Int ?? 0 > 0)
    let plan = try page.client.object("plan", ["entity": "Book", "where": "year > 1990"])
    #expect(plan["access"] as? String == "index" && plan["indexes"] as? [String] == ["Book.byYear"])
    for (condition, words) in [
      ("yeer > 3", "Did you mean “year”?"), ("year > > 3", "^"), ("year BEGINSWITH 'x'", "year"),
      ("title MATCHES '('", "("), ("year > %d", "argument"),
    ] {
      for name in ["rows", "plan"] {
        let answer = try page.client.get(name, ["entity": "Book", "where": condition])
        let error = try answer.object()
        let text = "\(error["error"] ?? "") \(error["advice"] ?? "")"
        #expect(answer.status == 400 && text.contains(words), "\(condition): \(answer)")
      }
    }
    #expect(try page.client.get("rows", ["entity": "Bok"]).status == 400)
    #expect(try page.client.get("rows", ["entity": "Book", "sort": "titel:asc"]).status == 400)
    #expect(try page.client.get("rows", ["entity": "Book", "offset": "-1"]).status == 400)
    #expect(try page.client.get("rows").status == 400)
  }

  @Test func anObjectIsFollowedBothWays() throws {
    let page = try Page(try Library())
    let book = try page.client.object("object", ["id": "Book/p1"])
    let author = try #require((book["toOne"] as? [[String: Any]])?.first?["target"] as? [String: Any])
    #expect(author["id"] as? String == "Author/p2")
    let incoming = try #require((book["incoming"] as? [[String: Any]])?.first)
    #expect(incoming["name"] as? String == "Shelf.first" && incoming["count"] as? Int == 1)
    #expect((incoming["members"] as? [[String: Any]])?.first?["label"] as? String == "Attic")
    let other = try page.client.object("object", ["id": "Author/p2"])
    let books = try #require((other["toMany"] as? [[String: Any]])?.first)
    #expect((books["members"] as? [[String: Any]])?.map { $0["id"] as? String } == ["Book/p1"])
    #expect(
      try page.client.object("object", ["id": try #require(book["uri"] as? String)])["id"] as? String
        == "Book/p1")
    let more = try page.client.object("members", ["id": "Book/p1", "relationship": "Shelf.first"])
    #expect(more["count"] as? Int == 1)
    #expect(try page.client.get("members", ["id": "Book/p1", "relationship": "author"]).status == 400)
    #expect(try page.client.get("object", ["id": "Book/p99"]).status == 404)
    #expect(try page.client.get("object", ["id": "Book/p0"]).status == 400)
    #expect(try page.client.get("object", ["id": "Nothing/p1"]).status == 400)
  }

  @Test func manyMembersComeInParts() throws {
    let page = try Page(try Library(books: 600))
    let books = try #require(
      (try page.client.object("object", ["id": "Author/p1"])["toMany"] as? [[String: Any]])?.first)
    #expect(books["count"] as? Int == 200 && (books["members"] as? [Any])?.count == 20)
    let rest = try page.client.object(
      "members",
      [
        "id": "Author/p1", "relationship": "books", "after": try #require(books["next"] as? String),
        "limit": "180",
      ])
    #expect((rest["members"] as? [Any])?.count == 180 && rest["next"] is NSNull)
  }

  @Test func valuesAreShownAsWhatTheyAre() throws {
    let page = try Page(try Library())
    func portrait(_ id: String) throws -> [String: Any] {
      let object = try page.client.object("object", ["id": id])
      return try #require(
        (object["attributes"] as? [[String: Any]])?.first { $0["name"] as? String == "portrait" })
    }
    let picture = try portrait("Author/p1")
    #expect(picture["kind"] as? String == "image" && picture["media"] as? String == "image/png")
    let image = try page.client.get("value", ["id": "Author/p1", "name": "portrait"])
    #expect(image.headers["content-type"] == "image/png" && image.body == Library.picture)
    let text = try portrait("Author/p2")
    #expect(text["kind"] as? String == "text" && text["text"] as? String == "A note,\nin two lines.")
    #expect(
      try page.client.get("value", ["id": "Author/p2", "name": "portrait"]).headers["content-type"]
        == "text/plain; charset=utf-8")
    let bytes = try portrait("Author/p3")
    #expect(bytes["kind"] as? String == "bytes" && bytes["isWhole"] as? Bool == false)
    #expect((bytes["text"] as? String)?.hasPrefix("000000  00 01 02 03") == true, "\(bytes)")
    let file = try page.client.get("value", ["id": "Author/p3", "name": "portrait"])
    #expect(
      file.headers["content-disposition"] == "attachment; filename=\"Author-p3-portrait.bin\""
        && file.body.count == 600)
    // A page is never a page here, whatever it says.
    let name = try page.client.get("value", ["id": "Author/p2", "name": "name"])
    #expect(name.text == "<b>Tom</b>" && name.headers["content-type"] == "text/plain; charset=utf-8")
    #expect(try page.client.get("value", ["id": "Author/p2", "name": "born"]).status == 404)
    #expect(try page.client.get("value", ["id": "Author/p2", "name": "books"]).status == 404)
  }

  @Test func picturesAreKnownByTheirFirstBytes() throws {
    let library = try Library()
    let samples: [(bytes: [UInt8], type: String)] = [
      ([0xFF, 0xD8, 0xFF, 0xE0, 1, 2], "image/jpeg"), (Array("GIF89a!".utf8), "image/gif"),
      (Array("RIFF1234WEBPVP8 ".utf8), "image/webp"), ([0, 0, 0, 28] + Array("ftypavif".utf8), "image/avif"),
      (Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), "text/plain; charset=utf-8"),
      (Array("<html><script>alert(1)</script>".utf8), "text/plain; charset=utf-8"),
      (Array("GIF88".utf8) + [0], "application/octet-stream"), ([0xC3, 0x28], "application/octet-stream"),
    ]
    try library.edit { context in
      for (place, sample) in samples.enumerated() {
        library.make("Author", ["name": "Sample \(place)", "portrait": Data(sample.bytes)], context)
      }
    }
    let page = try Page(library)
    for (place, sample) in samples.enumerated() {
      let answer = try page.client.get("value", ["id": "Author/p\(4 + place)", "name": "portrait"])
      #expect(
        answer.headers["content-type"] == sample.type && answer.body == Data(sample.bytes),
        "\(place): \(answer)")
    }
  }

  @Test func theHistoryTellsWhoHasChangedWhat() throws {
    let library = try Library(recordsHistory: true)
    for number in 0..<5 {
      try library.edit(author: "Author \(number)") { context in
        for book in try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")) {
          book.setValue(number, forKey: "year")
        }
      }
    }
    let page = try Page(library)
    let first = try page.client.object("history", ["limit": "2"])
    let transactions = try #require(first["transactions"] as? [[String: Any]])
    #expect(
      transactions.map { $0["author"] as? String } == ["Author 4", "Author 3"]
        && first["hasMore"] as? Bool == true)
    let changes = try #require(transactions[0]["changes"] as? [[String: Any]])
    #expect(
      changes.count == 3
        && changes.allSatisfy {
          $0["properties"] as? [String] == ["year"] && $0["type"] as? String == "update"
        })
    #expect((transactions[0]["counts"] as? [String: Int])?["update"] == 3)
    let number = try #require(transactions[1]["number"] as? Int)
    let rest = try page.client.object("history", ["before": String(number)])
    #expect(
      (rest["transactions"] as? [[String: Any]])?.map { $0["author"] as? String } == [
        "Author 2", "Author 1", "Author 0", "Ann",
      ])
    #expect(rest["hasMore"] as? Bool == false)
    let other = try Page(try Library())
    let none = try other.client.object("history")
    #expect(none["recordsHistory"] as? Bool == false)
  }

  @Test func aPageOfTheHistoryReadsNothingNewer() throws {
    let library = try Library(recordsHistory: true)
    for number in 1...120 {
      try library.edit { context in
        for shelf in try context.fetch(FetchRequest<ManagedObject>(entityName: "Shelf")) {
          shelf.setValue("Room \(number)", forKey: "room")
        }
      }
    }
    let page = try Page(library)
    var numbers: [Int] = []
    var query = ["limit": "20"]
    while true {
      let answer = try page.client.object("history", query)
      let transactions = try #require(answer["transactions"] as? [[String: Any]])
      numbers += try transactions.map { try #require($0["number"] as? Int) }
      #expect(answer["read"] as? Int ?? .max <= 21, "page behind \(numbers.count - transactions.count)")
      if answer["hasMore"] as? Bool == false { break }
      query["before"] = String(try #require(numbers.last))
    }
    #expect(numbers.count == 121 && zip(numbers, numbers.dropFirst()).allSatisfy { $0 > $1 })
  }

  @Test func theModelAndTheSpaceAreTold() throws {
    let page = try Page(try Library())
    let diagram = try page.client.get("diagram")
    #expect(diagram.headers["content-type"]?.hasPrefix("image/svg+xml") == true)
    #expect(diagram.text.contains(">Author<") && diagram.text.contains("author / books"))
    let space = try page.client.object("space")
    let parts = try #require(space["parts"] as? [[String: Any]])
    #expect(parts.contains { $0["name"] as? String == "index Book.byYear" && $0["entries"] as? Int == 3 })
    #expect(space["bytes"] as? Int ?? 0 > 0 && (space["objects"] as? [String: Int])?["Book"] == 3)
  }

  @Test func lookingWritesNothing() throws {
    let library = try Library(recordsHistory: true)
    try library.close()
    // Other files beside it are its lock and its log: the log, too, stays what it is.
    func contents() throws -> [String: Data] {
      let folder = URL(fileURLWithPath: library.path).deletingLastPathComponent()
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      var found: [String: Data] = [:]
      for name in names where !name.contains("lock") {
        found[name] = try Data(contentsOf: folder.appendingPathComponent(name))
      }
      return found
    }
    let before = try contents()
    #expect(before["Library.strata"]?.isEmpty == false)
    do {
      let page = try Page(library)
      for (name, query) in [
        ("begin", [:]), ("rows", ["entity": "Book", "sort": "year:asc"]), ("object", ["id": "Author/p1"]),
        ("history", [:]), ("space", [:]),
        ("diagram", [:]), ("plan", ["entity": "Book"]), ("changes", ["after": "0", "wait": "0"]),
      ] {
        #expect(try page.client.get(name, query).status == 200, "\(name)")
      }
      #expect(try page.client.upload("Author/p1", "portrait", Data([1])).status == 409)
      for name in StoreBrowser.changing.subtracting(StoreBrowser.takingBytes) {
        #expect(try page.client.post(name, ["kind": "delete", "id": "Author/p1"]).status == 409, "\(name)")
      }
    }
    #expect(try contents() == before)
  }
}
