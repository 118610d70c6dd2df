import CoreData
import Testing

// Every member of predicates, expressions and sort descriptors, written as for Apple's platforms. The functions are type-checked, not run; what
// the members do is tested elsewhere.

private func predicates(_ object: NSManagedObject) {
  // tsv: (global).NSPredicate
  let format = NSPredicate(format: "name == %@ AND age > %d", "Ada", 30)  // tsv: NSPredicate.init(format:_:)
  let other = NSPredicate(format: "name == %@", argumentArray: ["Ada"])  // tsv: NSPredicate.init(format:argumentArray:)
  let block = NSPredicate { object, bindings in object != nil && bindings == nil }  // tsv: NSPredicate.init(block:)
  let all = NSPredicate(value: true)  // tsv: NSPredicate.init(value:)
  let isTrue: Bool = format.evaluate(with: object)  // tsv: NSPredicate.evaluate(with:)
  let isBound: Bool = format.evaluate(with: object, substitutionVariables: ["a": 1])  // tsv: NSPredicate.evaluate(with:substitutionVariables:)
  let bound: NSPredicate = other.withSubstitutionVariables(["a": 1])  // tsv: NSPredicate.withSubstitutionVariables(_:)
  let typed = NSPredicate(#Predicate<Bird> { $0.tally > 3 })  // tsv: NSPredicate.init(_:)
  format.allowEvaluation()  // tsv: NSPredicate.allowEvaluation()
  _ = (block, all, isTrue, isBound, bound, typed)
}

@available(*, deprecated, message: "Foundation on Linux calls predicateFormat deprecated")
private func texts(_ predicate: NSPredicate) -> String {
  predicate.predicateFormat  // tsv: NSPredicate.predicateFormat
}

private func compounds(_ one: NSPredicate, _ two: NSPredicate) {
  let and = NSCompoundPredicate(andPredicateWithSubpredicates: [one, two])  // tsv: NSCompoundPredicate.init(andPredicateWithSubpredicates:)
  let or = NSCompoundPredicate(orPredicateWithSubpredicates: [one, two])  // tsv: NSCompoundPredicate.init(orPredicateWithSubpredicates:)
  let not = NSCompoundPredicate(notPredicateWithSubpredicate: one)  // tsv: NSCompoundPredicate.init(notPredicateWithSubpredicate:)
  let made = NSCompoundPredicate(type: .or, subpredicates: [and, or, not])  // tsv: NSCompoundPredicate.init(type:subpredicates:)
  let parts: [Any] = made.subpredicates  // tsv: NSCompoundPredicate.subpredicates
  // tsv: NSCompoundPredicate.LogicalType
  let type: NSCompoundPredicate.LogicalType = made.compoundPredicateType  // tsv: NSCompoundPredicate.compoundPredicateType
  switch type {
  case .and: break  // tsv: NSCompoundPredicate.LogicalType.and
  case .or: break  // tsv: NSCompoundPredicate.LogicalType.or
  case .not: break  // tsv: NSCompoundPredicate.LogicalType.not
  @unknown default: break
  }
  _ = parts
}

private func comparisons(_ left: NSExpression, _ right: NSExpression) {
  // tsv: (global).NSComparisonPredicate
  // tsv: NSComparisonPredicate.init(leftExpression:rightExpression:modifier:type:options:)
  let comparison = NSComparisonPredicate(
    leftExpression: left, rightExpression: right, modifier: .direct, type: .equalTo,
    options: [.caseInsensitive])
  let first: NSExpression = comparison.leftExpression  // tsv: NSComparisonPredicate.leftExpression
  let second: NSExpression = comparison.rightExpression  // tsv: NSComparisonPredicate.rightExpression
  // tsv: NSComparisonPredicate.Options
  let options: NSComparisonPredicate.Options = comparison.options  // tsv: NSComparisonPredicate.options
  _ = options == .caseInsensitive  // tsv: NSComparisonPredicate.Options.caseInsensitive
  _ = options == .diacriticInsensitive  // tsv: NSComparisonPredicate.Options.diacriticInsensitive
  _ = options == .normalized  // tsv: NSComparisonPredicate.Options.normalized
  // tsv: NSComparisonPredicate.Modifier
  let modifier: NSComparisonPredicate.Modifier = comparison.comparisonPredicateModifier  // tsv: NSComparisonPredicate.comparisonPredicateModifier
  switch modifier {
  case .direct: break  // tsv: NSComparisonPredicate.Modifier.direct
  case .any: break  // tsv: NSComparisonPredicate.Modifier.any
  case .all: break  // tsv: NSComparisonPredicate.Modifier.all
  @unknown default: break
  }
  // tsv: NSComparisonPredicate.Operator
  let type: NSComparisonPredicate.Operator = comparison.predicateOperatorType  // tsv: NSComparisonPredicate.predicateOperatorType
  switch type {
  case .lessThan: break  // tsv: NSComparisonPredicate.Operator.lessThan
  case .lessThanOrEqualTo: break  // tsv: NSComparisonPredicate.Operator.lessThanOrEqualTo
  case .greaterThan: break  // tsv: NSComparisonPredicate.Operator.greaterThan
  case .greaterThanOrEqualTo: break  // tsv: NSComparisonPredicate.Operator.greaterThanOrEqualTo
  case .equalTo: break  // tsv: NSComparisonPredicate.Operator.equalTo
  case .notEqualTo: break  // tsv: NSComparisonPredicate.Operator.notEqualTo
  case .matches: break  // tsv: NSComparisonPredicate.Operator.matches
  case .like: break  // tsv: NSComparisonPredicate.Operator.like
  case .beginsWith: break  // tsv: NSComparisonPredicate.Operator.beginsWith
  case .endsWith: break  // tsv: NSComparisonPredicate.Operator.endsWith
  case .in: break  // tsv: NSComparisonPredicate.Operator.in
  case .customSelector: break  // tsv: NSComparisonPredicate.Operator.customSelector
  case .contains: break  // tsv: NSComparisonPredicate.Operator.contains
  case .between: break  // tsv: NSComparisonPredicate.Operator.between
  @unknown default: break
  }
  _ = (first, second)
}

private func collections(_ predicate: NSPredicate, _ sorts: [NSSortDescriptor]) {
  let array: [Any] = NSArray().filtered(using: predicate)  // tsv: NSArray.filtered(using:)
  let sorted: [Any] = NSArray().sortedArray(using: sorts)  // tsv: NSArray.sortedArray(using:)
  let set: Set<AnyHashable> = NSSet().filtered(using: predicate)  // tsv: NSSet.filtered(using:)
  let sortedSet: [Any] = NSSet().sortedArray(using: sorts)  // tsv: NSSet.sortedArray(using:)
  let ordered: NSOrderedSet = NSOrderedSet().filtered(using: predicate)  // tsv: NSOrderedSet.filtered(using:)
  let sortedOrdered: [Any] = NSOrderedSet().sortedArray(using: sorts)  // tsv: NSOrderedSet.sortedArray(using:)
  NSMutableArray().filter(using: predicate)  // tsv: NSMutableArray.filter(using:)
  NSMutableArray().sort(using: sorts)  // tsv: NSMutableArray.sort(using:)
  NSMutableSet().filter(using: predicate)  // tsv: NSMutableSet.filter(using:)
  NSMutableOrderedSet().filter(using: predicate)  // tsv: NSMutableOrderedSet.filter(using:)
  NSMutableOrderedSet().sort(using: sorts)  // tsv: NSMutableOrderedSet.sort(using:)
  _ = (array, sorted, set, sortedSet, ordered, sortedOrdered)
}

private func sortDescriptors() {
  // tsv: (global).NSSortDescriptor
  let sort = NSSortDescriptor(key: "name", ascending: true)  // tsv: NSSortDescriptor.init(key:ascending:)
  // tsv: NSSortDescriptor.init(key:ascending:selector:)
  let localized = NSSortDescriptor(
    key: "name", ascending: true, selector: Selector("localizedStandardCompare:"))
  let own = NSSortDescriptor(key: "name", ascending: true) { _, _ in .orderedSame }  // tsv: NSSortDescriptor.init(key:ascending:comparator:)
  let path = NSSortDescriptor(keyPath: \Bird.name, ascending: true)  // tsv: NSSortDescriptor.init(keyPath:ascending:)
  // tsv: NSSortDescriptor.init(keyPath:ascending:comparator:)
  let pathOwn = NSSortDescriptor(keyPath: \Bird.name, ascending: true) { _, _ in .orderedSame }
  let swift = NSSortDescriptor(SortDescriptor<Bird>(\.tally))  // tsv: NSSortDescriptor.init(_:)
  let key: String? = sort.key  // tsv: NSSortDescriptor.key
  let ascending: Bool = sort.ascending  // tsv: NSSortDescriptor.ascending
  let keyPath: AnyKeyPath? = path.keyPath  // tsv: NSSortDescriptor.keyPath
  let comparator: Comparator = sort.comparator  // tsv: NSSortDescriptor.comparator
  let reversed = sort.reversedSortDescriptor as? NSSortDescriptor  // tsv: NSSortDescriptor.reversedSortDescriptor
  sort.allowEvaluation()  // tsv: NSSortDescriptor.allowEvaluation()
  let order: ComparisonResult = sort.compare(1, to: 2)  // tsv: NSSortDescriptor.compare(_:to:)
  _ = (swift, localized, own, pathOwn, key, ascending, keyPath, comparator, reversed, order)
}

private func expressions(_ predicate: NSPredicate) {
  // tsv: (global).NSExpression
  let constant = NSExpression(forConstantValue: 1)  // tsv: NSExpression.init(forConstantValue:)
  let path = NSExpression(forKeyPath: "name")  // tsv: NSExpression.init(forKeyPath:)
  let typed = NSExpression(forKeyPath: \Bird.name)  // tsv: NSExpression.init(forKeyPath:)
  let variable = NSExpression(forVariable: "x")  // tsv: NSExpression.init(forVariable:)
  let sum = NSExpression(forFunction: "sum:", arguments: [path])  // tsv: NSExpression.init(forFunction:arguments:)
  // tsv: NSExpression.init(forFunction:selectorName:arguments:)
  let call = NSExpression(forFunction: variable, selectorName: "valueForKey:", arguments: ["name"])
  let list = NSExpression(forAggregate: [constant])  // tsv: NSExpression.init(forAggregate:)
  let union = NSExpression(forUnionSet: list, with: list)  // tsv: NSExpression.init(forUnionSet:with:)
  let intersection = NSExpression(forIntersectSet: list, with: list)  // tsv: NSExpression.init(forIntersectSet:with:)
  let difference = NSExpression(forMinusSet: list, with: list)  // tsv: NSExpression.init(forMinusSet:with:)
  // tsv: NSExpression.init(forSubquery:usingIteratorVariable:predicate:)
  let subquery = NSExpression(forSubquery: path, usingIteratorVariable: "x", predicate: predicate)
  // tsv: NSExpression.init(forConditional:trueExpression:falseExpression:)
  let choice = NSExpression(forConditional: predicate, trueExpression: constant, falseExpression: path)
  // tsv: NSExpression.init(block:arguments:)
  let block = NSExpression(
    block: { object, arguments, context in [object as Any, arguments, context as Any] }, arguments: [path])
  let any = NSExpression(expressionType: .anyKey)  // tsv: NSExpression.init(expressionType:)
  let format = NSExpression(format: "a + %d", 1)  // tsv: NSExpression.init(format:_:)
  let arrayed = NSExpression(format: "a + %d", argumentArray: [1])  // tsv: NSExpression.init(format:argumentArray:)
  let anyKey: NSExpression = NSExpression.expressionForAnyKey()  // tsv: NSExpression.expressionForAnyKey()
  let object: NSExpression = NSExpression.expressionForEvaluatedObject()  // tsv: NSExpression.expressionForEvaluatedObject()
  let value: Any? = path.expressionValue(with: nil, context: nil)  // tsv: NSExpression.expressionValue(with:context:)
  path.allowEvaluation()  // tsv: NSExpression.allowEvaluation()
  let parts: [Any?] = [
    sum.arguments,  // tsv: NSExpression.arguments
    list.collection,  // tsv: NSExpression.collection
    constant.constantValue,  // tsv: NSExpression.constantValue
    block.expressionBlock,  // tsv: NSExpression.expressionBlock
    choice.`false`,  // tsv: NSExpression.false
    choice.`true`,  // tsv: NSExpression.true
    sum.function,  // tsv: NSExpression.function
    path.keyPath,  // tsv: NSExpression.keyPath
    union.left,  // tsv: NSExpression.left
    union.right,  // tsv: NSExpression.right
    call.operand,  // tsv: NSExpression.operand
    subquery.predicate,  // tsv: NSExpression.predicate
    variable.variable,  // tsv: NSExpression.variable
  ]
  // tsv: NSExpression.ExpressionType
  let type: NSExpression.ExpressionType = path.expressionType  // tsv: NSExpression.expressionType
  switch type {
  case .constantValue: break  // tsv: NSExpression.ExpressionType.constantValue
  case .evaluatedObject: break  // tsv: NSExpression.ExpressionType.evaluatedObject
  case .variable: break  // tsv: NSExpression.ExpressionType.variable
  case .keyPath: break  // tsv: NSExpression.ExpressionType.keyPath
  case .function: break  // tsv: NSExpression.ExpressionType.function
  case .unionSet: break  // tsv: NSExpression.ExpressionType.unionSet
  case .intersectSet: break  // tsv: NSExpression.ExpressionType.intersectSet
  case .minusSet: break  // tsv: NSExpression.ExpressionType.minusSet
  case .subquery: break  // tsv: NSExpression.ExpressionType.subquery
  case .aggregate: break  // tsv: NSExpression.ExpressionType.aggregate
  case .anyKey: break  // tsv: NSExpression.ExpressionType.anyKey
  case .block: break  // tsv: NSExpression.ExpressionType.block
  case .conditional: break  // tsv: NSExpression.ExpressionType.conditional
  default: break
  }
  _ = (typed, intersection, difference, any, format, arrayed, anyKey, object, value, parts)
}

private func fetchExpressions(_ request: NSExpression, _ context: NSExpression) {
  // tsv: (global).NSFetchRequestExpression
  // tsv: NSFetchRequestExpression.expression(forFetch:context:countOnly:)
  let made: NSExpression = NSFetchRequestExpression.expression(
    forFetch: request, context: context, countOnly: true)
  guard let fetch = made as? NSFetchRequestExpression else { return }
  let parts: [Any] = [
    fetch.requestExpression,  // tsv: NSFetchRequestExpression.requestExpression
    fetch.contextExpression,  // tsv: NSFetchRequestExpression.contextExpression
    fetch.isCountOnlyRequest,  // tsv: NSFetchRequestExpression.isCountOnlyRequest
  ]
  _ = (parts, made.expressionType == NSFetchRequestExpressionType)  // tsv: (global).NSFetchRequestExpressionType
}
