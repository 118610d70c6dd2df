import Foundation
import Testing

@testable import StrataCore

/// The old file of a migration where two names cannot be exchanged in one step: a copy is kept, and the new file renamed.
struct KeptCopyTests {
  private struct Stop: Error {}

  @Test(arguments: [true, false], [true, false])
  func bothFilesHaveThePermissionsOfTheStore(canExchange: Bool, keeps: Bool) throws {
    let store = try LoggedStore()
    var options = LoggedStore.options()
    if !canExchange { options.fileSystem.exchange = { _, _ in -ENOSYS } }
    let environment = try store.openFilled(options).0
    defer { environment.close() }
    let draft = store.directory("draft")
    try environment.copy(to: draft, compacting: true)
    try #require(chmod(store.path, 0o664) == 0)
    if getuid() == 0 { try #require(chown(store.path, 4_711, 4_712) == 0) }
    let owner = getuid() == 0 ? 4_711 : getuid()
    let replaced = try environment.file.makeReplaced()
    #expect(throws: Stop.self) {
      try environment.write { transaction in
        try environment.retireLog(transaction)
        if keeps {
          try Environment.move(draft, over: environment.file, keeping: replaced)
        } else {
          try Environment.move(draft, over: environment.file)
        }
        throw Stop()
      }
    }
    for path in [store.path] + (keeps ? [store.path + "-before-1"] : []) {
      var status = stat()
      try #require(stat(path, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o664 && status.st_uid == owner, "\(path)")
    }
  }

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
