/// An aggregate in a condition of what each object has one of, `max(age)` in `age == max(age)`: it is of all objects of the entity that the condition is about.
struct AggregateOfAll {
  let aggregate: FetchAggregate
  /// The whole, as a column of a request for rows of values.
  let expression: FetchExpression
  /// What it is of, looked up.
  let values: ResolvedExpression
  /// Whether a value that several objects have counts once.
  let isDistinct: Bool
  /// What the sum of nothing is.
  let zero: AttributeValue

  /// Nil for every other part of a condition.
  /// - Throws: `FetchError` for an aggregate that cannot be made of such values.
  init?(_ part: FetchExpression, entity: EntitySchema, schema: Schema) throws {
    guard let (aggregate, values) = part.aggregated else { return nil }
    var resolver = PredicateResolver(entity: entity, schema: schema)
    // What is about members that a sub-query looks at is none of all objects.
    let (plain, isDistinct) = values.withoutDistinct
    guard let typed = try? resolver.expression(plain), !typed.type.isMany, !typed.expression.isConstant
    else { return nil }
    resolver.allowsGroups = true
    let whole = FetchExpression.aggregate(aggregate, values)
    // That the aggregate can be made of them, and what it is of nothing.
    guard case .aggregate(_, _, let zero) = try resolver.expression(whole).expression else { return nil }
    (self.aggregate, expression, self.values, self.zero) = (aggregate, whole, typed.expression, zero)
    self.isDistinct = isDistinct && aggregate.mindsRepeats
  }
}
