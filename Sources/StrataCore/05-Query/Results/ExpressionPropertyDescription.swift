import Foundation

/// A computed column of a dictionary result among the descriptions of properties: what stands behind `NSExpressionDescription`, which Core
/// Data puts into `propertiesToFetch` beside attributes. It belongs to no entity.
public final class ExpressionPropertyDescription: PropertyDescription, @unchecked Sendable {
  // @unchecked Sendable: see PropertyDescription.

  /// The type the values of the column are brought into; `undefined` takes them as they are.
  @_disfavoredOverload public var expressionResultType = AttributeType.undefined {
    willSet { requireMutable("expressionResultType") }
  }
  /// The expression as it was spelled.
  package var spelledExpression: AnyObject? { willSet { requireMutable("expression") } }

  /// A column without a name and an expression yet.
  public init() { super.init(name: "") }

  override var isComputed: Bool { true }

  override func sentences(_ place: String, in model: ManagedObjectModel) -> [String] {
    ["\(place) is a column of dictionary results, which no entity has."]
  }
}
