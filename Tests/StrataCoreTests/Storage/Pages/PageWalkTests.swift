import Foundation
import Testing

@testable import StrataCore

/// Walking leaf pages in place gives what LMDB's own steps give.
@Suite struct PageWalkTests {
  private struct Pair: Equatable {
    var key: [UInt8]
    var value: [UInt8]

    init(_ entry: Cursor.Entry) {
      key = Array(entry.key)
      value = Array(entry.value)
    }
  }

  /// What stepping gives from `start` on.
  private func stepped(_ cursor: inout Cursor, from start: [UInt8]) throws -> [Pair] {
    var result: [Pair] = []
    var entry = try start.withUnsafeBytes { try cursor.seek(atLeast: $0) }
    while let found = entry {
      result.append(Pair(found))
      entry = try cursor.next()
    }
    return result
  }

  private func walked(_ cursor: inout Cursor, from start: [UInt8], most: Int = .max) throws -> [Pair] {
    var result: [Pair] = []
    try cursor.forEach(from: try start.withUnsafeBytes { try cursor.seek(atLeast: $0) }) {
      result.append(Pair($0))
      return result.count < most
    }
    return result
  }

  /// The keys of the leaf pages, looked at page by page.
  private func keysOfRuns(
    _ tree: PageTree?, from lower: UnsafeRawBufferPointer, below upper: UnsafeRawBufferPointer?
  ) -> [[UInt8]] {
    guard let tree else { return [] }
    guard let runs = tree.runs(from: lower, below: upper) else {
      Issue.record("a page does not look as expected")
      return []
    }
    return runs.flatMap { run in
      let keys = run.entries.map { Array(run.knownKey($0)) }
      let lengths = keys.map(\.count)
      #expect(
        run.keyLengths().map { [$0.lowerBound, $0.upperBound] } == [lengths.min() ?? 0, lengths.max() ?? 0])
      return keys
    }
  }

  /// Keys of 1 to 511 bytes, values from none to some that have pages of their own; several tree depths, holes from deletions.
  @Test(arguments: 0..<6) func aWalkFindsWhatStepsFind(part: Int) throws {
    var random = SeededGenerator(seed: testSeed() &+ UInt64(part))
    try withEnvironment { environment in
      let keyspace = try environment.keyspace("rows")
      let count = [0, 1, 7, 300, 3_000, 12_000][part]
      let pairs = (0..<count).map { _ in
        let length =
          Int.random(in: 0..<20, using: &random) == 0 ? 511 : Int.random(in: 4...24, using: &random)
        let size = Int.random(in: 0..<40, using: &random)
        return (
          key: (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) },
          value: [UInt8](
            repeating: UInt8(size), count: size == 0 ? 9_000 : size == 1 ? 1_900 : size == 2 ? 0 : size * 8)
        )
      }
      let keys = pairs.map(\.key)
      let deleted = keys.filter { _ in UInt8.random(in: 0..<5, using: &random) == 0 }
      try environment.write { transaction in
        for pair in pairs {
          try pair.key.withUnsafeBytes { key in
            try pair.value.withUnsafeBytes { try transaction.put(keyspace, key, $0) }
          }
        }
        for key in deleted { _ = try key.withUnsafeBytes { try transaction.delete(keyspace, $0) } }
        try transaction.withCursor(keyspace) { cursor in
          let found = try walked(&cursor, from: [])
          let expected = try stepped(&cursor, from: [])
          #expect(found == expected, "in a write transaction")
          let counted = try cursor.count(from: try cursor.first()) { _ in true }
          #expect(counted == expected.count, "in a write transaction")
        }
      }
      try environment.read { transaction in
        try transaction.withCursor(keyspace) { cursor in
          let found = try walked(&cursor, from: [])
          let expected = try stepped(&cursor, from: [])
          #expect(found == expected)
          let tree = PageTree(keyspace, transaction)
          #expect((tree == nil) == expected.isEmpty)
          for number in 0..<12 {
            let bounds = (0..<2).map { _ in keys.randomElement(using: &random) ?? [1] }
            let lower: [UInt8] = number == 0 ? [] : bounds[0]
            let upper: [UInt8]? = number < 2 ? nil : bounds[1]
            let keys = lower.withUnsafeBytes { lower in
              guard let upper else { return keysOfRuns(tree, from: lower, below: nil) }
              return upper.withUnsafeBytes { keysOfRuns(tree, from: lower, below: $0) }
            }
            let wanted = expected.map(\.key).filter { key in
              !key.lexicographicallyPrecedes(lower)
                && upper.map { key.lexicographicallyPrecedes($0) } != false
            }
            #expect(keys == wanted)
          }
          for _ in 0..<12 {
            let start = keys.randomElement(using: &random) ?? [1]
            let all = try stepped(&cursor, from: start)
            let rest = try walked(&cursor, from: start)
            #expect(rest == all)
            let most = Int.random(in: 1...400, using: &random)
            let part = try walked(&cursor, from: start, most: most)
            #expect(part == Array(all.prefix(most)))
            let end = keys.randomElement(using: &random) ?? [1]
            func belongs(_ key: [UInt8]) -> Bool { key.lexicographicallyPrecedes(end) }
            let counted = try start.withUnsafeBytes {
              try cursor.count(from: try cursor.seek(atLeast: $0)) { belongs(Array($0)) }
            }
            #expect(counted == all.count { belongs($0.key) })
            let whole = try cursor.count(from: try cursor.first()) { _ in true }
            #expect(whole == expected.count)
          }
        }
      }
    }
  }

  @Test func anErrorEndsAWalk() throws {
    struct Enough: Error {}
    try withEnvironment { environment in
      let keyspace = try environment.keyspace("rows")
      try environment.write { transaction in
        for number in 0..<100 { try transaction.put(keyspace, "key \(number)", "value") }
      }
      var seen = 0
      #expect(throws: Enough.self) {
        try environment.read { transaction in
          try transaction.withCursor(keyspace) { cursor in
            try cursor.forEach(from: try cursor.first()) { _ in
              seen += 1
              if seen == 50 { throw Enough() }
              return true
            }
          }
        }
      }
      #expect(seen == 50)
    }
  }
}
