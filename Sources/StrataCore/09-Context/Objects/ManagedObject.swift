import CLMDBShim
import Foundation

/// A live record of the object graph: an entity's values, unique for its ID within its context.
///
///     ┌ ManagedObject ────────────────┐
///     │ bound     entity in its store │
///     │ primaryKey, state             │
///     │ snapshot ─▶ row bytes (shared)│   what was last read or saved
///     │ draft    ─▶ edited values     │   only while there are unsaved changes
///     └───────────────────────────────┘
///
/// A managed object belongs to one context and is touched only on that context's queue; the compiler refuses to carry it
/// across (it is not `Sendable`), its `objectID` travels instead. It does not keep its context alive. The context holds what the object's
/// relationships have handed out for as long as the object is held.
/// When its context goes away or its row is deleted it stays safe to touch: the last known values remain readable,
/// `managedObjectContext` is nil.
///
/// Attributes are read and written through slots that are found by name (`read(_:)`, `write(_:_:)` with a ``Slot``), through typed slot accessors
/// (`readInt64(slot:)`, `write(_:slot:)`), by key (`value(forKey:)`, `setValue(_:forKey:)`) or by subscript. Subclasses must not override `hash` or `isEqual`.
open class ManagedObject: NSObject, SlotDeclaring {
  // MARK: Stored properties (all on the context's queue)
  //
  // `@exclusivity(unchecked)`: every access is one load or store on one queue and none spans a call into other code, so
  // accesses cannot overlap; the run-time check would cost more than the access.

