import Foundation
import Synchronization

/// Tells a process from the child that `fork` made of it.
///
/// A child inherits LMDB's memory but neither its locks nor its threads, so using the parent's environment
/// there would damage the store. Reads compare one number; writes also ask the system for the process id,
/// which catches a fork that ran no handlers.
enum ForkGuard {
  /// How many forks lie between the first process and this one. One relaxed load.
  @inline(__always)
  static var generation: Int { forkGeneration.load(ordering: .relaxed) }

  /// The system's number for this process, asked again each time.
  static var process: Int32 { getpid() }

  /// Makes forks count. Safe to call often and from many threads.
  static func install() { _ = installed }

  private static let installed: Bool = {
    InheritedDescriptors.prepare()
    pthread_atfork(
      nil, nil,
      {
        forkGeneration.wrappingAdd(1, ordering: .relaxed)
        InheritedDescriptors.close()
      })
    return true
  }()
}

/// Counts the forks; global because the handler is a C function without a context.
private let forkGeneration = Atomic<Int>(0)
