import Foundation

/// What attributes and relationships have in common. Core Data's `NSPropertyDescription`.
///
/// Mutable until a coordinator takes the model; then every mutation traps, naming the property (rule 298).
///
/// Equal are properties of one kind, name and version in entities of one name: ``isEqual(_:)``.
public class PropertyDescription: NSObject, @unchecked Sendable {
  // @unchecked Sendable: mutated only before it is frozen, by the one thread that builds the model (as with
  // any object under construction); from then on every stored property is constant.

  /// The name, unique among the entity's own and inherited properties.
  public var name: String { willSet { requireMutable("name") } }
  /// Whether the property may be nil when the object is saved.
  public var isOptional = true { willSet { requireMutable("isOptional") } }
  /// Whether the property is kept in memory only.
  public var isTransient = false { willSet { requireMutable("isTransient") } }
  /// What the values must meet in every save, besides being there. No part of the version hash.
  public var validationRules: [ValidationRule] = [] { willSet { requireMutable("validationRules") } }
  /// Anything the application wants to keep with the property: strings, numbers, booleans, dates, data, UUIDs,
  /// URLs, and arrays and string-keyed dictionaries of those. Never nil; setting nil empties it.
  ///
  /// May be read and set from any thread, also while the model is in use: it is no part of the version hash. What a store's copy of the model
  /// has is what there was when the store was opened.
  public var userInfo: [AnyHashable: Any]? {
    get { notes.values }
    set { notes.values = newValue ?? [:] }
  }
  private let notes = UserInfo()
  /// The canonical old name, for migration (rule 308). The name itself unless set.
  public var renamingIdentifier: String? {
    get { explicitRenamingIdentifier ?? name }
    set { explicitRenamingIdentifier = newValue }
  }
  /// Text that is part of the version hash, to mark a change that the description does not show.
  public var versionHashModifier: String? { willSet { requireMutable("versionHashModifier") } }
  /// The entity that declares the property; nil until it belongs to one.
  @_disfavoredOverload public internal(set) var entity: EntityDescription? {
    get { entityReference?.target }
    set { entityReference = newValue?.ownReference }
  }
  private var entityReference: BackReference<EntityDescription>?

  /// Whether an index over this attribute alone was asked for, as Core Data's `isIndexed` does.
  package var wantsIndex = false {
    willSet { requireMutable("isIndexed") }
    didSet { entity?.settleIndex(of: self) }
  }

  var explicitRenamingIdentifier: String? { willSet { requireMutable("renamingIdentifier") } }
  var isFrozen = false

  init(name: String) {
    self.name = name
    super.init()
  }

  /// The property's version hash: 32 bytes over what rule 299 lists.
  public var versionHash: Data { VersionHash.hash(of: self) }

  final func requireMutable(_ property: String) {
    guard !isFrozen else {
      let owner = entity?.name.map { $0 + "." } ?? ""
      trap(
        """
        \(owner)\(name).\(property) was set after the model was taken into use; \
        change the model before a coordinator uses it, or a copy of it
        """)
    }
  }

  func freeze() { isFrozen = true }

  // MARK: Equality

  /// Whether `object` is a property of the same kind, name and version hash, in an entity of the same name, or in none as this one. What is no part of the hash does not
  /// count. Fetched properties and columns of results, of which no hash says what they are, are equal to themselves only.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? PropertyDescription else { return false }
    if self === other { return true }
    return !isComputed && type(of: self) == type(of: other) && name == other.name
      && entity?.name == other.entity?.name && (entity == nil) == (other.entity == nil)
      && versionHash == other.versionHash
  }

  /// That of the name: a property is not to be renamed while it is in a set.
  public override var hash: Int { name.hashValue }

  // MARK: Properties of higher floors

  /// Whether the property has no values of its own: it takes no slot, is no part of the store's copy of the model and none of
  /// version hashes.
  var isComputed: Bool { false }

  /// What is wrong with a computed property of a valid `model`, one sentence each.
  func sentences(_ place: String, in model: ManagedObjectModel) -> [String] { [] }

  /// A computed property like this one, for a copy of the model.
  func copyOfComputed() -> PropertyDescription? { nil }
}
