import Foundation
import StoreInterposer
import Strata
import StrataCore
import TortureKit

/// What was committed when, and what must be there after a power cut, from the marks of a record.
///
/// Each attempt to commit has a number of its own, so that a commit that failed is told from the one that was made instead of it.
struct LogPromises {
  enum Mark: UInt32 {
    case opened = 1
    case begun, acknowledged, failed, undecided, flushed

    func note(_ attempt: Int = 0) { DiskRecord.mark(rawValue, UInt64(attempt)) }
  }

  let durability: Durability
  private(set) var isOpened = false
  /// The attempts of which the last ones may be undone, in order; the first one is certain.
  private(set) var chain = [0]
  /// The one of which nothing is known.
  private var open: Int?

  init(_ durability: Durability) { self.durability = durability }

  mutating func take(kind: UInt32, value: UInt64) throws {
    let attempt = Int(value)
    switch Mark(rawValue: kind) {
    case .opened: isOpened = true
    case .begun: open = attempt
    case .acknowledged:
      open = nil
      chain = durability == .full ? [attempt] : chain + [attempt]
    case .failed: open = nil
    case .undecided:
      open = nil
      chain.append(attempt)
    case .flushed: chain.removeFirst(chain.count - 1)
    case nil: throw TortureViolation("an unknown mark \(kind)")
    }
  }

  /// Why attempt `found` must not be the last one in the store, or nil.
  func objection(to found: Int?) -> String? {
    guard let found else { return isOpened ? "the store is gone" : nil }
    if chain.contains(found) || found == open { return nil }
    let undecided = open.map { ", or \($0)" } ?? ""
    return "the last commit is \(found); allowed are \(chain.suffix(12))\(undecided)"
  }
}

/// What goes on when the power fails: small commits in random keyspaces, large ones, flushes, closing and opening again, and calls that fail.
struct LogStory {
  static let keyspaces = ["edges", "journal", "rows"]
  /// Where each commit notes its number.
  static let attemptKey = Array("attempt".utf8)

  let path: String
  let settings: LogProbe.Settings
  private var random: SeededGenerator
  /// By attempt, what the store has after it.
  private(set) var states: [Int: LogProbe.Contents] = [0: [[:], [:], [:]]]
  private var last = 0
  private var attempts = 0
  private(set) var failures = 0
  private let hasLargeCommits: Bool

  init(path: String, settings: LogProbe.Settings, seed: UInt64) {
    self.path = path
    self.settings = settings
    random = SeededGenerator(seed: seed)
    hasLargeCommits = random.chance(12)
  }

  mutating func tell() throws {
    for _ in 0...random.below(3) {
      let store = try LogProbe(path, keyspaces: Self.keyspaces, settings)
      LogPromises.Mark.opened.note()
      for _ in 0..<6 + random.below(14) {
        // What has failed need not be made good by a further commit.
        if try !commit(store), random.chance(33) { break }
        if random.chance(8), try !flush(store), random.chance(33) { break }
        if random.chance(4) { rest(store) }
        if random.chance(5) { try compact(store) }
      }
      if random.chance(12) { fault().arm(1 + random.below(4)) }
      store.close()
      // One that failed leaves the log, which has every record.
      if Fault.heal() == 0 { LogPromises.Mark.flushed.note() }
    }
  }

  /// Flushes the store, and now and then a call fails; false then.
  private mutating func flush(_ store: LogProbe) throws -> Bool {
    if random.chance(33) { fault().arm(1 + random.below(3)) }
    do {
      try store.flush()
      _ = Fault.heal()
      LogPromises.Mark.flushed.note()
      return true
    } catch {
      guard Fault.heal() > 0 else { throw error }
      return false
    }
  }

  /// The file gets shorter, and now and then a call fails. Whatever happens, the store has what it had.
  private mutating func compact(_ store: LogProbe) throws {
    if random.chance(33) {
      let function = random.pick([Fault.Function.pwrite, .fdatasync, .ftruncate])
      Fault(function: function, code: EIO, manner: .once).arm(1 + random.below(8))
    }
    do {
      try store.compact()
      _ = Fault.heal()
    } catch {
      guard Fault.heal() > 0 else { throw error }
    }
    let found = try Self.lastAttempt(try store.contents())
    guard found == last else {
      throw TortureViolation("after a compaction the store has attempt \(found), not \(last)")
    }
  }

