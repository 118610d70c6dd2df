import CStrataSQLite
import Foundation
import StrataCore

/// A value as SQLite keeps it.
enum SQLiteValue: Equatable {
  case null
  case integer(Int64)
  case real(Double)
  /// Nil for bytes that are no UTF-8.
  case text(String?)
  case blob(Data)
}

/// A connection to a file. Used by one thread.
final class SQLiteDatabase {
  let path: String
  private(set) var handle: OpaquePointer?

  /// Opens a file.
  /// - Parameter name: What messages call the file, which may be a copy of another one.
  /// - Throws: `AppleStoreError`.
  init(_ path: String, flags: Int32, name: String) throws {
    self.path = name
    let code = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    guard code == SQLITE_OK, handle != nil else {
      let error = failure(code)
      sqlite3_close_v2(handle)
      handle = nil
      throw error
    }
    sqlite3_busy_timeout(handle, 5_000)
  }

  deinit { close() }

  func close() {
    sqlite3_close_v2(handle)
    handle = nil
  }

  /// Settings for files of unknown origin: their schemas run no functions, their pages are looked at before they are believed.
  /// - Throws: `AppleStoreError`.
  func distrust(isReadOnly: Bool) throws {
    for (option, value) in [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), (SQLITE_DBCONFIG_ENABLE_VIEW, 0),
      (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0), (SQLITE_DBCONFIG_DQS_DML, 0), (SQLITE_DBCONFIG_DQS_DDL, 0),
    ] as [(Int32, Int32)] {
      let code = strata_sqlite_set(handle, option, value)
      if code != SQLITE_OK { throw failure(code) }
    }
    try run("PRAGMA cell_size_check = ON")
    // No memory map: a file that is cut off meanwhile would end the process.
    try run("PRAGMA mmap_size = 0")
    if isReadOnly {
      try run("PRAGMA query_only = ON")
      sqlite3_set_authorizer(handle, authorizeReading, nil)
    }
  }

  /// Runs statements without results.
  /// - Throws: `AppleStoreError`.
  func run(_ sql: String) throws {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    if code != SQLITE_OK { throw failure(code) }
  }

  /// - Throws: `AppleStoreError`.
  func prepare(_ sql: String) throws -> SQLiteStatement {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw failure(code) }
    return SQLiteStatement(statement, self)
  }

  /// The only value of a statement's first row; nil without a row.
  /// - Throws: `AppleStoreError`.
  func value(_ sql: String) throws -> SQLiteValue? {
    let statement = try prepare(sql)
    return try statement.step() ? statement.value(0) : nil
  }

  /// What a result code means.
  func failure(_ code: Int32) -> AppleStoreError {
    let words = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
    return AppleStoreError(Self.kind(code), "\(path): SQLite says “\(words)” (\(code)).")
  }

  private static func kind(_ code: Int32) -> AppleStoreError.Kind {
    switch code & 0xFF {
    case SQLITE_NOTADB: .notAStore
    case SQLITE_CORRUPT, SQLITE_FORMAT, SQLITE_IOERR: .damaged
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN: .permission
    case SQLITE_FULL: .output
    default: .other
    }
  }

  /// A name as SQL takes it, whatever is in it.
  static func quoted(_ name: String) -> String {
    "\"" + name.replacing(mark: "\"", with: "\"\"") + "\""
  }
}

/// Permits what reading takes: nothing that a file could bring along is run.
private let authorizeReading:
  @convention(c) (
    UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
    UnsafePointer<CChar>?
  ) -> Int32 = { _, action, first, second, _, _ in
    switch action {
    case SQLITE_SELECT, SQLITE_READ, SQLITE_TRANSACTION: return SQLITE_OK
    case SQLITE_PRAGMA:
      let name = first.map { String(cString: $0) } ?? ""
      return ["table_info", "integrity_check"].contains(name) ? SQLITE_OK : SQLITE_DENY
    case SQLITE_FUNCTION:
      let name = second.map { String(cString: $0) } ?? ""
      return ["count", "max", "like"].contains(name) ? SQLITE_OK : SQLITE_DENY
    default: return SQLITE_DENY
    }
  }

/// A prepared statement, which keeps its connection alive.
final class SQLiteStatement {
  private let statement: OpaquePointer
  private let database: SQLiteDatabase

  fileprivate init(_ statement: OpaquePointer, _ database: SQLiteDatabase) {
    self.statement = statement
    self.database = database
  }

  deinit { sqlite3_finalize(statement) }

  /// Goes to the next row; whether there is one.
  /// - Throws: `AppleStoreError`.
  func step() throws -> Bool {
    switch sqlite3_step(statement) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw database.failure(code)
    }
  }

  /// Runs a statement that has no rows, and makes it ready for the next time.
  /// - Throws: `AppleStoreError`.
  func run() throws {
    defer { reset() }
    _ = try step()
  }

  func reset() { sqlite3_reset(statement) }

  func isNull(_ column: Int) -> Bool { sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL }

  /// The integer of a column; nil for anything else.
  func integer(_ column: Int) -> Int64? {
    guard sqlite3_column_type(statement, Int32(column)) == SQLITE_INTEGER else { return nil }
    return sqlite3_column_int64(statement, Int32(column))
  }

  /// The text of a column; nil for anything else.
  func text(_ column: Int) -> String? {
    if case .text(let text) = value(column) { return text }
    return nil
  }

  func value(_ column: Int) -> SQLiteValue {
    let place = Int32(column)
    switch sqlite3_column_type(statement, place) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, place))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, place))
    case SQLITE_TEXT:
      let start = sqlite3_column_text(statement, place)
      let count = Int(sqlite3_column_bytes(statement, place))
      return .text(String(validating: UnsafeBufferPointer(start: start, count: count), as: UTF8.self))
    case SQLITE_BLOB:
      let start = sqlite3_column_blob(statement, place)
      let count = Int(sqlite3_column_bytes(statement, place))
      return .blob(start.map { Data(bytes: $0, count: count) } ?? Data())
    default: return .null
    }
  }

  /// Binds the parameter at `place`, which counts from 1.
  /// - Throws: `AppleStoreError`.
  func bind(_ value: SQLiteValue, _ place: Int) throws {
    let place = Int32(place)
    let code: Int32
    switch value {
    case .null, .text(nil): code = sqlite3_bind_null(statement, place)
    case .integer(let value): code = sqlite3_bind_int64(statement, place, value)
    case .real(let value): code = sqlite3_bind_double(statement, place, value)
    case .text(.some(var text)):
      code = text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          // An empty text has no address, and NULL would be bound.
          $0.baseAddress.map { strata_sqlite_bind_text(statement, place, $0, UInt64(bytes.count)) }
            ?? strata_sqlite_bind_text(statement, place, "", 0)
        }
      }
    case .blob(let data):
      code =
        data.isEmpty
        ? sqlite3_bind_zeroblob(statement, place, 0)
        : data.withUnsafeBytes {
          strata_sqlite_bind_blob(statement, place, $0.baseAddress, UInt64($0.count))
        }
    }
    if code != SQLITE_OK { throw database.failure(code) }
  }
}
