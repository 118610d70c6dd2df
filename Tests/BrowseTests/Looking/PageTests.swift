import Foundation
import Strata
import Testing
import TortureKit

/// The page in a real browser.
@Suite(.enabled(if: Browser.program != nil, Browser.reason), .serialized)
struct PageTests {
  private static func open(_ page: Page, _ hash: String = "", isDark: Bool = false) throws -> Browser {
    let browser = try Browser(isDark: isDark)
    try browser.open(page.client.address + hash)
    try browser.wait(for: "document.getElementById('live').textContent === 'live'")
    return browser
  }

  /// The text of a row by its place on the screen, the head being 0.
  private static func row(_ place: Int) -> String {
    "document.querySelectorAll('#rows .row')[\(place)].innerText"
  }

  /// Two frames are drawn then.
  private static let twoFrames =
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))))"

  @Test func entitiesAndRowsAreShown() throws {
    let page = try Page(try Library())
    let browser = try Self.open(page)
    let entities = try browser.text(
      "[...document.querySelectorAll('#entities a')].map((a) => a.innerText.replace(/\\s+/g, ' ')).join()")
    #expect(entities == "Author 3,Book 3,Shelf 1")
    try browser.wait(for: "\(Self.row(1)).includes('Ursula')")
    #expect(try browser.text("document.title").hasPrefix("Library.strata"))
    // What looks like markup is text.
    #expect(try browser.text(Self.row(2)).contains("<b>Tom</b>"))
    #expect(try browser.text("document.querySelectorAll('#rows b').length") == "0")
    try browser.evaluate("document.querySelector('#entities a[data-entity=Book]').click()")
    try browser.wait(for: "\(Self.row(1)).includes('Book 1')")
    #expect(
      try browser.text("getComputedStyle(document.querySelector('.writing')).display") == "none",
      "it is only read")
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func aTableIsScrolledThroughAndSorted() throws {
    let page = try Page(try Library(books: 20_000))
    let browser = try Self.open(page, "#/rows/Book")
    try browser.wait(
      for:
        "document.getElementById('count').textContent === '20,000 objects' && \(Self.row(1)).includes('Book 1')"
    )
    #expect(
      Int(try browser.text("document.querySelectorAll('#rows .row').length")) ?? 999 < 60,
      "only what is seen is there")
    try browser.evaluate("document.getElementById('rows').scrollTop = 28 * 15000")
    try browser.wait(for: "\(Self.row(1)).includes('Book 15001')")
    // What comes above the table late takes its place from the table, and moves nothing in it.
    try browser.evaluate("document.getElementById('plan').style.height = '60px'")
    try browser.evaluate(Self.twoFrames)
    #expect(try browser.text(Self.row(1)).contains("Book 15001"))
    try browser.evaluate("document.getElementById('rows').scrollTop = 1e9")
    try browser.wait(for: "document.getElementById('rows').innerText.includes('Book 20000')")
    try browser.evaluate("document.querySelector('[data-sort=year]').click()")
    try browser.wait(for: "\(Self.row(1)).includes('1900')")
    try browser.evaluate("document.querySelector('[data-sort=year]').click()")
    try browser.wait(
      for:
        "\(Self.row(1)).includes('1999') && document.querySelector('[data-sort=year]').ariaSort === 'descending'"
    )
    try browser.picture("rows")
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func theKeyboardIsEnough() throws {
    let page = try Page(try Library(books: 500))
    let browser = try Self.open(page, "#/rows/Book")
    try browser.wait(for: "\(Self.row(1)).includes('Book 1')")
    try browser.press("End", code: 35)
    try browser.wait(for: "document.querySelector('.chosen')?.innerText.includes('Book 500')")
    try browser.press("Home", code: 36)
    try browser.press("ArrowDown", code: 40)
    try browser.wait(for: "document.querySelector('.chosen')?.innerText.includes('Book 2')")
    try browser.press("Enter", code: 13)
    try browser.wait(for: "document.getElementById('object')?.textContent === 'Book/p2'")
    try browser.press("2", code: 50)
    try browser.wait(for: "location.hash === '#/history'")
    try browser.press("1", code: 49)
    try browser.wait(for: "document.getElementById('where')")
    try browser.press("/", code: 191)
    try browser.wait(for: "document.activeElement.id === 'where'")
    try browser.press("Escape", code: 27)
    try browser.press("?", code: 191)
    try browser.wait(for: "document.getElementById('keys').open")
  }

  @Test func conditionsShowTheirPlansAndErrorsInPlace() throws {
    let page = try Page(try Library(books: 200))
    let browser = try Self.open(page, "#/rows/Book")
    try browser.wait(for: "\(Self.row(1)).includes('Book 1')")
    try browser.evaluate("document.getElementById('where').focus()")
    try browser.type("year == 1950")
    try browser.press("Enter", code: 13)
    try browser.wait(for: "document.getElementById('count').textContent === '2 objects'")
    try browser.wait(for: "document.getElementById('plan').textContent.includes('index Book.byYear')")
    #expect(try browser.text("location.hash").contains("where=year"))
    try browser.type(" AND yeer > 3")
    try browser.wait(for: "document.getElementById('wrong').textContent.includes('Did you mean “year”?')")
    #expect(try browser.text("document.getElementById('where').getAttribute('aria-invalid')") == "true")
    #expect(
      try browser.text("document.getElementById('count').textContent") == "2 objects", "what was found stays")
    try browser.picture("condition")
    try browser.evaluate(
      "document.getElementById('where').value = ''; document.getElementById('where').dispatchEvent(new Event('input'))"
    )
    try browser.wait(
      for:
        "document.getElementById('count').textContent === '200 objects' && document.getElementById('wrong').hidden"
    )
  }

  @Test func linksAreFollowedBothWays() throws {
    let page = try Page(try Library())
    let browser = try Self.open(page, "#/object/Book/p1")
    try browser.wait(for: "document.querySelector('#incoming a').textContent.includes('Attic')")
    try browser.evaluate("document.querySelector('#links [data-name=author] a').click()")
    try browser.wait(for: "document.getElementById('object').textContent === 'Author/p2'")
    try browser.evaluate("document.querySelector('#links [data-name=books] a').click()")
    try browser.wait(for: "document.getElementById('object').textContent === 'Book/p1'")
    try browser.evaluate("document.querySelector('#incoming a').click()")
    try browser.wait(for: "document.getElementById('object').textContent === 'Shelf/p1'")
    try browser.evaluate("history.back()")
    try browser.wait(for: "document.getElementById('object').textContent === 'Book/p1'")
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func largeValuesAreShownAsWhatTheyAre() throws {
    let page = try Page(try Library())
    let browser = try Self.open(page, "#/object/Author/p1")
    try browser.wait(for: "document.querySelector('#attributes img')?.naturalWidth === 1")
    try browser.open(page.client.address + "#/object/Author/p2")
    try browser.wait(
      for:
        "document.querySelector('#attributes pre[data-kind=text]')?.textContent === 'A note,\\nin two lines.'"
    )
    try browser.open(page.client.address + "#/object/Author/p3")
    try browser.wait(
      for:
        "document.querySelector('#attributes pre[data-kind=bytes]')?.textContent.startsWith('000000  00 01 02')"
    )
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func theHistoryIsATimeline() throws {
    let library = try Library(recordsHistory: true)
    try library.edit(author: "Bert") { context in
      for book in try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")) {
        book.setValue(7, forKey: "year")
      }
    }
    let page = try Page(library)
    let browser = try Self.open(page, "#/history")
    try browser.wait(for: "document.querySelectorAll('#timeline > li').length === 2")
    let first = try browser.text("document.querySelector('#timeline > li').innerText")
    #expect(first.contains("Bert") && first.contains("changed Book/p1 year"), "\(first)")
    try browser.picture("history")
    try browser.evaluate("document.querySelector('#timeline a').click()")
    try browser.wait(for: "document.getElementById('object')?.textContent.startsWith('Book/')")
  }

  @Test(arguments: [false, true])
  func theModelAndTheSpaceArePictures(isDark: Bool) throws {
    let page = try Page(try Library())
    let browser = try Self.open(page, "#/model", isDark: isDark)
    try browser.wait(for: "document.getElementById('diagram')?.naturalWidth > 100")
    let color = try browser.text("getComputedStyle(document.body).backgroundColor")
    #expect(color == (isDark ? "rgb(20, 24, 31)" : "rgb(255, 255, 255)"))
    try browser.picture(isDark ? "model-dark" : "model")
    try browser.evaluate("location.hash = '#/space'")
    try browser.wait(for: "document.querySelectorAll('#space rect').length > 3")
    #expect(try browser.text("document.querySelector('#main table').innerText").contains("index Book.byYear"))
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func whatOthersSaveAppearsAndFlashes() throws {
    let library = try Library()
    let page = try Page(library)
    let browser = try Self.open(page, "#/rows/Book")
    try browser.wait(for: "\(Self.row(3)).includes('Book 3')")
    // The flash ends by itself: the page notes that there was one.
    try browser.evaluate(
      """
      window.seen = new Set(); new MutationObserver(() => { for (const row of document.querySelectorAll('.row.flash')) seen.add(row.dataset.change + ' ' + row.innerText.split('\\n')[0]); }).observe(document.getElementById('rows'), { childList: true, subtree: true })
      """)
    try library.edit { context in
      library.make("Book", ["title": "From elsewhere"], context)
      var request = FetchRequest<ManagedObject>(entityName: "Book")
      request.predicate = try FetchPredicate(format: "title == 'Book 2'")
      for book in try context.fetch(request) { book.setValue("Book two", forKey: "title") }
    }
    try browser.wait(for: "document.getElementById('rows').innerText.includes('From elsewhere')")
    try browser.wait(for: "seen.has('inserted Book/p4') && seen.has('updated Book/p2')")
    try browser.wait(
      for: "document.querySelector('#entities a[data-entity=Book] .count').textContent === '4'")
    #expect(try browser.text("document.getElementById('rows').innerText").contains("Book two"))
    try browser.picture("live")
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func anyNumberOfPagesIsLive() throws {
    let library = try Library()
    let page = try Page(library)
    let browser = try Self.open(page, "#/rows/Book")
    var tabs = [browser.tab]
    // A browser has six connections for all of them.
    for _ in 0..<8 {
      tabs.append(try browser.openTab(page.client.address + "#/rows/Book"))
      try browser.wait(
        for: "document.getElementById('live').textContent === 'live' && \(Self.row(3)).includes('Book 3')")
    }
    func appears(_ title: String, in tabs: [String]) throws {
      for tab in tabs {
        try browser.show(tab)
        try browser.wait(for: "document.getElementById('rows').innerText.includes('\(title)')")
      }
    }
    // While a page comes to the front, one gives its turn back and another takes it: what counts is where that ends.
    func theOneThatWaits() throws -> String {
      let end = ContinuousClock.now + .seconds(120)
      while ContinuousClock.now < end {
        let waiting = try tabs.filter { try browser.text("following.isWaiting", in: $0) == "true" }
        if waiting.count == 1 { return waiting[0] }
        usleep(20_000)
      }
      throw BrowserError(text: "It is not one page that waits for all of them.")
    }
    try library.edit { library.make("Book", ["title": "For all"], $0) }
    try appears("For all", in: tabs)
    // The one that waits goes: another one waits instead.
    try browser.show(tabs[0])
    try browser.wait(for: "!document.hidden")
    let one = try theOneThatWaits()
    try browser.closeTab(one)
    tabs.removeAll { $0 == one }
    try library.edit { library.make("Book", ["title": "For the others"], $0) }
    try appears("For the others", in: tabs)
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func manyMembersAreShownInPages() throws {
    let page = try Page(try Library(books: 900), "--write")
    let browser = try Self.open(page, "#/object/Author/p1")
    let books = "document.querySelector('#links [data-name=books]')"
    try browser.wait(for: "\(books).querySelectorAll('ul.links li').length === 20")
    try browser.evaluate("document.querySelector('[aria-label=\"More books\"]').click()")
    try browser.wait(for: "\(books).querySelectorAll('ul.links li').length === 220")
    // What was loaded stays while it is edited.
    try browser.evaluate("document.querySelector('[aria-label=\"Take away Book/p3\"]').click()")
    try browser.wait(for: "\(books).querySelectorAll('ul.links li').length === 219")
    #expect(
      try browser.text("\(books).previousSibling.innerText").contains("299 Book, 1 taken away"))
    try browser.evaluate("document.querySelector('[aria-label=\"Add to books\"]').focus()")
    try browser.type("Book/p1")
    try browser.press("Enter", code: 13)
    try browser.wait(for: "\(books).querySelector('ul.added')?.innerText.includes('Book/p1')")
    #expect(try browser.text("\(books).querySelectorAll('ul.links li').length") == "220")
    try browser.evaluate("document.querySelector('[aria-label=\"More books\"]').click()")
    try browser.wait(
      for:
        "\(books).querySelectorAll('ul.links li').length === 300 && document.querySelector('[aria-label=\"More books\"]').hidden"
    )
    try browser.evaluate("document.getElementById('save').click()")
    try browser.wait(
      for:
        "document.getElementById('pending').innerText.includes('Nothing to save') && !\(books).querySelector('ul.added') && \(books).querySelector('li').innerText.includes('Book/p1')"
    )
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func whatIsTypedIsKept() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let browser = try Self.open(page, "#/object/Shelf/p1")
    let room = "document.querySelector('#attributes [data-name=room]')"
    let first = "document.querySelector('#links [data-name=first]')"
    try browser.wait(for: "document.querySelector('[aria-label=\"Edit room\"]')")
    try browser.evaluate(
      "document.querySelector('[aria-label=\"Edit room\"]').click(); document.activeElement.select()")
    try browser.type("Draft")
    // Another process changes the object, and it is drawn again.
    try library.edit { context in
      for shelf in try context.fetch(FetchRequest<ManagedObject>(entityName: "Shelf")) {
        shelf.setValue("Other", forKey: "room")
      }
    }
    try browser.wait(for: "document.getElementById('attributes').classList.contains('flash')")
    #expect(try browser.text("\(room).querySelector('textarea')?.value") == "Draft")
    #expect(try browser.text("document.activeElement === \(room).querySelector('textarea')") == "true")
    // Setting one leaves the other one open, and so does looking at something else.
    try browser.evaluate(
      "document.querySelector('[aria-label=\"Edit first\"]').click(); document.activeElement.select()")
    try browser.type("Book/p2")
    try browser.evaluate("\(room).querySelector('button.strong').click()")
    try browser.wait(
      for:
        "!\(room).querySelector('textarea') && \(room).innerText.includes('Draft') && \(room).querySelector('.saved').innerText.includes('Other')"
    )
    #expect(try browser.text("\(first).querySelector('input')?.value") == "Book/p2")
    try browser.evaluate("location.hash = '#/object/Book/p2'")
    try browser.wait(for: "document.getElementById('object')?.textContent === 'Book/p2'")
    try browser.evaluate("location.hash = '#/object/Shelf/p1'")
    try browser.wait(for: "\(first).querySelector('input')?.value === 'Book/p2'")
    #expect(
      try browser.text(
        "(() => { const event = new Event('beforeunload', { cancelable: true }); return dispatchEvent(event); })()"
      ) == "false")
    // What cannot be set keeps everything from being saved.
    try browser.evaluate("\(first).querySelector('input').focus(); document.activeElement.value = 'Book/p99'")
    try browser.press("s", code: 83, modifiers: 2)
    try browser.wait(for: "\(first).querySelector('.message').textContent.includes('Book/p99')")
    #expect(try library.values("Shelf", "room") == ["Other"])
    try browser.evaluate("document.activeElement.value = 'Book/p2'")
    try browser.press("s", code: 83, modifiers: 2)
    try browser.wait(for: "!\(first).querySelector('input')")
    // What another process has saved may be merged later: until then saving is refused.
    try browser.wait(
      for:
        "document.getElementById('pending').innerText.includes('Nothing to save') || document.getElementById('save').click()"
    )
    #expect(try library.values("Shelf", "room", where: "first.title == 'Book 2'") == ["Draft"])
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func longTextsAndLineEndsStayWhole() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let room = "document.querySelector('#attributes [data-name=room]')"
    let button = "document.querySelector('[aria-label=\"Edit room\"]')"
    func set(_ text: String) throws {
      #expect(
        try page.client.post("edit", ["kind": "update", "id": "Shelf/p1", "name": "room", "value": text])
          .status == 200)
    }
    // Only the beginning of a long text that is not saved yet is shown: it cannot be edited.
    try set(String(repeating: "x", count: 3_000))
    let browser = try Self.open(page, "#/object/Shelf/p1")
    try browser.wait(for: "\(room)?.innerText.includes('The beginning')")
    #expect(try browser.text("\(button) === null") == "true")
    // All of it can be looked at.
    try browser.evaluate(
      "fetch(\(room).querySelector('a').href).then((answer) => answer.text()).then((text) => document.body.dataset.whole = text)"
    )
    try browser.wait(for: "document.body.dataset.whole === 'x'.repeat(3000)")
    try set("one\r\ntwo")
    #expect(try page.client.post("save").status == 200)
    try browser.wait(for: button)
    try browser.evaluate("\(button).click(); document.querySelector('#attributes button.strong').click()")
    try browser.wait(for: button)
    #expect(try page.client.object("pending")["total"] as? Int == 0, "nothing was typed")
    try browser.evaluate(
      "\(button).click(); document.activeElement.setSelectionRange(7, 7)")
    try browser.type("!")
    try browser.evaluate("document.querySelector('#attributes button.strong').click()")
    try browser.wait(for: "\(room).innerText.includes('two!') && \(button)")
    #expect(try page.client.post("save").status == 200)
    #expect(try library.values("Shelf", "room") == ["one\r\ntwo!"])
    try set("one\r\ntwo\nthree")
    #expect(try page.client.post("save").status == 200)
    try browser.wait(for: "\(room).innerText.includes('different ways') && !\(button)")
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func editsOfOtherPagesAreSeen() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let browser = try Self.open(page, "#/object/Book/p2")
    try browser.wait(for: "document.getElementById('delete')")
    #expect(try page.client.post("edit", ["kind": "delete", "id": "Book/p2"]).status == 200)
    // What is deleted already cannot be deleted: that is said.
    try browser.evaluate("document.getElementById('delete').click()")
    try browser.wait(for: "document.querySelector('#pending .error')?.innerText.includes('no object')")
    try browser.evaluate("dispatchEvent(new Event('focus'))")
    try browser.wait(for: "document.getElementById('object').classList.contains('removed')")
    #expect(
      try page.client.post("edit", ["kind": "update", "id": "Book/p1", "name": "year", "value": "1"]).status
        == 200)
    try library.edit { library.make("Book", ["title": "Another"], $0) }
    try browser.wait(for: "document.getElementById('pending').innerText.includes('2 unsaved')")
    // An address that is none is looked for, and not found.
    try browser.evaluate("location.hash = '#/object/Book%2Fp1%'")
    try browser.wait(for: "document.querySelector('#main .error')")
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func editsAreUndoneSavedAndThrownAway() throws {
    let library = try Library()
    let page = try Page(library, "--write")
    let browser = try Self.open(page, "#/object/Book/p1")
    let button = "document.querySelector('[aria-label=\"Edit title\"]')"
    try browser.wait(for: button)
    func edit(_ text: String) throws {
      try browser.evaluate("\(button).click(); document.activeElement.select()")
      try browser.type(text)
      try browser.evaluate("document.querySelector('#attributes button.strong').click()")
    }
    let title = "document.querySelector('#attributes [data-name=title]').innerText"
    // Too long: the rule is told where the value is.
    try edit(String(repeating: "x", count: 50))
    try browser.wait(for: "document.querySelector('#attributes .message').textContent.length > 5")
    try browser.press("Escape", code: 27)
    try browser.wait(for: "document.getElementById('pending').hidden")
    try edit("Edited")
    try browser.wait(
      for: "\(title).includes('Edited') && document.getElementById('pending').innerText.includes('1 unsaved')"
    )
    try browser.picture("edit")
    try browser.evaluate("document.getElementById('undo').click()")
    try browser.wait(for: "\(title).includes('Book 1') && !\(title).includes('Edited')")
    try browser.evaluate("document.getElementById('redo').click()")
    try browser.wait(for: "\(title).includes('Edited')")
    #expect(try library.values("Book", "title") == ["Book 1", "Book 2", "Book 3"])
    try browser.evaluate("document.getElementById('save').click()")
    try browser.wait(for: "document.getElementById('pending').innerText.includes('Nothing to save')")
    #expect(try library.values("Book", "title") == ["Book 2", "Book 3", "Edited"])
    // Members are taken away and added from the other end.
    try browser.evaluate("location.hash = '#/object/Author/p2'")
    try browser.wait(for: "document.querySelector('[aria-label=\"Take away Book/p1\"]')")
    try browser.evaluate("document.querySelector('[aria-label=\"Take away Book/p1\"]').click()")
    try browser.wait(for: "document.querySelector('#links [data-name=books]').innerText === ''")
    try browser.evaluate("document.querySelector('[aria-label=\"Add to books\"]').focus()")
    try browser.type("Book/p")
    // The object is drawn again, as when others save: typing goes on where it was.
    try browser.evaluate("state.view.show()")
    try browser.type("2")
    try browser.press("Enter", code: 13)
    try browser.wait(
      for: "document.querySelector('#links [data-name=books] a')?.innerText.includes('Book/p2')")
    try browser.evaluate("document.getElementById('save').click()")
    try browser.wait(for: "document.getElementById('pending').innerText.includes('Nothing to save')")
    #expect(try library.values("Book", "title", where: "author.name == '<b>Tom</b>'") == ["Book 2"])
    // A new object lacks what it must have: saving says so, and throwing away takes it back.
    try browser.evaluate("location.hash = '#/rows/Book'")
    try browser.wait(for: "document.getElementById('insert')")
    try browser.evaluate("document.getElementById('insert').click()")
    try browser.wait(for: "document.getElementById('main').innerText.includes('not saved yet')")
    try browser.evaluate("document.getElementById('save').click()")
    try browser.wait(
      for: "document.querySelector('#attributes [data-name=title] .message')?.textContent.length > 5")
    try browser.evaluate("document.getElementById('discard').click()")
    try browser.wait(for: "!document.getElementById('pending').innerText.includes('unsaved:')")
    #expect(try library.values("Book", "title") == ["Book 2", "Book 3", "Edited"])
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }
}
