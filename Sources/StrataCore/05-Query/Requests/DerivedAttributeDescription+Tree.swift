extension DerivedAttributeDescription {
  /// The derivation as an expression; nil when it is none of the forms.
  package var derivationTree: FetchExpression? {
    switch derivation {
    case nil: nil
    case .now?: .function(.now, [])
    case .copy(let path, nil)?: Self.path(path)
    case .copy(let path, .canonical)?: .function(.canonical, [Self.path(path)])
    case .copy(let path, .uppercase)?: .function(.uppercase, [Self.path(path)])
    case .copy(let path, .lowercase)?: .function(.lowercase, [Self.path(path)])
    case .count(let relationship)?: .aggregate(.count, Self.path([relationship]))
    case .sum(let relationship, let attribute)?:
      .aggregate(.sum, Self.path([relationship] + attribute.split(separator: ".").map(String.init)))
    }
  }

  private static func path(_ keys: [String]) -> FetchExpression {
    .keyPath(base: .evaluatedObject, keys: keys)
  }
}