  /// The bytes attributes are read from without further questions: set while the object is realised, has no edits, and
  /// its context does not check confinement. Nil sends every access through the slow path.
  @exclusivity(unchecked) @usableFromInline final var fastRow: UnsafeRawPointer?
  /// Per slot its kind and byte offset; immortal memory of the entity's `RowLayout`.
  @exclusivity(unchecked) @usableFromInline final var table: UnsafePointer<UInt32>
  /// How many slots `table` has.
  @exclusivity(unchecked) @usableFromInline final var slotCount: Int32 = 0
  /// What the object is to its context.
  @exclusivity(unchecked) @usableFromInline final var state = ObjectState()
  /// The entity in its store (in no store, for an object made without a context). Nil only while the object is being made.
  /// Unmanaged: an object in a context counts no reference, since the context holds what its objects point to; one in no context does, see `holdsHome`.
  /// Set by `lead(to:)`; directly only for an object that has none yet and is put into a context at once.
  @exclusivity(unchecked) final var boundReference: Unmanaged<BoundEntity>?
  @exclusivity(unchecked) final var primaryKey: UInt64 = 0
  /// Unmanaged: cleared by the context itself, in `deinit` and whenever it lets an object go; so never dangling.
  @exclusivity(unchecked) @usableFromInline final var contextReference: Unmanaged<ManagedObjectContext>?
  final var context: ManagedObjectContext? {
    get { contextReference?.takeUnretainedValue() }
    set {
      // While the context still holds it.
      if newValue == nil { holdHome() }
      contextReference = newValue.map { .passUnretained($0) }
      if state.contains(.observed) { observedContextDidChange() }
    }
  }
  /// The row as last read or saved.
  final var snapshot: RowSnapshot? {
    @inline(__always) get {
      rowOwner.map { RowSnapshot(owner: $0, base: rowBase.unsafelyUnwrapped, count: rowCount) }
    }
    // Part by part: what moves an optional structure of several words asks its metadata each time.
    @inline(__always) set {
      if let newValue {
        (rowOwner, rowBase, rowCount) = (newValue.owner, newValue.base, newValue.count)
      } else {
        (rowOwner, rowBase) = (nil, nil)
      }
    }
  }
  // The parts of `snapshot`. There is a base where there is an owner.
  @exclusivity(unchecked) private final var rowOwner: RowSlab?
  @exclusivity(unchecked) private final var rowBase: UnsafeRawPointer?
  @exclusivity(unchecked) private final var rowCount: Int32 = 0
  /// What a save did to the object, while it calls `didSave()`.
  final var savedAs: SavedAs {
    @inline(__always) get { SavedAs(rawValue: marks & ~Self.homeMark) ?? .nothing }
    @inline(__always) set { marks = marks & Self.homeMark | newValue.rawValue }
  }
  /// Whether the object counts a reference to `boundReference`. It does in no context; in one it may.
  private final var holdsHome: Bool {
    @inline(__always) get { marks & Self.homeMark != 0 }
    @inline(__always) set { marks = newValue ? marks | Self.homeMark : marks & ~Self.homeMark }
  }
  // `savedAs`, and in the highest bit `holdsHome`. Takes no room: it stands before a pointer.
  @exclusivity(unchecked) private final var marks: UInt8 = 0
  private static var homeMark: UInt8 {
    @inline(__always) get { 0x80 }
  }
  // The parts of `keeperHead`, which take no room either.
  @exclusivity(unchecked) private final var keeperHigh: UInt8 = 0
  @exclusivity(unchecked) private final var keeperLow: UInt16 = 0
  /// Where the context has noted which objects this one holds: the number of a note of `ReferenceKeepers`, 24 bits; 0 for nowhere.
  final var keeperHead: UInt32 {
    @inline(__always) get { UInt32(keeperHigh) &<< 16 | UInt32(keeperLow) }
    @inline(__always) set {
      keeperHigh = UInt8(truncatingIfNeeded: newValue &>> 16)
      keeperLow = UInt16(truncatingIfNeeded: newValue)
    }
  }
  /// The version of the row that the object stands on; nil for a fault and a new object.
  package final var rowVersion: UInt32? { snapshot?.version }
  /// The values edited since.
  final var draft: RowDraft? {
    get { storedDraft }
    set {
      storedDraft = newValue
      state.ownDraft()
      edits = newValue?.pointers
    }
  }
  @exclusivity(unchecked) private final var storedDraft: RowDraft?
  final var hasDraft: Bool { storedDraft != nil }
  /// Calls `body` with the draft, which there is, without counting references.
  @inline(__always)
  final func withDraft<R>(_ body: (RowDraft) throws -> R) rethrows -> R {
    // The caller has asked `hasDraft`.
    try Unmanaged.passUnretained(storedDraft.unsafelyUnwrapped)._withUnsafeGuaranteedRef(body)
  }
  /// Says that the draft, if there is one, is needed soon.
  @inline(__always)
  final func prefetchDraft() {
    guard let edits else { return }
    strata_prefetch(edits.header)
    strata_prefetch(UnsafeRawPointer(edits.header) + 64)
    strata_prefetch(UnsafeRawPointer(edits.header) + 128)
    strata_prefetch(UnsafeRawPointer(edits.header) + 192)
  }
  /// Says that the draft itself, not its values, is needed soon.
  @inline(__always)
  final func prefetchDraftHead() {
    if let edits { strata_prefetch(UnsafeRawPointer(edits.header) - 16) }
  }
  /// Where `draft` keeps its values: so that a setter counts no references.
  @exclusivity(unchecked) final var edits: RowDraft.Pointers?
  /// Values of transient attributes by slot: they survive a save and go when the object becomes a fault (rule 71).
  @exclusivity(unchecked) final var transients: [Int: Any]?
  /// To-many relationships that were looked at or changed.
  @exclusivity(unchecked) final var relations: Relations?
  /// When the row was read, by `SnapshotClock`.
  @exclusivity(unchecked) final var readAt: UInt32 = 0
  /// While there is no row that has it: the key of the owner that the object was made for as a member; 0 for none.
  @exclusivity(unchecked) final var keeperHint: UInt32 = 0
  /// The object's observers; nil while it never had one.
  @exclusivity(unchecked) final var observation: ObjectObservation?

  /// Stands for the table of an object that has no entity yet. Never read, since such an object has no slots.
  private static var noTable: UnsafePointer<UInt32> {
    // An address that is not zero makes a pointer.
    UnsafePointer(bitPattern: MemoryLayout<UInt32>.alignment)!
  }

  deinit { if holdsHome { boundReference?.release() } }

  /// Points to `bound`, which whoever calls holds, from now on.
  final func lead(to bound: BoundEntity) {
    let former = holdsHome ? boundReference : nil
    boundReference = .passUnretained(bound)
    holdsHome = false
    if contextReference == nil { holdHome() }
    former?.release()
  }

  /// The object keeps what it points to by itself: it is in no context, or about to be in none.
  @inline(__always)
  private final func holdHome() {
    guard !holdsHome, let boundReference else { return }
    _ = boundReference.retain()
    holdsHome = true
  }

