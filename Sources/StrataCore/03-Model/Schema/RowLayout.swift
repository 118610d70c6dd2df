import Foundation
import Synchronization

/// How a slot's value lies in a row.
@usableFromInline package enum SlotKind: UInt8, Sendable, Hashable, CaseIterable {
  /// Takes no bytes besides its nil bit, which is always set.
  case transient = 0
  case int16 = 1
  case int32 = 2
  case int64 = 3
  case boolean = 4
  case float = 5
  case double = 6
  case date = 7
  case uuid = 8
  /// The other end of a to-one relationship, see `Reference`.
  case reference = 9
  case string = 10
  case data = 11
  case url = 12
  case decimal = 13

  /// The bytes a value takes in the fixed part of a row.
  var width: Int {
    switch self {
    case .transient: 0
    case .boolean: 1
    case .int16: 2
    case .int32, .float, .string, .data, .url, .decimal: 4
    case .int64, .double, .date, .reference: 8
    case .uuid: 16
    }
  }

  /// Whether the value's bytes lie in the row's tail, the fixed part holding offset and length.
  @inlinable @inline(__always) var isVariable: Bool { rawValue >= 10 }

  /// The kind of a stored attribute of `type`; nil for types that rows hold in another form, or not at all.
  init?(_ type: AttributeType) {
    switch type {
    case .integer16: self = .int16
    case .integer32: self = .int32
    case .integer64: self = .int64
    case .boolean: self = .boolean
    case .float: self = .float
    case .double: self = .double
    case .date: self = .date
    case .uuid: self = .uuid
    case .string: self = .string
    case .binaryData: self = .data
    case .uri: self = .url
    case .decimal: self = .decimal
    case .objectID: self = .reference
    case .undefined, .transformable, .composite: return nil
    }
  }

  /// The letter that stands for the kind in signatures.
  var letter: Character { "tsilbfdazrSDUN"[self] }

  init?(letter: Character) {
    guard let kind = SlotKind.allCases.first(where: { $0.letter == letter }) else { return nil }
    self = kind
  }
}

extension String {
  fileprivate subscript(_ kind: SlotKind) -> Character {
    self[index(startIndex, offsetBy: Int(kind.rawValue))]
  }
}

