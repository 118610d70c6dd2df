import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What other processes do between two steps of an opening: a log that was looked at goes on, ends, or another one is begun. Seen with processes that were killed beside others on a
/// busy machine; here the steps are calls of the system, between which the files are changed.
struct LogMomentTests {
  private let store: LoggedStore

  init() throws { store = try LoggedStore() }

  /// Runs something once.
  private final class Once: Sendable {
    private let isDone = Atomic<Bool>(false)
    func callAsFunction(_ body: () -> Void) {
      if !isDone.exchange(true, ordering: .relaxed) { body() }
    }
  }

  /// Writes over the files without making other ones, as a process does that has the store open.
  private static func overwrite(_ store: LoggedStore, _ image: LoggedStore.Image) {
    for (path, bytes) in [(store.path, image.data), (store.logPath, image.log ?? [])] {
      let descriptor = open(path, O_RDWR | O_CLOEXEC)
      _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
      close(descriptor)
    }
  }

  /// Commits and makes checkpoints, so that pages of the first one are used again.
  private static func goOn(_ environment: Environment, _ rows: Keyspace) throws {
    for number in 4...40 {
      try environment.put(rows, "a", "\(number)")
      if number % 4 == 0 { try environment.flush() }
    }
  }

  private func value(_ options: EnvironmentOptions) throws -> String? {
    let environment = try store.open(options)
    defer { environment.close() }
    return try environment.get(try environment.keyspace("rows"), "a")
  }

  /// The process that had the store open goes on until it is found alone: it makes a checkpoint, and more commits.
  @Test func aRecoveryBeginsWithTheHeadThatIsThereWhenNobodyElseIs() throws {
    let source = try LoggedStore()
    let (environment, rows) = try source.openFilled()
    let before = try source.image()
    try Self.goOn(environment, rows)
    try environment.put(rows, "a", "last")
    let after = try source.image()
    environment.close()
    #expect(try before.head.number < after.head.number)
    try before.put(store)
    try Data().write(to: URL(fileURLWithPath: store.path + "-lock"))
    var options = LoggedStore.options()
    let (holder, goesOn, store) = (options.fileSystem.holderOfFirstByte, Once(), store)
    options.fileSystem.holderOfFirstByte = { descriptor in
      var result = holder(descriptor)
      goesOn {
        Self.overwrite(store, after)
        result = .success(4_711)
      }
      return result
    }
    #expect(try value(options) == "last")
  }

  /// The same for who only looks at the store's pages.
  @Test func aLookBeginsWithTheHeadThatIsThereWhenNobodyElseIs() throws {
    let source = try LoggedStore()
    let (environment, rows) = try source.openFilled()
    let before = try source.image()
    try Self.goOn(environment, rows)
    let after = try source.image()
    environment.close()
    try before.put(store)
    var system = FileSystem.system
    let (isLocked, goesOn, store) = (system.isAnyByteLocked, Once(), store)
    system.isAnyByteLocked = { descriptor, places in
      goesOn { Self.overwrite(store, after) }
      return isLocked(descriptor, places)
    }
    try Environment.inspect(path: store.path, .full, fileSystem: system)
  }

  /// A process recovers the store while another one walks through its pages, and goes on to write.
  @Test func aLookAtAStoreThatIsRecoveredMeanwhileBeginsAgain() throws {
    let source = try LoggedStore()
    let (environment, rows) = try source.openFilled()
    let before = try KilledStoreTests.tear(source.image())
    try Self.goOn(environment, rows)
    environment.close()
    let after = LoggedStore.Image(data: try source.image().data, log: nil)
    try before.put(store)
    var system = FileSystem.system
    let (read, store) = (system.read, store)
    let reads = Atomic<Int>(0)
    try withExtendedLifetime(store) {
      system.read = { descriptor, buffer, offset in
        // The first page behind both anchors.
        if offset == 2 * MetaPage.systemPageSize, reads.add(1, ordering: .relaxed).newValue == 1 {
          Self.overwrite(store, LoggedStore.Image(data: after.data, log: []))
          unlink(store.logPath)
        }
        return read(descriptor, buffer, offset)
      }
      try Environment.inspect(path: store.path, .full, fileSystem: system)
      #expect(reads.load(ordering: .relaxed) > 1)
    }
  }

  /// It had the turn at a log that has gone; another process has begun the next one, and died.
  @Test func whoHasTheTurnAtALogThatHasGoneLooksForTheNextOne() throws {
    let source = try LoggedStore()
    let (environment, _) = try source.openFilled()
    let first = try KilledStoreTests.tear(source.image())
    environment.close()
    let again = try source.open()
    let rows = try again.keyspace("rows")
    for number in 4...6 { try again.put(rows, "a", "\(number)") }
    // Only its log makes it whole.
    let second = try KilledStoreTests.tear(source.image())
    again.close()
    try first.put(store)
    var options = LoggedStore.options()
    let (share, begins, store) = (options.fileSystem.shareByte, Once(), store)
    options.fileSystem.shareByte = { descriptor, place in
      begins {
        Self.overwrite(store, LoggedStore.Image(data: second.data, log: []))
        try? Data(second.log ?? []).write(to: URL(fileURLWithPath: store.logPath))
      }
      return share(descriptor, place)
    }
    #expect(try value(options) == "6")
  }

