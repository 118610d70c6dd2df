import Foundation

/// Why bytes are no row, or values make none.
enum RowError: Error, Sendable, Hashable {
  // Decoding
  case tooShort(byteCount: Int)
  case tooLong(byteCount: Int)
  case unknownFormat(UInt8)
  case unknownFlags(UInt8)
  case wrongChecksum
  case wrongFixedLength(found: Int, expected: Int)
  case damagedNilBitmap
  case valueOutsideRow(slot: Int)
  case damagedValue(slot: Int)
  case incompatibleLayouts(slot: Int)
  // Encoding
  case wrongType(slot: Int)
  case valueTooLong(slot: Int, byteCount: Int, limit: Int)
}

extension RowError: CustomStringConvertible, LocalizedError {
  var description: String {
    switch self {
    case .tooShort(let count): "The row is cut off: \(count) bytes are too few."
    case .tooLong(let count): "The row has \(count) bytes, more than \(RowFormat.maximumRowLength)."
    case .unknownFormat(let format): "The row is in format \(format), which is not known."
    case .unknownFlags(let flags): "The row has unknown or contradictory flags (\(flags))."
    case .wrongChecksum: "The row's checksum does not match its bytes."
    case .wrongFixedLength(let found, let expected):
      "The row's fixed part has \(found) bytes where its layout has \(expected)."
    case .damagedNilBitmap: "The row's nil bitmap is damaged."
    case .valueOutsideRow(let slot): "The value in slot \(slot) lies outside the row."
    case .damagedValue(let slot): "The value in slot \(slot) is damaged."
    case .incompatibleLayouts(let slot): "The old row's value for slot \(slot) is of another type."
    case .wrongType(let slot): "The value for slot \(slot) is of the wrong type or out of range."
    case .valueTooLong(let slot, let count, let limit):
      "The value for slot \(slot) has \(count) bytes; the limit is \(limit)."
    }
  }

  var errorDescription: String? { description }
}

extension RowError {
  /// The slot of the value that it is about; nil when it is about the row.
  var slot: Int? {
    switch self {
    case .valueOutsideRow(let slot), .damagedValue(let slot), .incompatibleLayouts(let slot),
      .wrongType(let slot), .valueTooLong(let slot, _, _):
      slot
    case .tooShort, .tooLong, .unknownFormat, .unknownFlags, .wrongChecksum, .wrongFixedLength,
      .damagedNilBitmap:
      nil
    }
  }

  /// The same as `description`, with the names of entity and property for the number of a slot: what people read.
  ///
  /// - Parameter layout: The layout whose slots are meant; nil for the entity's own.
  func words(in entity: EntitySchema, _ layout: RowLayout? = nil) -> String {
    let slots = (layout ?? entity.layout).slots
    guard let slot, slots.indices.contains(slot) else { return description }
    let value = "The value of \(entity.name).\(slots[slot].name)"
    return switch self {
    case .valueOutsideRow: "\(value) lies outside the row."
    case .damagedValue: "\(value) is damaged."
    case .incompatibleLayouts: "\(value) in an older row is of another type."
    case .wrongType: "\(value) is of the wrong type or out of range."
    case .valueTooLong(_, let count, let limit): "\(value) has \(count) bytes; the limit is \(limit)."
    default: description
    }
  }
}
