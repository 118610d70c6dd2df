import Foundation

/// What an expression has come to: one value, or the values of many objects.
enum EvaluatedValue {
  case one(AttributeValue)
  case many([AttributeValue])

  /// The one value; null for many.
  var single: AttributeValue {
    if case .one(let value) = self { return value }
    return .null
  }

  var all: [AttributeValue] {
    switch self {
    case .one(let value): [value]
    case .many(let values): values
    }
  }
}

/// Evaluates expressions and predicates for one object after the other.
///
/// Keeps what it has found out about objects that others refer to, so that a million rows which refer to a thousand look at each
/// of them once: an evaluation sees one state of its view and must not outlive it. Used by one thread.
final class Evaluation<View: ObjectView> {
  let view: View
  /// What `now()` is.
  let now: Date
  /// For messages.
  let entityName: String
  private var scopes: ContiguousArray<View.Node> = []
  private var memos: ContiguousArray<(test: ObjectIdentifier, memo: KeyMemo)> = []
  private var tupleMemos: [ObjectIdentifier: TupleMemo] = [:]

  init(_ view: View, now: Date = Date(), entityName: String = "") {
    self.view = view
    self.now = now
    self.entityName = entityName
  }

  /// The value of an expression for an object: one value, or those of many objects.
  func evaluate(_ expression: BoundExpression, for node: View.Node) throws -> EvaluatedValue {
    try inScope(node) { try value(expression) }
  }

  /// Whether an object satisfies a predicate.
  func matches(_ program: CompiledPredicate, _ node: View.Node) throws -> Bool {
    if program.isLocal { return try view.matches(program, node, self) }
    return try inScope(node) { try view.matches(program, node, self) }
  }

  @inline(__always)
  private func inScope<R>(_ node: View.Node, _ body: () throws -> R) rethrows -> R {
    scopes.append(node)
    defer { scopes.removeLast() }
    return try body()
  }

  private func scope(_ up: Int) -> View.Node { scopes[scopes.count - 1 - up] }

  // MARK: Predicates

  /// Whether the object of a relationship, or one of its members, satisfies a test. `node` is the innermost scope.
  func matches(_ test: RelatedTest, _ node: View.Node) throws -> Bool {
    if test.relationship.isToMany { return try count(test, node, atMost: 1) > 0 }
    guard case .reference(let bits) = try view.value(node, test.relationship.slot), bits != 0 else {
      return false
    }
    return try matches(test, bits)
  }

  /// Whether what a reference leads to satisfies a test. The innermost scope is what it leads from.
  func matches(_ test: RelatedTest, _ bits: UInt64) throws -> Bool {
    try matches(test.test, bits, test.relationship.destinationHierarchy)
  }

  private func matches(_ test: ObjectTest, _ bits: UInt64, _ hierarchy: Int) throws -> Bool {
    guard test.isIndependent else { return try matchesAmongOthers(test, bits, hierarchy) }
    let memo = memo(for: test)
    let key = Reference.primaryKey(bits)
    if let known = memo[key] { return known }
    guard let target = try view.node(bits, hierarchy: hierarchy) else { return false }
    let isTrue = try matches(test.program, target)
    memo.note(key, isTrue)
    return isTrue
  }

  /// The same for a test that depends on objects outside of it: what was found is remembered for each combination of these, so that
  /// sub-queries in sub-queries cost as much as there are combinations, not paths.
  private func matchesAmongOthers(_ test: ObjectTest, _ bits: UInt64, _ hierarchy: Int) throws -> Bool {
    guard test.isDear else {
      guard let target = try view.node(bits, hierarchy: hierarchy) else { return false }
      return try matches(test.program, target)
    }
    let key =
      [Reference.primaryKey(bits)] + test.outerScopes.map { Reference.primaryKey(view.reference(scope($0))) }
    let memo = tupleMemos[ObjectIdentifier(test)] ?? TupleMemo()
    tupleMemos[ObjectIdentifier(test)] = memo
    if let known = memo[key] { return known }
    guard let target = try view.node(bits, hierarchy: hierarchy) else { return false }
    let isTrue = try matches(test.program, target)
    memo[key] = isTrue
    return isTrue
  }

