extension ManagedObject {
  /// Checks every property; all failures are collected (rules 225, 226, 228).
  final func validateProperties() throws {
    let hasMissing = withHome { home in home.hasRequiredSlots && hasNil(in: home.requiredSlots) }
    let hasCounts = withHome { $0.entity.hasCountedRelationships }
    if !hasMissing && !hasCounts { return }
    var failures: [CoreDataError] = []
    if hasMissing {
      home.requiredSlots.forEach { slot in
        if isNil(slot), relations?.foreign[slot] == nil { failures.append(missingValue(slot)) }
      }
    }
    if hasCounts { failures += relationshipFailures() }
    try CoreDataError.throwAll(failures)
  }

  private final func hasNil(in slots: borrowing SlotBitmap) -> Bool {
    var found = false
    slots.forEach { if isNil($0) { found = true } }
    return found
  }

  private final func isNil(_ slot: Int) -> Bool {
    if let draft, draft.isChanged(slot) { return draft.isNil(slot) }
    return snapshot?.isNil(slot, home.entity.layout) ?? (state.isDisjoint(with: .fault))
  }

  private final func missingValue(_ slot: Int) -> CoreDataError {
    let name = home.entity.attributes[slot].name
    return failure(.validationMissingMandatoryProperty, name, nil, "is a required value")
  }

  /// Counts of to-many relationships that may be wrong: of a new object all of them, of others those that have changed.
  private final func relationshipFailures() -> [CoreDataError] {
    var failures: [CoreDataError] = []
    for relationship in home.entity.relationships where relationship.isCounted {
      guard isInserted || relations?.known(relationship)?.hasChanges == true else { continue }
      let count = memberCount(relationship)
      if count == 0 {
        // Counts bind an optional relationship only when it is not empty (rule 220).
        if relationship.isOptional { continue }
        let code: CoreDataError.Code =
          relationship.minCount > 0
          ? .validationRelationshipLacksMinimumCount : .validationMissingMandatoryProperty
        failures.append(
          failure(
            code, relationship.name, 0, "needs at least \(max(relationship.minCount, 1)) objects and has none"
          ))
      } else if count < relationship.minCount {
        failures.append(
          failure(
            .validationRelationshipLacksMinimumCount, relationship.name, count,
            "needs at least \(relationship.minCount) objects and has \(count)"))
      } else if relationship.maxCount > 0, count > relationship.maxCount {
        failures.append(
          failure(
            .validationRelationshipExceedsMaximumCount, relationship.name, count,
            "takes at most \(relationship.maxCount) objects and has \(count)"))
      }
    }
    return failures
  }

  /// Checks that no relationship forbids the deletion (rule 213).
  final func validateDeletion() throws {
    guard let context, home.entity.relationships.contains(where: { $0.deleteRule == .deny }) else { return }
    let failures = context.relationshipsDenyingDeletion(of: self).map { relationship in
      failure(
        .validationRelationshipDeniedDelete, relationship.name, relatedValue(relationship),
        "is not empty: the object cannot be deleted")
    }
    try CoreDataError.throwAll(failures)
  }

  final func failure(_ code: CoreDataError.Code, _ key: String, _ value: Any?, _ words: String)
    -> CoreDataError
  {
    var userInfo: [String: Any] = [
      CoreDataError.Key.validationObject: self, CoreDataError.Key.validationKey: key,
    ]
    if let value { userInfo[CoreDataError.Key.validationValue] = value }
    return CoreDataError(code, "\(home.token.entityName).\(key) \(words).", userInfo: userInfo)
  }
}

extension CoreDataError {
  /// One failure as itself, several as one error that has them all (rule 226).
  static func throwAll(_ failures: [CoreDataError]) throws {
    if failures.isEmpty { return }
    if failures.count == 1 { throw failures[0] }
    throw CoreDataError(.validationMultipleErrors, userInfo: [Key.detailedErrors: failures])
  }
}
