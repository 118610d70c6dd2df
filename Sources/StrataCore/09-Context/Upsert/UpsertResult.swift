/// How an upsert treats the members of a to-many relationship that a record names.
public enum UpsertRelationshipRule: Sendable {
  /// The members named are added; those that are there stay.
  case merge
  /// The members named become the members.
  case replace
}

/// What an upsert has done: objects of the context, unsaved where they are new or have changed.
public struct UpsertResult<T: ManagedObject> {
  /// The object of each record, in the order of the records; records with the same key have the same object.
  public let objects: [T]
  /// How many objects are new.
  public let insertedCount: Int
  /// How many objects there were that have changed.
  public let updatedCount: Int
  /// How many objects there were that are what the records say already.
  public let unchangedCount: Int

  /// The IDs of `objects`.
  public var objectIDs: [ManagedObjectID] { objects.map(\.objectID) }
}
