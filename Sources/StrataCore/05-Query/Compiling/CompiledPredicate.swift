import Foundation

/// A predicate as a program of tests with two exits each.
///
/// ```
///   origin == "JFK" AND (distance > 500 OR carrier == nil)
///
///   0: origin == "JFK"   true → 1        false → reject
///   1: distance > 500    true → accept   false → 2
///   2: carrier == nil    true → accept   false → reject
/// ```
///
/// Running it is a loop: no recursion, no allocation, no values made of the row's bytes. The same program runs
/// on encoded rows and on the values of objects in memory, so that a context's unsaved changes match exactly as
/// they would if they were saved. Cheap tests run before dear ones.
final class CompiledPredicate: @unchecked Sendable {
  // Unchecked: the buffers are written by `init` only.

  /// One test. Negative exits end the program.
  struct Instruction {
    /// What is tested, and where its operands are.
    enum Kind: UInt8 {
      /// The value of a slot: `operands`.
      case slot
      /// The object itself: `keySets`.
      case identifier
      /// What a to-one relationship leads to: `keySets`.
      case reference
      /// A text with options: `texts`.
      case text
      /// The other end of a relationship: `related`.
      case related
      /// Two expressions: `comparisons`.
      case comparison
      /// What a slot's value and a number make: `arithmetics`.
      case arithmetic
    }

    var slot: Int32
    var operation: SlotTest.Operation
    var kind: Kind
    var onTrue: Int32
    var onFalse: Int32
    /// The operands' places in `operands`, or the place in what the kind says.
    var firstOperand: Int32
    var operandCount: Int32
  }

  /// An operand in the form rows hold it: a number's bits, or bytes in `bytes`.
  struct Operand {
    var bits: UInt64
    var start: Int32
    var count: Int32
  }

  static let accept: Int32 = -1
  static let reject: Int32 = -2

  /// Where the program begins; `accept` or `reject` when it has no tests.
  let start: Int32
  let instructions: UnsafeMutableBufferPointer<Instruction>
  let operands: UnsafeMutableBufferPointer<Operand>
  let bytes: UnsafeMutableRawBufferPointer
  /// The operands once more, for objects in memory.
  let values: [AttributeValue]
  /// For each set of identifiers the primary keys of the hierarchy in the store the program was made for, ascending.
  let keySets: [[UInt64]]
  let texts: [TextTest]
  let related: [RelatedTest]
  let comparisons: [BoundComparison]
  let arithmetics: [ArithmeticTest]
  /// Whether values of the one row decide the predicate, and its text tests need no value twice: no relationship is followed and
  /// no expression evaluated but an arithmetic one.
  let isLocal: Bool
  /// What was compiled.
  let source: ResolvedPredicate
  /// The slots the program's own tests look at.
  let slots: SlotBitmap

  /// Compiles `predicate`. Rows are only ever evaluated of the store and hierarchy given here.
  init(_ predicate: ResolvedPredicate, rootName: String, storeIdentifier: UUID?, schema: Schema) {
    var compiler = PredicateCompiler(
      rootName: rootName,
      binder: ExpressionBinder(schema: schema, storeIdentifier: storeIdentifier, rootName: rootName))
    start = compiler.compile(predicate, onTrue: Self.accept, onFalse: Self.reject)
    instructions = .allocate(capacity: compiler.instructions.count)
    _ = instructions.initialize(from: compiler.instructions)
    operands = .allocate(capacity: compiler.operands.count)
    _ = operands.initialize(from: compiler.operands)
    bytes = .allocate(byteCount: max(1, compiler.bytes.count), alignment: 8)
    bytes.copyBytes(from: compiler.bytes)
    values = compiler.values
    keySets = compiler.keySets
    texts = compiler.texts
    related = compiler.related
    comparisons = compiler.comparisons
    arithmetics = compiler.arithmetics
    isLocal = related.isEmpty && comparisons.isEmpty
    slots = compiler.slots
    source = predicate
  }

  deinit {
    instructions.deallocate()
    operands.deallocate()
    bytes.deallocate()
  }

  /// Follows the exits from test to test.
  @inline(__always)
  func run(_ isTrue: (Instruction) throws -> Bool) rethrows -> Bool {
    var place = start
    while place >= 0 {
      let instruction = instructions[Int(place)]
      place = try isTrue(instruction) ? instruction.onTrue : instruction.onFalse
    }
    return place == Self.accept
  }

