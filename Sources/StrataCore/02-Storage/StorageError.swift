import CLMDBShim
import Foundation

/// A failure below the store: of LMDB, of the operating system, or of a file that is not what it should be.
public struct StorageError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// What happened, as far as a program can act on it.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    case missing, exists, notADatabase, damaged, truncated, unsupportedFormat, busy, diskFull, mapFull,
      readersFull, io, permission, readOnlyMedia, networkFileSystem, aliased, replaced, forked, closed,
      outOfMemory, tooLarge, invalid, other
  }
  public var kind: Kind
  public var code: Int32
  public var operation: String
  public var path: String
  public var page: UInt64?
  public var detail: String
  public var isOutcomeUnknown = false

  public init(_ kind: Kind, code: Int32 = 0, operation: String, path: String, page: UInt64? = nil, detail: String = "") {
    self.kind = kind; self.code = code; self.operation = operation; self.path = path; self.page = page; self.detail = detail
  }
  init(_ code: Int32, _ operation: String, path: String, detail: String = "") {
    self.init(.other, code: code, operation: operation, path: path, detail: detail)
  }
  init(_ code: Int32, _ operation: String, transaction: OpaquePointer?) {
    self.init(code, operation, path: "")
  }
  public var description: String { detail }
  public var errorDescription: String? { description }
}
