import Foundation
import StrataCore

/// One record of an atomic store, in memory.
///
/// Belongs to its store, whose methods are called one at a time.
open class NSAtomicStoreCacheNode: NSObject {
  /// Whose values these are.
  public let objectID: NSManagedObjectID
  /// The values by the names of properties: attributes as key-value coding has them; for relationships the nodes at the other end, one or a set, an
  /// ordered set or an array of them, or their IDs.
  open var propertyCache: NSMutableDictionary?

  /// A node without values for the record with that ID.
  public init(objectID moid: NSManagedObjectID) { objectID = moid }

  /// The value of a property; nil when there is none.
  open func value(forKey key: String) -> Any? {
    let value = propertyCache?[key]
    return value is NSNull ? nil : value
  }

  /// Sets the value of a property; nil takes it away.
  open func setValue(_ value: Any?, forKey key: String) {
    let cache = propertyCache ?? NSMutableDictionary()
    propertyCache = cache
    if let value { cache[key] = value } else { cache.removeObject(forKey: key) }
  }
}
