import Strata

/// How far the import of one table has come.
/// Saved together with the rows it speaks of, so that the two always agree.
final class ImportState: ManagedObject {
  static let table = Slot<ImportState, String>("table")
  static let fingerprint = Slot<ImportState, String>("fingerprint")
  static let lastLine = Slot<ImportState, Int64>("lastLine")
  static let rowCount = Slot<ImportState, Int64>("rowCount")
  static let damageCount = Slot<ImportState, Int64>("damageCount")
  static let isFinished = Slot<ImportState, Bool>("isFinished")

  override class var namedSlots: [NamedSlot]? {
    [
      NamedSlot(table), NamedSlot(fingerprint), NamedSlot(lastLine), NamedSlot(rowCount),
      NamedSlot(damageCount), NamedSlot(isFinished),
    ]
  }

  /// The table's name, its key.
  var table: String {
    get { read(ImportState.table) }
    set { write(newValue, ImportState.table) }
  }
  /// Which file the rows come from.
  var fingerprint: String {
    get { read(ImportState.fingerprint) }
    set { write(newValue, ImportState.fingerprint) }
  }
  /// The last line whose row is in the store.
  var lastLine: Int64 {
    get { read(ImportState.lastLine) }
    set { write(newValue, ImportState.lastLine) }
  }
  var rowCount: Int64 {
    get { read(ImportState.rowCount) }
    set { write(newValue, ImportState.rowCount) }
  }
  var damageCount: Int64 {
    get { read(ImportState.damageCount) }
    set { write(newValue, ImportState.damageCount) }
  }
  var isFinished: Bool {
    get { read(ImportState.isFinished) }
    set { write(newValue, ImportState.isFinished) }
  }
}
