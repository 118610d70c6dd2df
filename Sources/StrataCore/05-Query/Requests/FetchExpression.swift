import Foundation

/// A value computed for an object: what stands on either side of a comparison, in a column of a dictionary result, or in
/// a batch update.
///
/// A tree of values: three spellings make it (format strings, `#Predicate`, code) and one evaluator understands it. Names are
/// looked up and types checked when a request is executed.
public indirect enum FetchExpression: Sendable, Hashable {
  /// A value. Nil is `.constant(.null)`.
  case constant(AttributeValue)
  /// A list of values: `{1, 2, 3}`, the right side of `IN` and, with two elements, of `BETWEEN`.
  case list([FetchExpression])
  /// Objects, by their identifiers (rule 107). Several, and none, stand for a list; one stands for itself beside `==`, and for a list of
  /// one where there must be a list: beside `IN`, before `CONTAINS`, behind `ANY`. `.list` of one is always a list.
  case objects([ManagedObjectID])
  /// An entity of the model, by its name: what `entity` of an object is compared with. Equal to that very entity, not to those that inherit
  /// from it.
  case entity(String)
  /// The object the expression is evaluated for: `SELF`.
  case evaluatedObject
  /// What the names of `keys` lead to, beginning at `base`: attributes, elements of composite attributes, relationships.
  /// Behind a to-many relationship stand the values of all its members.
  case keyPath(base: FetchExpression, keys: [String])
  /// A value given later, or the element a sub-query looks at: `$name`, here without the sign.
  case variable(String)
  /// One value of many: of the members of a to-many key path, of a list, or, in a dictionary result, of the rows of a group.
  case aggregate(FetchAggregate, FetchExpression)
  /// Those members of a to-many key path for which the predicate is true.
  case subquery(FetchExpression, variable: String, FetchPredicate)
  /// A function of other values.
  case function(FetchFunction, [FetchExpression])
  /// The first expression where the predicate is true, the second elsewhere: `TERNARY(p, a, b)`.
  case conditional(FetchPredicate, FetchExpression, FetchExpression)
}

/// How many values become one.
public enum FetchAggregate: String, Sendable, Hashable, CaseIterable {
  /// How many there are: members of a relationship, or values that are not nil.
  case count
  /// Their sum; 0 of none. Integers stay integers; more than 64 bits is an error of the fetch.
  case sum
  /// Their mean, a double; nil of none.
  case average
  /// The smallest; nil of none.
  case minimum
  /// The largest; nil of none.
  case maximum
}

/// The functions of expressions. Each is nil when one of its arguments is, unless said otherwise.
public enum FetchFunction: String, Sendable, Hashable, CaseIterable {
  /// Arithmetic on numbers. Of integers the result is an integer where Core Data's is: `7 / 2` is 3; division by zero and
  /// overflow give nil.
  case add, subtract, multiply, divide, modulus, negate, power
  /// Of one number.
  case absolute, squareRoot, exponential, naturalLogarithm, logarithm, ceiling, floor, truncate
  /// Bits of integers.
  case bitwiseAnd, bitwiseOr, bitwiseXor, onesComplement, leftShift, rightShift
  /// Of one string: its case changed by Unicode's full mapping without regard to a locale, its canonical decomposition without
  /// marks, its number of characters.
  case lowercase, uppercase, canonical, length
  /// Two strings, one after the other.
  case concatenate
  /// The first argument that is not nil.
  case coalesce
  /// The moment at which the request is executed, the same for all of its objects.
  case now
  /// A value as an attribute of another type would have it; the second argument names the type.
  case cast
  /// Many values without those that are nil or there already, which only an aggregate takes: `count:(distinct:(city))`.
  case distinct
}