  /// How many members satisfy a test, counting no further than `atMost`.
  func count(_ test: RelatedTest, _ node: View.Node, atMost: Int = .max) throws -> Int {
    if test.program.start == CompiledPredicate.accept { return try view.memberCount(node, test.relationship) }
    if let count = try view.matchingCount(test, node, atMost: atMost, self) { return count }
    var count = 0
    for member in try view.members(node, test.relationship) where try matches(test, member) {
      count += 1
      if count == atMost { break }
    }
    return count
  }

  private func memo(for test: ObjectTest) -> KeyMemo {
    let key = ObjectIdentifier(test)
    for entry in memos where entry.test == key { return entry.memo }
    let memo = KeyMemo()
    memos.append((key, memo))
    return memo
  }

  func isTrue(_ comparison: BoundComparison) throws -> Bool {
    let left =
      comparison.quantifier == .direct
      ? try value(comparison.left) : try distinctValues(comparison.left)
    let right = try value(comparison.right)
    switch comparison.quantifier {
    case .direct:
      if case .many(let values) = left {
        // Only `CONTAINS` compares a list as a whole.
        if let texts = comparison.foldedTexts { return texts.contains(right.single) }
        return values.contains { ComparedValues.isEqual($0, right.single, comparison.options) }
      }
      return try isTrue(comparison, left.single, right)
    case .any: return try left.all.contains { try isTrue(comparison, $0, right) }
    case .all: return try left.all.allSatisfy { try isTrue(comparison, $0, right) }
    }
  }

  private func isTrue(_ comparison: BoundComparison, _ left: AttributeValue, _ right: EvaluatedValue) throws
    -> Bool
  {
    switch comparison.operation {
    case .in:
      if let texts = comparison.foldedTexts { return texts.contains(left) }
      if case .one(.string(let text)) = right {
        return try ComparedValues.isTrue(.string(text), .contains, left, comparison.options)
      }
      return right.all.contains { ComparedValues.isEqual(left, $0, comparison.options) }
    case .between:
      let bounds = right.all
      guard bounds.count == 2 else { return false }
      return ComparedValues.isOrdered(bounds[0], left, comparison.options, orSame: true)
        && ComparedValues.isOrdered(left, bounds[1], comparison.options, orSame: true)
    default:
      if let matcher = comparison.matcher {
        guard case .string(let text) = left else { return false }
        return try matcher.matches(text)
      }
      return try ComparedValues.isTrue(left, comparison.operation, right.single, comparison.options)
    }
  }

  // MARK: Expressions

  func value(_ expression: BoundExpression) throws -> EvaluatedValue {
    switch expression {
    case .constant(let value): return .one(value)
    case .values(let values): return .many(values)
    case .list(let parts): return .many(try parts.map { try value($0).single })
    case .object(let up): return .one(.reference(view.reference(scope(up))))
    case .entityName(let base, let hierarchy): return try entityNames(base, hierarchy)
    case .path(.object(let up), _, let steps, let slot): return try follow(scope(up), steps[...], slot)
    case .path(let base, let hierarchy, let steps, let slot):
      return try follow(value(base), hierarchy, steps, slot)
    case .aggregate(let aggregate, let base, let zero): return .one(try aggregated(aggregate, base, zero))
    case .memberCount(let owner, let hierarchy, let relationship):
      return try counted(owner, hierarchy, relationship)
    case .matchingCount(let owner, let hierarchy, let test): return try counted(owner, hierarchy, test)
    case .filtered(let base, let hierarchy, let test): return try filtered(base, hierarchy, test)
    case .function(.now, _): return .one(.date(now))
    case .function(.distinct, let arguments): return .many(try distinct(arguments))
    case .function(let function, let arguments): return try called(function, arguments)
    case .cast(let base, let type): return .one(FunctionValue.cast(try value(base).single, to: type))
    case .conditional(let predicate, let first, let second):
      return try value(isTrueHere(predicate) ? first : second)
    }
  }

  // Each kind in a function of its own: what recurses needs little stack so.

  private func entityNames(_ base: BoundExpression, _ hierarchy: Int) throws -> EvaluatedValue {
    if case .object(let up) = base { return .one(.string(view.entityName(scope(up)))) }
    func name(_ value: AttributeValue) throws -> AttributeValue? {
      guard case .reference(let bits) = value, bits != 0, let node = try view.node(bits, hierarchy: hierarchy)
      else { return nil }
      return .string(view.entityName(node))
    }
    switch try value(base) {
    case .one(let value): return .one(try name(value) ?? .null)
    case .many(let values): return .many(try values.compactMap(name))
    }
  }

