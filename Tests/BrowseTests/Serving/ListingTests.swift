import Foundation
import StrataBrowse
import StrataCommand
import Testing
import struct StrataCore.Mutex

/// Requests that only read do not wait for each other.
@Suite struct ListingTests {
  /// Long enough for any machine: it is only waited for as long where a request hangs.
  private static let patience = DispatchTimeInterval.seconds(100)

  /// Asks for many tables at once, each on a thread of its own.
  private static func ask(_ client: Client, _ queries: [[String: String]]) -> (
    threads: [Thread], statuses: Mutexed
  ) {
    let statuses = Mutexed()
    let threads = queries.map { query in
      Thread { statuses.append((try? client.get("rows", query))?.status ?? 0) }
    }
    for thread in threads { thread.start() }
    return (threads, statuses)
  }

  private final class Mutexed: Sendable {
    private let list = Mutex<[Int]>([])
    func append(_ status: Int) { list.withLock { $0.append(status) } }
    var all: [Int] { list.withLock { $0 } }
  }

  @Test func aListThatTakesLongIsWaitedForByNobodyElse() throws {
    let library = try Library(books: 50, recordsHistory: true)
    try library.close()
    // More than processors, and more than a browser asks at once.
    let count = min(40, max(8, 3 * ProcessInfo.processInfo.activeProcessorCount))
    let (begun, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let browser = try StoreBrowser(library.path, writes: false) { _, condition, _ in
      guard condition?.hasPrefix("year >= ") == true else { return }
      begun.signal()
      release.wait()
    }
    let server = try PageServer(browser)
    defer { server.stop() }
    let client = try Client(server.address)
    let (threads, statuses) = Self.ask(
      client, (0..<count).map { ["entity": "Book", "where": "year >= \(1900 + $0)"] })
    do {
      defer { for _ in 0..<count { release.signal() } }
      for number in 0..<count {
        try #require(
          begun.wait(timeout: .now() + Self.patience) == .success, "only \(number) are made at once")
      }
      // All of them are held open now, and everything else is answered.
      #expect(try client.object("rows", ["entity": "Book", "where": "year == 1910"])["count"] as? Int == 1)
      #expect(try client.object("rows", ["entity": "Book", "sort": "title:desc"])["count"] as? Int == 50)
      for (name, query) in [("begin", [:]), ("object", ["id": "Author/p1"]), ("history", [:])] {
        #expect(try client.get(name, query).status == 200, "\(name)")
      }
      #expect(statuses.all.isEmpty)
    }
    while !threads.allSatisfy(\.isFinished) { usleep(5_000) }
    #expect(statuses.all == Array(repeating: 200, count: count))
  }

  /// Holds each list open until nobody wants it, or until `release`.
  private final class Holding: Sendable {
    let begun = DispatchSemaphore(value: 0)
    private let state = Mutex((unwanted: [String](), made: [String](), isReleased: false, waiting: 0))
    /// How many wait for the list that is held.
    var waiting: Int { state.withLock { $0.waiting } }
    var unwanted: [String] { state.withLock { $0.unwanted } }
    /// Lists that were wanted to the end.
    var made: [String] { state.withLock { $0.made } }
    func release() { state.withLock { $0.isReleased = true } }

    func hold(_ condition: String?, _ waiting: () -> Int) {
      begun.signal()
      var count = waiting()
      while count > 0, !state.withLock({ $0.isReleased }) {
        state.withLock { $0.waiting = count }
        usleep(2_000)
        count = waiting()
      }
      state.withLock { state in
        if count > 0 { state.made.append(condition ?? "") } else { state.unwanted.append(condition ?? "") }
      }
    }
  }

