import Foundation
import Synchronization

/// What key-value coding hands out where Swift and Foundation differ; see `ManagedObjectContext.init(concurrencyType:)`.
enum KeyedValues {
  /// For objects without a context: whether there has been a context that speaks Foundation.
  static let speakFoundation = Atomic<Bool>(false)
}

extension ManagedObject {
  /// Core Data's code casts: `value(forKey: "age") as? Int`. A Swift `Int64` in an `Any` is an `Int64` and nothing else;
  /// an `NSNumber` can be cast to every number that holds it, and a `Decimal` to no other number, where an `NSDecimalNumber` can.
  final var speaksFoundation: Bool {
    context?.speaksFoundation ?? KeyedValues.speakFoundation.load(ordering: .relaxed)
  }

  /// An attribute's value as key-value coding hands it out.
  final func handedOut(_ value: AttributeValue) -> Any? {
    guard speaksFoundation else { return value.anyValue }
    switch value {
    case .integer(let number): return NSNumber(value: number)
    case .double(let number): return NSNumber(value: number)
    case .float(let number): return NSNumber(value: number)
    case .boolean(let flag): return NSNumber(value: flag)
    case .decimal(let number): return NSDecimalNumber(decimal: number)
    default: return value.anyValue
    }
  }

  /// What the object has of its own under a key, none of its entity's properties; nil where there is no such key. Fires no fault.
  final func ownProperty(_ key: String) -> Any?? {
    switch key {
    case "objectID": .some(objectID)
    case "entity": .some(entity)
    case "managedObjectContext": .some(managedObjectContext)
    case "self": .some(self)
    case "description": .some(description)
    case "isInserted": .some(handedOut(.boolean(isInserted)))
    case "isUpdated": .some(handedOut(.boolean(isUpdated)))
    case "isDeleted": .some(handedOut(.boolean(isDeleted)))
    case "isFault": .some(handedOut(.boolean(isFault)))
    case "hasChanges": .some(handedOut(.boolean(hasChanges)))
    case "hasPersistentChangedValues": .some(handedOut(.boolean(hasPersistentChangedValues)))
    default: nil
    }
  }

  /// The slot of a property of the object's entity.
  package final func propertySlot(_ name: String) -> Int? { home.entity.slot(named: name) }

  /// The members of an ordered relationship as key-value coding hands them out.
  final func handedOut(_ members: [ManagedObject]) -> Any {
    speaksFoundation ? NSOrderedSet(array: members) : members
  }
}
