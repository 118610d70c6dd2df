import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// Whatever happens to the names of a store, there are never two writers.
///
/// What is not here is in `EnvironmentTests` (links, deletion, replacement, sharing in a process) and
/// `ProcessTests` (fork).
@Suite struct IdentityTests {
  /// A second name given while the store is open: it can be opened under neither, and the process that has it open continues.
  @Test func aLinkMadeWhileOpenOpensNowhere() async throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "a", "1")
    try #require(link(directory("A"), directory("B")) == 0)
    for name in ["A", "B"] {
      await #expect(processExitsWith: .success) { [path = directory(name) as String] in
        let error = try storageError { _ = try Environment.open(path: path, options: .scratch) }
        #expect(error.kind == .aliased)
      }
    }
    #expect(
      try storageError { _ = try Environment.open(path: directory("B"), options: .scratch) }.kind == .aliased)
    try environment.put(rows, "a", "2")
    #expect(!FileManager.default.fileExists(atPath: directory("B-lock")))
  }

  /// The file moves away under the one that has it open; another process opens it under the new name and writes.
  @Test func aMovedFileHasItsNewWriterOnly() async throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "a", "1")
    try #require(rename(directory("A"), directory("B")) == 0)
    await #expect(processExitsWith: .success) { [path = directory("B") as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      try environment.put(environment.keyspace("rows"), "b", "theirs")
      environment.close()
    }
    #expect(try storageError { try environment.put(rows, "b", "ours") }.kind == .replaced)
    // In this process it is the same file under another name: the environment of the old name must not be handed out
    // as a writer of the new one.
    let again = try? Environment.open(path: directory("B"), options: .scratch)
    if let again {
      #expect((try? again.put(rows, "b", "ours")) == nil)
      again.close()
    }
    await #expect(processExitsWith: .success) { [path = directory("B") as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      #expect(try environment.get(environment.keyspace("rows"), "b") == "theirs")
      environment.close()
    }
  }

  /// A process that opens the store after its lock file is gone makes a new one; a holder of the old one may not write.
  @Test(arguments: ["deleted", "replaced"]) func aNewLockFileHasItsOwnWritersOnly(how: String) async throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "a", "1")
    if how == "deleted" {
      try #require(unlink(directory("A-lock")) == 0)
    } else {
      try Data().write(to: URL(fileURLWithPath: directory("other")))
      try #require(rename(directory("other"), directory("A-lock")) == 0)
    }
    await #expect(processExitsWith: .success) { [path = directory("A") as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      try environment.put(environment.keyspace("rows"), "a", "theirs")
      environment.close()
    }
    #expect(try storageError { try environment.put(rows, "a", "ours") }.kind == .replaced)
    environment.close()
    let again = try Environment.open(path: directory("A"), options: .scratch)
    defer { again.close() }
    let found = try again.keyspace("rows")
    #expect(try again.get(found, "a") == "theirs")
    try again.put(found, "a", "ours")
  }

  /// Deleted and made again by another process: two stores that share only the name.
  @Test func aStoreMadeAnewIsAnother() async throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "a", "old")
    await #expect(processExitsWith: .success) { [path = directory("A") as String] in
      // `destroy` would refuse, because the store is open.
      #expect(try storageError { try Environment.destroy(path: path) }.kind == .busy)
      for name in [path, path + "-lock"] { try #require(unlink(name) == 0) }
      let environment = try Environment.open(path: path, options: .scratch)
      try environment.put(environment.keyspace("rows"), "a", "new")
      environment.close()
    }
    #expect(try storageError { try environment.put(rows, "a", "more") }.kind == .replaced)
    #expect(try environment.get(rows, "a") == "old")
    let other = try Environment.open(path: directory("A"), options: .scratch)
    defer { other.close() }
    #expect(other !== environment)
    #expect(try other.get(other.keyspace("rows"), "a") == "new")
  }

  /// A program that this one starts inherits none of the store's descriptors.
  @Test func descriptorsAreClosedOnExec() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "a", "1")
    _ = try environment.get(rows, "a")
    // Without Foundation, which would close descriptors of its own accord.
    let script = "ls -l /proc/self/fd > '\(directory("list"))'"
    let words: [UnsafeMutablePointer<CChar>?] = (["/bin/sh", "-c", script] as [String]).map { strdup($0) }
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    try #require(posix_spawn(&child, "/bin/sh", nil, nil, words + [nil], nil) == 0)
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    let list = String(decoding: try fileBytes(directory("list")), as: UTF8.self)
    #expect(list.contains("list") && !list.contains(directory("A")), "\(list)")
  }

  /// A copy made with other tools during a write is a store, or is refused; it never ends the process.
  @Test func aCopyMadeWhileWritingIsSoundOrRefused() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    let isDone = Atomic(false)
    let outcomes = Mutex((sound: 0, refused: 0))
    DispatchQueue.concurrentPerform(iterations: 2) { worker in
      do {
        if worker == 0 {
          defer { isDone.store(true, ordering: .relaxed) }
          for number in 0..<400 {
            try environment.put(rows, "key \(number % 90)", String(repeating: "x", count: number * 37 % 3000))
          }
          return
        }
        var number = 0
        while !isDone.load(ordering: .relaxed) || number < 5 {
          number += 1
          let path = directory("Copy \(number)")
          try Data(fileBytes(directory("A"))).write(to: URL(fileURLWithPath: path))
          do {
            let copy = try Environment.open(path: path, options: .scratch)
            defer { copy.close() }
            let found = try copy.keyspace("rows")
            try copy.put(found, "own", "1")
            #expect(try copy.get(found, "own") == "1")
            outcomes.withLock { $0.sound += 1 }
          } catch let error as StorageError {
            #expect([.damaged, .truncated].contains(error.kind), "\(error)")
            outcomes.withLock { $0.refused += 1 }
          }
          try FileManager.default.removeItem(atPath: path)
        }
      } catch {
        Issue.record(error)
      }
    }
    let (sound, refused) = outcomes.withLock { $0 }
    print("copies while writing: \(sound) sound, \(refused) refused")
    #expect(sound > 0)
  }

  // MARK: What is no store

  /// Sizes that no memory could hold, with nothing in them: neither time nor memory goes into them.
  @Test(.timeLimit(.minutes(20)), arguments: [1 << 40, 1 << 43]) func sparseGiantsCostNothing(size: Int)
    throws
  {
    let directory = try ScratchDirectory()
    let path = directory("A")
    func enlarge() throws -> Bool { truncate(path, off_t(size)) == 0 }
    try Data().write(to: URL(fileURLWithPath: path))
    // The file system may not know files of that size.
    guard try enlarge() else { return }
    #expect(
      try storageError { _ = try Environment.open(path: path, options: .scratch) }.kind == .notADatabase)
    #expect(try storageError { try Environment.inspect(path: path, .full) }.kind == .notADatabase)
    let new = URL(fileURLWithPath: directory("New"))
    #expect(
      try storageError { _ = try LMDBStore.salvage(from: URL(fileURLWithPath: path), to: new) }.kind
        == .notADatabase)
    try FileManager.default.removeItem(atPath: path)
    // A store with a hole behind it is a store.
    var environment = try Environment.open(path: path, options: .scratch)
    try environment.put(environment.keyspace("rows"), "a", "1")
    environment.close()
    try #require(try enlarge())
    try Environment.inspect(path: path, .full)
    environment = try Environment.open(path: path, options: .scratch)
    #expect(try environment.get(environment.keyspace("rows"), "a") == "1")
    try environment.put(environment.keyspace("rows"), "a", "2")
    environment.close()
    // One that says it is that long: the last page, far out, is believed no further than the file goes.
    let descriptor = Foundation.open(path, O_RDWR)
    for page in 0..<2 {
      var number = UInt64(size / 4096 - 1)
      try #require(pwrite(descriptor, &number, 8, off_t(page * 4096 + 136)) == 8)
      number = UInt64(size)
      try #require(pwrite(descriptor, &number, 8, off_t(page * 4096 + 32)) == 8)
    }
    Foundation.close(descriptor)
    try? Environment.inspect(path: path, .full)
    let report = try? LMDBStore.salvage(
      from: URL(fileURLWithPath: path), to: new, model: StoreFixture.model())
    #expect(report?.rowCount ?? 0 == 0)
  }

  /// Whatever is asked of a name that is no plain file, the answer comes at once.
  @Test(.timeLimit(.minutes(20))) func pipesAndDirectoriesNeverHang() throws {
    let directory = try ScratchDirectory()
    try #require(mkfifo(directory("pipe"), 0o600) == 0)
    try #require(mkdir(directory("folder"), 0o700) == 0)
    try #require(symlink(directory("pipe"), directory("link")) == 0)
    for name in ["pipe", "folder", "link"] {
      let url = URL(fileURLWithPath: directory(name))
      let new = URL(fileURLWithPath: directory("New"))
      for ask in [
        { try LMDBStore.inspect(at: url) }, { _ = try LMDBStore.metadata(at: url) },
        { _ = try LMDBStore.model(at: url) }, { try LMDBStore.replace(at: new, with: url) },
        { _ = try LMDBStore.salvage(from: url, to: new, model: StoreFixture.model()) },
        { try LMDBStore.destroy(at: url) },
      ] as [() throws -> Void] {
        let error = try storageError(ask)
        #expect([.notADatabase, .aliased].contains(error.kind), "\(name): \(error)")
      }
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == [
        "folder", "link", "pipe",
      ])
  }
}
