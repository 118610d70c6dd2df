import Strata

/// How far the import of one table has come.
/// Saved together with the rows it speaks of, so that the two always agree.
final class ImportState: ManagedObject {
  enum Slot: Int, CodingKey, CaseIterable {
    case table, fingerprint, lastLine, rowCount, damageCount, isFinished
  }

  override class var declaredSlots: [String]? { Slot.allCases.map(\.stringValue) }

  /// The table's name, its key.
  var table: String {
    get { readString(slot: Slot.table.rawValue) ?? "" }
    set { write(newValue, slot: Slot.table.rawValue) }
  }
  /// Which file the rows come from.
  var fingerprint: String {
    get { readString(slot: Slot.fingerprint.rawValue) ?? "" }
    set { write(newValue, slot: Slot.fingerprint.rawValue) }
  }
  /// The last line whose row is in the store.
  var lastLine: Int64 {
    get { readInt64(slot: Slot.lastLine.rawValue) }
    set { write(newValue, slot: Slot.lastLine.rawValue) }
  }
  var rowCount: Int64 {
    get { readInt64(slot: Slot.rowCount.rawValue) }
    set { write(newValue, slot: Slot.rowCount.rawValue) }
  }
  var damageCount: Int64 {
    get { readInt64(slot: Slot.damageCount.rawValue) }
    set { write(newValue, slot: Slot.damageCount.rawValue) }
  }
  var isFinished: Bool {
    get { readBool(slot: Slot.isFinished.rawValue) }
    set { write(newValue, slot: Slot.isFinished.rawValue) }
  }
}
