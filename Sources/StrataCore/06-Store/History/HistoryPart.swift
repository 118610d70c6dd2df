import Foundation

/// The author of a change, and when it was made.
struct HistoryHeader: Sendable, Equatable {
  var timestamp: Date
  var origin: ChangeOrigin
  var bundleIdentifier: String
  var processName: String
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

  /// How many rows.
  var count: Int { tombstones.count + runs.reduce(0) { $0 + Int($1.upperBound - $1.lowerBound) + 1 } }
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
    var reader = HistoryByteReader(bytes)
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

/// Takes values from bytes, nil as soon as there is none.
struct HistoryByteReader {
  private let bytes: UnsafeRawBufferPointer
  private var place = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { place >= bytes.count }
  private var rest: Int { bytes.count - place }

  mutating func byte() -> UInt8? {
    guard place < bytes.count else { return nil }
    defer { place += 1 }
    return bytes[place]
  }

  mutating func number<N: FixedWidthInteger>(_ type: N.Type) -> N? {
    guard rest >= MemoryLayout<N>.size else { return nil }
    defer { place += MemoryLayout<N>.size }
    return N(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: N.self))
  }

  mutating func varint() -> UInt64? {
    var (value, shift) = (UInt64(0), UInt64(0))
    while shift < 63, let byte = byte() {
      value |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return value }
      shift += 7
    }
    return nil
  }

  /// A number of things that take at least a byte each.
  private mutating func count() -> Int? {
    guard let count = varint(), count <= UInt64(rest) else { return nil }
    return Int(count)
  }

  private mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count <= rest else { return nil }
    defer { place += count }
    return UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])
  }

  /// A text, or none; nil for neither.
  private mutating func text() -> String?? {
    guard let length = varint() else { return nil }
    if length == 0 { return .some(nil) }
    guard length - 1 <= UInt64(rest), let bytes = take(Int(length - 1)) else { return nil }
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
      guard let count = count(), count * 2 <= rest else { return nil }
      for _ in 0..<count {
        guard let code = number(UInt16.self) else { return nil }
        list.properties.append(code)
      }
    }
    guard let count = count() else { return nil }
    var next: UInt64 = 0
    for _ in 0..<count {
      if kind == .buried {
        guard let tombstone = tombstone() else { return nil }
        list.tombstones.append(tombstone)
      } else {
        guard let run = run(after: next) else { return nil }
        list.runs.append(run)
        next = run.upperBound + 1
      }
    }
    return list
  }

  private mutating func run(after next: UInt64) -> ClosedRange<UInt64>? {
    guard let change = varint(), change >> 1 < PrimaryKeyAllocator.limit else { return nil }
    let first = next + change >> 1
    var last = first
    if change & 1 != 0 {
      guard let more = varint(), more < PrimaryKeyAllocator.limit else { return nil }
      last += more + 1
    }
    return last < PrimaryKeyAllocator.limit ? first...last : nil
  }

  private mutating func tombstone() -> HistoryTombstone? {
    guard let key = varint(), key < PrimaryKeyAllocator.limit, let count = count() else { return nil }
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
      guard let count = count(), let bytes = take(count) else { return nil }
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
