/// What attributes are called now that are named in transactions from before a change of the model: entries `recode/<commit>/<entity code>` of "meta".
///
/// A history names attributes by the codes of their names. Where an attribute gets another name, and its code stays with the old one, because other entities have an
/// attribute of that name, or its rows do, the code means something else in transactions up to that commit.
///
/// ```
///   key     recode/ │ the newest commit that is meant, 20 digits │ / │ the code of the entity, 5 digits
///   value   u16 code in the transactions │ u16 code now, 0 for none │ and so on
/// ```
struct HistoryRecoding {
  static let prefix = "recode/"

  /// By entity code, in the order of commits.
  private var changes: [UInt16: [(commit: UInt64, codes: [UInt16: UInt16])]] = [:]

  /// - Throws: ``StorageError``, of kind `damaged` for entries that cannot be read.
  init(_ parts: StoreParts, _ transaction: borrowing ReadTransaction) throws {
    for (name, value) in try parts.meta.entries(Self.prefix, transaction) {
      let fields = name.split(separator: "/")
      guard fields.count == 2, let commit = UInt64(fields[0]), let entity = UInt16(fields[1]),
        let codes = Self.codes(Array(value))
      else { throw parts.damaged("What attributes were called in the history is unreadable.") }
      changes[entity, default: []].append((commit, codes))
    }
  }

  /// Nil for bytes that are no value.
  private static func codes(_ bytes: [UInt8]) -> [UInt16: UInt16]? {
    guard bytes.count % 4 == 0 else { return nil }
    var codes: [UInt16: UInt16] = [:]
    for place in stride(from: 0, to: bytes.count, by: 4) {
      func code(_ place: Int) -> UInt16 { UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8 }
      codes[code(place)] = code(place + 2)
    }
    return codes
  }

  /// The code now of an attribute in a transaction; 0 when there is nothing of that name any more.
  func code(_ code: UInt16, of entity: UInt16, in commit: UInt64) -> UInt16 {
    guard let changes = changes[entity] else { return code }
    return changes.reduce(code) { code, change in
      change.commit >= commit ? change.codes[code] ?? code : code
    }
  }

  /// The key of the entry for the transactions up to `commit`.
  static func key(_ commit: UInt64, _ entity: UInt16) -> String {
    prefix + MetaKeyspace.digits(commit, 20) + "/" + MetaKeyspace.digits(entity, 5)
  }

  /// The value of an entry, which comes after what the same entry says already.
  static func value(_ codes: [UInt16: UInt16], after earlier: [UInt8]?) -> [UInt8] {
    let before = earlier.flatMap(Self.codes) ?? [:]
    let all = before.mapValues { codes[$0] ?? $0 }.merging(codes) { first, _ in first }
    let pairs = all.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
    return pairs.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
  }
}
