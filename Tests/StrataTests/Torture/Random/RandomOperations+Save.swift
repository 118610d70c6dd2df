import Foundation
import Strata

// Saving under all merge policies, and what to do when a save fails.

extension RandomOperations {
  func save(_ tested: Tested) throws {
    let policy = random.pick(
      [
        MergePolicy.error, .error, .rollback, .overwrite, .mergeByPropertyObjectTrump,
        .mergeByPropertyStoreTrump,
      ])
    try save(tested, policy)
  }

  private func save(_ tested: Tested, _ policy: MergePolicy) throws {
    note("\(tested.name): save \(policy.mergeType)")
    try checkChanged(tested)
    let before = tested.reference.objects
    let result = tested.reference.save(policy.mergeType)
    tested.context.mergePolicy = RefusingDuplicates(merge: policy.mergeType)
    let error = trySaving(tested.context)
    switch result {
    case .saved(let notice):
      if let error { throw Mismatch(description: "the save failed: \(error)") }
      spread(notice, from: tested)
      note("\(tested.name): saved \(notice)")
    case .conflict: try expectFailure(error, [.managedObjectMerge])
    case .notUnique: try expectFailure(error, [.managedObjectConstraintMerge])
    case .invalid(let count):
      try expectFailure(error, [count == 1 ? .validationMissingMandatoryProperty : .validationMultipleErrors])
      let errors = error?.userInfo[CoreDataError.Key.detailedErrors] as? [any Error]
      try expect(
        count == 1 || errors?.count == count, "\(errors?.count ?? 0) detailed errors, should be \(count)")
    }
    for (key, object) in before where tested.reference.objects[key] == nil {
      try expect(object.object?.managedObjectContext == nil, "\(key) is gone and still in its context")
    }
    forgetUnheld(tested)
    for key in tested.reference.objects.keys.sorted() {
      if let object = tested.reference.objects[key] { try check(object, in: tested) }
    }
    try repair(tested, after: result)
  }

  private func trySaving(_ context: ManagedObjectContext) -> CoreDataError? {
    do {
      try context.save()
      return nil
    } catch {
      return error as? CoreDataError ?? CoreDataError(.coreData, "threw \(error)")
    }
  }

  private func expectFailure(_ error: CoreDataError?, _ codes: [CoreDataError.Code]) throws {
    guard let error, codes.contains(error.code) else {
      throw Mismatch(
        description: "the save should fail with \(codes): \(error.map { "\($0)" } ?? "it did not")")
    }
    note("\(error.code): failed-\(error.code)")
  }

  /// Most of the time, makes the next save succeed: a failed one leaves all changes where they were (rule 136).
  private func repair(_ tested: Tested, after result: ReferenceContext.SaveResult) throws {
    switch result {
    case .saved: return
    case .conflict:
      if random.chance(60) {
        try save(tested, random.pick([.rollback, .overwrite, .mergeByPropertyObjectTrump]))
      }
    case .invalid:
      for object in tested.reference.objects.values.sorted(by: { $0.key < $1.key })
      where object.hasChanges && !object.isDeleted && object.key.root == "Thing" && random.chance(80) {
        try set(tested, object, TortureModel.rankSlot, .integer(1))
      }
      if random.chance(70) { try save(tested, .overwrite) }
    case .notUnique:
      for object in tested.reference.objects.values.sorted(by: { $0.key < $1.key })
      where object.hasChanges && !object.isDeleted && random.chance(80) {
        for slots in TortureModel.constraints[object.key.root] ?? [] {
          try set(tested, object, slots[0], .null)
        }
      }
      if random.chance(70) { try save(tested, .overwrite) }
    }
  }

  private func set(_ tested: Tested, _ reference: ReferenceObject, _ slot: Int, _ value: AttributeValue)
    throws
  {
    try real(reference, in: tested).setValue(value.anyValue, forKey: reference.attributes[slot].name)
    tested.reference.edit(reference, slot, value)
  }
}
