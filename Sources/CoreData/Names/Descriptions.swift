import StrataCore

/// The entities of a store.
public typealias NSManagedObjectModel = ManagedObjectModel
/// A kind of record.
public typealias NSEntityDescription = EntityDescription
/// What an entity has: an attribute, a relationship, a fetched property.
public typealias NSPropertyDescription = PropertyDescription
/// An attribute of an entity.
public typealias NSAttributeDescription = AttributeDescription
/// An attribute whose value the store computes.
public typealias NSDerivedAttributeDescription = DerivedAttributeDescription
/// An attribute made of attributes.
public typealias NSCompositeAttributeDescription = CompositeAttributeDescription
/// A relationship of an entity.
public typealias NSRelationshipDescription = RelationshipDescription
/// An index of an entity.
public typealias NSFetchIndexDescription = FetchIndexDescription
/// One key of an index.
public typealias NSFetchIndexElementDescription = FetchIndexElementDescription
/// How an index keeps a key.
public typealias NSFetchIndexElementType = FetchIndexElementType