  @Test func aListThatNobodyWaitsForIsNotMade() throws {
    let library = try Library(books: 50)
    try library.close()
    let holding = Holding()
    let browser = try StoreBrowser(library.path, writes: false) { _, condition, waiting in
      holding.hold(condition, waiting)
    }
    let server = try PageServer(browser)
    defer { server.stop() }
    let client = try Client(server.address)
    let target = "/\(client.secret)/api/rows?entity=Book&where=year%20%3E%201910"
    let request = Array(
      "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(client.port)\r\n\r\n".utf8)
    func begin() throws -> Int32 {
      let socket = try client.connect()
      try Client.write(request, to: socket)
      return socket
    }
    let first = try begin()
    try #require(holding.begun.wait(timeout: .now() + Self.patience) == .success)
    // Others want the same list: it is made until all have gone.
    let second = try begin()
    let third = try begin()
    let end = ContinuousClock.now + .seconds(100)
    func wait(for what: String, _ isSo: () -> Bool) throws {
      while !isSo() {
        try #require(ContinuousClock.now < end, "\(what)")
        usleep(2_000)
      }
    }
    try wait(for: "three who want it") { holding.waiting == 3 }
    close(first)
    close(second)
    try wait(for: "one who is left") { holding.waiting == 1 }
    #expect(holding.unwanted.isEmpty)
    // Who sends no more and still listens gets an answer: what is announced meanwhile is none.
    shutdown(third, Int32(SHUT_WR))
    var announced = [UInt8](repeating: 0, count: 400)
    let count = read(third, &announced, announced.count)
    #expect(String(decoding: announced.prefix(max(0, count)), as: UTF8.self).hasPrefix("HTTP/1.1 102 "))
    #expect(holding.unwanted.isEmpty)
    close(third)
    // It ends by itself: nothing else lets it go on.
    try wait(for: "the list that nobody waits for to be given up") { !holding.unwanted.isEmpty }
    // Who asks now gets a list of their own, and it is kept for the next one.
    holding.release()
    for _ in 0..<2 {
      #expect(
        try client.object("rows", ["entity": "Book", "where": "year > 1910"])["count"] as? Int == 40)
    }
    #expect(holding.unwanted == ["year > 1910"] && holding.made == ["year > 1910"])
  }

  @Test(.enabled(if: Browser.program != nil, Browser.reason))
  func aPageThatAsksForAnotherTableWaitsForThatOnly() throws {
    let library = try Library(books: 50)
    try library.close()
    let holding = Holding()
    let server = try PageServer(
      try StoreBrowser(library.path, writes: false) { _, condition, waiting in
        if condition?.hasPrefix("year >") == true { holding.hold(condition, waiting) }
      })
    defer { server.stop() }
    let browser = try Browser()
    try browser.open(server.address + "#/rows/Book?where=year+%3E+1910")
    try #require(holding.begun.wait(timeout: .now() + Self.patience) == .success)
    try browser.wait(for: "state.view && early.size === 0")
    try browser.evaluate(
      "state.view.input.value = 'year > 1920'; state.view.input.dispatchEvent(new Event('input'))")
    try #require(holding.begun.wait(timeout: .now() + Self.patience) == .success)
    // And one that goes to another table.
    try browser.evaluate("location.hash = '#/rows/Author'")
    try browser.wait(for: "document.getElementById('rows').innerText.includes('Ursula')")
    let end = ContinuousClock.now + .seconds(100)
    while holding.unwanted.count < 2 {
      try #require(
        ContinuousClock.now < end, "lists are made on, and nobody waits for them: \(holding.unwanted)")
      usleep(2_000)
    }
    #expect(Set(holding.unwanted) == ["year > 1910", "year > 1920"] && holding.made.isEmpty)
    #expect(browser.complaints.isEmpty, "\(browser.complaints)")
  }

  @Test func whoWaitsForChangesIsForgottenWhenGone() throws {
    let library = try Library()
    try library.close()
    let browser = try StoreBrowser(library.path, writes: false)
    let asker = Asker()
    let answered = DispatchSemaphore(value: 0)
    let statuses = Mutexed()
    let begin = try #require(
      try JSONSerialization.jsonObject(with: Data(Self.answer(browser, "begin").body)) as? [String: Any])
    let commit = try #require(begin["commit"] as? Int)
    browser.answer(
      BrowseRequest(name: "changes", query: ["after": String(commit), "wait": "60"], asker: asker)
    ) {
      statuses.append($0.status)
      answered.signal()
    }
    asker.leave()
    #expect(answered.wait(timeout: .now() + .seconds(50)) == .success)
    #expect(statuses.all != [200], "it is no answer of the store's")
  }

  private static func answer(_ browser: StoreBrowser, _ name: String) -> BrowseAnswer {
    let answers = Mutex<[BrowseAnswer]>([])
    browser.answer(BrowseRequest(name: name)) { answer in answers.withLock { $0.append(answer) } }
    return answers.withLock { $0[0] }
  }

  @Test func windowsOfOneTableShareItsList() throws {
    let library = try Library(books: 50)
    try library.close()
    let made = Mutex(0)
    let browser = try StoreBrowser(library.path, writes: false) { _, _, _ in
      made.withLock { $0 += 1 }
    }
    let server = try PageServer(browser)
    defer { server.stop() }
    let query = ["entity": "Book", "where": "year >= 1910", "limit": "10"]
    let (threads, statuses) = Self.ask(
      try Client(server.address), (0..<6).map { query.merging(["offset": String($0)]) { $1 } })
    while !threads.allSatisfy(\.isFinished) { usleep(5_000) }
    #expect(statuses.all == Array(repeating: 200, count: 6) && made.withLock { $0 } == 1)
  }
}
