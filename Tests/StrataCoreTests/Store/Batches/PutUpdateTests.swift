import Foundation
import Testing

@_spi(Testing) @testable import StrataCore

/// Batch updates that are put as they are found, against plain values.
struct PutUpdateTests {
  @Test(
    "random updates of rows with and without large values do what plain values do, entries and history follow"
  )
  func againstPlainValues() throws {
    let seed = testSeed()
    var random = RandomValues(seed: seed)
    let fixture = try StoreFixture()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: StoreFixture.model())
    var options = LMDBStoreOptions.scratch
    options.recordsHistory = true
    let store = try LMDBStore(
      url: fixture.directory.appendingPathComponent("Put.strata"), schema: coordinator.requireSchema(),
      options: options)
    try coordinator.attach(store)
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    var plain: [Int64: [String: AttributeValue]] = [:]
    for number in 0..<120 as Range<Int64> {
      let isSpecial = random.chance(30)
      let object = try EntityDescription.insertNewObject(
        forEntityName: isSpecial ? "Special" : "Item", into: context)
      var values: [String: AttributeValue] = ["i64": .integer(number)]
      for name in ["s", "t", "i32", "blob"] {
        let type = try #require(fixture.entity("Item").attributes.first { $0.name == name }?.type)
        values[name] = random.value(type)
      }
      for (name, value) in values { object.setValue(value.anyValue, forKey: name) }
      plain[number] = values
    }
    try context.save()
    for _ in 0..<40 {
      let (right, rest) = (Int64(random.below(6) + 1), Int64(random.below(6)))
      let predicate = FetchPredicate.compare(
        FetchComparison(
          .function(.modulus, [.key("i64"), .constant(.integer(right))]), .equal, .constant(.integer(rest))))
      var values: [String: any Sendable] = [:]
      var expected: [String: ([String: AttributeValue]) -> AttributeValue] = [:]
      func constant(_ name: String, _ value: AttributeValue) {
        values[name] = value
        expected[name] = { _ in value }
      }
      if random.chance(50) { constant("s", random.value(.string)) }
      if random.chance(50) { constant("t", random.value(.string)) }
      if random.chance(15) { constant("blob", random.value(.binaryData)) }
      if random.chance(50) || values.isEmpty {
        values["i32"] = FetchExpression.function(.modulus, [.key("i64"), .constant(3)])
        expected["i32"] = { FunctionValue.value(.modulus, [$0["i64"] ?? .null, 3]) }
      }
      var count = 0
      for (number, old) in plain where number % right == rest {
        for (name, value) in expected { plain[number]?[name] = value(old) }
        count += 1
      }
      var request = BatchUpdateRequest(entityName: "Item", predicate: predicate, propertiesToUpdate: values)
      request.step = 7
      #expect(try context.execute(request).count == count, "seed \(seed)")
      #expect(try store.check().problems == [], "seed \(seed)")
    }
    let fresh = ManagedObjectContext(.confinement, coordinator: coordinator)
    let objects = try fresh.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
    #expect(objects.count == plain.count)
    for object in objects {
      let number = try #require(object.value(forKey: "i64") as? Int64)
      for (name, value) in plain[number] ?? [:] {
        let attribute = try #require(fixture.entity("Item").attributes.first { $0.name == name })
        let found = AttributeValue(object.value(forKey: name), type: attribute.type)
        #expect(found == value, "seed \(seed): \(name) of \(number)")
      }
    }
    try coordinator.remove(store)
  }
}