  /// Whether a row satisfies the predicate, which must be local, by values found elsewhere.
  func evaluate(primaryKey: UInt64, value: (_ slot: Int) -> AttributeValue) throws -> Bool {
    try run { instruction in
      let operand = Int(instruction.firstOperand)
      switch instruction.kind {
      case .slot: return test(instruction, value(Int(instruction.slot)))
      case .identifier: return IdentifierKeys.contains(keySets[operand], primaryKey)
      case .reference: return isReference(value(Int(instruction.slot)), to: operand)
      case .text: return try texts[operand].matches(value(Int(instruction.slot)))
      case .arithmetic: return arithmetics[operand].isTrue(value(Int(instruction.slot)))
      case .related, .comparison: trap("a predicate on other objects was evaluated without them")
      }
    }
  }

  /// Whether a value refers to one of a set of objects.
  func isReference(_ value: AttributeValue, to set: Int) -> Bool {
    guard case .reference(let bits) = value, bits != 0 else { return false }
    return IdentifierKeys.contains(keySets[set], Reference.primaryKey(bits))
  }

  /// One test on a value.
  func test(_ instruction: Instruction, _ value: AttributeValue) -> Bool {
    if case .null = value { return instruction.operation == .isNil }
    let first = Int(instruction.firstOperand)
    switch instruction.operation {
    case .isNil: return false
    case .equal: return AttributeValue.compare(value, values[first]) == 0
    case .less: return AttributeValue.compare(value, values[first]) < 0
    case .lessOrEqual: return AttributeValue.compare(value, values[first]) <= 0
    case .greater: return AttributeValue.compare(value, values[first]) > 0
    case .greaterOrEqual: return AttributeValue.compare(value, values[first]) >= 0
    case .oneOf:
      return Self.search(count: Int(instruction.operandCount)) {
        AttributeValue.compare(value, values[first + $0])
      }
    case .beginsWith, .contains, .endsWith:
      guard case .string(var string) = value else { return false }
      return string.withUTF8 {
        match(instruction.operation, UnsafeRawBufferPointer($0), operandBytes(first))
      }
    }
  }

  /// The bytes of an operand that is no number.
  @inline(__always)
  func operandBytes(_ index: Int) -> UnsafeRawBufferPointer {
    let operand = operands[index]
    return UnsafeRawBufferPointer(rebasing: bytes[Int(operand.start)..<Int(operand.start + operand.count)])
  }

  /// The string operators, by bytes.
  func match(
    _ operation: SlotTest.Operation, _ subject: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer
  ) -> Bool {
    guard subject.count >= pattern.count else { return false }
    // Patterns are never empty (the resolver turns those into FALSE), so neither base is nil here.
    guard let haystack = subject.baseAddress, let needle = pattern.baseAddress else { return false }
    switch operation {
    case .beginsWith: return memcmp(haystack, needle, pattern.count) == 0
    case .endsWith:
      return memcmp(haystack + (subject.count - pattern.count), needle, pattern.count) == 0
    default: return TextSearch.find(pattern, in: subject) != nil
    }
  }

  /// Binary search among ascending operands.
  @inline(__always)
  static func search(count: Int, _ order: (Int) -> Int) -> Bool {
    let place = (0..<count).partitioningIndex { order($0) <= 0 }
    return place < count && order(place) == 0
  }
}

extension CompiledPredicate: CustomStringConvertible {
  var description: String { source.description }
}

/// The primary keys among object identifiers.
enum IdentifierKeys {
  /// The keys of those identifiers that belong to the hierarchy and the store, ascending, each once.
  static func of(_ identifiers: [ManagedObjectID], rootName: String, storeIdentifier: UUID?) -> [UInt64] {
    guard let storeIdentifier else { return [] }
    var keys: [UInt64] = []
    for identifier in identifiers {
      let hierarchy = identifier.token.hierarchy
      if hierarchy.storeIdentifier == storeIdentifier, hierarchy.rootName == rootName {
        keys.append(identifier.primaryKey)
      }
    }
    keys.sort()
    var distinct: [UInt64] = []
    distinct.reserveCapacity(keys.count)
    for key in keys where distinct.last != key { distinct.append(key) }
    return distinct
  }

  /// Whether ascending `keys` contain `key`.
  static func contains(_ keys: [UInt64], _ key: UInt64) -> Bool {
    CompiledPredicate.search(count: keys.count) { key < keys[$0] ? -1 : key == keys[$0] ? 0 : 1 }
  }
}
