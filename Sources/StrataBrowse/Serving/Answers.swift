import Foundation
import StrataCommand

/// Answers requests that may be answered, beside the event loops.
final class Answers: Sendable {
  /// So many at a time; others wait. Each may keep a core busy.
  private static let atATime = 4

  private let browser: StoreBrowser
  private let queue: OperationQueue

  init(_ browser: StoreBrowser) {
    self.browser = browser
    queue = OperationQueue()
    queue.maxConcurrentOperationCount = Self.atATime
  }

  /// Calls `reply` once, on any thread.
  func answer(_ passed: Gate.Passed, _ body: [UInt8], reply: @escaping @Sendable (BrowseAnswer) -> Void) {
    switch passed {
    case .file(let name):
      // The gate lets no other names pass.
      guard let file = PageFile.all[name] else { return reply(BrowseAnswer(status: 404)) }
      reply(BrowseAnswer(type: file.type, body: file.bytes))
    case .answer(let name, let query, let isPost):
      queue.addOperation { [browser] in
        browser.answer(BrowseRequest(name: name, query: query, body: body, isPost: isPost), reply: reply)
      }
    }
  }

  // MARK: What every answer says

  /// Kept nowhere, shown in no frame, told to nobody, taken for nothing but what it is.
  static let headers = [
    ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
  ]

  /// What the browser may load for an answer: the page its own files and answers, everything else nothing.
  static func policy(for answer: BrowseAnswer) -> String {
    if answer.type.hasPrefix("text/html") {
      return
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }
    return answer.isStyledPicture
      ? "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
      : "default-src 'none'; sandbox; frame-ancestors 'none'"
  }
}
