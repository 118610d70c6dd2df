/// A fetch request as a model's description has it, its predicate still text: what it means is for the floor of queries.
struct XcodeRequest {
  let name: String
  let entity: String
  let predicate: String?
  let fetchLimit: Int
  let fetchBatchSize: Int
  /// Nil for what the description does not say.
  let includesSubentities: Bool?
  let includesPropertyValues: Bool?
  let includesPendingChanges: Bool?
  let returnsObjectsAsFaults: Bool?
  let returnsDistinctResults: Bool?
  let line: Int
}

/// A fetched property as a model's description has it.
struct XcodeFetchedProperty {
  let entity: EntityDescription
  let name: String
  let isOptional: Bool
  let isTransient: Bool
  let renamingIdentifier: String?
  let versionHashModifier: String?
  let userInfo: [AnyHashable: Any]?
  let request: XcodeRequest
}

/// The predicate of an index as a model's description has it.
struct XcodeIndexPredicate {
  let index: FetchIndexDescription
  /// The name of the index in sentences.
  let place: String
  let text: String
  let line: Int
}

/// What the reader makes of a description: a model still without requests and predicates, and everything that is wrong so far.
struct XcodeModel {
  let model: ManagedObjectModel
  let requests: [XcodeRequest]
  let fetchedProperties: [XcodeFetchedProperty]
  let indexPredicates: [XcodeIndexPredicate]
  /// Complete sentences with the place they speak of.
  let sentences: [String]
  /// Whether the model may be looked at as a whole: it is neither too large nor tied up in itself.
  let isSound: Bool
}
