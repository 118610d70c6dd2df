import Foundation
import Strata
import Testing

private let size = ProcessInfo.processInfo.environment["STRATA_BROWSE_ROWS"].flatMap(Int.init) ?? 0

/// How long it takes until a table shows its first rows. `STRATA_BROWSE_ROWS=1000000` makes a store of that many rows and prints three times for each kind of
/// table: of the server's answer alone, of a page that is open and goes to the table until the rows are elements of it, and of a page that is loaded
/// with the table in its address. Something is saved before each, so no list of before can be used. It asserts nothing about time.
@Suite(
  .enabled(if: size > 0 && Browser.program != nil, "STRATA_BROWSE_ROWS says how many rows."))
struct FirstRowsFigure {
  private static let rounds = 15
  private static let tables: [(name: String, query: [String: String])] = [
    ("all", [:]),
    ("sorted, index", ["sort": "year:desc"]),
    ("sorted, no index", ["sort": "title:asc"]),
    ("filtered, index", ["where": "year == 1950"]),
    ("filtered, index, sorted", ["where": "year == 1950", "sort": "title:asc"]),
    ("filtered, no index", ["where": "title ENDSWITH '77'"]),
  ]

  @Test func theFirstRowsOfATable() throws {
    let library = try Library()
    try fill(library)
    let page = try Page(library)
    let browser = try Browser()
    try browser.send(
      "Page.addScriptToEvaluateOnNewDocument",
      [
        "source": """
        const firstRow = () => document.querySelector('#rows .row[aria-rowindex="2"] a');
        new MutationObserver(() => { if (!window.shownAt && firstRow()) window.shownAt = performance.now(); }).observe(document, { childList: true, subtree: true });
        const goTo = (hash) => new Promise((done) => {
          const begun = performance.now();
          new MutationObserver((_, observer) => { if (firstRow()) { observer.disconnect(); done(performance.now() - begun); } }).observe(document, { childList: true, subtree: true });
          location.hash = hash;
        });
        """
      ])
    for table in Self.tables {
      var query = URLComponents()
      query.queryItems = table.query.sorted { $0.key < $1.key }.map { URLQueryItem(name: $0, value: $1) }
      let hash = "#/rows/Book?\(query.percentEncodedQuery ?? "")"
      var (server, shown, loaded): ([Double], [Double], [Double]) = ([], [], [])
      for _ in 0..<Self.rounds {
        try save(library)
        let asked = table.query.merging(["entity": "Book", "offset": "0", "limit": "100"]) { $1 }
        var status = 0
        server.append(
          try ContinuousClock().measure { status = try page.client.get("rows", asked).status }
            / .milliseconds(1))
        #expect(status == 200)
        try browser.open(page.client.address + "#/model")
        try browser.wait(for: "following.isWaiting && document.getElementById('diagram')?.complete")
        let before = try browser.text("state.commit")
        try save(library)
        // The page has been told of it, and looks at nothing more.
        try browser.wait(for: "state.commit > \(before)")
        try browser.evaluate("following.last")
        shown.append(try browser.evaluate("goTo('\(hash.replacing("'", with: "\\'"))')") as? Double ?? .nan)
        try save(library)
        try browser.open(page.client.address + hash)
        try browser.wait(for: "window.shownAt")
        loaded.append(try browser.evaluate("window.shownAt") as? Double ?? .nan)
      }
      for (what, times) in [
        ("the server’s answer", server), ("rows in the open page", shown),
        ("rows in a page that is loaded", loaded),
      ] {
        let sorted = times.sorted()
        print(
          "First rows of \(size), \(table.name), \(what): median \(text(sorted[sorted.count / 2])) ms; all \(sorted.map(text).joined(separator: " "))"
        )
      }
    }
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  private func text(_ time: Double) -> String { String(format: "%.1f", time) }

  /// Books in so many saves that not all of them are objects at once.
  private func fill(_ library: Library) throws {
    var number = 3
    while number < size {
      let end = min(size, number + 20_000)
      try library.edit { context in
        let authors = try context.fetch(FetchRequest<ManagedObject>(entityName: "Author"))
        while number < end {
          number += 1
          let book = library.make(
            "Book", ["title": "Book \(number)", "year": 1900 + number % 100], context)
          book.setValue(authors[number % authors.count], forKey: "author")
        }
      }
    }
  }

  private func save(_ library: Library) throws {
    try library.edit { context in
      for shelf in try context.fetch(FetchRequest<ManagedObject>(entityName: "Shelf")) {
        shelf.setValue("Room \(UUID().uuidString)", forKey: "room")
      }
    }
  }
}
