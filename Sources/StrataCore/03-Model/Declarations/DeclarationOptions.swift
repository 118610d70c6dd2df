import Foundation

/// What a declaration says of an attribute besides its name and type.
public struct AttributeOption: Sendable {
  enum Kind: Sendable {
    case unique
    case indexed(IndexDeclaration)
    case optional
    case required
    case renamed(String)
    case hashModifier(String)
    case rule(ValidationRule)
    case externalStorage
    case preservedInHistory
    case transformer(String)
    case userInfo([String: any Sendable])
  }
  let kind: Kind

  /// No two objects have the same value.
  public static var unique: AttributeOption { AttributeOption(kind: .unique) }
  /// An index of this attribute alone.
  public static var indexed: AttributeOption { AttributeOption(kind: .indexed(IndexDeclaration())) }
  /// An index of this attribute alone that sorts from the greatest value down.
  public static var indexedDescending: AttributeOption {
    AttributeOption(kind: .indexed(IndexDeclaration(isAscending: false)))
  }
  /// The value may be nil in a saved object, although the Swift type has no nil: the property then shows 0, false, an empty text.
  public static var optional: AttributeOption { AttributeOption(kind: .optional) }
  /// A save refuses nil, although the Swift type has it.
  public static var required: AttributeOption { AttributeOption(kind: .required) }
  /// The name that the attribute had in earlier versions of the model.
  public static func renamed(from name: String) -> AttributeOption { AttributeOption(kind: .renamed(name)) }
  /// Text that is part of the version hash.
  public static func hashModifier(_ text: String) -> AttributeOption {
    AttributeOption(kind: .hashModifier(text))
  }
  /// A rule that values must meet in every save.
  public static func rule(_ rule: ValidationRule) -> AttributeOption { AttributeOption(kind: .rule(rule)) }
  /// Numbers or dates not less than `bound`.
  public static func minimum(_ bound: AttributeValue, warning: String? = nil) -> AttributeOption {
    .rule(.minimum(bound, warning: warning))
  }
  /// Numbers or dates not greater than `bound`.
  public static func maximum(_ bound: AttributeValue, warning: String? = nil) -> AttributeOption {
    .rule(.maximum(bound, warning: warning))
  }
  /// Strings of at least `length` UTF-16 code units.
  public static func minimumLength(_ length: Int, warning: String? = nil) -> AttributeOption {
    .rule(.minimumLength(length, warning: warning))
  }
  /// Strings of at most `length` UTF-16 code units.
  public static func maximumLength(_ length: Int, warning: String? = nil) -> AttributeOption {
    .rule(.maximumLength(length, warning: warning))
  }
  /// Strings that match `pattern` from end to end.
  public static func pattern(_ pattern: String, warning: String? = nil) -> AttributeOption {
    .rule(.pattern(pattern, warning: warning))
  }
  /// Core Data's wish to keep large data outside the row; rows here always do so.
  public static var externalStorage: AttributeOption { AttributeOption(kind: .externalStorage) }
  /// Persistent history keeps the last value of a deleted object.
  public static var preservedInHistory: AttributeOption { AttributeOption(kind: .preservedInHistory) }
  /// The registered transformer that makes bytes of the values of a transformable attribute, in the place of JSON.
  public static func transformer(_ name: String) -> AttributeOption {
    AttributeOption(kind: .transformer(name))
  }
  /// Entries of the attribute's ``PropertyDescription/userInfo``. Said several times, the entries come together; of one key the last counts.
  ///
  /// `@Attribute(.userInfo(["postgres.column": "published_on"])) var published: Date?`
  public static func userInfo(_ entries: [String: any Sendable]) -> AttributeOption {
    AttributeOption(kind: .userInfo(entries))
  }
}

/// An index of a declaration, besides its elements.
struct IndexDeclaration: Sendable {
  /// Made of the elements' names where it is nil.
  var name: String?
  /// The direction of the elements that say none.
  var isAscending = true
  /// The rows that it holds; nil for all.
  var condition: IndexCondition?

  func description(_ elements: [EntityOption.IndexElement]) -> FetchIndexDescription {
    let index = FetchIndexDescription(
      name: name ?? "by" + elements.map { $0.name.prefix(1).uppercased() + $0.name.dropFirst() }.joined(),
      elements: elements.map {
        FetchIndexElementDescription(propertyName: $0.name, isAscending: $0.isAscending ?? isAscending)
      })
    index.condition = condition
    return index
  }
}

/// What a declaration says of a relationship besides its name and where it leads.
public struct RelationshipOption: Sendable {
  enum Kind: Sendable {
    case deleteRule(DeleteRule)
    case minimum(Int)
    case maximum(Int)
    case required
    case renamed(String)
    case hashModifier(String)
    case rule(ValidationRule)
    case transient
    case symmetric
    case userInfo([String: any Sendable])
  }
  let kind: Kind

