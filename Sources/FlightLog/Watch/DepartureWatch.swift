import Dispatch
import Foundation
import Strata

/// Draws the board, and draws it again when the context shows something else: after other processes' commits, too.
@MainActor
final class DepartureWatch {
  private let board: DepartureBoard
  private let screen: BoardScreen
  private let context: ManagedObjectContext

  init(_ container: PersistentContainer, rows: Int, _ screen: BoardScreen) {
    context = container.viewContext
    board = DepartureBoard(context: context, rows: rows)
    self.screen = screen
  }

  /// Returns when somebody presses Ctrl-C, or the seconds are over.
  func run(once: Bool, seconds: Double?) async throws {
    // From here on nothing is missed; while a board is drawn, changes come together.
    let changes = context.changes(buffering: .newest(1))
    try screen.draw(board.lines())
    if once { return screen.end() }
    let task = Task {
      for await _ in changes {
        try screen.draw(board.lines())
        // An import commits more often than an eye can follow.
        try await Task.sleep(for: .milliseconds(100))
      }
    }
    let interrupted = Self.onInterrupt { task.cancel() }
    defer { interrupted.cancel() }
    let timer = seconds.map { seconds in
      Task {
        try await Task.sleep(for: .seconds(seconds))
        task.cancel()
      }
    }
    defer { timer?.cancel() }
    do { try await task.value } catch is CancellationError {}
    screen.end()
  }

  private static func onInterrupt(_ body: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
    signal(SIGINT, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
    source.setEventHandler(handler: body)
    source.activate()
    return source
  }
}
