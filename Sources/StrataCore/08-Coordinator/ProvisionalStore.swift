import Foundation
import Synchronization

/// Stands for the store of objects that have none yet: made in no context, or inserted before a store was attached. Holds nothing, keeps
/// nothing; its keys are unique in the process, so that such objects can move from one to another and stay who they are.
final class ProvisionalStore: StoreEngine, EmptyReading {
  /// The UUID that stands for no store in IDs.
  static let noStore = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  private static let keys = Atomic<UInt64>(0)

  static func nextKey() -> UInt64 { keys.add(1, ordering: .relaxed).newValue }

  private let reading = NoReading(storeIdentifier: noStore)

  var identifier: UUID { Self.noStore }
  var url: URL? { nil }
  var storeType: String { "Provisional" }
  var configurationName: String? { nil }
  var isReadOnly: Bool { false }
  var metadata: StoreMetadata { StoreMetadata() }

  func makePrimaryKey(hierarchy: Int) throws -> UInt64 { Self.nextKey() }
  func rowStamp(entity: Int) -> RowStamp {
    // A model has at most 10,000 entities.
    RowStamp(layoutNumber: 0, entityCode: UInt16(entity + 1))
  }

  func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    completion(changeSets.map { _ in .failure(Self.noHome) })
  }

  func execute(
    _ batch: StoreBatch, deadline: Duration?,
    completion: @escaping @Sendable (Result<BatchOutcome, any Error>) -> Void
  ) {
    completion(.failure(Self.noHome))
  }

  func close() {}

  private static var noHome: CoreDataError {
    CoreDataError(.persistentStoreOperation, "No persistent store is loaded that could keep the objects.")
  }

  // MARK: Reading

  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try reading.fetch(request, mode: mode)
  }
}

/// What holds no rows.
package protocol EmptyReading: StoreReading {}

extension EmptyReading {
  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] { primaryKeys.map { _ in nil } }
  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? { nil }
  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] { [] }
  func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] { owners.map { _ in [] } }
  func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int { 0 }
  func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool { false }
  func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] { [] }
  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? { nil }
}

/// A store in which there is nothing to be seen: one that is not part of a generation, or none at all.
struct NoReading: EmptyReading {
  let storeIdentifier: UUID
  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    FetchedRows(rows: [], count: 0, description: "nothing: there is no store to look at")
  }
}

extension PersistentStoreCoordinator {
  /// Where objects are until there is a store for them. Made when first needed; not a store to other code.
  var provisional: StoreBinding {
    let schema = requireSchema()
    return state.withLock { state in
      if let index = state.provisional, let known = state.bindings[index] { return known }
      let binding: StoreBinding
      do {
        binding = try StoreBinding(store: ProvisionalStore(), index: state.bindings.count, schema: schema)
      } catch {
        trap("a store without a configuration cannot name a wrong one: \(error)")
      }
      state.provisional = binding.index
      state.bindings.append(binding)
      return binding
    }
  }

  /// The same if it has been needed.
  var knownProvisional: StoreBinding? {
    state.withLock { state in state.provisional.flatMap { state.bindings[$0] } }
  }
}
