import StrataCore

/// The context of Strata in which a model context keeps its rows.
final class RowContext: ManagedObjectContext, @unchecked Sendable {
  // @unchecked Sendable: as its superclass. What is here is used where the context is.

  /// The context that programs see; nil when it has gone.
  @exclusivity(unchecked) final weak var modelContext: ModelContext?
  /// The instances that it keeps.
  @exclusivity(unchecked) var held = HeldInstances()
  /// Whether a job of the main queue is on its way that ends the turn.
  @exclusivity(unchecked) final var isTurnEndScheduled = false
  private var plans: [ObjectIdentifier: ModelPlan] = [:]
  /// The one that was asked for last, and the class of rows it is of: most objects have one of their class before them.
  @exclusivity(unchecked) private var lastClass: ObjectIdentifier?
  @exclusivity(unchecked) private var lastPlan: ModelPlan?
  /// The model that was inserted last, and the class of its rows: to look that up takes longer than to make the row.
  @exclusivity(unchecked) private var lastModel: ObjectIdentifier?
  @exclusivity(unchecked) private var lastRowClass: ModelRow.Type?

  /// Follows from now on which new rows become others, as they have the same unique values, and which make way for others.
  func followDuplicates() {
    follow(
      duplicates: DuplicateFollower(
        makesWay: { ($0 as? ModelRow)?.keepTargets() }, merged: { Self.show(merged: $0) }))
  }

  /// What undo and redo change is saved by itself, as every other change is. Models that they take out can be asked for what they led to, as those that a program deletes.
  func followTakenBack() {
    whenTakenBack { [unowned self] in modelContext?.noteChange() }
    beforeTakingOut { [unowned self] objects in
      // Drafts that wait come in when undo is over: members are asked for, which has them inserted.
      let waiting = modelContext?.expected ?? []
      modelContext?.expected = []
      defer { modelContext?.expected = waiting }
      ModelRow.keepRelationships(of: objects.filter(\.isInserted))
      for object in objects where !object.isInserted { (object as? ModelRow)?.keepTargets() }
    }
  }

  /// A save is done: instances of rows that were merged into others show those.
  private static func show(merged: [MergedObject]) {
    // What has taken over a row may have been merged as well, later.
    var last: [ObjectIdentifier: ModelRow] = [:]
    for pair in merged.reversed() {
      guard let duplicate = pair.duplicate as? ModelRow, var kept = pair.kept as? ModelRow else { continue }
      if let later = last[ObjectIdentifier(kept)] { kept = later }
      last[ObjectIdentifier(duplicate)] = kept
      if let model = duplicate.knownModel as? any PersistentModel {
        // An instance of a superclass cannot show the row of a submodel: it leaves the context with its own.
        if type(of: kept).modelType != type(of: model) { continue }
        kept.takeHash(of: duplicate)
        kept.adopt(any: model)
      }
      duplicate.forgetModel()
    }
  }

  // For stores of the program's own.

  /// The context as they know it.
  final lazy var editingState = EditingState()
  /// The descriptor that is being asked.
  private(set) var asked: AskedFetch?
  /// How the models go that the next save deletes, where a store may have a way of its own.
  final var deletion: OwnDeletion?

  /// Calls `body`, which asks what a descriptor has become.
  func asking<R>(_ asked: AskedFetch?, _ body: () throws -> R) rethrows -> R {
    guard let asked else { return try body() }
    let outer = self.asked
    self.asked = asked
    defer { self.asked = outer }
    return try body()
  }

  /// The plan of rows of one class.
  @inline(__always)
  func plan(of row: ModelRow) -> ModelPlan {
    let key = ObjectIdentifier(type(of: row))
    if lastClass == key, let lastPlan { return lastPlan }
    return findPlan(of: row)
  }

  @inline(never)
  private func findPlan(of row: ModelRow) -> ModelPlan {
    let key = ObjectIdentifier(type(of: row))
    let found = plans[key] ?? ModelPlan(row)
    plans[key] = found
    (lastClass, lastPlan) = (key, found)
    return found
  }

  /// The class of a model's rows, if it was asked for last.
  @inline(__always)
  func knownRowClass(of model: Any.Type) -> ModelRow.Type? {
    lastModel == ObjectIdentifier(model) ? lastRowClass : nil
  }

  /// The class of rows of a model that the container has.
  func remember(_ rowClass: ModelRow.Type, of model: Any.Type) -> ModelRow.Type {
    (lastModel, lastRowClass) = (ObjectIdentifier(model), rowClass)
    return rowClass
  }
}

/// The rows of a context that have temporary identifiers which somebody knows.
struct TemporaryRows {
  private struct Entry { weak var row: ModelRow? }
  private var rows: [UInt64: Entry] = [:]

  mutating func set(_ row: ModelRow) { rows[row._number.value] = Entry(row: row) }
  subscript(number: UInt64) -> ModelRow? { rows[number]?.row }
  /// After a save: the identifiers find nothing any more, and models that were hashed by them share their hashes.
  mutating func removeSaved() {
    if rows.isEmpty { return }
    rows = rows.filter {
      guard let row = $0.value.row else { return false }
      if row.objectID.isTemporaryID { return true }
      row.shareHash()
      return false
    }
  }
}

/// Descriptions of models whose rows are in no container.
enum StandaloneModels {
  /// By class. An entity does not keep the model that it belongs to.
  private static let known = Mutex<[ObjectIdentifier: ManagedObjectModel]>([:])

  static func entity(of type: any PersistentModel.Type) -> EntityDescription {
    do {
      let model = try Self.model(of: type)
      let name = ModelDescriptor.of(type).entityName
      if let entity = model.entitiesByName[name] { return entity }
      stop("the schema of \(type) has no entity \(name)")
    } catch {
      stop("\(type) makes no schema: \(error)")
    }
  }

  private static func model(of type: any PersistentModel.Type) throws -> ManagedObjectModel {
    if let model = known.withLock({ $0[ObjectIdentifier(type)] }) { return model }
    // Outside of the lock: the classes are asked.
    let made = try Schema([type]).managedObjectModel(rowClass: rowClass)
    return known.withLock { known in
      if let first = known[ObjectIdentifier(type)] { return first }
      known[ObjectIdentifier(type)] = made
      return made
    }
  }
}
