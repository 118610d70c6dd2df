import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// Stores after power cuts: what was durable at the last checkpoint, any of the sectors written since, and the log.
///
/// The data file is seen at the moment at which a checkpoint's head is written, when everything was flushed, and after each commit behind it.
struct LogRecoveryTests {
  private static let names = ["edges", "journal", "rows"]
  private typealias Contents = [String: [String: [UInt8]]]

  /// Watches what is written to the log.
  private final class Witness: Sendable {
    private let path: String
    private let durable = Mutex<[UInt8]>([])
    init(_ path: String) { self.path = path }

    /// The data file at the last checkpoint.
    var base: [UInt8] { durable.withLock { $0 } }

    func watch(_ system: FileSystem) -> FileSystem {
      var system = system
      system.write = { [write = system.write] descriptor, bytes, offset in
        // The first of the two places that a head is written to: afterwards it counts.
        if bytes.count == LogFormat.headSize, case .head(let head) = LogHead.read(Array(bytes)),
          offset == head.place, let data = try? fileBytes(self.path)
        {
          self.durable.withLock { $0 = data }
        }
        return write(descriptor, bytes, offset)
      }
      return system
    }
  }

  /// A random change of the store and of what is expected to be in it.
  private static func change(
    _ keyspaces: [Keyspace], _ contents: inout Contents, _ random: inout SeededGenerator
  ) -> [@Sendable (borrowing WriteTransaction) throws -> Void] {
    var steps: [@Sendable (borrowing WriteTransaction) throws -> Void] = []
    for _ in 0...Int.random(in: 0..<6, using: &random) {
      let number = Int.random(in: 0..<names.count, using: &random)
      let (name, keyspace) = (names[number], keyspaces[number])
      let key = "key \(Int.random(in: 0..<150, using: &random))"
      let size = [0, 10, 200, 900, 3_000, 20_000].randomElement(using: &random) ?? 0
      let value = (0..<size).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
      switch Int.random(in: 0..<20, using: &random) {
      case 0:
        contents[name] = [:]
        steps.append { try $0.clear(keyspace) }
      case 1..<5:
        contents[name]?[key] = nil
        steps.append { transaction in _ = try key.bytes { try transaction.delete(keyspace, $0) } }
      case 5..<8:
        contents[name]?[key] = nil
        steps.append { transaction in
          try transaction.withCursor(keyspace) { cursor in
            if try key.bytes({ try cursor.seek(exactly: $0) }) != nil { try cursor.delete() }
          }
        }
      default:
        contents[name]?[key] = value
        steps.append { transaction in
          try key.bytes { key in
            try value.withUnsafeBytes { value in
              try transaction.withCursor(keyspace) { try $0.put(key, value) }
            }
          }
        }
      }
    }
    return steps
  }