  /// It may have the store open at any moment, and go on with the log.
  @Test func aLogStaysBesideAProcessThatOpensTheStore() throws {
    let isOpened = Atomic<Bool>(false)
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      options.fileSystem.isAnyByteLocked = { [isLocked = options.fileSystem.isAnyByteLocked] in
        isOpened.load(ordering: .relaxed) ? .success(true) : isLocked($0, $1)
      }
      let (environment, _) = try store.openFilled(options)
      isOpened.store(true, ordering: .relaxed)
      environment.close()
      let image = try store.image()
      #expect(LogProbe.Look(data: image.data, log: image.log).isInForce)
      isOpened.store(false, ordering: .relaxed)
      #expect(try value(options) == "3")
      #expect(!store.hasLog)
    }
  }

  /// Who has announced itself has looked for a log before there was this one, and maps the file any moment.
  @Test func nothingIsRecoveredBelowAProcessThatOpensTheStore() throws {
    let (environment, _) = try store.openFilled()
    let image = try KilledStoreTests.tear(store.image())
    environment.close()
    try image.put(store)
    let asked = Atomic<Int>(0)
    let early = Atomic<Int>(0)
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      let system = options.fileSystem
      options.fileSystem.isAnyByteLocked = { descriptor, places in
        asked.add(1, ordering: .relaxed).newValue <= 4
          ? .success(true) : system.isAnyByteLocked(descriptor, places)
      }
      options.fileSystem.write = { descriptor, bytes, offset in
        if asked.load(ordering: .relaxed) <= 4 { early.add(1, ordering: .relaxed) }
        return system.write(descriptor, bytes, offset)
      }
      let found = try value(options)
      #expect(found == "3")
      #expect(asked.load(ordering: .relaxed) > 4)
      #expect(early.load(ordering: .relaxed) == 0)
    }
  }

  /// The head was not there yet when it was read, and records are behind it by now.
  @Test func aLogThatIsPutInForceWhileItIsLookedAtIsNoDamagedOne() throws {
    let (environment, _) = try store.openFilled()
    let image = try store.image()
    environment.close()
    try image.put(store)
    var options = LoggedStore.options()
    let (read, early) = (options.fileSystem.read, Once())
    options.fileSystem.read = { descriptor, buffer, offset in
      let count = read(descriptor, buffer, offset)
      if offset == LogFormat.headArea.lowerBound, buffer.count == LogFormat.headArea.count {
        early { buffer.initializeMemory(as: UInt8.self, repeating: 0) }
      }
      return count
    }
    #expect(try value(options) == "3")
  }

  /// Another process begins a log while this one says that an earlier one is missing.
  @Test func theMarkOfALogThatWasBegunMeanwhileStays() throws {
    let source = try LoggedStore()
    let (environment, _) = try source.openFilled()
    let first = LoggedStore.Image(data: try source.image().data, log: nil)
    environment.close()
    let again = try source.open()
    let rows = try again.keyspace("rows")
    for number in 4...6 { try again.put(rows, "a", "\(number)") }
    let second = try KilledStoreTests.tear(source.image())
    again.close()
    try first.put(store)
    try Data().write(to: URL(fileURLWithPath: store.path + "-lock"))
    var options = LoggedStore.options()
    let (holder, begins, store) = (options.fileSystem.holderOfFirstByte, Once(), store)
    options.fileSystem.holderOfFirstByte = { descriptor in
      begins {
        Self.overwrite(store, LoggedStore.Image(data: second.data, log: []))
        try? Data(second.log ?? []).write(to: URL(fileURLWithPath: store.logPath))
      }
      return holder(descriptor)
    }
    #expect(try value(options) == "6")
  }

  /// Who has ended the log was killed before the head that says so was durable. Found by power cuts of several processes, any of which was killed.
  @Test func aLogIsEndedForGoodBeforeAnythingIsCommittedWithoutIt() throws {
    let source = try LoggedStore()
    let (environment, _) = try source.openFilled()
    let inForce = try source.image()
    environment.close()
    var ended = inForce
    var head = try inForce.head.emptied
    head.number = try inForce.head.number + 1
    ended.log?.replaceSubrange(head.place..<head.place + head.bytes.count, with: head.bytes)
    try ended.put(store)
    let isFlushed = Atomic<Bool>(false)
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      let (sync, log) = (options.fileSystem.syncData, try StoreFile(store.path, .system).namedLog())
      options.fileSystem.syncData = { descriptor in
        if case .success(let status) = FileSystem.system.statusOfDescriptor(descriptor),
          status.identity == log
        {
          isFlushed.store(true, ordering: .relaxed)
        }
        return sync(descriptor)
      }
      let environment = try store.open(options)
      defer { environment.close() }
      try environment.put(try environment.keyspace("rows"), "a", "new")
      // The data file is flushed. That the log has gone need not be.
      let cut = LoggedStore.Image(
        data: try fileBytes(store.path), log: isFlushed.load(ordering: .relaxed) ? ended.log : inForce.log)
      let copy = try LoggedStore()
      try cut.put(copy)
      let opened = try copy.open()
      #expect(try opened.get(try opened.keyspace("rows"), "a") == "new")
      opened.close()
    }
  }

  /// Who has made the store may have been killed before its name was durable.
  @Test func theNameOfAStoreWithoutCommitsIsMadeDurable() throws {
    let count = Atomic<Int>(0)
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      options.fileSystem.open = { [open = options.fileSystem.open] path, flags, mode in
        if flags & O_DIRECTORY != 0 { count.add(1, ordering: .relaxed) }
        return open(path, flags, mode)
      }
      try store.open().close()
      let environment = try store.open(options)
      #expect(count.load(ordering: .relaxed) == 1)
      try environment.put(try environment.keyspace("rows"), "a", "1")
      environment.close()
      count.store(0, ordering: .relaxed)
      try store.open(options).close()
      #expect(count.load(ordering: .relaxed) == 0)
    }
  }
}
