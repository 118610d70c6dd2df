import Foundation

// The program on encoded rows. The byte picture is that of floor 4; rows have been validated before.

extension CompiledPredicate {
  /// Whether a row satisfies the predicate.
  ///
  /// - Parameters:
  ///   - row: The row's first byte; the row is valid, as far as the program looks at it.
  ///   - table: The table of the row's layout.
  ///   - large: Reads the value of a slot whose bytes lie outside the row.
  ///   - other: Decides a test that the row alone does not: of a relationship, of expressions, of a text.
  @inline(__always)
  func evaluate(
    row: UnsafeRawPointer, table: UnsafePointer<UInt32>, primaryKey: UInt64,
    large: (_ slot: Int) throws -> AttributeValue,
    other: (_ instruction: Instruction) throws -> Bool
  ) rethrows -> Bool {
    try run { instruction in
      switch instruction.kind {
      case .slot: return try test(instruction, row, table, large)
      case .identifier: return IdentifierKeys.contains(keySets[Int(instruction.firstOperand)], primaryKey)
      case .reference:
        // The bytes of a nil reference are 0, and no object has the key 0.
        let bits = RowBytes.reference(row, table[Int(instruction.slot)])
        return bits != 0
          && IdentifierKeys.contains(keySets[Int(instruction.firstOperand)], Reference.primaryKey(bits))
      case .arithmetic:
        let test = arithmetics[Int(instruction.firstOperand)]
        if RowBytes.isNil(row, test.slot) { return test.isTrue(.null) }
        return try test.isTrue(row: row, table[test.slot], large: large)
      default: return try other(instruction)
      }
    }
  }

  /// The same for a program all of whose tests one row decides, none of them of a text with options.
  @inline(__always)
  func evaluate(
    row: UnsafeRawPointer, table: UnsafePointer<UInt32>, primaryKey: UInt64,
    large: (_ slot: Int) throws -> AttributeValue
  ) rethrows -> Bool {
    try evaluate(
      row: row, table: table, primaryKey: primaryKey, large: large,
      other: { _ in trap("the program looks at more than one row") })
  }

  @inline(__always)
  private func test(
    _ instruction: Instruction, _ row: UnsafeRawPointer, _ table: UnsafePointer<UInt32>,
    _ large: (_ slot: Int) throws -> AttributeValue
  ) rethrows -> Bool {
    let slot = Int(instruction.slot)
    if RowBytes.isNil(row, slot) { return instruction.operation == .isNil }
    if instruction.operation == .isNil { return false }
    let entry = table[slot]
    switch RowBytes.kind(entry) {
    case .int64:
      return compare(instruction) { Self.order(RowBytes.int64(row, entry), Int64(bitPattern: $0.bits)) }
    case .int32:
      return compare(instruction) {
        Self.order(Int64(RowBytes.int32(row, entry)), Int64(bitPattern: $0.bits))
      }
    case .int16:
      return compare(instruction) {
        Self.order(Int64(RowBytes.int16(row, entry)), Int64(bitPattern: $0.bits))
      }
    case .reference:
      return compare(instruction) { Self.order(RowBytes.reference(row, entry), $0.bits) }
    case .boolean:
      return compare(instruction) {
        Self.order(RowBytes.boolean(row, entry) ? 1 : 0 as Int64, Int64($0.bits))
      }
    case .double, .date:
      return compare(instruction) {
        Self.order(RowBytes.double(row, entry), Double(bitPattern: $0.bits))
      }
    case .float:
      return compare(instruction) {
        Self.order(Double(RowBytes.float(row, entry)), Double(bitPattern: $0.bits))
      }
    case .uuid:
      let value = UnsafeRawBufferPointer(start: row + RowBytes.offset(entry), count: 16)
      return compare(instruction) { Self.order(value, bytes, $0) }
    case .string, .data, .url:
      if RowBytes.isExternal(row, entry) { return test(instruction, try large(slot)) }
      return testBytes(instruction, RowBytes.variable(row, entry))
    case .decimal:
      let value = RowBytes.decimal(row, entry).map { AttributeValue.decimal($0) }
      return test(instruction, try value ?? large(slot))
    case .transient:
      return test(instruction, .null)
    }
  }

  @inline(__always)
  private func testBytes(_ instruction: Instruction, _ value: UnsafeRawBufferPointer) -> Bool {
    switch instruction.operation {
    case .equal:
      let operand = operands[Int(instruction.firstOperand)]
      guard value.count == Int(operand.count) else { return false }
      guard let base = value.baseAddress, let other = bytes.baseAddress else { return true }
      return memcmp(base, other + Int(operand.start), value.count) == 0
    case .beginsWith, .contains, .endsWith:
      return match(instruction.operation, value, operandBytes(Int(instruction.firstOperand)))
    default: return compare(instruction) { Self.order(value, bytes, $0) }
    }
  }

  /// Applies an operation of order, given how the row's value lies to an operand.
  @inline(__always)
  private func compare(_ instruction: Instruction, _ order: (Operand) -> Int) -> Bool {
    let first = Int(instruction.firstOperand)
    switch instruction.operation {
    case .equal: return order(operands[first]) == 0
    case .less: return order(operands[first]) < 0
    case .lessOrEqual: return order(operands[first]) <= 0
    case .greater: return order(operands[first]) > 0
    case .greaterOrEqual: return order(operands[first]) >= 0
    case .oneOf:
      return Self.search(count: Int(instruction.operandCount)) { order(operands[first + $0]) }
    case .isNil, .beginsWith, .contains, .endsWith: return false
    }
  }

  @inline(__always)
  private static func order<Word: FixedWidthInteger>(_ left: Word, _ right: Word) -> Int {
    left < right ? -1 : left == right ? 0 : 1
  }

  /// NaN is the same as NaN and above everything else, as in `AttributeValue.compare`.
  @inline(__always)
  private static func order(_ left: Double, _ right: Double) -> Int {
    if left < right { return -1 }
    if left == right { return 0 }
    if left > right { return 1 }
    return (left.isNaN ? 1 : 0) - (right.isNaN ? 1 : 0)
  }

  @inline(__always)
  private static func order(
    _ left: UnsafeRawBufferPointer, _ bytes: UnsafeMutableRawBufferPointer, _ operand: Operand
  ) -> Int {
    let common = min(left.count, Int(operand.count))
    if common > 0, let base = left.baseAddress, let other = bytes.baseAddress {
      let result = memcmp(base, other + Int(operand.start), common)
      if result != 0 { return Int(result) }
    }
    return left.count - Int(operand.count)
  }
}
