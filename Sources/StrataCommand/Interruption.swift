import Dispatch
import Foundation
import StrataCore
import Synchronization

/// Cleans up when the program is stopped (Ctrl-C, `kill`, a terminal that is closed): what is unfinished is removed, then the program ends
/// by the same signal, as its sender expects.
enum Interruption {
  private static let hasCome = Atomic(false)

  /// Does not return when a signal has come: the program ends by it, and what goes wrong meanwhile, since its files are gone, is no failure.
  static func waitIfEnding() {
    while hasCome.load(ordering: .acquiring) { pause() }
  }

  /// From now on. A signal that was ignored when the program began stays ignored.
  static func prepare() { _ = sources }

  // Unsafe: made once and then only kept alive.
  private nonisolated(unsafe) static let sources: [any DispatchSourceSignal] = [SIGINT, SIGTERM, SIGHUP]
    .compactMap { number in
      let before = signal(number, SIG_IGN)
      if unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) { return nil }
      let source = DispatchSource.makeSignalSource(
        signal: number, queue: DispatchQueue(label: "strata.interruption"))
      source.setEventHandler {
        hasCome.store(true, ordering: .releasing)
        LMDBStore.removeUnfinishedFiles()
        signal(number, SIG_DFL)
        kill(getpid(), number)
      }
      source.resume()
      return source
    }
}
