import Dispatch
import Foundation

// Indexes that come and go while the store is in use.

extension LMDBStore {
  /// Builds an index of the store and keeps it from then on.
  ///
  /// - Parameter report: Called after each transaction, on no thread in particular.
  /// - Throws: ``CoreDataError`` when another index has the name; ``StorageError``; `CancellationError`. Then the index is not there, unless
  ///   another caller wanted it already.
  package func addIndex(
    _ added: AddedIndex, report: (@Sendable (IndexProgress) -> Void)? = nil
  ) async throws {
    let compiled = try requireRoom(for: added)
    let parts = parts
    try requireOpen()
    _ = try parts.environment.keyspaces([StoredIndexes.keyspaceName(added.qualifiedName)])
    let mark = try JSONEncoder.sorted.encode(added)
    let isNew = try await write { transaction in
      let others = try StoredIndexes.added(parts.meta, transaction.read)
      // One that means nothing here, of a model whose version was ignored, gives its name up.
      if let other = others.first(where: { $0.qualifiedName == added.qualifiedName }),
        StoredIndexes.compiled(other, parts.schema) != nil
      {
        guard other == added else { throw added.isTaken }
        return false
      }
      try parts.meta.put("added/" + added.qualifiedName, mark, transaction)
      try StoreCatalogue.raiseGeneration(parts.meta, transaction)
      return true
    }
    let isThere: Bool
    do {
      isThere = try await grow(
        IndexGrowth(parts: parts, name: added.qualifiedName, step: rowsPerIndexStep), compiled, report)
    } catch {
      // Every commit keeps half an index up to date, and no fetch uses it. When it cannot be removed either, it is completed by the next program that opens
      // the store.
      if isNew { try? await removeIndex(named: added.qualifiedName) }
      throw error
    }
    guard isThere else {
      throw added.wasRemoved
    }
  }

  /// Builds the index step by step; false when it is removed meanwhile.
  private func grow(
    _ growth: IndexGrowth, _ index: IndexSchema, _ report: (@Sendable (IndexProgress) -> Void)?
  ) async throws -> Bool {
    let parts = parts
    var progress = IndexProgress(completedRows: 0, totalRows: 0)
    if let rows = parts.rows[parts.schema.entities[index.owner].hierarchyNumber] {
      progress.totalRows = try parts.environment.read { try $0.entryCount(rows) }
    }
    while true {
      try Task.checkCancellation()
      let known = catalogue
      let outcome = try await write { try growth.run(known, $0) }
      switch outcome {
      case .more(let rows, let catalogue):
        adopt(catalogue: catalogue, metadata: nil)
        progress.completedRows += rows
        progress.totalRows = max(progress.totalRows, progress.completedRows)
        report?(progress)
      case .complete(_, let catalogue):
        adopt(catalogue: catalogue, metadata: nil)
        progress.completedRows = progress.totalRows
        report?(progress)
        return true
      case .unwanted(let catalogue):
        adopt(catalogue: catalogue, metadata: nil)
        return false
      }
    }
  }

  /// Removes an index that was added, complete or not. Fetches and commits that have begun are not disturbed.
  /// - Throws: ``CoreDataError`` when no such index was added to the store; ``StorageError``.
  package func removeIndex(named name: String) async throws {
    try requireOpen()
    try requireNotReadOnly("remove index")
    let parts = parts
    let keyspace = try parts.environment.keyspaces([StoredIndexes.keyspaceName(name)])[0]
    let isOfModel = parts.schema.indexes.contains { $0.name == name }
    let known = catalogue
    let catalogue = try await write { transaction -> StoreCatalogue in
      _ = try parts.currentCatalogue(known, transaction)
      guard try parts.meta.bytes("added/" + name, transaction.read) != nil else {
        throw AddedIndex.isNone(name, isOfModel: isOfModel)
      }
      try parts.meta.delete("added/" + name, transaction)
      if !isOfModel, let keyspace {
        try parts.meta.delete("index/" + name, transaction)
        try transaction.clear(keyspace)
      }
      try StoreCatalogue.raiseGeneration(parts.meta, transaction)
      return try parts.readCatalogue(transaction.read)
    }
    adopt(catalogue: catalogue, metadata: nil)
  }

