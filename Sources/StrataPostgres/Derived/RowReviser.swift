import Foundation
import StrataCore

/// Makes rows that differ from others in some values. Used by one thread.
final class RowReviser {
  private let mapping: StoreMapping
  private var assembler = RowAssembler(expectedLength: 16_384)

  init(_ mapping: StoreMapping) { self.mapping = mapping }

  /// A row with other values, and the large values that come beside it: those of `externals` that stay, and those that do not fit into the row.
  func revised(
    _ base: RowSnapshot, of entity: EntitySchema, primaryKey: UInt64, version: UInt32,
    _ given: [Int: AttributeValue], externals: [ExternalValue]
  ) throws -> (row: RowSnapshot, externals: [ExternalValue]) {
    var values = [AttributeValue](repeating: .null, count: entity.layout.slotCount)
    var outside: [Int: OutsideValue] = [:]
    for slot in values.indices where entity.layout.kind(of: slot) != .transient {
      if let value = given[slot] {
        values[slot] = value
        continue
      }
      switch base.content(slot, of: entity) {
      case .value(let value): values[slot] = value
      case .outside(let value): outside[slot] = value
      }
    }
    let row = try assembler.row(
      of: entity, stamp: RowStamp(layoutNumber: 0, entityCode: mapping.codes[entity.number]),
      primaryKey: primaryKey, version: version, values: values, outside: outside)
    var large = externals.filter { given[$0.slot] == nil }
    for slot in values.indices where outside[slot] == nil {
      guard let bytes = Self.bytes(values[slot]), case .outside = row.content(slot, of: entity) else {
        continue
      }
      large.append(ExternalValue(slot: slot, bytes: bytes))
    }
    return (row, large)
  }

  /// The bytes of a value that may lie outside of its row.
  static func bytes(_ value: AttributeValue) -> Data? {
    switch value {
    case .string(let text): Data(text.utf8)
    case .url(let url): Data(url.absoluteString.utf8)
    case .data(let data): data
    default: nil
    }
  }
}

extension RowChange {
  /// The value of a slot; nil for a large one that the change does not bring along: it stays what it is.
  func value(_ slot: Int, of entity: EntitySchema) -> AttributeValue? {
    if case .value(let value) = row.content(slot, of: entity) { return value }
    guard let external = externals.first(where: { $0.slot == slot }) else { return nil }
    return external.value(as: entity.layout.kind(of: slot)) ?? .null
  }
}
