import StrataCore

/// A record of the object graph.
public typealias NSManagedObject = ManagedObject
/// The handle of a record.
public typealias NSManagedObjectID = ManagedObjectID
/// A scratchpad of changes, confined to its queue.
public typealias NSManagedObjectContext = ManagedObjectContext
/// The entities of a store.
public typealias NSManagedObjectModel = ManagedObjectModel
/// A kind of record.
public typealias NSEntityDescription = EntityDescription
/// What an entity has: an attribute, a relationship, a fetched property.
public typealias NSPropertyDescription = PropertyDescription
/// An attribute of an entity.
public typealias NSAttributeDescription = AttributeDescription
/// A relationship of an entity.
public typealias NSRelationshipDescription = RelationshipDescription
/// What opens stores and serves contexts.
public typealias NSPersistentStoreCoordinator = PersistentStoreCoordinator
