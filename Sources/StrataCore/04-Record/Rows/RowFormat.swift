// The bytes of a row, format 1. Little-endian, unaligned.
//
//   offset  width  field
//        0      4  checksum of the bytes from 4 on and of the primary key (RowChecksum)
//        4      1  format = 1
//        5      1  flags (bit 0: the row has external values; the others are 0)
//        6      2  layout number, given by the store
//        8      2  entity code, given by the store
//       10      2  length of the fixed part (= RowLayout.fixedEnd)
//       12      4  row version, counting the saves of this object from 1
//       16      n  nil bitmap, n = ⌈slots/8⌉; bit set = nil; transient slots and unused bits: set, 0
//     16+n         fixed values by descending width (16, 8, 4, 2, 1), slots of one width in slot order
//                    16  uuid
//                     8  int64, double, date (double: seconds since 2001)
//                     4  int32, float; string, data, url, decimal: u16 offset from the row's start, u16 length
//                     2  int16
//                     1  boolean (0, 1)
//                  the bytes of a nil value are 0, so scalars of nil read as 0 and false (rule 345)
// fixedEnd         variable tail: the bytes of string (UTF-8), data, url (absolute string, UTF-8) and decimal
//                  (DecimalBytes) values, in slot order without gaps
//
// A length of 0xFFFF marks an external value: in the tail lie 4 bytes version (the version of the row that
// wrote it) and 8 bytes byte count; the bytes themselves are in the store's keyspace of large values.
// A row is at most 60,000 bytes. Values over 1,024 bytes are external; while the row is still too long, so is
// its longest other value.

/// The numbers of the row format.
enum RowFormat {
  static let format: UInt8 = 1
  static let hasExternalValues: UInt8 = 1
  static let maximumRowLength = RowLayout.maximumRowLength
  /// What a row may have that is read through another layout and not stored: all of it can be pointed at.
  static let longestInMemory = Int(UInt16.max)
  static let maximumInlineLength = 1_024
  static let externalLength: UInt16 = 0xFFFF
  static let externalReferenceLength = RowLayout.externalReferenceLength
  static let headerLength = RowLayout.bitmapOffset
  /// The default of what a single value may take.
  static let maximumValueLength = 1 << 30
}

/// The store's numbers for a row's layout and entity.
package struct RowStamp: Sendable, Hashable {
  /// The store's number of the row's layout.
  package var layoutNumber: UInt16
  /// The store's number of the row's entity.
  package var entityCode: UInt16

  /// The stamp with these numbers.
  package init(layoutNumber: UInt16, entityCode: UInt16) {
    self.layoutNumber = layoutNumber
    self.entityCode = entityCode
  }
}

/// Where an external value is to be found, besides the row's primary key and the slot.
struct ExternalReference: Sendable, Hashable {
  /// The version of the row that wrote the value.
  var version: UInt32
  /// How long the value is.
  var byteCount: UInt64
}
