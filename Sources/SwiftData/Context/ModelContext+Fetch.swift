import StrataCore

extension ModelContext {
  /// The models that match, each the one instance that this context has of its row; unsaved changes count unless the descriptor says otherwise.
  ///
  /// - Throws: ``SwiftDataError``: `unsupportedPredicate`, `unsupportedSortDescriptor`, `unsupportedKeyPath` with the reason,
  ///   `unknownSchema` for a class that the container does not have. `CocoaError` for a store that cannot be read; what a store of the program's own throws.
  public func fetch<T>(_ descriptor: FetchDescriptor<T>) throws -> [T] where T: PersistentModel {
    try lowering(descriptor) { try found($0) }
  }

  /// What `body` makes of a descriptor. Where no store can answer its predicate, it is asked again with one that the models themselves answer.
  private func lowering<T, R>(_ descriptor: FetchDescriptor<T>, _ body: (LoweredFetch<T>) throws -> R) throws
    -> R
  where T: PersistentModel {
    enter()
    return try translating {
      do {
        return try body(LoweredFetch(descriptor, self))
      } catch  where Self.isForModels(error) {
        return try body(LoweredFetch(descriptor, self, inMemory: descriptor.predicate))
      }
    }
  }

  /// Whether the models themselves answer what no store can: what a cast asks of a subclass, how the user's language orders texts, and whether an optional to-many relationship
  /// is nil, which it never is here.
  static func isForModels(_ error: any Error) -> Bool {
    if let error = error as? PredicateTranslationError {
      return error.expression.hasSuffix("Cast") || error.expression.hasSuffix("StringLocalizedCompare")
    }
    if let error = error as? FetchError, case .toManyKey = error.reason { return true }
    return false
  }

  private func found<T: PersistentModel>(_ lowered: LoweredFetch<T>) throws -> [T] {
    if lowered.isEmpty { return [] }
    if lowered.isFinishedHere, !lowered.request.includesPendingChanges, rows.hasChanges {
      let entity = ModelDescriptor.of(T.self).entityName
      return models(
        try rows.objects(try storedRows(lowered.descriptor), entity: entity, includesPendingChanges: false))
    }
    return try lowered.finish(models(try rows.asking(lowered.asked) { try rows.fetch(lowered.request) }))
  }

  /// The rows whose stored values match, in order. Found in a context without changes: the models of this one answer a predicate by what is unsaved.
  func storedRows<T: PersistentModel>(_ descriptor: FetchDescriptor<T>) throws -> [ManagedObjectID] {
    let context = ModelContext(container)
    context.autosaveEnabled = false
    return try context.fetch(descriptor).compactMap { $0.modelRow?.objectID }
  }

  private func models<T: PersistentModel>(_ objects: consuming [ManagedObject]) -> [T] {
    RowBacking<T>.models(of: objects)
  }

  /// How many models `fetch` would return.
  ///
  /// - Throws: as ``fetch(_:)``.
  public func fetchCount<T>(_ descriptor: FetchDescriptor<T>) throws -> Int where T: PersistentModel {
    // How they are sorted does not matter.
    var plain = descriptor
    plain.sortBy = []
    return try lowering(plain) { lowered in
      if lowered.isEmpty { return 0 }
      if lowered.isFinishedHere { return try found(lowered).count }
      return try rows.asking(lowered.asked) { try rows.count(for: lowered.request) }
    }
  }

  /// The identifiers of the models that match.
  ///
  /// - Throws: ``SwiftDataError/sortingPendingChangesWithIdentifiers`` when the descriptor sorts and includes unsaved changes, and there are any; as ``fetch(_:)``.
  // K14: the same error as Apple's; without unsaved changes there is nothing that could be in the wrong place.
  public func fetchIdentifiers<T>(_ descriptor: FetchDescriptor<T>) throws -> [PersistentIdentifier]
  where T: PersistentModel {
    enter()
    if descriptor.includePendingChanges, !descriptor.sortBy.isEmpty, hasChanges {
      throw SwiftDataError(
        .sortingPendingChangesWithIdentifiers,
        "save first, leave includePendingChanges or sortBy out, or fetch the models")
    }
    return try lowering(descriptor) { lowered in
      if lowered.isEmpty { return [] }
      if lowered.isFinishedHere || rows.hasChanges { return try found(lowered).map(\.persistentModelID) }
      return try rows.asking(lowered.asked) {
        try rows.fetch(lowered.request.returning(ManagedObjectID.self)).map { PersistentIdentifier($0) }
      }
    }
  }

  /// The same as a collection.
  ///
  /// - Throws: as ``fetchIdentifiers(_:)``.
  public func fetchIdentifiers<T>(_ descriptor: FetchDescriptor<T>, batchSize: Int) throws
    -> FetchResultsCollection<PersistentIdentifier>
  where T: PersistentModel {
    let identifiers = try fetchIdentifiers(descriptor)
    return FetchResultsCollection(count: identifiers.count) { identifiers[$0] }
  }

