import Foundation
import SwiftData
import Testing

@Model final class ChainLink {
  var number: Int
  var previous: ChainLink?
  @Relationship(inverse: \ChainLink.previous) var others: [ChainLink] = []

  init(_ number: Int) { self.number = number }
}

/// Models that are in no context, and hold each other in long chains.
struct DraftChainTests {
  private static let count = 30_000

  /// Runs `body` on a thread with a stack of half a megabyte, as Foundation's threads have it.
  private static func onSmallStack(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let thread = Thread {
        body()
        continuation.resume()
      }
      thread.stackSize = 1 << 19
      thread.start()
    }
  }

  @Test("a chain that was never inserted is let go of, however long it is")
  func chain() async {
    await Self.onSmallStack {
      weak var first: ChainLink?
      do {
        var last = ChainLink(0)
        first = last
        for number in 1..<Self.count {
          let next = ChainLink(number)
          next.previous = last
          last = next
        }
        #expect(first != nil && last.previous?.number == Self.count - 2)
      }
      #expect(first == nil)
    }
  }

  @Test("so are chains of collections, and what is still held stays")
  func collections() async {
    await Self.onSmallStack {
      weak var first: ChainLink?
      let kept = ChainLink(-1)
      kept.previous = ChainLink(-2)
      do {
        var last = ChainLink(0)
        first = last
        for number in 1..<Self.count {
          let next = ChainLink(number)
          next.others = number == 10 ? [last, kept] : [last]
          last = next
        }
        #expect(first != nil && last.others.count == 1)
      }
      #expect(first == nil)
      #expect(kept.number == -1 && kept.previous?.number == -2)
    }
  }

  @Test("a chain whose end is inserted comes into the context as a whole")
  func inserted() throws {
    let container = try ModelContainer(
      for: ChainLink.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    context.autosaveEnabled = false
    var last = ChainLink(0)
    for number in 1..<1_000 {
      let next = ChainLink(number)
      next.previous = last
      last = next
    }
    context.insert(last)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<ChainLink>()) == 1_000)
  }
}
