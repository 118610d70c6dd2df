import Foundation

// What slots say of themselves: to the model of a class that declares its entity, and to the check of one that does not.

extension NamedSlot {
  /// An attribute that must have a value.
  public init<Root, Value: StoredAttribute>(_ slot: borrowing Slot<Root, Value>) {
    self.init(slot.name, .attribute(Value.attributeType), typeName: "\(Value.self)")
  }
  /// An attribute that may be nil.
  public init<Root, Value: StoredAttribute>(_ slot: borrowing Slot<Root, Value?>) {
    self.init(slot.name, .attribute(Value.attributeType), typeName: "\(Value.self)?")
  }
  /// An attribute of raw values.
  public init<Root, Value: RawRepresentable>(_ slot: borrowing Slot<Root, Value>)
  where Value.RawValue: StoredAttribute {
    self.init(slot.name, .attribute(Value.RawValue.attributeType), typeName: "\(Value.self)")
  }
  /// An attribute of raw values that may be nil.
  public init<Root, Value: RawRepresentable>(_ slot: borrowing Slot<Root, Value?>)
  where Value.RawValue: StoredAttribute {
    self.init(slot.name, .attribute(Value.RawValue.attributeType), typeName: "\(Value.self)?")
  }
  /// A composite attribute.
  public init<Root, Value: CompositeValue>(_ slot: borrowing Slot<Root, Value>) {
    self.init(slot.name, .attribute(.composite), typeName: "\(Value.self)")
  }
  /// A composite attribute that may be nil.
  public init<Root, Value: CompositeValue>(_ slot: borrowing Slot<Root, Value?>) {
    self.init(slot.name, .attribute(.composite), typeName: "\(Value.self)?")
  }
  /// A transformable attribute.
  @_disfavoredOverload
  public init<Root, Value: Codable>(_ slot: borrowing Slot<Root, Value>) {
    self.init(slot.name, .attribute(.transformable), typeName: "\(Value.self)")
  }
  /// A transformable attribute that may be nil.
  @_disfavoredOverload
  public init<Root, Value: Codable>(_ slot: borrowing Slot<Root, Value?>) {
    self.init(slot.name, .attribute(.transformable), typeName: "\(Value.self)?")
  }
  /// A to-one relationship.
  public init<Root, Other: ManagedObject>(_ slot: borrowing Slot<Root, Other?>) {
    self.init(slot.name, .toOne, typeName: "\(Other.self)?")
  }
  /// A to-many relationship.
  public init<Root, Other: ManagedObject>(_ slot: borrowing Slot<Root, Set<Other>>) {
    self.init(slot.name, .toMany, typeName: "Set<\(Other.self)>")
  }
  /// An ordered relationship.
  public init<Root, Other: ManagedObject>(_ slot: borrowing Slot<Root, [Other]>) {
    self.init(slot.name, .ordered, typeName: "[\(Other.self)]")
  }
}

// MARK: Attributes

extension Slot where Value: StoredAttribute {
  /// The attribute as its entity has it. A new object starts with `value`; without one, it must be set before the first save.
  public borrowing func attribute(default value: Value? = nil, _ options: AttributeOption...)
    -> PropertyDeclaration
  {
    PropertyDeclaration(
      NamedSlot(self),
      .attribute(
        type: Value.attributeType, isOptional: false, defaultValue: value?.storedValue.anyValue,
        options: options))
  }
  /// The attribute, kept in memory only.
  public borrowing func transient(default value: Value? = nil) -> PropertyDeclaration {
    PropertyDeclaration(
      NamedSlot(self),
      .transient(type: Value.attributeType, isOptional: true, defaultValue: value?.storedValue.anyValue))
  }
  /// The attribute, derived from others by an expression of ``DerivedAttributeDescription``.
  public borrowing func derived(_ expression: String, _ options: AttributeOption...) -> PropertyDeclaration {
    PropertyDeclaration(
      NamedSlot(self), .derived(type: Value.attributeType, expression: expression, options: options))
  }
}

extension Slot {
  /// The attribute as its entity has it.
  public borrowing func attribute<Wrapped: StoredAttribute>(
    default value: Wrapped? = nil, _ options: AttributeOption...
  )
    -> PropertyDeclaration where Value == Wrapped?
  {
    PropertyDeclaration(
      NamedSlot(self),
      .attribute(
        type: Wrapped.attributeType, isOptional: true, defaultValue: value?.storedValue.anyValue,
        options: options))
  }
  /// The attribute, kept in memory only.
  public borrowing func transient<Wrapped: StoredAttribute>(default value: Wrapped? = nil)
    -> PropertyDeclaration
  where Value == Wrapped? {
    PropertyDeclaration(
      NamedSlot(self),
      .transient(type: Wrapped.attributeType, isOptional: true, defaultValue: value?.storedValue.anyValue))
  }
  /// The attribute, derived from others by an expression of ``DerivedAttributeDescription``.
  public borrowing func derived<Wrapped: StoredAttribute>(_ expression: String, _ options: AttributeOption...)
    -> PropertyDeclaration where Value == Wrapped?
  {
    PropertyDeclaration(
      NamedSlot(self), .derived(type: Wrapped.attributeType, expression: expression, options: options))
  }

