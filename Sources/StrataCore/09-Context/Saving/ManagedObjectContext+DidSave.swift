import Dispatch

extension ManagedObjectContext {
  /// Calls `didSave()` of the objects of a save, if a class among theirs overrides it.
  func callDidSave(_ save: ToldSave) {
    if !save.hasHooks { return }
    ThreadScope.current.telling(save) {
      for objects in [save.inserted, save.updated, save.deleted] {
        ManagedObject.forEach(objects) { $0.didSave() }
      }
    }
  }

  /// Calls `didSave()` of the objects of `flight` that have taken over what was saved. False when the time is up. A hook may save, which ends this landing.
  func callDidSave(_ flight: SaveFlight, until end: UInt64?) -> Bool {
    if !flight.hasHooks {
      flight.calledCount = flight.landed.count
      return true
    }
    while !flight.isLanded, flight.calledCount < flight.landed.count {
      let next = end == nil ? flight.landed.count : min(flight.calledCount + 128, flight.landed.count)
      ThreadScope.current.telling(flight.told(flight.calledCount..<next, self)) {
        while !flight.isLanded, flight.calledCount < next {
          flight.calledCount += 1
          flight.landed[flight.calledCount - 1].didSave()
        }
      }
      if let end, !flight.isLanded, flight.calledCount < flight.landed.count,
        DispatchTime.now().uptimeNanoseconds >= end
      {
        flight.isSliced = true
        return false
      }
    }
    return true
  }
}

/// What a save did to an object whose `didSave()` is being called.
enum SavedAs: UInt8 {
  case nothing, inserted, updated, deleted
}

/// The objects of a save, or of a part of one, while their `didSave()` is called. Until then they are as the save has left them: the deleted ones are in no context,
/// and what hooks edit is a new change. They only say what the save did.
struct ToldSave {
  let context: ManagedObjectContext
  var inserted: [ManagedObject] = []
  var updated: [ManagedObject] = []
  var deleted: [ManagedObject] = []

  mutating func add(_ object: ManagedObject, _ kind: StratumRow.Kind) {
    switch kind {
    case .insert: inserted.append(object)
    case .update: updated.append(object)
    case .delete: deleted.append(object)
    }
  }

  mutating func add(_ outcome: ManagedObjectContext.SaveOutcome) {
    inserted += outcome.inserted
    updated += outcome.updated
    deleted += outcome.deleted
  }

  func mark() {
    ManagedObject.forEach(inserted) { $0.savedAs = .inserted }
    ManagedObject.forEach(updated) { $0.savedAs = .updated }
    ManagedObject.forEach(deleted) { $0.savedAs = .deleted }
  }

  func unmark() {
    ManagedObject.forEach(inserted) { $0.savedAs = .nothing }
    ManagedObject.forEach(updated) { $0.savedAs = .nothing }
    ManagedObject.forEach(deleted) { $0.savedAs = .nothing }
  }

  /// Whether `didSave()` of any of them does something.
  var hasHooks: Bool {
    DidSaveOverrides.concern(inserted) || DidSaveOverrides.concern(updated)
      || DidSaveOverrides.concern(deleted)
  }
}

/// Which classes override `didSave()`: found as ``ValidationOverrides`` finds it for validation, so that a save of objects without that hook calls nothing.
enum DidSaveOverrides {
  /// Whether `type` or one of its superclasses below `ManagedObject` overrides it, or that cannot be found out.
  static func contains(_ type: ManagedObject.Type) -> Bool {
    guard let place else { return true }
    let original = ValidationOverrides.word(place, of: ManagedObject.self)
    return ValidationOverrides.word(place, of: type) != original
  }

  /// Whether that is so for the class of any of `objects`.
  static func concern(_ objects: [ManagedObject]) -> Bool {
    var known: ObjectIdentifier?
    var found = false
    ManagedObject.forEach(objects) { object in
      // Objects of one class mostly come together.
      let type = Swift.type(of: object)
      if ObjectIdentifier(type) == known { return }
      known = ObjectIdentifier(type)
      found = found || contains(type)
    }
    return found
  }

  private static let place = ValidationOverrides.place(of: OverridesDidSave.self)
}

private final class OverridesDidSave: ManagedObject {
  override func didSave() { trap("no object is of the class that overrides didSave()") }
}
