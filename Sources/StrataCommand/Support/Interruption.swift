import CLMDBShim
import Dispatch
import Foundation
import StrataAppleSQLite
import StrataCore
import Synchronization

/// Cleans up when the program is stopped (Ctrl-C, `kill`, a terminal that is closed): what is unfinished is removed, then the program ends
/// by the same signal, as its sender expects.
enum Interruption {
  private static let hasCome = Atomic(false)
  /// Files and folders that are being written.
  private static let drafts = Mutex<Set<String>>([])

  /// Does not return when a signal has come: the program ends by it, and what goes wrong meanwhile, since its files are gone, is no failure.
  static func waitIfEnding() {
    while hasCome.load(ordering: .acquiring) { pause() }
  }

  private static let section = Mutex(())

  /// Carries out something short that leaves behind what has no name to be known by: a signal ends the program before it or after it, not within it.
  static func uninterrupted<Value>(_ body: () throws -> Value) rethrows -> Value {
    waitIfEnding()
    return try section.withLock { _ in try body() }
  }

  /// From now on. A signal that was ignored when the program began stays ignored. A reader of the output that has gone is no signal but an error
  /// of the next write.
  static func prepare() {
    // Where there are too few descriptors for that, opening a store says so; nothing was made then.
    if EventDescriptors.areThere { _ = sources }
    signal(SIGPIPE, SIG_IGN)
  }

  /// Makes a file or folder that is to go when the program is stopped. `make` makes it, and may fail.
  static func makeDraft<Value>(_ path: String, _ make: () throws -> Value) rethrows -> Value {
    try uninterrupted {
      drafts.withLock { _ = $0.insert(path) }
      return try make()
    }
  }

  /// Gives a draft its name in one step; 0, or what the system says. Then the draft is what it was.
  ///
  /// - Parameter replacing: Whether a file that has the name may go.
  static func publish(_ draft: String, as path: String, replacing: Bool = false) -> Int32 {
    uninterrupted {
      let code = rename(draft, path, replacing)
      if code == 0 { drafts.withLock { _ = $0.remove(draft) } }
      return code
    }
  }

  private static func rename(_ draft: String, _ path: String, _ replacing: Bool) -> Int32 {
    if !replacing {
      let code = strata_rename_exclusive(draft, path)
      guard code == ENOSYS || code == EINVAL || code == ENOTSUP else { return code }
      var status = stat()
      if lstat(path, &status) == 0 { return EEXIST }
    }
    return Foundation.rename(draft, path) == 0 ? 0 : errno
  }

  /// Removes a draft that has not got its name, if there is one.
  static func discard(_ draft: String) {
    uninterrupted {
      if !drafts.withLock({ $0.contains(draft) }) { return }
      try? FileManager.default.removeItem(atPath: draft)
      drafts.withLock { _ = $0.remove(draft) }
    }
  }

  /// Removes a draft. While a folder is being emptied, files may still be made in it, until it is gone.
  private static func remove(_ path: String) {
    for _ in 0..<1_000 {
      try? FileManager.default.removeItem(atPath: path)
      if access(path, F_OK) != 0 { return }
      usleep(1_000)
    }
  }

  /// How the terminal was, to be put back.
  static func restoreTerminal(_ body: (@Sendable () -> Void)?) { terminal.withLock { $0 = body } }
  private static let terminal = Mutex<(@Sendable () -> Void)?>(nil)

  // Unsafe: made once and then only kept alive.
  private nonisolated(unsafe) static let sources: [any DispatchSourceSignal] = [SIGINT, SIGTERM, SIGHUP]
    .compactMap { number in
      let before = signal(number, SIG_IGN)
      if unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) { return nil }
      // A signal that comes before the source is there ends the program, which has made nothing yet.
      signal(number, before)
      let source = DispatchSource.makeSignalSource(
        signal: number, queue: DispatchQueue(label: "strata.interruption"))
      source.setEventHandler {
        hasCome.store(true, ordering: .releasing)
        terminal.withLock { $0 }?()
        // Kept to the end: nothing short begins any more.
        section.withLock { _ in
          for path in drafts.withLock({ $0 }) { remove(path) }
          AppleSQLite.removeUnfinishedFiles()
          LMDBStore.removeUnfinishedFiles()
          signal(number, SIG_DFL)
          kill(getpid(), number)
        }
      }
      let isThere = DispatchSemaphore(value: 0)
      source.setRegistrationHandler { isThere.signal() }
      source.resume()
      isThere.wait()
      #if canImport(Darwin)
        // Elsewhere the source has a handler of its own.
        signal(number, SIG_IGN)
      #endif
      return source
    }
}
