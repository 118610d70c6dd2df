import CLMDBShim
import Foundation

/// A thread of the operating system that runs one function and ends.
///
/// LMDB's write lock belongs to the thread that took it, so a write transaction needs a thread that is its
/// own from begin to commit: no queue of a thread pool promises that.
enum SystemThread {
  /// A number that tells running threads apart. Costs one register read.
  typealias Number = UInt

  /// The number of the calling thread.
  @inline(__always)
  static var current: Number {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }

  /// Starts a thread called `name` that runs `body`. It is never joined; `body` says itself when it is done.
  ///
  /// Signals are blocked in it, so that an application's handlers run where they always ran; those that a
  /// fault of the thread itself raises are not, nor is SIGUSR1, by which Swift's crash reporter stops
  /// threads. SIGXFSZ is: a file at its size limit is an error, no crash.
  /// - Throws: `StorageError` `.outOfMemory` when the system has no thread to give.
  static func start(_ name: StaticString, _ body: @escaping @Sendable () -> Void) throws {
    let box = Unmanaged.passRetained(Box(name, body))
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    for open in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGUSR1] { sigdelset(&all, open) }
    pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    defer { pthread_attr_destroy(&attributes) }
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let code = pthread_create(&thread, &attributes, systemThreadMain, box.toOpaque())
    guard code == 0 else {
      box.release()
      throw StorageError(
        .outOfMemory, code: code, operation: "pthread_create", path: "",
        detail: "The system has no thread to give.")
    }
  }

  fileprivate final class Box {
    let name: StaticString
    let body: @Sendable () -> Void
    init(_ name: StaticString, _ body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
}

#if canImport(Darwin)
  private func systemThreadMain(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    systemThreadBody(argument)
  }
#else
  private func systemThreadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // Never nil: `start` passes a retained box.
    systemThreadBody(argument!)
  }
#endif

private func systemThreadBody(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
  let box = Unmanaged<SystemThread.Box>.fromOpaque(argument).takeRetainedValue()
  box.name.withUTF8Buffer { bytes in
    bytes.withMemoryRebound(to: CChar.self) { name in
      strata_name_thread(name.baseAddress!)  // A StaticString ends with a zero, so it has an address.
    }
  }
  box.body()
  return nil
}
