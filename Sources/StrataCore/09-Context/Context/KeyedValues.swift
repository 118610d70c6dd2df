import Foundation
import Synchronization

/// What key-value coding hands out where Swift and Foundation differ; see `ManagedObjectContext.init(concurrencyType:)`.
enum KeyedValues {
  /// For objects without a context: whether there has been a context that speaks Foundation.
  static let speakFoundation = Atomic<Bool>(false)
}

extension ManagedObject {
  /// Whether values are handed out as Core Data's code casts them, numbers as `NSNumber`s: see `FoundationNumbers`.
  final var speaksFoundation: Bool {
    context?.speaksFoundation ?? KeyedValues.speakFoundation.load(ordering: .relaxed)
  }

  /// An attribute's value as key-value coding hands it out.
  final func handedOut(_ value: AttributeValue) -> Any? {
    speaksFoundation ? value.foundationValue : value.anyValue
  }

  /// A transient attribute's value, which is kept as it was set, as key-value coding hands it out.
  final func handedOutTransient(_ slot: Int) -> Any? {
    guard let value = transientValue(slot) else { return nil }
    let type = home.entity.attributes[slot].type
    if speaksFoundation, type == .undefined { return FoundationNumbers.handedOut(value) }
    guard speaksFoundation, type.isNumber || type == .boolean else { return value }
    return AttributeValue(value, type: type)?.foundationValue ?? value
  }

  /// Before a to-many relationship is read or changed by Core Data's names: a fault fires, as for every property (rule 41). Views and typed classes
  /// read the members only.
  package final func fireForMembers() {
    guard state.contains(.fault), context?.speaksFoundation == true else { return }
    checkConfinementHere()
    fire()
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
