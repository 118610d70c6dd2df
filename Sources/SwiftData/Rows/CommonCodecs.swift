import StrataCore

// The codecs of the commonest types, each written for its type: what is generic is looked up while the program runs, at every access.

extension AnyCodec {
  /// The codec of one of the commonest types.
  static func common(_ type: Any.Type) -> AnyCodec? {
    if type == String.self { return TextCodec() }
    if type == Int.self { return WholeNumberCodec() }
    if type == Int64.self { return LongNumberCodec() }
    if type == Double.self { return RealNumberCodec() }
    if type == Bool.self { return TruthCodec() }
    if type == Date.self { return MomentCodec() }
    return nil
  }
}

extension SlotValue {
  /// What a property shows that cannot be nil, where there is no value.
  @inline(never)
  static func shown(_ property: ModelProperty) -> Self {
    property.descriptor.defaultValue as? Self ?? absent
  }
}

private final class TextCodec: PropertyCodec<String> {
  override var isPlain: Bool { true }
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> String? {
    row.readString(slot: property.slot)
  }
  override func read(_ row: ModelRow, _ property: ModelProperty) -> String {
    row.readString(slot: property.slot) ?? String.shown(property)
  }
  override func writeOptional(_ value: String?, _ row: ModelRow, _ property: ModelProperty) {
    row.write(value, slot: property.slot)
  }
  override func write(_ value: String, _ row: ModelRow, _ property: ModelProperty) {
    row.write(value, slot: property.slot)
  }
  override func optional() -> AnyCodec { OptionalTextCodec() }
}

private final class OptionalTextCodec: PropertyCodec<String?> {
  override var isPlain: Bool { true }
  override func readAny(_ row: ModelRow, _ property: ModelProperty) -> Any? {
    row.readString(slot: property.slot)
  }
  override func read(_ row: ModelRow, _ property: ModelProperty) -> String? {
    row.readString(slot: property.slot)
  }
  override func write(_ value: String?, _ row: ModelRow, _ property: ModelProperty) {
    row.write(value, slot: property.slot)
  }
  override func writeNothing(_ row: ModelRow, _ property: ModelProperty) {
    row.write(nil as String?, slot: property.slot)
  }
}

private final class WholeNumberCodec: PropertyCodec<Int> {
  override var isPlain: Bool { true }
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Int? {
    Int.read(row, property.slot)
  }
  override func read(_ row: ModelRow, _ property: ModelProperty) -> Int {
    Int.read(row, property.slot) ?? Int.shown(property)
  }
  override func writeOptional(_ value: Int?, _ row: ModelRow, _ property: ModelProperty) {
    Int.write(value, row, property.slot)
  }
  override func write(_ value: Int, _ row: ModelRow, _ property: ModelProperty) {
    row.write(Int64(value), slot: property.slot)
  }
}

private final class LongNumberCodec: PropertyCodec<Int64> {
  override var isPlain: Bool { true }
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Int64? {
    row.readOptionalInt64(slot: property.slot)
  }
  override func read(_ row: ModelRow, _ property: ModelProperty) -> Int64 {
    row.readOptionalInt64(slot: property.slot) ?? Int64.shown(property)
  }
  override func writeOptional(_ value: Int64?, _ row: ModelRow, _ property: ModelProperty) {
    Int64.write(value, row, property.slot)
  }
  override func write(_ value: Int64, _ row: ModelRow, _ property: ModelProperty) {
    row.write(value, slot: property.slot)
  }
}

private final class RealNumberCodec: PropertyCodec<Double> {
  override var isPlain: Bool { true }
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Double? {
    row.readOptionalDouble(slot: property.slot)
  }
  override func read(_ row: ModelRow, _ property: ModelProperty) -> Double {
    row.readOptionalDouble(slot: property.slot) ?? Double.shown(property)
  }
  override func writeOptional(_ value: Double?, _ row: ModelRow, _ property: ModelProperty) {
    Double.write(value, row, property.slot)
  }
  override func write(_ value: Double, _ row: ModelRow, _ property: ModelProperty) {
    row.write(value, slot: property.slot)
  }
}

private final class TruthCodec: PropertyCodec<Bool> {
  override var isPlain: Bool { true }
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Bool? {
    row.readOptionalBool(slot: property.slot)
  }
  override func read(_ row: ModelRow, _ property: ModelProperty) -> Bool {
    row.readOptionalBool(slot: property.slot) ?? Bool.shown(property)
  }
  override func writeOptional(_ value: Bool?, _ row: ModelRow, _ property: ModelProperty) {
    Bool.write(value, row, property.slot)
  }
  override func write(_ value: Bool, _ row: ModelRow, _ property: ModelProperty) {
    row.write(value, slot: property.slot)
  }
}

private final class MomentCodec: PropertyCodec<Date> {
  override var isPlain: Bool { true }
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Date? {
    row.readDate(slot: property.slot)
  }
  override func read(_ row: ModelRow, _ property: ModelProperty) -> Date {
    row.readDate(slot: property.slot) ?? Date.shown(property)
  }
  override func writeOptional(_ value: Date?, _ row: ModelRow, _ property: ModelProperty) {
    row.write(value, slot: property.slot)
  }
  override func write(_ value: Date, _ row: ModelRow, _ property: ModelProperty) {
    row.write(value, slot: property.slot)
  }
}
