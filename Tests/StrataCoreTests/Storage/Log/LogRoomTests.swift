import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// A full disk, and a log that holds room: the commit that finds none is tried once more without the log.
struct LogRoomTests {
  /// Only the record finds no room: the commit needs none.
  @Test(arguments: [Durability.full, .relaxed])
  func aCommitWhoseRecordFindsNoRoomGoesWithoutTheLog(durability: Durability) throws {
    let store = try LoggedStore()
    let isFull = Atomic<Bool>(false)
    let failures = Atomic<Int>(0)
    try withExtendedLifetime(store) {
      var options = LoggedStore.options(durability)
      let system = options.fileSystem
      options.fileSystem.write = { descriptor, bytes, offset in
        if offset >= LogFormat.recordStart, isFull.exchange(false, ordering: .relaxed) {
          failures.add(1, ordering: .relaxed)
          return -Int(ENOSPC)
        }
        return system.write(descriptor, bytes, offset)
      }
      let (environment, rows) = try store.openFilled(options)
      #expect(store.hasLog)
      isFull.store(true, ordering: .relaxed)
      try environment.put(rows, "a", "4")
      #expect(failures.load(ordering: .relaxed) == 1)
      #expect(!store.hasLog)
      #expect(try environment.get(rows, "a") == "4")
      // Later ones have a log again.
      for number in 5...7 { try environment.put(rows, "a", "\(number)") }
      #expect(store.hasLog)
      environment.close()
      let again = try store.open()
      defer { again.close() }
      #expect(try again.get(try again.keyspace("rows"), "a") == "7")
    }
  }

  /// What the log keeps since its checkpoint is enough for small commits; a large one fails, and has taken the log's room, too.
  @Test func pagesThatTheLogKeepsAreUsedOnAFullDisk() async throws {
    await #expect(processExitsWith: .success) {
      let store = try LoggedStore()
      let (environment, rows) = try store.openFilled()
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      let before = limit.rlim_cur
      limit.rlim_cur = rlim_t(try environment.statistics().fileSize + 60_000)
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      for number in 1...60 { try environment.put(rows, "a", "\(number)") }
      let error = try storageError {
        try environment.put(rows, "b", String(repeating: "x", count: 200_000))
      }
      #expect(error.kind == .diskFull && !error.isOutcomeUnknown, "\(error)")
      #expect(!store.hasLog)
      #expect(try environment.get(rows, "a") == "60")
      limit.rlim_cur = before
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      try environment.put(rows, "b", String(repeating: "x", count: 200_000))
      environment.close()
      let again = try store.open()
      defer { again.close() }
      let reopened = try again.keyspace("rows")
      #expect(try again.get(reopened, "a") == "60")
      #expect(try again.get(reopened, "b")?.count == 200_000)
    }
  }
}
