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

  private mutating func inspect(_ path: String) throws {
    var status = stat()
    if stat(path, &status) == 0 {
      details["bytes", default: 0] += Int(status.st_size)
    }
    do {
      try LMDBStore.inspect(at: URL(fileURLWithPath: path), everyPage: true)
      try LMDBStore.inspect(at: URL(fileURLWithPath: path), everyPage: false)
    } catch {
      throw TortureViolation("a valid file was refused: \(error)")
    }
  }
}
