import Dispatch
import Foundation
import Synchronization

/// The descriptors that Dispatch takes for its timers and sources, once for the process. Where the system has none left, it ends the process.
package enum EventDescriptors {
  #if os(Linux)
    /// An epoll, an eventfd and a timerfd, and one for who asks.
    private static let count = 4
    private static let areTaken = Atomic<Bool>(false)

    /// Sees to it that Dispatch has them: looks whether there are some left, and has it take them. Later calls cost one load.
    ///
    /// What other threads open meanwhile may still be too much: the process is that close to its limit then.
    /// - Throws: ``StorageError`` of kind `outOfMemory` when there are too few.
    package static func require(path: String) throws {
      if areTaken.load(ordering: .acquiring) { return }
      let code = lack
      if code != 0 {
        throw StorageError(
          code, "open", path: path,
          detail: "The process needs \(count) more descriptors, with which the system tells of events.")
      }
      // A timer takes all of them. The queue has a thread of its own, however many others wait; a system without one is not waited for.
      let isDone = DispatchSemaphore(value: 0)
      DispatchQueue(label: "strata.events").asyncAfter(deadline: .now() + .milliseconds(1)) {
        isDone.signal()
      }
      if isDone.wait(timeout: .now() + .seconds(10)) == .success {
        areTaken.store(true, ordering: .releasing)
      }
    }

    /// Whether Dispatch has them, or could take them now.
    package static var areThere: Bool { areTaken.load(ordering: .acquiring) || lack == 0 }

    /// Why so many cannot be opened; 0 when they can.
    private static var lack: Int32 {
      var spare: [Int32] = []
      defer { for descriptor in spare { close(descriptor) } }
      while spare.count < count {
        let descriptor = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 { return errno == EMFILE || errno == ENFILE ? errno : 0 }
        spare.append(descriptor)
      }
      return 0
    }
  #else
    package static func require(path: String) throws {}
    package static var areThere: Bool { true }
  #endif
}
