/// An attribute whose value follows from other values. Core Data's `NSDerivedAttributeDescription` (rules 335–340).
///
/// Stored like every other attribute, so it can be fetched by, sorted by and indexed; but the store itself computes it, inside
/// the transaction of every save that changes what it follows from, in any context. The saving object has the new value
/// right after the save; until then it has the old one, nil when it is new, in child contexts too. It cannot be set. A default value is not used.
///
/// An expression of another form, or one that does not fit the model's entities, is refused when the model is
/// taken into use (rule 340):
///
/// | expression | value |
/// |---|---|
/// | `name`, `category.name` | a copy of an attribute of the same type, also across one to-one relationship |
/// | `canonical:(name)` | a string without case and diacritics |
/// | `uppercase:(name)`, `lowercase:(name)` | a string in that case |
/// | `children.@count` | the number of objects in a to-many relationship, as an integer |
/// | `children.@sum.amount` | the sum of a number of theirs; nil counts as 0. Costs reading all of them |
/// | `now()` | the moment of the save that last changed the object, as a date |
///
/// What it follows from cannot be derived, transient, transformable or a composite as a whole.
///
/// Mutable until the model is taken into use (rule 298).
public final class DerivedAttributeDescription: AttributeDescription, @unchecked Sendable {
  // @unchecked Sendable: see PropertyDescription.

  /// What the value follows from. Core Data takes an expression object whose text this is.
  @_disfavoredOverload public var derivationExpression: String? {
    willSet { requireMutable("derivationExpression") }
  }

  /// A derived attribute without a name yet.
  public override init() { super.init() }

  /// A derived attribute, in one line.
  public init(
    _ name: String, _ type: AttributeType, derivationExpression: String, isOptional: Bool = true
  ) {
    super.init(name, type, isOptional: isOptional)
    setDerivationExpression(derivationExpression)
  }

  // Property observers do not run for assignments in an initialiser's own body.
  private func setDerivationExpression(_ text: String) { derivationExpression = text }

  /// The expression, understood; nil when it is none of the forms.
  var derivation: Derivation? { derivationExpression.flatMap { Derivation($0) } }
}
