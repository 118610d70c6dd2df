import CoreData

/// A name that this package has, too: nothing that is generated may take it for the other one.
protocol ManagedObject: AnyObject {
  static var shelf: String { get }
}

/// What a class of Foundation's conforms to here.
public protocol Shown {}

extension NSNumber: Shown {}

/// Properties whose types are protocols, and properties that have another name in the model.
public final class Keepsake: NSManagedObject, ManagedObject {
  static let shelf = "top"

  @NSManaged public var thing: NSCoding?
  @NSManaged public var copyable: NSCopying?
  @NSManaged public var plain: NSObjectProtocol?
  @NSManaged public var shown: Shown?
  @NSManaged public var list: [NSCoding]?
  @NSManaged public var table: [String: NSCoding]?
  @NSManaged public var count: NSCoding?
  @NSManaged public var primitiveThing: NSCoding?

  // NSManaged: Keepsake._label has the key label
  @NSManaged public var _label: String
  // NSManaged: Keepsake._parts has the key parts
  @NSManaged public var _parts: NSOrderedSet
  // NSManaged: Keepsake._whole has the key whole
  @NSManaged public var _whole: NSManagedObject?
  @NSManaged public func addToParts(_ part: Keepsake)

  /// A property of Swift alone, which hides the one of the model from Swift and not from keys.
  @nonobjc public var label: Int {
    get { _label.count }
    set { _label = String(repeating: "x", count: newValue) }
  }
}
