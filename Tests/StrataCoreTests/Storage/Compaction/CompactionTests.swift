import Foundation
import Synchronization
import Testing

@testable import StrataCore

@Suite("A file gets shorter while it is used")
struct CompactionTests {
  @Test("what was deleted is given back, and the rest is as it was", arguments: [false, true])
  func givesBack(keepsLog: Bool) throws {
    try withEnvironment(.compacted(keepsLog: keepsLog)) { environment in
      let left = try CompactedStore.fill(environment, count: 20_000, keeping: 40)
      let before = try environment.size()
      let result = try environment.compact()
      #expect(result.sizeBefore == before)
      #expect(try environment.size() == result.size)
      #expect(result.size < before / 5, "\(result)")
      try CompactedStore.require(left, in: environment)
      try environment.requireSound()
      // Written on, opened again.
      try environment.put(environment.keyspace("rows"), "new", "entry")
      try environment.requireSound()
    }
  }

  @Test("a file without free pages stays as it is")
  func nothingToDo() throws {
    try withEnvironment(.compacted()) { environment in
      let left = try CompactedStore.fill(environment, count: 3_000, keeping: 1)
      let first = try environment.compact()
      let second = try environment.compact()
      #expect(second.movedBytes == 0)
      #expect(second.size <= first.size)
      try CompactedStore.require(left, in: environment)
      try environment.requireSound()
    }
  }

  @Test("values of many pages move to the front, too")
  func longValues() throws {
    try withEnvironment(.compacted()) { environment in
      var random = SeededGenerator(seed: testSeed())
      let rows = try environment.keyspace("rows")
      var left: [String: Int] = [:]
      for number in 0..<1_200 {
        let size = [300, 6_000, 20_000, 90_000, 400_000][
          Int.random(in: 0..<(number % 40 == 0 ? 5 : 3), using: &random)]
        try environment.put(rows, "\(number)", String(repeating: "x", count: size))
        left["\(number)"] = size
      }
      for number in 0..<1_200 where Int.random(in: 0..<5, using: &random) > 0 {
        _ = try environment.write { transaction in try "\(number)".bytes { try transaction.delete(rows, $0) }
        }
        left["\(number)"] = nil
      }
      let used = try environment.statistics()
      let usedBytes = (used.lastPage + 1 - used.freePages) * used.pageSize
      let result = try environment.compact()
      #expect(result.size < usedBytes + usedBytes / 4, "\(result), \(usedBytes) used")
      for (key, size) in left {
        #expect(try environment.get(rows, key)?.utf8.count == size)
      }
      #expect(try environment.read { try $0.entryCount(rows) } == left.count)
      try environment.requireSound()
    }
  }

