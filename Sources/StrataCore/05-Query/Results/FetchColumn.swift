/// A computed column of a dictionary result. Core Data's `NSExpressionDescription`.
///
///     ExpressionDescription("longest", .aggregate(.maximum, .key("distance")), .integer64)
public struct ExpressionDescription: Sendable, Hashable {
  /// What the column is called: the key of its value in a row.
  public var name: String
  /// How its value is computed.
  public var expression: FetchExpression
  /// The type its values are brought into; `undefined` takes them as they are. A value that does not fit is an error of the
  /// fetch.
  public var expressionResultType: AttributeType

  /// A column called `name`.
  public init(_ name: String, _ expression: FetchExpression, _ expressionResultType: AttributeType = .undefined)
  {
    self.name = name
    self.expression = expression
    self.expressionResultType = expressionResultType
  }
}

/// A column of a dictionary result, or what its rows are grouped by.
public enum FetchColumn: Sendable, Hashable {
  /// An attribute, an element of a composite one, or a to-one relationship; also behind to-one relationships: `origin.name`.
  case property(String)
  /// A computed value.
  case expression(ExpressionDescription)

  /// What the column is called.
  public var name: String {
    switch self {
    case .property(let name): name
    case .expression(let description): description.name
    }
  }
}

extension FetchColumn: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self = .property(value) }
}

extension FetchColumn {
  /// A computed column.
  public static func expression(
    _ name: String, _ expression: FetchExpression, _ type: AttributeType = .undefined
  ) -> FetchColumn {
    .expression(ExpressionDescription(name, expression, type))
  }

  /// How many rows there are, of all of them or of each group.
  public static func count(as name: String) -> FetchColumn {
    .expression(name, .aggregate(.count, .evaluatedObject), .integer64)
  }
}