  private func distinct(_ arguments: [BoundExpression]) throws -> [AttributeValue] {
    var seen = ValueTable()
    var result: [AttributeValue] = []
    for argument in arguments {
      for value in try value(argument).all where seen.isNew(value) { result.append(value) }
    }
    return result
  }

  private func called(_ function: FetchFunction, _ arguments: [BoundExpression]) throws -> EvaluatedValue {
    var values: [AttributeValue] = []
    for argument in arguments { values.append(try value(argument).single) }
    return .one(FunctionValue.value(function, values))
  }

  private func isTrueHere(_ predicate: CompiledPredicate) throws -> Bool {
    scopes.isEmpty ? try predicate.evaluate(self, nil) : try view.matches(predicate, scope(0), self)
  }

  private func counted(_ owner: BoundExpression, _ hierarchy: Int, _ relationship: RelationshipSchema) throws
    -> EvaluatedValue
  {
    guard let node = try node(owner, hierarchy) else { return .one(.integer(0)) }
    return .one(.integer(Int64(try view.memberCount(node, relationship))))
  }

  private func counted(_ owner: BoundExpression, _ hierarchy: Int, _ test: RelatedTest) throws
    -> EvaluatedValue
  {
    guard let node = try node(owner, hierarchy) else { return .one(.integer(0)) }
    return .one(.integer(Int64(try count(test, node))))
  }

  private func filtered(_ base: BoundExpression, _ hierarchy: Int, _ test: ObjectTest) throws
    -> EvaluatedValue
  {
    var kept: [AttributeValue] = []
    for case .reference(let bits) in try value(base).all where try matches(test, bits, hierarchy) {
      kept.append(.reference(bits))
    }
    return .many(kept)
  }

  private func aggregated(_ aggregate: FetchAggregate, _ base: BoundExpression, _ zero: AttributeValue) throws
    -> AttributeValue
  {
    var accumulator = AggregateAccumulator(aggregate, zero: zero)
    for value in try value(base).all { accumulator.add(value) }
    if accumulator.isTooLarge {
      throw FetchError(reason: .overflow("A sum"), entityName: entityName, key: nil)
    }
    return accumulator.result
  }

  private func node(_ expression: BoundExpression, _ hierarchy: Int) throws -> View.Node? {
    if case .object(let up) = expression { return scope(up) }
    guard case .one(.reference(let bits)) = try value(expression), bits != 0 else { return nil }
    return try view.node(bits, hierarchy: hierarchy)
  }

  private func follow(
    _ base: EvaluatedValue, _ hierarchy: Int, _ steps: [RelationshipSchema], _ slot: Int?
  ) throws -> EvaluatedValue {
    if case .one(let value) = base {
      guard case .reference(let bits) = value, let node = try view.node(bits, hierarchy: hierarchy) else {
        return Self.nothing(steps[...])
      }
      return try follow(node, steps[...], slot)
    }
    var result: [AttributeValue] = []
    for case .reference(let bits) in base.all {
      guard let node = try view.node(bits, hierarchy: hierarchy) else { continue }
      result += try follow(node, steps[...], slot).all
      if steps.contains(where: \.isToMany) { try checkCount(result.count) }
    }
    return .many(result)
  }

  /// More values than this of a key path through several to-many relationships, for one object, are an error: there are as many as
  /// products of members.
  private static var mostValues: Int { 1 << 21 }

  private func checkCount(_ count: Int) throws {
    if count <= Self.mostValues { return }
    throw FetchError(
      reason: .unsupported(
        "a key path through several to-many relationships stands for more than \(Self.mostValues) values of one object"
      ),
      entityName: entityName, key: nil)
  }

  private func follow(_ node: View.Node, _ steps: ArraySlice<RelationshipSchema>, _ slot: Int?) throws
    -> EvaluatedValue
  {
    guard let step = steps.first else {
      guard let slot else { return .one(.reference(view.reference(node))) }
      return .one(try view.value(node, slot))
    }
    let rest = steps.dropFirst()
    if step.isToMany {
      let members = try view.members(node, step)
      if rest.isEmpty, slot == nil { return .many(members.map { .reference($0) }) }
      var result: [AttributeValue] = []
      for member in members {
        guard let target = try view.node(member, hierarchy: step.destinationHierarchy) else { continue }
        result += try follow(target, rest, slot).all
        if rest.contains(where: \.isToMany) { try checkCount(result.count) }
      }
      return .many(result)
    }
    guard case .reference(let bits) = try view.value(node, step.slot), bits != 0 else {
      return Self.nothing(rest)
    }
    if rest.isEmpty, slot == nil { return .one(.reference(bits)) }
    guard let target = try view.node(bits, hierarchy: step.destinationHierarchy) else {
      return Self.nothing(rest)
    }
    return try follow(target, rest, slot)
  }

