import TortureKit

/// What a program had been promised at one point of a record, from its marks.
struct Promises {
  /// What a mark says. Its value holds a writer and a save, or the number of a backup.
  enum Mark: UInt32 {
    case opened = 1
    case begun, acknowledged, backupBegun, backupDone, closed, flushed

    func note(writer: Int = 0, _ number: Int = 0) {
      DiskRecord.mark(rawValue, UInt64(writer) << 32 | UInt64(number))
    }
  }

  struct Backup {
    let acknowledged: [Int: Int]
    var begun: [Int: Int]?
  }

  /// How many of each writer's last saves may be undone although they were acknowledged.
  let undoable: Int
  private(set) var isOpened = false
  /// By writer, the last save that returned, and the last that was begun.
  private(set) var acknowledged: [Int: Int] = [:]
  private(set) var begun: [Int: Int] = [:]
  /// What was acknowledged when the store was last closed or flushed: that cannot be undone.
  private var closedWith: [Int: Int] = [:]
  private(set) var backups: [Int: Backup] = [:]

  init(undoable: Int) { self.undoable = undoable }

  mutating func take(kind: UInt32, value: UInt64) throws {
    let (writer, number) = (Int(value >> 32), Int(value & 0xFFFF_FFFF))
    switch Mark(rawValue: kind) {
    case .opened: isOpened = true
    case .begun: begun[writer] = number
    case .acknowledged: acknowledged[writer] = number
    case .backupBegun: backups[number] = Backup(acknowledged: acknowledged)
    case .backupDone: backups[number]?.begun = begun
    case .closed, .flushed: closedWith = acknowledged
    case nil: throw TortureViolation("an unknown mark \(kind)")
    }
  }

  /// Why the store must not be in `state`, or nil; a nil state means that there is no store.
  func objection(to state: LedgerState?) -> String? {
    guard let state else { return isOpened ? "the store is gone" : nil }
    let least = acknowledged.map { ($0, max($1 - undoable, closedWith[$0] ?? 0)) }
    return objection(to: state, from: Dictionary(uniqueKeysWithValues: least), to: begun)
  }

  /// The same for backup `number`.
  func objection(toBackup number: Int, _ state: LedgerState?) -> String? {
    guard let backup = backups[number] else { return state == nil ? nil : "backup \(number) was never begun" }
    guard let state else { return backup.begun == nil ? nil : "backup \(number) is gone" }
    return objection(to: state, from: backup.acknowledged, to: backup.begun ?? begun)
      .map { "backup \(number): \($0)" }
  }

  private func objection(to state: LedgerState, from low: [Int: Int], to high: [Int: Int]) -> String? {
    for writer in Set(state.lastSaves.keys).union(low.keys) {
      let found = state.lastSaves[writer] ?? 0
      let (least, most) = (low[writer] ?? 0, high[writer] ?? 0)
      if found < least || found > most {
        return "writer \(writer) has save \(found), promised are \(least) to \(most)"
      }
    }
    return nil
  }
}
