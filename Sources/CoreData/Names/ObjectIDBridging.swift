import StrataCore

// An ID is a struct of two words. Where an object is asked for, `id as NSObject`, it becomes one of this class, and back by `as? NSManagedObjectID`.

/// An object that stands for an `NSManagedObjectID`: what `id as NSObject` gives, and what Foundation's collections keep of an ID.
///
/// Equal to those of the same ID only. Immutable; may be used from any thread.
public final class NSManagedObjectIDReference: NSObject, NSCopying, Sendable, _StructBridgeable {
  /// What it stands for.
  public let objectID: NSManagedObjectID

  /// An object for an ID.
  public init(_ objectID: NSManagedObjectID) { self.objectID = objectID }

  /// The object itself.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool {
    switch object {
    case let other as NSManagedObjectIDReference: other.objectID == objectID
    case let other as NSManagedObjectID: other == objectID
    default: false
    }
  }

  public override var hash: Int { objectID.hashValue }

  public override var description: String { "\(objectID)" }

  public func _bridgeToAny() -> Any { objectID }
}

extension NSManagedObjectID: NSCopying {
  /// The ID itself.
  public func copy(with zone: NSZone? = nil) -> Any { self }
}

extension NSManagedObjectID: _ObjectiveCBridgeable {
  public func _bridgeToObjectiveC() -> NSManagedObjectIDReference { NSManagedObjectIDReference(self) }

  public static func _forceBridgeFromObjectiveC(
    _ source: NSManagedObjectIDReference, result: inout NSManagedObjectID?
  ) { result = source.objectID }

  public static func _conditionallyBridgeFromObjectiveC(
    _ source: NSManagedObjectIDReference, result: inout NSManagedObjectID?
  ) -> Bool {
    result = source.objectID
    return true
  }

  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSManagedObjectIDReference?)
    -> NSManagedObjectID
  {
    source?.objectID ?? NSManagedObjectID()
  }
}
