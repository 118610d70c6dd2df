import StrataCore

/// Carries what Core Data lets cross from one queue to another although the type system cannot see that it may.
struct Carried<Value>: @unchecked Sendable {
  // Safe as in Core Data: the block runs on the context's queue alone, and nothing else holds its value.
  let value: Value
  init(_ value: Value) { self.value = value }
}

extension NSManagedObjectContext {
  /// Runs `block` on the context's queue and returns at once. May be called from any thread.
  ///
  /// It takes along what it likes, as Core Data's does. A closure that main-actor code writes in Swift 6 mode belongs to the main actor,
  /// unless it is marked `@Sendable`, and traps on a private queue; the closures of the asynchronous methods do not.
  public func perform(_ block: @escaping () -> Void) {
    let block = Carried(block)
    self.StrataCore::perform { block.value() }
  }

  /// Runs `block` on the context's queue and returns its value. May be called from any task.
  nonisolated(nonsending) public func perform<T>(
    schedule: ScheduledTaskType = .immediate, _ block: sending @escaping () throws -> T
  ) async throws -> T {
    let block = Carried(block)
    return try await self.StrataCore::perform(schedule: schedule) { Carried(try block.value()) }.value
  }

  /// Runs `block`, which cannot fail, on the context's queue and returns its value. May be called from any task.
  nonisolated(nonsending) public func perform<T>(
    schedule: ScheduledTaskType = .immediate, _ block: sending @escaping () -> T
  ) async -> T {
    let block = Carried(block)
    return await self.StrataCore::perform(schedule: schedule) { Carried(block.value()) }.value
  }
}

extension NSPersistentStoreCoordinator {
  /// Runs `block` on the coordinator's queue and returns at once.
  public func perform(_ block: sending @escaping () -> Void) {
    let block = Carried(block)
    self.StrataCore::perform { block.value() }
  }

  /// Runs `block` on the coordinator's queue and returns its value.
  nonisolated(nonsending) public func perform<T>(_ block: sending @escaping () throws -> T) async throws -> T
  {
    let block = Carried(block)
    let answer = ErrandAnswer<Result<T, any Error>>()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      self.StrataCore::perform {
        answer.give(Result { try block.value() })
      } then: {
        continuation.resume()
      }
    }
    return try answer.take().get()
  }

  /// Runs `block`, which cannot fail, on the coordinator's queue and returns its value.
  nonisolated(nonsending) public func perform<T>(_ block: sending @escaping () -> T) async -> T {
    let block = Carried(block)
    let answer = ErrandAnswer<T>()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      self.StrataCore::perform {
        answer.give(block.value())
      } then: {
        continuation.resume()
      }
    }
    return answer.take()
  }
}
