import CoreData
import Testing

// Every member of predicates, expressions and sort descriptors, written as for Apple's platforms. The functions are type-checked, not run; what
// the members do is tested elsewhere.

private func predicates(_ object: NSManagedObject) {
  // surface: NSPredicate
  // surface: NSPredicate.init(format:_:)
  let format = NSPredicate(format: "name == %@ AND age > %d", "Ada", 30)
  // surface: NSPredicate.init(format:argumentArray:)
  let other = NSPredicate(format: "name == %@", argumentArray: ["Ada"])
  // surface: NSPredicate.init(block:)
  let block = NSPredicate { object, bindings in object != nil && bindings == nil }
  let all = NSPredicate(value: true)  // surface: NSPredicate.init(value:)
  let isTrue: Bool = format.evaluate(with: object)  // surface: NSPredicate.evaluate(with:)
  // surface: NSPredicate.evaluate(with:substitutionVariables:)
  let isBound: Bool = format.evaluate(with: object, substitutionVariables: ["a": 1])
  // surface: NSPredicate.withSubstitutionVariables(_:)
  let bound: NSPredicate = other.withSubstitutionVariables(["a": 1])
  let typed = NSPredicate(#Predicate<Bird> { $0.tally > 3 })  // surface: NSPredicate.init(_:)
  format.allowEvaluation()  // surface: NSPredicate.allowEvaluation()
  _ = (block, all, isTrue, isBound, bound, typed)
}

@available(*, deprecated, message: "Foundation on Linux calls predicateFormat deprecated")
private func texts(_ predicate: NSPredicate) -> String {
  predicate.predicateFormat  // surface: NSPredicate.predicateFormat
}

private func compounds(_ one: NSPredicate, _ two: NSPredicate) {
  // surface: NSCompoundPredicate.init(andPredicateWithSubpredicates:)
  let and = NSCompoundPredicate(andPredicateWithSubpredicates: [one, two])
  // surface: NSCompoundPredicate.init(orPredicateWithSubpredicates:)
  let or = NSCompoundPredicate(orPredicateWithSubpredicates: [one, two])
  // surface: NSCompoundPredicate.init(notPredicateWithSubpredicate:)
  let not = NSCompoundPredicate(notPredicateWithSubpredicate: one)
  // surface: NSCompoundPredicate.init(type:subpredicates:)
  let made = NSCompoundPredicate(type: .or, subpredicates: [and, or, not])
  let parts: [Any] = made.subpredicates  // surface: NSCompoundPredicate.subpredicates
  // surface: NSCompoundPredicate.LogicalType
  // surface: NSCompoundPredicate.compoundPredicateType
  let type: NSCompoundPredicate.LogicalType = made.compoundPredicateType
  switch type {
  case .and: break  // surface: NSCompoundPredicate.LogicalType.and
  case .or: break  // surface: NSCompoundPredicate.LogicalType.or
  case .not: break  // surface: NSCompoundPredicate.LogicalType.not
  @unknown default: break
  }
  _ = parts
}

private func comparisons(_ left: NSExpression, _ right: NSExpression) {
  // surface: NSComparisonPredicate
  // surface: NSComparisonPredicate.init(leftExpression:rightExpression:modifier:type:options:)
  let comparison = NSComparisonPredicate(
    leftExpression: left, rightExpression: right, modifier: .direct, type: .equalTo,
    options: [.caseInsensitive])
  // surface: NSComparisonPredicate.leftExpression
  let first: NSExpression = comparison.leftExpression
  // surface: NSComparisonPredicate.rightExpression
  let second: NSExpression = comparison.rightExpression
  // surface: NSComparisonPredicate.Options
  // surface: NSComparisonPredicate.options
  let options: NSComparisonPredicate.Options = comparison.options
  _ = options == .caseInsensitive  // surface: NSComparisonPredicate.Options.caseInsensitive
  // surface: NSComparisonPredicate.Options.diacriticInsensitive
  _ = options == .diacriticInsensitive
  _ = options == .normalized  // surface: NSComparisonPredicate.Options.normalized
  // surface: NSComparisonPredicate.Modifier
  // surface: NSComparisonPredicate.comparisonPredicateModifier
  let modifier: NSComparisonPredicate.Modifier = comparison.comparisonPredicateModifier
  switch modifier {
  case .direct: break  // surface: NSComparisonPredicate.Modifier.direct
  case .any: break  // surface: NSComparisonPredicate.Modifier.any
  case .all: break  // surface: NSComparisonPredicate.Modifier.all
  @unknown default: break
  }
  // surface: NSComparisonPredicate.Operator
  // surface: NSComparisonPredicate.predicateOperatorType
  let type: NSComparisonPredicate.Operator = comparison.predicateOperatorType
  switch type {
  case .lessThan: break  // surface: NSComparisonPredicate.Operator.lessThan
  case .lessThanOrEqualTo: break  // surface: NSComparisonPredicate.Operator.lessThanOrEqualTo
  case .greaterThan: break  // surface: NSComparisonPredicate.Operator.greaterThan
  // surface: NSComparisonPredicate.Operator.greaterThanOrEqualTo
  case .greaterThanOrEqualTo: break
  case .equalTo: break  // surface: NSComparisonPredicate.Operator.equalTo
  case .notEqualTo: break  // surface: NSComparisonPredicate.Operator.notEqualTo
  case .matches: break  // surface: NSComparisonPredicate.Operator.matches
  case .like: break  // surface: NSComparisonPredicate.Operator.like
  case .beginsWith: break  // surface: NSComparisonPredicate.Operator.beginsWith
  case .endsWith: break  // surface: NSComparisonPredicate.Operator.endsWith
  case .in: break  // surface: NSComparisonPredicate.Operator.in
  case .customSelector: break  // surface: NSComparisonPredicate.Operator.customSelector
  case .contains: break  // surface: NSComparisonPredicate.Operator.contains
  case .between: break  // surface: NSComparisonPredicate.Operator.between
  @unknown default: break
  }
  _ = (first, second)
}

private func collections(_ predicate: NSPredicate, _ sorts: [NSSortDescriptor]) {
  let array: [Any] = NSArray().filtered(using: predicate)  // surface: NSArray.filtered(using:)
  let sorted: [Any] = NSArray().sortedArray(using: sorts)  // surface: NSArray.sortedArray(using:)
  // surface: NSSet.filtered(using:)
  let set: Set<AnyHashable> = NSSet().filtered(using: predicate)
  let sortedSet: [Any] = NSSet().sortedArray(using: sorts)  // surface: NSSet.sortedArray(using:)
  // surface: NSOrderedSet.filtered(using:)
  let ordered: NSOrderedSet = NSOrderedSet().filtered(using: predicate)
  // surface: NSOrderedSet.sortedArray(using:)
  let sortedOrdered: [Any] = NSOrderedSet().sortedArray(using: sorts)
  NSMutableArray().filter(using: predicate)  // surface: NSMutableArray.filter(using:)
  NSMutableArray().sort(using: sorts)  // surface: NSMutableArray.sort(using:)
  NSMutableSet().filter(using: predicate)  // surface: NSMutableSet.filter(using:)
  NSMutableOrderedSet().filter(using: predicate)  // surface: NSMutableOrderedSet.filter(using:)
  NSMutableOrderedSet().sort(using: sorts)  // surface: NSMutableOrderedSet.sort(using:)
  _ = (array, sorted, set, sortedSet, ordered, sortedOrdered)
}

private func sortDescriptors() {
  // surface: NSSortDescriptor
  // surface: NSSortDescriptor.init(key:ascending:)
  let sort = NSSortDescriptor(key: "name", ascending: true)
  // surface: NSSortDescriptor.init(key:ascending:selector:)
  let localized = NSSortDescriptor(
    key: "name", ascending: true, selector: Selector("localizedStandardCompare:"))
  // surface: NSSortDescriptor.init(key:ascending:comparator:)
  let own = NSSortDescriptor(key: "name", ascending: true) { _, _ in .orderedSame }
  // surface: NSSortDescriptor.init(keyPath:ascending:)
  let path = NSSortDescriptor(keyPath: \Bird.name, ascending: true)
  // surface: NSSortDescriptor.init(keyPath:ascending:comparator:)
  let pathOwn = NSSortDescriptor(keyPath: \Bird.name, ascending: true) { _, _ in .orderedSame }
  // surface: NSSortDescriptor.init(_:)
  let swift = NSSortDescriptor(SortDescriptor<Bird>(\.tally))
  let key: String? = sort.key  // surface: NSSortDescriptor.key
  let ascending: Bool = sort.ascending  // surface: NSSortDescriptor.ascending
  let keyPath: AnyKeyPath? = path.keyPath  // surface: NSSortDescriptor.keyPath
  let comparator: Comparator = sort.comparator  // surface: NSSortDescriptor.comparator
  // surface: NSSortDescriptor.reversedSortDescriptor
  let reversed = sort.reversedSortDescriptor as? NSSortDescriptor
  sort.allowEvaluation()  // surface: NSSortDescriptor.allowEvaluation()
  // surface: NSSortDescriptor.compare(_:to:)
  let order: ComparisonResult = sort.compare(1, to: 2)
  _ = (swift, localized, own, pathOwn, key, ascending, keyPath, comparator, reversed, order)
}

private func expressions(_ predicate: NSPredicate) {
  // surface: NSExpression
  // surface: NSExpression.init(forConstantValue:)
  let constant = NSExpression(forConstantValue: 1)
  let path = NSExpression(forKeyPath: "name")  // surface: NSExpression.init(forKeyPath:)
  let typed = NSExpression(forKeyPath: \Bird.name)  // surface: NSExpression.init(forKeyPath:)
  let variable = NSExpression(forVariable: "x")  // surface: NSExpression.init(forVariable:)
  // surface: NSExpression.init(forFunction:arguments:)
  let sum = NSExpression(forFunction: "sum:", arguments: [path])
  // surface: NSExpression.init(forFunction:selectorName:arguments:)
  let call = NSExpression(forFunction: variable, selectorName: "valueForKey:", arguments: ["name"])
  let list = NSExpression(forAggregate: [constant])  // surface: NSExpression.init(forAggregate:)
  // surface: NSExpression.init(forUnionSet:with:)
  let union = NSExpression(forUnionSet: list, with: list)
  // surface: NSExpression.init(forIntersectSet:with:)
  let intersection = NSExpression(forIntersectSet: list, with: list)
  // surface: NSExpression.init(forMinusSet:with:)
  let difference = NSExpression(forMinusSet: list, with: list)
  // surface: NSExpression.init(forSubquery:usingIteratorVariable:predicate:)
  let subquery = NSExpression(forSubquery: path, usingIteratorVariable: "x", predicate: predicate)
  // surface: NSExpression.init(forConditional:trueExpression:falseExpression:)
  let choice = NSExpression(forConditional: predicate, trueExpression: constant, falseExpression: path)
  // surface: NSExpression.init(block:arguments:)
  let block = NSExpression(
    block: { object, arguments, context in [object as Any, arguments, context as Any] }, arguments: [path])
  let any = NSExpression(expressionType: .anyKey)  // surface: NSExpression.init(expressionType:)
  let format = NSExpression(format: "a + %d", 1)  // surface: NSExpression.init(format:_:)
  // surface: NSExpression.init(format:argumentArray:)
  let arrayed = NSExpression(format: "a + %d", argumentArray: [1])
  // surface: NSExpression.expressionForAnyKey()
  let anyKey: NSExpression = NSExpression.expressionForAnyKey()
  // surface: NSExpression.expressionForEvaluatedObject()
  let object: NSExpression = NSExpression.expressionForEvaluatedObject()
  // surface: NSExpression.expressionValue(with:context:)
  let value: Any? = path.expressionValue(with: nil, context: nil)
  path.allowEvaluation()  // surface: NSExpression.allowEvaluation()
  let parts: [Any?] = [
    sum.arguments,  // surface: NSExpression.arguments
    list.collection,  // surface: NSExpression.collection
    constant.constantValue,  // surface: NSExpression.constantValue
    block.expressionBlock,  // surface: NSExpression.expressionBlock
    choice.`false`,  // surface: NSExpression.false
    choice.`true`,  // surface: NSExpression.true
    sum.function,  // surface: NSExpression.function
    path.keyPath,  // surface: NSExpression.keyPath
    union.left,  // surface: NSExpression.left
    union.right,  // surface: NSExpression.right
    call.operand,  // surface: NSExpression.operand
    subquery.predicate,  // surface: NSExpression.predicate
    variable.variable,  // surface: NSExpression.variable
  ]
  // surface: NSExpression.ExpressionType
  // surface: NSExpression.expressionType
  let type: NSExpression.ExpressionType = path.expressionType
  switch type {
  case .constantValue: break  // surface: NSExpression.ExpressionType.constantValue
  case .evaluatedObject: break  // surface: NSExpression.ExpressionType.evaluatedObject
  case .variable: break  // surface: NSExpression.ExpressionType.variable
  case .keyPath: break  // surface: NSExpression.ExpressionType.keyPath
  case .function: break  // surface: NSExpression.ExpressionType.function
  case .unionSet: break  // surface: NSExpression.ExpressionType.unionSet
  case .intersectSet: break  // surface: NSExpression.ExpressionType.intersectSet
  case .minusSet: break  // surface: NSExpression.ExpressionType.minusSet
  case .subquery: break  // surface: NSExpression.ExpressionType.subquery
  case .aggregate: break  // surface: NSExpression.ExpressionType.aggregate
  case .anyKey: break  // surface: NSExpression.ExpressionType.anyKey
  case .block: break  // surface: NSExpression.ExpressionType.block
  case .conditional: break  // surface: NSExpression.ExpressionType.conditional
  default: break
  }
  _ = (typed, intersection, difference, any, format, arrayed, anyKey, object, value, parts)
}

private func fetchExpressions(_ request: NSExpression, _ context: NSExpression) {
  // surface: NSFetchRequestExpression
  // surface: NSFetchRequestExpression.expression(forFetch:context:countOnly:)
  let made: NSExpression = NSFetchRequestExpression.expression(
    forFetch: request, context: context, countOnly: true)
  guard let fetch = made as? NSFetchRequestExpression else { return }
  let parts: [Any] = [
    fetch.requestExpression,  // surface: NSFetchRequestExpression.requestExpression
    fetch.contextExpression,  // surface: NSFetchRequestExpression.contextExpression
    fetch.isCountOnlyRequest,  // surface: NSFetchRequestExpression.isCountOnlyRequest
  ]
  // surface: NSFetchRequestExpressionType
  _ = (parts, made.expressionType == NSFetchRequestExpressionType)
}
