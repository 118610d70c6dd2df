import Foundation

extension ManagedObjectContext {
  /// Validates every changed object, inserted, updated, deleted ones in this order, collecting all failures (rules 136, 144, 233).
  ///
  /// What validation changes, here and in other objects, belongs to the same save: it is told, `willSave()` is called for it, and
  /// everything is validated again, until the values stay as they are (rule 230). Only then are failures reported.
  func validatePendingChanges() throws {
    // From here on what is noted is what validation has changed.
    if changes.hasNoted { tellChanges() }
    var before: [ObjectIdentifier: ValidatedState] = [:]
    for _ in 0..<Self.mostValidationRounds {
      saving.toldInValidation = []
      let failures = collectFailures()
      let noted = changes.noted
      let told = saving.toldInValidation ?? []
      saving.toldInValidation = nil
      if told.isEmpty, noted.isEmpty { return try CoreDataError.throwAll(failures) }
      let changed = told + noted
      tellChanges()
      // Validation may set what is there already, as often as it likes.
      var after: [ObjectIdentifier: ValidatedState] = [:]
      for object in changed { after[ObjectIdentifier(object)] = ValidatedState(object) }
      if after == before { return try CoreDataError.throwAll(failures) }
      before = after
      try runWillSave(on: noted)
      settleDeletions()
    }
    throw CoreDataError(
      .coreData,
      "Validation changes objects every time it runs; \(Self.mostValidationRounds) rounds were made. Let it come to an end: "
        + "what is valid must stay as it is.")
  }

  private static let mostValidationRounds = 100

  private func collectFailures() -> [any Error] {
    var failures: [any Error] = []
    func collect(_ validate: () throws -> Void) {
      do { try validate() } catch { failures += CoreDataError.singles(error) }
    }
    if schema.derivedSources != nil {
      for object in changes.inserted + changes.updated { failures += object.derivedFailures() }
    }
    // Validation of one object may delete or take back another.
    ManagedObject.forEach(changes.inserted) { object in
      if object.state.contains(.inserted) { collect { try object.validateForInsert() } }
    }
    ManagedObject.forEach(changes.updated) { object in
      guard object.state.contains(.updated), !object.state.contains(.deleted) else { return }
      collect { try object.validateForUpdate() }
    }
    for object in changes.deleted where object.state.contains(.deleted) && !object.state.contains(.rowGone) {
      collect(object.validateForDelete)
    }
    // Not left to overrides that do not call super: what cannot become bytes would be lost.
    if ManagedObject.haveRefusedValues {
      for object in changes.inserted + changes.updated where !object.state.contains(.deleted) {
        failures += object.refusalFailures().filter { !failures.contains($0, of: object) }
      }
    }
    return failures
  }
}

extension [any Error] {
  /// Whether one of the failures is about the same property of `object`.
  fileprivate func contains(_ failure: CoreDataError, of object: ManagedObject) -> Bool {
    contains { other in
      guard let info = (other as? CoreDataError)?.userInfo ?? (other as? CocoaError)?.userInfo else {
        return false
      }
      return info[CoreDataError.Key.validationObject] as? ManagedObject === object
        && info[CoreDataError.Key.validationKey] as? String
          == failure.userInfo[CoreDataError.Key.validationKey] as? String
    }
  }
}

/// What an object was when validation had changed it.
private struct ValidatedState: Equatable {
  private let isNew: Bool
  private let isDeleted: Bool
  /// The edited attributes and references, by slot.
  private var values: [Int: AttributeValue] = [:]
  /// What was done to members: relationship, member, whether it was taken out.
  private var members: [UInt64] = []

  init(_ object: ManagedObject) {
    isNew = object.isMarkedInserted
    isDeleted = object.isMarkedDeleted
    if let draft = object.draft { draft.changed.forEach { values[$0] = draft[$0] } }
    for (slot, value) in object.transients ?? [:] where slot >= 0 {
      values[slot] = AttributeValue(value, type: .undefined)
    }
    for (number, state) in object.relations?.states ?? [] {
      for entry in state.changes.effective {
        members += [UInt64(number), entry.member, entry.isRemoval ? 1 : 0]
      }
    }
  }
}
