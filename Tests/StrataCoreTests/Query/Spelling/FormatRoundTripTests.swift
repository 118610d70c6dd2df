import Foundation
import Testing

@_spi(Testing) @testable import StrataCore

/// What a tree is written as is read as the same tree.
@Suite struct FormatRoundTripTests {
  @Test(arguments: [UInt64(1), 2, 3, 4])
  func randomTreesAreReadBack(seed: UInt64) throws {
    print("format seed \(seed)")
    var trees = RandomTrees(seed: seed)
    for _ in 0..<rounds(600, long: 10_000) {
      let predicate = trees.predicate(0)
      let text = predicate.description
      do {
        let read = try FetchPredicate(format: text)
        guard read == predicate, read.description == text else {
          Issue.record("seed \(seed): \(text) is read as \(read)")
          return
        }
      } catch {
        Issue.record("seed \(seed): \(text)\n\(error)")
        return
      }
    }
  }

  /// A short form of the fuzzing of Docs/Reliability.md, in this process: recipes of the grammar and mutated texts.
  @Test(arguments: [UInt64(11), 12])
  func inputsOfAllKindsNeverTrap(seed: UInt64) {
    print("fuzz seed \(seed)")
    var random = RandomValues(seed: seed)
    let samples = DecoderProbe.format.samples()
    var accepted = 0
    let count = rounds(1_500, long: 20_000)
    for _ in 0..<count {
      var input = random.pick(samples)
      if random.chance(50) {
        input = [UInt8(random.below(8))] + (0..<random.below(200)).map { _ in UInt8(random.below(256)) }
      }
      for _ in 0..<random.below(3) where !input.isEmpty {
        let place = random.below(input.count)
        switch random.below(4) {
        case 0: input[place] = UInt8(random.below(256))
        case 1: input.remove(at: place)
        case 2: input.insert(contentsOf: input[place...].prefix(random.below(20)), at: place)
        default: input.insert(UInt8(random.below(128)), at: place)
        }
      }
      if input.withUnsafeBytes({ DecoderProbe.format.run($0) }) { accepted += 1 }
    }
    // Most recipes are right: otherwise nothing of the grammar is looked at.
    #expect(accepted > count / 3 && accepted < count)
  }
}

/// Trees of all kinds that format strings can express.
private struct RandomTrees {
  private var random: RandomValues

  init(seed: UInt64) { random = RandomValues(seed: seed) }

  mutating func predicate(_ depth: Int) -> FetchPredicate {
    switch depth > 5 ? 0 : random.below(9) {
    case 0: return random.pick([.everything, .nothing])
    case 1: return .and((0..<(2 + random.below(3))).map { _ in predicate(depth + 1) })
    case 2: return .or((0..<(2 + random.below(3))).map { _ in predicate(depth + 1) })
    case 3: return .not(predicate(depth + 1))
    default:
      return .compare(
        FetchComparison(
          expression(depth + 1), random.pick(ComparisonOperator.allCases), expression(depth + 1),
          quantifier: random.pick(FetchComparison.Quantifier.allCases),
          options: FetchComparison.StringOptions(rawValue: UInt8(random.below(8)))))
    }
  }

  mutating func expression(_ depth: Int) -> FetchExpression {
    switch depth > 5 ? random.below(4) : random.below(13) {
    case 0: return .constant(value())
    case 1: return .keyPath(base: .evaluatedObject, keys: keys())
    case 2: return .variable(name())
    case 3: return .evaluatedObject
    case 4: return .list((0..<random.below(4)).map { _ in expression(depth + 1) })
    case 5: return .keyPath(base: .variable(name()), keys: keys())
    case 6:
      let base = expression(depth + 1)
      // A number has no keys; SELF is the first key's base anyway.
      if case .aggregate = base { return base }
      if case .evaluatedObject = base { return base }
      return .keyPath(base: base, keys: keys())
    case 7: return .aggregate(random.pick(FetchAggregate.allCases), expression(depth + 1))
    case 8: return .subquery(expression(depth + 1), variable: name(), predicate(depth + 1))
    case 9: return .conditional(predicate(depth + 1), expression(depth + 1), expression(depth + 1))
    default:
      let function = random.pick(FetchFunction.allCases)
      var arguments = (0..<function.argumentCounts.lowerBound).map { _ in expression(depth + 1) }
      if function == .cast {
        arguments[1] = .constant(.string(random.pick(["date", "decimal", "string", "integer16"])))
      }
      return .function(function, arguments)
    }
  }

  private mutating func name() -> String {
    random.pick([
      "x", "größe", "odd name", "a.b", "AND", "size", "_1", "SELF", "with \"quotes\" \\", "\u{1}", "SUBQUERY",
      "ångström",
    ])
  }

  private mutating func keys() -> [String] { (0...random.below(3)).map { _ in name() } }

  private mutating func value() -> AttributeValue {
    if random.chance(20) {
      return random.pick([
        .string("it's \"x\" \\ \n\r\t\u{7F}\u{1} é e\u{301} %@"), .string(""), .double(-0.0), .double(1e22),
        .double(.leastNonzeroMagnitude), .integer(.min), .reference(12_345), .float(0.1), .double(.nan),
        .decimal(.nan),
      ])
    }
    let type = random.pick(
      AttributeType.allCases.filter { ![.undefined, .transformable, .composite, .objectID].contains($0) })
    return random.value(type)
  }
}
