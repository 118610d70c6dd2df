import Foundation

/// A folder that is gone when the last reference to it is; in memory where the system offers that.
public final class ScratchFolder: Sendable {
  public let path: String

  /// - Parameter inMemory: prefers a file system in memory, where thousands of small files cost nothing.
  public init(inMemory: Bool = true) throws {
    let memory = "/dev/shm"
    let top =
      inMemory && access(memory, W_OK | X_OK) == 0 ? memory : FileManager.default.temporaryDirectory.path
    var pattern = Array("\(top)/strata-torture-XXXXXX".utf8CString)
    guard mkdtemp(&pattern) != nil else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    let path = String(decoding: pattern.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // Stores resolve links in their directory's path.
    self.path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of `name` in the folder.
  public func callAsFunction(_ name: String) -> String { path + "/" + name }
  /// The URL of `name` in the folder.
  public func url(_ name: String) -> URL { URL(fileURLWithPath: path + "/" + name) }
}
