import CLMDBShim
import Foundation

/// A file that gets shorter while it is used.
///
/// ```
///   free list in order, end cut off ─▶ survey of what lies in the last part ─▶ moved to the front, in short transactions ─▶ again
/// ```
///
/// Everything is done by transactions of LMDB, beside those of others: readers go on, writers wait for one step at most. Nothing but the places of pages changes, so whoever is
/// stopped at any point leaves a whole store, somewhat shorter than before.
extension Environment {
  /// What a compaction has come to.
  struct Compaction: Sendable, Hashable {
    /// Bytes of the file when it began, and now.
    var sizeBefore: Int
    var size: Int
    /// Bytes of pages that are free now.
    var freeBytes = 0
    /// Those of them that a reader may still need.
    var heldBytes = 0
    /// Bytes of values that found no place further to the front.
    var stuckBytes = 0
    /// How many bytes were moved.
    var movedBytes = 0
  }

  /// Makes the file as short as what is in it, as far as readers let go of free pages.
  ///
  /// - Parameters:
  ///   - patience: How long in all to wait for readers that keep old commits.
  ///   - slack: How many pages may be left over: the free list itself, and what each commit copies, take some.
  ///   - step: Called after each transaction with what there is to tell; what it throws ends the compaction, and is thrown.
  /// - Throws: `StorageError` `.busy` when the file is being compacted already, by this process or another; `.permission` for an environment that is read-only;
  ///   what `write` throws. The store is whole then, and as short as it has become.
  func compact(
    patience: Duration = .seconds(2), slack: Int = 24,
    _ step: @escaping (Compaction) throws -> Void = { _ in }
  ) throws -> Compaction {
    if isReadOnly {
      throw StorageError(
        .permission, operation: "compact", path: path, detail: "The store was opened read-only.")
    }
    let turn = try CompactionTurn(self)
    defer { turn.end() }
    var run = CompactionRun(
      self, turn.descriptor, patience: patience, slack: slack, size: try file.size(turn.descriptor), step)
    return try run.run()
  }
}

/// The work of one compaction.
private struct CompactionRun {
  let environment: Environment
  let source: PageSource
  let step: (Environment.Compaction) throws -> Void
  var result: Environment.Compaction
  /// How much more waiting for readers there may be.
  var patience: Duration
  var stuckCount = 0

  let slack: Int
  private static let mostRounds = 40
  /// A commit of one row frees hardly more.
  private static let pagesOfCommit = 16
  /// In seconds.
  private static let pause = 0.02

  init(
    _ environment: Environment, _ descriptor: Int32, patience: Duration, slack: Int, size: Int,
    _ step: @escaping (Environment.Compaction) throws -> Void
  ) {
    self.environment = environment
    self.patience = patience
    self.slack = slack
    self.step = step
    source = PageSource(file: environment.file, descriptor: descriptor)
    result = Environment.Compaction(sizeBefore: size, size: size)
  }

  mutating func run() throws -> Environment.Compaction {
    var shortest = Int.max
    var roundsWithoutGain = 0
    for _ in 0..<Self.mostRounds {
      let pages = try settle()
      let excess = pages.pageCount - pages.usedCount
      if excess <= slack + min(slack, pages.usedCount / 64) { return result }
      roundsWithoutGain = pages.pageCount < shortest ? 0 : roundsWithoutGain + 1
      shortest = min(shortest, pages.pageCount)
      if roundsWithoutGain > 2 { return result }
      if try !move(pages), try !waitForReaders(past: pages.oldest) { return result }
    }
    _ = try settle()
    return result
  }

  /// The free list in order: again when readers have let go of what lies at the end of the file.
  private mutating func settle() throws -> Environment.FreePages {
    while true {
      // What the last transaction has freed may be used after another one.
      try nudge()
      let found = try environment.settleFreePages()
      result.size = try environment.file.size(source.descriptor)
      result.heldBytes = found.heldCount * found.pageSize
      result.freeBytes = (found.usable.count + found.heldCount) * found.pageSize
      try step(result)
      // Those of the newest transaction are few, or there will be another one.
      if found.oldest >= found.newest || found.heldCount <= max(slack, Self.pagesOfCommit) { return found }
      if try !waitForReaders(past: found.oldest) { return found }
    }
  }

  /// A transaction that changes nothing.
  private func nudge() throws {
    let names = try environment.keyspaceNames()
    // The entries of "meta" are short.
    let keyspaces = try environment.keyspaces(names.filter { $0 == "meta" } + names.filter { $0 != "meta" })
      .compactMap { $0 }
    if keyspaces.isEmpty { return }
    try environment.write { transaction in
      for keyspace in keyspaces {
        let entry = try transaction.read.withCursor(keyspace) { cursor in
          try cursor.first().map { (Array($0.key), Array($0.value)) }
        }
        guard let (key, value) = entry else { continue }
        return try key.withUnsafeBytes { key in
          try value.withUnsafeBytes { try transaction.put(keyspace, key, $0) }
        }
      }
      // All of them are empty.
      try transaction.clear(keyspaces[0])
    }
  }

