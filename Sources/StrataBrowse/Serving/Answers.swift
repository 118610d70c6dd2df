import NIOPosix
import StrataCommand

/// Answers requests that may be answered, beside the event loops.
final class Answers: Sendable {
  private let browser: StoreBrowser
  /// A thread for each connection, which has one request at a time: no request waits for another one to be answered, however long that takes.
  private let threads: NIOThreadPool

  /// - Parameter most: How many connections there may be.
  init(_ browser: StoreBrowser, most: Int) {
    self.browser = browser
    threads = NIOThreadPool(numberOfThreads: most)
    threads.start()
  }

  /// What is being answered is not waited for.
  func stop() { threads.shutdownGracefully { _ in } }

  /// Calls `reply` once, on any thread. What takes long is not gone on with when `asker` has left.
  func answer(
    _ passed: Gate.Passed, _ body: [UInt8], _ asker: Asker, reply: @escaping @Sendable (BrowseAnswer) -> Void
  ) {
    switch passed {
    case .file(let name):
      if name.isEmpty { return reply(Self.page()) }
      // The gate lets no other names pass.
      guard let file = PageFile.others[name] else { return reply(BrowseAnswer(status: 404)) }
      reply(BrowseAnswer(type: file.type, body: file.bytes))
    case .answer(let name, let query, let isPost):
      threads.submit { [browser] state in
        // The program ends.
        guard case .active = state else { return }
        browser.answer(
          BrowseRequest(name: name, query: query, body: body, isPost: isPost, asker: asker), reply: reply)
      }
    }
  }

  private static func page() -> BrowseAnswer {
    var random = SystemRandomNumberGenerator()
    let nonce = (0..<2).map { _ in String(random.next(), radix: 36) }.joined()
    var answer = BrowseAnswer(type: "text/html; charset=utf-8", body: PageFile.page(nonce))
    answer.nonce = nonce
    return answer
  }

  // MARK: What every answer says

  /// Kept nowhere, shown in no frame, told to nobody, taken for nothing but what it is.
  static let headers = [
    ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"), ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
  ]

  /// What the browser may load for an answer: the page its icon and answers, and what it has in it, everything else nothing.
  static func policy(for answer: BrowseAnswer) -> String {
    if let nonce = answer.nonce {
      return
        "default-src 'none'; script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }
    return answer.isStyledPicture
      ? "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
      : "default-src 'none'; sandbox; frame-ancestors 'none'"
  }
}