  /// What the newest commit has of indexes, by name.
  package func indexes() throws -> [StoredIndex] {
    try requireOpen()
    // Taken before the view begins, which knows no later keyspace.
    let open = parts.openKeyspaces
    return try parts.environment.read { transaction in
      let catalogue = try parts.readCatalogue(transaction, open: open)
      let indexes = catalogue.indexes
      let added = Set(indexes.added.map(\.qualifiedName))
      let own = Set(parts.schema.indexes.map(\.name))
      return try indexes.all.map { index in
        let owner = parts.schema.entities[index.owner]
        return StoredIndex(
          name: String(index.name.dropFirst(owner.name.count + 1)), entityName: owner.name,
          attributes: index.parts.map {
            StoredIndex.Attribute(name: owner.attributes[$0.slot].name, isAscending: $0.isAscending)
          },
          predicateFormat: index.condition?.text, isUnique: index.isUnique,
          isDeclared: own.contains(index.name), isAdded: added.contains(index.name),
          isComplete: indexes.states[index.number] == .complete,
          entryCount: try indexes.keyspaces[index.number].map { try transaction.entryCount($0) } ?? 0)
      }.sorted { ($0.entityName, $0.name) < ($1.entityName, $1.name) }
    }
  }

  /// The index as it will be, when there may be one.
  private func requireRoom(for added: AddedIndex) throws -> IndexSchema {
    if isReadOnly {
      throw CoreDataError(.persistentStoreSave, "The store at \(parts.environment.path) is read-only.")
    }
    let compiled = try added.checked(parts.schema)
    let owner = parts.schema.entities[compiled.owner]
    guard parts.held[owner.number] else {
      throw added.isNotHeld
    }
    if parts.schema.indexes.contains(where: { $0.name == added.qualifiedName }) { throw added.isTaken }
    let others = catalogue.indexes.added
    if others.count >= Self.mostAddedIndexes,
      !others.contains(where: { $0.qualifiedName == added.qualifiedName })
    {
      throw CoreDataError(
        .persistentStoreOperation,
        "The store has \(others.count) indexes that were added to it, and takes no more; a model may declare any number."
      )
    }
    return compiled
  }

  /// So many a store can have besides those of its model.
  static let mostAddedIndexes = 64

  // MARK: Transactions

  /// Runs `body` in a transaction of the store's writer, without holding the calling thread.
  private func write<R: Sendable>(
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R
  ) async throws -> R {
    try requireOpen()
    return try await withCheckedThrowingContinuation { continuation in
      submitWrite(deadline: nil, body) { continuation.resume(with: $0) }
    }
  }

  /// Runs `body` in a transaction of the store's writer; again when it turns out that the store has gained an index whose keyspace
  /// this process has not opened yet.
  func submitWrite<R: Sendable>(
    deadline: Duration?, here: Bool = false,
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R,
    completion: @escaping @Sendable (Result<R, any Error>) -> Void
  ) {
    do {
      try requireNotReadOnly("write")
    } catch {
      return completion(.failure(error))
    }
    let (parts, environment) = (parts, parts.environment)
    environment.submitWrite(deadline: deadline, here: here) { transaction in
      try parts.requireUnsealed()
      return try body(transaction)
    } completion: { result in
      guard case .failure(let error) = result, let missing = error as? MissingKeyspaces else {
        return completion(result)
      }
      // Opening is a write of its own, which the writer's thread cannot wait for.
      DispatchQueue.global().async {
        do {
          _ = try environment.keyspaces(missing.names)
        } catch {
          return completion(.failure(error))
        }
        self.submitWrite(deadline: deadline, body, completion: completion)
      }
    }
  }

  /// Opens what a catalogue lacks, for later reads: no read waits for it.
  func openLater(_ names: [String]) {
    if names.isEmpty || isOpeningKeyspaces.exchange(true, ordering: .acquiringAndReleasing) { return }
    DispatchQueue.global().async { [weak self] in
      guard let self else { return }
      defer { isOpeningKeyspaces.store(false, ordering: .releasing) }
      // A store that is closed, or locked for long, is looked at again when it changes.
      guard (try? parts.environment.keyspaces(names, creates: !refusesWrites)) != nil,
        let fresh = try? parts.environment.read({ try parts.readCatalogue($0) })
      else { return }
      adopt(catalogue: fresh, metadata: nil)
    }
  }
}
