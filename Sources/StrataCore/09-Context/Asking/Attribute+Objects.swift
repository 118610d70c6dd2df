// Conditions about to-one relationships: which object they lead to.

extension Attribute {
  /// True when the to-one relationship leads to the object; to none, where that is nil: `Attribute("owner") == person`.
  @_disfavoredOverload
  public static func == (left: Attribute, right: ManagedObject?) -> FetchPredicate {
    left.leads(.equal, to: right?.objectID)
  }
  /// True when the to-one relationship leads to another object, or to none; to some, where the object is nil.
  @_disfavoredOverload
  public static func != (left: Attribute, right: ManagedObject?) -> FetchPredicate {
    left.leads(.notEqual, to: right?.objectID)
  }
  /// True when the to-one relationship leads to the object with the ID; to none, where that is nil: `Attribute("owner") == person.objectID`.
  @_disfavoredOverload
  public static func == (left: Attribute, right: ManagedObjectID?) -> FetchPredicate {
    left.leads(.equal, to: right)
  }
  /// True when the to-one relationship leads to another object than that with the ID, or to none; to some, where the ID is nil.
  @_disfavoredOverload
  public static func != (left: Attribute, right: ManagedObjectID?) -> FetchPredicate {
    left.leads(.notEqual, to: right)
  }

  /// True when the to-one relationship leads to one of the objects.
  public func isIn<Object: ManagedObject>(_ objects: some Sequence<Object>) -> FetchPredicate {
    isIn(objects.map(\.objectID))
  }
  /// True when the to-one relationship leads to one of the objects with these IDs.
  public func isIn(_ identifiers: some Sequence<ManagedObjectID>) -> FetchPredicate {
    .compare(FetchComparison(.key(key), .in, .objects(Array(identifiers))))
  }

  private func leads(_ operation: ComparisonOperator, to identifier: ManagedObjectID?) -> FetchPredicate {
    let end = identifier.map { FetchExpression.objects([$0]) } ?? .constant(.null)
    return .compare(FetchComparison(.key(key), operation, end))
  }
}
