import StrataCore

/// An instance that a context keeps, and its row.
struct HeldInstance {
  var model: AnyObject
  let row: ModelRow

  /// Whether nothing else holds the instance.
  ///
  /// Asked with an `AnyObject`, `isKnownUniquelyReferenced` says no in debug builds, and wherever there has been a weak reference. Asked with a Swift class it knows.
  var isHeldHereOnly: Bool {
    mutating get {
      // The reference is one pointer whatever the class is, models are Swift's classes, and only the count is looked at.
      withUnsafeMutablePointer(to: &model) { pointer in
        pointer.withMemoryRebound(to: Counted.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
      }
    }
  }

  private final class Counted {}
}

/// The instances that a context keeps, so that what they have beside their rows is there when somebody looks at them again: `@Transient` values, closures, observers.
///
///     an unsaved change ──▶ unsaved       until it is saved or given up
///     a relationship ─────▶ companions    while the owner is held, of classes whose instances have something beside their rows
///
/// The context holds them, and not their rows: so no instance and row hold each other.
struct HeldInstances {
  static let fewest = 64

  /// Of rows with unsaved changes.
  var unsaved: [HeldInstance] = []
  /// Of rows that relationships have led to, or were given.
  var companions: [HeldInstance] = []
  /// How many companions there are before it is looked for those that can go.
  var limit = fewest
  /// How many of rows with unsaved changes there are before it is looked for rows that have left.
  var unsavedLimit = fewest
  /// How many were let go of since the companions were looked through: so many of them may be looked at.
  var credit = 0
  /// The context has gone: nobody would let go of instances any more.
  var isOver = false
}

extension RowContext {
  // MARK: Unsaved changes

  /// Keeps instances from the first unsaved change of their rows on.
  func keepChanged() {
    whenChanged { [unowned self] object in
      // Whoever let go of the last reference to an instance here would run its `deinit` in the middle of the change: so it is taken whenever it is looked up.
      guard !held.isOver, let row = object as? ModelRow, !row._isPinned, let model = row.knownModel else {
        return
      }
      keep(unsaved: model, of: row)
    }
  }

  /// Keeps an instance whose row has unsaved changes.
  func keep(unsaved model: AnyObject, of row: ModelRow) {
    if row._isPinned || held.isOver { return }
    row._isPinned = true
    held.unsaved.append(HeldInstance(model: model, row: row))
  }

  /// Lets go of the instances whose changes are saved or gone. A load where there are none.
  @inline(__always)
  func letGoSettled() { if !held.unsaved.isEmpty { letGo(ofUnsavedToo: !hasChanges) } }

  /// The same when the context has no changes, or when there are so many that some rows may have left.
  @inline(__always)
  func letGoIfSettled() {
    if held.unsaved.isEmpty { return }
    let isSettled = !hasChanges
    if isSettled || held.unsaved.count >= held.unsavedLimit { letGo(ofUnsavedToo: isSettled) }
  }

  /// The unsaved changes are about to be given up.
  func letGoUnsaved() { if !held.unsaved.isEmpty { letGo(ofUnsavedToo: true) } }

  @inline(never)
  private func letGo(ofUnsavedToo isAll: Bool) {
    held.credit += max(HeldInstances.fewest, held.unsaved.count)
    release(unsavedToo: isAll)
    held.unsavedLimit = max(HeldInstances.fewest, held.unsaved.count * 2)
    // Not at each save: one edit would cost as much as there are companions.
    if held.credit >= held.companions.count { letGoCompanions() }
  }

  // Not inlined: the instances go when this returns.
  @inline(never)
  private func release(unsavedToo isAll: Bool) {
    let former = held.unsaved
    held.unsaved = []
    var kept: [HeldInstance] = []
    for entry in former {
      let context = entry.row.contextUnobserved
      if !isAll, context === self, entry.row.isUnsaved {
        kept.append(entry)
      } else if context == nil || context === self {
        entry.row._isPinned = false
      }
    }
    held.unsaved = kept
  }

  /// The model context has gone: lets go of all.
  func letGoOfAll() {
    held.isOver = true
    release(unsavedToo: true)
    releaseCompanions { _ in true }
  }

  // MARK: Companions