  /// The attribute of raw values as its entity has it.
  public borrowing func attribute(default value: Value? = nil, _ options: AttributeOption...)
    -> PropertyDeclaration
  where Value: RawRepresentable, Value.RawValue: StoredAttribute {
    PropertyDeclaration(
      NamedSlot(self),
      .attribute(
        type: Value.RawValue.attributeType, isOptional: false,
        defaultValue: value?.rawValue.storedValue.anyValue,
        options: options))
  }
  /// The attribute of raw values as its entity has it.
  public borrowing func attribute<Wrapped: RawRepresentable>(
    default value: Wrapped? = nil, _ options: AttributeOption...
  )
    -> PropertyDeclaration where Value == Wrapped?, Wrapped.RawValue: StoredAttribute
  {
    PropertyDeclaration(
      NamedSlot(self),
      .attribute(
        type: Wrapped.RawValue.attributeType, isOptional: true,
        defaultValue: value?.rawValue.storedValue.anyValue,
        options: options))
  }

  /// The composite attribute as its entity has it. The elements of a new object's start with those of `value`.
  public borrowing func attribute(default value: Value? = nil, _ options: AttributeOption...)
    -> PropertyDeclaration
  where Value: CompositeValue {
    PropertyDeclaration(
      NamedSlot(self),
      .composite(elements: { Value.elements(startingWith: value) }, isOptional: false, options: options))
  }
  /// The composite attribute as its entity has it. The elements of a new object's start with those of `value`.
  public borrowing func attribute<Wrapped: CompositeValue>(
    default value: Wrapped? = nil, _ options: AttributeOption...
  )
    -> PropertyDeclaration
  where Value == Wrapped? {
    PropertyDeclaration(
      NamedSlot(self),
      .composite(elements: { Wrapped.elements(startingWith: value) }, isOptional: true, options: options))
  }

  /// The transformable attribute as its entity has it: JSON, unless the options name a transformer.
  @_disfavoredOverload
  public borrowing func attribute(default value: Value? = nil, _ options: AttributeOption...)
    -> PropertyDeclaration
  where Value: Codable & Sendable {
    // An optional type is Codable, too, and this is what the compiler takes for it.
    if let optional = Value.self as? any OptionalCodable.Type {
      return optional.declaration(NamedSlot(self), value, options)
    }
    return .transformable(NamedSlot(self), Value.self, isOptional: false, value, options)
  }
  /// The transformable attribute as its entity has it: JSON, unless the options name a transformer.
  @_disfavoredOverload
  public borrowing func attribute<Wrapped: Codable & Sendable>(
    default value: Wrapped? = nil, _ options: AttributeOption...
  )
    -> PropertyDeclaration where Value == Wrapped?
  {
    .transformable(NamedSlot(self), Wrapped.self, isOptional: true, value, options)
  }

  /// The attribute of a type that no store keeps, kept in memory only.
  @_disfavoredOverload
  public borrowing func transient(default value: Value? = nil) -> PropertyDeclaration where Value: Sendable {
    PropertyDeclaration(
      NamedSlot(name, .unknown, typeName: "\(Value.self)"),
      .transient(type: .undefined, isOptional: true, defaultValue: value))
  }
}

extension PropertyDeclaration {
  fileprivate static func transformable<Value: Codable>(
    _ slot: NamedSlot, _ type: Value.Type, isOptional: Bool, _ defaultValue: Value?,
    _ options: [AttributeOption]
  ) -> PropertyDeclaration {
    var options = options
    var prepare: (() -> Void)?
    var transformer: (any AttributeTransformer)?
    if !options.contains(where: { if case .transformer = $0.kind { true } else { false } }) {
      let name = "Codable<\(Value.self)>"
      options.append(.transformer(name))
      prepare = { CodableTransformers.register(Value.self, name) }
      transformer = DeclaredTransformer<Value>()
    }
    return PropertyDeclaration(
      slot,
      .attribute(type: .transformable, isOptional: isOptional, defaultValue: defaultValue, options: options),
      prepare: prepare, transformer: transformer)
  }
}

extension CompositeValue {
  /// The elements with the values of a composite as their defaults.
  fileprivate static func elements(startingWith value: Self?) -> [AttributeDescription] {
    let described = elements
    if let value { described.startWith(value.elementValues) }
    return described
  }
}

