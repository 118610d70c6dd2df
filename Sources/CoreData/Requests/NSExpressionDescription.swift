import StrataCore

/// A computed column of a dictionary result, for `propertiesToFetch` (rule 97).
public typealias NSExpressionDescription = ExpressionPropertyDescription

extension ExpressionPropertyDescription {
  /// How the values of the column are computed.
  public var expression: NSExpression? {
    get { spelledExpression as? NSExpression }
    set { spelledExpression = newValue }
  }

  /// The type the values of the column are brought into.
  public var expressionResultType: NSAttributeType {
    get { NSAttributeType(self.StrataCore::expressionResultType) }
    set { self.StrataCore::expressionResultType = newValue.core }
  }

  /// The same by the names that Swift code has for it.
  public var resultType: NSAttributeDescription.AttributeType {
    get { NSAttributeDescription.AttributeType(rawValue: expressionResultType) }
    set { expressionResultType = newValue.rawValue }
  }
}
