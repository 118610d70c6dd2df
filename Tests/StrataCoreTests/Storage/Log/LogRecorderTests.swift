import Foundation
import Testing

@testable import StrataCore

/// The records of write transactions: carried out again, they make the same store.
struct LogRecorderTests {
  private static let names = ["edges", "journal", "rows"]

  /// Runs `body` in a transaction whose changes are recorded, and returns the record; nil when it is too large.
  private func record(
    _ environment: Environment, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Void
  ) throws -> [UInt8]? {
    try environment.write { transaction in
      let recorder = LogRecorder()
      try body(
        WriteTransaction(
          read: ReadTransaction(handle: transaction.read.handle), firstFailure: transaction.firstFailure,
          recorder: recorder))
      return recorder.isTooLarge ? nil : recorder.bytes
    }
  }

  private func carryOut(_ record: [UInt8], _ environment: Environment) throws {
    let keyspaces = Dictionary(
      uniqueKeysWithValues: try environment.keyspaces(Self.names).compactMap { $0.map { ($0.name, $0) } })
    try environment.write { transaction in
      var current: Keyspace?
      try record.withUnsafeBytes { body in
        try LogChange.forEach(body) { change in
          if case .keyspace(let name) = change {
            current = keyspaces[name]
            return
          }
          guard let current else { throw LogChange.Contradiction(offset: 0, reason: "an unknown keyspace") }
          switch change {
          case .keyspace: break
          case .put(let key, let value): try transaction.put(current, key, value)
          case .delete(let key): _ = try transaction.delete(current, key)
          case .clear: try transaction.clear(current)
          }
        }
      }
    }
  }

  private func contents(_ environment: Environment) throws -> [String: [[UInt8]]] {
    var result: [String: [[UInt8]]] = [:]
    for keyspace in try environment.keyspaces(Self.names).compactMap({ $0 }) {
      try environment.read { transaction in
        try transaction.withCursor(keyspace) { cursor in
          while let entry = try cursor.next() {
            result[keyspace.name, default: []] += [Array(entry.key), Array(entry.value)]
          }
        }
      }
    }
    return result
  }

  /// Random steps of every kind that a write transaction has.
  private func steps(
    _ keyspaces: [Keyspace], _ random: inout SeededGenerator
  ) -> [@Sendable (borrowing WriteTransaction) throws -> Void] {
    (0...Int.random(in: 0..<12, using: &random)).map { _ in
      let keyspace = keyspaces[Int.random(in: 0..<keyspaces.count, using: &random)]
      let key = Array("key \(Int.random(in: 0..<60, using: &random))".utf8)
      let size = [0, 10, 200, 900, 3_000, 20_000].randomElement(using: &random) ?? 0
      let value = (0..<size).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
      let kind = Int.random(in: 0..<16, using: &random)
      let count = Int.random(in: 1..<6, using: &random)
      return { transaction in
        try key.withUnsafeBytes { key in
          try value.withUnsafeBytes { value in
            switch kind {
            case 0: try transaction.clear(keyspace)
            case 1, 2: _ = try transaction.delete(keyspace, key)
            case 3, 4:
              // Several side by side: after a removal the cursor stands on what followed.
              try transaction.withCursor(keyspace) { cursor in
                guard try cursor.seek(atLeast: key) != nil else { return }
                for _ in 0..<count {
                  try cursor.delete()
                  guard try cursor.next() != nil else { return }
                }
              }
            case 5...9: try transaction.withCursor(keyspace) { try $0.put(key, value) }
            default: try transaction.put(keyspace, key, value)
            }
          }
        }
      }
    }
  }

  @Test func recordsCarriedOutAgainMakeTheSameStore() throws {
    var random = SeededGenerator(seed: testSeed())
    try withEnvironment { first in
      try withEnvironment { second in
        let keyspaces = try first.keyspaces(Self.names).compactMap { $0 }
        for round in 0..<rounds(80, long: 1_000) {
          let steps = steps(keyspaces, &random)
          let record = try #require(
            try record(first) { transaction in for step in steps { try step(transaction) } })
          try carryOut(record, second)
          #expect(try contents(first) == contents(second), "round \(round)")
        }
      }
    }
  }

  @Test func appendedEntriesAreTakenDown() throws {
    try withEnvironment { first in
      try withEnvironment { second in
        let rows = try first.keyspace("rows")
        let record = try #require(
          try record(first) { transaction in
            for number in 100..<2_000 {
              try transaction.put(rows, "\(number + 8_000)", "value \(number)", append: true)
            }
            try transaction.withCursor(rows) { cursor in
              try "a".bytes { key in try "last".bytes { try cursor.put(key, $0, append: true) } }
            }
          })
        try carryOut(record, second)
        #expect(try contents(first) == contents(second))
      }
    }
  }

  @Test func whatChangesNothingIsNotTakenDown() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "a", "1")
      let record = try record(environment) { transaction in
        _ = try "b".bytes { try transaction.delete(rows, $0) }
      }
      #expect(record == [])
    }
  }

  @Test func aKeyspaceThatIsMadeIsTakenDownByItsName() throws {
    let recorder = LogRecorder()
    recorder.note(7, "rows:Shop")
    recorder.note(8, "meta")
    recorder.note(7, "rows:Shop")
    var names: [String] = []
    try recorder.bytes.withUnsafeBytes { body in
      try LogChange.forEach(body) { if case .keyspace(let name) = $0 { names.append(name) } }
    }
    #expect(names == ["rows:Shop", "meta", "rows:Shop"])
    #expect(!recorder.hasChanges)
  }

  @Test func aLargeTransactionIsNotTakenDown() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let record = try record(environment) { transaction in
        for number in 0..<3_000 {
          try transaction.put(rows, "key \(number)", String(repeating: "x", count: 500))
        }
      }
      #expect(record == nil)
      #expect(try environment.read { try $0.entryCount(rows) } == 3_000)
    }
  }
}