  /// Whether the oldest reader has gone on, while there is patience left.
  private mutating func waitForReaders(past oldest: UInt64) throws -> Bool {
    while patience > .zero {
      try step(result)
      Thread.sleep(forTimeInterval: Self.pause)
      patience -= .seconds(Self.pause)
      if try environment.oldestReader() ?? .max > oldest { return true }
    }
    return false
  }

  /// Moves what lies behind the pages that are needed; false when nothing could be moved.
  private mutating func move(_ pages: Environment.FreePages) throws -> Bool {
    let excess = pages.pageCount - pages.usedCount
    // What a round copies besides needs room, too; the next one comes closer.
    let boundary = max(2, pages.usedCount - stuckCount + slack / 2 + excess / 16)
    let survey = try surveyed(from: UInt64(boundary))
    var moving = try PageMoving(
      survey, of: environment, usable: pages.usable, boundary: boundary, pageCount: pages.pageCount)
    let (step, moved) = (step, result)
    var now = moved
    try moving.run { count in
      now.movedBytes += count * pages.pageSize
      try step(now)
    }
    result = now
    stuckCount = moving.stuckCount
    result.stuckBytes = stuckCount * pages.pageSize
    return moving.movedCount > 0
  }

  /// A survey of the newest commit, which is pinned meanwhile.
  private func surveyed(from boundary: UInt64) throws -> PageSurvey {
    for _ in 0..<Self.mostRounds {
      let pin = try environment.makeSnapshot()
      defer { pin.release() }
      let pageSize = try pin.read { try Int($0.statistics(Keyspace(handle: 0, name: "")).ms_psize) }
      // Two commits later it is overwritten.
      guard let anchor = try source.anchor(of: UInt64(pin.transactionID), pageSize: pageSize) else {
        continue
      }
      let (step, result) = (step, result)
      return try PageSurvey(anchor, source, boundary: boundary) { try step(result) }
    }
    throw StorageError(
      .busy, operation: "pread", path: environment.path,
      detail: "The store was written so often that it could not be looked at. It is as it was.")
  }
}

extension Environment {
  /// The names of all keyspaces, also of those that were not opened.
  fileprivate func keyspaceNames() throws -> [String] {
    try read { view in
      var names: [String] = []
      try view.forEach(in: Keyspace(handle: 1, name: "")) {
        names.append(String(decoding: $0.key, as: UTF8.self))
      }
      return names
    }
  }
}

extension StoreFile {
  /// The size of an open file.
  fileprivate func size(_ descriptor: Int32) throws -> Int {
    switch system.statusOfDescriptor(descriptor) {
    case .success(let status): return status.size
    case .failure(let code): throw StorageError(code.number, "fstat", path: path)
    }
  }
}

/// The right to compact a store, which one at a time has, among all processes.
///
/// A lock of the open file, on a byte far beyond its end: it ends with the process. Where the system has no such locks, each process sees to itself.
private struct CompactionTurn {
  let descriptor: Int32
  private let environment: Environment
  private let place: Int?

  private static let byte = FileTurn.using + 1

  init(_ environment: Environment) throws {
    self.environment = environment
    let file = environment.file
    guard environment.beginCompacting() else { throw Self.busy(file) }
    let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    var opened: Int32 = -1
    do {
      opened =
        environment.options.isTemporary
        ? try environment.duplicateDescriptor() : file.system.open(file.path, flags, 0)
      if opened < 0 { throw StorageError(-opened, "open", path: file.path) }
      guard case .success(let status) = file.system.statusOfDescriptor(opened),
        status.identity == environment.identity
      else {
        throw StorageError(
          .replaced, operation: "fstat", path: file.path,
          detail: "The store's file was deleted or replaced while it was open. Nothing was written.")
      }
      if !environment.options.isTemporary {
        let code = file.system.lockByte(opened, Self.byte, false)
        if code == -EAGAIN || code == -EACCES { throw Self.busy(file) }
        // There are no such locks.
        if code != 0, code != -EINVAL { throw StorageError(-code, "fcntl", path: file.path) }
      }
    } catch {
      if opened >= 0 { _ = file.system.close(opened) }
      environment.endCompacting()
      throw error
    }
    descriptor = opened
    place = InheritedDescriptors.note(opened)
  }

  func end() {
    if let place { InheritedDescriptors.forget(place) }
    // Closing alone does not end it while a process that another thread is starting has the descriptor, too.
    if !environment.options.isTemporary { _ = environment.file.system.unlockByte(descriptor, Self.byte) }
    _ = environment.file.system.close(descriptor)
    environment.endCompacting()
  }

  private static func busy(_ file: StoreFile) -> StorageError {
    StorageError(
      .busy, operation: "compact", path: file.path,
      detail: "The store is being compacted already, by this process or another.")
  }
}

extension Environment {
  /// Whether this thread may; `endCompacting` must follow.
  fileprivate func beginCompacting() -> Bool {
    !isCompacting.exchange(true, ordering: .acquiringAndReleasing)
  }

  fileprivate func endCompacting() { isCompacting.store(false, ordering: .releasing) }

  /// Another descriptor of a file that has no name.
  fileprivate func duplicateDescriptor() throws -> Int32 {
    let (slot, environment) = try claimSection()
    defer { pool.leave(slot) }
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &data)
    let copy = fcntl(data, F_DUPFD_CLOEXEC, 0)
    return copy < 0 ? -errno : copy
  }
}
