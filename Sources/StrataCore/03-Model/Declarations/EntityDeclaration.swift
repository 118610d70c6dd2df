import Foundation

/// An entity as its class declares it: what `@Managed` writes, and what a class may write by hand.
///
///     final class Book: ManagedObject {
///       static let title = Slot<Book, String>("title")
///       override class var entityDeclaration: EntityDeclaration? {
///         EntityDeclaration(Book.self, [title.attribute(default: "", .indexed)])
///       }
///       var title: String {
///         get { read(Book.title) }
///         set { write(newValue, Book.title) }
///       }
///     }
///
/// A value; `ManagedObjectModel(for:)` makes a model of several. May be used from any thread.
public struct EntityDeclaration: @unchecked Sendable {
  // @unchecked Sendable: only the metatype is not known to be Sendable, and classes are constant.

  /// The class of the entity's objects.
  public let managedObjectClass: any SlotDeclaring.Type
  /// The properties that the entity has besides inherited ones.
  public let properties: [PropertyDeclaration]
  /// What is said of the entity.
  public let options: [EntityOption]
  /// Where the class is declared, for messages.
  public let file: String
  /// The line of ``file``.
  public let line: Int

  /// A declaration of the entity of `type`, which is called like the class unless ``EntityOption/named(_:)`` says otherwise.
  public init(
    _ type: any SlotDeclaring.Type, _ properties: [PropertyDeclaration], _ options: EntityOption...,
    file: String = #fileID, line: Int = #line
  ) {
    managedObjectClass = type
    self.properties = properties
    self.options = options
    self.file = file
    self.line = line
  }

  /// The entity's name.
  public var name: String {
    for option in options { if case .name(let name) = option.kind { return name } }
    return "\(managedObjectClass)"
  }

  /// The class and its place, for messages.
  var place: String { "class \(managedObjectClass) (\(location))" }
  /// File and line, for messages.
  var location: String { "\(file):\(line)" }
}

/// One property of an entity declaration. Slots make them: `title.attribute(default: "")`.
public struct PropertyDeclaration: @unchecked Sendable {
  // @unchecked Sendable: see EntityDeclaration; default values are Sendable where they are given, and `prepare` keeps a metatype only.

  /// What the class takes the property to be.
  public let slot: NamedSlot
  /// The name.
  public var name: String { slot.name }

  enum Content {
    case attribute(type: AttributeType, isOptional: Bool, defaultValue: Any?, options: [AttributeOption])
    case transient(type: AttributeType, isOptional: Bool, defaultValue: Any?)
    case derived(type: AttributeType, expression: String, options: [AttributeOption])
    case composite(
      elements: @Sendable () -> [AttributeDescription], isOptional: Bool, options: [AttributeOption])
    case relationship(RelationshipDeclaration)
    case other(@Sendable (String) -> PropertyDescription)
  }
  let content: Content
  /// Does once what the attribute's values need: registers a transformer.
  let prepare: (() -> Void)?
  /// What keeps the values of a transformable attribute whose options name no transformer.
  let transformer: (any AttributeTransformer)?

  init(
    _ slot: NamedSlot, _ content: Content, prepare: (() -> Void)? = nil,
    transformer: (any AttributeTransformer)? = nil
  ) {
    self.slot = slot
    self.content = content
    self.prepare = prepare
    self.transformer = transformer
  }
}

/// A relationship of an entity declaration.
struct RelationshipDeclaration {
  let destination: any SlotDeclaring.Type
  let isToMany: Bool
  let isOrdered: Bool
  /// The property at the other end, where this end names it.
  let inverse: String?
  let options: [RelationshipOption]

  /// Whether it is its own inverse.
  var isSymmetric: Bool {
    options.contains { if case .symmetric = $0.kind { true } else { false } }
  }
  var isTransient: Bool {
    options.contains { if case .transient = $0.kind { true } else { false } }
  }
}
