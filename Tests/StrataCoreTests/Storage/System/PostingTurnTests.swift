import Foundation
import Testing

@testable import StrataCore

/// Decisions/0061: a turn that keeps threads from queueing up, and on which nobody depends.
@Suite struct PostingTurnTests {
  @Test func oneThreadHasTheTurnAtATime() {
    let turn = PostingTurn()
    #expect(turn.take(for: 1))
    #expect(!turn.take(for: 2) {}, "it is not to be had")
    turn.giveBack()
    #expect(turn.take(for: 2))
  }

  @Test func aThreadLetsOthersRunUntilTheTurnIsFree() {
    let turn = PostingTurn()
    #expect(turn.take(for: 1))
    var yields = 0
    let isTaken = turn.take(for: 2) {
      yields += 1
      if yields == 3 { turn.giveBack() }
    }
    #expect(isTaken)
    #expect(yields == 3)
  }

  @Test func anObserverThatPostsDoesNotWaitForItself() {
    let turn = PostingTurn()
    var yields = 0
    #expect(turn.take(for: 1))
    #expect(!turn.take(for: 1) { yields += 1 }, "the turn stays with the outer post")
    #expect(yields == 0)
    #expect(!turn.take(for: 2) {})
  }

  /// Observers may take long, and may wait for threads that post.
  @Test func aLongTurnIsWaitedForOnce() {
    let turn = PostingTurn()
    var yields = 0
    #expect(turn.take(for: 1))
    for thread in UInt(2)...9 { #expect(!turn.take(for: thread) { yields += 1 }) }
    #expect(yields == PostingTurn.mostYields)
    turn.giveBack()
    #expect(turn.take(for: 2), "the next turn is as any other")
    #expect(!turn.take(for: 3) { yields += 1 })
    #expect(yields == 2 * PostingTurn.mostYields)
  }
}
