import Foundation

/// Numbers combinations of values in the order they first come: a hash table over their encoded bytes.
///
/// ```
///   places   1 2 0 0 3 …            number + 1 by hash, 0 for free
///   ends     [7, 16, 25 …]          where each combination's bytes end
///   bytes    [… … … …]              all of them, one after the other
/// ```
///
/// Combinations are the same when all values are, in the order of values. Memory grows with the number of different ones only.
///
/// ```
///   a value      its form, one byte, and the bytes that keys have for it
///   a number     as an integer if it is one of 64 bits, else as a double if it is exactly one, else as a decimal
///   an object    its form, its primary key, its hierarchy's address
/// ```
struct ValueTable: ~Copyable {
  private var places: ContiguousArray<Int32> = ContiguousArray(repeating: 0, count: 1024)
  private var hashes: ContiguousArray<UInt64> = []
  private var ends: ContiguousArray<Int> = []
  private var bytes: ContiguousArray<UInt8> = []
  private var key = KeyBuilder()

  /// The number of a combination, and whether it came for the first time.
  mutating func number(of values: some Sequence<FetchedDictionary.Value>) -> (number: Int, isNew: Bool) {
    key.reset()
    for value in values {
      switch value {
      case .value(let value): append(value)
      case .object(let identifier):
        key.append(byte: Form.object.rawValue)
        key.appendPrimaryKey(identifier.primaryKey)
        key.appendPrimaryKey(identifier.hierarchyAddress)
      }
    }
    return number(of: key.bytes)
  }

  /// Whether a value is not nil and comes for the first time; of a reference, the object that it leads to in the store at hand.
  mutating func isNew(_ value: AttributeValue) -> Bool {
    switch value {
    case .null: false
    case .reference(let bits):
      bits != 0
        && number(
          of: CollectionOfOne(.value(.reference(Reference.bits(Reference.primaryKey(bits), entityCode: 0))))
        ).isNew
    default: number(of: CollectionOfOne(.value(value))).isNew
    }
  }

  /// What the bytes behind it are: those of values that differ may be the same.
  private enum Form: UInt8 {
    case null, boolean, integer, double, decimal, string, date, data, uuid, url, reference, object
  }

  private mutating func append(_ value: AttributeValue) {
    switch value {
    case .null: key.append(byte: Form.null.rawValue)
    case .integer(let number): append(number)
    case .double(let number): append(number)
    case .float(let number): append(Double(number))
    case .decimal(let number): append(number)
    case .boolean: append(value, .boolean)
    case .string: append(value, .string)
    case .date: append(value, .date)
    case .data: append(value, .data)
    case .uuid: append(value, .uuid)
    case .url: append(value, .url)
    case .reference: append(value, .reference)
    }
  }

  private mutating func append(_ value: AttributeValue, _ form: Form) {
    key.append(byte: form.rawValue)
    key.append(value, isAscending: true, limit: Self.limit(of: value))
  }

  private mutating func append(_ number: Int64) { append(.integer(number), .integer) }

  private mutating func append(_ number: Double) {
    if let whole = Int64(exactly: number) { append(whole) } else { append(.double(number), .double) }
  }

  private mutating func append(_ number: Decimal) {
    let digits = DecimalDigits(number)
    if let (whole, hasFraction) = digits.integerNotAbove, !hasFraction {
      append(whole)
    } else if let double = digits.exactDouble {
      append(.double(double), .double)
    } else {
      append(.decimal(number), .decimal)
    }
  }

  /// Bytes enough for all of a value, zeros escaped.
  private static func limit(of value: AttributeValue) -> Int {
    switch value {
    case .string(let text): text.utf8.count * 2 + 2
    case .url(let url): url.absoluteString.utf8.count * 2 + 2
    case .data(let data): data.count * 2 + 2
    default: KeyBuilder.maximumVariableLength
    }
  }

  private mutating func number(of key: UnsafeRawBufferPointer) -> (number: Int, isNew: Bool) {
    let hash = Self.hash(key)
    var place = Int(truncatingIfNeeded: hash) & (places.count - 1)
    while places[place] != 0 {
      let number = Int(places[place] - 1)
      if hashes[number] == hash, isSame(number, key) { return (number, false) }
      place = (place + 1) & (places.count - 1)
    }
    let number = ends.count
    precondition(number < Int(Int32.max) - 1, "a result has fewer than two thousand million groups")
    places[place] = Int32(number + 1)
    hashes.append(hash)
    bytes.append(contentsOf: key)
    ends.append(bytes.count)
    if ends.count * 2 > places.count { grow() }
    return (number, true)
  }

  private func isSame(_ number: Int, _ key: UnsafeRawBufferPointer) -> Bool {
    let start = number == 0 ? 0 : ends[number - 1]
    guard ends[number] - start == key.count, let other = key.baseAddress else { return key.isEmpty }
    return bytes.withUnsafeBytes { all in
      all.baseAddress.map { memcmp($0 + start, other, key.count) == 0 } ?? true
    }
  }

  private mutating func grow() {
    places = ContiguousArray(repeating: 0, count: places.count * 2)
    for (number, hash) in hashes.enumerated() {
      var place = Int(truncatingIfNeeded: hash) & (places.count - 1)
      while places[place] != 0 { place = (place + 1) & (places.count - 1) }
      places[place] = Int32(number + 1)
    }
  }

  /// Seeded by the process, so that colliding values cannot be chosen.
  private static let seed = UInt64.random(in: .min ... .max) | 1

  private static func hash(_ key: UnsafeRawBufferPointer) -> UInt64 {
    var hash = seed
    var rest = key[...]
    while rest.count >= 8 {
      hash = mixed(hash ^ rest.loadUnaligned(as: UInt64.self))
      rest = rest.dropFirst(8)
    }
    var tail = UInt64(rest.count) << 56
    for (place, byte) in rest.enumerated() { tail |= UInt64(byte) << (UInt64(place) * 8) }
    return mixed(hash ^ tail)
  }

  private static func mixed(_ word: UInt64) -> UInt64 {
    let product = word.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15 ^ seed)
    return product.high ^ product.low
  }
}
