import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// Opening what may be damaged. No false refusals, no crash, no changed file.
@Suite struct InspectionTests {
  /// Hundreds of stores of random shape; every state of each, and a copy of it, must pass the full walk.
  @Test(arguments: 0..<8) func validStoresAreNeverRefused(part: Int) throws {
    let seed = testSeed() &+ UInt64(part)
    for number in 0..<rounds(10, long: 100) {
      try StoreShape(seed: seed &+ UInt64(number) &* 7919).build { try inspect($0) }
    }
  }

  /// A transaction larger than LMDB's list of changed pages writes some of them early.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["STRATA_LONG_TESTS"] != nil))
  func aStoreOfOneHugeTransactionPasses() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      try environment.write { transaction in
        let value = [UInt8](repeating: 7, count: 1900)
        // Two to a page; LMDB tracks 131,071 changed pages.
        for number in 0..<280_000 {
          try withUnsafeBytes(of: UInt64(number &* 2_654_435_761).bigEndian) { key in
            try value.withUnsafeBytes { try transaction.put(rows, key, $0) }
          }
        }
      }
      try inspect(environment.path)
    }
  }

  /// Whoever looks loses the processor each time, and others commit and use the page again meanwhile.
  @Test(arguments: [20, 63])
  func aFileThatChangesAgainAndAgainIsNotDamaged(times: Int) throws {
    let directory = try ScratchDirectory()
    let path = directory("Test.strata")
    try Data(StoreShape.sample()).write(to: URL(fileURLWithPath: path))
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let looks = Mutex(0)
    var system = FileSystem.system
    system.read = { descriptor, buffer, offset in
      let count = FileSystem.system.read(descriptor, buffer, offset)
      let look = looks.withLock { looks in
        if offset == 0 { looks += 1 }
        return looks
      }
      // Each attempt looks at the anchors before and afterwards.
      guard look <= 2 * times, count > 0 else { return count }
      if offset == 0, count > 40 {
        // The size of the map, which others may make larger.
        buffer[34] = UInt8(truncatingIfNeeded: look)
      } else if offset >= 2 * 4_096 {
        for place in 0..<count { buffer[place] = 0xFF }
      }
      return count
    }
    let file = try StoreFile(path, system)
    try FileInspection(file: file, descriptor: descriptor).run(.quick)
    #expect(looks.withLock { $0 } > 2 * times)
    // Without others it is damaged.
    system.read = { descriptor, buffer, offset in
      let count = FileSystem.system.read(descriptor, buffer, offset)
      if offset >= 2 * 4_096 { for place in 0..<max(0, count) { buffer[place] = 0xFF } }
      return count
    }
    let error = #expect(throws: StorageError.self) {
      try FileInspection(file: try StoreFile(path, system), descriptor: descriptor).run(.quick)
    }
    #expect(error?.kind == .damaged)
  }

  @Test func anEmptyStoreIsWhatLMDBWouldMake() throws {
    let image = MetaPage.emptyStore(pageSize: 4096)
    for page in 0..<2 {
      let meta = image.withUnsafeBytes { MetaPage($0.baseAddress! + page * 4096) }
      #expect(meta.pageSize == 4096)
      #expect(meta.transactionID == 0)
      #expect(meta.lastPage == 1)
      #expect(meta.mainTree.root == TreeRecord.noPage)
    }
    try withEnvironment { try inspect($0.path) }
  }

  @Test func everyTruncationIsRefusedAndLeavesTheFile() throws {
    let image = try StoreShape.sample()
    let pages = image.count / 4096
    for length in [1, 15, 151, 152, 4095, 4096, 4097, 8191] + (2..<pages).map({ $0 * 4096 }) {
      try checkDamaged(Array(image[..<length])) { error in
        #expect([.truncated, .notADatabase].contains(error.kind), "\(length) bytes: \(error)")
      }
    }
  }

  /// Any flipped bit is either refused, naming a page, or harmless: the store can be read and written.
  @Test(arguments: 0..<6) func flippedBitsNeverCrash(part: Int) throws {
    let seed = testSeed() &+ UInt64(part)
    var random = SeededGenerator(seed: seed)
    let image = try StoreShape.sample()
    var refusals = 0
    let count = rounds(40, long: 1_000)
    for _ in 0..<count {
      var damaged = image
      // Most of them where it hurts: anchors, and page headers with their node offsets.
      let page = Int.random(in: 0..<(image.count / 4096), using: &random)
      let end = [page < 2 ? MetaPage.size : 64, 64, 4096].randomElement(using: &random) ?? 64
      let offset = page * 4096 + Int.random(in: 0..<end, using: &random)
      damaged[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      let isRefused = try checkDamaged(damaged) { error in
        #expect([.damaged, .truncated, .unsupportedFormat, .notADatabase].contains(error.kind), "\(error)")
        #expect(error.page != nil, "\(error)")
      }
      if isRefused { refusals += 1 }
    }
    // Flips in values, in free pages and in the older anchor are harmless to LMDB.
    #expect((count / 20..<count).contains(refusals))
  }

  /// Whole pages of zeros, of another page's bytes, of noise: what lost writes and bad sectors leave.
  @Test func damagedPagesNeverCrash() throws {
    var random = SeededGenerator(seed: testSeed())
    let image = try StoreShape.sample()
    let pages = image.count / 4096
    for _ in 0..<200 {
      var damaged = image
      let page = Int.random(in: 0..<pages, using: &random) * 4096
      let other = Int.random(in: 0..<pages, using: &random) * 4096
      switch Int.random(in: 0..<3, using: &random) {
      case 0: damaged.replaceSubrange(page..<(page + 4096), with: repeatElement(0, count: 4096))
      case 1: damaged.replaceSubrange(page..<(page + 4096), with: image[other..<(other + 4096)])
      default: for offset in 0..<4096 { damaged[page + offset] = .random(in: 0 ... .max, using: &random) }
      }
      try checkDamaged(damaged) { #expect($0.page != nil, "\($0)") }
    }
  }

  @Test(arguments: ForeignFile.all) func foreignFilesAreNamed(file: ForeignFile) throws {
    try checkDamaged(file.bytes) { error in
      #expect(error.kind == file.kind, "\(error)")
      #expect(error.description.contains(file.hint), "\(error)")
    }
  }

  @Test func quickInspectionChecksAnchorsAndRoots() throws {
    let image = try StoreShape.sample()
    try withFile(image) { try inspect($0, .quick) }
    for page in [0, 1] {
      var damaged = image
      damaged[page * 4096 + 16] ^= 1
      try withFile(damaged) { path in
        #expect(throws: StorageError.self) { try inspect(path, .quick) }
      }
    }
  }
}

/// A file that is no store of ours.
struct ForeignFile: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var bytes: [UInt8]
  var kind: StorageError.Kind
  var hint: String

  static let all: [ForeignFile] = {
    var otherOrder = MetaPage.emptyStore(pageSize: 4096)
    for page in [0, 4096] {
      otherOrder.replaceSubrange((page + 16)..<(page + 20), with: [0xBE, 0xEF, 0xC0, 0xDE])
    }
    var otherVersion = MetaPage.emptyStore(pageSize: 4096)
    for page in [0, 4096] { otherVersion[page + 20] = 9 }
    var narrow = [UInt8](repeating: 0, count: 8192)
    narrow.replaceSubrange(12..<16, with: [0xDE, 0xC0, 0xEF, 0xBE])
    return [
      .init(
        testDescription: "SQLite",
        bytes: Array("SQLite format 3\0".utf8) + [UInt8](repeating: 3, count: 8176),
        kind: .notADatabase, hint: "SQLite"),
      .init(
        testDescription: "text", bytes: Array(String(repeating: "Dear diary,\n", count: 900).utf8),
        kind: .notADatabase, hint: "text"),
      .init(testDescription: "short text", bytes: Array("hi".utf8), kind: .notADatabase, hint: "2 bytes"),
      .init(testDescription: "empty", bytes: [], kind: .damaged, hint: "empty"),
      .init(
        testDescription: "zeros", bytes: [UInt8](repeating: 0, count: 16384), kind: .notADatabase,
        hint: "zeros"),
      .init(
        testDescription: "property list", bytes: Array("bplist00".utf8) + [UInt8](repeating: 1, count: 9000),
        kind: .notADatabase, hint: "property list"),
      .init(
        testDescription: "other byte order", bytes: otherOrder, kind: .unsupportedFormat, hint: "byte order"),
      .init(testDescription: "32 bit", bytes: narrow, kind: .unsupportedFormat, hint: "32-bit"),
      .init(
        testDescription: "LMDB format 9", bytes: otherVersion, kind: .unsupportedFormat, hint: "format 9"),
      .init(
        testDescription: "pages of 512 bytes", bytes: MetaPage.emptyStore(pageSize: 512),
        kind: .unsupportedFormat, hint: "512"),
    ]
  }()
}

