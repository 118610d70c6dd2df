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
    #expect(store.groups(2) == [1, 3], "the first that waits writes for all")
    save()
    #expect(store.groups == [1, 3])
    store.finish(2)
    #expect(store.groups(3) == [1, 3, 1])
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

  /// Each thread hands the turn to the next. No save is lost, even one that arrives when a group ends.
  @Test(.timeLimit(.minutes(20))) func manyThreadsThatSaveAtOnceAreAllServed() throws {
    let store = CountingStore()
    let queue = CommitQueue(store: store)
    let (threads, saves) = (16, 500)
    let told = Mutex<[UInt64]>([])
    let done = DispatchSemaphore(value: 0)
    for _ in 0..<threads {
      Thread {
        for _ in 0..<saves {
          do {
            _ = try queue.commit(ChangeSet(), deadline: nil, meanwhile: {}) { result in
              told.withLock { $0.append(result.commitNumber) }
            }
          } catch {
            Issue.record(error)
          }
        }
        done.signal()
      }.start()
    }
    for _ in 0..<threads { done.wait() }
    #expect(store.saves == threads * saves)
    let numbers = told.withLock { $0 }
    #expect(
      numbers.count == threads * saves && numbers == numbers.sorted(), "told in the order of the commits")
  }

  @Test(.timeLimit(.minutes(20))) func savesAreWrittenInTheOrderInWhichTheyCame() throws {
    let store = SlowStore()
    let queue = CommitQueue(store: store)
    let queued = DispatchSemaphore(value: 0)
    let returned = DispatchSemaphore(value: 0)
    let told = Mutex<[Int]>([])
    func save(_ ticket: Int) {
      Thread {
        _ = try? queue.commit(ChangeSet(), deadline: nil, meanwhile: { queued.signal() }) { _ in
          told.withLock { $0.append(ticket) }
        }
        returned.signal()
      }.start()
      queued.wait()
    }
    var ticket = 0
    var commit: UInt64 = 0
    save(ticket)
    for round in 1...20 {
      // While one group is written the next ones come, now few and now many.
      for _ in 0..<(round % 5 + 1) {
        ticket += 1
        save(ticket)
      }
      commit += 1
      store.finish(commit)
      #expect(store.groups(round + 1).last == round % 5 + 1, "all that waited, and nobody else")
    }
    store.finish(commit + 1)
    for _ in 0...ticket { returned.wait() }
    #expect(told.withLock { $0 } == Array(0...ticket))
  }

  /// Those whose saves were written come again, and the group waits for them. Here it waits for as long as it takes.
  @Test(.timeLimit(.minutes(20))) func aGroupWaitsForThoseWhoSavedAMomentAgo() {
    let store = HeldStore()
    let queue = CommitQueue(store: store) { _ in .seconds(3600) }
    let done = DispatchSemaphore(value: 0)
    func thread(saves: Int) {
      Thread {
        for _ in 0..<saves { _ = try? queue.commit(ChangeSet(), deadline: nil, meanwhile: {}) { _ in } }
        done.signal()
      }.start()
    }
    thread(saves: 3)
    store.awaitFirst()
    for _ in 0..<3 { thread(saves: 2) }
    while queue.waitingCount < 3 { sched_yield() }
    store.release()
    for _ in 0..<4 { done.wait() }
    #expect(store.groups == [1, 4, 4], "without waiting: 1, 3, and so on")
  }

  @Test(.timeLimit(.minutes(20))) func aGroupThatNobodyJoinsIsWritten() {
    let store = HeldStore()
    let queue = CommitQueue(store: store) { _ in .milliseconds(1) }
    let done = DispatchSemaphore(value: 0)
    for number in 0..<3 {
      Thread {
        _ = try? queue.commit(ChangeSet(), deadline: nil, meanwhile: {}) { _ in }
        done.signal()
      }.start()
      if number == 0 { store.awaitFirst() }
    }
    while queue.waitingCount < 2 { sched_yield() }
    store.release()
    for _ in 0..<3 { done.wait() }
    #expect(store.groups == [1, 2])
  }

  /// Were it to wait for others it would do so for an hour.
  @Test(.timeLimit(.minutes(20))) func aThreadThatSavesAloneWaitsForNobody() throws {
    let store = HeldStore()
    store.release()
    let queue = CommitQueue(store: store) { _ in .seconds(3600) }
    for _ in 0..<3 { _ = try queue.commit(ChangeSet(), deadline: nil, meanwhile: {}) { _ in } }
    #expect(store.groups == [1, 1, 1])
  }

  @Test func onlyLongWritesAreWaitedFor() {
    #expect(CommitQueue.patience(writing: .microseconds(60)) == .zero)
    #expect(CommitQueue.patience(writing: .microseconds(150)) == .microseconds(150))
    #expect(CommitQueue.patience(writing: .milliseconds(7)) == .microseconds(200))
  }

  /// A save that is written by its own thread leaves the next one to the thread of that one, also when the store fails.
  @Test(.timeLimit(.minutes(20))) func afterAFailureTheNextOneWrites() throws {
    let store = SlowStore()
    let queue = CommitQueue(store: store)
    let queued = DispatchSemaphore(value: 0)
    let returned = DispatchSemaphore(value: 0)
    let failures = Mutex(0)
    func save() {
      Thread {
        do {
          _ = try queue.commit(ChangeSet(), deadline: nil, meanwhile: { queued.signal() }) { _ in }
        } catch {
          failures.withLock { $0 += 1 }
        }
        returned.signal()
      }.start()
      queued.wait()
    }
    save()
    save()
    store.fail()
    returned.wait()
    #expect(failures.withLock { $0 } == 1)
    #expect(store.groups(2) == [1, 1])
    store.finish(1)
    returned.wait()
    #expect(failures.withLock { $0 } == 1)
  }
}

