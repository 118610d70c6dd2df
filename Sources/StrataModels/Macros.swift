// What the macros of a model are called. Docs/TypedModels.md shows what each says.

/// Makes the stored properties of a class the properties of its entity.
///
///     @Managed final class Book: ManagedObject {
///       @Unique var isbn: String
///       var title = ""
///       @Relationship(.cascade, inverse: \Chapter.book) var chapters: [Chapter]
///     }
///
/// Each property gets a getter and a setter that go straight to its place in the object's row, which is found by name. The class gets its slots
/// (`Book.Slots.title`), its entity (`Book.entityDeclaration`), the struct `Book.Value` and, when it is final, `value`.
@attached(
  member, names: named(Slots), named(entityDeclaration), named(ignoredProperties), named(_setInitialValues),
  named(Value), named(value))
@attached(memberAttribute)
public macro Managed(_ options: EntityOption...) =
  #externalMacro(module: "StrataModelMacros", type: "ManagedMacro")

/// The accessors of one property. Written by ``Managed(_:)``.
@attached(accessor)
public macro _ManagedProperty() = #externalMacro(module: "StrataModelMacros", type: "ManagedPropertyMacro")

/// No two objects have the same value of the attribute.
@attached(peer)
public macro Unique() = #externalMacro(module: "StrataModelMacros", type: "PropertyMarkerMacro")

/// The store keeps an index of the attribute.
@attached(peer)
public macro Indexed() = #externalMacro(module: "StrataModelMacros", type: "PropertyMarkerMacro")

/// The store keeps an index of the attribute that holds the objects which satisfy a condition: `@Indexed(where: Attribute("published") != nil)`.
///
/// - Parameters:
///   - condition: Compares attributes of the class with constants; see ``FetchIndexDescription/partialIndexPredicate``.
///   - isAscending: The direction in which the index sorts.
///   - name: The index's name; by default made of the attribute's.
@attached(peer)
public macro Indexed(where condition: FetchPredicate, isAscending: Bool = true, name: String? = nil) =
  #externalMacro(module: "StrataModelMacros", type: "PropertyMarkerMacro")

/// What else there is to say of an attribute: rules, a name it had before, a transformer.
@attached(peer)
public macro Attribute(_ options: AttributeOption...) =
  #externalMacro(module: "StrataModelMacros", type: "PropertyMarkerMacro")

/// A relationship: to-one for `Author?`, to-many for `Set<Book>`, ordered for `[Chapter]`.
///
/// The property at the other end that leads back may name this one as its inverse; it need not where only one can be meant.
@attached(peer)
public macro Relationship(_ options: RelationshipOption...) =
  #externalMacro(module: "StrataModelMacros", type: "PropertyMarkerMacro")

/// A relationship, and the property that leads back: to-one for `Author?`, to-many for `Set<Book>`, ordered for `[Chapter]`.
///
/// - Parameter inverse: The property at the other end that leads back. Written at one end; the other end's is known from it. (At both ends the compiler
///   finds a circle.) A relationship that is its own inverse is `.symmetric` instead.
@attached(peer)
public macro Relationship<Destination: ManagedObject, Value>(
  _ options: RelationshipOption..., inverse: KeyPath<Destination, Value>
) = #externalMacro(module: "StrataModelMacros", type: "PropertyMarkerMacro")

/// An attribute that the store computes in every save: a copy, a count, a sum (``DerivedAttributeDescription``).
@attached(peer)
public macro Derived(_ expression: String, _ options: AttributeOption...) =
  #externalMacro(module: "StrataModelMacros", type: "PropertyMarkerMacro")

/// An attribute that is kept in memory only, of whatever Sendable type. It is undone and reset like the others.
@attached(peer)
public macro Transient() = #externalMacro(module: "StrataModelMacros", type: "PropertyMarkerMacro")

/// What a request finds when the property is first read (``FetchedPropertyDescription``).
@attached(peer)
public macro Fetched(_ request: FetchRequest<ManagedObjectID>) =
  #externalMacro(module: "StrataModelMacros", type: "PropertyMarkerMacro")

/// An ordinary stored property, which the model leaves alone.
@attached(peer)
public macro Ignored() = #externalMacro(module: "StrataModelMacros", type: "PropertyMarkerMacro")

/// A struct whose properties are the elements of a composite attribute.
@attached(
  extension, conformances: CompositeValue, names: named(elements), named(init(elements:)),
  named(elementValues))
public macro Composite() = #externalMacro(module: "StrataModelMacros", type: "CompositeMacro")