  /// Deleting the object deletes those at the other end.
  public static var cascade: RelationshipOption { RelationshipOption(kind: .deleteRule(.cascade)) }
  /// Deleting the object takes it out of the other end. The default.
  public static var nullify: RelationshipOption { RelationshipOption(kind: .deleteRule(.nullify)) }
  /// The object cannot be deleted while there are objects at the other end.
  public static var deny: RelationshipOption { RelationshipOption(kind: .deleteRule(.deny)) }
  /// Deleting the object does nothing to the other end.
  public static var noAction: RelationshipOption { RelationshipOption(kind: .deleteRule(.noAction)) }
  /// The fewest members of a to-many relationship that is not empty.
  public static func minimum(_ count: Int) -> RelationshipOption {
    RelationshipOption(kind: .minimum(count))
  }
  /// The most members of a to-many relationship, at least 2.
  public static func maximum(_ count: Int) -> RelationshipOption {
    RelationshipOption(kind: .maximum(count))
  }
  /// A save refuses an object without any object at the other end.
  public static var required: RelationshipOption { RelationshipOption(kind: .required) }
  /// The name that the relationship had in earlier versions of the model.
  public static func renamed(from name: String) -> RelationshipOption {
    RelationshipOption(kind: .renamed(name))
  }
  /// Text that is part of the version hash.
  public static func hashModifier(_ text: String) -> RelationshipOption {
    RelationshipOption(kind: .hashModifier(text))
  }
  /// A rule that the objects at the other end must meet in every save.
  public static func rule(_ rule: ValidationRule) -> RelationshipOption {
    RelationshipOption(kind: .rule(rule))
  }
  /// Kept in memory only.
  public static var transient: RelationshipOption { RelationshipOption(kind: .transient) }
  /// A relationship to objects of its own class that is its own inverse: whose friend I am is my friend.
  public static var symmetric: RelationshipOption { RelationshipOption(kind: .symmetric) }
  /// Entries of the relationship's ``PropertyDescription/userInfo``. Said several times, the entries come together; of one key the last counts.
  public static func userInfo(_ entries: [String: any Sendable]) -> RelationshipOption {
    RelationshipOption(kind: .userInfo(entries))
  }
}

/// What a declaration says of an entity besides its class and its properties.
public struct EntityOption: Sendable {
  enum Kind: Sendable {
    case name(String)
    case abstract
    case unique([String])
    case index([IndexElement], IndexDeclaration)
    case renamed(String)
    case hashModifier(String)
    case configurations([String])
    case userInfo([String: any Sendable])
  }
  let kind: Kind

  /// An attribute in an index over several: its name, or `.descending("published")`.
  public struct IndexElement: Sendable, Hashable, ExpressibleByStringLiteral {
    let name: String
    /// Nil where the index says it.
    let isAscending: Bool?

    private init(_ name: String, isAscending: Bool?) {
      self.name = name
      self.isAscending = isAscending
    }
    /// The attribute `name`, in the direction that the index has.
    public init(_ name: String) { self.init(name, isAscending: nil) }
    /// The attribute of that name, in the direction that the index has.
    public init(stringLiteral name: String) { self.init(name) }
    /// The attribute `name`, from the least value up.
    public static func ascending(_ name: String) -> IndexElement { IndexElement(name, isAscending: true) }
    /// The attribute `name`, from the greatest value down.
    public static func descending(_ name: String) -> IndexElement { IndexElement(name, isAscending: false) }
  }

  /// The entity's name, where it is not the class's.
  public static func named(_ name: String) -> EntityOption { EntityOption(kind: .name(name)) }
  /// No instances of its own, only those of subentities.
  public static var abstract: EntityOption { EntityOption(kind: .abstract) }
  /// No two objects agree in all of these attributes.
  public static func unique(_ names: String...) -> EntityOption { EntityOption(kind: .unique(names)) }
  /// An index over these attributes, in this order: `.index("author", .descending("published"))`.
  ///
  /// - Parameters:
  ///   - elements: The attributes. Where one says no direction it has that of the index.
  ///   - name: The index's name; by default made of the attributes'.
  ///   - isAscending: The direction in which the index sorts.
  public static func index(_ elements: IndexElement..., name: String? = nil, isAscending: Bool = true)
    -> EntityOption
  {
    EntityOption(kind: .index(elements, IndexDeclaration(name: name, isAscending: isAscending)))
  }
  /// The name that the entity had in earlier versions of the model.
  public static func renamed(from name: String) -> EntityOption { EntityOption(kind: .renamed(name)) }
  /// Text that is part of the version hash.
  public static func hashModifier(_ text: String) -> EntityOption { EntityOption(kind: .hashModifier(text)) }
  /// The configurations that the entity belongs to, besides the default one.
  public static func configurations(_ names: String...) -> EntityOption {
    EntityOption(kind: .configurations(names))
  }
  /// Entries of the entity's ``EntityDescription/userInfo``. Said several times, the entries come together; of one key the last counts.
  public static func userInfo(_ entries: [String: any Sendable]) -> EntityOption {
    EntityOption(kind: .userInfo(entries))
  }
}
