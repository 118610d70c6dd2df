/// What attributes, relationships, constraints and indexes of an entity have in common.
public protocol SchemaProperty: Decodable, Encodable, Hashable {
  /// The name of the property.
  var name: String { get set }
  /// The name that it had in earlier versions; ``name`` when it had no other.
  var originalName: String { get set }
  /// The type of its values, optional or not.
  var valueType: any Any.Type { get set }
  /// Whether it is an attribute.
  var isAttribute: Bool { get }
  /// Whether it is a relationship.
  var isRelationship: Bool { get }
  /// Whether no store keeps it.
  var isTransient: Bool { get }
  /// Whether it may be nil.
  var isOptional: Bool { get }
  /// Whether no two objects have the same value.
  var isUnique: Bool { get }
}

extension SchemaProperty {
  public var isAttribute: Bool { self is Schema.Attribute }
  public var isRelationship: Bool { self is Schema.Relationship }
  public var isTransient: Bool { false }
  public var isOptional: Bool { valueType is any OptionalType.Type }
}

/// An optional of whatever type.
protocol OptionalType {
  static var unwrappedType: Any.Type { get }
  /// Nil of this type.
  static var noValue: Any { get }
  /// The value, or nil.
  var anyWrapped: Any? { get }
}

extension Optional: OptionalType {
  static var unwrappedType: Any.Type { Wrapped.self }
  static var noValue: Any { Self.none as Any }
  var anyWrapped: Any? { self }
}

extension Schema {
  /// One property as the class of a model describes it. `@Model` writes these.
  public struct PropertyMetadata {
    let name: String
    fileprivate(set) var keypath: AnyKeyPath
    let defaultValue: Any?
    let metadata: (any SchemaProperty)?
    /// What `#Unique` or `#Index` says, when that is what the entry tells; nil for a property.
    var key: (any SchemaProperty)? { metadata.flatMap { $0.isAttribute || $0.isRelationship ? nil : $0 } }

    /// - Parameters:
    ///   - name: The property's name.
    ///   - keypath: The key path to it, from the class that declares it or one that inherits it.
    ///   - defaultValue: What a new object starts with; nil for none.
    ///   - metadata: What `@Attribute` or `@Relationship` says.
    public init(
      name: String, keypath: AnyKeyPath, defaultValue: Any? = nil, metadata: (any SchemaProperty)? = nil
    ) {
      self.name = name
      self.keypath = keypath
      self.defaultValue = defaultValue
      self.metadata = metadata
    }
  }
}

/// What a submodel inherits, told by key paths of its own: those are other ones than its superclass has. What `@Model` writes calls it.
/// - Parameters:
///   - metadata: What the superclass says.
///   - keyPaths: For each property of that, in order, the key path from the submodel.
public func _inherited(_ metadata: [Schema.PropertyMetadata], at keyPaths: [AnyKeyPath])
  -> [Schema.PropertyMetadata]
{
  var keyPaths = keyPaths.makeIterator()
  return metadata.map { entry in
    var entry = entry
    if entry.key == nil, let keyPath = keyPaths.next() { entry.keypath = keyPath }
    return entry
  }
}

/// What `@Attribute` says of a property. What `@Model` writes calls it, so that the compiler warns where the property is a relationship, of which it says nothing.
public func _attribute<Model, Value>(_ keyPath: KeyPath<Model, Value>, _ attribute: Schema.Attribute)
  -> Schema.Attribute
{ attribute }

/// What `@Attribute` says of a relationship: nothing.
@available(
  *, deprecated,
  message:
    "the property is a relationship: @Attribute says nothing of it; write @Relationship, or @Transient if no store is to keep it"
)
public func _attribute<Model, Value: PersistentModel>(
  _ keyPath: KeyPath<Model, Value>, _ attribute: Schema.Attribute
) -> Schema.Attribute { attribute }

/// What `@Attribute` says of a relationship: nothing.
@available(
  *, deprecated,
  message:
    "the property is a relationship: @Attribute says nothing of it; write @Relationship, or @Transient if no store is to keep it"
)
public func _attribute<Model, Value: PersistentModel>(
  _ keyPath: KeyPath<Model, Value?>, _ attribute: Schema.Attribute
) -> Schema.Attribute { attribute }

/// What `@Attribute` says of a relationship: nothing.
@available(
  *, deprecated,
  message:
    "the property is a relationship: @Attribute says nothing of it; write @Relationship, or @Transient if no store is to keep it"
)
public func _attribute<Model, Value: RelationshipCollection>(
  _ keyPath: KeyPath<Model, Value>, _ attribute: Schema.Attribute
) -> Schema.Attribute { attribute }

/// Types in a schema that is kept in a file: by their mangled names.
enum TypeCoding {
  static func name(of type: Any.Type) -> String { _mangledTypeName(type) ?? "" }
  static func type(named name: String) -> Any.Type? { name.isEmpty ? nil : _typeByName(name) }
}