  /// The models that match, read `batchSize` at a time when they are looked at.
  ///
  /// - Throws: ``SwiftDataError/includePendingChangesWithBatchSize`` when the descriptor includes unsaved changes and there are any; as ``fetch(_:)``.
  public func fetch<T>(_ descriptor: FetchDescriptor<T>, batchSize: Int) throws -> FetchResultsCollection<T>
  where T: PersistentModel {
    enter()
    if descriptor.includePendingChanges, hasChanges {
      throw SwiftDataError(
        .includePendingChangesWithBatchSize, "save first, or set includePendingChanges to false")
    }
    return try lowering(descriptor) { lowered in
      if lowered.isEmpty {
        return FetchResultsCollection(count: 0) { _ in stop("an empty collection has no element") }
      }
      if lowered.isFinishedHere {
        let models = try found(lowered)
        return FetchResultsCollection(count: models.count) { models[$0] }
      }
      var request = lowered.request
      request.fetchBatchSize = Swift.max(batchSize, 1)
      let batches = try rows.asking(lowered.asked) { [request] in try rows.fetchInBatches(request) }
      return FetchResultsCollection(count: batches.count) { [self] position in
        models([batches[position]])[0]
      }
    }
  }

  /// Calls `block` with each model that matches, reading `batchSize` at a time.
  ///
  /// - Parameter allowEscapingMutations: Whether models that a block has changed may stay changed when their batch is let go for another one.
  /// - Throws: ``SwiftDataError/modelValidationFailure`` when a batch that another one follows leaves changes and may not, as ``fetch(_:)``,
  ///   and what `block` throws. The last batch, or the only one, may leave changes: nothing is let go for another.
  public func enumerate<T>(
    _ fetch: FetchDescriptor<T>, batchSize: Int = 5000, allowEscapingMutations: Bool = false,
    block: (_ model: T) throws -> Void
  ) throws where T: PersistentModel {
    let identifiers: [PersistentIdentifier]
    if hasChanges {
      for model in try self.fetch(fetch) { try block(model) }
      return
    }
    identifiers = try fetchIdentifiers(fetch)
    let size = Swift.max(batchSize, 1)
    var start = 0
    while start < identifiers.count {
      let batch = identifiers[start..<Swift.min(start + size, identifiers.count)]
      let objects = try translating {
        try rows.objects(batch.compactMap(objectID), entity: ModelDescriptor.of(T.self).entityName)
      }
      for model in models(objects) as [T] { try block(model) }
      start += size
      if start < identifiers.count, hasChanges, !allowEscapingMutations {
        throw SwiftDataError(
          .modelValidationFailure,
          """
          enumerate has left changes that are not saved after \(start) of \(identifiers.count) models: \
          save in the block, pass a larger batchSize, or allowEscapingMutations: true
          """)
      }
    }
  }

  /// The model with the identifier; nil when there is no such row.
  func existingModel(for identifier: PersistentIdentifier) -> (any PersistentModel)? {
    enter()
    return existingRow(for: identifier)?.anyPersistentModel()
  }

  /// Errors of the layers below by SwiftData's names.
  func translating<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch {
      switch error {
      case is SwiftDataError: throw error
      case let translation as PredicateTranslationError:
        throw SwiftDataError(kind(of: translation.place), "\(error)", underlying: error)
      case let refused as FetchError:
        throw SwiftDataError(kind(of: refused.part), "\(error)", underlying: error)
      default: throw FoundationErrors.error(for: error)
      }
    }
  }

  private func kind(of place: PredicateTranslationError.Place) -> SwiftDataError.Kind {
    switch place {
    case .predicate, .value: .unsupportedPredicate
    case .sortKey: .unsupportedSortDescriptor
    case .prefetching: .unsupportedKeyPath
    }
  }

  private func kind(of part: FetchError.Part?) -> SwiftDataError.Kind {
    switch part {
    case .predicate, .sectionKeyPath, nil: .unsupportedPredicate
    case .sortKey: .unsupportedSortDescriptor
    case .prefetchedKeyPath: .unsupportedKeyPath
    }
  }
}

extension RowContext {
  /// The objects with these IDs that there are, in their order.
  ///
  /// - Throws: what `fetch(_:)` throws.
  func objects(_ identifiers: [ManagedObjectID], entity: String, includesPendingChanges: Bool = true) throws
    -> [ManagedObject]
  {
    if identifiers.isEmpty { return [] }
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.includesPendingChanges = includesPendingChanges
    request.predicate = .compare(FetchComparison(.evaluatedObject, .in, .objects(identifiers)))
    let found = try fetch(request)
    let places = Dictionary(uniqueKeysWithValues: found.map { ($0.objectID, $0) })
    return identifiers.compactMap { places[$0] }
  }
}
