import Foundation

/// The file of a log that is being watched. A file that takes its place is another log, which is not open here.
struct LogFile: Sendable {
  private let url: URL
  private let number: UInt64?

  /// The file that lies at `url` now.
  init(_ url: URL) {
    self.url = url
    number = Self.number(of: url)
  }

  /// - Throws: a sentence when it is gone, or another one is there.
  func check() throws {
    let found = Self.number(of: url)
    if found == number, found != nil { return }
    throw FlightLogError(
      found == nil
        ? "The log at \(url.path) has been deleted: there is nothing to watch any more."
        : "The log at \(url.path) has been replaced by another one: start watch again to see that.")
  }

  /// Returns when the task is cancelled.
  ///
  /// - Throws: a sentence as soon as it is gone, or another one is there: within a second.
  func follow() async throws {
    while !Task.isCancelled {
      try check()
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
    }
  }

  private static func number(of url: URL) -> UInt64? {
    var status = stat()
    return stat(url.path, &status) == 0 ? UInt64(status.st_ino) : nil
  }
}
