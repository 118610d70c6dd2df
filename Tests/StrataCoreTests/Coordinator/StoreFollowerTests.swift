import Foundation
import Testing

@testable import StrataCore

/// How a store notices commits of others when the system does not help, or the file was replaced.
struct StoreFollowerTests {
  private final class Heard: Sendable {
    let commits = Mutex<[JournaledCommit]>([])
    var all: [JournaledCommit] { commits.withLock { $0 } }
  }

  private func follower(_ store: LMDBStore, _ heard: Heard) -> StoreFollower {
    StoreFollower(
      store: store,
      StoreFollower.Listener(
        commit: { commit in heard.commits.withLock { $0.append(commit) } }, changed: { _, _ in }))
  }

  private func insert(_ fixture: StoreFixture) throws -> UInt64 {
    let row = try fixture.insert("Item", ["s": .string("new")])
    try fixture.commit(inserts: [row])
    return row.primaryKey
  }

  /// Polls; false when it has not come true in half a minute.
  private func eventually(_ isTrue: () throws -> Bool) async rethrows -> Bool {
    for _ in 0..<3_000 {
      if try isTrue() { return true }
      try? await Task.sleep(for: .milliseconds(10))
    }
    return false
  }

  @Test("without a watch the file is polled: a commit is noticed all the same")
  func fallback() async throws {
    let fixture = try StoreFixture(options: .scratch)
    let heard = Heard()
    let follower = follower(try fixture.secondStore(), heard)
    follower.start { _ in nil }
    defer { follower.stop() }
    var keys: [UInt64] = []
    for count in 1...2 {
      keys.append(try insert(fixture))
      #expect(await eventually { heard.all.count == count })
    }
    #expect(heard.all.flatMap { $0.changes.inserted.lists.flatMap { $0 } } == keys)
    // Nothing is reported after the end, though another follower hears of the save.
    follower.stop()
    let witnessed = Heard()
    let witness = self.follower(try fixture.secondStore(), witnessed)
    witness.start { _ in nil }
    defer { witness.stop() }
    _ = try insert(fixture)
    #expect(await eventually { !witnessed.all.isEmpty })
    #expect(heard.all.count == 2)
  }

  @Test("a file that was replaced is followed no more; one that was only touched is")
  func replaced() throws {
    let fixture = try StoreFixture(options: .scratch)
    let store = try fixture.secondStore()
    let handler = Mutex<(@Sendable (StoreWatchEvent) -> Void)?>(nil)
    let follower = follower(store, Heard())
    follower.start { told in
      handler.withLock { $0 = told }
      return nil
    }
    defer { follower.stop() }
    let moved = try #require(handler.withLock { $0 })
    moved(.moved)
    #expect(follower.isFollowing, "its attributes have changed")
    let url = try #require(store.watchedPath.map { URL(fileURLWithPath: $0) })
    let aside = url.appendingPathExtension("aside")
    try FileManager.default.moveItem(at: url, to: aside)
    try Data("another file".utf8).write(to: url)
    moved(.moved)
    #expect(!follower.isFollowing)
    try FileManager.default.removeItem(at: url)
    try FileManager.default.moveItem(at: aside, to: url)
  }

  @Test("commits of a writer that has no journal, as before there was one: anything may have changed")
  func withoutJournal() async throws {
    let fixture = try StoreFixture(options: .scratch)
    let heard = Heard()
    let follower = follower(try fixture.secondStore(), heard)
    follower.start { _ in nil }
    defer { follower.stop() }
    _ = try insert(fixture)
    #expect(await eventually { heard.all.count == 1 })
    let journal = try #require(fixture.store.parts.journal)
    // Its entry is removed at once, before the follower looks again: it waits a second between two looks.
    _ = try insert(fixture)
    try fixture.store.parts.environment.write { transaction in
      for number in [1, 2] as [UInt64] {
        _ = try PrimaryKeyBytes.with(number) { try transaction.delete(journal.keyspace, $0) }
      }
    }
    let reading = try fixture.secondStore().journal(after: 0)
    #expect(reading.commits.map(\.isUnknown) == [true])
    #expect(await eventually { heard.all.count == 2 })
  }
}