/// Where each slot's value lies in the rows of one entity. Immutable. Its tables live as long as the process: equal layouts share them.
///
/// ```
/// 0          16             16 + ⌈slots/8⌉                      fixedEnd
/// ┌──────────┬──────────────┬───────────────────────────────────┬───────────────┐
/// │ header   │ nil bitmap   │ fixed values: 16, 8, 4, 2, 1 wide │ variable tail │
/// └──────────┴──────────────┴───────────────────────────────────┴───────────────┘
/// ```
///
/// Values of one width lie in slot order. A layout is described completely by its ``signature``, which the
/// store keeps, so rows written with an older layout stay readable.
package final class RowLayout: @unchecked Sendable {
  // @unchecked Sendable: every stored property is constant, and the pointers lead to memory that is written
  // in `init` and never again.

  /// What one slot is called and how it is stored.
  package struct Slot: Sendable, Hashable {
    /// The attribute's name.
    package let name: String
    /// The attribute's renaming identifier when it has one of its own, else the name.
    package let canonicalName: String
    /// How the value is stored.
    package let kind: SlotKind
  }

  /// The byte after the header, where the nil bitmap starts.
  @usableFromInline static let bitmapOffset = 16
  /// The most bytes a row may take.
  static let maximumRowLength = 60_000

  /// The slots in order.
  package let slots: [Slot]
  /// How many slots there are.
  package let slotCount: Int
  /// The first byte after the fixed part, where the variable tail starts.
  package let fixedEnd: Int
  /// The layout as text; see `init(signature:)`.
  package let signature: String

  /// Per slot the kind in the high 8 bits and the byte offset in the low 24. Immortal.
  @usableFromInline let table: UnsafePointer<UInt32>
  /// The slots whose values lie in the tail, in slot order. Immortal.
  let variableSlots: UnsafeBufferPointer<Int32>

  /// Lays out `slots`.
  ///
  /// - Parameter meaning: What the slots are besides how they are stored. Layouts whose slots and meaning are equal have one `table`, others never have.
  /// - Throws: ``ModelError`` when not even empty or external values would fit into a row.
  init(slots: [Slot], meaning: String = "") throws(ModelError) {
    self.slots = slots
    slotCount = slots.count
    let variable = slots.indices.filter { slots[$0].kind.isVariable }
    // A decimal stays in the row, everything else can be replaced by a reference.
    let leastTail = variable.reduce(0) {
      $0 + (slots[$1].kind == .decimal ? Self.longestDecimal : Self.externalReferenceLength)
    }
    let offset = Self.bitmapOffset + (slots.count + 7) / 8
    let fixedLength = slots.reduce(offset) { $0 + $1.kind.width }
    guard fixedLength + leastTail <= Self.maximumRowLength else {
      throw ModelError("\(slots.count) attributes do not fit into a row of \(Self.maximumRowLength) bytes.")
    }
    fixedEnd = fixedLength
    let signature = Self.signature(of: slots)
    self.signature = signature
    // No line of a signature is empty.
    let tables = Tables.of(signature + "\n" + meaning) {
      Tables(slots: slots, variable: variable, from: offset)
    }
    table = tables.table
    variableSlots = tables.variableSlots
  }

  /// Immortal: there are few (for each entity and model version), and rows outlive everything else.
  private struct Tables: @unchecked Sendable {
    // @unchecked Sendable: the memory is written in `init` and never again.
    let table: UnsafePointer<UInt32>
    let variableSlots: UnsafeBufferPointer<Int32>

    private static let known = Mutex<[String: Tables]>([:])

    /// Those of that name, which are made where there are none: models are read again and again.
    static func of(_ name: String, _ make: () -> Tables) -> Tables {
      known.withLock { known in
        if let tables = known[name] { return tables }
        let new = make()
        known[name] = new
        return new
      }
    }

    init(slots: [Slot], variable: [Int], from start: Int) {
      var offset = start
      let table = UnsafeMutablePointer<UInt32>.allocate(capacity: max(slots.count, 1))
      for width in [16, 8, 4, 2, 1, 0] {
        for (slot, description) in slots.enumerated() where description.kind.width == width {
          table[slot] = UInt32(description.kind.rawValue) << 24 | UInt32(offset)
          offset += width
        }
      }
      self.table = UnsafePointer(table)
      let variableSlots = UnsafeMutableBufferPointer<Int32>.allocate(capacity: variable.count)
      _ = variableSlots.initialize(from: variable.lazy.map { Int32($0) })
      self.variableSlots = UnsafeBufferPointer(variableSlots)
    }
  }

  /// The kind of a slot's value.
  @inlinable package func kind(of slot: Int) -> SlotKind {
    // The table is filled from `SlotKind` values, so the number is one of theirs.
    unsafeBitCast(UInt8(truncatingIfNeeded: entry(of: slot) >> 24), to: SlotKind.self)
  }

  /// The bytes between header and fixed values.
  var bitmapLength: Int { (slotCount + 7) / 8 }

  @inlinable @inline(__always) func entry(of slot: Int) -> UInt32 {
    precondition(slot >= 0 && slot < slotCount, "no such slot")
    return table[slot]
  }

  /// Bytes of a reference to an external value: the version that wrote it and its length.
  static let externalReferenceLength = 12
  /// Bytes of a decimal with 39 digits.
  static let longestDecimal = 23
}

// MARK: Signature

extension RowLayout {
  private static func signature(of slots: [Slot]) -> String {
    slots.map { slot in
      let renamed = slot.canonicalName == slot.name ? "" : "\t\(slot.canonicalName)"
      return "\(slot.kind.letter)\(slot.name)\(renamed)\n"
    }.joined()
  }

  /// Rebuilds a layout from its signature: per slot a line of the kind's letter, the name and, when there is
  /// one, a tab and the canonical name.
  ///
  /// - Throws: ``ModelError`` when the text is not a signature.
  package convenience init(signature: String) throws(ModelError) {
    try self.init(slots: try Self.slots(ofSignature: signature))
    guard self.signature == signature else { throw ModelError("The row layout is damaged.") }
  }

  /// The slots that a signature describes; nothing immortal is made of them.
  static func slots(ofSignature signature: String) throws(ModelError) -> [Slot] {
    guard signature.utf8.count <= 16_000_000 else { throw ModelError("The row layout is too long.") }
    var slots: [Slot] = []
    var names = Set<String>()
    for line in signature.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      let parts = line.dropFirst().split(separator: "\t", omittingEmptySubsequences: false)
      guard let letter = line.first, let kind = SlotKind(letter: letter), let name = parts.first,
        !name.isEmpty,
        parts.count <= 2, parts.last != "", names.insert(String(name)).inserted
      else { throw ModelError("Line \(slots.count + 1) of the row layout is damaged.") }
      slots.append(
        Slot(name: String(name), canonicalName: String(parts.last ?? name), kind: kind))
    }
    return slots
  }
}
