import CLMDBShim
import Foundation
import StrataCore
import TortureKit

/// Files that are damaged in every way we can think of, and files of other programs: each is inspected, opened, read,
/// checked, written and salvaged, or refused and left as it was. A signal or a hang ends the process, which counts.
///
/// The file being tried lies in the round's folder under its number and stays there when the process dies.
struct DamageKind: TortureKind {
  static let name = "damage"
  static let cases = "damaged files"

  /// How many files are made of one store.
  private static let filesPerStore = 200
  /// A file that takes more seconds of the processor's time than this hangs.
  private static let patience = 30

  private var random: SeededGenerator
  private let folder: ScratchFolder
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    folder = try ScratchFolder()
  }

  mutating func round() throws -> Int {
    defer { HangGuard.disarm() }
    HangGuard.arm(seconds: Self.patience)
    let isForeign = random.chance(15)
    let image = isForeign ? try foreignImage() : try DamageModel.image(&random, path: folder("sound"))
    let damaged = DamagedImage(image)
    for number in 0..<Self.filesPerStore {
      HangGuard.arm(seconds: Self.patience)
      var copy = damaged
      let damage = random.pick(Damage.allCases)
      damage.apply(&copy, &random)
      let path = folder("\(number) \(damage.rawValue)")
      try Data(copy.bytes).write(to: URL(fileURLWithPath: path))
      try tryFile(path, copy.bytes, salvages: number % 10 == 0)
      unlink(path)
      unlink(path + "-lock")
    }
    return Self.filesPerStore
  }

  // MARK: One file

  private mutating func tryFile(_ path: String, _ bytes: [UInt8], salvages: Bool) throws {
    let url = URL(fileURLWithPath: path)
    let isWalked = try refuses({ try LMDBStore.inspect(at: url) }) == nil
    _ = try refuses { try LMDBStore.inspect(at: url, everyPage: false) }
    try expectUnchanged(path, bytes, "inspected")
    if salvages { try salvage(url, bytes) }
    if let refusal = try refuses({ try useStore(path) }) {
      count(isWalked ? "refused as a store" : "refused")
      if refusal.kind != .other { try expectUnchanged(path, bytes, "refused: \(refusal)") }
    } else {
      guard isWalked else { throw TortureViolation("\(path) was refused by its walk and opened") }
      count("used")
    }
  }

  /// The error when `body` throws one that a damaged file may cause; others are violations.
  private func refuses(_ body: () throws -> Void) throws -> StorageError? {
    do {
      try body()
      return nil
    } catch let error as StorageError {
      guard !error.detail.isEmpty else { throw TortureViolation("an error without a sentence: \(error)") }
      return error
    } catch let error as CoreDataError {
      return StorageError(.notADatabase, operation: "open", path: "", detail: "\(error)")
    }
  }

  private func expectUnchanged(_ path: String, _ bytes: [UInt8], _ what: String) throws {
    guard try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) == bytes else {
      throw TortureViolation("\(path) was \(what), and changed")
    }
  }

  /// Opens the store, reads everything, checks it, saves, and opens it once more. What is thrown after opening is fine;
  /// only that the file may be changed then.
  private mutating func useStore(_ path: String) throws {
    var opened: OpenDamage? = try OpenDamage(path)
    for pass in 0..<2 {
      guard let store = opened else { break }
      let failure = readAndSave(store)
      if let failure { count(failure) }
      if pass == 0 { count("saved", failure == nil ? 1 : 0) }
      try? store.close()
      opened = pass == 0 ? try? OpenDamage(path) : nil
    }
  }

  private mutating func readAndSave(_ opened: OpenDamage) -> String? {
    var random = random
    defer { self.random = random }
    do {
      var sum = 0
      let check = try opened.store.check()
      if !check.isSound { count("found by the check") }
      try opened.context.performAndWait {
        for name in ["Animal", "Cage"] {
          for object in try opened.context.fetch(FetchRequest<ManagedObject>(entityName: name)) {
            for key in object.entity.attributesByName.keys {
              if let value = object.value(forKey: key) { sum &+= "\(value)".count }
            }
          }
        }
        let sorted = FetchRequest<ManagedObject>(
          entityName: "Animal", predicate: .comparison(key: "name", .greater, .string("n")),
          sortDescriptors: [FetchSort("name"), FetchSort("born", ascending: false)], fetchLimit: 20)
        for (place, object) in try opened.context.fetch(sorted).enumerated() {
          if place % 3 == 0 { opened.context.delete(object) } else { DamageModel.fill(object, &random) }
        }
        for _ in 0..<5 { DamageModel.fill(try DamageModel.insert(opened.context, &random), &random) }
        try opened.context.save()
      }
      return nil
    } catch {
      return "failed while in use"
    }
  }

  private mutating func salvage(_ url: URL, _ bytes: [UInt8]) throws {
    let new = folder.url("salvaged")
    count("salvages tried")
    do {
      let report = try LMDBStore.salvage(from: url, to: new, model: try DamageModel.schema.get().model)
      guard report.check.isSound else {
        throw TortureViolation("a salvaged store is unsound: \(report.check.problems)")
      }
      count("salvaged rows", report.rowCount)
      try LMDBStore.destroy(at: new)
    } catch is StorageError {
      guard !FileManager.default.fileExists(atPath: new.path) else {
        throw TortureViolation("a salvage that failed left a store")
      }
    }
    try expectUnchanged(url.path, bytes, "salvaged")
  }

  private mutating func count(_ what: String, _ number: Int = 1) { details[what, default: 0] += number }

  // MARK: Files of others

  private mutating func foreignImage() throws -> [UInt8] {
    count("files of other programs", Self.filesPerStore)
    if random.chance(30) { return SQLiteImage.make(&random) }
    let path = folder("foreign")
    defer {
      unlink(path)
      unlink(path + "-lock")
    }
    let store = try RawStore(path)
    let flags = [
      0, MDB_DUPSORT, MDB_DUPSORT | MDB_DUPFIXED, MDB_INTEGERKEY, MDB_REVERSEKEY,
      MDB_DUPSORT | MDB_INTEGERDUP | MDB_DUPFIXED,
    ]
    // Names like ours, so that more than the name must be looked at.
    let names: [String?] = ["meta", "rows:Animal", "large", "other"]
    let chosen = flags.map { _ in random.below(names.count) }
    for _ in 0..<(1 + random.below(4)) {
      var random = random
      try store.write { transaction in
        for (place, flag) in flags.enumerated() where random.chance(60) {
          let name = names[chosen[place]].map { place == 0 ? $0 : "\($0)\(place)" }
          let keyspace = try RawStore.keyspace(name, flag, transaction)
          let isFixed = flag & (MDB_DUPFIXED | MDB_INTEGERDUP) != 0
          for _ in 0..<random.below(80) {
            let key = flag & MDB_INTEGERKEY != 0 ? random.bytes(8) : random.bytes(1 + random.below(30))
            let limit = flag & MDB_DUPSORT != 0 ? 200 : 3000
            try RawStore.put(transaction, keyspace, key, random.bytes(isFixed ? 8 : random.below(limit) + 1))
            // Many values of one key: a tree of its own.
            for _ in 0..<(flag & MDB_DUPSORT != 0 ? random.below(20) : 0) {
              try RawStore.put(
                transaction, keyspace, key, random.bytes(isFixed ? 8 : random.below(limit) + 1))
            }
          }
        }
      }
      self.random = random
    }
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }
}

