import StrataCore

/// The contexts of observers that are made of a container.
private enum ObserverContexts {
  /// The main context on the main actor, otherwise a new one.
  static func context(of container: ModelContainer, _ isolation: isolated (any Actor)?) -> ModelContext {
    guard isolation === MainActor.shared else { return ModelContext(container) }
    struct Box: @unchecked Sendable {
      // @unchecked Sendable: it is made and opened on the main actor.
      let context: ModelContext
    }
    return MainActor.assumeIsolated { Box(context: container.mainContext) }.context
  }
}

extension ResultsObserver where SectionTitle == Never {
  /// Results without sections.
  ///
  /// - Parameters:
  ///   - fetchDescriptor: What is fetched.
  ///   - modelContext: The context, which the caller uses.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, modelContext: ModelContext,
    isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(fetchDescriptor, nil, modelContext, isolation)
  }

  /// Results without sections.
  ///
  /// - Parameters:
  ///   - fetchDescriptor: What is fetched.
  ///   - modelContainer: The container: its main context is used on the main actor, and a new context elsewhere.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, modelContainer: ModelContainer,
    isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(fetchDescriptor, nil, ObserverContexts.context(of: modelContainer, isolation), isolation)
  }

  /// Results without sections.
  ///
  /// - Parameters:
  ///   - filterBy: What a model must satisfy; nil for all.
  ///   - sortBy: The order.
  ///   - modelContext: The context, which the caller uses.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [], modelContext: ModelContext,
    isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(FetchDescriptor(predicate: filterBy, sortBy: sortBy), nil, modelContext, isolation)
  }

  /// Results without sections.
  ///
  /// - Parameters:
  ///   - filterBy: What a model must satisfy; nil for all.
  ///   - sortBy: The order.
  ///   - modelContainer: The container: its main context is used on the main actor, and a new context elsewhere.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [],
    modelContainer: ModelContainer, isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(
      FetchDescriptor(predicate: filterBy, sortBy: sortBy), nil,
      ObserverContexts.context(of: modelContainer, isolation), isolation)
  }
}

extension ResultsObserver where SectionTitle == String {
  /// Results in sections by the values of a text.
  ///
  /// - Parameters:
  ///   - fetchDescriptor: What is fetched.
  ///   - sectionBy: The property whose values are the titles.
  ///   - modelContext: The context, which the caller uses.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, sectionBy: KeyPath<Element, String>,
    modelContext: ModelContext, isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(fetchDescriptor, sectionBy, modelContext, isolation)
  }

  /// Results in sections by the values of a text.
  ///
  /// - Parameters:
  ///   - fetchDescriptor: What is fetched.
  ///   - sectionBy: The property whose values are the titles.
  ///   - modelContainer: The container: its main context is used on the main actor, and a new context elsewhere.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, sectionBy: KeyPath<Element, String>,
    modelContainer: ModelContainer, isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(
      fetchDescriptor, sectionBy, ObserverContexts.context(of: modelContainer, isolation), isolation)
  }

  /// Results in sections by the values of a text.
  ///
  /// - Parameters:
  ///   - filterBy: What a model must satisfy; nil for all.
  ///   - sortBy: The order.
  ///   - sectionBy: The property whose values are the titles.
  ///   - modelContext: The context, which the caller uses.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [],
    sectionBy: KeyPath<Element, String>, modelContext: ModelContext,
    isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(FetchDescriptor(predicate: filterBy, sortBy: sortBy), sectionBy, modelContext, isolation)
  }

  /// Results in sections by the values of a text.
  ///
  /// - Parameters:
  ///   - filterBy: What a model must satisfy; nil for all.
  ///   - sortBy: The order.
  ///   - sectionBy: The property whose values are the titles.
  ///   - modelContainer: The container: its main context is used on the main actor, and a new context elsewhere.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [],
    sectionBy: KeyPath<Element, String>, modelContainer: ModelContainer,
    isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(
      FetchDescriptor(predicate: filterBy, sortBy: sortBy), sectionBy,
      ObserverContexts.context(of: modelContainer, isolation), isolation)
  }
}

extension ResultsObserver where SectionTitle == String? {
  /// Results in sections by the values of a text that may be nil.
  ///
  /// - Parameters:
  ///   - fetchDescriptor: What is fetched.
  ///   - sectionBy: The property whose values are the titles.
  ///   - modelContext: The context, which the caller uses.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, sectionBy: KeyPath<Element, String?>,
    modelContext: ModelContext, isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(fetchDescriptor, sectionBy, modelContext, isolation)
  }

  /// Results in sections by the values of a text that may be nil.
  ///
  /// - Parameters:
  ///   - fetchDescriptor: What is fetched.
  ///   - sectionBy: The property whose values are the titles.
  ///   - modelContainer: The container: its main context is used on the main actor, and a new context elsewhere.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    fetchDescriptor: FetchDescriptor<Element>, sectionBy: KeyPath<Element, String?>,
    modelContainer: ModelContainer, isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(
      fetchDescriptor, sectionBy, ObserverContexts.context(of: modelContainer, isolation), isolation)
  }

  /// Results in sections by the values of a text that may be nil.
  ///
  /// - Parameters:
  ///   - filterBy: What a model must satisfy; nil for all.
  ///   - sortBy: The order.
  ///   - sectionBy: The property whose values are the titles.
  ///   - modelContext: The context, which the caller uses.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [],
    sectionBy: KeyPath<Element, String?>, modelContext: ModelContext,
    isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(FetchDescriptor(predicate: filterBy, sortBy: sortBy), sectionBy, modelContext, isolation)
  }

  /// Results in sections by the values of a text that may be nil.
  ///
  /// - Parameters:
  ///   - filterBy: What a model must satisfy; nil for all.
  ///   - sortBy: The order.
  ///   - sectionBy: The property whose values are the titles.
  ///   - modelContainer: The container: its main context is used on the main actor, and a new context elsewhere.
  ///   - isolation: The actor that is told of changes.
  /// - Throws: as ``ModelContext/fetch(_:)``.
  public convenience init(
    filterBy: Predicate<Element>? = nil, sortBy: [SortDescriptor<Element>] = [],
    sectionBy: KeyPath<Element, String?>, modelContainer: ModelContainer,
    isolation: isolated (any Actor)? = #isolation
  ) throws {
    try self.init(
      FetchDescriptor(predicate: filterBy, sortBy: sortBy), sectionBy,
      ObserverContexts.context(of: modelContainer, isolation), isolation)
  }
}