  /// The names of the entity's properties in slot order, whose numbers the accessors of a subclass use: inherited properties first, then
  /// attributes, then relationships, each in the order of the model; a composite attribute is followed by its elements, `address.city`.
  ///
  /// Every subclass that is the class of an entity with properties says them. They are compared with the model's when a store is added: where
  /// they differ, or nothing is declared, that throws `ModelError` with what to write, so that an accessor never reads another property after
  /// a change of the model. A class that several entities of a hierarchy share declares the slots of the topmost.
  ///
  /// A class that finds all its properties by name (`@NSManaged`, `value(forKey:)`) uses no slot numbers and answers the empty array. Nil, the
  /// default, is taken where stores are added by Apple's names: classes written for Core Data know no slots.
  ///
  /// A class whose accessors use a ``Slot`` for each property needs none of this: it says ``namedSlots``, or declares its entity.
  open class var declaredSlots: [String]? { nil }

  /// The slots of the class's accessors, which are found by name: `[NamedSlot(title), NamedSlot(author)]`, in any order, without those of
  /// superclasses.
  ///
  /// Compared with the model when a store is added: a property that only one of both has, or of another type, is refused with `ModelError`. A class
  /// that declares its entity has said it with ``entityDeclaration``.
  open class var namedSlots: [NamedSlot]? { entityDeclaration?.properties.map(\.slot) }

  /// The entity of the class's objects, for classes that declare it themselves: see ``EntityDeclaration``. `@Managed` writes it.
  open class var entityDeclaration: EntityDeclaration? { nil }

  /// The stored properties of the class that no store is meant to keep. In a class that lists its slots every other one that could be an attribute is
  /// refused when a store is added, since what is set there would be lost. An override adds to `super.ignoredProperties`.
  open class var ignoredProperties: [String] { [] }

  /// The entity of this class in the newest model that a coordinator has taken. May be overridden.
  ///
  /// Where no such model has one, or has several, that is said on standard error, and the answer is an entity of no model that has the class's
  /// name: a request for it is refused by the context that is to execute it, and no object can be made of it.
  open class func entity() -> EntityDescription { LivingCoordinators.entityInUse(of: self) }

  // MARK: Making objects

  /// Makes a new record of `entity` and inserts it into `context`, or leaves it outside any context when nil.
  ///
  /// The object gets its final ID at once, its attributes their default values, then `awakeFromInsert()` is called once.
  /// Programmer errors trap: an abstract entity, an entity of another model, a class that does not fit the entity.
  public init(entity: EntityDescription, insertInto context: ManagedObjectContext?) {
    table = Self.noTable
    super.init()
    if let context {
      context.adoptNew(self, entity: entity)
    } else if !ThreadScope.isMaterializing {
      becomeUnattached(entity)
      _setInitialValues()
    }
  }

  /// Makes a new record of the one entity of `context`'s model that has this class, and inserts it.
  ///
  /// Which entity that is, is asked of the context's own model, so several models may use one class (rule 320). Traps when
  /// no entity or several entities of the model have this class.
  public convenience init(context: ManagedObjectContext) {
    self.init(entity: context.entityDescription(for: Self.self), insertInto: context)
  }

  /// Makes a new object of the one entity that has this class in the model that a container or coordinator was made with last, in no context yet: `Book()`.
  ///
  ///     let book = Book()
  ///     book.title = "Emma"
  ///     context.insert(book)
  ///
  /// A context of another model with the same class and the same properties takes it, too, while it is related to nothing. Traps when no model that is in use has
  /// the class, or several entities have it; `init(context:)` asks the context's own model.
  public convenience override init() {
    self.init(entity: Self.entityInUse(), insertInto: nil)
  }

  private static func entityInUse() -> EntityDescription {
    let found = LivingCoordinators.entities(of: Self.self)
    if found.count == 1 { return found[0] }
    let name = "\(Self.self)"
    trap(
      found.isEmpty
        ? "\(name)() needs a model: no container or coordinator that is in use has an entity of class \(name). Make the container "
          + "first, or use \(name)(context:) or \(name)(entity:insertInto:)."
        : "\(name)() is ambiguous: the entities \(found.map { $0.name ?? "?" }.sorted().joined(separator: " and ")) have this class. "
          + "Use \(name)(entity:insertInto:).")
  }

