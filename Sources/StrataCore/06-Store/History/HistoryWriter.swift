import Foundation

/// Makes the bytes of a history's parts.
struct HistoryByteWriter {
  var bytes: ContiguousArray<UInt8> = [HistoryFormat.format]

  mutating func append<N: FixedWidthInteger>(_ number: N) {
    bytes.append(littleEndian: number)
  }

  mutating func append(varint: Int) { bytes.append(varint: UInt64(varint)) }

  private mutating func append(_ text: String?) {
    guard let text else { return append(varint: 0) }
    append(varint: text.utf8.count + 1)
    bytes.append(contentsOf: text.utf8)
  }

  mutating func append(_ header: HistoryHeader) {
    append(header.timestamp.timeIntervalSinceReferenceDate.bitPattern)
    append(header.origin.author)
    append(header.origin.contextName)
    append(header.bundleIdentifier)
    append(header.processName)
  }

  /// A value that is not nil and no reference.
  mutating func append(_ value: AttributeValue) {
    func letter(_ letter: UInt8) { bytes.append(letter) }
    func packed(_ kind: UInt8, _ content: some Collection<UInt8>) {
      letter(kind)
      append(varint: content.count)
      bytes.append(contentsOf: content)
    }
    switch value {
    case .null, .reference: trap("a tombstone keeps neither nil nor references")
    case .integer(let value):
      letter(UInt8(ascii: "l"))
      append(value)
    case .boolean(let value):
      letter(UInt8(ascii: "b"))
      bytes.append(value ? 1 : 0)
    case .double(let value):
      letter(UInt8(ascii: "d"))
      append(value.bitPattern)
    case .float(let value):
      letter(UInt8(ascii: "f"))
      append(value.bitPattern)
    case .date(let value):
      letter(UInt8(ascii: "a"))
      append(value.timeIntervalSinceReferenceDate.bitPattern)
    case .uuid(let value):
      letter(UInt8(ascii: "z"))
      withUnsafeBytes(of: value.uuid) { bytes.append(contentsOf: $0) }
    case .string(let value): packed(UInt8(ascii: "S"), value.utf8)
    case .data(let value): packed(UInt8(ascii: "D"), value)
    case .url(let value): packed(UInt8(ascii: "U"), value.absoluteString.utf8)
    case .decimal(let value): packed(UInt8(ascii: "N"), DecimalBytes.encode(DecimalDigits(value)))
    }
  }
}

/// Collects what one save or batch changes and writes it into the history, part by part, in the transaction that changes the rows.
///
/// Lives for one run of the transaction's body, on the writer's thread.
final class HistoryWriter {
  /// A list that is being made.
  private struct List {
    let kind: HistoryFormat.Kind
    let entity: Int
    let slots: SlotBitmap
    var keys: KeyRuns
    /// Of `buried`, in the place of the keys.
    var tombstones = ContiguousArray<UInt8>()
    var tombstoneCount: UInt64 = 0

    var isFull: Bool { keys.bytes.count + tombstones.count >= HistoryFormat.partLength }
  }

  private let keyspace: Keyspace
  private let number: UInt64
  private let header: HistoryHeader
  private let catalogue: StoreCatalogue
  // `@exclusivity(unchecked)`: one frame on one thread uses it, and there are no calls back.
  @exclusivity(unchecked) private var writer = HistoryByteWriter()
  @exclusivity(unchecked) private var list = List(
    kind: .inserted, entity: 0, slots: SlotBitmap(), keys: KeyRuns(0))
  @exclusivity(unchecked) private var hasList = false
  /// The next part.
  @exclusivity(unchecked) private(set) var part: UInt32
  @exclusivity(unchecked) private var isEmpty = true
  /// What was said of rows that only lost or gained members, so that it is said once; the first some thousand of a transaction.
  @exclusivity(unchecked) private var related: [RowAddress: SlotBitmap] = [:]
  private static let mostRelated = 65_536

  /// - Parameter part: Where to go on, if some parts of the transaction are there already.
  init(
    _ number: UInt64, _ header: HistoryHeader, _ keyspace: Keyspace, _ catalogue: StoreCatalogue,
    from part: UInt32 = 0
  ) {
    self.number = number
    self.header = header
    self.keyspace = keyspace
    self.catalogue = catalogue
    self.part = part
    if part == 0 { writer.append(header) }
  }

  /// A row has been inserted, updated or deleted; `slots` have other values.
  func note(
    _ kind: HistoryFormat.Kind, _ key: UInt64, of entity: Int, _ slots: SlotBitmap,
    _ transaction: borrowing WriteTransaction
  ) throws {
    if hasList, list.kind == kind, list.entity == entity, list.keys.last < key, !list.isFull,
      list.slots == slots
    {
      return list.keys.append(key)
    }
    try endList(transaction)
    list = List(kind: kind, entity: entity, slots: slots, keys: KeyRuns(key))
    hasList = true
  }

  /// A row has been deleted of which values stay.
  func bury(
    _ key: UInt64, of entity: Int, _ values: [(slot: Int, value: AttributeValue)],
    _ transaction: borrowing WriteTransaction
  ) throws {
    if !hasList || list.kind != .buried || list.entity != entity || list.isFull {
      try endList(transaction)
      list = List(kind: .buried, entity: entity, slots: SlotBitmap(), keys: KeyRuns(0))
      hasList = true
    }
    var item = HistoryByteWriter(bytes: [])
    item.bytes.append(varint: key)
    item.append(varint: values.count)
    for (slot, value) in values {
      item.append(catalogue.attributeCodes[entity][slot])
      item.append(value)
    }
    list.tombstones.append(contentsOf: item.bytes)
    list.tombstoneCount += 1
  }

  /// Whether this was not said of the row before.
  func isNews(_ slots: SlotBitmap, of address: RowAddress) -> Bool {
    let known = related[address] ?? SlotBitmap()
    let all = known.union(slots)
    if all == known { return false }
    if related.count < Self.mostRelated || related[address] != nil { related[address] = all }
    return true
  }

  private func endList(_ transaction: borrowing WriteTransaction) throws {
    if !hasList { return }
    hasList = false
    isEmpty = false
    list.keys.endRun()
    writer.bytes.append(list.kind.rawValue)
    writer.append(catalogue.entityCodes[list.entity])
    if list.kind == .updated {
      var codes: [UInt16] = []
      list.slots.forEach { slot in
        let slots = catalogue.attributeCodes[list.entity]
        if slot < slots.count, slots[slot] > 0 { codes.append(slots[slot]) }
      }
      writer.append(varint: codes.count)
      for code in codes { writer.append(code) }
    }
    let isBuried = list.kind == .buried
    writer.bytes.append(varint: isBuried ? list.tombstoneCount : list.keys.count)
    writer.bytes.append(contentsOf: isBuried ? list.tombstones : list.keys.bytes)
    if writer.bytes.count >= HistoryFormat.partLength { try endPart(transaction) }
  }

  private func endPart(_ transaction: borrowing WriteTransaction) throws {
    try HistoryFormat.Key(number, part: part).withBytes { key in
      try writer.bytes.withUnsafeBytes { try transaction.put(keyspace, key, $0) }
    }
    part += 1
    writer = HistoryByteWriter()
  }

  /// Writes what is left. Nothing at all when nothing was changed.
  func finish(_ transaction: borrowing WriteTransaction) throws {
    try endList(transaction)
    if isEmpty || part > 0 && writer.bytes.count == 1 { return }
    try endPart(transaction)
  }
}
