import Foundation

extension ManagedObject {
  /// Checks every property; all failures are collected (rules 225, 226, 228).
  ///
  /// An entity without rules and validators is looked at slot by slot for values that are missing, nothing else. Rules are checked
  /// on the values as they lie in the row or the edits; only what a class checks itself is put into an `Any`.
  final func validateProperties() throws {
    let hasMissing = withHome { home in home.hasRequiredSlots && hasNil(in: home.requiredSlots) }
    let hasMore = withHome { $0.entity.hasMoreToValidate }
    let refusals = refusalFailures()
    if !hasMissing && !hasMore { return try CoreDataError.throwAll(refusals) }
    let entity = home.entity
    var failures: [any Error] = refusals
    if entity.checksEveryValue {
      // Those that the class can name and set: not what the store derives, nor composites beside their elements.
      validateValues(in: entity.slotsToValidate, &failures)
      if entity.hasComposites { failures += compositeFailures() }
      return try CoreDataError.throwAll(failures)
    }
    var failed = SlotBitmap()
    if hasMissing {
      home.requiredSlots.forEach { slot in
        guard isNil(slot), relations?.foreign[slot] == nil else { return }
        failures.append(missingValue(slot))
        failed.insert(slot)
      }
    }
    if entity.hasComposites { failures += compositeFailures() }
    if entity.hasCountedRelationships { checkCounts(&failures, &failed) }
    if !entity.rules.isEmpty { checkRules(&failures, &failed) }
    if entity.hasValidators {
      let keys = ClassValidators.of(type(of: self)).keys
      // A validator is asked about what has passed the model.
      validateValues(
        in: keys.compactMap { entity.slot(named: $0) }.filter { !failed.contains($0) }, &failures)
    }
    try CoreDataError.throwAll(failures)
  }

  private final func hasNil(in slots: borrowing SlotBitmap) -> Bool {
    // Most often all of them were set.
    if let draft, draft.hasGivenValues(in: slots) { return false }
    var found = false
    slots.forEach { if isNil($0) { found = true } }
    return found
  }

  private final func isNil(_ slot: Int) -> Bool {
    // What a transformer refuses is reported as that.
    if let draft, draft.isChanged(slot) { return draft.isNil(slot) && !isRefused(slot) }
    return snapshot?.isNil(slot, home.entity.layout) ?? (state.isDisjoint(with: .fault))
  }

  final func missingValue(_ slot: Int) -> CoreDataError {
    let name = home.entity.attributes[slot].name
    var words = "is a required value"
    if let lost = deletedTarget(slot) {
      words =
        "of \(Self.spelled(objectID)) would lose its object, \(Self.spelled(lost)), which was deleted, and \(words)"
    }
    return failure(.validationMissingMandatoryProperty, name, nil, words)
  }

  /// What a to-one relationship led to when the object was read or saved, if that is deleted in the context.
  private final func deletedTarget(_ slot: Int) -> ManagedObjectID? {
    guard let context, home.entity.relationship(slot: slot)?.isTransient == false,
      case .reference(let bits)? = snapshot?.value(slot, home.entity.layout), bits != 0,
      context.isDeletedHere(bits, inStore: home.storeIndex)
    else { return nil }
    return context.identifier(bits, inStore: home.storeIndex)
  }

  /// The entity, and the key as the URI has it: `Recipe/p1`.
  private static func spelled(_ identifier: ManagedObjectID) -> String {
    "\(identifier.entityName)/\(identifier.description.split(separator: "/").last ?? "")"
  }

  // MARK: Counts

  /// Counts of to-many relationships that may be wrong: of a new object all of them, of others those that have changed.
  private final func checkCounts(_ failures: inout [any Error], _ failed: inout SlotBitmap) {
    for relationship in home.entity.relationships where relationship.isCounted {
      guard isLookedAt(relationship.slot),
        let failure = countFailure(
          relationship, memberCount(relationship), of: relatedValue(relationship))
      else { continue }
      failures.append(failure)
      failed.insert(relationship.slot)
    }
  }

  /// What is wrong with so many members. `members` is the relationship's value, which the error has.
  final func countFailure(
    _ relationship: RelationshipSchema, _ count: Int, of members: @autoclosure () -> Any?
  ) -> CoreDataError? {
    guard relationship.isCounted else { return nil }
    if count == 0 {
      // Counts bind an optional relationship only when it is not empty (rule 220); a mandatory one without a minimum may be empty, too.
      if relationship.isOptional || relationship.minCount == 0 { return nil }
      return failure(
        .validationRelationshipLacksMinimumCount, relationship.name, members(),
        "needs at least \(relationship.minCount) objects and has none")
    }
    if count < relationship.minCount {
      return failure(
        .validationRelationshipLacksMinimumCount, relationship.name, members(),
        "needs at least \(relationship.minCount) objects and has \(count)")
    }
    if relationship.maxCount > 0, count > relationship.maxCount {
      return failure(
        .validationRelationshipExceedsMaximumCount, relationship.name, members(),
        "takes at most \(relationship.maxCount) objects and has \(count)")
    }
    return nil
  }

  // MARK: Rules

  private final func checkRules(_ failures: inout [any Error], _ failed: inout SlotBitmap) {
    for property in home.entity.rules {
      // The common case: a number or a date that was edited and is within its bounds.
      if let bounds = property.bounds, let edits, edits.header.pointee.changed.contains(property.slot),
        bounds.admit(edits.value(property.slot))
      {
        continue
      }
      let found = self.failures(of: property)
      if found.isEmpty { continue }
      failures += found
      failed.insert(property.slot)
    }
  }