  /// Makes the empty object that a context fills from a row. Not for callers: contexts use it for every class.
  public required convenience init(materializing entity: EntityDescription) {
    self.init(entity: entity, insertInto: nil)
  }

  // MARK: Identity

  /// The record's handle: thread-safe, equal for equal records, final from birth (contexts 8). Never fires a fault.
  public final var objectID: ManagedObjectID {
    withHome {
      ManagedObjectID(
        token: $0.token, primaryKey: primaryKey,
        isTemporary: !state.isDisjoint(with: [.anyInserted, .loose]) || $0.storeIndex < 0
          || state.contains(.unstored) && isStillUnstored)
    }
  }

  /// The object's entity. Never fires a fault.
  public final var entity: EntityDescription {
    home.entity.entityDescription
  }

  /// The entity in its store; nil only while the object is being made.
  final var bound: BoundEntity? { boundReference?.takeUnretainedValue() }

  /// Calls `body` with what `home` is, without counting references.
  @inline(__always)
  final func withHome<R>(_ body: (BoundEntity) throws -> R) rethrows -> R {
    guard let boundReference else { return try body(home) }
    return try boundReference._withUnsafeGuaranteedRef(body)
  }

  /// `bound`, which every object has once it is made.
  final var home: BoundEntity {
    guard let bound else { trap("\(type(of: self)) is used inside its own init, before it has an entity") }
    return bound
  }

  /// The context the object lives in; nil when it was deleted and saved, when the context was reset or is gone. The `didSave()` of a deleted object
  /// still has it.
  public final var managedObjectContext: ManagedObjectContext? {
    noteRead(ObservedSlot.managedObjectContext)
    if savedAs == .deleted, contextReference == nil { return ThreadScope.current.context(ofDeleted: self) }
    return state.contains(.loose) ? nil : context
  }

  // MARK: State (none of these fires a fault, rule 42)

  // While a save calls `didSave()`, the first three still say what it did.

  /// Whether the object is new and has never been saved. In `didSave()`: whether the save has inserted it.
  public final var isInserted: Bool { isMarkedInserted || savedAs == .inserted }
  /// Whether the object has unsaved changes (and is neither new nor deleted). In `didSave()`: whether the save was about such changes, or there are new ones.
  public final var isUpdated: Bool { isMarkedUpdated || savedAs == .updated }
  /// Whether the next save deletes the object. True from `prepareForDeletion()` on, and in the `didSave()` of the save that has deleted it; false again
  /// once that save is over (rule 143). Of a new object that was deleted: true until the did-change notification of the event has reported it.
  public final var isDeleted: Bool {
    noteRead(ObservedSlot.isDeleted)
    return !state.isDisjoint(with: .shownDeleted) || savedAs == .deleted
  }
  /// Whether the object is in any of the three states above, also when only transient values changed (rule 15).
  public final var hasChanges: Bool {
    noteRead(ObservedSlot.hasChanges)
    return !state.isDisjoint(with: .shownChanged) || savedAs != .nothing
  }

  // What the context has to save, whatever hooks are told. The engine asks these.

  final var isMarkedInserted: Bool { !state.isDisjoint(with: .anyInserted) }
  final var isMarkedUpdated: Bool {
    !state.isDisjoint(with: [.updated, .receivedUpdate]) && state.isDisjoint(with: .anyDeleted)
  }
  final var isMarkedDeleted: Bool {
    noteRead(ObservedSlot.isDeleted)
    return !state.isDisjoint(with: .anyDeleted)
  }
  final var isMarkedChanged: Bool { !state.isDisjoint(with: .unsaved) }

  /// Whether the object's values have not been looked at since it was fetched or refreshed. Its row may be in memory all
  /// the same (rule 43).
  public final var isFault: Bool { state.contains(.fault) }
  /// Zero for a realised object, not zero while it is a fault or is just waking up (rule 78).
  public final var faultingState: Int { state.isDisjoint(with: [.fault, .awaking]) ? 0 : 1 }

  /// Whether the context must keep the object although it is held nowhere else.
  final var hasPendingState: Bool { !state.isDisjoint(with: .pending) }

  // MARK: Hooks, called on the context's queue

