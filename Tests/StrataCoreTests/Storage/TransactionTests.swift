import Foundation
import Testing

@testable import StrataCore

/// Transactions, cursors, keyspaces.
@Suite struct TransactionTests {
  @Test func committedValuesAreReadBack() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "a", "1")
      #expect(try environment.get(rows, "a") == "1")
      #expect(try environment.get(rows, "b") == nil)
      #expect(try environment.read { try $0.entryCount(rows) } == 1)
    }
  }

  @Test func aThrowingWriteLeavesNothingBehind() throws {
    struct Stop: Error {}
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      #expect(throws: Stop.self) {
        try environment.write { transaction in
          try transaction.put(rows, "a", "1")
          throw Stop()
        }
      }
      #expect(try environment.get(rows, "a") == nil)
    }
  }

  @Test func aReaderKeepsItsViewWhileAnotherCommits() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "a", "1")
      let done = DispatchSemaphore(value: 0)
      try environment.read { transaction in
        environment.submitWrite {
          try $0.put(rows, "a", "2")
        } completion: { _ in
          done.signal()
        }
        done.wait()
        let old = try transaction.get(rows, "a")
        #expect(old == "1")
        #expect(try environment.get(rows, "a") == "2")
      }
      #expect(try environment.get(rows, "a") == "2")
    }
  }

  /// Some megabytes of rows, handed over again and again; the file's length before and after the last time, in the transaction.
  private func putMuch(
    _ environment: Environment, _ rows: Keyspace, _ end: @escaping @Sendable () throws -> Void = {}
  ) throws -> (before: Int, after: Int) {
    try environment.write { transaction in
      func length() throws -> Int { try #require(try environment.file.status()).size }
      var lengths = (before: 0, after: 0)
      let value = [UInt8](repeating: 7, count: 1_000)
      try transaction.withCursor(rows) { cursor in
        for number in 0..<6_000 as Range<UInt64> {
          try PrimaryKeyBytes.with(number) { key in
            try value.withUnsafeBytes { try cursor.put(key, $0, append: true) }
          }
          guard number % 2_000 == 1_999 else { continue }
          lengths.before = try length()
          try transaction.handOver(recordOf: rows)
          lengths.after = try length()
        }
      }
      try end()
      return lengths
    }
  }

  @Test func changedPagesAreHandedOverBeforeTheCommit() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let lengths = try putMuch(environment, rows)
      #expect(lengths.after - lengths.before > 1_500_000)
      try environment.read { transaction in
        #expect(try transaction.entryCount(rows) == 6_000)
        var next: UInt64 = 0
        try transaction.forEach(in: rows) { entry in
          #expect(PrimaryKeyBytes.whole(entry.key) == next && entry.value.count == 1_000)
          #expect(entry.value.allSatisfy { $0 == 7 })
          next += 1
        }
      }
    }
  }

  @Test func pagesThatWereHandedOverAreFreeAfterAThrow() throws {
    struct Stop: Error {}
    try withEnvironment { environment in
      let (rows, others) = (try environment.keyspace("rows"), try environment.keyspace("others"))
      try environment.put(others, "a", "1")
      #expect(throws: Stop.self) { _ = try putMuch(environment, rows) { throw Stop() } }
      #expect(try environment.read { try $0.entryCount(rows) } == 0)
      #expect(try environment.get(others, "a") == "1")
    }
  }

  @Test func appendingOutOfOrderIsRefused() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      try environment.write { transaction in
        for number in 0..<1000 { try transaction.put(rows, String(10_000 + number), "x", append: true) }
      }
      #expect(try environment.read { try $0.entryCount(rows) } == 1000)
      let error = try storageError {
        try environment.write { try $0.put(rows, "1", "x", append: true) }
      }
      #expect(error.kind == .invalid)
    }
  }

  @Test func deleteAndClear() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      try environment.write { for key in ["a", "b", "c"] { try $0.put(rows, key, key) } }
      let answers = try environment.write { transaction in
        try "a".bytes { [try transaction.delete(rows, $0), try transaction.delete(rows, $0)] }
      }
      #expect(answers == [true, false])
      try environment.write { try $0.clear(rows) }
      #expect(try environment.read { try $0.entryCount(rows) } == 0)
      try environment.put(rows, "z", "1")
      #expect(try environment.get(rows, "z") == "1")
    }
  }

  @Test(arguments: [0, 512, 600]) func keysOfImpossibleLengthAreRefused(count: Int) throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let error = try storageError {
        try environment.write { try $0.put(rows, String(repeating: "k", count: count), "v") }
      }
      #expect(error.kind == .tooLarge)
    }
  }

  @Test func keysOf511BytesAndEmptyValuesWork() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let key = String(repeating: "k", count: 511)
      try environment.put(rows, key, "")
      #expect(try environment.get(rows, key) == "")
    }
  }

  @Test func keyspacesAreSeparateAndKeepTheirHandles() throws {
    try withEnvironment { environment in
      let first = try environment.keyspaces(["a", "b"])
      let second = try environment.keyspaces(["b", "a", "c"])
      #expect(first[0] == second[1])
      #expect(first[1] == second[0])
      let a = try #require(first[0])
      let b = try #require(first[1])
      try environment.put(a, "k", "a")
      #expect(try environment.get(b, "k") == nil)
    }
  }

  @Test func keyspaceNamesAreChecked() throws {
    try withEnvironment { environment in
      for name in ["", "a\0b", String(repeating: "n", count: 512)] {
        let error = try storageError { _ = try environment.keyspaces([name]) }
        #expect(error.kind == .invalid)
      }
    }
  }

  @Test func moreKeyspacesThanPlannedAreRefused() throws {
    var options = EnvironmentOptions.scratch
    options.maxKeyspaces = 2
    try withEnvironment(options) { environment in
      _ = try environment.keyspaces(["a", "b"])
      #expect(try storageError { _ = try environment.keyspaces(["c"]) }.kind == .invalid)
      #expect(try environment.keyspaces(["a"])[0] != nil)
    }
  }

  @Test func cursorsWalkBothWaysAndSeek() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let keys = (0..<500).map { String(1000 + 2 * $0) }
      try environment.write { for key in keys { try $0.put(rows, key, "v" + key) } }
      try environment.read { transaction in
        try transaction.withCursor(rows) { cursor in
          var seen: [String] = []
          while let entry = try cursor.next() { seen.append(String(decoding: entry.key, as: UTF8.self)) }
          #expect(seen == keys)
          var back: [String] = []
          var entry = try cursor.last()
          while let found = entry {
            back.append(String(decoding: found.key, as: UTF8.self))
            entry = try cursor.previous()
          }
          #expect(back == keys.reversed())
          let found = try "1501".bytes { try cursor.seek(atLeast: $0) }
          #expect(found.map { String(decoding: $0.key, as: UTF8.self) } == "1502")
          #expect(found.map { String(decoding: $0.value, as: UTF8.self) } == "v1502")
          #expect(try "1501".bytes { try cursor.seek(exactly: $0) } == nil)
          #expect(try "1502".bytes { try cursor.seek(exactly: $0) } != nil)
          #expect(try "9".bytes { try cursor.seek(atLeast: $0) } == nil)
        }
      }
    }
  }

  @Test func aReadCursorCannotWrite() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "a", "1")
      try environment.read { transaction in
        try transaction.withCursor(rows) { cursor in
          _ = try cursor.first()
          #expect(throws: StorageError.self) { try cursor.delete() }
        }
      }
    }
  }

  /// Random operations through cursors and calls against a sorted dictionary.
  @Test func randomOperationsMatchADictionary() throws {
    let seed = testSeed()
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      var random = SeededGenerator(seed: seed)
      var model: [String: String] = [:]
      for round in 0..<60 {
        let start = model
        let roundSeed = random.next()
        // The body may run again, so it starts from copies.
        let changed = try environment.write { transaction in
          var model = start
          var random = SeededGenerator(seed: roundSeed)
          for _ in 0..<80 {
            let key = String(Int.random(in: 0..<400, using: &random) + 1000)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
              let value = String(repeating: key, count: Int.random(in: 0..<900, using: &random))
              try transaction.put(rows, key, value)
              model[key] = value
            case 2:
              _ = try key.bytes { try transaction.delete(rows, $0) }
              model[key] = nil
            default:
              try transaction.withCursor(rows) { cursor in
                var entry = try key.bytes { try cursor.seek(atLeast: $0) }
                for _ in 0..<3 {
                  guard let found = entry else { break }
                  model[String(decoding: found.key, as: UTF8.self)] = nil
                  try cursor.delete()
                  entry = try cursor.next()
                }
              }
            }
          }
          return model
        }
        model = changed
        let stored = try environment.read { transaction in
          try transaction.withCursor(rows) { cursor in
            var stored: [(String, String)] = []
            while let entry = try cursor.next() {
              stored.append(
                (String(decoding: entry.key, as: UTF8.self), String(decoding: entry.value, as: UTF8.self)))
            }
            return stored
          }
        }
        let expected = model.sorted { $0.key < $1.key }
        #expect(stored.map(\.0) == expected.map(\.key), "round \(round)")
        #expect(stored.map(\.1) == expected.map(\.value), "round \(round)")
      }
    }
  }

  @Test func aSwallowedFailureStillSpoilsTheTransaction() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let unknown = Keyspace(handle: 77, name: "unknown")
      let error = try storageError {
        try environment.write { transaction in
          try transaction.put(rows, "a", "1")
          try? transaction.put(unknown, "a", "1")
        }
      }
      #expect(error.code != 0)
      #expect(try environment.get(rows, "a") == nil)
    }
  }
}
