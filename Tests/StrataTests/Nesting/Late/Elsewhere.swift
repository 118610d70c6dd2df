import Foundation
import Strata

/// Runs work on a thread of its own and waits for it.
enum Elsewhere {
  static func run<T>(_ body: () throws -> T) throws -> T {
    try withoutActuallyEscaping(body) { body in
      let work = Work<T>()
      work.body = body
      let thread = Thread { work.run() }
      thread.start()
      return try work.wait()
    }
  }

  /// Unchecked: the caller waits, so that only one thread at a time uses it.
  private final class Work<T>: @unchecked Sendable {
    var body: (() throws -> T)?
    private var result: Result<T, any Error>?
    private let done = DispatchSemaphore(value: 0)

    func run() {
      if let body { result = Result { try body() } }
      // The thread may outlive the caller's closure.
      body = nil
      done.signal()
    }

    func wait() throws -> T {
      done.wait()
      guard let result else { preconditionFailure("the thread has ended without a result") }
      return try result.get()
    }
  }

  /// The same for a task, which does not block a thread of the tasks meanwhile.
  static func begin<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      let thread = Thread { continuation.resume(with: Result { try body() }) }
      thread.start()
    }
  }
}

/// Where the child is made, and where it is used.
enum LateChild: CaseIterable, Sendable {
  case privateHere, privateElsewhere, confinedElsewhere, parentSetLater

  /// What `read` finds in a new child of `parent`.
  func read<T>(above parent: ManagedObjectContext, _ read: (ManagedObjectContext) throws -> T) throws -> T {
    func inside(_ child: ManagedObjectContext) throws -> T { try child.performAndWait { try read(child) } }
    switch self {
    case .privateHere: return try inside(ManagedObjectContext(.privateQueue, parent: parent))
    case .privateElsewhere:
      return try Elsewhere.run { try inside(ManagedObjectContext(.privateQueue, parent: parent)) }
    case .confinedElsewhere:
      return try Elsewhere.run { try inside(ManagedObjectContext(.confinement, parent: parent)) }
    case .parentSetLater:
      return try Elsewhere.run {
        let child = ManagedObjectContext(.privateQueue)
        child.parent = parent
        return try inside(child)
      }
    }
  }

  /// All entries that a new child of `parent` sees, as “location rating”.
  func entries(above parent: ManagedObjectContext) throws -> [String] {
    try read(above: parent) { try $0.entries().map { "\($0.location ?? "nil") \($0.rating)" } }
  }
}

extension ManagedObjectContext {
  /// Runs `body` as one `perform` block and returns when its event is over. A confinement context runs it here and processes its
  /// pending changes.
  func performAndFinish(_ body: @escaping () throws -> Void) throws {
    guard concurrencyType != .confinement else {
      try body()
      processPendingChanges()
      return
    }
    // Unsafe: this thread waits meanwhile.
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) var result: Result<Void, any Error>?
    let done = DispatchSemaphore(value: 0)
    perform { result = Result { try body() } }
    perform { done.signal() }
    done.wait()
    try result?.get()
  }
}
