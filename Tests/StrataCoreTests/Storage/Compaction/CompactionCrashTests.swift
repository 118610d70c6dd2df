import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// The power fails while the free list is exchanged: what was written since the last flush may be on the medium or not, in any combination, and a sector that is
/// being written may be torn.
@Suite("A compaction and a power cut")
struct CompactionCrashTests {
  /// What the two files of a store may be on the medium.
  final class Medium: Sendable {
    struct Write {
      let isLog: Bool
      let offset: Int
      /// Nil for the end of the file.
      let bytes: [UInt8]?
    }
    struct State {
      /// What is on the medium for certain.
      var base: [[UInt8]]
      /// What may be, in the order in which it was written.
      var pending: [Write] = []
    }
    private struct Record {
      var isArmed = false
      var state = State(base: [[], []])
      var moments: [State] = []
    }
    private let path: String
    private let record = Mutex(Record())

    init(_ path: String) { self.path = path }

    /// From now on every call counts. All that the files hold is on the medium.
    func arm() throws {
      let base = try [path, path + "-log"].map {
        FileManager.default.fileExists(atPath: $0) ? try fileBytes($0) : []
      }
      record.withLock { $0 = Record(isArmed: true, state: State(base: base), moments: []) }
    }

    /// What was on its way to the medium at each moment.
    func disarm() -> [State] {
      record.withLock { record in
        record.isArmed = false
        return record.moments
      }
    }

    /// Whether a descriptor stands for the log; nil when it does for neither file.
    private func isLog(_ descriptor: Int32) -> Bool? {
      func identity(_ path: String) -> FileSystem.Identity? {
        try? FileSystem.system.status(path).get().identity
      }
      guard let own = try? FileSystem.system.statusOfDescriptor(descriptor).get().identity else { return nil }
      return own == identity(path) ? false : own == identity(path + "-log") ? true : nil
    }

    private func note(_ descriptor: Int32, _ offset: Int, _ bytes: [UInt8]?) {
      guard let isLog = isLog(descriptor) else { return }
      record.withLock { record in
        guard record.isArmed else { return }
        record.state.pending.append(Write(isLog: isLog, offset: offset, bytes: bytes))
        record.moments.append(record.state)
      }
    }

    private func noteFlush(isLog: Bool) {
      record.withLock { record in
        guard record.isArmed else { return }
        for write in record.state.pending where write.isLog == isLog {
          Self.apply(write, to: &record.state.base[isLog ? 1 : 0])
        }
        record.state.pending.removeAll { $0.isLog == isLog }
      }
    }

    static func apply(_ write: Write, to file: inout [UInt8]) {
      let end = write.offset + (write.bytes?.count ?? 0)
      if write.bytes == nil, file.count > end { file.removeSubrange(end...) }
      if file.count < end { file += [UInt8](repeating: 0, count: end - file.count) }
      file.replaceSubrange(write.offset..<end, with: write.bytes ?? [])
    }

    var fileSystem: FileSystem {
      var system = FileSystem.system
      system.write = { [self, write = system.write] descriptor, bytes, offset in
        let count = write(descriptor, bytes, offset)
        if count > 0 { note(descriptor, offset, Array(bytes.prefix(count))) }
        return count
      }
      system.truncate = { [self, truncate = system.truncate] descriptor, size in
        let code = truncate(descriptor, size)
        if code == 0 { note(descriptor, size, nil) }
        return code
      }
      system.syncStore = { [self, syncStore = system.syncStore] environment in
        let code = syncStore(environment)
        if code == 0 { noteFlush(isLog: false) }
        return code
      }
      let flush = { @Sendable [self] (sync: @Sendable (Int32) -> Int32, descriptor: Int32) -> Int32 in
        let code = sync(descriptor)
        if code == 0, let isLog = isLog(descriptor) { noteFlush(isLog: isLog) }
        return code
      }
      system.sync = { [sync = system.sync] in flush(sync, $0) }
      system.syncData = { [sync = system.syncData] in flush(sync, $0) }
      return system
    }
  }

