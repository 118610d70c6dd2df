import Foundation

/// The author of a change, and when it was made.
package struct HistoryHeader: Sendable, Equatable {
  package var timestamp: Date
  package var origin: ChangeOrigin
  package var bundleIdentifier: String
  package var processName: String

  package init(timestamp: Date, origin: ChangeOrigin, bundleIdentifier: String, processName: String) {
    self.timestamp = timestamp
    self.origin = origin
    self.bundleIdentifier = bundleIdentifier
    self.processName = processName
  }
}

/// Rows that the same has happened to.
struct HistoryList: Sendable, Equatable {
  var kind: HistoryFormat.Kind
  var entityCode: UInt16
  /// Of updates: the codes of the properties that have other values.
  var properties: [UInt16] = []
  /// Keys in ascending order; empty for `buried`.
  var runs: [ClosedRange<UInt64>] = []
  /// Of `buried`.
  var tombstones: [HistoryTombstone] = []
}

/// What stays of a deleted row.
struct HistoryTombstone: Sendable, Equatable {
  var primaryKey: UInt64
  /// By attribute code.
  var values: [(code: UInt16, value: AttributeValue)]

  static func == (a: HistoryTombstone, b: HistoryTombstone) -> Bool {
    a.primaryKey == b.primaryKey && a.values.elementsEqual(b.values) { $0 == $1 }
  }
}

/// Reads a part of a history; whatever the bytes are, it ends, and takes no more memory than they say.
struct HistoryPart {
  /// Of the first part.
  let header: HistoryHeader?
  let lists: [HistoryList]

  /// Nil for bytes that are no part. Without `readsLists` only the header is looked at.
  init?(_ bytes: UnsafeRawBufferPointer, isFirst: Bool, readsLists: Bool = true) {
    var reader = ByteReader(bytes)
    guard reader.byte() == HistoryFormat.format else { return nil }
    header = isFirst ? reader.header() : nil
    if isFirst, header == nil { return nil }
    var lists: [HistoryList] = []
    while readsLists, !reader.isAtEnd {
      guard let list = reader.list() else { return nil }
      lists.append(list)
    }
    self.lists = lists
  }
}

extension ByteReader {
  /// A text, or none; nil for neither.
  private mutating func text() -> String?? {
    guard let length = varint() else { return nil }
    if length == 0 { return .some(nil) }
    guard length - 1 <= UInt64(count), let bytes = take(Int(length - 1)) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  mutating func header() -> HistoryHeader? {
    guard let bits = number(UInt64.self), let author = text(), let context = text(), let bundle = text(),
      let process = text()
    else { return nil }
    let seconds = Double(bitPattern: bits)
    guard seconds.isFinite else { return nil }
    return HistoryHeader(
      timestamp: Date(timeIntervalSinceReferenceDate: seconds),
      origin: ChangeOrigin(author: author, contextName: context), bundleIdentifier: bundle ?? "",
      processName: process ?? "")
  }

  mutating func list() -> HistoryList? {
    guard let kind = byte().flatMap(HistoryFormat.Kind.init(rawValue:)), let code = number(UInt16.self) else {
      return nil
    }
    var list = HistoryList(kind: kind, entityCode: code)
    if kind == .updated {
      guard let codes = itemCount(), codes * 2 <= count else { return nil }
      for _ in 0..<codes {
        guard let code = number(UInt16.self) else { return nil }
        list.properties.append(code)
      }
    }
    if kind != .buried {
      guard let runs = runs() else { return nil }
      list.runs = runs
      return list
    }
    guard let count = itemCount() else { return nil }
    for _ in 0..<count {
      guard let tombstone = tombstone() else { return nil }
      list.tombstones.append(tombstone)
    }
    return list
  }

  private mutating func tombstone() -> HistoryTombstone? {
    guard let key = varint(), key < PrimaryKeyAllocator.limit, let count = itemCount() else { return nil }
    var tombstone = HistoryTombstone(primaryKey: key, values: [])
    for _ in 0..<count {
      guard let code = number(UInt16.self), let value = value() else { return nil }
      tombstone.values.append((code, value))
    }
    return tombstone
  }

  /// A value, behind the letter that row layouts have for its kind.
  mutating func value() -> AttributeValue? {
    guard let letter = byte() else { return nil }
    switch letter {
    case UInt8(ascii: "l"): return number(Int64.self).map { .integer($0) }
    case UInt8(ascii: "b"): return byte().map { .boolean($0 != 0) }
    case UInt8(ascii: "d"): return number(UInt64.self).map { .double(Double(bitPattern: $0)) }
    case UInt8(ascii: "f"): return number(UInt32.self).map { .float(Float(bitPattern: $0)) }
    case UInt8(ascii: "a"):
      return number(UInt64.self).map {
        .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0)))
      }
    case UInt8(ascii: "z"): return take(16).map { .uuid(UUID(uuid: $0.loadUnaligned(as: uuid_t.self))) }
    case UInt8(ascii: "S"), UInt8(ascii: "D"), UInt8(ascii: "U"), UInt8(ascii: "N"):
      guard let length = itemCount(), let bytes = take(length) else { return nil }
      switch letter {
      case UInt8(ascii: "S"): return .string(String(decoding: bytes, as: UTF8.self))
      case UInt8(ascii: "D"): return .data(Data(bytes))
      case UInt8(ascii: "U"):
        return URL(string: String(decoding: bytes, as: UTF8.self)).map { .url($0) }
      default: return DecimalBytes.decode(bytes)?.decimal.map { .decimal($0) }
      }
    default: return nil
    }
  }
}
