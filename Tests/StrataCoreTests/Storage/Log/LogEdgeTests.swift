import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What power cuts and failing calls have brought to light, one by one.
struct LogEdgeTests {
  /// A keyspace that was made behind the checkpoint, and has nothing in it.
  @Test func aKeyspaceThatWasMadeIsInTheLog() throws {
    let store = try LoggedStore()
    let environment = try store.open()
    let rows = try environment.keyspace("rows")
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    let before = try #require(try environment.logState()?.recordCount)
    _ = try environment.keyspace("later")
    #expect(try environment.logState()?.recordCount == before + 1)
    let image = try store.image()
    environment.close()
    let copy = try LoggedStore()
    try image.put(copy)
    // Opened and closed for good: recovered.
    try copy.open().close()
    var options = EnvironmentOptions()
    options.create = .never
    options.isReadOnly = true
    let opened = try copy.open(options)
    defer { opened.close() }
    #expect(try opened.keyspaces(["later"])[0] != nil)
  }

  /// A power cut between both would be reported as the loss of a log.
  @Test func theMarkIsRemovedForGoodBeforeTheLogGoes() throws {
    let store = try LoggedStore()
    let calls = Mutex<[String]>([])
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      let system = options.fileSystem
      options.fileSystem.write = { descriptor, bytes, offset in
        if offset == LogMark.offset { calls.withLock { $0.append("mark") } }
        return system.write(descriptor, bytes, offset)
      }
      options.fileSystem.syncData = { descriptor in
        calls.withLock { $0.append("flush") }
        return system.syncData(descriptor)
      }
      options.fileSystem.unlink = { path in
        calls.withLock { $0.append("remove") }
        return system.unlink(path)
      }
      let environment = try store.open(options)
      let rows = try environment.keyspace("rows")
      for number in 1...3 { try environment.put(rows, "a", "\(number)") }
      environment.close()
    }
    #expect(calls.withLock { $0.suffix(3) } == ["mark", "flush", "remove"])
  }

  @Test func aLogWhoseSizeCannotBeReadIsNoDamagedOne() throws {
    let store = try LoggedStore()
    let environment = try store.open()
    let rows = try environment.keyspace("rows")
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    let image = try store.image()
    environment.close()
    // Whatever call it is: none is taken for damage, or for another file.
    for nth in 1...12 {
      let copy = try LoggedStore()
      try image.put(copy)
      let count = Atomic<Int>(0)
      try withExtendedLifetime(copy) {
        var options = LoggedStore.options()
        options.fileSystem.statusOfDescriptor = { [status = options.fileSystem.statusOfDescriptor] in
          count.add(1, ordering: .relaxed).newValue == nth
            ? .failure(FileSystem.Code(number: EIO)) : status($0)
        }
        do {
          let opened = try copy.open(options)
          defer { opened.close() }
          #expect(try opened.get(try opened.keyspace("rows"), "a") == "3")
        } catch let error as StorageError {
          #expect(error.kind == .io, "call \(nth)")
        }
      }
    }
  }

  /// A log has its whole size before it is in force: one that is shorter has lost records.
  @Test(arguments: [512, 513, 4_096, 4_200, 65_535])
  func aLogThatWasCutOffIsRefusedAndNothingIsChanged(size: Int) throws {
    var image = try unclosed()
    image.log = image.log.map { Array($0.prefix(size)) }
    let copy = try LoggedStore()
    try image.put(copy)
    #expect(try storageError { _ = try copy.open() }.kind == .damaged)
    #expect(try copy.image() == image)
  }

  /// Also one that is cut off to a size that logs have.
  @Test func aLogThatWasCutOffToAnEarlierSizeIsRefused() throws {
    let store = try LoggedStore()
    let environment = try store.open()
    let rows = try environment.keyspace("rows")
    let text = String(repeating: "x", count: 30_000)
    for number in 0..<8 { try environment.put(rows, "key \(number)", text) }
    var image = try store.image()
    environment.close()
    #expect(try image.head.fileSize == image.log?.count && image.log?.count ?? 0 > LogFormat.sizes[0])
    image.log = image.log.map { Array($0.prefix(LogFormat.sizes[0])) }
    let copy = try LoggedStore()
    try image.put(copy)
    #expect(try storageError { _ = try copy.open() }.kind == .damaged)
    #expect(try copy.image() == image)
  }

  @Test(arguments: [0, LogFormat.headSpacing])
  func oneDamagedHeadOfTwoDoesNoHarm(place: Int) throws {
    for end in stride(from: 64, through: LogFormat.headSize, by: 64) {
      var image = try unclosed()
      for byte in place..<place + end { image.log?[byte] ^= 0x5A }
      let copy = try LoggedStore()
      try image.put(copy)
      try Environment.inspect(path: copy.path, .full)
      let opened = try copy.open()
      defer { opened.close() }
      #expect(try opened.get(try opened.keyspace("rows"), "a") == "3")
    }
  }

  /// The first head was being written, and no record yet.
  @Test func aLogWhoseFirstHeadWasCutOffWasNeverInForce() throws {
    let image = try unclosed()
    let head = try image.head
    var first = head
    first.number = 1
    for end in stride(from: 64, to: LogFormat.headSize, by: 64) {
      var log = [UInt8](repeating: 0, count: LogFormat.sizes[0])
      log.replaceSubrange(first.place..<first.place + end, with: first.bytes[..<end])
      let copy = try LoggedStore()
      try LoggedStore.Image(data: image.data, log: log).put(copy)
      let opened = try copy.open()
      #expect(try opened.get(try opened.keyspace("rows"), "a") == "3")
      opened.close()
      // With a record behind it, it was in force.
      log[LogFormat.recordStart] = 1
      let damaged = LoggedStore.Image(data: image.data, log: log)
      try damaged.put(copy)
      #expect(try storageError { _ = try copy.open() }.kind == .damaged)
      #expect(try copy.image() == damaged)
    }
  }

  /// Without its head a log says nothing: as if it were missing, every page is looked at.
  @Test(arguments: [0, 100, 511])
  func aLogThatWasCutToNothingIsAMissingOne(size: Int) throws {
    var image = try unclosed()
    image.log = image.log.map { Array($0.prefix(size)) }
    let copy = try LoggedStore()
    try image.put(copy)
    let opened = try copy.open()
    #expect(try opened.get(try opened.keyspace("rows"), "a") == "3")
    opened.close()
    // A page that is not in order is found.
    let anchors = [0, 4_096].map { MetaPage(Array(image.data[$0..<$0 + MetaPage.size])) }
    let newest = try #require(anchors.max { $0.transactionID < $1.transactionID })
    image.data[Int(newest.mainTree.root) * 4_096 + 10] = 0x7F
    try image.put(copy)
    #expect(try storageError { _ = try copy.open() }.kind == .damaged)
    #expect(try copy.image() == image)
  }

  /// The files of a store with three commits, as a killed process leaves them.
  private func unclosed() throws -> LoggedStore.Image {
    let store = try LoggedStore()
    let environment = try store.open()
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    return try store.image()
  }
}