  /// Keeps an instance that a relationship leads to, as long as the context keeps its row for the owner.
  func keep(companion model: AnyObject, of row: ModelRow) {
    if row._isCompanion || held.isOver { return }
    row._isCompanion = true
    held.companions.append(HeldInstance(model: model, row: row))
    if held.companions.count >= held.limit { letGoCompanions() }
  }

  /// Lets go of companions that nobody else holds and whose rows no owner keeps.
  private func letGoCompanions() {
    held.credit = 0
    if held.companions.isEmpty { return }
    var places: [Int] = []
    var rows: [ManagedObject] = []
    for place in held.companions.indices {
      guard held.companions[place].isHeldHereOnly else { continue }
      places.append(place)
      rows.append(held.companions[place].row)
    }
    var gone: Set<Int> = []
    for (place, isKept) in zip(places, keepsWithoutCaller(rows)) where !isKept { gone.insert(place) }
    releaseCompanions(gone.contains)
    held.limit = max(HeldInstances.fewest, held.companions.count * 2)
  }

  /// Lets go of the companions in these places, and of those whose rows are here no more or have another instance.
  // Not inlined: the instances go when this returns.
  @inline(never)
  private func releaseCompanions(_ isGone: (Int) -> Bool) {
    let former = held.companions
    held.companions = []
    var kept: [HeldInstance] = []
    for (place, entry) in former.enumerated() {
      let context = entry.row.contextUnobserved
      if !isGone(place), context === self, entry.row.knownModel === entry.model {
        kept.append(entry)
      } else if context == nil || context === self {
        entry.row._isCompanion = false
      }
    }
    held.companions = kept
  }
}

extension ModelRow {
  /// The instance is known, and the row has unsaved changes.
  @inline(never)
  final func keepUnsaved(_ model: AnyObject) {
    (contextUnobserved as? RowContext)?.keep(unsaved: model, of: self)
  }

  /// The instance of the row, made when there is none, which a relationship leads to.
  @inline(__always)
  final func relatedModel() -> AnyObject {
    let model = anyModel()
    if !_isCompanion { accompany(as: model) }
    return model
  }

  @inline(never)
  private final func accompany(as model: AnyObject) {
    guard _hasOwnState || withPlan({ $0.hasOwnState(model) }) else { return }
    (contextUnobserved as? RowContext)?.keep(companion: model, of: self)
  }

  /// The row has become an end of a relationship.
  private final func becomeCompanion() {
    if _isCompanion || (!_hasOwnState && withPlan({ $0.instancesHaveState }) == false) { return }
    if let model = knownModel { accompany(as: model) }
  }

  /// A to-one relationship leads to this row from now on.
  final func accompany(_ end: ModelRow?) {
    becomeCompanion()
    end?.becomeCompanion()
  }

  /// These rows are the members of a to-many relationship from now on.
  final func accompany(_ members: [ModelRow], _ property: ModelProperty) {
    becomeCompanion()
    var hasCompanions = false
    for member in members {
      member.becomeCompanion()
      if member._isCompanion { hasCompanions = true }
    }
    // Whoever was asked for its members holds them.
    if hasCompanions { _ = relatedObjects(slot: property.slot) }
  }
}

extension ModelPlan {
  /// Whether an instance of the class has something beside what its row has. Looks at the first that it is asked about.
  func hasOwnState(_ model: AnyObject) -> Bool {
    if let instancesHaveState { return instancesHaveState }
    // A mirror of the program's own may show less, and may read relationships, for which this would be asked again.
    let found = model is any CustomReflectable || Self.storesMore(model, descriptor)
    instancesHaveState = found
    return found
  }

  /// Whether an instance stores more than `@Model` has written, which is `_$row` and the like, and `_name` for a persisted property `name`.
  private static func storesMore(_ model: AnyObject, _ descriptor: ModelDescriptor) -> Bool {
    let written = Set(descriptor.properties.map { "_" + $0.name })
    var mirror: Mirror? = Mirror(reflecting: model)
    while let part = mirror {
      for child in part.children {
        guard let name = child.label, name.hasPrefix("_$") || written.contains(name) else { return true }
      }
      mirror = part.superclassMirror
    }
    return false
  }
}
