import Foundation
import StrataBrowse
import StrataCommand
import Synchronization
import Testing

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
    let browser = try StoreBrowser(library.path, writes: false) { _, condition in
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

  @Test func windowsOfOneTableShareItsList() throws {
    let library = try Library(books: 50)
    try library.close()
    let made = Mutex(0)
    let browser = try StoreBrowser(library.path, writes: false) { _, _ in made.withLock { $0 += 1 } }
    let server = try PageServer(browser)
    defer { server.stop() }
    let query = ["entity": "Book", "where": "year >= 1910", "limit": "10"]
    let (threads, statuses) = Self.ask(
      try Client(server.address), (0..<6).map { query.merging(["offset": String($0)]) { $1 } })
    while !threads.allSatisfy(\.isFinished) { usleep(5_000) }
    #expect(statuses.all == Array(repeating: 200, count: 6) && made.withLock { $0 } == 1)
  }
}
