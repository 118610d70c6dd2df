import CLibPQ
import Foundation
import StrataCore

/// What the server says is wrong with a statement. Fields, not words: the message is never taken apart.
struct SQLError: Error, Sendable {
  /// Five characters, see the server's appendix of error codes; empty when the connection itself failed.
  let state: String
  let message: String
  let detail: String
  /// The namespace of the table, and the table.
  let namespace: String
  let table: String
  let constraint: String
  /// Whether a statement inside of a function is wrong, such as a trigger's of somebody else's: the names in it are not the store's.
  let isOfFunction: Bool
  /// Which of the statements that were run together has failed.
  var position = 0
  /// Whether that one copies rows.
  var isOfCopy = false
  /// What that one writes, where that is known.
  var subject: SQLStatement.Subject?

  init(_ result: OpaquePointer) {
    func field(_ code: Int32) -> String {
      PQresultErrorField(result, code).map { String(cString: $0) } ?? ""
    }
    // The header has these as characters, which Swift does not see.
    state = field(Int32(UInt8(ascii: "C")))
    message = field(Int32(UInt8(ascii: "M")))
    detail = field(Int32(UInt8(ascii: "D")))
    namespace = field(Int32(UInt8(ascii: "s")))
    table = field(Int32(UInt8(ascii: "t")))
    constraint = field(Int32(UInt8(ascii: "n")))
    isOfFunction = state.hasPrefix("42") && !field(Int32(UInt8(ascii: "q"))).isEmpty
  }

  init(state: String, message: String) {
    self.state = state
    self.message = message
    (detail, namespace, table, constraint, isOfFunction) = ("", "", "", "", false)
  }

  /// Whether the same transaction may succeed when it is tried again: others were in its way.
  var isWorthAnotherTry: Bool { state == "40001" || state == "40P01" }

  /// Whether the server gave up the statement because of its time limit, or a lock was not to be had in time.
  var isTimeout: Bool { state == "57014" || state == "55P03" }

  /// What it means for a program.
  var kind: StorageError.Kind {
    if isOfFunction { return .refused }
    switch state {
    case "57P01", "57P02", "57P03", "25P03", "57P05": return .unreachable
    // Without support: a rule on a table, which takes the place of statements that tell how many rows they write.
    case "42501", "P0001", "0A000": return .refused
    case "3D000": return .missing
    case "53100": return .diskFull
    case "53200", "53300", "53400", "55P03", "57014", "40001", "40P01": return .serverBusy
    case "25006": return .readOnlyMedia
    case "54000", "54001", "54011", "54023": return .tooLarge
    case "XX001", "XX002", "42P01", "42703", "3F000": return .damaged
    default: break
    }
    switch state.prefix(2) {
    case "08": return .unreachable
    case "23", "28": return .refused
    case "53": return .serverBusy
    case "58": return .io
    default: return .other
    }
  }

  /// The error as stores throw it. What the server says of the values of rows (its detail) is left out: errors end up in logs.
  func storageError(_ operation: String, _ server: String) -> StorageError {
    StorageError(
      kind, operation: operation, path: "",
      detail:
        "\(Self.sentence(kind)) \(server) says: \(message)\(place)\(state.isEmpty ? "" : " (SQLSTATE \(state))").\(remark)"
    )
  }

  /// What is said of the objects that the statement writes.
  private var remark: String {
    guard let subject else { return "" }
    if kind == .tooLarge {
      return subject.key.map { " It is about \(subject.entity) p\($0)." }
        ?? " It is about an object of \(subject.entity)."
    }
    if state == CommitRun.unsupportedState {
      return
        " It was to write objects of \(subject.entity). Rules (CREATE RULE) on a store's tables are not supported."
    }
    return ""
  }

  /// The constraint and the table that it is about, where the message does not say so.
  private var place: String {
    [("constraint", constraint), ("table", table)].filter { !$1.isEmpty && !message.contains($1) }
      .map { ", \($0) “\($1)”" }.joined()
  }

  /// Whether the server has refused a statement, and will refuse it again: nobody else is the reason, nor the time.
  var isRefusal: Bool {
    ![.unreachable, .serverBusy, .diskFull, .readOnlyMedia, .io, .damaged, .missing].contains(kind)
  }

  private static func sentence(_ kind: StorageError.Kind) -> String {
    switch kind {
    case .unreachable: "The database server cannot be reached, or has ended the connection."
    case .refused: "The database server does not permit that."
    case .missing: "The database does not exist."
    case .diskFull: "The database server's disk is full."
    case .serverBusy: "The database server is too busy, or short of memory or connections."
    case .readOnlyMedia: "The database server takes no changes."
    case .tooLarge: "The database server has a limit that this exceeds."
    case .damaged: "The database lacks something that the store needs, or is damaged."
    case .io: "The database server's system failed."
    default: "The database server refused a statement."
    }
  }
}

/// The rows that a statement has returned, in binary form. Lives as long as its memory is needed.
final class SQLResult {
  private let handle: OpaquePointer
  let rowCount: Int
  let columnCount: Int

  /// Takes over the result.
  init(_ handle: OpaquePointer) {
    self.handle = handle
    rowCount = Int(PQntuples(handle))
    columnCount = Int(PQnfields(handle))
  }

  deinit { PQclear(handle) }

  /// How many rows a statement has inserted, changed or deleted.
  var affectedCount: Int { PQcmdTuples(handle).flatMap { Int(String(cString: $0)) } ?? 0 }

  /// The value; nil for null. Valid as long as the result lives.
  @inline(__always)
  subscript(_ row: Int, _ column: Int) -> SQLValue? {
    let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
    if PQgetisnull(handle, row, column) != 0 { return nil }
    // Not nil for a row and a column that exist, which `PQgetisnull` has just looked at.
    return SQLValue(
      bytes: UnsafeRawBufferPointer(
        start: PQgetvalue(handle, row, column), count: Int(PQgetlength(handle, row, column))))
  }

  /// A value that the store's own tables hold and that is never null.
  /// - Throws: ``StorageError`` `.damaged`.
  func integer(_ row: Int, _ column: Int) throws -> Int64 {
    guard let value = self[row, column] else { throw Self.damaged }
    if let number = value.integer(Int64.self) { return number }
    if let number = value.integer(Int32.self) { return Int64(number) }
    if let number = value.integer(Int16.self) { return Int64(number) }
    throw Self.damaged
  }

  /// A primary key.
  func key(_ row: Int, _ column: Int) throws -> UInt64 {
    guard let key = UInt64(exactly: try integer(row, column)), key < StoreReference.keyLimit else {
      throw Self.damaged
    }
    return key
  }

  /// A text that is never null.
  func text(_ row: Int, _ column: Int) throws -> String {
    guard let value = self[row, column] else { throw Self.damaged }
    return value.text
  }

  /// Bytes that are never null.
  func data(_ row: Int, _ column: Int) throws -> Data {
    guard let value = self[row, column] else { throw Self.damaged }
    return Data(value.bytes)
  }

  static let damaged = StorageError(
    .damaged, operation: "read result", path: "",
    detail: "A table of the store holds a value that the store never writes.")
}