/// The beginning of an SQLite database, made by hand after its documented format: a header, a table of tables with
/// one row, an empty table.
enum SQLiteImage {
  static func make(_ random: inout SeededGenerator) -> [UInt8] {
    let pageSize = 4096
    var bytes = [UInt8](repeating: 0, count: pageSize * (2 + random.below(3)))
    let header = Array("SQLite format 3\0".utf8) + [0x10, 0x00, 1, 1, 0, 64, 32, 32]
    bytes.replaceSubrange(0..<header.count, with: header)
    func set32(_ offset: Int, _ number: UInt32) {
      for place in 0..<4 {
        bytes[offset + place] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * place))
      }
    }
    set32(24, 1)
    set32(28, UInt32(bytes.count / pageSize))
    set32(40, 1)
    set32(44, 4)
    set32(56, 1)
    set32(92, 1)
    set32(96, 3_040_001)
    let sql = "CREATE TABLE animals(name TEXT)"
    let words = ["table", "animals", "animals"]
    var record = words.map { UInt8(13 + 2 * $0.utf8.count) } + [1, UInt8(13 + 2 * sql.utf8.count)]
    record.insert(UInt8(record.count + 1), at: 0)
    record += words.joined().utf8
    record += [2] + Array(sql.utf8)
    let cell = [UInt8(record.count), 1] + record
    let start = pageSize - cell.count
    bytes.replaceSubrange(start..<pageSize, with: cell)
    bytes.replaceSubrange(
      100..<110,
      with: [13, 0, 0, 0, 1, UInt8(start >> 8), UInt8(start & 255), 0, UInt8(start >> 8), UInt8(start & 255)])
    for page in 1..<(bytes.count / pageSize) {
      bytes[page * pageSize] = 13; bytes[page * pageSize + 5] = 0x10
    }
    return bytes
  }
}