  @Test("what a pinned view shows stays, and goes when it is released")
  func pinnedViews() throws {
    try withEnvironment(.compacted()) { environment in
      let rows = try environment.keyspace("rows")
      let all = try CompactedStore.fill(environment, count: 10_000, keeping: 1)
      let pin = try environment.makeSnapshot()
      for start in stride(from: 0, to: 10_000, by: 1_000) {
        try environment.write { transaction in
          for number in start..<start + 1_000 where number % 50 != 0 {
            _ = try CompactedStore.key(number).bytes { try transaction.delete(rows, $0) }
          }
        }
      }
      let held = try environment.compact(patience: .milliseconds(40))
      #expect(held.heldBytes > held.size / 2, "\(held)")
      #expect(try pin.read { try $0.entryCount(rows) } == all.count)
      #expect(
        try pin.read { try $0.get(rows, CompactedStore.key(7_777)) } == CompactedStore.value(7_777))
      pin.release()
      let result = try environment.compact()
      #expect(result.size < held.size / 4, "\(result)")
      try environment.requireSound()
    }
  }

  @Test("readers and writers go on meanwhile, and lose nothing", arguments: [false, true])
  func besideOthers(keepsLog: Bool) throws {
    try withEnvironment(.compacted(keepsLog: keepsLog)) { environment in
      let left = try CompactedStore.fill(environment, count: 20_000, keeping: 20)
      let rows = try environment.keyspace("rows")
      let others = Others()
      others.add { isOver in
        var number = 0
        while !isOver() {
          try environment.put(rows, "save \(number)", "of \(number)")
          number += 1
          others.note()
        }
      }
      others.add { isOver in
        while !isOver() {
          for number in left.prefix(50) {
            let value = try environment.get(rows, CompactedStore.key(number))
            if value != CompactedStore.value(number) { throw CocoaError(.fileReadCorruptFile) }
          }
          others.note()
        }
      }
      others.awaitNotes()
      let compactions = Result { for _ in 0..<3 { _ = try environment.compact() } }
      others.end()
      try compactions.get()
      let saves = try environment.read { try $0.entryCount(rows) } - left.count
      #expect(saves > 0)
      #expect(others.failures.map { "\($0)" } == [])
      for number in 0..<saves { #expect(try environment.get(rows, "save \(number)") == "of \(number)") }
      try environment.requireSound()
    }
  }

  @Test(
    "a thread that saves all the time waits for single steps; how long is printed, and no matter of the test")
  func waits() throws {
    var options = EnvironmentOptions()
    options.keepsLog = true
    try withEnvironment(options) { environment in
      let all = try CompactedStore.fill(environment, count: rounds(40_000, long: 340_000), keeping: 1)
      let rows = try environment.keyspace("rows")
      // Whole pages become free.
      let left = all.filter { CompactedStore.key($0) > "a" }
      for start in stride(from: 0, to: all.count, by: 1_000) {
        try environment.write { transaction in
          for number in all[start..<start + 1_000] where CompactedStore.key(number) <= "a" {
            _ = try CompactedStore.key(number).bytes { try transaction.delete(rows, $0) }
          }
        }
      }
      let times = Mutex<[Duration]>([])
      let others = Others()
      others.add { isOver in
        while !isOver() {
          let start = ContinuousClock.now
          try environment.put(rows, "save", "\(start)")
          let time = ContinuousClock.now - start
          times.withLock { $0.append(time) }
          others.note()
        }
      }
      others.awaitNotes()
      times.withLock { $0 = [] }
      let compaction = Result { try environment.compact() }
      others.end()
      let found = try compaction.get()
      let waits = times.withLock { $0.sorted() }
      try #require(!waits.isEmpty)
      print(
        """
        compaction: \(found.sizeBefore) bytes, then \(found.size), \(found.movedBytes) moved; \(waits.count) saves meanwhile, \
        median \(waits[waits.count / 2]), longest \(waits[waits.count - 1])
        """)
      // How far it came beside the saves is a matter of time; alone it comes to the end.
      #expect(try environment.compact().size < found.sizeBefore * 3 / 4)
      #expect(try environment.read { try $0.entryCount(rows) } == left.count + 1)
      try environment.requireSound()
    }
  }

  @Test("one at a time, among all who have the file open")
  func oneAtATime() throws {
    try withEnvironment(.compacted()) { environment in
      _ = try CompactedStore.fill(environment, count: 1_000, keeping: 10)
      var kinds: [StorageError.Kind] = []
      _ = try environment.compact { _ in
        do { _ = try environment.compact() } catch let error as StorageError { kinds.append(error.kind) }
      }
      #expect(!kinds.isEmpty && kinds.allSatisfy { $0 == .busy })
      // Another process has locked the byte.
      let other = open(environment.path, O_RDWR)
      defer { close(other) }
      try #require(FileSystem.system.lockByte(other, FileTurn.using + 1, false) == 0)
      #expect(try storageError { _ = try environment.compact() }.kind == .busy)
    }
  }

  @Test("what the caller throws ends it, and leaves a whole store")
  func stopped() throws {
    struct Stop: Error {}
    try withEnvironment(.compacted()) { environment in
      let left = try CompactedStore.fill(environment, count: 20_000, keeping: 20)
      var steps = 0
      #expect(throws: Stop.self) {
        _ = try environment.compact { _ in
          steps += 1
          if steps == 4 { throw Stop() }
        }
      }
      try CompactedStore.require(left, in: environment)
      try environment.requireSound()
      #expect(try environment.compact().size < 4 << 20)
    }
  }

  @Test("a read-only environment is refused")
  func readOnly() throws {
    let directory = try ScratchDirectory()
    let first = try Environment.open(path: directory("Test.strata"), options: .scratch)
    _ = try CompactedStore.fill(first, count: 100, keeping: 2)
    first.close()
    var options = EnvironmentOptions.scratch
    options.isReadOnly = true
    let environment = try Environment.open(path: directory("Test.strata"), options: options)
    defer { environment.close() }
    #expect(try storageError { _ = try environment.compact() }.kind == .permission)
  }

  @Test("a store without a name is compacted, too")
  func temporary() throws {
    let directory = try ScratchDirectory()
    var options = EnvironmentOptions.scratch
    options.isTemporary = true
    options.create = .mustBeNew
    let environment = try Environment.open(path: directory("Test.strata"), options: options)
    defer { environment.close() }
    let left = try CompactedStore.fill(environment, count: 10_000, keeping: 50)
    var kinds: [StorageError.Kind] = []
    let result = try environment.compact { _ in
      do { _ = try environment.compact() } catch let error as StorageError { kinds.append(error.kind) }
    }
    #expect(!kinds.isEmpty && kinds.allSatisfy { $0 == .busy }, "one at a time")
    #expect(result.size < result.sizeBefore / 4, "\(result)")
    #expect(try environment.statistics().fileSize == result.size)
    try CompactedStore.require(left, in: environment)
  }

  @Test("random lives: whatever was put, deleted and pinned, the store has what it had, and no page is lost")
  func randomLives() throws {
    var random = SeededGenerator(seed: testSeed())
    for _ in 0..<rounds(12, long: 400) {
      let keepsLog = Bool.random(using: &random)
      var options = EnvironmentOptions.compacted(keepsLog: keepsLog)
      options.log.commitsBefore = Int.random(in: 0..<4, using: &random)
      options.log.mostPages = [6, 40, 1_024].randomElement(using: &random)!
      try withEnvironment(options) { environment in
        var story = CompactedStory(environment)
        for _ in 0..<rounds(40, long: 60) { try story.step(&random) }
        try story.require()
      }
    }
  }
}

