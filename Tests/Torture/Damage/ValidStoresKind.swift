import CLMDBShim
import Foundation
import StrataCore
import TortureKit

/// Valid files of many shapes, none of which may be refused: a store of random keyspaces is inspected, quickly and in
/// full, after every commit, while views of old states keep pages from being used again.
struct ValidStoresKind: TortureKind {
  static let name = "valid-stores"
  static let cases = "valid files"

  private var random: SeededGenerator
  private let folder: ScratchFolder
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    folder = try ScratchFolder()
  }

  mutating func round() throws -> Int {
    var count = 0
    for store in 0..<4 { count += try oneStore("store \(store)") }
    return count
  }

  private mutating func oneStore(_ name: String) throws -> Int {
    let path = folder(name)
    let store = try RawStore(path)
    let keyLength = random.pick([8, 30, 511])
    let valueLength = random.pick([0, 20, 200, 1500, 5000, 30_000])
    let names = (0...random.below(6)).map { "space \($0)" }
    var pins: [OpaquePointer?] = []
    defer { for pin in pins { store.release(pin) } }
    var count = 0
    for _ in 0..<(20 + random.below(60)) {
      var random = random
      try store.write { transaction in
        let keyspace = try RawStore.keyspace(random.pick(names), 0, transaction)
        switch random.below(10) {
        case 0: try RawStore.delete(transaction, keyspace, share: 100, &random)
        case 1...3: try RawStore.delete(transaction, keyspace, share: random.pick([10, 50, 90, 99]), &random)
        default:
          for _ in 0..<random.below(valueLength > 1000 ? 8 : 70) {
            let value = random.bytes(random.below(valueLength + 1))
            try RawStore.put(transaction, keyspace, random.bytes(1 + random.below(keyLength)), value)
          }
        }
        if random.chance(40) { try leaveOddPages(transaction, keyspace, &random) }
      }
      self.random = random
      if self.random.chance(15) { pins.append(try store.pin()) }
      if self.random.chance(15), let pin = pins.popLast() { store.release(pin) }
      try inspect(path)
      count += 1
    }
    for compacting in [false, true] where random.chance(40) {
      let copy = path + (compacting ? ".compact" : ".copy")
      if try store.copy(to: copy, compacting: compacting) {
        try inspect(copy)
        count += 1
      }
      unlink(copy)
    }
    unlink(path)
    unlink(path + "-lock")
    return count
  }

  /// Values that shrink or go in the transaction that made them: an overflow run longer than its value, pages that were
  /// given out and never written.
  private func leaveOddPages(
    _ transaction: OpaquePointer, _ keyspace: MDB_dbi, _ random: inout SeededGenerator
  ) throws {
    let key = [UInt8](repeating: 0xFF, count: 1 + random.below(3))
    try RawStore.put(transaction, keyspace, key, random.bytes(9_000 + random.below(30_000)))
    if random.chance(50) {
      try RawStore.put(transaction, keyspace, key, random.bytes(5_000))
    } else {
      try RawStore.delete(transaction, keyspace, key)
    }
  }

  private mutating func inspect(_ path: String) throws {
    var status = stat()
    if stat(path, &status) == 0 {
      details["bytes", default: 0] += Int(status.st_size)
      if try isShort(path, Int(status.st_size)) { details["shorter than their last page", default: 0] += 1 }
    }
    do {
      try LMDBStore.inspect(at: URL(fileURLWithPath: path), everyPage: true)
      try LMDBStore.inspect(at: URL(fileURLWithPath: path), everyPage: false)
    } catch {
      throw TortureViolation("a valid file was refused: \(error)")
    }
  }

  /// Whether the newer anchor's last page lies beyond the file's end.
  private func isShort(_ path: String, _ size: Int) throws -> Bool {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    defer { try? file.close() }
    let pageSize = Int(getpagesize())
    guard let head = try file.read(upToCount: pageSize + 152), head.count == pageSize + 152 else {
      return false
    }
    let anchors = [0, pageSize].map { start in
      head.withUnsafeBytes {
        (
          $0.loadUnaligned(fromByteOffset: start + 144, as: UInt64.self),
          $0.loadUnaligned(fromByteOffset: start + 136, as: UInt64.self)
        )
      }
    }
    let lastPage = anchors[0].0 > anchors[1].0 ? anchors[0].1 : anchors[1].1
    return size < (Int(lastPage) + 1) * pageSize
  }
}