  /// What the files may be: some of the writes, one of them perhaps torn.
  private func images(_ state: Medium.State, _ random: inout SeededGenerator) -> [[[UInt8]]] {
    let count = state.pending.count
    var choices: [[Bool]] = [[Bool](repeating: true, count: count), [Bool](repeating: false, count: count)]
    for place in 0..<count {
      choices.append((0..<count).map { $0 == place })
      choices.append((0..<count).map { $0 != place })
    }
    for _ in 0..<4 { choices.append((0..<count).map { _ in Bool.random(using: &random) }) }
    var images: [[[UInt8]]] = []
    for choice in choices {
      for tornPlace in [-1] + choice.indices.filter({ choice[$0] }).shuffled(using: &random).prefix(3) {
        var files = state.base
        for (place, write) in state.pending.enumerated() where choice[place] {
          var write = write
          if place == tornPlace { write = torn(write, files[write.isLog ? 1 : 0], &random) }
          Medium.apply(write, to: &files[write.isLog ? 1 : 0])
        }
        images.append(files)
      }
    }
    return images
  }

  /// What is left of a write that the power cut has met.
  private func torn(_ write: Medium.Write, _ file: [UInt8], _ random: inout SeededGenerator) -> Medium.Write {
    guard let bytes = write.bytes else { return write }
    var torn = bytes
    if !write.isLog && write.offset < 2 * 4_096 {
      // An anchor has no checksum, as LMDB has none: words of it are new from the beginning on, the others are old. Its number comes last.
      let done = Int.random(in: 0..<bytes.count / 8, using: &random) * 8
      for place in done..<bytes.count where write.offset + place < file.count {
        torn[place] = file[write.offset + place]
      }
    } else {
      for place in 0..<min(512, bytes.count) { torn[place] = UInt8.random(in: 0...255, using: &random) }
    }
    return Medium.Write(isLog: write.isLog, offset: write.offset, bytes: torn)
  }

  @Test(
    "the last save is there, and the store whole, whatever of it has reached the medium",
    arguments: [false, true])
  func everyMoment(keepsLog: Bool) throws {
    var random = SeededGenerator(seed: testSeed())
    let directory = try ScratchDirectory()
    let path = directory("Cut.strata")
    let medium = Medium(path)
    var options = EnvironmentOptions.compacted(keepsLog: keepsLog)
    options.fileSystem = medium.fileSystem
    let environment = try Environment.open(path: path, options: options)
    let left = try CompactedStore.fill(environment, count: 300, keeping: 20)
    let other = try environment.keyspace("other")
    // The free list is written from the front on, so that something can be cut off.
    _ = try environment.compact(slack: 0)
    try environment.write { transaction in
      for number in 0..<100 { try transaction.put(other, "more \(number)", CompactedStore.value(number)) }
    }
    try environment.write { transaction in
      for number in 0..<100 {
        _ = try "more \(number)".bytes { try transaction.delete(other, $0) }
      }
    }
    var cuts = 0
    for save in 0..<4 {
      // What the commit before the newest one does not have.
      try environment.put(other, "last", "save \(save)")
      try environment.flush()
      try medium.arm()
      let pages = try environment.settleFreePages()
      let moments = medium.disarm()
      #expect(!pages.usable.isEmpty)
      if moments.contains(where: { $0.pending.contains { $0.bytes == nil } }) { cuts += 1 }
      try requireAll(moments, left, "save \(save)", directory, keepsLog: keepsLog, &random)
    }
    #expect(cuts > 0, "the file is cut off")
    environment.close()
  }

  private func requireAll(
    _ moments: [Medium.State], _ left: [Int], _ last: String, _ directory: ScratchDirectory, keepsLog: Bool,
    _ random: inout SeededGenerator
  ) throws {
    var seen: Set<[[UInt8]]> = []
    for (number, moment) in moments.enumerated() {
      for files in images(moment, &random) where seen.insert(files).inserted {
        let image = directory("Image \(UUID().uuidString).strata")
        try Data(files[0]).write(to: URL(fileURLWithPath: image))
        if !files[1].isEmpty { try Data(files[1]).write(to: URL(fileURLWithPath: image + "-log")) }
        do {
          let again = try Environment.open(path: image, options: .compacted(keepsLog: keepsLog))
          defer { again.close() }
          #expect(try again.get(again.keyspace("other"), "last") == last, "call \(number)")
          try CompactedStore.require(left, in: again)
          try again.requireSound()
          try again.put(again.keyspace("other"), "after", "cut")
          _ = try again.settleFreePages()
          try CompactedStore.require(left, in: again)
          try again.requireSound()
        } catch {
          Issue.record("call \(number) of \(moments.count), \(moment.pending.count) pending: \(error)")
        }
        for suffix in ["", "-log", "-lock"] { try? FileManager.default.removeItem(atPath: image + suffix) }
      }
    }
    print("\(moments.count) calls, \(seen.count) states of the medium")
  }
}
