import CoreData

/// A thread that carries out tasks while the caller waits: stories happen one step after the other, on any thread.
final class Hand: @unchecked Sendable {
  // Only one thread at a time is inside: the semaphores pass `work` on.
  private let given = DispatchSemaphore(value: 0)
  private let done = DispatchSemaphore(value: 0)
  private var work: (() -> Void)?

  init(_ name: String) {
    let thread = Thread { [self] in
      while true {
        given.wait()
        work?()
        work = nil
        done.signal()
      }
    }
    thread.name = name
    thread.stackSize = 4 << 20
    thread.start()
  }

  /// Does `body` on this hand's thread and waits for it.
  func run<T>(_ body: () throws -> T) throws -> T {
    try withoutActuallyEscaping(body) { body in
      var result: Result<T, any Error>?
      work = { result = Result { try body() } }
      given.signal()
      done.wait()
      guard let result else {
        preconditionFailure("A hand does all it is given before it says that it is done.")
      }
      return try result.get()
    }
  }
}
