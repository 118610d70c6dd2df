import CLMDBShim
import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// Files, identity, sharing, growth, readers, deadlines.
@Suite struct EnvironmentTests {
  // MARK: Files

  @Test func aNewStoreIsTwoFilesForTheOwnerOnly() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A.strata"))
    defer { environment.close() }
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    #expect(names == ["A.strata", "A.strata-lock"])
    for name in names {
      var status = stat()
      #expect(stat(directory(name), &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600)
    }
  }

  @Test func createPoliciesAreKept() throws {
    let directory = try ScratchDirectory()
    var options = EnvironmentOptions.scratch
    options.create = .never
    #expect(
      try storageError { _ = try Environment.open(path: directory("A"), options: options) }.kind == .missing)
    options.create = .mustBeNew
    try Environment.open(path: directory("A"), options: options).close()
    #expect(
      try storageError { _ = try Environment.open(path: directory("A"), options: options) }.kind == .exists)
    options.create = .ifMissing
    try Environment.open(path: directory("A"), options: options).close()
    let missing = try storageError { _ = try Environment.open(path: directory("no/A"), options: options) }
    #expect(missing.kind == .missing)
    for path in ["", "/", directory.path + "/", directory("."), directory(".."), directory("a\0b")] {
      let error = try storageError { _ = try Environment.open(path: path, options: options) }
      #expect(error.kind == .invalid)
    }
  }

  @Test func whatIsNoPlainFileIsRefused() throws {
    let directory = try ScratchDirectory()
    let real = directory("Real.strata")
    try Environment.open(path: real, options: .scratch).close()
    let before = FileManager.default.contents(atPath: real)
    #expect(symlink(real, directory("Link.strata")) == 0)
    #expect(mkdir(directory("Directory.strata"), 0o700) == 0)
    #expect(mkfifo(directory("Pipe.strata"), 0o600) == 0)
    let expected: [(String, StorageError.Kind)] = [
      ("Link.strata", .aliased), ("Directory.strata", .notADatabase), ("Pipe.strata", .notADatabase),
    ]
    for (name, kind) in expected {
      let error = try storageError { _ = try Environment.open(path: directory(name), options: .scratch) }
      #expect(error.kind == kind)
    }
    #expect(link(real, directory("Second.strata")) == 0)
    for name in ["Real.strata", "Second.strata"] {
      let error = try storageError { _ = try Environment.open(path: directory(name), options: .scratch) }
      #expect(error.kind == .aliased)
    }
    #expect(FileManager.default.contents(atPath: real) == before)
  }

  @Test func aLinkedLockFileIsRefused() throws {
    let directory = try ScratchDirectory()
    try Environment.open(path: directory("A"), options: .scratch).close()
    try FileManager.default.removeItem(atPath: directory("A-lock"))
    try Data("precious".utf8).write(to: URL(fileURLWithPath: directory("other")))
    #expect(symlink(directory("other"), directory("A-lock")) == 0)
    let error = try storageError { _ = try Environment.open(path: directory("A"), options: .scratch) }
    #expect(error.kind == .aliased)
    #expect(FileManager.default.contents(atPath: directory("other")) == Data("precious".utf8))
  }

  @Test func aLinkedDirectoryIsTheSameStore() throws {
    let directory = try ScratchDirectory()
    #expect(mkdir(directory("d"), 0o700) == 0)
    #expect(symlink(directory("d"), directory("e")) == 0)
    let first = try Environment.open(path: directory("d/A"), options: .scratch)
    let second = try Environment.open(path: directory("e/A"), options: .scratch)
    #expect(first === second)
    first.close()
    second.close()
  }

  @Test func aReadOnlyOpenRefusesWritesAndMissingKeyspaces() throws {
    let directory = try ScratchDirectory()
    var options = EnvironmentOptions.scratch
    let first = try Environment.open(path: directory("A"), options: options)
    try first.put(first.keyspace("rows"), "a", "1")
    first.close()
    options.isReadOnly = true
    let environment = try Environment.open(path: directory("A"), options: options)
    defer { environment.close() }
    let keyspaces = try environment.keyspaces(["rows", "none"])
    #expect(keyspaces[1] == nil)
    let rows = try #require(keyspaces[0])
    #expect(try environment.get(rows, "a") == "1")
    #expect(try storageError { try environment.put(rows, "a", "2") }.kind == .permission)
  }

  @Test func dataDescriptorIsClosedOnExec() throws {
    try withEnvironment { environment in
      for descriptor in openDescriptors(of: environment.path) {
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
      }
      // LMDB has two, the turn to write one.
      #expect(openDescriptors(of: environment.path).count == 3)
    }
  }

  // MARK: One environment per file

  @Test func openingTwiceSharesAndCountsReferences() throws {
    let directory = try ScratchDirectory()
    let first = try Environment.open(path: directory("A"), options: .scratch)
    let second = try Environment.open(path: directory("A"), options: .scratch)
    #expect(first === second)
    let rows = try first.keyspace("rows")
    first.close()
    try second.put(rows, "a", "1")
    #expect(try second.get(rows, "a") == "1")
    second.close()
    #expect(try storageError { _ = try second.get(rows, "a") }.kind == .closed)
    #expect(try storageError { try second.put(rows, "a", "1") }.kind == .closed)
    #expect(try storageError { _ = try second.makeSnapshot() }.kind == .closed)
  }

  @Test func aLaxerDurabilityThanIsAskedForIsRefusedAndNamesBoth() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    defer { environment.close() }
    let durable = try storageError { _ = try Environment.open(path: directory("A")) }
    #expect(durable.kind == .invalid)
    #expect(durable.detail.contains(".none") && durable.detail.contains(".full"))
  }

  @Test func aStricterDurabilityThanIsAskedForIsShared() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"))
    defer { environment.close() }
    for durability in Durability.allCases {
      var options = EnvironmentOptions()
      options.durability = durability
      let other = try Environment.open(path: directory("A"), options: options)
      #expect(other === environment && other.options.durability == .full)
      other.close()
    }
  }

  @Test func whoReadsSharesWhatIsOpenForWriting() throws {
    let directory = try ScratchDirectory()
    let writer = try Environment.open(path: directory("A"), options: .scratch)
    defer { writer.close() }
    let rows = try writer.keyspace("rows")
    var options = EnvironmentOptions()
    options.isReadOnly = true
    let reader = try Environment.open(path: directory("A"), options: options)
    #expect(reader === writer)
    #expect(try reader.keyspaces(["none"], creates: false)[0] == nil)
    reader.close()
    try writer.put(rows, "a", "1")
    #expect(try writer.get(rows, "a") == "1")
  }

  @Test func aStoreThatIsReadIsOpenedForWriting() throws {
    let directory = try ScratchDirectory()
    let first = try Environment.open(path: directory("A"))
    let rows = try first.keyspace("rows")
    try first.put(rows, "a", "1")
    first.close()
    var options = EnvironmentOptions()
    options.isReadOnly = true
    let reader = try Environment.open(path: directory("A"), options: options)
    let known = try #require(try reader.keyspaces(["rows"])[0])
    #expect(try storageError { try reader.put(known, "a", "2") }.kind == .permission)
    let writer = try Environment.open(path: directory("A"))
    #expect(writer === reader && !writer.isReadOnly)
    try writer.put(known, "a", "2")
    writer.close()
    #expect(try reader.get(known, "a") == "2")
    reader.close()
    let last = try Environment.open(path: directory("A"))
    defer { last.close() }
    #expect(try last.get(try last.keyspace("rows"), "a") == "2")
  }

  @Test func manyThreadsOpenAndCloseOneFile() throws {
    let directory = try ScratchDirectory()
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for round in 0..<20 {
        do {
          let environment = try Environment.open(path: directory("A"), options: .scratch)
          let rows = try environment.keyspace("rows")
          try environment.put(rows, "\(thread)", "\(round)")
          let value = try environment.get(rows, "\(thread)")
          if value != "\(round)" { failures.withLock { $0.append("\(value ?? "nil")") } }
          environment.close()
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
  }

  // MARK: Replaced, deleted, forked

  @Test(arguments: ["", "-lock"]) func aDeletedFileRefusesWrites(suffix: String) throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "a", "1")
      #expect(unlink(environment.path + suffix) == 0)
      #expect(try storageError { try environment.put(rows, "a", "2") }.kind == .replaced)
      #expect(try environment.get(rows, "a") == "1")
    }
  }

  @Test func aReplacedFileRefusesWrites() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let other = environment.path + ".other"
      try Data(MetaPage.emptyStore(pageSize: 4096)).write(to: URL(fileURLWithPath: other))
      #expect(rename(other, environment.path) == 0)
      #expect(try storageError { try environment.put(rows, "a", "2") }.kind == .replaced)
      #expect(FileManager.default.contents(atPath: environment.path)?.count == 8192)
    }
  }

  @Test func aTemporaryStoreHasNoName() throws {
    let directory = try ScratchDirectory()
    var options = EnvironmentOptions.scratch
    options.isTemporary = true
    let environment = try Environment.open(path: directory("A"), options: options)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "a", "1")
    #expect(try environment.get(rows, "a") == "1")
    try environment.copy(to: directory("Copy"), compacting: false)
    try inspect(directory("Copy"))
    environment.close()
  }

  // MARK: Backup, destroy, replace

  @Test(arguments: [false, true]) func aBackupHoldsTheLastCommit(compacting: Bool) throws {
    let directory = try ScratchDirectory()
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      for number in 0..<50 { try environment.put(rows, "\(number)", String(repeating: "v", count: 500)) }
      try environment.copy(to: directory("Copy"), compacting: compacting)
      let error = try storageError { try environment.copy(to: directory("Copy"), compacting: compacting) }
      #expect(error.kind == .exists)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["Copy"])
    var status = stat()
    #expect(stat(directory("Copy"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    let copy = try Environment.open(path: directory("Copy"), options: .scratch)
    defer { copy.close() }
    let rows = try copy.keyspace("rows")
    #expect(try copy.read { try $0.entryCount(rows) } == 50)
  }

  @Test func destroyRemovesBothFilesUnlessOpen() throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    #expect(try storageError { try Environment.destroy(path: path) }.kind == .missing)
    let environment = try Environment.open(path: path, options: .scratch)
    #expect(try storageError { try Environment.destroy(path: path) }.kind == .busy)
    environment.close()
    try Environment.destroy(path: path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    try Environment.open(path: path, options: .scratch).close()
  }

  @Test(arguments: [false, true]) func replacePutsACopyInPlace(sourceIsOpen: Bool) throws {
    let directory = try ScratchDirectory()
    for name in ["A", "B"] {
      let environment = try Environment.open(path: directory(name), options: .scratch)
      try environment.put(environment.keyspace("rows"), "name", name)
      environment.close()
    }
    let source = sourceIsOpen ? try Environment.open(path: directory("B"), options: .scratch) : nil
    defer { source?.close() }
    let open = try Environment.open(path: directory("A"), options: .scratch)
    let refusal = try storageError { try Environment.replace(path: directory("A"), with: directory("B")) }
    #expect(refusal.kind == .busy)
    open.close()
    try Environment.replace(path: directory("A"), with: directory("B"))
    try Environment.replace(path: directory("New"), with: directory("B"))
    for name in ["A", "New"] {
      let environment = try Environment.open(path: directory(name), options: .scratch)
      let rows = try environment.keyspace("rows")
      #expect(try environment.get(rows, "name") == "B")
      environment.close()
    }
    let itself = try storageError { try Environment.replace(path: directory("B"), with: directory("B")) }
    #expect(itself.kind == .invalid)
  }

  @Test func writesAndReadsGoOnDuringABackup() throws {
    let directory = try ScratchDirectory()
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let total = Mutex(0)
      DispatchQueue.concurrentPerform(iterations: 3) { worker in
        for number in 0..<30 {
          do {
            if worker == 0 {
              let path = directory("Copy \(number)")
              try environment.copy(to: path, compacting: number % 2 == 0)
              try inspect(path)
            } else {
              try environment.put(rows, "\(worker).\(number)", String(repeating: "x", count: 2000))
            }
            total.withLock { $0 += 1 }
          } catch {
            Issue.record(error)
          }
        }
      }
      #expect(total.withLock { $0 } == 90)
      #expect(try environment.read { try $0.entryCount(rows) } == 60)
    }
  }
}

/// The descriptors of this process that stand for the file at `path`.
func openDescriptors(of path: String) -> [Int32] {
  let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
  return names.compactMap(Int32.init).filter {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
  }
}
