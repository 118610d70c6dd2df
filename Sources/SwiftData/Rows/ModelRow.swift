import StrataCore

/// The row of a model: a managed object that knows the instance which reads and writes it.
///
/// The model holds its row, and the row knows its model for as long as that lives: see `HeldInstances` for how long the context sees to that. Stored properties begin with an underscore: a model's own attributes must not be hidden.
class ModelRow: ManagedObject {
  // `@exclusivity(unchecked)`: used where the context is, and no access spans a call into other code.

  /// How properties of the class lie in rows of its entity.
  @exclusivity(unchecked) final var _plan: ModelPlan?
  /// The temporary identifier, and by what the instance is hashed.
  @exclusivity(unchecked) final var _number = ModelNumber()
  // How the row knows its instance: see `knownModel`.
  @exclusivity(unchecked) final var _wasHeld = false
  @exclusivity(unchecked) final var _lastHold = false
  @exclusivity(unchecked) final var _isHeld = false
  // Whether the context keeps the instance, see `HeldInstances`: since the row has unsaved changes, for an owner of the row.
  @exclusivity(unchecked) final var _isPinned = false
  @exclusivity(unchecked) final var _isCompanion = false
  /// Whether somebody observed the instance while it was a draft: only the instance can tell them.
  @exclusivity(unchecked) final var _hasOwnState = false
  @exclusivity(unchecked) final var _address: Unmanaged<AnyObject>?
  final weak var _reference: AnyObject?
  final let _turn = InstanceTurn()
  /// The rows with which this one has left its context before it was saved. Written within a turn.
  @exclusivity(unchecked) final var _group: KeptRows?
  /// Decoded values of attributes that are kept as bytes, with the bytes they are of, by slot.
  /// Of relationships of a row that has left its context, what they have led to, or were set to since, as rows or models: see `kept(_:)`.
  @exclusivity(unchecked) final var _decoded: [Int: (bytes: Data, value: Any)]?

  deinit { endSharing() }

  /// Rows are read by slots that are found by name.
  override class var declaredSlots: [String]? { [] }

  override func awake(fromSnapshotEvents flags: SnapshotEventType) {
    if flags.contains(.undoDeletion) { endKeeping() }
  }

  /// The class of the instances.
  class var modelType: any PersistentModel.Type { stop("the row of no model has no class") }

  /// The context; nil when the row has left it, and of rows in a context of Strata's own below it. Observers note that it was asked for.
  final var modelContext: ModelContext? { (managedObjectContext as? RowContext)?.modelContext }
  /// The same, without that anybody notes it.
  final var ownContext: ModelContext? { (contextUnobserved as? RowContext)?.modelContext }

  /// See ``PersistentIdentifier``.
  final var rowIdentifier: PersistentIdentifier? {
    let identifier = objectID
    guard identifier.isTemporaryID else { return PersistentIdentifier(identifier) }
    return PersistentIdentifier(
      .temporary(number: temporaryNumber, entityName: identifier.entityName))
  }

  /// The number of the temporary identifier. The context finds the row by it until it is saved.
  final var temporaryNumber: UInt64 {
    if _number.value == 0 {
      _number.value = PersistentIdentifier.nextTemporaryNumber()
      ownContext?.temporaryRows.set(self)
    }
    return _number.value
  }

  /// The plan of the row's own class.
  final var plan: ModelPlan {
    if let _plan { return _plan }
    return takePlan()
  }

  /// Calls `body` with the plan, without counting references.
  @inline(__always)
  final func withPlan<R>(_ body: (ModelPlan) -> R) -> R {
    if _plan == nil { _ = takePlan() }
    // It was set just now, and is never taken away.
    return Unmanaged.passUnretained(_plan.unsafelyUnwrapped)._withUnsafeGuaranteedRef(body)
  }

  @inline(never)
  private final func takePlan() -> ModelPlan {
    let made = (contextUnobserved as? RowContext)?.plan(of: self) ?? ModelPlan(self)
    _plan = made
    return made
  }

  /// The instance of the row, made when there is none.
  func anyModel() -> AnyObject { stop("the row of no model has no instance") }

  /// The same, as what it is.
  func anyPersistentModel() -> any PersistentModel { stop("the row of no model has no instance") }

  /// The row becomes the backing data of `model`, an instance of its class.
  func appear(in model: AnyObject) { stop("the row of no model has no instance") }

  /// How rows of the class get instances.
  class var instances: RowInstances { stop("the row of no model has no instance") }

  /// What takes the initial values of an instance that is made for a row.
  class func makeSink() -> ModelMaking.Sink { stop("the row of no model has no instance") }

  /// An instance that was made before the row knew of it becomes the row's.
  final func adopt<Model: PersistentModel>(_ model: Model) {
    if let row = RowBacking<Model>.backing(of: self) {
      appear(in: model, as: row)
    } else if knownModel == nil {
      knowWeakly(model)
    }
  }

  /// The same for a model of whichever class.
  final func adopt(any model: any PersistentModel) {
    func adopt<Model: PersistentModel>(_ model: Model) { self.adopt(model) }
    adopt(model)
  }

  // MARK: Relationships

  /// Sets a to-one relationship.
  final func setRelated<Other: PersistentModel>(_ model: Other?, _ keyPath: AnyKeyPath) {
    let property = withPlan { $0.property(keyPath, self) }
    guard let context = context(toSet: property) else {
      return keep(model.map { [$0] } ?? [], property)
    }
    let row = model.map { context.row(for: $0) }
    write(row, slot: property.slot)
    accompany(row)
    context.noteChange()
  }

  /// Makes the models the members of a to-many relationship.
  final func setMembers<Other: PersistentModel>(_ models: [Other], _ keyPath: AnyKeyPath) {
    let property = withPlan { $0.property(keyPath, self) }
    guard let context = context(toSet: property) else { return keep(models, property) }
    let rows = models.map { context.row(for: $0) }
    write(rows as [ManagedObject], slot: property.slot)
    accompany(rows, property)
    context.noteChange()
  }

  /// The context in which a relationship is set; nil for a row that has left its context, where nothing is stored.
  private final func context(toSet property: ModelProperty) -> ModelContext? {
    if let ownContext { return ownContext }
    if !isInContext { return nil }
    stop(
      "\(Self.modelType).\(property.name) was set on a model of a context below its ModelContext, where only managed objects are set, or whose ModelContext has gone"
    )
  }

  /// The row at the other end of a to-one relationship.
  final func relatedRow(_ property: ModelProperty) -> ModelRow? {
    // All entities have rows of models.
    relatedObject(slot: property.slot).map { unsafeDowncast($0, to: ModelRow.self) }
  }

  /// The rows of a to-many relationship.
  final func memberRows(_ property: ModelProperty) -> [ModelRow] {
    ownContext?.settleExpected()
    return relatedObjects(slot: property.slot).map { unsafeDowncast($0, to: ModelRow.self) }  // As above.
  }
}
