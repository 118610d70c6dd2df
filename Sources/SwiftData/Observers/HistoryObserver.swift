import StrataCore

/// Counts the transactions that are saved to a container, whoever saves them.
///
///     let observer = try HistoryObserver(historyTokens: [last], observedModels: [Trip.self], authors: ["sync"], modelContainer: container)
///     withObservationTracking { _ = observer.eventCounter } onChange: { … }          // then fetchHistory(_:) behind the last token
///
/// ``eventCounter`` is observed. It may be read from any thread, and changes on the actor that has made the observer, or on a queue of the observer's own where none has. Stores of the program's
/// own are counted by what their ``HistoryProviding`` tells, when its transactions are ``DefaultHistoryTransaction``s.
public final class HistoryObserver: Observation.Observable, Sendable {
  /// The container.
  public let modelContainer: ModelContainer
  /// The classes whose models are looked for, with the classes that inherit from them; none for all.
  public let observedModels: [any PersistentModel.Type]
  /// The authors whose transactions are looked for; none for all.
  public let authors: [String]

  private let registrar = ObservationRegistrar()
  private let state: Mutex<State>
  private let signal: Mutex<CommitSignal?> = Mutex(nil)
  private let looking = Mutex(())
  private let names: Set<String>

  private struct State {
    var counter = 0
    var tokens: [DefaultHistoryToken]
  }

  /// How many transactions were found so far.
  public var eventCounter: Int {
    registrar.access(self, keyPath: \.eventCounter)
    return state.withLock { $0.counter }
  }

  /// - Parameters:
  ///   - historyTokens: Behind which moments transactions count; those that are there already are counted at once. None for what comes from now on.
  ///   - observedModels: The classes of the models; none for all.
  ///   - authors: The authors of the transactions; none for all.
  ///   - modelContainer: The container.
  ///   - isolation: The actor on which the counter changes.
  /// - Throws: ``SwiftDataError/historyTokenExpired`` when the history behind a token has been deleted; `CocoaError` for a store that cannot be read.
  public init(
    historyTokens: [DefaultHistoryToken] = [], observedModels: [any PersistentModel.Type] = [],
    authors: [String] = [], modelContainer: ModelContainer, isolation: isolated (any Actor)? = #isolation
  ) throws {
    self.modelContainer = modelContainer
    self.observedModels = observedModels
    self.authors = authors
    names = Set(observedModels.flatMap { modelContainer.schema.subentities(of: Schema.name(of: $0)) })
    var tokens = historyTokens
    if tokens.isEmpty { tokens = try Self.newest(modelContainer).map { [$0] } ?? [] }
    state = Mutex(State(tokens: tokens))
    let actor = isolation
    let made = CommitSignal(modelContainer.core) { [weak self] in
      guard let self else { return }
      if let actor {
        Task { await self.look(on: actor) }
      } else {
        self.lookReporting()
      }
    }
    signal.withLock { $0 = made }
    // What was there before, and what came before the signal did.
    try look()
  }

  private static func newest(_ container: ModelContainer) throws -> DefaultHistoryToken? {
    do {
      if let token = try container.coordinator.currentHistoryToken() { return DefaultHistoryToken(token) }
    } catch {
      throw FoundationErrors.error(for: error)
    }
    let context = ModelContext(container)
    context.autosaveEnabled = false
    return try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).last?.token
  }

  private func look(on actor: isolated any Actor) { lookReporting() }

  private func lookReporting() {
    do { try look() } catch let error as SwiftDataError where error == .historyTokenExpired {
      restart()
    } catch {
      report("a history could not be read, and its observer was not told", error)
    }
  }

  /// What came behind the tokens was deleted before it was looked at: something was saved, how often is not known.
  private func restart() {
    do {
      let newest = try Self.newest(modelContainer)
      looking.withLock { _ in
        registrar.withMutation(of: self, keyPath: \.eventCounter) {
          state.withLock { state in
            state.counter += 1
            state.tokens = newest.map { [$0] } ?? []
          }
        }
      }
    } catch {
      report("a history could not be read, and its observer was not told", error)
    }
  }

  /// Counts what has come. One look at a time, so that nothing counts twice.
  private func look() throws {
    try looking.withLock { _ in
      let found = try count()
      func add() {
        state.withLock { state in
          state.counter += found.number
          state.tokens = found.tokens
        }
      }
      if found.number > 0 { registrar.withMutation(of: self, keyPath: \.eventCounter, add) } else { add() }
    }
  }

  /// How many transactions that count came behind the tokens, and the moment behind them.
  private func count() throws -> (number: Int, tokens: [DefaultHistoryToken]) {
    let tokens = state.withLock { $0.tokens }
    let context = ModelContext(modelContainer)
    context.autosaveEnabled = false
    let found: [DefaultHistoryTransaction]
    if let first = tokens.first {
      // A transaction counts that is behind all of them.
      let token = tokens.dropFirst().reduce(first) { max($0, $1) }
      found = try context.fetchHistory(
        HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token > token }))
    } else {
      found = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    }
    let number = found.filter { transaction in
      (authors.isEmpty || transaction.author.map(authors.contains) ?? false)
        && (names.isEmpty
          || transaction.changes.contains { names.contains($0.changedPersistentIdentifier.entityName) })
    }.count
    return (number, found.last.map { [$0.token] } ?? tokens)
  }
}
