import Foundation
import Strata

// Comparing what is with what must be.

extension RandomOperations {
  /// Every object of every context.
  func checkEverything() throws {
    for tested in tested {
      try tested.context.performAndWait {
        for key in tested.reference.objects.keys.sorted() {
          if let object = tested.reference.objects[key] { try check(object, in: tested) }
        }
        try checkCounts(tested)
      }
    }
  }

  /// What a context says of its changes.
  func checkCounts(_ tested: Tested) throws {
    let objects = tested.reference.objects.values
    let context = tested.context
    try expect(
      context.hasChanges == tested.reference.hasChanges, "\(tested.name): hasChanges is \(context.hasChanges)"
    )
    try compare(context.insertedObjects, objects.filter(\.isInserted), "inserted", tested)
    try compare(context.updatedObjects, objects.filter { $0.isUpdated && !$0.isDeleted }, "updated", tested)
    try compare(context.deletedObjects, objects.filter(\.isDeleted), "deleted", tested)
  }

  private func compare(
    _ found: Set<ManagedObject>, _ expected: [ReferenceObject], _ what: String, _ tested: Tested
  ) throws {
    let found = Set(found.map { RecordKey($0.objectID) })
    let expected = Set(expected.map(\.key))
    try expect(
      found == expected,
      "\(tested.name): \(what) objects are \(found.sorted()) and should be \(expected.sorted())")
  }

  /// The real object of `object`, which its context must know.
  func real(_ object: ReferenceObject, in tested: Tested) throws -> ManagedObject {
    if let held = object.object { return held }
    guard let found = tested.context.registeredObject(for: object.id) else {
      throw Mismatch(description: "\(tested.name): \(object.key) has changes and is not registered")
    }
    return found
  }

  /// State and, unless it is a fault, all values.
  func check(_ object: ReferenceObject, in tested: Tested) throws {
    let real = try real(object, in: tested)
    let place = "\(tested.name): \(object.key)"
    try expect(real.managedObjectContext === tested.context, "\(place) is detached")
    try expect(real.objectID == object.id, "\(place) has the ID \(real.objectID)")
    try expect(tested.context.registeredObject(for: object.id) === real, "\(place) is not unique")
    try expect(real.isInserted == object.isInserted, "\(place): isInserted is \(real.isInserted)")
    try expect(real.objectID.isTemporaryID == object.isInserted, "\(place): isTemporaryID is wrong")
    try expect(
      real.isUpdated == (object.isUpdated && !object.isDeleted), "\(place): isUpdated is \(real.isUpdated)")
    try expect(real.isDeleted == object.isDeleted, "\(place): isDeleted is \(real.isDeleted)")
    try expect(real.hasChanges == object.hasChanges, "\(place): hasChanges is \(real.hasChanges)")
    try expect(real.isFault == object.isFault, "\(place): isFault is \(real.isFault)")
    if object.isFault { return }
    for (slot, attribute) in object.attributes.enumerated() {
      try check(real, object, slot, attribute, place, tested)
    }
  }

  private func check(
    _ real: ManagedObject, _ object: ReferenceObject, _ slot: Int, _ attribute: TortureModel.Attribute,
    _ place: String, _ tested: Tested
  ) throws {
    let isUncertain = object.isUncertain(slot, store)
    let found = try value(real, attribute, place)
    if isUncertain, let base = object.snapshot {
      // Which of the later values it is depends on when it was looked at: any will do, and it stays.
      let choice = store.values(object.key, slot, since: base.stamp)
      try expect(
        choice.contains { ReferenceOrder.isIdentical($0, found) },
        "\(place).\(attribute.name) is \(brief(found)), which the store never held")
      object.loaded[slot] = found.isNull ? nil : found
      return
    }
    let expected = tested.reference.value(object, slot)
    try expect(
      ReferenceOrder.isIdentical(found, expected),
      "\(place).\(attribute.name) is \(brief(found)) and should be \(brief(expected))")
    guard let thing = real as? Thing else { return }
    let typed = thing.typedValue(slot, attribute.type) ?? .null
    try expect(
      ReferenceOrder.isIdentical(typed, expected),
      "\(place).\(attribute.name), through its accessor, is \(brief(typed)) and should be \(brief(expected))")
    guard !expected.isNull, let plain = thing.plainValue(slot, attribute.type) else { return }
    try expect(
      ReferenceOrder.isIdentical(plain, expected),
      "\(place).\(attribute.name), through its plain accessor, is \(brief(plain)), not \(brief(expected))")
  }

  /// What key-value coding answers, as a value of the attribute's type.
  private func value(
    _ real: ManagedObject, _ attribute: TortureModel.Attribute, _ place: String
  ) throws -> AttributeValue {
    let any = real.value(forKey: attribute.name)
    guard let value = AttributeValue(any, type: attribute.type) else {
      throw Mismatch(description: "\(place).\(attribute.name) is a \(type(of: any))")
    }
    return value
  }

  /// The store against the reference, seen by a context that knows nothing.
  func checkContent() throws {
    let fresh = ReferenceContext(store)
    let context = container.newBackgroundContext()
    let tested = Tested("fresh", context, fresh, .never)
    try context.performAndWait {
      for root in TortureModel.constraints.keys.sorted() {
        let request = FetchRequest<ManagedObject>(entityName: root)
        let objects = try context.fetch(request)
        let keys = objects.map { RecordKey($0.objectID) }
        let expected = store.rows.keys.filter { $0.root == root }
        try expect(
          Set(keys) == Set(expected) && keys.count == expected.count,
          "the store holds \(keys.sorted()) and should hold \(expected.sorted())")
        try expect(try context.count(for: request) == expected.count, "the count of \(root) is wrong")
        for object in objects {
          let wanted = ReferenceObject(object.objectID, object)
          wanted.isFault = true
          wanted.snapshot = store.rows[wanted.key]
          try expect(object.isFault, "\(wanted.key) was not fetched as a fault")
          object.willAccessValue(forKey: nil)
          fresh.fire(wanted)
          try check(wanted, in: tested)
        }
      }
    }
  }

  /// `StoreCheck` finds nothing, and as many rows as there must be.
  func checkStore() throws {
    for store in container.persistentStoreCoordinator.persistentStores {
      guard let store = store as? LMDBStore else { continue }
      let check = try store.check()
      try expect(check.isSound, "StoreCheck says: \(check.problems.prefix(5))")
      try expect(check.rowCount == self.store.rows.count, "StoreCheck counts \(check.rowCount) rows")
      let large = self.store.rows.values.reduce(0) { $0 + $1.large.count }
      try expect(
        check.largeValueCount == large,
        "StoreCheck counts \(check.largeValueCount) large values, not \(large)")
    }
  }

  /// A value in few words.
  func brief(_ value: AttributeValue) -> String {
    let text = "\(value)"
    return text.count > 60 ? "\(text.prefix(40))… (\(text.utf8.count) bytes)" : text
  }
}