  /// What the rules say of the value that is in memory. Large values beside the row that were not edited are not read again:
  /// they met the rules when they were written.
  private final func failures(of property: PropertyRules) -> [CoreDataError] {
    let slot = property.slot
    let type = home.entity.attributes[slot].type
    if type == .transformable || type == .composite {
      guard !state.contains(.fault), let value = keyedValue(slot) else { return [] }
      return failures(ofAny: value, property)
    }
    if let draft, draft.isChanged(slot), home.entity.relationship(slot: slot) == nil {
      return draft.isNil(slot) ? [] : failures(of: draft[slot], property)
    }
    if let relationship = home.entity.relationship(slot: slot) {
      guard isLookedAt(slot), relationship.isToMany || !state.contains(.fault),
        let value = relatedValue(relationship)
      else { return [] }
      return failures(ofAny: value, property)
    }
    let attribute = home.entity.attributes[slot]
    if attribute.isTransient {
      guard let value = transientValue(slot), !isRefused(slot) else { return [] }
      let typed = AttributeValue(value, type: attribute.type)
      if typed?.isNull == true { return [] }
      guard let typed, attribute.type != .undefined else { return failures(ofAny: value, property) }
      return failures(of: typed, property)
    }
    guard let value = snapshot?.value(slot, home.entity.layout), !value.isNull else { return [] }
    return failures(of: value, property)
  }

  final func failures(of value: AttributeValue, _ property: PropertyRules) -> [CoreDataError] {
    var failures: [CoreDataError] = []
    for rule in property.rules {
      guard let found = rule.test.failure(of: value) else { continue }
      failures.append(failure(found, rule.rule, property.slot, value.anyValue))
    }
    return failures
  }

  final func failures(ofAny value: Any?, _ property: PropertyRules) -> [CoreDataError] {
    property.rules.compactMap { rule in
      rule.test.failure(ofAny: value).map { failure($0, rule.rule, property.slot, value) }
    }
  }

  private final func failure(
    _ found: CompiledRule.Failure, _ rule: ValidationRule, _ slot: Int, _ value: Any?
  ) -> CoreDataError {
    failure(
      found.code, home.entity.attributes[slot].name, value, found.words, predicate: rule.predicate,
      warning: rule.warning)
  }

  // MARK: Deletion

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

  // MARK: Errors

  /// Runs a check; in a context used by Core Data's names its errors are `CocoaError`s, as Core Data's code expects to catch them.
  final func speaking(_ check: () throws -> Void) throws {
    do { try check() } catch let error as CoreDataError where speaksFoundation { throw error.cocoaError }
  }

  /// An error with what rule 227 asks for. `warning`, if there is one, is all it says.
  final func failure(
    _ code: CoreDataError.Code, _ key: String, _ value: Any?, _ words: String,
    predicate: (any ValidationPredicate)? = nil, warning: String? = nil, underlying: (any Error)? = nil
  ) -> CoreDataError {
    var userInfo: [String: Any] = [
      CoreDataError.Key.validationObject: self, CoreDataError.Key.validationKey: key,
    ]
    if let value {
      userInfo[CoreDataError.Key.validationValue] =
        speaksFoundation ? FoundationNumbers.handedOut(value) : value
    }
    if let predicate { userInfo[CoreDataError.Key.validationPredicate] = predicate }
    if let underlying { userInfo[NSUnderlyingErrorKey] = underlying }
    let localized = home.entity.entityDescription.managedObjectModel?.localizationDictionary
    let entity = home.token.entityName
    let sentence =
      warning.map { localized?["ErrorString/\($0)"] ?? $0 }
      ?? "\(localized?["Entity/\(entity)"] ?? entity)."
      + "\(localized?["Property/\(key)/Entity/\(entity)"] ?? localized?["Property/\(key)"] ?? key) \(words)\(words.hasSuffix(".") ? "" : ".")"
    return CoreDataError(code, sentence, userInfo: userInfo)
  }
}

extension CoreDataError {
  /// One failure as itself, several as one error that has them all (rule 226).
  static func throwAll(_ failures: [any Error]) throws {
    if failures.isEmpty { return }
    if failures.count == 1 { throw failures[0] }
    throw CoreDataError(
      .validationMultipleErrors, list(of: failures), userInfo: [Key.detailedErrors: failures])
  }

  private static let longestList = 10

  /// What is wrong, one line for each; what is wrong with several objects in the same way is one line.
  private static func list(of failures: [any Error]) -> String {
    var lines: [(text: String, count: Int)] = []
    var places: [String: Int] = [:]
    for failure in failures {
      let text = (failure as? CoreDataError)?.errorDescription ?? failure.localizedDescription
      if let place = places[text] {
        lines[place].count += 1
      } else {
        places[text] = lines.count
        lines.append((text, 1))
      }
    }
    let shown = lines.prefix(longestList).map { line in
      "\n- \(line.text)" + (line.count > 1 ? " (\(line.count) times)" : "")
    }
    let rest = lines.count - shown.count
    return "\(failures.count) values are not valid:" + shown.joined()
      + (rest > 0 ? "\n- and \(rest) more; all of them are under \(Key.detailedErrors)." : "")
  }

  /// The failures that `error` stands for.
  static func singles(_ error: any Error) -> [any Error] {
    let several = (error as? CoreDataError)?.userInfo ?? (error as? CocoaError)?.userInfo
    return several?[Key.detailedErrors] as? [any Error] ?? [error]
  }
}

extension EntitySchema {
  /// The properties whose values a class that wants to see every one is handed.
  fileprivate var slotsToValidate: [Int] {
    attributes.indices.filter { slot in
      slot != baselineSlot && !derivedSlots.contains(slot) && attributes[slot].type != .composite
    }
  }
}
