import Foundation

/// Why a store in Apple's format cannot be read or written.
///
/// Nothing has changed then: neither the store that was read nor the place where another one was to be.
public struct AppleStoreError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
  /// What happened, as far as a program can act on it.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// There is no such file.
    case missing
    /// There is such a file already.
    case exists
    /// The file is something else than a store of Core Data in SQLite.
    case notAStore
    /// The file contradicts itself.
    case damaged
    /// Somebody else writes the file, or keeps it locked.
    case busy
    /// Permission is missing.
    case permission
    /// A file cannot be written: a full disk, for example.
    case output
    /// The store has no model in it that can be read, and none was given.
    case noModel
    /// The model and the store do not fit.
    case model
    /// The store has something that this version cannot keep in step.
    case unsupported
    /// What is needed for writing was not given.
    case needsHashes
    /// The file with the hashes has no such version of the model, or several of which none was named.
    case noVersion
    /// Not everything would come along, and that was not permitted.
    case losses
    /// What was written is not what was read.
    case difference
    /// Anything else.
    case other
  }

  /// What happened.
  public let kind: Kind
  /// The same as a sentence or two.
  public let description: String

  /// An error of that kind.
  public init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  public var errorDescription: String? { description }

  /// An error of the system about a file.
  static func system(_ code: Int32, _ path: String) -> AppleStoreError {
    let words = String(cString: strerror(code))
    switch code {
    case ENOENT: return AppleStoreError(.missing, "There is no file \(path).")
    case EEXIST, ENOTEMPTY: return AppleStoreError(.exists, "There is a file \(path) already.")
    case EACCES, EPERM, EROFS: return AppleStoreError(.permission, "\(path): \(words).")
    case ENOSPC, EDQUOT, EFBIG: return AppleStoreError(.output, "\(path) cannot be written: \(words).")
    default: return AppleStoreError(.other, "\(path): \(words).")
    }
  }
}
