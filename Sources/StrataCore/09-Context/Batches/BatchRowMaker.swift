import Foundation

/// Makes the rows of a batch insert, one after the other.
struct BatchRowMaker: ~Copyable {
  private let context: ManagedObjectContext
  private let store: StoreBinding
  private let bound: BoundEntity
  private let properties: BatchProperties
  private let rows: BatchRows
  private var slab = RowSlabWriter()
  /// The values of the row at hand, by name.
  private let draft: RowDraft
  /// The names of the latest dictionary, in its order.
  private var latestNames: [(name: String, slot: Int)] = []

  init(_ bound: BoundEntity, _ store: StoreBinding, in context: ManagedObjectContext, _ rows: BatchRows) {
    self.context = context
    self.store = store
    self.bound = bound
    self.rows = rows
    properties = BatchProperties(bound, store, in: context)
    draft = bound.makeDraft()
  }

  mutating func run(_ source: BatchInsertRequest.Source, _ progress: BatchProgress) throws {
    defer { rows.end() }
    switch source {
    case .dictionaries(let dictionaries):
      for values in dictionaries { try add(values, progress) }
    case .dictionaryHandler(let handler):
      var values: [String: Any] = [:]
      while !handler(&values) {
        try add(values, progress)
        values.removeAll(keepingCapacity: true)
      }
    case .objectHandler(let handler): try addObjects(handler, progress)
    case .rowHandler(let columns, let handler): try addRows(columns, handler, progress)
    }
  }

  // MARK: Values by column

  private mutating func addRows(
    _ columns: [String], _ handler: (inout BatchRow) -> Bool, _ progress: BatchProgress
  ) throws {
    var row = try BatchRow(columns, properties, bound.makeDraft())
    while true {
      try stopNowAndThen(progress)
      if rows.keepsGiven { row.draft.changed = SlotBitmap() }
      if handler(&row) { return }
      do {
        if let failure = row.failure { throw failure }
        let draft = row.draft
        try properties.requireValues { draft.isNil($0) }
      } catch let error as CoreDataError {
        throw placed(error)
      }
      let key = try store.store.makePrimaryKey(hierarchy: bound.hierarchyNumber)
      try append(key, row.draft, given: row.draft.changed)
      row.draft.begin(bound)
    }
  }

  // MARK: Values by name

  private mutating func add(_ values: [String: Any], _ progress: BatchProgress) throws {
    try stopNowAndThen(progress)
    let draft = draft
    draft.begin(bound)
    if rows.keepsGiven { draft.changed = SlotBitmap() }
    do {
      var place = 0
      for (name, value) in values {
        let slot = try slot(name, at: place)
        place += 1
        try properties.forEachCommonValue(slot, value) { slot, value in draft[slot] = value }
      }
      try properties.requireValues { draft.isNil($0) }
    } catch let error as CoreDataError {
      throw placed(error)
    }
    let key = try store.store.makePrimaryKey(hierarchy: bound.hierarchyNumber)
    try append(key, draft, given: draft.changed)
  }

  /// Where `name` goes. Dictionaries that one handler fills, one after the other, mostly have the same keys in the same order.
  private mutating func slot(_ name: String, at place: Int) throws -> Int {
    if place < latestNames.count, latestNames[place].name == name { return latestNames[place].slot }
    let slot = try properties.slot(name)
    if place < latestNames.count {
      latestNames[place] = (name, slot)
    } else if place == latestNames.count {
      latestNames.append((name, slot))
    }
    return slot
  }

  private func stopNowAndThen(_ progress: BatchProgress) throws {
    if rows.count & 1_023 == 0 { try progress.stopIfCancelled() }
  }

  /// The same error, which says of which record it is.
  private func placed(_ error: CoreDataError) -> CoreDataError {
    CoreDataError(
      error.code, "Record \(rows.count + 1): \(error.errorDescription ?? "")",
      userInfo: error.userInfo.filter { $0.key != NSLocalizedDescriptionKey })
  }

  private mutating func append(_ key: UInt64, _ draft: RowDraft, given: SlotBitmap) throws {
    do {
      let (row, externals) = try RowEncoder.encode(
        layout: bound.layout, stamp: bound.stamp, primaryKey: key, version: 1, base: nil, draft: draft,
        into: &slab)
      try rows.append(row, key: key, externals: externals, given: given)
    } catch let error as RowError {
      throw placed(CoreDataError(error, in: bound.entity))
    }
  }

  // MARK: Objects

  /// The objects are born into a context that is never saved: there they have their final IDs, their class and other objects.
  private mutating func addObjects(_ handler: (ManagedObject) -> Bool, _ progress: BatchProgress) throws {
    let scratch = ManagedObjectContext(
      .confinement, context.coordinator, parent: nil, classes: context.classes)
    scratch.speaksFoundation = context.speaksFoundation
    let type = context.classes.types[bound.entityNumber]
    let home = ManagedObjectContext.HomeForNew(
      entity: bound.entity.entityDescription, store: store, bound: bound,
      table: scratch.stores.tables(for: store).tables[bound.hierarchyNumber],
      generation: context.coordinator.storesGeneration)
    let given = rows.keepsGiven ? GivenSlots(in: scratch) : nil
    scratch.givenSlots = given
    while true {
      try stopNowAndThen(progress)
      scratch.latest.home = home
      let object = ThreadScope.current.materializing { type.init(materializing: home.entity) }
      scratch.adoptNew(object, entity: home.entity)
      given?.begin(object)
      if handler(object) { break }
      // Deleted again by the handler.
      guard object.context === scratch, object.isMarkedInserted else { continue }
      do {
        try check(object)
      } catch let error as CoreDataError {
        throw placed(error)
      }
      if let draft = object.draft {
        try append(object.primaryKey, draft, given: given?.slots(of: object) ?? SlotBitmap())
      }
      if rows.count & 255 == 0 { scratch.reset() }
    }
    scratch.reset()
  }

  private func check(_ object: ManagedObject) throws {
    if let failure = (object.derivedFailures() + object.refusalFailures()).first {
      throw CoreDataError(failure.code, failure.errorDescription)
    }
    if let relations = object.relations {
      if let foreign = relations.foreign.all.first?.end {
        throw CoreDataError(
          .managedObjectExternalRelationship,
          "An object of \(bound.entity.name) cannot be related to \(foreign), which belongs to another store."
        )
      }
      for (_, state) in relations.states where state.hasChanges {
        throw CoreDataError(
          .managedObjectValidation,
          "\(state.relationship.qualifiedName) is a to-many relationship, which a batch does not set; set its inverse, or "
            + "save objects.", userInfo: [CoreDataError.Key.validationKey: state.relationship.name])
      }
    }
    try properties.requireValues { object.draft?.isNil($0) ?? true }
  }
}
