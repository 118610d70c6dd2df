import CLMDBShim
import Foundation
import Testing

@testable import StrataCore

/// Which process waits for which, one rule at a time. All on one thread: a deadline that is over already turns
/// waiting into an error.
@Suite struct GateTests {
  private func withPool(_ body: (ReaderPool) throws -> Void) throws {
    try withEnvironment { environment in
      // A reader is parked, so that the fast way in is open, too.
      _ = try environment.read { $0.id }
      try body(environment.pool)
    }
  }

  /// Works alone with the environment, which stays as it is.
  private func workAlone(_ pool: ReaderPool, _ body: () throws -> Void = {}) throws {
    try pool.exclusively(until: .now) { environment in
      try body()
      // A pool without an environment reports that itself.
      return try .success(#require(environment))
    }
  }

  private func expectBusy(_ comment: Comment, _ body: () throws -> Void) throws {
    #expect(try storageError(body).kind == .busy, comment)
  }

  @Test func whoWorksAloneWaitsForEverybodyInside() throws {
    try withPool { pool in
      let (slot, _) = try pool.claim(until: .now)
      try expectBusy("a section is open") { try workAlone(pool) }
      pool.leave(slot)

      let parked = pool.begin()
      #expect(parked >= 0)
      try expectBusy("a read is open") { try workAlone(pool) }
      pool.end(parked)

      let (long, _) = try pool.claim(isLong: true, until: .now)
      try expectBusy("a backup is open") { try workAlone(pool) }
      #expect(!pool.isShut, "who waits for a backup keeps nobody else")
      pool.leave(long, isLong: true)

      _ = try pool.enterWriter(until: .now)
      try expectBusy("the writer is inside") { try workAlone(pool) }
      pool.leaveWriter()

      // A process that gave up has left the gate open, and no process is inside any more.
      try workAlone(pool)
      let again = pool.begin()
      #expect(again >= 0)
      pool.end(again)
    }
  }

  @Test func nobodyEntersBesideWhoWorksAlone() throws {
    try withPool { pool in
      try workAlone(pool) {
        #expect(pool.isShut)
        #expect(pool.begin() == -1, "a parked reader")
        try expectBusy("a section") { _ = try pool.claim(until: .now) }
        try expectBusy("a backup") { _ = try pool.claim(isLong: true, until: .now) }
        try expectBusy("the writer") { _ = try pool.enterWriter(until: .now) }
        try expectBusy("another one who works alone") { try workAlone(pool) }
      }
      #expect(!pool.isShut)
    }
  }

  /// Two environments on one file of one process would break LMDB's locks.
  @Test func whileAFileIsOpenedOrClosedNobodyElseOpensIt() throws {
    let registry = EnvironmentRegistry()
    let identity = FileSystem.Identity(device: .max, inode: 7)
    let other = FileSystem.Identity(device: .max, inode: 8)
    #expect(try registry.acquire(identity, path: "a", until: .now) == nil)
    try expectBusy("reserved") { _ = try registry.acquire(identity, path: "a", until: .now) }
    try expectBusy("reserved") { try registry.reserve(identity, path: "a", until: .now) }
    #expect(try registry.acquire(other, path: "b", until: .now) == nil)
    registry.settle(identity, nil)
    try registry.reserve(identity, path: "a", until: .now)
    try expectBusy("reserved again") { _ = try registry.acquire(identity, path: "a", until: .now) }
  }
}