/// Threads that use a store until they are told to end.
private final class Others: Sendable {
  private struct State {
    var running = 0
    var isOver = false
    var notes = 0
    var failures: [any Error] = []
  }
  private let state = Mutex(State())

  var failures: [any Error] { state.withLock { $0.failures } }

  func add(_ body: @escaping @Sendable (_ isOver: () -> Bool) throws -> Void) {
    state.withLock { $0.running += 1 }
    let thread = Thread { [self] in
      do {
        try body { state.withLock { $0.isOver } }
      } catch {
        state.withLock { $0.failures.append(error) }
      }
      state.withLock { $0.running -= 1 }
    }
    thread.start()
  }

  /// Something was done.
  func note() { state.withLock { $0.notes += 1 } }

  /// Waits until all of them are at it, or have failed.
  func awaitNotes() {
    while state.withLock({ $0.notes < 20 && $0.failures.isEmpty }) { usleep(500) }
  }

  func end() {
    state.withLock { $0.isOver = true }
    while state.withLock({ $0.running > 0 }) { usleep(500) }
  }
}

extension EnvironmentOptions {
  static func compacted(keepsLog: Bool = false) -> EnvironmentOptions {
    var options = EnvironmentOptions()
    options.durability = .relaxed
    options.keepsLog = keepsLog
    return options
  }
}

/// A store of which much was deleted.
enum CompactedStore {
  static func key(_ number: Int) -> String {
    // Neighbours in time are no neighbours in the tree.
    String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 16) + "-\(number)"
  }

  static func value(_ number: Int) -> String { "\(number) " + String(repeating: "v", count: 200) }

  /// Fills two keyspaces, and deletes all but every `kept`th entry; returns the numbers of those.
  static func fill(_ environment: Environment, count: Int, keeping kept: Int) throws -> [Int] {
    let (rows, other) = (try environment.keyspace("rows"), try environment.keyspace("other"))
    for start in stride(from: 0, to: count, by: 1_000) {
      try environment.write { transaction in
        for number in start..<min(start + 1_000, count) {
          try transaction.put(rows, key(number), value(number))
          if number % 10 == 0 { try transaction.put(other, key(number), "o\(number)") }
        }
      }
    }
    for start in stride(from: 0, to: count, by: 1_000) {
      try environment.write { transaction in
        for number in start..<min(start + 1_000, count) where number % kept != 0 {
          _ = try key(number).bytes { try transaction.delete(rows, $0) }
        }
      }
    }
    return Array(stride(from: 0, to: count, by: kept))
  }

  static func require(_ numbers: [Int], in environment: Environment) throws {
    let rows = try environment.keyspace("rows")
    #expect(try environment.read { try $0.entryCount(rows) } == numbers.count)
    for number in numbers { #expect(try environment.get(rows, key(number)) == value(number)) }
  }
}