/// A store that writes at once, on the thread that asks it to, and counts.
private final class CountingStore: CommitOnlyStore {
  private let counts = Mutex((begun: UInt64(0), saves: 0, isWriting: false))

  var saves: Int { counts.withLock { $0.saves } }

  func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    let number = counts.withLock { counts in
      #expect(!counts.isWriting, "one group at a time")
      counts.begun += 1
      counts.saves += changeSets.count
      counts.isWriting = true
      return counts.begun
    }
    sched_yield()
    counts.withLock { $0.isWriting = false }
    completion(changeSets.map { _ in .success(CommitResult(commitNumber: number)) })
  }
}

/// A store that writes on the thread that asks it to. The first commit waits until it is released.
private final class HeldStore: CommitOnlyStore {
  private let state = Mutex<[Int]>([])
  private let begun = DispatchSemaphore(value: 0)
  private let released = DispatchSemaphore(value: 0)

  /// The sizes of the groups that were committed.
  var groups: [Int] { state.withLock { $0 } }

  func awaitFirst() { begun.wait() }
  func release() { released.signal() }

  func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    let number = state.withLock { groups in
      groups.append(changeSets.count)
      return groups.count
    }
    if number == 1 {
      begun.signal()
      released.wait()
    }
    completion(changeSets.map { _ in .success(CommitResult(commitNumber: UInt64(number))) })
  }
}

/// A store that finishes a commit on demand, and can do nothing else.
private final class SlowStore: CommitOnlyStore {
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

  /// The same when so many have begun.
  func groups(_ count: Int) -> [Int] {
    while groups.count < count { sched_yield() }
    return groups
  }

  /// Fails the oldest commit that is not finished.
  func fail() {
    let (completion, count) = oldest()
    completion(Array(repeating: .failure(Unsupported()), count: count))
  }

  private func oldest() -> (@Sendable ([Result<CommitResult, any Error>]) -> Void, Int) {
    state.withLock { state in
      (state.unfinished.removeFirst(), state.groups[state.groups.count - state.unfinished.count - 1])
    }
  }

  /// Finishes the oldest commit that is not finished.
  func finish(_ number: UInt64) {
    let (completion, count) = oldest()
    completion(Array(repeating: .success(CommitResult(commitNumber: number)), count: count))
  }
}

/// A store that can commit and do nothing else.
private protocol CommitOnlyStore: StoreEngine {}

private struct Unsupported: Error {}

extension CommitOnlyStore {
  var identifier: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)) }
  var url: URL? { nil }
  var storeType: String { "Slow" }
  var configurationName: String? { nil }
  var isReadOnly: Bool { false }
  var metadata: StoreMetadata { StoreMetadata() }
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
