import StrataCore
import Synchronization

/// The results of a fetch, kept up to date with what is saved to the container: by whichever context, by batches, by other programs.
///
///     let trips = try ResultsObserver(filterBy: #Predicate<Trip> { $0.isOpen }, sortBy: [SortDescriptor(\.begins)], modelContext: context)
///     for trip in trips.results { … }
///
/// Its properties are observed. It belongs to where its context is, as the models do. After a save its observers are told on the actor that has made it, and the models are fetched when they
/// are looked at next; without an actor they are fetched then, too, and nobody is told. What is unsaved in the context itself counts as the descriptor says, at the time of the fetch. A
/// fetch that fails later on is written to standard error, and the results stay.
public final class ResultsObserver<Element, SectionTitle>: Observation.Observable, ToldOfSaves
where Element: PersistentModel, SectionTitle: Hashable {
  /// The context.
  public let modelContext: ModelContext
  private let registrar = ObservationRegistrar()
  private let staleness = Staleness()
  private let title: ((Element) -> SectionTitle)?
  private var signal: CommitSignal?
  private var models: [Element] = []
  private var grouped: SectionedResults<Element, SectionTitle>?
  private var descriptor: FetchDescriptor<Element>

  /// The property whose values are the titles of the sections; nil without sections.
  public let sectionBy: KeyPath<Element, SectionTitle>?

  init(
    _ descriptor: FetchDescriptor<Element>, _ sectionBy: KeyPath<Element, SectionTitle>?,
    _ context: ModelContext, _ isolation: (any Actor)?
  ) throws {
    modelContext = context
    self.descriptor = descriptor
    self.sectionBy = sectionBy
    title = sectionBy.map { path in { $0[keyPath: path] } }
    let reference = ObserverReference(self)
    let staleness = staleness
    signal = CommitSignal(context.core) {
      staleness.isSet.store(true, ordering: .releasing)
      guard let isolation else { return }
      Task { await reference.tell(on: isolation) }
    }
    try fetch()
  }

  // MARK: Results

  /// The models that match, in order.
  public var results: FetchResultsCollection<Element> {
    registrar.access(self, keyPath: \.results)
    let models = current()
    return FetchResultsCollection(count: models.count) { models[$0] }
  }

  /// The same in sections, in the order in which their titles come first; nil without ``sectionBy``.
  public var sections: SectionedResults<Element, SectionTitle>? {
    registrar.access(self, keyPath: \.sections)
    _ = current()
    return grouped
  }

  /// The model at a place: section and item, or 0 and item without sections; nil where there is none.
  public func element(at indexPath: IndexPath) -> Element? {
    guard indexPath.count == 2 else { return nil }
    let (section, item) = (indexPath[0], indexPath[1])
    guard let sections else {
      return section == 0 && results.indices.contains(item) ? results[item] : nil
    }
    guard sections.indices.contains(section), sections[section].indices.contains(item) else { return nil }
    return sections[section][item]
  }

  /// The place of a model: section and item; nil for one that is not among the results.
  public func indexPath(for element: Element) -> IndexPath? {
    guard let sections else {
      return results.firstIndex { $0 == element }.map { IndexPath(indexes: [0, $0]) }
    }
    for (place, section) in sections.enumerated() {
      if let item = section.firstIndex(where: { $0 == element }) { return IndexPath(indexes: [place, item]) }
    }
    return nil
  }

  // MARK: What is asked

  /// What is fetched. Setting it fetches at once.
  public var fetchDescriptor: FetchDescriptor<Element> {
    get {
      registrar.access(self, keyPath: \.fetchDescriptor)
      return descriptor
    }
    set {
      registrar.withMutation(of: self, keyPath: \.fetchDescriptor) { descriptor = newValue }
      changing { refetch() }
    }
  }

  /// What a model must satisfy. Setting it fetches at once.
  public var filterBy: Predicate<Element>? {
    get { fetchDescriptor.predicate }
    set { fetchDescriptor.predicate = newValue }
  }

  /// The order. Setting it fetches at once.
  public var sortBy: [SortDescriptor<Element>] {
    get { fetchDescriptor.sortBy }
    set { fetchDescriptor.sortBy = newValue }
  }

  // MARK: Fetching

  private func current() -> [Element] {
    if staleness.isSet.exchange(false, ordering: .acquiringAndReleasing) { refetch() }
    return models
  }

  /// Something was saved: whoever has looked at the results looks again.
  func tell() { changing { refetch() } }

  private func changing(_ body: () -> Void) {
    registrar.withMutation(of: self, keyPath: \.results) {
      registrar.withMutation(of: self, keyPath: \.sections, body)
    }
  }

  private func refetch() {
    staleness.isSet.store(false, ordering: .releasing)
    do { try fetch() } catch { report("results could not be fetched again, and stay as they were", error) }
  }

  private func fetch() throws {
    models = try modelContext.fetch(descriptor)
    grouped = title.map { SectionedResults(models, $0) }
  }
}

/// Whether something was saved since the last fetch.
private final class Staleness: Sendable {
  let isSet = Atomic<Bool>(false)
}

/// Somebody who is told that something was saved.
protocol ToldOfSaves: AnyObject {
  func tell()
}

/// An observer as other threads hold it.
private final class ObserverReference: @unchecked Sendable {
  // @unchecked Sendable: the observer is used on its actor only.
  private weak var observer: (any ToldOfSaves)?
  init(_ observer: any ToldOfSaves) { self.observer = observer }
  func tell(on actor: isolated any Actor) { observer?.tell() }
}

@available(*, unavailable, message: "the models belong to their context")
extension ResultsObserver: Sendable {}