extension Environment {
  func size() throws -> Int { try #require(try file.status()).size }

  /// Every page is in order, and each is used once or free once.
  func requireSound() throws { try CompactedFile.requireSound(path) }
}

enum CompactedFile {
  static func requireSound(_ path: String) throws {
    let file = try StoreFile(path, .system)
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    let size = try #require(try file.status()).size
    let inspection = FileInspection(file: file, descriptor: descriptor)
    let anchor = try inspection.newestAnchor(try inspection.readAnchors(), fileSize: size)
    let walk = PageWalk(inspection, anchor, fileSize: size)
    try walk.run(everyPage: true)
    let lost = anchor.lastPage < 2 ? [] : (2...anchor.lastPage).filter { !walk.used.contains($0) }
    #expect(lost.isEmpty, "\(lost.count) of \(anchor.lastPage) pages are lost: \(lost.prefix(10))")
  }
}

/// A store that is written at random, and what must be in it.
struct CompactedStory {
  let environment: Environment
  private var contents: [[String: String]] = [[:], [:], [:]]
  private var pins: [(SnapshotPin, [[String: String]])] = []
  private var number = 0
  private static let names = ["big", "edges", "rows"]

  init(_ environment: Environment) { self.environment = environment }

  mutating func step(_ random: inout SeededGenerator) throws {
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<10: try change(Int.random(in: 1..<200, using: &random), &random)
    case 10..<12: try clear(Int.random(in: 0..<3, using: &random))
    case 12: pins.append((try environment.makeSnapshot(), contents))
    case 13 where !pins.isEmpty: pins.removeFirst().0.release()
    case 14: try environment.flush()
    default:
      _ = try environment.compact(patience: .zero, slack: Int.random(in: 0..<3, using: &random) * 8)
      try require()
    }
  }

  private mutating func change(_ count: Int, _ random: inout SeededGenerator) throws {
    let keyspaces = try Self.names.map { try environment.keyspace($0) }
    var changes: [(Int, String, String?)] = []
    for _ in 0..<count {
      number += 1
      let keyspace = Int.random(in: 0..<3, using: &random)
      let key = "key \(Int.random(in: 0..<400, using: &random))"
      let sizes = keyspace == 0 ? [9, 3_000, 9_000, 40_000] : [0, 20, 200, 900]
      let size = sizes[Int.random(in: 0..<4, using: &random)]
      let value =
        Int.random(in: 0..<3, using: &random) == 0 ? nil : "\(number) " + String(repeating: "z", count: size)
      changes.append((keyspace, key, value))
      contents[keyspace][key] = value
    }
    try environment.write { [changes] transaction in
      for (keyspace, key, value) in changes {
        if let value {
          try transaction.put(keyspaces[keyspace], key, value)
        } else {
          _ = try key.bytes { try transaction.delete(keyspaces[keyspace], $0) }
        }
      }
    }
  }

  private mutating func clear(_ keyspace: Int) throws {
    let handle = try environment.keyspace(Self.names[keyspace])
    try environment.write { try $0.clear(handle) }
    contents[keyspace] = [:]
  }

  func require() throws {
    try environment.read { try Self.require(contents, $0, environment) }
    for (pin, contents) in pins { try pin.read { try Self.require(contents, $0, environment) } }
    try environment.requireSound()
  }

  private static func require(
    _ contents: [[String: String]], _ view: borrowing ReadTransaction, _ environment: Environment
  ) throws {
    for (name, expected) in zip(names, contents) {
      // A view of before the keyspace was made has none.
      if expected.isEmpty { continue }
      let keyspace = try #require(
        environment.lock.withLock { environment.openKeyspaces.first { $0.name == name } })
      var found: [String: String] = [:]
      try view.forEach(in: keyspace) {
        found[String(decoding: $0.key, as: UTF8.self)] = String(decoding: $0.value, as: UTF8.self)
      }
      #expect(found == expected)
    }
  }
}
