import Foundation

/// The making of files by this process, which a program that is about to end can end: then what is unfinished can be removed, and no other thread makes more of it meanwhile.
enum FileMaking {
  private struct State {
    var isOver = false
    /// Threads that are making a file now.
    var count = 0
  }
  private static let state = Mutex(State())
  /// What the system would say, had it stopped the making.
  static let code = ECANCELED

  /// Carries out what makes files, or gives them other names; nil when no more are made. What makes several does that in one call, in which others may be nested: the end comes
  /// before it or after it, or fails one of the nested ones.
  static func run<R>(_ body: () throws -> R) rethrows -> R? {
    let mayBegin = state.withLock { state in
      if !state.isOver { state.count += 1 }
      return !state.isOver
    }
    guard mayBegin else { return nil }
    defer { state.withLock { $0.count -= 1 } }
    return try body()
  }

  /// No files are made from now on. Waits for those that are being made, up to twenty seconds: on a busy medium that takes a while, and one that does not answer keeps no program from ending.
  static func end() {
    state.withLock { $0.isOver = true }
    for _ in 0..<20_000 {
      if state.withLock({ $0.count }) == 0 { return }
      usleep(1_000)
    }
  }
}
