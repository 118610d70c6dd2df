import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// contexts 13: saves that wait while another one is written are written together, in their order.
@Suite struct CommitQueueTests {
  @Test(.timeLimit(.minutes(20))) func savesThatWaitAreWrittenTogether() throws {
    let store = SlowStore()
    let queue = CommitQueue(store: store)
    let queued = DispatchSemaphore(value: 0)
    let returned = DispatchSemaphore(value: 0)
    let results = Mutex<[UInt64]>([])
    let told = Mutex<[UInt64]>([])
    func save() {
      Thread {
        let result = try? queue.commit(ChangeSet(), deadline: nil, meanwhile: { queued.signal() }) { result in
          told.withLock { $0.append(result.commitNumber) }
        }
        results.withLock { $0.append(result?.commitNumber ?? 0) }
        returned.signal()
      }.start()
      queued.wait()
    }
    save()
    #expect(store.groups == [1])
    for _ in 0..<3 { save() }
    #expect(store.groups == [1], "nothing goes to the store beside a save that is being written")
    store.finish(1)
    #expect(store.groups == [1, 3])
    save()
    #expect(store.groups == [1, 3])
    store.finish(2)
    #expect(store.groups == [1, 3, 1])
    store.finish(3)
    for _ in 0..<5 { returned.wait() }
    #expect(told.withLock { $0 } == [1, 2, 2, 2, 3], "told in the order of the commits")
    #expect(results.withLock { $0.sorted() } == [1, 2, 2, 2, 3])
    // The queue is empty: the next save is written at once.
    save()
    #expect(store.groups == [1, 3, 1, 1])
    store.finish(4)
    returned.wait()
  }
}

/// A store that finishes a commit when it is told to, and can do nothing else.
private final class SlowStore: PersistentStore {
  private struct State {
    var groups: [Int] = []
    var unfinished: [@Sendable ([Result<CommitResult, any Error>]) -> Void] = []
  }
  private let state = Mutex<State>(State())

  /// The sizes of the groups that were committed.
  var groups: [Int] { state.withLock { $0.groups } }

  func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    state.withLock { state in
      state.groups.append(changeSets.count)
      state.unfinished.append(completion)
    }
  }

  /// Finishes the oldest commit that is not finished.
  func finish(_ number: UInt64) {
    let (completion, count) = state.withLock { state in
      (state.unfinished.removeFirst(), state.groups[state.groups.count - state.unfinished.count - 1])
    }
    completion(Array(repeating: .success(CommitResult(commitNumber: number)), count: count))
  }

  let identifier = UUID()
  let url: URL? = nil
  let storeType = "Slow"
  let configurationName: String? = nil
  let isReadOnly = false
  let metadata = StoreMetadata()
  private struct Unsupported: Error {}
  func makePrimaryKey(hierarchy: Int) throws -> UInt64 { throw Unsupported() }
  func rowStamp(entity: Int) -> RowStamp { RowStamp(layoutNumber: 0, entityCode: 0) }
  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows { throw Unsupported() }
  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] { throw Unsupported() }
  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? { throw Unsupported() }
  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] { throw Unsupported() }
  func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] { throw Unsupported() }
  func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int { throw Unsupported() }
  func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool { throw Unsupported() }
  func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] { throw Unsupported() }
  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    throw Unsupported()
  }
  func close() {}
}
