import Strata
import TortureKit

#if !canImport(Darwin)
  import CoreData
#endif

/// Random predicates by Core Data's names, their constants as Swift's and as Foundation's types.
enum SpelledQueries {
  #if canImport(Darwin)
    // Core Data's names are Core Data there.
    static func context(_ coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
      ManagedObjectContext(.confinement, coordinator: coordinator)
    }
    static func context(under parent: ManagedObjectContext) -> ManagedObjectContext {
      ManagedObjectContext(.confinement, parent: parent)
    }
    static func found(
      _ predicate: FetchPredicate, about entityName: String, among objects: [ManagedObject],
      includesSubentities: Bool,
      _ random: inout SeededGenerator
    ) throws -> [(way: String, [ManagedObjectID])] { [] }
  #else
    static func context(_ coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
      let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      return context
    }

    static func context(under parent: ManagedObjectContext) -> ManagedObjectContext {
      let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      context.parent = parent
      return context
    }

    /// What a fetch finds, and what is true in memory of `objects`, which are all there are of the entity.
    static func found(
      _ predicate: FetchPredicate, about entityName: String, among objects: [ManagedObject],
      includesSubentities: Bool,
      _ random: inout SeededGenerator
    ) throws -> [(way: String, [ManagedObjectID])] {
      guard let context = objects.first?.managedObjectContext else { return [] }
      let spelled = Spelling().predicate(predicate, &random)
      var result = [(way: "in memory", objects.filter { spelled.evaluate(with: $0) }.map(\.objectID))]
      let again = NSPredicate(format: "\(predicate)")
      result.append(
        (way: "in memory, read from its text", objects.filter { again.evaluate(with: $0) }.map(\.objectID)))
      let request = NSFetchRequest<NSManagedObject>(entityName: entityName)
      request.includesSubentities = includesSubentities
      request.predicate = spelled
      let kept = Set(objects.map(\.objectID))
      result.append(
        (
          way: "fetched by Core Data's names",
          try context.fetch(request).map(\.objectID).filter(kept.contains)
        ))
      return result
    }

    /// Trees as `NSPredicate`s and `NSExpression`s.
    private struct Spelling {
      func predicate(_ tree: FetchPredicate, _ random: inout SeededGenerator) -> NSPredicate {
        switch tree {
        case .everything: return NSPredicate(value: true)
        case .nothing: return NSPredicate(value: false)
        // Random trees hold none.
        case .foundation(let predicate): preconditionFailure("\(predicate) has no NSPredicate")
        case .and(let parts):
          return NSCompoundPredicate(andPredicateWithSubpredicates: parts.map { predicate($0, &random) })
        case .or(let parts):
          return NSCompoundPredicate(orPredicateWithSubpredicates: parts.map { predicate($0, &random) })
        case .not(let part):
          return NSCompoundPredicate(notPredicateWithSubpredicate: predicate(part, &random))
        case .compare(let comparison):
          return NSComparisonPredicate(
            leftExpression: expression(comparison.left, &random),
            rightExpression: expression(comparison.right, &random), modifier: modifier(comparison.quantifier),
            type: operation(comparison.operation),
            options: NSComparisonPredicate.Options(rawValue: UInt(comparison.options.rawValue)))
        }
      }

      private func modifier(_ quantifier: FetchComparison.Quantifier) -> NSComparisonPredicate.Modifier {
        switch quantifier {
        case .direct: .direct
        case .any: .any
        case .all: .all
        }
      }

      private func operation(_ operation: ComparisonOperator) -> NSComparisonPredicate.Operator {
        switch operation {
        case .equal: .equalTo
        case .notEqual: .notEqualTo
        case .less: .lessThan
        case .lessOrEqual: .lessThanOrEqualTo
        case .greater: .greaterThan
        case .greaterOrEqual: .greaterThanOrEqualTo
        case .in: .in
        case .between: .between
        case .contains: .contains
        case .beginsWith: .beginsWith
        case .endsWith: .endsWith
        case .like: .like
        case .matches: .matches
        }
      }

      private func expression(_ tree: FetchExpression, _ random: inout SeededGenerator) -> NSExpression {
        switch tree {
        case .constant(let value): return NSExpression(forConstantValue: dressed(value, &random))
        case .list(let parts):
          if random.chance(30) {
            return NSExpression(forAggregate: parts.map { expression($0, &random) })
          }
          let values = parts.compactMap { part -> Any? in
            switch part {
            case .constant(let value): dressed(value, &random) ?? NSNull()
            case .objects(let identifiers) where identifiers.count == 1: identifiers[0]
            default: nil
            }
          }
          guard values.count == parts.count else {
            return NSExpression(forAggregate: parts.map { expression($0, &random) })
          }
          return NSExpression(forConstantValue: random.chance(50) ? NSArray(array: values) : values)
        case .objects(let identifiers):
          return NSExpression(forConstantValue: identifiers.count == 1 ? identifiers[0] : identifiers)
        case .evaluatedObject: return NSExpression.expressionForEvaluatedObject()
        case .variable(let name): return NSExpression(forVariable: name)
        case .keyPath(.evaluatedObject, let keys):
          return NSExpression(forKeyPath: keys.joined(separator: "."))
        case .aggregate(let aggregate, let values):
          if case .keyPath(.evaluatedObject, let keys) = values, random.chance(50) {
            return NSExpression(forKeyPath: path(keys, aggregate))
          }
          return NSExpression(forFunction: aggregate.selector, arguments: [expression(values, &random)])
        case .subquery(let members, let variable, let condition):
          return NSExpression(
            forSubquery: expression(members, &random), usingIteratorVariable: variable,
            predicate: predicate(condition, &random))
        case .function(let function, let arguments):
          return NSExpression(
            forFunction: function.selector, arguments: arguments.map { expression($0, &random) })
        case .conditional(let condition, let first, let second):
          return NSExpression(
            forConditional: predicate(condition, &random), trueExpression: expression(first, &random),
            falseExpression: expression(second, &random))
        default: return NSExpression(format: "\(tree)")
        }
      }

      /// `a.b.@sum` or, where an attribute is at the end, `a.@sum.b`.
      private func path(_ keys: [String], _ aggregate: FetchAggregate) -> String {
        let sign =
          switch aggregate {
          case .count: "@count"
          case .sum: "@sum"
          case .average: "@avg"
          case .minimum: "@min"
          case .maximum: "@max"
          }
        if aggregate == .count { return (keys + [sign]).joined(separator: ".") }
        return (keys.dropLast() + [sign] + keys.suffix(1)).joined(separator: ".")
      }

      /// A value as applications hand it over.
      private func dressed(_ value: AttributeValue, _ random: inout SeededGenerator) -> Any? {
        let isPlain = random.chance(40)
        switch value {
        case .null: return isPlain ? nil : NSNull()
        case .integer(let number):
          return isPlain ? random.pick([number as Any, Int(number) as Any]) : NSNumber(value: number)
        case .boolean(let flag): return isPlain ? flag : NSNumber(value: flag)
        case .double(let number): return isPlain ? number : NSNumber(value: number)
        case .float(let number): return isPlain ? number : NSNumber(value: number)
        case .decimal(let number): return isPlain ? number : NSDecimalNumber(decimal: number)
        case .string(let text): return isPlain ? text : NSString(string: text)
        case .date(let date):
          return isPlain
            ? date : NSDate(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
        default: return value.anyValue
        }
      }
    }
  #endif
}
