import Foundation

/// A line for people: about what failed where nobody can catch it, or what ``DebugOutput`` asks for.
public struct MessageEvent: Sendable, Hashable {
  /// How much it matters, by the names that logging libraries use.
  public enum Level: String, Sendable, Hashable, CaseIterable {
    /// What ``DebugOutput`` asks for.
    case debug
    /// The program is probably wrong, or waits for something that does not come.
    case warning
    /// Something was not done that the program counts on.
    case error
  }

  /// How much it matters.
  public let level: Level
  /// The module that says it: `Strata`, `CoreData` or `SwiftData`.
  public let module: String
  /// What it says, without the module.
  public let text: String
}

/// The one way by which the library says something that nobody asked for: to the observers of messages, or, while there are none, to standard error.
///
/// What stops the process is not said here, and always goes to standard error: a trap, and what LMDB says before it stops.
package enum Diagnostics {
  /// Says it on the calling thread.
  package static func write(_ text: String, _ level: MessageEvent.Level, module: String = "Strata") {
    let message = MessageEvent(level: level, module: module, text: text)
    say(message)
  }

  private static func say(_ message: MessageEvent) {
    // What an observer causes itself is told to none, and not lost either.
    if Watching.concerns(.messages), StrataObservers.tell(.message(message)) { return }
    writeToStandardError(message)
  }

  /// The same for a caller that holds locks. Standard error gets it at once.
  static func writeUnderLock(_ text: String, _ level: MessageEvent.Level) {
    let message = MessageEvent(level: level, module: "Strata", text: text)
    if Watching.concerns(.messages) {
      StrataObservers.later { say(message) }
    } else {
      writeToStandardError(message)
    }
  }

  private static func writeToStandardError(_ message: MessageEvent) {
    FileHandle.standardError.write(Data("\(message.module): \(message.text)\n".utf8))
  }
}
