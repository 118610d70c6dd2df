import Foundation
import Strata
import Testing

private let pairs = ProcessInfo.processInfo.environment["STRATA_BROWSE_WRITER"].flatMap(Int.init) ?? 0

/// How much of its speed a program keeps that saves small changes while a page follows it. `STRATA_BROWSE_WRITER=20` measures twenty pairs of rounds, one
/// without and one with a page in a real browser by turns, and prints the ratios: of the time that it
/// takes, which means something on an idle machine only, and of the processor time that it needs. It asserts nothing about time.
@Suite(
  .enabled(if: pairs > 0 && Browser.program != nil, "STRATA_BROWSE_WRITER says how many pairs of rounds."))
struct WriterFigure {
  private static let books = 10_000
  private static let saves = 2_000

  @Test func aWriterBesideThePage() throws {
    let library = try Library(books: Self.books)
    let page = try Page(library)
    let browser = try Browser()
    let context = ManagedObjectContext(.privateQueue, coordinator: library.coordinator)
    let objects = try context.performAndWait {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
    }
    var number = 0
    func round() throws -> (wall: Double, processor: Double) {
      let before = Self.processorTime
      let time = try ContinuousClock().measure {
        try context.performAndWait {
          for _ in 0..<Self.saves {
            number += 1
            objects[number * 7_919 % objects.count].setValue(number % 3_000, forKey: "year")
            try context.save()
          }
        }
      }
      return (time / .seconds(1), Self.processorTime - before)
    }
    func follows(_ isThere: Bool) throws {
      try browser.open(isThere ? page.client.address + "#/rows/Book" : "about:blank")
      if isThere {
        try browser.wait(
          for: "following.isWaiting && document.getElementById('rows')?.innerText.includes('Book 1')")
      }
    }
    _ = try round()
    var (wall, processor): ([Double], [Double]) = ([], [])
    for pair in 0..<pairs {
      var times = [(wall: 0.0, processor: 0.0), (wall: 0.0, processor: 0.0)]
      for turn in [0, 1] {
        // Each is the first one as often as the other.
        let isThere = (turn == 1) != (pair % 2 == 1)
        try follows(isThere)
        times[isThere ? 1 : 0] = try round()
      }
      wall.append(times[0].wall / times[1].wall)
      processor.append(times[0].processor / times[1].processor)
    }
    for (name, ratios) in [("time", wall), ("processor time of the writer", processor)] {
      let sorted = ratios.sorted()
      let median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
      func text(_ ratio: Double) -> String { String(format: "%.3f", ratio) }
      print(
        "Speed beside the page, by \(name): median \(text(median)) of the speed alone; all \(sorted.map(text).joined(separator: " "))"
      )
    }
  }

  /// Seconds that this process has computed.
  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