// MARK: What the tests are made of

/// Runs the full walk, or another, over a file.
func inspect(_ path: String, _ policy: EnvironmentOptions.Inspection = .full) throws {
  let file = try StoreFile(path, .system)
  let descriptor = file.system.open(path, O_RDONLY, 0)
  try #require(descriptor >= 0)
  defer { _ = file.system.close(descriptor) }
  try FileInspection(file: file, descriptor: descriptor).run(policy)
}

/// Runs `body` with a file of these bytes.
private func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
  let directory = try ScratchDirectory()
  let path = directory("Damaged.strata")
  try Data(bytes).write(to: URL(fileURLWithPath: path))
  try withExtendedLifetime(directory) { try body(path) }
}

/// Opens a file of these bytes. A refusal must leave it as it was; if it opens, it must work.
@discardableResult
private func checkDamaged(_ bytes: [UInt8], _ refusal: (StorageError) -> Void) throws -> Bool {
  var isRefused = false
  try withFile(bytes) { path in
    var options = EnvironmentOptions.scratch
    options.inspection = .full
    do {
      let environment = try Environment.open(path: path, options: options)
      defer { environment.close() }
      try exercise(environment)
    } catch let error as StorageError {
      isRefused = true
      refusal(error)
      #expect(try fileBytes(path) == bytes)
      #expect(!FileManager.default.fileExists(atPath: path + "-lock"))
    }
  }
  return isRefused
}

