import Foundation

/// Turns a resolved predicate into the instructions of a ``CompiledPredicate``.
///
/// Works from the back: the code of what follows is there before the code that jumps to it.
struct PredicateCompiler {
  var instructions: [CompiledPredicate.Instruction] = []
  var operands: [CompiledPredicate.Operand] = []
  var bytes: [UInt8] = []
  var values: [AttributeValue] = []
  var identifierSets: [[ManagedObjectID]] = []
  var slots = SlotBitmap()

  /// Appends the code of `predicate` and returns where it begins.
  mutating func compile(_ predicate: ResolvedPredicate, onTrue: Int32, onFalse: Int32) -> Int32 {
    switch predicate {
    case .all: return onTrue
    case .none: return onFalse
    case .not(let part): return compile(part, onTrue: onFalse, onFalse: onTrue)
    case .and(let parts):
      return Self.cheapestLast(parts).reduce(onTrue) { compile($1, onTrue: $0, onFalse: onFalse) }
    case .or(let parts):
      return Self.cheapestLast(parts).reduce(onFalse) { compile($1, onTrue: onTrue, onFalse: $0) }
    case .selfIn(let identifiers):
      identifierSets.append(identifiers)
      instructions.append(
        CompiledPredicate.Instruction(
          slot: 0, operation: .oneOf, isIdentifierTest: true, onTrue: onTrue, onFalse: onFalse,
          firstOperand: Int32(identifierSets.count - 1), operandCount: 0))
    case .test(let test):
      slots.insert(test.slot)
      instructions.append(
        CompiledPredicate.Instruction(
          slot: Int32(test.slot), operation: test.operation, isIdentifierTest: false, onTrue: onTrue,
          onFalse: onFalse, firstOperand: Int32(operands.count), operandCount: Int32(test.operands.count)))
      for operand in test.operands { append(operand) }
    }
    return Int32(instructions.count - 1)
  }

  private mutating func append(_ value: AttributeValue) {
    values.append(value)
    var operand = CompiledPredicate.Operand(bits: 0, start: Int32(bytes.count), count: 0)
    switch value {
    case .null, .decimal: break
    case .integer(let number): operand.bits = UInt64(bitPattern: number)
    case .reference(let bits): operand.bits = bits
    case .boolean(let flag): operand.bits = flag ? 1 : 0
    case .double(let number): operand.bits = number.bitPattern
    case .float(let number): operand.bits = Double(number).bitPattern
    case .date(let date): operand.bits = date.timeIntervalSinceReferenceDate.bitPattern
    case .string(let string): bytes += string.utf8
    case .url(let url): bytes += url.absoluteString.utf8
    case .data(let data): bytes += data
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { bytes += $0 }
    }
    operand.count = Int32(bytes.count) - operand.start
    operands.append(operand)
  }

  private static func cheapestLast(_ parts: [ResolvedPredicate]) -> [ResolvedPredicate] {
    let costs = parts.map(cost)
    return parts.indices.sorted { (costs[$0], $0) > (costs[$1], $1) }.map { parts[$0] }
  }

  private static func cost(_ predicate: ResolvedPredicate) -> Int {
    switch predicate {
    case .all, .none: 0
    case .not(let part): cost(part)
    case .and(let parts), .or(let parts): parts.reduce(0) { $0 + cost($1) }
    case .selfIn: 4
    case .test(let test):
      switch (test.operation, test.type) {
      case (.isNil, _): 1
      case (.contains, _): 30
      case (_, .decimal): 40
      case (_, .string), (_, .uri), (_, .binaryData): test.operation == .oneOf ? 12 : 6
      default: test.operation == .oneOf ? 6 : 2
      }
    }
  }
}
