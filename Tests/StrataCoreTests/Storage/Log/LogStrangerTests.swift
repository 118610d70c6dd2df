import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What another process has left in a log that this one uses, when it was killed between two calls. It is played by a second descriptor.
struct LogStrangerTests {
  /// A call on the log.
  private enum Call: Equatable {
    case cut(Int)
    case head(Int)
    case record(Int)
    case flush
  }

  /// The calls of one commit after `leave` has changed the log.
  private func calls(
    _ durability: Durability, _ leave: (_ log: Int32, LoggedStore, LogHead, _ tail: LogRecord) throws -> Void
  ) throws -> (calls: [Call], tail: Int) {
    let store = try LoggedStore()
    let calls = Mutex<[Call]>([])
    var (tail, found) = (0, [Call]())
    try withExtendedLifetime(store) {
      var options = LoggedStore.options(durability)
      let system = options.fileSystem
      options.fileSystem.write = { descriptor, bytes, offset in
        let call: Call =
          if bytes.count == LogFormat.recordHeader, bytes.prefix(8).allSatisfy({ $0 == 0 }) {
            .cut(offset)
          } else if case .head = LogHead.read(Array(bytes)) {
            .head(offset)
          } else {
            .record(offset)
          }
        calls.withLock { $0.append(call) }
        return system.write(descriptor, bytes, offset)
      }
      options.fileSystem.syncData = { descriptor in
        calls.withLock { $0.append(.flush) }
        return system.syncData(descriptor)
      }
      let environment = try store.open(options)
      defer { environment.close() }
      let rows = try environment.keyspace("rows")
      for number in 1...3 { try environment.put(rows, "a", "\(number)") }
      let image = try store.image()
      let head = try image.head
      let records = try #require(image.log).withUnsafeBytes {
        LogRecord.all($0, generation: head.generation)
      }
      let last = try #require(records.last)
      tail = last.end
      let other = open(store.logPath, O_RDWR | O_CLOEXEC)
      defer { close(other) }
      try leave(other, store, head, last)
      calls.withLock { $0 = [] }
      try environment.put(rows, "a", "4")
      found = calls.withLock { $0 }
      #expect(try environment.get(rows, "a") == "4")
    }
    return (found, tail)
  }

  /// Else a power cut could bring it back in place of the commit that gets its number; after a large commit, with that commit's anchor.
  @Test(arguments: [LogRecord.Kind.changes, .flushed], [Durability.full, .relaxed])
  func aRecordWithoutItsCommitGoesForGoodBeforeTheNextCommit(
    kind: LogRecord.Kind, durability: Durability
  ) throws {
    let (calls, tail) = try calls(durability) { log, store, _, last in
      let header = LogRecord.header(
        kind, last.transactionID + 1, body: UnsafeRawBufferPointer(start: nil, count: 0), chain: last.checksum
      )
      try header.bytes.withUnsafeBytes {
        try FileSystem.system.writeAll(log, $0, at: last.end, path: store.logPath)
      }
    }
    #expect(calls.prefix(3) == [.cut(tail), .flush, .record(tail)])
  }

  /// The process that has cut it may have been killed as well, before the cut was durable: the medium still has the record.
  @Test(arguments: [Durability.full, .relaxed])
  func aCutThatAnotherProcessHasMadeIsFlushedBeforeTheNextCommit(durability: Durability) throws {
    let (calls, tail) = try calls(durability) { log, store, _, last in
      try LogRecord.cut(of: last.transactionID + 1).withUnsafeBytes {
        try FileSystem.system.writeAll(log, $0, at: last.end, path: store.logPath)
      }
    }
    #expect(calls.prefix(3) == [.cut(tail), .flush, .record(tail)])
  }

  @Test func aCommitOfThisProcessCutsNothing() throws {
    let (calls, tail) = try calls(.full) { _, _, _, _ in }
    #expect(calls == [.record(tail), .flush])
  }

  /// Its records take the place of those of the head before, which may be the one that the medium has.
  @Test(arguments: [Durability.full, .relaxed])
  func aHeadThatAnotherProcessHasWrittenIsFlushedBeforeTheNextRecord(durability: Durability) throws {
    var place = 0
    let (calls, _) = try calls(durability) { log, store, head, last in
      let data = try fileBytes(store.path)
      let anchors = [0, MetaPage.systemPageSize].map { Array(data[$0..<$0 + MetaPage.size]) }
      var next = head
      next.number += 1
      next.generation = 4_711
      next.anchor = try #require(anchors.first { MetaPage($0).transactionID == last.transactionID })
      place = next.place
      try next.bytes.withUnsafeBytes {
        try FileSystem.system.writeAll(log, $0, at: place, path: store.logPath)
      }
    }
    let copy = LogFormat.headSpacing - place
    #expect(calls.prefix(4) == [.head(place), .flush, .head(copy), .record(LogFormat.recordStart)])
  }
}
