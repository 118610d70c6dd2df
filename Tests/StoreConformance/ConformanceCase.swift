import Foundation
import StrataCore

/// What some engines can do and others cannot. A case says what it needs; an engine, what it has.
package enum EngineAbility: String, Sendable, CaseIterable {
  /// Uniqueness constraints of the model hold in the store.
  case uniqueness
  /// Batch requests are carried out in the store.
  case batches
  /// A history of commits is recorded.
  case history
  /// Query generations can be pinned.
  case generations
  /// Derived attributes are worked out by the store.
  case derivation
  /// What was saved is there when the store is opened again.
  case persistence
  /// A store that is closed can be asked for its metadata and its model.
  case closedStores
  /// A store that was written with another version of the model is migrated.
  case migration
  /// References of a relationship without an inverse to a record that is deleted are cleared by the store.
  case clearing
  /// Several coordinators may have the store open at once.
  case sharing
  /// `destroyPersistentStore` empties the store.
  case destroying
  /// Indexes are added and removed while the store is open.
  case indexes
}

/// An engine that is to conform: how a store of it is made, and what it can do.
package struct ConformingEngine: Sendable, CustomStringConvertible {
  package let name: String
  package let abilities: Set<EngineAbility>
  /// Describes a store that does not exist yet, another one each time.
  package let makeDescription: @Sendable () throws -> PersistentStoreDescription
  /// Makes of the cases' model what the engine is to be tried with.
  package let adapt: @Sendable (ManagedObjectModel) -> Void
  /// Removes what is left of a store that is closed.
  package let discard: @Sendable (PersistentStoreDescription) -> Void

  package init(
    _ name: String, abilities: Set<EngineAbility>,
    makeDescription: @escaping @Sendable () throws -> PersistentStoreDescription,
    adapt: @escaping @Sendable (ManagedObjectModel) -> Void = { _ in },
    discard: @escaping @Sendable (PersistentStoreDescription) -> Void = { _ in }
  ) {
    self.name = name
    self.abilities = abilities
    self.makeDescription = makeDescription
    self.adapt = adapt
    self.discard = discard
  }

  package var description: String { name }

  /// The abilities that the engine lacks for a case: the case is left out, and these are the reason.
  package func missing(for testCase: ConformanceCase) -> [EngineAbility] {
    testCase.needs.subtracting(abilities).sorted { $0.rawValue < $1.rawValue }
  }

  /// Carries a case out on a store of its own.
  /// - Throws: what the engine does otherwise than it should.
  package func run(_ testCase: ConformanceCase) throws {
    let stand = try ConformanceStand(self)
    defer { stand.end() }
    try testCase.run(stand)
  }
}

/// One thing that every engine must do as the others do.
package struct ConformanceCase: Sendable, CustomStringConvertible {
  package let group: String
  package let name: String
  package let needs: Set<EngineAbility>
  package let run: @Sendable (ConformanceStand) throws -> Void

  package init(
    _ group: String, _ name: String, needs: Set<EngineAbility> = [],
    run: @escaping @Sendable (ConformanceStand) throws -> Void
  ) {
    (self.group, self.name, self.needs, self.run) = (group, name, needs, run)
  }

  package var description: String { "\(group): \(name)" }
}

/// All cases.
package enum StoreConformance {
  package static let cases: [ConformanceCase] =
    valueCases + predicateCases + sortingCases + textCases + dictionaryCases + relationshipCases
    + deletionCases + conflictCases + identityCases + faultCases + uniquenessCases + referenceKeyCases
    + batchCases
    + historyCases + migratedHistoryCases + generationCases + storeCases + indexCases
}

/// What an engine does otherwise.
package struct NotConforming: Error, CustomStringConvertible {
  package let description: String
}

/// A store under test, and the stacks over it.
package final class ConformanceStand {
  package let engine: ConformingEngine
  package var description: PersistentStoreDescription
  private var coordinators: [PersistentStoreCoordinator] = []
  /// Objects live as long as their context does.
  private var contexts: [ManagedObjectContext] = []

  init(_ engine: ConformingEngine) throws {
    self.engine = engine
    description = try engine.makeDescription()
  }

  /// The model of the cases.
  package var model: ManagedObjectModel {
    let model = ConformanceModel.make()
    engine.adapt(model)
    return model
  }

  /// Opens the store with a new coordinator.
  package func open(
    _ model: ManagedObjectModel? = nil,
    configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model ?? self.model)
    var description = description
    configure(&description)
    try coordinator.addPersistentStore(description)
    coordinators.append(coordinator)
    return coordinator
  }

  /// A context on a new coordinator, of the calling thread.
  package func context() throws -> ManagedObjectContext { context(on: try open()) }

  package func context(on coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    contexts.append(context)
    return context
  }

  /// Closes the store, wherever it is open.
  package func close() throws {
    contexts = []
    for coordinator in coordinators {
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
    coordinators = []
  }

  func end() {
    try? close()
    engine.discard(description)
  }
}

/// Says what is expected where it is not so.
func expect(_ isTrue: Bool, _ sentence: @autoclosure () -> String) throws {
  if !isTrue { throw NotConforming(description: sentence()) }
}

func expectEqual<Value: Equatable>(_ found: Value, _ expected: Value, _ what: @autoclosure () -> String)
  throws
{
  if found != expected {
    throw NotConforming(description: "\(what()): found \(found), where \(expected) was expected")
  }
}

/// The error that `body` throws.
func expectError(_ what: String, _ body: () throws -> Void) throws -> any Error {
  do { try body() } catch { return error }
  throw NotConforming(description: "\(what): no error was thrown")
}

func expectCode(_ code: CoreDataError.Code, _ what: String, _ body: () throws -> Void) throws {
  let error = try expectError(what, body)
  guard let found = error as? CoreDataError, found.code == code else {
    throw NotConforming(description: "\(what): threw \(error), where \(code) was expected")
  }
}

/// The error of a save that the merge policy refuses.
func expectConflict(_ what: String, _ body: () throws -> Void) throws {
  let error = try expectError(what, body)
  let codes: [CoreDataError.Code] = [.managedObjectMerge, .persistentStoreSaveConflicts]
  guard let found = error as? CoreDataError, codes.contains(found.code) else {
    throw NotConforming(description: "\(what): threw \(error), where a conflict was expected")
  }
}
