import Foundation
import Testing

@testable import StrataCore

struct GenerationTimerTests {
  @Test("A generation that is let go of leaves nothing behind that waits for its end")
  func nothingWaits() async throws {
    weak var held: HeldSnapshots?
    do {
      let token = try QueryGenerationToken.make([], limit: .seconds(86_400))
      held = token.held
      #expect(token.isAlive && held != nil)
    }
    // The timer lets go on a thread of its own.
    for _ in 0..<12_000 where held != nil { try await Task.sleep(for: .milliseconds(5)) }
    #expect(held == nil)
  }
}
