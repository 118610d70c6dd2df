/// A class whose instances a store keeps. `@Model` writes the conformance.
///
/// A model that was made by its initialiser is a draft: it has values and belongs to no context. ``ModelContext/insert(_:)`` gives it a row of the context, which it reads
/// and writes from then on. Models belong to their context and are used where the context is; pass ``persistentModelID`` to other contexts and actors.
public protocol PersistentModel: AnyObject, Observation.Observable, Hashable, Identifiable, _SendableMetatype
{
  /// The topmost model of the class's hierarchy.
  associatedtype Root: PersistentModel = Self

  /// Makes an instance for values that are there: how a context makes instances of rows.
  init(backingData: any BackingData<Self>)
  /// Where the instance keeps its values.
  var persistentBackingData: any BackingData<Self> { get set }
  /// The persisted properties in the order of their declaration, inherited ones first, then uniqueness constraints and indexes.
  static var schemaMetadata: [Schema.PropertyMetadata] { get }
}

// What keeps models out of the main actor in modules whose default that is. Older compilers do not have it, and do not need it.
#if compiler(>=6.2)
  public typealias _SendableMetatype = SendableMetatype
#else
  public typealias _SendableMetatype = Any
#endif

extension PersistentModel {
  /// What a new instance keeps its values in until it is inserted. Needs no container.
  public static func createBackingData<P>() -> some BackingData<P> where P: PersistentModel {
    DraftBacking<P>.current()
  }

  /// The same for the class itself.
  public static func createBackingData() -> any BackingData<Self> { _newBackingData() }

  /// The context that the model is in: nil before it is inserted, after its deletion was saved, and when the context has gone.
  public var modelContext: ModelContext? {
    guard let row = modelRow else {
      // A draft that was related to a model of a context in its initialiser is inserted when it is first looked at.
      return draft?.settle(self)?.modelContext
    }
    return row.modelContext
  }

  /// The model's identity: temporary from the end of the initialiser to the first save, then final.
  public var persistentModelID: PersistentIdentifier {
    if let identifier = persistentBackingData.persistentModelID { return identifier }
    stop("\(Self.self) has backing data without an identifier")
  }

  /// ``persistentModelID``, unless the class declares an `id` of its own.
  public var id: PersistentIdentifier { persistentModelID }

  /// Whether the model has changes that are not saved.
  public var hasChanges: Bool { modelRow?.hasChanges ?? false }

  /// Whether the next save deletes the model. False again once that was saved.
  public var isDeleted: Bool { modelRow?.isDeleted ?? false }

  /// By identity, not by values: two instances of one row in two contexts are equal.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs === rhs || lhs.persistentModelID == rhs.persistentModelID
  }

  /// By ``persistentModelID``; that of a new model by the identifier that it had when it was first hashed, so that sets and dictionaries find it when it has been saved.
  public func hash(into hasher: inout Hasher) {
    if let number = modelRow?.hashNumber ?? draft?.hashNumber {
      hasher.combine(number)
    } else {
      hasher.combine(persistentModelID)
    }
  }
}

/// What `createBackingData()` makes, as what accessors take: nobody has to find out, for each instance, what an opaque type stands for. What `@Model` writes calls it when the first
/// initial value comes; an instance that is made for a row, and has none, never does.
public func _newBackingData<Model: PersistentModel>() -> any BackingData<Model> {
  ModelMaking.data(for: Model.self)
}

@usableFromInline func newDraft<Model: PersistentModel>() -> any BackingData<Model> {
  ModelMaking.draft(for: Model.self)
}

/// The backing data of an instance, made when it has none yet. What `@Model` writes calls it.
@inlinable public func _begun<Model: PersistentModel>(_ data: inout (any BackingData<Model>)?)
  -> any BackingData<Model>
{
  if let data { return data }
  // An instance that was made before is asked, perhaps while others are made for rows: it has values of its own.
  let made: any BackingData<Model> = newDraft()
  data = made
  return made
}

extension PersistentModel {
  /// The row of the context that the model reads and writes; nil while it is a draft.
  var modelRow: ModelRow? {
    let data = persistentBackingData as AnyObject
    if let row = data as? ModelRow { return row }
    // A row that was made before the model had shown itself.
    guard let draft = data as? AnyDraft, draft.successor != nil else { return nil }
    return draft.settle(self)
  }
  /// The values of a model that is in no context yet.
  var draft: AnyDraft? { (persistentBackingData as AnyObject) as? AnyDraft }
}