  /// Called when a new object is made, in a context or in none, after its defaults were applied and before `awakeFromInsert()`. Call super first.
  ///
  /// `@Managed` overrides it for initial values that each object has for itself, such as `UUID()`. Classes written by hand have `awakeFromInsert()`.
  open func _setInitialValues() {}
  /// Called once in an object's life, after it was inserted and its defaults applied. Call super first.
  open func awakeFromInsert() {}
  /// Called each time the object is fulfilled from a fault. Changes made here do not dirty the object (rule 55).
  open func awakeFromFetch() {}
  /// Called after undo, redo, rollback, refresh or a merge policy put older or newer values into the object.
  open func awake(fromSnapshotEvents flags: SnapshotEventType) {}
  /// Called at `delete(_:)`, while the object is still whole (rule 147). `isDeleted` is true already.
  open func prepareForDeletion() {}
  /// Called before a save for each changed object; changes made here are saved too, and call it again (rules 137–139);
  /// so do changes that validation makes.
  open func willSave() {}
  /// Called after a successful save for each object that took part. `isInserted`, `isUpdated` and `isDeleted` say what the save did, until it has called
  /// all its objects; a deleted object still has its context. Changes made here dirty the context again (rule 140).
  open func didSave() {}
  /// Called before the object becomes a fault.
  open func willTurnIntoFault() {}
  /// Called after the object became a fault.
  open func didTurnIntoFault() {}

  // MARK: Changes that are announced

  /// Says that `key` is about to change: the object counts as changed. Accessors need no such bracket.
  ///
  /// Where a class overrides this method or `didChangeValue(forKey:)`, setters call both around each change of an attribute or a to-one relationship, inverses included,
  /// whoever sets it: an accessor, `setValue(_:forKey:)` or another object's relationship. They do so neither for to-many relationships nor for what a merge, a refresh, an undo or
  /// `awakeFromFetch()` changes. Call super.
  /// Setting the same attribute inside calls `didChangeValue(forKey:)` again, not this method; do not set a relationship in its own announcement.
  open func willChangeValue(forKey key: String) {
    if isAnnouncing(key) { return }
    willChangeValue(forKey: key, remembersRelated: true)
  }

  /// Says that `key` has been changed through `setPrimitiveValue`: the change is noticed from here on, and the other ends of a relationship follow
  /// what has come and gone since `willChangeValue(forKey:)` (rule 210).
  ///
  /// May be overridden, see `willChangeValue(forKey:)`. Call super.
  open func didChangeValue(forKey key: String) {
    if isAnnouncing(key) { return }
    endChange(ofKey: key)
  }

  // MARK: Validation hooks

  /// What this class checks of its properties beyond the rules of the model. Subclasses add theirs to `super.valueValidators`.
  /// Asked once. Keys that the entity does not have are reported when the model is taken into use.
  open class var valueValidators: [ValueValidator] { [] }

  /// Checks whether `value` would be valid for the property `key`, without setting it, and makes it what would be stored
  /// (rule 225).
  ///
  /// In this order: the value is coerced to the property's type, as `setValue(_:forKey:)` does it; nil is refused where there
  /// must be a value; the members of a relationship are counted; the rules of the model are checked; the class's validators are
  /// asked. One that replaces the value has it checked again (rule 230). A value that does not pass one step does not come to the
  /// next. Usable on request at any time. Saves hand the value of every property to a class that overrides this method, which is found
  /// out once for each class; the values of other classes take a shorter way to the same checks.
  ///
  /// Integers come back as `Int64`, members as a `Set<ManagedObject>` or an `[ManagedObject]`. An unknown key traps.
  ///
  /// - Throws: `CoreDataError` with Core Data's code, the object, the key, the value and the predicate in its user info: 1570 for
  ///   nil, 1580 and 1590 for counts, 1610 to 1680 for the rules of the model, 1550 for predicates and for a value of another
  ///   type (a date 1650, a URL 1690), 1560 when several rules are broken, 134060 when validators replace the value without end.
  ///   Whatever a validator throws.
  open func validateValue(_ value: inout Any?, forKey key: String) throws {
    try speaking { try checkValue(&value, forKey: key) }
  }

