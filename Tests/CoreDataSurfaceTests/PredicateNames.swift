import CoreData

private func globalsPredicate() {
  _ = NSComparisonPredicate.self
  _ = NSCompoundPredicate.self
  _ = NSExpression.self
  _ = NSExpressionDescription.self
  _ = NSPredicate.self
  _ = NSSortDescriptor.self
}

private func useNSComparisonPredicate(_ it: NSComparisonPredicate) {
  _ = NSComparisonPredicate.Modifier.self
  _ = NSComparisonPredicate.Operator.self
  _ = NSComparisonPredicate.Options.self
  _ = NSComparisonPredicate.init(leftExpression:rightExpression:modifier:type:options:)
  let _: NSComparisonPredicate.Modifier = it.comparisonPredicateModifier
  let _: NSComparisonPredicate.Operator = it.predicateOperatorType
  let _: NSComparisonPredicate.Options = it.options
  let _: NSExpression = it.leftExpression
  let _: NSExpression = it.rightExpression
}

private func useNSComparisonPredicateModifier() {
  _ = NSComparisonPredicate.Modifier.all
  _ = NSComparisonPredicate.Modifier.any
  _ = NSComparisonPredicate.Modifier.direct
}

private func useNSComparisonPredicateOperator() {
  _ = NSComparisonPredicate.Operator.beginsWith
  _ = NSComparisonPredicate.Operator.between
  _ = NSComparisonPredicate.Operator.contains
  _ = NSComparisonPredicate.Operator.customSelector
  _ = NSComparisonPredicate.Operator.endsWith
  _ = NSComparisonPredicate.Operator.equalTo
  _ = NSComparisonPredicate.Operator.greaterThan
  _ = NSComparisonPredicate.Operator.greaterThanOrEqualTo
  _ = NSComparisonPredicate.Operator.in
  _ = NSComparisonPredicate.Operator.lessThan
  _ = NSComparisonPredicate.Operator.lessThanOrEqualTo
  _ = NSComparisonPredicate.Operator.like
  _ = NSComparisonPredicate.Operator.matches
  _ = NSComparisonPredicate.Operator.notEqualTo
}

private func useNSComparisonPredicateOptions() {
  let _: NSComparisonPredicate.Options = NSComparisonPredicate.Options.caseInsensitive
  let _: NSComparisonPredicate.Options = NSComparisonPredicate.Options.diacriticInsensitive
  let _: NSComparisonPredicate.Options = NSComparisonPredicate.Options.normalized
}

private func useNSCompoundPredicate(_ it: NSCompoundPredicate) {
  _ = NSCompoundPredicate.LogicalType.self
  _ = NSCompoundPredicate.init(andPredicateWithSubpredicates:)
  _ = NSCompoundPredicate.init(notPredicateWithSubpredicate:)
  _ = NSCompoundPredicate.init(orPredicateWithSubpredicates:)
  _ = NSCompoundPredicate.init(type:subpredicates:)
  let _: NSCompoundPredicate.LogicalType = it.compoundPredicateType
  let _: [Any] = it.subpredicates
}

private func useNSCompoundPredicateLogicalType() {
  _ = NSCompoundPredicate.LogicalType.and
  _ = NSCompoundPredicate.LogicalType.not
  _ = NSCompoundPredicate.LogicalType.or
}

private func useNSExpression(_ it: NSExpression) {
  _ = NSExpression(forKeyPath: "name")
  _ = NSExpression(forKeyPath: \NSManagedObject.objectID)
  _ = NSExpression.ExpressionType.self
  _ = NSExpression.allowEvaluation
  _ = NSExpression.expressionForAnyKey
  _ = NSExpression.expressionForEvaluatedObject
  _ = NSExpression.expressionValue(with:context:)
  _ = NSExpression.init(block:arguments:)
  _ = NSExpression.init(expressionType:)
  _ = NSExpression.init(forAggregate:)
  _ = NSExpression.init(forConditional:trueExpression:falseExpression:)
  _ = NSExpression.init(forConstantValue:)
  _ = NSExpression.init(forFunction:arguments:)
  _ = NSExpression.init(forFunction:selectorName:arguments:)
  _ = NSExpression.init(forIntersectSet:with:)
  _ = NSExpression.init(forMinusSet:with:)
  _ = NSExpression.init(forSubquery:usingIteratorVariable:predicate:)
  _ = NSExpression.init(forUnionSet:with:)
  _ = NSExpression.init(forVariable:)
  _ = NSExpression.init(format:_:)
  _ = NSExpression.init(format:argumentArray:)
  _ = NSExpression.init(format:arguments:)
  let _: (Any?, [NSExpression], NSMutableDictionary?) -> Any = it.expressionBlock
  let _: Any = it.collection
  let _: Any? = it.constantValue
  let _: NSExpression = it.false
  let _: NSExpression = it.left
  let _: NSExpression = it.operand
  let _: NSExpression = it.right
  let _: NSExpression = it.true
  let _: NSExpression.ExpressionType = it.expressionType
  let _: NSPredicate = it.predicate
  let _: String = it.function
  let _: String = it.keyPath
  let _: String = it.variable
  let _: [NSExpression]? = it.arguments
}

private func useNSExpressionExpressionType() {
  _ = NSExpression.ExpressionType.aggregate
  _ = NSExpression.ExpressionType.anyKey
  _ = NSExpression.ExpressionType.block
  _ = NSExpression.ExpressionType.conditional
  _ = NSExpression.ExpressionType.constantValue
  _ = NSExpression.ExpressionType.evaluatedObject
  _ = NSExpression.ExpressionType.function
  _ = NSExpression.ExpressionType.intersectSet
  _ = NSExpression.ExpressionType.keyPath
  _ = NSExpression.ExpressionType.minusSet
  _ = NSExpression.ExpressionType.subquery
  _ = NSExpression.ExpressionType.unionSet
  _ = NSExpression.ExpressionType.variable
}

private func useNSExpressionDescription(_ it: NSExpressionDescription) {
  let _: NSAttributeDescription.AttributeType = it.resultType
  let _: NSAttributeType = it.expressionResultType
  let _: NSExpression? = it.expression
}

private func useNSPredicate() {
  _ = NSPredicate.allowEvaluation
  _ = NSPredicate.evaluate(with:)
  _ = NSPredicate.evaluate(with:substitutionVariables:)
  _ = NSPredicate.init(_:)
  _ = NSPredicate.init(block:)
  _ = NSPredicate.init(format:_:)
  _ = NSPredicate.init(format:argumentArray:)
  _ = NSPredicate.init(format:arguments:)
  _ = NSPredicate.init(value:)
  _ = NSPredicate.withSubstitutionVariables(_:)
}

private func useNSSortDescriptor(_ it: NSSortDescriptor) {
  _ = NSSortDescriptor(keyPath: \NSManagedObject.objectID, ascending: true)
  _ = NSSortDescriptor(keyPath: \NSManagedObject.objectID, ascending: true) { _, _ in .orderedSame }
  _ = NSSortDescriptor.allowEvaluation
  _ = NSSortDescriptor.compare(_:to:)
  _ = NSSortDescriptor.init(key:ascending:)
  _ = NSSortDescriptor.init(key:ascending:comparator:)
  _ = NSSortDescriptor.init(key:ascending:selector:)
  _ = { (descriptor: SortDescriptor<NSManagedObject>) in NSSortDescriptor(descriptor) }
  let _: Any = it.reversedSortDescriptor
  let _: AnyKeyPath? = it.keyPath
  let _: Bool = it.ascending
  let _: Comparator = it.comparator
  let _: String? = it.key
}
