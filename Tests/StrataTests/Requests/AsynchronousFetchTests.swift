import Foundation
import Strata
import Testing
import struct StrataCore.Mutex

/// Fetches whose store work runs away from the context's queue (rule 112).
struct AsynchronousFetchTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(SalesModel.make(indexed: false))
    context = store.context(.privateQueue)
    let writer = store.context()
    for number in 0..<5_000 { writer.addSale(number % 2 == 0 ? "North" : "South", Int64(number)) }
    try writer.save()
  }

  private let sorted = FetchRequest<Sale>(
    predicate: Attribute("region") == "North", sortDescriptors: [FetchSort("amount")], fetchLimit: 3)

  /// Executes `request` and waits for its completion.
  private func run<R: FetchRequestResult, T: Sendable>(
    _ request: FetchRequest<R>, _ body: @escaping @Sendable (AsynchronousFetchResult<R>) -> T
  ) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      context.perform { [context] in
        do {
          try context.execute(
            AsynchronousFetchRequest(request) { continuation.resume(returning: body($0)) })
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
  }

  @Test("rule 112: the completion gets the final result on the context's queue")
  func completion() async throws {
    let amounts = try await run(sorted) { [context] result in
      #expect(result.managedObjectContext === context && result.operationError == nil)
      #expect(result.progress.isFinished && result.progress.completedUnitCount > 0)
      #expect(result.finalResult?.allSatisfy { $0.managedObjectContext === context } == true)
      return result.finalResult?.map(\.amount)
    }
    #expect(amounts == [0, 2, 4])
  }

  @Test("every kind of result: IDs, rows of values, counts")
  func kindsOfResults() async throws {
    #expect(try await run(FetchRequest<Int>(entityName: "Sale")) { $0.finalResult } == [5_000])
    let ids = FetchRequest<ManagedObjectID>(entityName: "Sale", fetchLimit: 7)
    #expect(try await run(ids) { $0.finalResult?.count } == 7)
    let rows = FetchRequest.sales(["region", .count(as: "n")], by: ["region"], sorted: [FetchSort("region")])
    #expect(try await run(rows) { $0.finalResult?.map { $0.integer("n") } } == [2_500, 2_500])
    #expect(try await context.fetchAsynchronously(rows).count == 2)
    #expect(try await context.fetchAsynchronously(ids).count == 7)
    #expect(try await context.fetchAsynchronously(FetchRequest<Int>(entityName: "Sale")) == [5_000])
    #expect(try await context.fetchAsynchronously(sorted) { $0.map(\.amount) } == [0, 2, 4])
  }

  @Test("rule 86: unsaved changes take part, those of a parent too")
  func unsavedChanges() async throws {
    try await context.perform { [context, sorted] in
      let sales = try context.fetch(sorted)
      sales[0].amount = 1_000_000
      context.delete(sales[1])
      context.addSale("North", 5)
    }
    #expect(try await context.fetchAsynchronously(sorted) { $0.map(\.amount) } == [4, 5, 6])
    let child = ManagedObjectContext(.privateQueue, parent: context)
    #expect(try await child.fetchAsynchronously(sorted) { $0.map(\.amount) } == [4, 5, 6])
    var stored = FetchRequest<ManagedObjectID>(
      entityName: "Sale", predicate: Attribute("region") == "North")
    stored.includesPendingChanges = false
    #expect(try await context.fetchAsynchronously(stored).count == 2_500)
    // The same objects that the context has.
    try await context.fetchAsynchronously(FetchRequest<Sale>(predicate: Attribute("amount") == 1_000_000)) {
      #expect($0.count == 1 && $0[0].isUpdated)
    }
  }

  @Test("a wrong request is an error at once, a context without a queue refuses")
  func errors() throws {
    context.performAndWait {
      #expect(throws: FetchError.self) {
        try context.execute(AsynchronousFetchRequest(FetchRequest<Sale>(predicate: Attribute("regoin") == 1)))
      }
      #expect(throws: FetchError.self) {
        try context.execute(AsynchronousFetchRequest(FetchRequest.sales(["regoin"])))
      }
    }
    #expect(throws: CoreDataError.self) {
      try store.context().execute(AsynchronousFetchRequest(FetchRequest<Sale>()))
    }
  }

  @Test("a main-queue context fetches on the main actor, and objects come back there")
  @MainActor func mainActor() async throws {
    let main = store.context(.mainQueue)
    main.addSale("North", -1)
    let sales = try await main.fetchAsynchronously(sorted)
    #expect(sales.map(\.amount) == [-1, 0, 2])
    #expect(sales.allSatisfy { $0.managedObjectContext === main })
  }

  @Test(
    "the context's queue is free while the store is read, and objects that are deleted meanwhile are left out"
  )
  func queueIsFree() async throws {
    let gate = StoreGate()
    let slow = try TemporaryStore(behind: gate)
    try slow.save("a", "b", "c")
    let context = slow.context(.privateQueue)
    let (begun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    gate.afterNextFetch {
      begun.signal()
      mayEnd.wait()
    }
    async let found = context.fetchAsynchronously(
      FetchRequest<Entry>(sortDescriptors: [FetchSort("location")])
    ) { $0.map(\.location) }
    await Self.wait(for: begun)
    // The fetch is in the store; the queue carries out its blocks.
    try await context.perform {
      let entries = try context.entries()
      context.delete(entries[1])
      entries[2].location = "z"
    }
    mayEnd.signal()
    #expect(try await found == ["a", "z"])
  }

  private static func wait(for semaphore: DispatchSemaphore) async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        semaphore.wait()
        continuation.resume()
      }
    }
  }

  @Test("a cancelled fetch stops reading within some thousand rows and ends with a CancellationError")
  func cancellation() async throws {
    // Far more rows than are tested between two checks for cancelling, counted by a predicate that notes each.
    let all = FetchRequest<Sale>(
      predicate: Attribute("region").contains("o"), sortDescriptors: [FetchSort("amount")])
    let running = Mutex<AsynchronousFetchResult<Sale>?>(nil)
    let error = try await withCheckedThrowingContinuation { continuation in
      context.perform { [context] in
        do {
          let result = try context.execute(
            AsynchronousFetchRequest(all) { result in
              #expect(result.finalResult == nil && result.progress.isCancelled)
              continuation.resume(returning: result.operationError is CancellationError)
            })
          result.cancel()
          running.withLock { $0 = result }
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
    #expect(error)
    let task = Task { [context] in try await context.fetchAsynchronously(all) { $0.count } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("cancelling the progress cancels the fetch")
  func cancellingTheProgress() async throws {
    let isCancelled = try await withCheckedThrowingContinuation { continuation in
      context.perform { [context] in
        do {
          let result = try context.execute(
            AsynchronousFetchRequest(FetchRequest<Sale>(), estimatedResultCount: 5_000) {
              continuation.resume(returning: $0.operationError is CancellationError)
            })
          #expect(result.progress.totalUnitCount == 5_000)
          result.progress.cancel()
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
    #expect(isCancelled)
  }

  @Test(
    "rule 112: at the end the progress is the number of rows that were found", arguments: [0, 7, 100_000])
  func lastProgress(estimate: Int) async throws {
    func progress<R: FetchRequestResult>(_ request: FetchRequest<R>) async throws -> [Int64] {
      try await withCheckedThrowingContinuation { continuation in
        context.perform { [context] in
          do {
            try context.execute(
              AsynchronousFetchRequest(request, estimatedResultCount: estimate) { result in
                let count = (result.finalResult as? [Int])?.first ?? result.finalResult?.count ?? -1
                continuation.resume(returning: [
                  result.progress.totalUnitCount, result.progress.completedUnitCount, Int64(count),
                ])
              })
          } catch {
            continuation.resume(throwing: error)
          }
        }
      }
    }
    #expect(try await progress(FetchRequest<Sale>()) == [5_000, 5_000, 5_000])
    #expect(try await progress(sorted) == [3, 3, 3])
    var batched = FetchRequest<Sale>(sortDescriptors: [FetchSort("amount")])
    batched.fetchBatchSize = 20
    #expect(try await progress(batched) == [5_000, 5_000, 5_000])
    #expect(try await progress(FetchRequest<ManagedObjectID>(entityName: "Sale")) == [5_000, 5_000, 5_000])
    #expect(try await progress(FetchRequest<Int>(entityName: "Sale")) == [5_000, 5_000, 5_000])
    let rows = FetchRequest.sales(["region", .count(as: "n")], by: ["region"], sorted: [FetchSort("region")])
    #expect(try await progress(rows) == [2, 2, 2])
    let none = FetchRequest<Sale>(predicate: Attribute("region") == "West")
    #expect(try await progress(none) == [0, 0, 0])
  }

  @Test("an empty result ends the progress, too; a cancelled one says that it was cancelled")
  func endOfProgress() async throws {
    let none = FetchRequest<Sale>(predicate: Attribute("region") == "West")
    #expect(try await run(none) { $0.progress.isFinished || $0.progress.totalUnitCount == 0 })
    // The fetch has read the store, and goes on when it has been cancelled.
    let gate = StoreGate()
    let slow = try TemporaryStore(behind: gate)
    try slow.save("a", rating: 1)
    let context = slow.context(.privateQueue)
    let isCancelled = DispatchSemaphore(value: 0)
    gate.afterNextFetch { isCancelled.wait() }
    let told = try await withCheckedThrowingContinuation { continuation in
      context.perform {
        do {
          let result = try context.execute(
            AsynchronousFetchRequest(FetchRequest<Entry>(), estimatedResultCount: 100) { result in
              continuation.resume(returning: [
                result.progress.isCancelled, result.progress.isFinished,
                result.progress.totalUnitCount == 100,
              ])
            })
          result.cancel()
          isCancelled.signal()
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
    #expect(told == [true, false, true])
  }

  @Test("what is merged while the store is read is not undone by older rows")
  func olderRows() async throws {
    let gate = StoreGate()
    let slow = try TemporaryStore(behind: gate)
    try slow.save("a", rating: 1)
    let context = slow.context(.privateQueue)
    context.automaticallyMergesChangesFromParent = true
    let (begun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    gate.afterNextFetch {
      begun.signal()
      mayEnd.wait()
    }
    async let found = context.fetchAsynchronously(FetchRequest<Entry>()) { $0.map(\.rating) }
    await Self.wait(for: begun)
    let writer = slow.context()
    try writer.entry("a").rating = 5
    try writer.save()
    // The merge comes before the fetch ends.
    await context.perform(schedule: .enqueued) {}
    mayEnd.signal()
    #expect(try await found == [5])
  }

  @Test("a pinned generation is what is fetched from")
  func pinnedGeneration() async throws {
    try await context.perform { [context] in try context.setQueryGenerationFrom(.current) }
    #expect(try await context.fetchAsynchronously(FetchRequest<Int>(entityName: "Sale")) == [5_000])
    let writer = store.context()
    writer.addSale("x", 1)
    try writer.save()
    #expect(try await context.fetchAsynchronously(FetchRequest<Int>(entityName: "Sale")) == [5_000])
    try await context.perform { [context] in
      #expect(try context.count(for: FetchRequest<Sale>()) == 5_000)
      try context.setQueryGenerationFrom(nil)
    }
    #expect(try await context.fetchAsynchronously(FetchRequest<Int>(entityName: "Sale")) == [5_001])
  }
}
