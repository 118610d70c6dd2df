import Foundation

/// One attribute of an entity. Core Data's `NSAttributeDescription`; ``CompositeAttributeDescription`` for one that is made
/// of others.
///
/// Mutable until the model is taken into use (rule 298).
public class AttributeDescription: PropertyDescription, @unchecked Sendable {
  // @unchecked Sendable: see PropertyDescription.

  /// The type of the values.
  @_disfavoredOverload public var attributeType: AttributeType = .undefined {
    willSet { requireMutable("attributeType") }
  }
  /// What a new object starts with. Must fit ``attributeType``; checked when the model is taken into use. Of a transformable attribute a value
  /// that its transformer takes, which it is asked when a store is attached.
  @_disfavoredOverload public var defaultValue: Any? { willSet { requireMutable("defaultValue") } }
  /// Core Data's wish to keep large data outside the row. Rows here always do so from 1,024 bytes on; the flag
  /// is carried along.
  public var allowsExternalBinaryDataStorage = false {
    willSet { requireMutable("allowsExternalBinaryDataStorage") }
  }
  /// The name of the transformer that makes bytes of a transformable attribute's values, see ``AttributeTransformers``.
  ///
  /// Nil stands for ``PlainValueTransformer``. Part of the version hash of transformable attributes.
  public var valueTransformerName: String? {
    willSet { requireMutable("valueTransformerName") }
    didSet { declaredTransformer = nil }
  }
  /// The name of the class of a transformable attribute's values. Kept for readers of the model; it has no effect.
  public var attributeValueClassName: String? { willSet { requireMutable("attributeValueClassName") } }
  /// Whether persistent history keeps the last value of a deleted object.
  public var preservesValueInHistoryOnDeletion = false {
    willSet { requireMutable("preservesValueInHistoryOnDeletion") }
  }

  /// What a transient attribute of type undefined starts with, as its class has declared it: of whatever type.
  var declaredDefault: Any? { willSet { requireMutable("declaredDefault") } }

  /// The transformer that the attribute's class has declared with it. What is registered under ``valueTransformerName`` may be for another type, as several have one name.
  var declaredTransformer: (any AttributeTransformer)? {
    willSet { requireMutable("declaredTransformer") }
  }

  /// What makes bytes of a transformable attribute's values; nil when nothing is registered under the name that it has.
  final var transformer: (any AttributeTransformer)? {
    declaredTransformer ?? AttributeTransformers.transformer(forName: valueTransformerName)
  }

  /// An attribute without a name yet.
  public init() { super.init(name: "") }

  /// An attribute, in one line.
  public init(
    _ name: String, _ type: AttributeType, isOptional: Bool = true, isTransient: Bool = false,
    defaultValue: Any? = nil, rules: [ValidationRule] = []
  ) {
    super.init(name: name)
    self.attributeType = type
    self.isOptional = isOptional
    self.isTransient = isTransient
    self.defaultValue = defaultValue
    self.validationRules = rules
  }

  /// The same number under Core Data's newer name.
  public final var type: AttributeType {
    get { attributeType }
    set { attributeType = newValue }
  }
}
