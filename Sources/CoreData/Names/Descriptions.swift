import StrataCore

/// The entities of a store.
public typealias NSManagedObjectModel = ManagedObjectModel
/// A kind of record.
public typealias NSEntityDescription = EntityDescription
/// What an entity has: an attribute, a relationship, a fetched property.
public typealias NSPropertyDescription = PropertyDescription
/// An attribute of an entity.
public typealias NSAttributeDescription = AttributeDescription
/// An attribute whose value the store computes.
public typealias NSDerivedAttributeDescription = DerivedAttributeDescription
/// An attribute made of attributes.
public typealias NSCompositeAttributeDescription = CompositeAttributeDescription
/// A relationship of an entity.
public typealias NSRelationshipDescription = RelationshipDescription
/// An index of an entity.
public typealias NSFetchIndexDescription = FetchIndexDescription
/// One key of an index.
public typealias NSFetchIndexElementDescription = FetchIndexElementDescription
/// How an index keeps a key.
public typealias NSFetchIndexElementType = FetchIndexElementType
/// The type of an attribute.
public typealias NSAttributeType = AttributeType
/// What happens to the objects at a relationship's other end.
public typealias NSDeleteRule = DeleteRule

// The cases by Apple's names. They can be compared and switched over; a switch needs a `default`.

extension NSAttributeType {
  public static var undefinedAttributeType: NSAttributeType { .undefined }
  public static var integer16AttributeType: NSAttributeType { .integer16 }
  public static var integer32AttributeType: NSAttributeType { .integer32 }
  public static var integer64AttributeType: NSAttributeType { .integer64 }
  public static var decimalAttributeType: NSAttributeType { .decimal }
  public static var doubleAttributeType: NSAttributeType { .double }
  public static var floatAttributeType: NSAttributeType { .float }
  public static var stringAttributeType: NSAttributeType { .string }
  public static var booleanAttributeType: NSAttributeType { .boolean }
  public static var dateAttributeType: NSAttributeType { .date }
  public static var binaryDataAttributeType: NSAttributeType { .binaryData }
  public static var UUIDAttributeType: NSAttributeType { .uuid }
  public static var URIAttributeType: NSAttributeType { .uri }
  public static var transformableAttributeType: NSAttributeType { .transformable }
  public static var objectIDAttributeType: NSAttributeType { .objectID }
  public static var compositeAttributeType: NSAttributeType { .composite }

  /// The type with Core Data's number, which is at once the raw value.
  public init?(rawValue: UInt) {
    guard let number = Int16(exactly: rawValue) else { return nil }
    self.init(rawValue: number)
  }
  /// The same for a literal.
  public init?(rawValue: Int) {
    guard let number = Int16(exactly: rawValue) else { return nil }
    self.init(rawValue: number)
  }
  /// Core Data's number.
  public var rawValue: UInt { UInt(self.StrataCore::rawValue) }
}

extension NSDeleteRule {
  public static var noActionDeleteRule: NSDeleteRule { .noAction }
  public static var nullifyDeleteRule: NSDeleteRule { .nullify }
  public static var cascadeDeleteRule: NSDeleteRule { .cascade }
  public static var denyDeleteRule: NSDeleteRule { .deny }
}
