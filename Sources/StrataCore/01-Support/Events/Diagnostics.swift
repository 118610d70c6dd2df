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
  /// What it says, without the module. Where it is about an error it has that error's text, in which there may be values of objects.
  public let text: String
  /// The same with type and code of the error in place of its text. There may be keys of objects in it, and no values.
  public let textWithoutValues: String
}

/// The one way by which the library says something that nobody asked for: to the observers of messages, or, while there are none, to standard error.
///
/// What stops the process is not said here, and always goes to standard error: a trap, and what LMDB says before it stops.
package enum Diagnostics {
  /// Says it on the calling thread. `withoutValues` is the same text without values of objects, where it may have some.
  package static func write(
    _ text: String, withoutValues: String? = nil, _ level: MessageEvent.Level, module: String = "Strata"
  ) {
    say(
      MessageEvent(level: level, module: module, text: text, textWithoutValues: withoutValues ?? text))
  }

  /// Says what has happened, and why.
  package static func write(
    _ text: String, _ error: any Error, _ level: MessageEvent.Level, module: String = "Strata"
  ) {
    write(
      "\(text): \(error)", withoutValues: "\(text): \(error.spelledWithoutValues)", level, module: module)
  }

  private static func say(_ message: MessageEvent) {
    // What an observer causes itself is told to none, and not lost either.
    if Watching.concerns(.messages), StrataObservers.tell(.message(message)) { return }
    writeToStandardError(message)
  }

  /// The same for a caller that holds locks. Standard error gets it at once.
  static func writeUnderLock(_ text: String, _ level: MessageEvent.Level) {
    let message = MessageEvent(level: level, module: "Strata", text: text, textWithoutValues: text)
    if Watching.concerns(.messages) {
      StrataObservers.later { say(message) }
    } else {
      writeToStandardError(message)
    }
  }

  /// Where it goes when nobody takes it.
  package static func writeToStandardError(_ message: MessageEvent) {
    StandardError.write("\(message.module): \(message.text)\n")
  }
}

/// Where a program says what goes wrong; `FileHandle` would stop it where that cannot be written.
package enum StandardError {
  /// Writes all of `text`, or as much as is taken: of a pipe that nobody reads, a full disk and a descriptor that is closed there is nobody to tell, and the program goes on.
  package static func write(_ text: String) {
    WithheldSignal.run(SIGPIPE) {
      WithheldSignal.run(SIGXFSZ) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
          let count = rest.withUnsafeBytes { Foundation.write(STDERR_FILENO, $0.baseAddress, $0.count) }
          if count > 0 {
            rest = rest.dropFirst(count)
          } else if count == 0 || errno != EINTR {
            return
          }
        }
      }
    }
  }
}

/// An error that can say what it is about without values of objects.
package protocol ValuelessError: Error {
  var textWithoutValues: String { get }
}

extension Error {
  /// What is said of an error where no values of objects may be: its text may have some, its type and code have not.
  package var spelledWithoutValues: String {
    (self as? any ValuelessError)?.textWithoutValues ?? "\(type(of: self))"
  }
}