/// Reads everything and writes a little, many times, so that freed pages are used again.
private func exercise(_ environment: Environment) throws {
  let names = StoreShape.sampleKeyspaces
  let keyspaces = try environment.keyspaces(names).compactMap(\.self)
  for round in 0..<6 {
    for keyspace in keyspaces {
      let keys = try environment.read { transaction in
        try transaction.withCursor(keyspace) { cursor in
          var keys: [[UInt8]] = []
          var sum: UInt8 = 0
          while let entry = try cursor.next() {
            for byte in entry.value { sum &+= byte }
            keys.append(Array(entry.key))
          }
          return keys
        }
      }
      try environment.write { transaction in
        for key in keys where key.hashValue & 3 == round & 3 {
          _ = try key.withUnsafeBytes { try transaction.delete(keyspace, $0) }
        }
        try transaction.put(keyspace, "round \(round)", String(repeating: "x", count: round * 3000))
      }
    }
  }
}

/// A store of random shape: keyspaces, key and value sizes, deletions, readers that hold old pages.
struct StoreShape {
  static let sampleKeyspaces = ["rows", "index", "large"]
  let seed: UInt64

  /// Builds it, calling `check` with its path after every few commits, and with that of a copy.
  func build(_ check: (String) throws -> Void) throws {
    var random = SeededGenerator(seed: seed)
    var options = EnvironmentOptions.scratch
    options.mapSize = 1 << 18
    try withEnvironment(options) { environment in
      let names = (0..<Int.random(in: 1...12, using: &random)).map { "space \($0)" }
      let keyspaces = try environment.keyspaces(names).compactMap(\.self)
      let maxKey = [8, 40, 511].randomElement(using: &random) ?? 8
      let maxValue = [0, 30, 300, 3000, 40_000].randomElement(using: &random) ?? 30
      var pin: SnapshotPin?
      for commit in 0..<Int.random(in: 1...14, using: &random) {
        let roundSeed = random.next()
        try environment.write { transaction in
          var random = SeededGenerator(seed: roundSeed)
          let keyspace = keyspaces[Int.random(in: 0..<keyspaces.count, using: &random)]
          switch Int.random(in: 0..<8, using: &random) {
          case 0: try transaction.clear(keyspace)
          case 1, 2: try StoreShape.deleteSome(transaction, keyspace, &random)
          default:
            try StoreShape.putSome(transaction, keyspace, maxKey: maxKey, maxValue: maxValue, &random)
          }
        }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: pin = try environment.makeSnapshot()
        case 1: pin = nil
        default: break
        }
        if commit % 4 == 0 { try check(environment.path) }
      }
      _ = pin
      try check(environment.path)
      let copy = environment.path + ".copy"
      try environment.copy(to: copy, compacting: Bool.random(using: &random))
      try check(copy)
    }
  }

  /// A small store with leaves, branches, overflow pages and a free list, most of it in use; the same every
  /// time.
  static func sample() throws -> [UInt8] {
    try withEnvironment { environment in
      let keyspaces = try environment.keyspaces(sampleKeyspaces).compactMap(\.self)
      try environment.write { transaction in
        var random = SeededGenerator(seed: 1)
        for (number, keyspace) in keyspaces.enumerated() {
          for _ in 0..<3 {
            try putSome(transaction, keyspace, maxKey: 60, maxValue: number == 2 ? 9000 : 120, &random)
          }
        }
      }
      let copy = environment.path + ".copy"
      try environment.copy(to: copy, compacting: true)
      let compact = try Environment.open(path: copy, options: .scratch)
      for keyspace in try compact.keyspaces(sampleKeyspaces).compactMap(\.self) {
        try compact.write { transaction in
          _ = try transaction.withCursor(keyspace) { cursor in
            _ = try cursor.first()
            try cursor.delete()
          }
        }
      }
      compact.close()
      return try fileBytes(copy)
    }
  }

  private static func putSome(
    _ transaction: borrowing WriteTransaction, _ keyspace: Keyspace, maxKey: Int, maxValue: Int,
    _ random: inout SeededGenerator
  ) throws {
    for _ in 0..<Int.random(in: 0..<(maxValue > 3000 ? 30 : 200), using: &random) {
      let key = randomBytes(Int.random(in: 1...maxKey, using: &random), &random)
      let value = randomBytes(Int.random(in: 0...maxValue, using: &random), &random)
      try key.withUnsafeBytes { key in try value.withUnsafeBytes { try transaction.put(keyspace, key, $0) } }
    }
  }

  private static func deleteSome(
    _ transaction: borrowing WriteTransaction, _ keyspace: Keyspace, _ random: inout SeededGenerator
  ) throws {
    let share = Int.random(in: 1...10, using: &random)
    var choice = random
    try transaction.withCursor(keyspace) { cursor in
      while try cursor.next() != nil {
        if Int.random(in: 0..<10, using: &choice) < share { try cursor.delete() }
      }
    }
    random = choice
  }

  private static func randomBytes(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var index = 0
    while index < count {
      withUnsafeBytes(of: random.next()) { word in
        for byte in word where index < count {
          bytes[index] = byte
          index += 1
        }
      }
    }
    return bytes
  }
}