  /// The values for which it does not matter how often they are there: through several to-many relationships there are as many ways
  /// to an object as products of members, and each object is looked at once.
  private func distinctValues(_ expression: BoundExpression) throws -> EvaluatedValue {
    guard case .path(.object(let up), _, let steps, let slot) = expression,
      steps.count(where: \.isToMany) > 1
    else { return try value(expression) }
    var nodes = [scope(up)]
    var result: [AttributeValue] = []
    for (place, step) in steps.enumerated() {
      let rest = steps[(place + 1)...]
      let isLast = rest.isEmpty && slot == nil
      // A way that leads nowhere is nil, unless members would have followed.
      var (seen, next, leadsNowhere): (Set<UInt64>, [View.Node], Bool) = ([], [], false)
      for node in nodes {
        var targets: [UInt64] = []
        if step.isToMany {
          targets = try view.members(node, step)
        } else if case .reference(let bits) = try view.value(node, step.slot), bits != 0 {
          targets = [bits]
        } else {
          leadsNowhere = true
        }
        for bits in targets where seen.insert(Reference.primaryKey(bits)).inserted {
          if isLast {
            result.append(.reference(bits))
          } else if let target = try view.node(bits, hierarchy: step.destinationHierarchy) {
            next.append(target)
          } else if !step.isToMany {
            leadsNowhere = true
          }
        }
      }
      if leadsNowhere, !rest.contains(where: \.isToMany) { result.append(.null) }
      nodes = next
    }
    if let slot { for node in nodes { result.append(try view.value(node, slot)) } }
    return .many(result)
  }

  /// What is found where there is no object: no members, or nil.
  private static func nothing(_ steps: ArraySlice<RelationshipSchema>) -> EvaluatedValue {
    steps.contains(where: \.isToMany) ? .many([]) : .one(.null)
  }
}

extension CompiledPredicate {
  /// Runs the program on an object by its values. `node` nil only when the program looks at no object.
  func evaluate<View: ObjectView>(_ evaluation: Evaluation<View>, _ node: View.Node?) throws -> Bool {
    try run { instruction in
      let operand = Int(instruction.firstOperand)
      if instruction.kind == .comparison { return try evaluation.isTrue(comparisons[operand]) }
      guard let node else { return false }
      let view = evaluation.view
      switch instruction.kind {
      case .slot: return test(instruction, try view.value(node, Int(instruction.slot)))
      case .text: return try texts[operand].matches(view.value(node, Int(instruction.slot)))
      case .arithmetic: return arithmetics[operand].isTrue(try view.value(node, Int(instruction.slot)))
      case .identifier:
        return IdentifierKeys.contains(keySets[operand], Reference.primaryKey(view.reference(node)))
      case .reference: return isReference(try view.value(node, Int(instruction.slot)), to: operand)
      case .related, .comparison: return try evaluation.matches(related[operand], node)
      }
    }
  }
}

/// What has been found out about combinations of objects, by their primary keys.
final class TupleMemo {
  private var answers: [[UInt64]: Bool] = [:]
  /// When there are more it begins again.
  private static var mostKeys: Int { 1 << 18 }

  subscript(key: [UInt64]) -> Bool? {
    get { answers[key] }
    set {
      if answers.count >= Self.mostKeys { answers.removeAll(keepingCapacity: true) }
      answers[key] = newValue
    }
  }
}

/// What has been found out about objects, by primary key.
final class KeyMemo {
  private var answers = KeyTable(blank: false)
  /// When there are more keys it begins again.
  private static var mostKeys: Int { 1 << 18 }

  subscript(key: UInt64) -> Bool? { answers[key] }

  func note(_ key: UInt64, _ answer: Bool) {
    if answers.count >= Self.mostKeys { answers = KeyTable(blank: false) }
    answers.set(key, answer)
  }
}
