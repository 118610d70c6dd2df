import StrataCore

/// A descriptor that is being asked of the stores: those of the program's own are given it, while others see the request that it has become.
struct AskedFetch {
  /// A `FetchDescriptor`.
  private let descriptor: Any
  private let predicate: FetchPredicate?
  private let sorts: [FetchSort]

  init<T: PersistentModel>(_ descriptor: FetchDescriptor<T>, as request: FetchRequest<ManagedObject>) {
    self.descriptor = descriptor
    predicate = request.predicate
    sorts = request.sortDescriptors
  }

  /// The descriptor, where a request of the context is the whole of what it has become; nil where only slots and numbers are known, or something else is asked meanwhile.
  func descriptor<T: PersistentModel>(of type: T.Type, for request: ResolvedFetchRequest) -> FetchDescriptor<
    T
  >? {
    guard let source = request.source, !request.continues, source.predicate == predicate,
      source.sortDescriptors == sorts
    else { return nil }
    return descriptor as? FetchDescriptor<T>
  }
}

/// How models are deleted that a program's store may delete in a way of its own.
enum OwnDeletion {
  /// Everything there is.
  case everything
  /// What satisfies a condition: these models, and what follows from their delete rules.
  case batch(any BatchDeletion, matched: Set<ManagedObjectID>)
}
