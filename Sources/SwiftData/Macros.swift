// What the macros are called. Docs/SwiftData.md shows what each says.

/// Makes a class a model: its stored properties are attributes and relationships of an entity of the class's name.
///
///     @Model final class Trip {
///       @Attribute(.unique) var name: String
///       var begins = Date.now
///       @Relationship(deleteRule: .cascade, inverse: \Stay.trip) var stays: [Stay] = []
///       init(name: String) { self.name = name }
///     }
///
/// The class may inherit from another model, whose properties it then has too. Initialisers are ordinary ones: what they assign is kept with
/// the object until a context takes it.
@attached(
  member, conformances: Observable, PersistentModel, Sendable,
  names: named(_$backingData), named(_$row), named(persistentBackingData), named(schemaMetadata), named(init),
  named(_$observationRegistrar), named(_SwiftDataNoType), named(access), named(withMutation),
  named(_$ModelRoot), named(_$keyPaths), named(_$holdsInitialValues))
@attached(memberAttribute)
@attached(extension, conformances: Observable, PersistentModel, Sendable)
public macro Model() = #externalMacro(module: "SwiftDataMacros", type: "PersistentModelMacro")

/// The accessors of the property at a place among those that its class declares; without a place, of one that is found by its key path alone. Written by
/// ``Model()``.
@attached(accessor, names: named(init), named(get), named(set))
@attached(peer, names: prefixed(`_`))
public macro _PersistedProperty(_ place: Int = -1) =
  #externalMacro(module: "SwiftDataMacros", type: "PersistedPropertyMacro")

/// The accessors of one property whose values a transformer keeps. Written by ``Model()``.
@attached(accessor, names: named(init), named(get), named(set))
@attached(peer, names: prefixed(`_`))
public macro _TransformablePersistedProperty() =
  #externalMacro(module: "SwiftDataMacros", type: "TransformablePropertyMacro")

/// What there is to say of an attribute: options, the name it had before, a mark of its version.
@attached(peer)
public macro Attribute(
  _ options: Schema.Attribute.Option..., originalName: String? = nil, hashModifier: String? = nil
) = #externalMacro(module: "SwiftDataMacros", type: "PropertyMarkerMacro")

/// What there is to say of a relationship: to-one for `Author?`, to-many for `[Book]`.
///
/// - Parameters:
///   - deleteRule: What the deletion of this object does to those at the other end.
///   - minimumModelCount: The fewest objects of a to-many relationship, checked by a save.
///   - maximumModelCount: The most; 0 is no limit.
///   - originalName: The name that it had in earlier versions.
///   - inverse: The property that leads back. One end names it; where only one property can be meant, none needs to.
@attached(peer)
public macro Relationship(
  _ options: Schema.Relationship.Option..., deleteRule: Schema.Relationship.DeleteRule = .nullify,
  minimumModelCount: Int? = 0, maximumModelCount: Int? = 0, originalName: String? = nil,
  inverse: AnyKeyPath? = nil, hashModifier: String? = nil
) = #externalMacro(module: "SwiftDataMacros", type: "PropertyMarkerMacro")

/// An ordinary stored property, which no store keeps and nobody observes. It has an initial value or is optional.
@attached(peer)
public macro Transient() = #externalMacro(module: "SwiftDataMacros", type: "PropertyMarkerMacro")

/// No two objects agree in all properties of one of these groups: of two, a save leaves one.
///
///     #Unique<Person>([\.givenName, \.familyName], [\.email])
@freestanding(declaration)
public macro Unique<T: PersistentModel>(_ constraints: [PartialKeyPath<T>]...) =
  #externalMacro(module: "SwiftDataMacros", type: "ModelDeclarationMacro")

/// The store keeps an index of each of these groups of properties.
///
///     #Index<Person>([\.familyName], [\.familyName, \.givenName])
@freestanding(declaration)
public macro Index<T: PersistentModel>(_ indices: [PartialKeyPath<T>]...) =
  #externalMacro(module: "SwiftDataMacros", type: "ModelDeclarationMacro")

/// The store keeps these indexes.
///
///     #Index<Place>(.binary([\.name]))
@freestanding(declaration)
public macro Index<T: PersistentModel>(_ indices: Schema.Index<T>.Types<T>...) =
  #externalMacro(module: "SwiftDataMacros", type: "ModelDeclarationMacro")

/// Makes an actor one that works with models of its own context: `modelContainer`, `modelExecutor`, an initialiser that takes the container, and
/// the conformance to ``ModelActor``.
@attached(member, names: named(modelExecutor), named(modelContainer), named(init))
@attached(extension, conformances: ModelActor)
public macro ModelActor() = #externalMacro(module: "SwiftDataMacros", type: "ModelActorMacro")
