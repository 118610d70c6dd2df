import Foundation

/// Turns a resolved predicate into the instructions of a ``CompiledPredicate``.
///
/// Works from the back: the code of what follows is there before the code that jumps to it.
struct PredicateCompiler {
  var instructions: [CompiledPredicate.Instruction] = []
  var operands: [CompiledPredicate.Operand] = []
  var bytes: [UInt8] = []
  var values: [AttributeValue] = []
  var keySets: [[UInt64]] = []
  var texts: [TextTest] = []
  var related: [RelatedTest] = []
  var comparisons: [BoundComparison] = []
  var arithmetics: [ArithmeticTest] = []
  /// The slots that instructions look at, and those that comparisons look at beside them.
  var slots = SlotBitmap()
  let binder: ExpressionBinder
  let rootName: String

  init(rootName: String, binder: ExpressionBinder) {
    self.rootName = rootName
    self.binder = binder
  }

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
      append(identifiers, rootName)
      append(.identifier, 0, keySets.count - 1, onTrue, onFalse)
    case .reference(let test):
      slots.insert(test.slot)
      append(test.identifiers, test.rootName)
      append(.reference, test.slot, keySets.count - 1, onTrue, onFalse)
    case .text(let test):
      slots.insert(test.slot)
      texts.append(test)
      append(.text, test.slot, texts.count - 1, onTrue, onFalse)
    case .related(let number, _, let part):
      let relationship = binder.schema.relationships[number]
      if !relationship.isToMany { slots.insert(relationship.slot) }
      related.append(
        RelatedTest(relationship: relationship, program: binder.compile(part, relationship.destination)))
      append(.related, relationship.slot, related.count - 1, onTrue, onFalse)
    case .comparison(let comparison):
      if let test = ArithmeticTest(comparison) {
        slots.insert(test.slot)
        arithmetics.append(test)
        append(.arithmetic, test.slot, arithmetics.count - 1, onTrue, onFalse)
        break
      }
      comparisons.append(BoundComparison(comparison, binder))
      append(.comparison, 0, comparisons.count - 1, onTrue, onFalse)
    case .test(let test):
      slots.insert(test.slot)
      instructions.append(
        CompiledPredicate.Instruction(
          slot: Int32(test.slot), operation: test.operation, kind: .slot, onTrue: onTrue,
          onFalse: onFalse, firstOperand: Int32(operands.count), operandCount: Int32(test.operands.count)))
      for operand in test.operands { append(operand) }
    }
    return Int32(instructions.count - 1)
  }

  private mutating func append(
    _ kind: CompiledPredicate.Instruction.Kind, _ slot: Int, _ operand: Int, _ onTrue: Int32, _ onFalse: Int32
  ) {
    instructions.append(
      CompiledPredicate.Instruction(
        slot: Int32(slot), operation: .oneOf, kind: kind, onTrue: onTrue, onFalse: onFalse,
        firstOperand: Int32(operand), operandCount: 0))
  }

  private mutating func append(_ identifiers: [ManagedObjectID], _ rootName: String) {
    keySets.append(
      IdentifierKeys.of(identifiers, rootName: rootName, storeIdentifier: binder.storeIdentifier))
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
    case .selfIn, .reference: 4
    case .text(let test): test.operation == .matches ? 400 : 40
    case .related: 300
    case .comparison(let comparison):
      ArithmeticTest(comparison) != nil
        ? 3 : comparison.left.isLocal && comparison.right.isLocal ? 200 : 1_000
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
