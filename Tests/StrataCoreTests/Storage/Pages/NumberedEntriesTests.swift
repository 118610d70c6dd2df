import Foundation
import Testing

@testable import StrataCore

/// Many look-ups side by side find what LMDB finds one by one.
@Suite struct NumberedEntriesTests {
  private func put(
    _ key: UInt64, _ value: [UInt8], _ keyspace: Keyspace, _ transaction: borrowing WriteTransaction
  ) throws {
    try PrimaryKeyBytes.with(key) { key in
      try value.withUnsafeBytes { try transaction.put(keyspace, key, $0) }
    }
  }

  private func check(
    _ keys: [UInt64], _ keyspace: Keyspace, _ transaction: borrowing ReadTransaction, _ place: String,
    isUnchanged: Bool = false
  ) throws {
    var looked: [UInt64] = []
    var differences = 0
    try transaction.forEachValue(of: keys, in: keyspace, isUnchanged: isUnchanged) { key, value in
      let expected = try PrimaryKeyBytes.with(key) { try transaction.get(keyspace, $0).map(Array.init) }
      if value.map(Array.init) != expected { differences += 1 }
      looked.append(key)
      return true
    }
    #expect(looked == keys, "\(place)")
    #expect(differences == 0, "\(place)")
  }

  /// Keys in a row and keys far apart, holes, values that have pages of their own, trees of every depth up to four; in read and in
  /// write transactions, before and after changes.
  @Test(arguments: 0..<6) func lookUpsAgree(part: Int) throws {
    var random = SeededGenerator(seed: testSeed() &+ UInt64(part))
    try withEnvironment { environment in
      let keyspace = try environment.keyspace("rows")
      let count = [0, 1, 20, 2_000, 20_000, 60_000][part]
      let isDense = Bool.random(using: &random)
      let keys = (0..<count).map {
        isDense ? UInt64($0 + 1) : UInt64.random(in: 0...UInt64.max, using: &random)
      }
      func value() -> [UInt8] {
        let size = Int.random(in: 0..<60, using: &random)
        return [UInt8](repeating: UInt8(size), count: size == 0 ? 5_000 : size * 5)
      }
      func questions() -> [UInt64] {
        var questions: [UInt64] = [0, 1, UInt64.max]
        for _ in 0..<200 {
          questions.append(UInt64.random(in: 0...UInt64(count + 2), using: &random))
          questions.append(UInt64.random(in: 0...UInt64.max, using: &random))
          if let key = keys.randomElement(using: &random) { questions += [key, key &+ 1, key &- 1] }
        }
        if Bool.random(using: &random) { questions.sort() }
        return questions
      }
      // Closures of a write transaction run on another thread: what they use is made before.
      let pairs = keys.map { ($0, value()) }
      let (first, second, third, fourth, fifth) = (
        questions(), questions(), questions(), questions(), questions()
      )
      try environment.write { transaction in
        for (key, value) in pairs { try put(key, value, keyspace, transaction) }
        try check(first, keyspace, transaction.read, "after inserts")
      }
      try environment.read { transaction in
        try check(second, keyspace, transaction, "read")
        try check([], keyspace, transaction, "no keys")
        try check([7], keyspace, transaction, "one key")
      }
      let doomed = keys.filter { _ in UInt8.random(in: 0..<4, using: &random) == 0 }
      let again = keys.shuffled(using: &random).prefix(count / 8).map { ($0, value()) }
      try environment.write { transaction in
        try check(third, keyspace, transaction.read, "write, nothing changed")
        try check(third, keyspace, transaction.read, "write, said to be unchanged", isUnchanged: true)
        for key in doomed {
          _ = try PrimaryKeyBytes.with(key) { try transaction.delete(keyspace, $0) }
        }
        for (key, value) in again { try put(key, value, keyspace, transaction) }
        try check(fourth, keyspace, transaction.read, "write, changed")
      }
      try environment.read { try check(fifth, keyspace, $0, "read, changed") }
    }
  }

  @Test func ofOldSnapshotsToo() throws {
    try withEnvironment { environment in
      let keyspace = try environment.keyspace("rows")
      try environment.write { transaction in
        for key in 1...5_000 { try put(UInt64(key), [1, 2, 3], keyspace, transaction) }
      }
      try environment.read { old in
        // By another thread: this one has a transaction.
        let written = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          defer { written.signal() }
          do {
            try environment.write { transaction in
              for key in stride(from: 1, through: 5_000, by: 2) {
                _ = try PrimaryKeyBytes.with(UInt64(key)) { try transaction.delete(keyspace, $0) }
              }
              for key in 6_000...9_000 { try put(UInt64(key), [4], keyspace, transaction) }
            }
          } catch {
            Issue.record(error)
          }
        }
        written.wait()
        try check(Array(1...9_100), keyspace, old, "the snapshot from before")
        var found = 0
        try old.forEachValue(of: Array(1...9_100), in: keyspace) { _, value in
          if value != nil { found += 1 }
          return found < 4_000
        }
        #expect(found == 4_000)
      }
      try environment.read { new in
        try check(Array(1...9_100), keyspace, new, "the newest snapshot")
        #expect(try new.entryCount(keyspace) == 5_501)
      }
    }
  }
}
