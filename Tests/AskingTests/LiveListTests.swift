import Foundation
import Observation
import Strata
import Testing

/// Lists that follow the view context.
@MainActor @Suite struct LiveListTests {
  private func titles(_ list: LiveList<Book>) -> [String] { list.objects.map(\.title) }

  /// Runs `change`, which must change what `list` is seen to be.
  private func notices(_ list: LiveList<Book>, _ change: () throws -> Void) rethrows -> Bool {
    let seen = Seen()
    withObservationTracking {
      _ = list.count
    } onChange: {
      seen.isTold = true
    }
    try change()
    return seen.isTold
  }

  private final class Seen: @unchecked Sendable {
    // @unchecked Sendable: everything happens on the main actor.
    var isTold = false
  }

  @Test func itFollowsEditsAndSaves() async throws {
    let reading = try await Reading()
    let context = reading.context
    let list = try reading.container.liveList(
      Book.self, where: #Predicate<Book> { $0.pages > 250 }, sortedBy: .reverse(\.pages))
    #expect(titles(list) == ["Middlemarch", "Emma", "Silas Marner"])
    #expect(
      list.first?.title == "Middlemarch" && list.last?.title == "Silas Marner" && list[1].title == "Emma")
    #expect(
      notices(list) {
        Library.make("New", 500, in: context)
        context.processPendingChanges()
      })
    #expect(titles(list) == ["Middlemarch", "New", "Emma", "Silas Marner"])
    let middlemarch = list[0]
    #expect(
      notices(list) {
        middlemarch.pages = 251
        context.processPendingChanges()
      })
    #expect(titles(list) == ["New", "Emma", "Silas Marner", "Middlemarch"])
    #expect(list.firstIndex(of: middlemarch) == 3)
    #expect(
      notices(list) {
        context.rollback()
        context.processPendingChanges()
      })
    #expect(titles(list) == ["Middlemarch", "Emma", "Silas Marner"])
    #expect(list.error == nil)
  }

  @Test(.timeLimit(.minutes(60))) func itShowsWhatTheBackgroundSaves() async throws {
    let reading = try await Reading()
    let list = try reading.container.liveList(Book.self, sortedBy: \.title)
    #expect(list.count == 6)
    let changes = AsyncStream<Void> { continuation in
      withObservationTracking {
        _ = list.count
      } onChange: {
        continuation.yield()
        continuation.finish()
      }
    }
    try await reading.container.background { context in
      _ = Library.make("Another", 1, in: context)
    }
    for await _ in changes {}
    // The change is told before it is made; it is there when the main actor comes back.
    while list.count == 6 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(titles(list).first == "Another")
  }

  @Test func itIsACollection() async throws {
    let reading = try await Reading()
    let list = try reading.container.liveList(Book.self, sortedBy: [SortDescriptor(\.pages)])
    #expect(list.count == 6 && !list.isEmpty && list.indices == 0..<6)
    #expect(list.objectIDs.count == 6)
    var pages: [Int64] = []
    for position in list.indices { pages.append(list[position].pages) }
    #expect(pages == [12, 90, 249, 260, 474, 880])
    let before = list.objects
    try reading.context.delete(Book.self, where: Attribute("pages") < 100)
    reading.context.processPendingChanges()
    #expect(list.count == 4)
    #expect(before.count == 6, "a collection that was handed out stays what it was")
    #if compiler(>=6.2)
      #expect(list.map(\.pages) == [249, 260, 474, 880])
      #expect(list.reversed().first?.pages == 880)
    #endif
  }

  @Test func itIsConfiguredAnew() async throws {
    let reading = try await Reading()
    let list = try reading.container.liveList(Book.self, where: Attribute("pages") > 300, sortedBy: \.title)
    #expect(titles(list) == ["Emma", "Middlemarch"])
    #expect(
      try notices(list) {
        try list.configure(where: #Predicate { $0.pages < 100 }, sortedBy: .reverse(\.title))
      })
    #expect(titles(list) == ["cafe notes", "Café stories"])
    #expect(list.order == [FetchSort(\Book.title, .reverse)])
    try list.configure(where: Attribute("pages") > 800)
    #expect(titles(list) == ["Middlemarch"])
    try list.configure(where: nil, sortedBy: [SortDescriptor(\.pages)])
    #expect(list.count == 6)
    try list.configure(where: Attribute("pages") > 300, sortedBy: \.title)
    #expect(titles(list) == ["Emma", "Middlemarch"])
    try list.configure(where: #Predicate { $0.pages < 100 }, sortedBy: \.title)
    #expect(titles(list) == ["Café stories", "cafe notes"])
    try list.configure(where: nil, sortedBy: \.pages)
    Library.make("Small", 1, in: reading.context)
    reading.context.processPendingChanges()
    #expect(list.first?.title == "Small", "the new list follows")
  }

  @Test func aWrongConditionLeavesTheListAsItIs() async throws {
    let reading = try await Reading()
    #expect(throws: FetchError.self) {
      try reading.container.liveList(Book.self, where: Attribute("nothing") == 1)
    }
    let list = try reading.container.liveList(Book.self, where: Attribute("pages") > 300, sortedBy: \.title)
    #expect(throws: PredicateTranslationError.self) { try list.configure(where: #Predicate { $0.isLong }) }
    #expect(list.error is PredicateTranslationError)
    #expect(titles(list) == ["Emma", "Middlemarch"])
    Library.make("Anna", 400, in: reading.context)
    reading.context.processPendingChanges()
    #expect(titles(list) == ["Anna", "Emma", "Middlemarch"])
    #expect(list.error == nil, "it has succeeded since")
  }

  @Test func aResetEmptiesItAndAReloadFillsItAgain() async throws {
    let reading = try await Reading()
    let list = try reading.container.liveList(Book.self, sortedBy: \.title)
    reading.context.reset()
    try list.reload()
    #expect(list.count == 6)
  }

  @Test func itEndsWhenItIsReleased() async throws {
    let reading = try await Reading()
    weak var released: LiveList<Book>?
    do {
      let list = try reading.container.liveList(Book.self, sortedBy: \.title)
      released = list
      #expect(list.count == 6)
    }
    #expect(released == nil)
    Library.make("Later", 1, in: reading.context)
    reading.context.processPendingChanges()
    #expect(try reading.context.count(Book.self) == 7)
  }
}
