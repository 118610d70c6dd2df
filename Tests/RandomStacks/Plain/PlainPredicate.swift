import CoreData

/// A predicate as Core Data reads it and as the reference understands it.
indirect enum PlainPredicate {
  case compare(String, NSComparisonPredicate.Operator, PlainValue)
  case isIn(String, [PlainValue])
  case isBetween(String, PlainValue, PlainValue)
  case isOwner(String, Int?)
  case through(String, PlainPredicate)
  case any(String, PlainPredicate)
  case count(String, NSComparisonPredicate.Operator, Int)
  case not(PlainPredicate)
  case both(PlainPredicate, PlainPredicate)
  case either(PlainPredicate, PlainPredicate)

  /// The format and its arguments. `prefix` is the path of the relationship the predicate is asked through.
  func format(_ arguments: inout [Any], _ objects: (Int) -> Any, prefix: String = "") -> String {
    switch self {
    case .compare(let key, let sign, let value):
      arguments.append(value.object ?? NSNull())
      return "\(prefix)\(key) \(Self.text(sign)) %@"
    case .isIn(let key, let values):
      arguments.append(values.compactMap(\.object))
      return "\(prefix)\(key) IN %@"
    case .isBetween(let key, let low, let high):
      arguments.append([low.object ?? NSNull(), high.object ?? NSNull()])
      return "\(prefix)\(key) BETWEEN %@"
    case .isOwner(let key, let number):
      arguments.append(number.map(objects) ?? NSNull())
      return "\(prefix)\(key) == %@"
    case .through(let key, let inner): return inner.format(&arguments, objects, prefix: "\(key).")
    case .any(let key, let inner): return "ANY " + inner.format(&arguments, objects, prefix: "\(key).")
    case .count(let key, let sign, let count): return "\(prefix)\(key).@count \(Self.text(sign)) \(count)"
    case .not(let inner): return "NOT (\(inner.format(&arguments, objects, prefix: prefix)))"
    case .both(let a, let b):
      return
        "(\(a.format(&arguments, objects, prefix: prefix))) AND (\(b.format(&arguments, objects, prefix: prefix)))"
    case .either(let a, let b):
      return
        "(\(a.format(&arguments, objects, prefix: prefix))) OR (\(b.format(&arguments, objects, prefix: prefix)))"
    }
  }

  private static func text(_ sign: NSComparisonPredicate.Operator) -> String {
    switch sign {
    case .lessThan: "<"
    case .lessThanOrEqualTo: "<="
    case .greaterThan: ">"
    case .greaterThanOrEqualTo: ">="
    case .notEqualTo: "!="
    case .beginsWith: "BEGINSWITH"
    case .endsWith: "ENDSWITH"
    case .contains: "CONTAINS"
    default: "=="
    }
  }

  // MARK: Evaluating

  func holds(_ number: Int, _ graph: PlainGraph) -> Bool {
    func value(_ key: String) -> PlainValue { graph[number]?.values[key] ?? .none }
    switch self {
    case .compare(let key, let sign, let other): return Self.compare(value(key), sign, other)
    case .isIn(let key, let values): return values.contains(value(key))
    case .isBetween(let key, let low, let high):
      return Self.compare(value(key), .greaterThanOrEqualTo, low)
        && Self.compare(value(key), .lessThanOrEqualTo, high)
    case .isOwner(let key, let other): return graph.members(number, key).first == other
    case .through(let key, let inner):
      // Without an object, everything is nil.
      guard let owner = graph.members(number, key).first else { return inner.holds(-1, graph) }
      return inner.holds(owner, graph)
    case .any(let key, let inner): return graph.members(number, key).contains { inner.holds($0, graph) }
    case .count(let key, let sign, let count):
      return Self.compare(.integer(Int64(graph.members(number, key).count)), sign, .integer(Int64(count)))
    case .not(let inner): return !inner.holds(number, graph)
    case .both(let a, let b): return a.holds(number, graph) && b.holds(number, graph)
    case .either(let a, let b): return a.holds(number, graph) || b.holds(number, graph)
    }
  }

  /// Orders nil with nothing; `!=` is the negation of `==`.
  private static func compare(_ a: PlainValue, _ sign: NSComparisonPredicate.Operator, _ b: PlainValue)
    -> Bool
  {
    switch sign {
    case .equalTo: return a == b
    case .notEqualTo: return a != b
    default: break
    }
    guard a != .none, b != .none else { return false }
    if case .text(let a) = a, case .text(let b) = b {
      let (left, right) = (Array(a.utf8), Array(b.utf8))
      switch sign {
      // Of an empty text nothing is true, as in Foundation.
      case .beginsWith: return !right.isEmpty && left.starts(with: right)
      case .endsWith: return !right.isEmpty && left.suffix(right.count).elementsEqual(right)
      case .contains:
        return !right.isEmpty && left.indices.contains { left[$0...].starts(with: right) }
      default: break
      }
    }
    switch sign {
    case .lessThan: return a.precedes(b) ?? false
    case .greaterThan: return b.precedes(a) ?? false
    case .lessThanOrEqualTo: return !(b.precedes(a) ?? true)
    case .greaterThanOrEqualTo: return !(a.precedes(b) ?? true)
    default: return false
    }
  }
}
