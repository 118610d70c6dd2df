extension ManagedObjectContext {
  /// The query generation the context is pinned to; nil when each read sees the newest commit, which is the default (rule 289),
  /// and in contexts with a parent, whose generation is their parent's (rule 168).
  public var queryGenerationToken: QueryGenerationToken? {
    checkAccess()
    return parent == nil ? generation.current : nil
  }

  /// Pins the context's reads, and those of the contexts above it, to a query generation.
  ///
  /// `.current` pins the newest commit at the next read; the token of another context of the same coordinator aligns both; nil
  /// unpins (rules 289, 290). Objects that were read before stay as they are (rule 292). Saving does not look at the generation
  /// (rule 293); `save()`, merging and `reset()` move a pinned context on to the newest commit (rule 291). Stores of an engine
  /// without snapshots are not part of it (rule 295).
  ///
  /// - Throws: `CoreDataError` 134060 in a context with a parent.
  @_disfavoredOverload public func setQueryGenerationFrom(_ token: QueryGenerationToken?) throws {
    checkAccess()
    guard parent == nil else {
      throw CoreDataError(
        .coreData,
        "\(description) has a parent, whose query generation is its own; pin the context at the bottom."
      )
    }
    generation.set(token)
  }

  /// What a store is read through.
  @inline(__always)
  func reading(_ binding: StoreBinding) throws -> any StoreReading {
    if let contextual = binding.contextual { return contextual.reading(for: self) }
    return readsPinned ? try generation.reading(binding, coordinator) : binding.store
  }

  /// Whether reads see a query generation at this moment.
  @inline(__always)
  var readsPinned: Bool { generation.isSet && !saving.readsNewest }

  /// What large values are read through: the generation of the rows that a pinned context has read, and the newest commit for rows that a save or
  /// a merge has put beneath objects since. The second is nil where there is one for both.
  func readingsOfLargeValues(_ binding: StoreBinding) throws -> (
    any StoreReading, newest: (any StoreReading)?
  ) {
    guard generation.isSet, binding.contextual == nil else { return (try reading(binding), nil) }
    return (try generation.reading(binding, coordinator), binding.store)
  }

  /// Lets `body` read rows and members of the newest commits, whatever generation is pinned. For a save that settles what others have
  /// committed: what it were to settle on older rows, the store would refuse again. A context with a parent saves to that, and reads on as ever.
  func readingNewest<T>(_ body: () throws -> T) rethrows -> T {
    if !generation.isSet || parent != nil { return try body() }
    let outer = saving.readsNewest
    saving.readsNewest = true
    defer { saving.readsNewest = outer }
    return try body()
  }

  /// What a store's newest commit is read through, whatever generation is pinned.
  @inline(__always)
  func newest(_ binding: StoreBinding) -> any StoreReading {
    binding.contextual?.reading(for: self) ?? binding.store
  }
}