  /// The same with Core Data's pointer, for classes that override it and for callers that have an `AnyObject?`: numbers are `NSNumber`s,
  /// texts `NSString`s, members an `NSSet` or an `NSOrderedSet`. Hands the value to `validateValue(_:forKey:)` with an `Any?`.
  ///
  /// A class overrides one of the two; of one that overrides both, saves call this one.
  /// - Throws: what the other one throws.
  open func validateValue(_ value: UnsafeMutablePointer<AnyObject?>, forKey key: String) throws {
    var unboxed: Any? = value.pointee.map { $0 }
    try validateValue(&unboxed, forKey: key)
    value.pointee = Self.boxed(unboxed)
  }

  /// Checks an inserted object before it is saved. Overrides call super first, which checks every property: that nothing
  /// mandatory is missing, that relationships have as many members as they must, the rules of the model and the class's
  /// validators, which may replace values. To-many relationships of an object that is not new are looked at when their members
  /// have changed. What an override changes is validated again, here and in other objects.
  /// - Throws: `CoreDataError`, or whatever an override throws; the save then fails and writes nothing.
  open func validateForInsert() throws { try speaking { try validateProperties() } }
  /// Checks a changed object before it is saved. See `validateForInsert()`.
  /// - Throws: as `validateForInsert()`.
  open func validateForUpdate() throws { try speaking { try validateProperties() } }
  /// Checks a deleted object before the deletion is saved. Overrides call super first, which checks that no relationship with
  /// the delete rule deny leads to an object that stays.
  /// - Throws: `CoreDataError` 1600.
  open func validateForDelete() throws { try speaking { try validateDeletion() } }

  // MARK: Dynamic access

  /// The value of the property `key`: nil, or a value of the attribute's Swift type (`Int64` for all integers, `Double`,
  /// `String`, `Date`, `Data`, `UUID`, `URL`, `Decimal`, `Bool`, `Float`), what the transformer makes of a transformable one, a
  /// `[String: Any]` of a composite one, whose elements have keys such as `address.city`; of a to-one relationship the object, of a to-many
  /// one a `Set<ManagedObject>`, of an ordered one an `[ManagedObject]`; of a fetched property an `[ManagedObject]`. Fires a fault.
  ///
  /// Behind the entity's properties come the object's own: `objectID`, `entity`, `managedObjectContext`, `self`, `description`, `isFault`,
  /// `hasChanges` and the like; those fire no fault.
  ///
  /// Properties that the class declares in Swift are found as well, where the build plugin `CoreDataPlugin` has written down their names; a custom
  /// accessor of a type that Objective-C knows stands before the attribute of its name, and gets the attribute when it asks by the same key.
  ///
  /// An unknown key goes to `value(forUndefinedKey:)`, which traps (rule 79). Without the plugin nothing finds a custom accessor by its name:
  /// override this method to serve computed keys (rule 80).
  open func value(forKey key: String) -> Any? {
    if let found = declaredValue(key) { return found }
    guard let slot = home.entity.slot(named: key) else {
      if hasFetchedProperty(key) { return reportedFetchedObjects(key) }
      if let found = ownProperty(key) { return found }
      return value(forUndefinedKey: key)
    }
    noteRead(slot)
    if let relationship = home.entity.relationship(slot: slot) {
      if relationship.isToMany { fireForMembers() }
      return relatedValue(relationship)
    }
    willAccess(slot)
    return keyedValue(slot)
  }

  /// Sets the property `key`. Numbers of any kind are taken for numeric attributes; one that an integer cannot hold stays with the object
  /// until the save, which fails with 1610, 1620 or, for a fraction, 1550 (in contexts made by Core Data's names a fraction is cut
  /// off). Nil is taken for every attribute; for numbers, Booleans and dates by way of `setNilValueForKey(_:)`. A composite attribute takes a dictionary; elements that it does not name become nil. A to-one relationship takes an object or nil, a to-many one a set or an array of objects, Swift's or
  /// Foundation's. Traps for a value of another type, naming the property and both types. Properties that the class declares in Swift are set as
  /// `value(forKey:)` finds them.
  open func setValue(_ value: Any?, forKey key: String) {
    if setDeclaredValue(value, key) { return }
    guard let slot = home.entity.slot(named: key) else {
      if hasFetchedProperty(key) {
        trap("\(home.token.entityName).\(key) is a fetched property and cannot be set.")
      }
      setValue(value, forUndefinedKey: key)
      return
    }
    if value == nil, home.entity.takesScalar(slot) {
      setNilValueForKey(key)
    } else {
      setModeledValue(value, slot)
    }
  }

