import CLibPQ
import Foundation
import StrataCore

/// Asks the server to give up the statement that a session is at. May be used from any thread, while another one waits for the statement.
final class StatementCanceller: @unchecked Sendable {
  // @unchecked Sendable: libpq's cancel object never changes, and `PQcancel` may be called from any thread.

  private let handle: OpaquePointer

  /// Takes over what `PQgetCancel` has made.
  init(_ handle: OpaquePointer) { self.handle = handle }

  deinit { PQfreeCancel(handle) }

  /// Nothing happens when the session is at no statement, or the server is gone. The corresponding libpq function is `PQcancel`.
  func cancel() {
    var words = [CChar](repeating: 0, count: 256)
    // Of all that libpq sends, this alone raises the signal when the server has closed the connection.
    WithheldSignal.run(SIGPIPE) { _ = PQcancel(handle, &words, Int32(words.count)) }
  }
}
