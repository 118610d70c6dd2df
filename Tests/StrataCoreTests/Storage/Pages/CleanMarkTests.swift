import Foundation
import Testing

@testable import StrataCore

/// Quick inspection after a store was closed in order, full inspection after anything else.
@Suite struct CleanMarkTests {
  private let directory: ScratchDirectory
  private var path: String { directory("Test.strata") }

  init() throws { directory = try ScratchDirectory() }

  /// Opens the store, puts `count` entries, closes it.
  private func visit(_ options: EnvironmentOptions = EnvironmentOptions(), putting count: Int = 0) throws {
    let environment = try Environment.open(path: path, options: options)
    defer { environment.close() }
    if count > 0 { try put(count, environment) }
  }

  private func put(_ count: Int, _ environment: Environment) throws {
    let rows = try environment.keyspace("rows")
    try environment.write { transaction in
      for number in 0..<count {
        try transaction.put(rows, "entry \(number)", String(repeating: "value ", count: 50))
      }
    }
  }

  private func isMarked(_ path: String) throws -> Bool {
    let file = try StoreFile(path, .system)
    let descriptor = open(path, O_RDONLY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let inspection = FileInspection(file: file, descriptor: descriptor)
    let status = try FileSystem.system.statusOfDescriptor(descriptor).get()
    return try CleanMark.holds(
      inspection, inspection.newestAnchor(inspection.readAnchors(), fileSize: status.size))
  }

  /// Changes a byte of the file where it lies; the file's time, too, unless it is kept.
  private func flip(_ offset: Int, keepingTime: Bool) throws {
    let descriptor = open(path, O_RDWR)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    let status = try FileSystem.system.statusOfDescriptor(descriptor).get()
    var byte: UInt8 = 0
    try #require(pread(descriptor, &byte, 1, off_t(offset)) == 1)
    byte ^= 0x55
    try #require(pwrite(descriptor, &byte, 1, off_t(offset)) == 1)
    if keepingTime { try #require(FileSystem.system.setModified(descriptor, status.modified) == 0) }
  }

  /// The place of a page's number, of a page that only the full inspection looks at. The file is as it was.
  private func deepPage() throws -> Int {
    let size = try fileBytes(path).count
    for page in 2..<(size / MetaPage.systemPageSize) {
      let offset = page * MetaPage.systemPageSize
      try flip(offset, keepingTime: true)
      defer { try? flip(offset, keepingTime: true) }
      let passesQuick = (try? Environment.inspect(path: path, .quick)) != nil
      let passesFull = (try? Environment.inspect(path: path, .full)) != nil
      if passesQuick && !passesFull { return offset }
    }
    return try #require(nil, "no page is beyond the quick inspection")
  }

  @Test("After an orderly close only the top is inspected, after any change everything")
  func inspectionFollowsTheMark() throws {
    try visit(putting: 500)
    let offset = try deepPage()
    #expect(try isMarked(path))
    try Environment.inspect(path: path, .automatic)
    // What bad media do leaves the time alone; it is left to the full inspection, and to checksums.
    try flip(offset, keepingTime: true)
    try Environment.inspect(path: path, .automatic)
    try visit()
    #expect(throws: StorageError.self) { try Environment.inspect(path: path, .full) }
    // A write changes the file's time, and everything is inspected.
    try flip(offset, keepingTime: true)
    try flip(offset, keepingTime: false)
    let error = try storageError { try visit() }
    #expect(error.kind == .damaged && error.page == UInt64(offset / MetaPage.systemPageSize), "\(error)")
  }

  @Test(arguments: [Durability.full, .relaxed]) func everyOrderlyCloseIsMarked(durability: Durability) throws
  {
    var options = EnvironmentOptions()
    options.durability = durability
    try visit(options)
    #expect(try isMarked(path))
    // Commits go to the two anchors alternately, and the mark with them.
    for round in 1...4 {
      let environment = try Environment.open(path: path, options: options)
      try put(round * 30, environment)
      #expect(try !isMarked(path), "committed and not closed: what a killed process leaves")
      environment.close()
      #expect(try isMarked(path))
      try Environment.inspect(path: path, .full)
    }
  }

  @Test func aVisitThatWritesNothingLeavesTheFile() throws {
    try visit(putting: 10)
    let before = (try fileBytes(path), try FileSystem.system.status(path).get())
    try visit()
    #expect(try fileBytes(path) == before.0)
    #expect(try FileSystem.system.status(path).get() == before.1)
    #expect(try isMarked(path))
  }

  @Test func scratchStoresAndReadersLeaveNoMark() throws {
    try visit(.scratch, putting: 10)
    #expect(try !isMarked(path))
    let before = try fileBytes(path)
    var options = EnvironmentOptions()
    options.isReadOnly = true
    try visit(options)
    #expect(try fileBytes(path) == before)
    #expect(try !isMarked(path))
  }

  @Test func copiesAndTouchedFilesAreNotMarked() throws {
    try visit(putting: 10)
    let (status, bytes) = (try FileSystem.system.status(path).get(), try fileBytes(path))
    // With the same time, the same size and the same bytes.
    let copy = directory("Copy.strata")
    try Data(bytes).write(to: URL(fileURLWithPath: copy))
    let descriptor = open(copy, O_RDWR)
    #expect(FileSystem.system.setModified(descriptor, status.modified) == 0)
    close(descriptor)
    #expect(try !isMarked(copy))
    try Environment.inspect(path: copy, .automatic)
    #expect(try isMarked(path))
    // The same bytes again, written by another program.
    for _ in 0..<2 { try flip(bytes.count - 1, keepingTime: false) }
    #expect(try !isMarked(path))
    try visit()
    #expect(try isMarked(path))
    let marked = try FileSystem.system.status(path).get()
    try #require(truncate(path, off_t(bytes.count + MetaPage.systemPageSize)) == 0)
    try setTime(marked.modified)
    #expect(try !isMarked(path), "the time is that of the mark, the size is not")
  }

  /// Commits within the same moment, as far as the file system can tell.
  @Test func commitsMakeTheMarkVoidWhateverTheTime() throws {
    for _ in 0..<4 { try visit(putting: 10) }
    let marked = try FileSystem.system.status(path).get()
    let environment = try Environment.open(path: path)
    defer { environment.close() }
    // Two of them: the mark lies where the second looks for one.
    for _ in 0..<2 { try put(10, environment) }
    try setTime(marked.modified)
    // Pages that were free took the changes: all but the commit's number is as it was.
    try #require(try FileSystem.system.status(path).get() == marked)
    #expect(try !isMarked(path))
  }

  private func setTime(_ moment: FileSystem.Moment) throws {
    let descriptor = open(path, O_RDWR)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(FileSystem.system.setModified(descriptor, moment) == 0)
  }

  @Test func everyByteOfTheMarkCounts() throws {
    try visit(putting: 10)
    let bytes = try fileBytes(path)
    let starts = [512, MetaPage.systemPageSize + 512].filter {
      bytes[$0..<($0 + 8)] == Array("STRCLEAN".utf8)[...]
    }
    let start = try #require(starts.last)
    for offset in start..<(start + 64) {
      try flip(offset, keepingTime: true)
      #expect(try !isMarked(path), "byte \(offset - start)")
      try flip(offset, keepingTime: true)
    }
    #expect(try isMarked(path))
  }

  /// A store that cannot take its mark is closed all the same.
  @Test func aMarkThatFailsIsNone() throws {
    for failsWriting in [true, false] {
      var options = EnvironmentOptions()
      if failsWriting {
        options.fileSystem.write = { _, _, _ in Int(-ENOSPC) }
      } else {
        options.fileSystem.setModified = { _, _ in -EPERM }
      }
      try visit(putting: 5)
      try visit(options, putting: 10)
      #expect(try !isMarked(path), "fails writing: \(failsWriting)")
      try Environment.inspect(path: path, .automatic)
    }
  }

  /// What is refused stays as it is, also where there is no mark.
  @Test(arguments: Durability.allCases)
  func aStoreOfAnotherModelIsRefusedAndGetsNoMark(durability: Durability) throws {
    func schema(_ entity: String) throws -> Schema {
      try ManagedObjectModel(entities: [
        EntityDescription(entity, properties: [AttributeDescription("name", .string)])
      ]).schema()
    }
    var options = LMDBStoreOptions()
    options.durability = durability
    // Without a log, a store that flushes nothing leaves no mark.
    options.keepsLog = true
    try LMDBStore(url: URL(fileURLWithPath: path), schema: schema("Spot"), options: options).close()
    // The mark names the file.
    let copy = URL(fileURLWithPath: directory("Copy.strata"))
    try FileManager.default.copyItem(atPath: path, toPath: copy.path)
    let bytes = try fileBytes(copy.path)
    try #require(try !isMarked(copy.path))
    #expect(throws: CoreDataError.self) {
      _ = try LMDBStore(url: copy, schema: schema("Reef"), options: options)
    }
    #expect(try fileBytes(copy.path) == bytes)
    try LMDBStore(url: copy, schema: schema("Spot"), options: options).close()
    #expect(try isMarked(copy.path))
  }
}
