import Dispatch
import Foundation
import Strata

/// Draws the board, and draws it again when there are other flights to show: after other processes' commits, too.
@MainActor
final class DepartureWatch {
  private let board: DepartureBoard
  private let screen: BoardScreen
  private let file: LogFile

  init(_ container: PersistentContainer, _ file: LogFile, rows: Int, _ screen: BoardScreen) throws {
    self.file = file
    board = try DepartureBoard(context: container.viewContext, rows: rows)
    self.screen = screen
  }

  /// Returns after Ctrl-C, or when the seconds are over.
  ///
  /// - Throws: a sentence when the log's file is deleted or replaced; what reading it throws.
  func run(once: Bool, seconds: Double?) async throws {
    if once {
      try screen.draw(board.lines())
      return screen.end()
    }
    // An import commits more often than an eye can follow: what changes while a board is drawn comes together.
    let (boards, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let listening = Task { await board.onChange { wake.yield() } }
    let drawing = Task {
      for await _ in boards {
        try screen.draw(board.lines())
        try await Task.sleep(for: .milliseconds(100))
      }
    }
    // A file that is there no more is not reported.
    let following = Task {
      defer { wake.finish() }
      try await file.follow()
    }
    let interrupted = Self.onInterrupt { wake.finish() }
    let timer = seconds.map { seconds in
      Task {
        try await Task.sleep(for: .seconds(seconds))
        wake.finish()
      }
    }
    defer {
      interrupted.cancel()
      timer?.cancel()
      listening.cancel()
      following.cancel()
    }
    do {
      try await drawing.value
    } catch {
      // What could not be read may have been taken away.
      try file.check()
      throw error
    }
    following.cancel()
    try await following.value
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
