import StrataCore

/// What a `COPY … FROM STDIN (FORMAT binary)` copies. Made while it is sent: the server takes in one part while the next is made, and memory holds one.
protocol CopiedBytes: Sendable {
  /// Hands the bytes over in parts, until `send` answers false: no more is taken.
  /// - Throws: What `send` throws; for values that cannot be stored an error of its own, and then nothing is copied.
  func write(_ send: ([UInt8]) throws -> Bool) throws
  /// So many rows there are: the copy fails when the server has taken in another number.
  var rowCount: Int { get }
}

/// A statement with its parameters, which are always bound and never part of the text.
struct SQLStatement: Sendable {
  /// How many parameters the wire has room for: their number is of 16 bits.
  static let mostParameters = 65_535

  private(set) var text: String
  /// The server's numbers of the parameters' types.
  private(set) var oids: [UInt32] = []
  /// Where each parameter begins in `bytes`; -1 for null.
  private(set) var starts: [Int] = []
  private(set) var lengths: [Int32] = []
  private(set) var bytes: [UInt8] = []
  /// What a `COPY … FROM STDIN` copies; nil for any other statement.
  let copied: (any CopiedBytes)?
  var isCopy: Bool { copied != nil }
  /// What is written; errors name it.
  var subject: Subject?

  /// The objects that a statement writes.
  struct Subject: Sendable {
    let entity: String
    /// The key of the only one; nil for several.
    var key: UInt64?
  }

  init(_ text: String = "") {
    self.text = text
    copied = nil
  }

  /// A statement that reads rows from the connection.
  init(copy text: String, _ copied: any CopiedBytes, subject: Subject? = nil) {
    self.text = text
    self.copied = copied
    self.subject = subject
  }

  static func += (statement: inout SQLStatement, text: String) { statement.text += text }

  /// The words for rows that are made of arrays, a column of each. `unnest` with several arrays has no namespace, so that there are as many calls as arrays.
  static func rows(of arrays: [String]) -> String {
    "ROWS FROM (" + arrays.map { "pg_catalog.unnest(\($0))" }.joined(separator: ", ") + ")"
  }

  /// Puts words in front of the text.
  mutating func prefix(_ words: String) { text = words + text }

  /// Adds a parameter that `write` writes; the words that stand for it in the text.
  mutating func bind(_ oid: UInt32, _ write: (inout [UInt8]) -> Void) -> String {
    starts.append(bytes.count)
    write(&bytes)
    lengths.append(Int32(bytes.count - (starts.last ?? 0)))
    oids.append(oid)
    return "$\(oids.count)"
  }

  /// Adds a null of a type.
  mutating func bindNull(_ type: SQLType) -> String {
    starts.append(-1)
    lengths.append(0)
    oids.append(type.oid)
    return "$\(oids.count)"
  }

  mutating func bind(_ value: some FixedWidthInteger & SignedInteger) -> String {
    bind(SQLType.int8.oid) { $0.append(bigEndian: Int64(value)) }
  }

  /// Adds an integer of exactly that type.
  mutating func bind<Word: FixedWidthInteger>(_ word: Word, as type: SQLType) -> String {
    bind(type.oid) { $0.append(bigEndian: word) }
  }

  mutating func bind(_ key: UInt64) -> String {
    bind(SQLType.int8.oid) { $0.append(bigEndian: key) }
  }

  mutating func bind(_ text: String) -> String {
    bind(SQLType.text.oid) { $0.append(contentsOf: text.utf8) }
  }

  mutating func bind(bytes: some Sequence<UInt8>) -> String {
    bind(SQLType.bytea.oid) { $0.append(contentsOf: bytes) }
  }

  /// Adds a value of an attribute; nil when it is not of the type.
  mutating func bind(_ value: AttributeValue, as type: SQLType) -> String? {
    if case .null = value { return bindNull(type) }
    var isFit = false
    let words = bind(type.oid) { isFit = $0.append(value, as: type) }
    return isFit ? words : nil
  }

  /// Adds an array of primary keys.
  mutating func bind(keys: some Collection<UInt64>) -> String {
    bindArray(.int8, count: keys.count) { bytes in
      for key in keys {
        bytes.append(bigEndian: Int32(8))
        bytes.append(bigEndian: key)
      }
    }
  }

  /// Adds the condition that a column holds one of the keys. One key is compared as it is: the server keeps the plan of that, and plans anew for each array.
  mutating func add(_ column: String, isAnyOf keys: some Collection<UInt64>) {
    if keys.count == 1, let key = keys.first {
      self += column + " = " + bind(key)
    } else {
      self += column + " = ANY(" + bind(keys: keys) + ")"
    }
  }

  /// Adds an array whose elements, each behind its length, `write` writes.
  mutating func bindArray(
    _ type: SQLType, count: Int, hasNulls: Bool = false, _ write: (inout [UInt8]) -> Void
  )
    -> String
  {
    bind(type.arrayOID) { bytes in
      SQLArray.appendHead(type, count: count, hasNulls: hasNulls, to: &bytes)
      write(&bytes)
    } + "::\(type.name)[]"
  }

  /// Adds an array that was written before.
  mutating func bind(_ array: SQLArray) -> String {
    bind(array.type.arrayOID) { bytes in
      SQLArray.appendHead(array.type, count: array.count, hasNulls: array.hasNulls, to: &bytes)
      bytes.append(contentsOf: array.elements)
    } + "::\(array.type.name)[]"
  }

  /// Adds an array of values; nil when one of them is not of the type.
  mutating func bind(values: [AttributeValue], as type: SQLType) -> String? {
    var array = SQLArray(type)
    for value in values { guard array.append(value) else { return nil } }
    return bind(array)
  }
}

/// An array that is written element by element: a column of the rows that a statement writes.
struct SQLArray: Sendable {
  let type: SQLType
  private(set) var count = 0
  private(set) var hasNulls = false
  fileprivate(set) var elements: [UInt8] = []

  init(_ type: SQLType) { self.type = type }

  mutating func appendNull() {
    elements.append(bigEndian: Int32(-1))
    hasNulls = true
    count += 1
  }

  /// Appends a value; false when it is not of the type.
  mutating func append(_ value: AttributeValue) -> Bool {
    if case .null = value {
      appendNull()
      return true
    }
    let place = elements.count
    elements.append(bigEndian: Int32(0))
    guard elements.append(value, as: type) else { return false }
    close(place)
    return true
  }

  mutating func append<Word: FixedWidthInteger>(_ word: Word) {
    elements.append(bigEndian: Int32(MemoryLayout<Word>.size))
    elements.append(bigEndian: word)
    count += 1
  }

  mutating func append(bytes: some Sequence<UInt8>) {
    let place = elements.count
    elements.append(bigEndian: Int32(0))
    elements.append(contentsOf: bytes)
    close(place)
  }

  /// Writes the length of the element that began at `place`.
  private mutating func close(_ place: Int) {
    elements.set(bigEndian: UInt32(elements.count - place - 4), at: place)
    count += 1
  }

  fileprivate static func appendHead(_ type: SQLType, count: Int, hasNulls: Bool, to bytes: inout [UInt8]) {
    bytes.append(bigEndian: Int32(count == 0 ? 0 : 1))
    bytes.append(bigEndian: Int32(hasNulls ? 1 : 0))
    bytes.append(bigEndian: type.oid)
    if count == 0 { return }
    bytes.append(bigEndian: Int32(count))
    bytes.append(bigEndian: Int32(1))
  }
}