extension [AttributeDescription] {
  fileprivate func startWith(_ values: [String: Any]) {
    for element in self {
      guard let value = values[element.name] else { continue }
      if let composite = element as? CompositeAttributeDescription {
        composite.elements.startWith(value as? [String: Any] ?? [:])
      } else {
        element.defaultValue = value
      }
    }
  }
}

/// An optional value that is kept as JSON.
private protocol OptionalCodable {
  static func declaration(_ slot: NamedSlot, _ defaultValue: Any?, _ options: [AttributeOption])
    -> PropertyDeclaration
}

extension Optional: OptionalCodable where Wrapped: Codable {
  static func declaration(_ slot: NamedSlot, _ defaultValue: Any?, _ options: [AttributeOption])
    -> PropertyDeclaration
  {
    .transformable(slot, Wrapped.self, isOptional: true, defaultValue as? Wrapped, options)
  }
}

/// The transformers that declarations have registered, for models that are read from stores and know names only. Attributes that a class declares have their own.
private enum CodableTransformers {
  static func register<Value: Codable>(_ type: Value.Type, _ name: String) {
    guard let known = AttributeTransformers.transformer(forName: name) else {
      AttributeTransformers.set(DeclaredTransformer<Value>(), forName: name)
      return
    }
    // What a program has registered under the name itself stays.
    guard known is any AnyDeclaredTransformer, !(known is DeclaredTransformer<Value>) else { return }
    AttributeTransformers.set(AmbiguousTransformer(name: name), forName: name)
  }
}

/// Stands for a name that several types have: which of them a value is of only the attributes know.
private struct AmbiguousTransformer: AttributeTransformer {
  let name: String

  private var fault: CoreDataError {
    CoreDataError(
      .coreData,
      "several types of this program are kept by a transformer called “\(name)”: name one for each with .transformer(…), and register it."
    )
  }
  func transform(_ value: Any) throws -> Data { throw fault }
  func reverse(_ data: Data) throws -> Any { throw fault }
}

private protocol AnyDeclaredTransformer: AttributeTransformer {}

/// A ``CodableTransformer`` for a type of which the declaration has made sure that it is Sendable, and a conformance cannot.
private struct DeclaredTransformer<Value: Codable>: AnyDeclaredTransformer, @unchecked Sendable {
  // @unchecked Sendable: it has no state.
  func transform(_ value: Any) throws -> Data { try CodableBytes.transform(value, of: Value.self) }
  func reverse(_ data: Data) throws -> Any { try CodableBytes.reverse(data, of: Value.self) }
}

// MARK: Relationships

extension Slot {
  /// The to-one relationship as its entity has it.
  ///
  /// - Parameters:
  ///   - options: What else the relationship is, such as its delete rule.
  ///   - inverse: The property that leads back; nil when that one names this one, or there is only one that can be meant.
  public borrowing func relationship<Other: ManagedObject>(
    _ options: RelationshipOption..., inverse: String? = nil
  )
    -> PropertyDeclaration where Value == Other?
  {
    PropertyDeclaration(
      NamedSlot(self),
      .relationship(
        RelationshipDeclaration(
          destination: Other.self, isToMany: false, isOrdered: false, inverse: inverse, options: options)))
  }
  /// The to-many relationship as its entity has it.
  ///
  /// - Parameters:
  ///   - options: What else the relationship is, such as its delete rule.
  ///   - inverse: The property that leads back; nil when that one names this one, or there is only one that can be meant.
  public borrowing func relationship<Other: ManagedObject>(
    _ options: RelationshipOption..., inverse: String? = nil
  )
    -> PropertyDeclaration where Value == Set<Other>
  {
    PropertyDeclaration(
      NamedSlot(self),
      .relationship(
        RelationshipDeclaration(
          destination: Other.self, isToMany: true, isOrdered: false, inverse: inverse, options: options)))
  }
  /// The ordered relationship as its entity has it.
  ///
  /// - Parameters:
  ///   - options: What else the relationship is, such as its delete rule.
  ///   - inverse: The property that leads back; nil when that one names this one, or there is only one that can be meant.
  public borrowing func relationship<Other: ManagedObject>(
    _ options: RelationshipOption..., inverse: String? = nil
  )
    -> PropertyDeclaration where Value == [Other]
  {
    PropertyDeclaration(
      NamedSlot(self),
      .relationship(
        RelationshipDeclaration(
          destination: Other.self, isToMany: true, isOrdered: true, inverse: inverse, options: options)))
  }
  /// The fetched property as its entity has it.
  public borrowing func fetched<Other: ManagedObject>(_ request: FetchRequest<ManagedObjectID>)
    -> PropertyDeclaration
  where Value == [Other] {
    PropertyDeclaration(
      NamedSlot(name, .fetched, typeName: "[\(Other.self)]"),
      .other { FetchedPropertyDescription($0, fetchRequest: request) })
  }
}
