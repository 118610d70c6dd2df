import Strata

/// An object that writes down which hooks were called, and does in them what a test asks for.
final class Diary: ManagedObject {
  override class var declaredSlots: [String]? { ["title", "pages", "remark", "tide"] }

  /// The hooks called so far, in order.
  private(set) var calls: [String] = []
  /// The arguments of `awake(fromSnapshotEvents:)`.
  private(set) var snapshotEvents: [SnapshotEventType] = []
  /// What the object looked like when `awakeFromInsert()` was called.
  private(set) var titleAtBirth: String?
  /// `isDeleted` when `willSave()` was last called.
  private(set) var wasDeletedAtWillSave = false

  var onAwakeFromFetch: (Diary) -> Void = { _ in }
  var onPrepareForDeletion: (Diary) -> Void = { _ in }
  var onWillSave: (Diary) -> Void = { _ in }
  var onDidSave: (Diary) -> Void = { _ in }
  var onValidate: (Diary) throws -> Void = { _ in }

  var title: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var pages: Int64 {
    get { readInt64(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var remark: String? {
    get { readString(slot: 2) }
    set { write(newValue, slot: 2) }
  }
  /// Transient, “low” by default.
  var tide: String? {
    get { readString(slot: 3) }
    set { write(newValue, slot: 3) }
  }

  /// How often the hook was called.
  func count(of hook: String) -> Int { calls.count { $0 == hook } }

  /// The calls so far; forgets them.
  func takeCalls() -> [String] {
    defer { calls = [] }
    return calls
  }

  override func awakeFromInsert() {
    super.awakeFromInsert()
    calls.append("awakeFromInsert")
    titleAtBirth = title
  }
  override func awakeFromFetch() {
    super.awakeFromFetch()
    calls.append("awakeFromFetch")
    onAwakeFromFetch(self)
  }
  override func awake(fromSnapshotEvents flags: SnapshotEventType) {
    super.awake(fromSnapshotEvents: flags)
    calls.append("awakeFromSnapshotEvents")
    snapshotEvents.append(flags)
  }
  override func prepareForDeletion() {
    super.prepareForDeletion()
    calls.append("prepareForDeletion")
    onPrepareForDeletion(self)
  }
  override func willSave() {
    super.willSave()
    calls.append("willSave")
    wasDeletedAtWillSave = isDeleted
    onWillSave(self)
  }
  override func didSave() {
    super.didSave()
    calls.append("didSave")
    onDidSave(self)
  }
  override func willTurnIntoFault() {
    super.willTurnIntoFault()
    calls.append("willTurnIntoFault")
  }
  override func didTurnIntoFault() {
    super.didTurnIntoFault()
    calls.append("didTurnIntoFault")
  }
  override func validateForInsert() throws {
    calls.append("validateForInsert")
    try super.validateForInsert()
    try onValidate(self)
  }
  override func validateForUpdate() throws {
    calls.append("validateForUpdate")
    try super.validateForUpdate()
    try onValidate(self)
  }
  override func validateForDelete() throws {
    calls.append("validateForDelete")
    try super.validateForDelete()
    try onValidate(self)
  }
}
