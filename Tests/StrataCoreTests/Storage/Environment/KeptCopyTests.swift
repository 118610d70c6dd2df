import Foundation
import Testing

@testable import StrataCore

/// The old file of a migration where two names cannot be exchanged in one step: a copy is kept, and the new file renamed.
struct KeptCopyTests {
  private struct Stop: Error {}

  /// A signal that comes between the two names waits until both are given.
  @Test func aProgramThatEndsLeavesNoCopyThatNoStoreKnows() async throws {
    let store = try LoggedStore()
    let (path, draft) = (store.path, store.directory("draft"))
    try store.openFilled().0.close()
    await #expect(processExitsWith: .exitCode(130)) { [path = path as String, draft = draft as String] in
      var options = LoggedStore.options()
      let system = options.fileSystem
      options.fileSystem.exchange = { _, _ in -ENOSYS }
      options.fileSystem.rename = { from, to in
        let code = system.rename(from, to)
        if to.hasSuffix("-before-1") {
          Thread {
            StoreDraft.removeAll()
            _exit(130)
          }.start()
          usleep(300_000)
        }
        return code
      }
      let environment = try Environment.open(path: path, options: options)
      try environment.copy(to: draft, compacting: true)
      let replaced = try environment.file.makeReplaced()
      try? environment.write { transaction in
        try environment.retireLog(transaction)
        try Environment.move(draft, over: environment.file, keeping: replaced)
        throw Stop()
      }
      sleep(20)
    }
    let isKept = FileManager.default.fileExists(atPath: path + "-before-1")
    // The draft has the store's name then.
    #expect(isKept != FileManager.default.fileExists(atPath: draft))
    let environment = try store.open()
    #expect(try environment.get(try environment.keyspace("rows"), "a") == "3")
    environment.close()
  }
}