  /// Called by `setValue(_:forKey:)` for nil where the attribute holds numbers, Booleans or dates, which classes like to declare as
  /// types without nil. Makes the attribute nil; a class that wants another value there overrides it, sets that value, and calls super for
  /// the other keys.
  open func setNilValueForKey(_ key: String) {
    guard let slot = home.entity.slot(named: key) else {
      setValue(nil, forUndefinedKey: key)
      return
    }
    setModeledValue(nil, slot)
  }

  /// The key paths that the value of `key` is made of: a list that is divided into sections by a computed property looks at it again when something at
  /// their ends changes. By default what the class's `keyPathsForValuesAffecting<Key>()` says, where the build plugin has found it.
  open class func keyPathsForValuesAffectingValue(forKey key: String) -> Set<String> {
    ClassKeys.of(self)?.paths(affecting: key) ?? []
  }

  /// Called by `value(forKey:)` for a key the entity does not have. Traps unless overridden; a fetch that asks objects in memory throws.
  open func value(forUndefinedKey key: String) -> Any? {
    let words = "entity \(home.token.entityName) has no property “\(key)”."
    if ValueReading.note({ CoreDataError(.coreData, words) }) { return nil }
    trap(words)
  }

  /// Called by `setValue(_:forKey:)` for a key the entity does not have. Traps unless overridden.
  open func setValue(_ value: Any?, forUndefinedKey key: String) {
    trap("entity \(home.token.entityName) has no property “\(key)”.")
  }

  // MARK: NSObject

  /// Identity: never fires a fault (rule 39).
  open override var hash: Int { Int(bitPattern: ObjectIdentifier(self)) >> 4 }
  /// Identity: never fires a fault (rule 39).
  open override func isEqual(_ object: Any?) -> Bool {
    guard let object, type(of: object) == type(of: self) else { return false }
    // Sets of objects ask this often, and a cast of an existential costs ten times as much. Unsafe: the dynamic type is
    // this object's class, and an `Any` that holds an object holds its address in its first word.
    return withUnsafeBytes(of: object) {
      $0.load(as: UnsafeMutableRawPointer.self) == Unmanaged.passUnretained(self).toOpaque()
    }
  }

  /// Entity, ID and state; the values only when they are in memory. Never fires a fault.
  open override var description: String {
    guard let bound else { return "<\(type(of: self)), being made>" }
    var words: [String] = []
    if isInserted { words.append("inserted") }
    if isUpdated { words.append("updated") }
    if isDeleted { words.append("deleted") }
    if context == nil { words.append("detached") }
    let head =
      "<\(type(of: self)) \(bound.token.entityName)/p\(primaryKey)"
      + (words.isEmpty ? "" : " " + words.joined(separator: " "))
    if isFault { return head + " (fault)>" }
    let values = bound.entity.attributes.filter { $0.slot != bound.entity.baselineSlot }.map { attribute in
      "\(attribute.name): \(describe(attribute))"
    }
    return head + " {" + values.joined(separator: ", ") + "}>"
  }
}

/// Managed objects stay on their context's queue: pass `objectID` instead and look the object up over there.
@available(
  *, unavailable, message: "a managed object stays on its context's queue; pass its objectID instead"
)
extension ManagedObject: @unchecked Sendable {}

extension ManagedObject: FetchRequestResult {
  /// Managed objects.
  public static var fetchResultType: FetchResultType { .managedObject }
}

/// Why `awake(fromSnapshotEvents:)` is called. Raw values are Core Data's (rule 58).
public struct SnapshotEventType: OptionSet, Sendable {
  /// The bits of the set.
  public let rawValue: UInt
  /// Makes the set from its bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// An insertion was undone.
  public static let undoInsertion = SnapshotEventType(rawValue: 2)
  /// A deletion was undone.
  public static let undoDeletion = SnapshotEventType(rawValue: 4)
  /// An update was undone.
  public static let undoUpdate = SnapshotEventType(rawValue: 8)
  /// `rollback()` restored the saved values.
  public static let rollback = SnapshotEventType(rawValue: 16)
  /// A refresh or a merge brought newer values.
  public static let refresh = SnapshotEventType(rawValue: 32)
  /// A merge policy changed the values while saving.
  public static let mergePolicy = SnapshotEventType(rawValue: 64)
}
