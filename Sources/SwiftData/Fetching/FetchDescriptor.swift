/// Which models of a class are fetched, in which order, and how many.
public struct FetchDescriptor<T>: @unchecked Sendable where T: PersistentModel {
  // @unchecked Sendable: predicates and sort descriptors are, and key paths of models capture nothing.

  /// What a model must satisfy; nil for all of them.
  public var predicate: Predicate<T>?
  /// The order; without any, none is promised. Nil is the smallest value. Texts without a comparator are ordered as people order them, by `localizedStandardCompare`, which takes
  /// the models into memory; `.lexical` is the order of the store.
  public var sortBy: [SortDescriptor<T>]
  /// The most models that are returned; nil for all.
  public var fetchLimit: Int?
  /// How many are left out before the first; nil for none.
  public var fetchOffset: Int?
  /// Whether unsaved changes of the context count. Without, the stored values decide; the models that are returned show their unsaved values all the same. Default true.
  public var includePendingChanges = true
  /// A hint: rows are read as a whole.
  public var propertiesToFetch: [PartialKeyPath<T>] = []
  /// Relationships whose models are read along, in one go for each.
  public var relationshipKeyPathsForPrefetching: [PartialKeyPath<T>] = []

  /// The models that satisfy `predicate`, in the order of `sortBy`.
  public init(predicate: Predicate<T>? = nil, sortBy: [SortDescriptor<T>] = []) {
    self.predicate = predicate
    self.sortBy = sortBy
  }
}

extension FetchDescriptor: Equatable {
  /// Whether everything is the same. Predicates are compared by what Foundation says of them.
  public static func == (lhs: FetchDescriptor, rhs: FetchDescriptor) -> Bool {
    lhs.sortBy == rhs.sortBy && lhs.fetchLimit == rhs.fetchLimit && lhs.fetchOffset == rhs.fetchOffset
      && lhs.includePendingChanges == rhs.includePendingChanges
      && lhs.propertiesToFetch == rhs.propertiesToFetch
      && lhs.relationshipKeyPathsForPrefetching == rhs.relationshipKeyPathsForPrefetching
      && samePredicate(lhs.predicate, rhs.predicate)
  }

  private static func samePredicate(_ a: Predicate<T>?, _ b: Predicate<T>?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    // Foundation does not compare predicates; what they say is in their description.
    return a.variable.key == b.variable.key || "\(a)" == "\(b)"
  }
}