  /// Cuts the power `cuts` times during a life of `commits` commits, and calls `examine` with what was found and the states that were committed: the first one is the
  /// least that is promised.
  private func cutPower(
    _ durability: Durability, seed: UInt64, commits: Int, cuts: Int,
    policy: (inout LogPolicy) -> Void = { _ in },
    ignoringFlushes: Bool = false,
    _ examine: (Result<Contents, any Error>, _ allowed: [Contents]) throws -> Void
  ) throws {
    var random = SeededGenerator(seed: seed)
    let store = try LoggedStore()
    let witness = Witness(store.path)
    var options = LoggedStore.options(durability)
    options.log.mostPages = 60
    policy(&options.log)
    options.fileSystem = witness.watch(options.fileSystem)
    let environment = try store.open(options)
    defer { environment.close() }
    let keyspaces = try environment.keyspaces(Self.names).compactMap { $0 }
    var contents = Contents(uniqueKeysWithValues: Self.names.map { ($0, [:]) })
    // Since the last checkpoint. The log begins with the first commit, whose record a power cut may take, too.
    var states = [contents]
    try environment.write { transaction in try transaction.put(keyspaces[0], "key 0", "") }
    contents["edges"]?["key 0"] = []
    states.append(contents)
    var images = [try store.image().data]
    var base = witness.base
    for number in 1...commits {
      let steps = Self.change(keyspaces, &contents, &random)
      // Now and then one that is too large for the log.
      let isLarge = Int.random(in: 0..<40, using: &random) == 0
      let bulk = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: isLarge ? 1_200_000 : 0)
      if isLarge { contents["rows"]?["bulk"] = bulk }
      let rows = keyspaces[2]
      try environment.write { transaction in
        for step in steps { try step(transaction) }
        if isLarge {
          try "bulk".bytes { key in try bulk.withUnsafeBytes { try transaction.put(rows, key, $0) } }
        }
      }
      guard FileManager.default.fileExists(atPath: store.logPath) else {
        states = [contents]
        continue
      }
      let isNewBase = witness.base != base
      if isNewBase { (base, images, states) = (ignoringFlushes ? base : witness.base, [], states.suffix(1)) }
      let image = try store.image()
      states.append(contents)
      images.append(image.data)
      guard Int.random(in: 0..<commits, using: &random) < cuts else { continue }
      var data = base
      let share = [5, 50, 95].randomElement(using: &random) ?? 50
      let size = images.map(\.count).max() ?? 0
      if data.count < size, Bool.random(using: &random) {
        data += [UInt8](repeating: 0, count: size - data.count)
      }
      for sector in stride(from: 0, to: size, by: 512) where Int.random(in: 0..<100, using: &random) < share {
        guard let newer = images.randomElement(using: &random), sector + 512 <= newer.count else { continue }
        if data.count < sector + 512 { data += [UInt8](repeating: 0, count: sector + 512 - data.count) }
        data.replaceSubrange(sector..<sector + 512, with: newer[sector..<sector + 512])
      }
      // A commit that is too large for the log is flushed whatever the durability is: its pages and its anchor are there.
      if isLarge { data = image.data }
      var log = image.log ?? []
      if durability != .full {
        for sector in stride(from: LogFormat.recordStart, to: log.count, by: 512)
        where Int.random(in: 0..<100, using: &random) < 10 {
          log.replaceSubrange(sector..<sector + 512, with: [UInt8](repeating: 0xA5, count: 512))
        }
      }
      let cut = try LoggedStore()
      try LoggedStore.Image(data: data, log: log).put(cut)
      let found = Result {
        let opened = try cut.open(LoggedStore.options())
        defer { opened.close() }
        return try LoggedStore.contents(opened, Self.names)
      }
      try examine(found, durability == .full ? states.suffix(1) : states)
    }
  }

  private static var rounds: Int {
    ProcessInfo.processInfo.environment["STRATA_LOG_ROUNDS"].flatMap(Int.init) ?? 2
  }

  @Test func whatWasSavedFullyIsThereAfterAPowerCut() throws {
    let seed = testSeed()
    var count = 0
    for round in 0..<Self.rounds {
      try cutPower(.full, seed: seed &+ UInt64(round), commits: 60, cuts: 20) { found, allowed in
        count += 1
        let found = try found.get()
        #expect(found == allowed[0], "round \(round)")
      }
    }
    #expect(count > 0)
  }

  @Test func whatWasSavedRelaxedlyIsThereUpToSomeSave() throws {
    let seed = testSeed()
    for round in 0..<Self.rounds {
      try cutPower(.relaxed, seed: seed &+ UInt64(round), commits: 60, cuts: 20) { found, allowed in
        let found = try found.get()
        #expect(allowed.contains(found), "round \(round)")
      }
    }
  }

  /// The test of the test.
  @Test func withoutThePinPowerCutsAreNoticed() throws {
    var violations = 0
    for round in 0..<6 where violations == 0 {
      try cutPower(.full, seed: 4_711 + UInt64(round), commits: 60, cuts: 30) {
        $0.omitsPin = true
      } _: { found, allowed in
        if (try? found.get()) != allowed[0] { violations += 1 }
      }
    }
    #expect(violations > 0)
  }

  /// The test of the test.
  @Test func onADiskThatIgnoresFlushesPowerCutsAreNoticed() throws {
    var violations = 0
    for round in 0..<6 where violations == 0 {
      try cutPower(.full, seed: 4_711 + UInt64(round), commits: 60, cuts: 30, ignoringFlushes: true) {
        found, allowed in
        if (try? found.get()) != allowed[0] { violations += 1 }
      }
    }
    #expect(violations > 0)
  }

  // MARK: One by one

  @Test func aLogIsBesideTheStoreWhileItIsOpenAndGoneWhenItIsClosed() throws {
    let store = try LoggedStore()
    let (environment, _) = try store.openFilled()
    #expect(try environment.logState()?.recordCount == 3)
    environment.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: store.directory.path).sorted()
    #expect(names == ["Test.strata", "Test.strata-lock"])
    let again = try store.open()
    defer { again.close() }
    #expect(try again.get(try again.keyspace("rows"), "a") == "3")
  }

  @Test func aStoreThatWasNotClosedIsRecoveredAndItsLogGoes() throws {
    let store = try LoggedStore()
    let (environment, _) = try store.openFilled()
    let image = try store.image()
    environment.close()
    let copy = try LoggedStore()
    try image.put(copy)
    let opened = try copy.open()
    defer { opened.close() }
    #expect(try opened.get(try opened.keyspace("rows"), "a") == "3")
    #expect(!FileManager.default.fileExists(atPath: copy.logPath))
  }

  @Test func aRecordWhoseTransactionNeverCameIsCarriedOutAfterAPowerCutOrNot() throws {
    let store = try LoggedStore()
    let (environment, _) = try store.openFilled()
    var image = try store.image()
    environment.close()
    // The data file of the checkpoint is any state since: here it has lost its newest anchor.
    let newest =
      MetaPage(Array(image.data[0..<MetaPage.size])).transactionID
        > MetaPage(Array(image.data[4_096..<4_096 + MetaPage.size])).transactionID ? 0 : 4_096
    for place in newest..<newest + 512 { image.data[place] = 0xFF }
    let copy = try LoggedStore()
    try image.put(copy)
    let opened = try copy.open()
    defer { opened.close() }
    #expect(try opened.get(try opened.keyspace("rows"), "a") == "3")
  }

  @Test func aDamagedHeadIsRefusedAndNothingIsChanged() throws {
    let store = try LoggedStore()
    let (environment, _) = try store.openFilled()
    var image = try store.image()
    environment.close()
    image.damageHeads(100) { $0 ^= 1 }
    let copy = try LoggedStore()
    try image.put(copy)
    #expect(try storageError { _ = try copy.open() }.kind == .damaged)
    #expect(try copy.image() == image)
  }

  @Test func aCheckpointThatIsDamagedIsRefusedAndNothingIsChanged() throws {
    let store = try LoggedStore()
    let (environment, _) = try store.openFilled()
    var image = try store.image()
    environment.close()
    // The root of the names, as the checkpoint has it.
    let root = Int(MetaPage(try image.head.anchor).mainTree.root)
    image.data[root * 4_096 + 10] = 0x7F
    let copy = try LoggedStore()
    try image.put(copy)
    #expect(try storageError { _ = try copy.open() }.kind == .damaged)
    #expect(try copy.image() == image)
  }

  @Test(arguments: [1, 3]) func aLogOfAnotherVersionIsRefused(version: UInt8) throws {
    let store = try LoggedStore()
    let (environment, _) = try store.openFilled()
    var image = try store.image()
    environment.close()
    image.damageHeads(8) { $0 = version }
    let copy = try LoggedStore()
    try image.put(copy)
    #expect(try storageError { _ = try copy.open() }.kind == .unsupportedFormat)
    #expect(try copy.image() == image)
  }

  @Test func theLogOfAnotherStoreIsNotCarriedOut() throws {
    let first = try LoggedStore()
    let (environment, _) = try first.openFilled()
    let image = try first.image()
    environment.close()
    let second = try LoggedStore()
    let other = try second.open()
    try other.put(try other.keyspace("rows"), "a", "other")
    other.close()
    try Data(try #require(image.log)).write(to: URL(fileURLWithPath: second.logPath))
    let opened = try second.open()
    let rows = try opened.keyspace("rows")
    #expect(try opened.get(rows, "a") == "other")
    for number in 0..<3 { try opened.put(rows, "b", "\(number)") }
    let later = try second.image()
    opened.close()
    let copy = try LoggedStore()
    try later.put(copy)
    let again = try copy.open()
    defer { again.close() }
    #expect(try again.get(try again.keyspace("rows"), "b") == "2")
  }

  @Test func aStoreWhoseLogIsMissingIsOpenedWhenItsPagesAreInOrder() throws {
    let store = try LoggedStore()
    let (environment, _) = try store.openFilled()
    var image = try store.image()
    environment.close()
    image.log = nil
    let copy = try LoggedStore()
    try image.put(copy)
    let opened = try copy.open()
    defer { opened.close() }
    #expect(try opened.get(try opened.keyspace("rows"), "a") == "3")
  }

  @Test func aCommitWhoseRecordCannotBeFlushedFailsAndDoesNotComeBack() throws {
    let store = try LoggedStore()
    let fails = Atomic<Bool>(false)
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      options.fileSystem.syncData = { [sync = options.fileSystem.syncData] descriptor in
        fails.exchange(false, ordering: .relaxed) ? -EIO : sync(descriptor)
      }
      let (environment, rows) = try store.openFilled(options)
      fails.store(true, ordering: .relaxed)
      #expect(try storageError { try environment.put(rows, "a", "lost") }.kind == .io)
      #expect(try environment.get(rows, "a") == "3")
      let image = try store.image()
      try environment.put(rows, "a", "4")
      let later = try store.image()
      environment.close()
      for (image, expected) in [(image, "3"), (later, "4")] {
        let copy = try LoggedStore()
        try image.put(copy)
        let opened = try copy.open()
        defer { opened.close() }
        #expect(try opened.get(try opened.keyspace("rows"), "a") == expected)
      }
    }
  }

  @Test func flushLeavesNothingToCarryOut() throws {
    let store = try LoggedStore()
    let (environment, rows) = try store.openFilled(LoggedStore.options(.relaxed))
    defer { environment.close() }
    #expect(try environment.logState()?.recordCount ?? 0 > 0)
    try environment.flush()
    #expect(try environment.logState()?.recordCount == 0)
    try environment.put(rows, "a", "4")
    #expect(try environment.logState()?.recordCount == 1)
  }

  @Test func commitsBeyondTheLogsSizeAreFollowedByCheckpoints() throws {
    let store = try LoggedStore()
    let (environment, rows) = try store.openFilled()
    defer { environment.close() }
    let text = String(repeating: "x", count: 30_000)
    for number in 0..<30 { try environment.put(rows, "key \(number)", text) }
    let state = try #require(try environment.logState())
    #expect(state.fileSize > LogFormat.sizes[0] && state.recordCount < 30)
  }

  @Test func savesThatTheCallingThreadWritesAreInTheLog() throws {
    let store = try LoggedStore()
    let (environment, rows) = try store.openFilled()
    defer { environment.close() }
    let count = Atomic<Int>(0)
    for number in 4...6 {
      environment.submitWrite(here: true) { transaction in
        try transaction.put(rows, "a", "\(number)")
      } completion: { result in
        if (try? result.get()) != nil { count.add(1, ordering: .relaxed) }
      }
    }
    // Writes wait for those before them.
    try environment.put(rows, "b", "")
    #expect(count.load(ordering: .relaxed) == 3)
    #expect(try environment.logState()?.recordCount == 7)
    let copy = try LoggedStore()
    try store.image().put(copy)
    let opened = try copy.open()
    defer { opened.close() }
    #expect(try opened.get(try opened.keyspace("rows"), "a") == "6")
  }

  // MARK: Without a log

  @Test(arguments: Durability.allCases)
  func noLogIsMadeUnlessTheOptionsAskForOne(durability: Durability) throws {
    let store = try LoggedStore()
    var options = EnvironmentOptions()
    options.durability = durability
    options.mapSize = 1 << 24
    for _ in 0..<2 {
      let environment = try store.open(options)
      let rows = try environment.keyspace("rows")
      for number in 0..<20 { try environment.put(rows, "a", "\(number)") }
      try environment.flush()
      environment.close()
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: store.directory.path).sorted()
    #expect(names == ["Test.strata", "Test.strata-lock"])
    let mark = try fileBytes(store.path)[LogMark.offset..<LogMark.offset + LogMark.size]
    #expect(mark.allSatisfy { $0 == 0 })
  }
}