  /// A quiet moment, in which a call may fail.
  private mutating func rest(_ store: LogProbe) {
    if random.chance(50) { fault().arm(1 + random.below(3)) }
    store.rest()
    _ = Fault.heal()
  }

  /// Commits something; false when that failed.
  private mutating func commit(_ store: LogProbe) throws -> Bool {
    attempts += 1
    let attempt = attempts
    let isLarge = random.chance(8) && hasLargeCommits
    let changes = change(attempt, isLarge)
    LogPromises.Mark.begun.note(attempt)
    if isLarge && random.chance(40) {
      // Its own flush, the one of its record, or those of a checkpoint before it.
      Fault(function: .fdatasync, code: EIO, manner: .once).arm(1 + random.below(4))
    } else if random.chance(12) {
      fault().arm(1 + random.below(4))
    }
    do {
      try store.commit(changes, here: random.chance(50))
      _ = Fault.heal()
    } catch {
      guard Fault.heal() > 0 else { throw error }
      failures += 1
      // What is seen is what counts. A store that must be recovered is, by the next write.
      let found = try Self.lastAttempt(try store.contents())
      guard found == attempt || found == last else {
        throw TortureViolation(
          "after attempt \(attempt) failed the store has \(found), not \(last): \(error)")
      }
      if found != attempt {
        if (error as? StorageError)?.isOutcomeUnknown == true {
          throw TortureViolation("the outcome of attempt \(attempt) can be seen: \(error)")
        }
        LogPromises.Mark.failed.note(attempt)
        return false
      }
      LogPromises.Mark.undecided.note(attempt)
      last = attempt
      return false
    }
    last = attempt
    LogPromises.Mark.acknowledged.note(attempt)
    return true
  }

  private mutating func fault() -> Fault {
    let function = random.pick([Fault.Function.pwrite, .pwrite, .writev, .fdatasync])
    let code = function == .fdatasync ? EIO : random.pick([EIO, ENOSPC, 0])
    return Fault(function: function, code: code, manner: .once)
  }

  /// Random changes, and what the store has after them.
  private mutating func change(_ attempt: Int, _ isLarge: Bool) -> [LogProbe.Change] {
    let changes = Self.changes(attempt, isLarge: isLarge, &random)
    var contents = states[last] ?? []
    for change in changes { Self.carryOut(change, &contents) }
    states[attempt] = contents
    return changes
  }

  /// The random changes of an attempt.
  static func changes(
    _ attempt: Int, isLarge: Bool, _ random: inout SeededGenerator
  ) -> [LogProbe.Change] {
    var changes = [
      LogProbe.Change.put(keyspace: 1, key: Self.attemptKey, value: Array("\(attempt)".utf8))
    ]
    for _ in 0..<random.below(5) {
      let keyspace = random.pick([0, 2])
      let key = Array("key \(random.below(60))".utf8)
      switch random.below(16) {
      case 0: changes.append(.clear(keyspace: keyspace))
      case 1...4: changes.append(.delete(keyspace: keyspace, key: key))
      default:
        let size = random.pick([0, 9, 60, 200, 700, 1_900, 9_000])
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: attempt), count: size)
        changes.append(.put(keyspace: keyspace, key: key, value: value))
      }
    }
    if isLarge {
      let value = [UInt8](repeating: UInt8(truncatingIfNeeded: attempt), count: 1_100_000)
      changes.append(.put(keyspace: 2, key: Array("bulk".utf8), value: value))
    }
    return changes
  }

  /// What a change makes of the contents.
  static func carryOut(_ change: LogProbe.Change, _ contents: inout LogProbe.Contents) {
    switch change {
    case .put(let keyspace, let key, let value): contents[keyspace][key] = value
    case .delete(let keyspace, let key): contents[keyspace][key] = nil
    case .clear(let keyspace): contents[keyspace] = [:]
    }
  }

  static func lastAttempt(_ contents: LogProbe.Contents) throws -> Int {
    guard let bytes = contents[1][attemptKey] else { return 0 }
    guard let number = Int(String(decoding: bytes, as: UTF8.self)) else {
      throw TortureViolation("the number of the last commit is “\(String(decoding: bytes, as: UTF8.self))”")
    }
    return number
  }
}
