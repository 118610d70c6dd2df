import Foundation
import StrataCore

/// The values of one record of an incremental store, and the version they are of.
///
/// Belongs to the store that makes it: `execute(_:with:)` and the other methods are called one at a time.
open class NSIncrementalStoreNode: NSObject {
  /// Whose values these are.
  public let objectID: NSManagedObjectID
  /// The version of the record. When it is another one than before, what is based on the one before is in conflict.
  open private(set) var version: UInt64
  private var values: [String: Any]

  /// The values of a record by the names of its properties: attributes as key-value coding has them, to-one relationships as `NSManagedObjectID`, with
  /// `NSNull` for none. A relationship that is left out is asked for with `newValue(forRelationship:forObjectWith:with:)`.
  public init(objectID: NSManagedObjectID, withValues values: [String: Any], version: UInt64) {
    self.objectID = objectID
    self.values = values
    self.version = version
  }

  /// Takes other values, for those that `values` names, and another version.
  open func update(withValues values: [String: Any], version: UInt64) {
    self.values.merge(values) { $1 }
    self.version = version
  }

  /// The value of a property; nil when the node has none.
  open func value(for prop: NSPropertyDescription) -> Any? { values[prop.name] }
}
