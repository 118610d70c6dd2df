import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Uniqueness constraints with a value that lies outside of the row and that a save leaves as it is.
@Suite struct LongUniqueTests {
  private func model() -> ManagedObjectModel {
    let page = EntityDescription(
      "Page",
      properties: [
        AttributeDescription("address", .string, isOptional: true),
        AttributeDescription("digest", .binaryData, isOptional: true),
        AttributeDescription("number", .integer32, isOptional: true),
      ], uniquenessConstraints: [["address", "number"], ["digest", "number"]])
    return ManagedObjectModel(entities: [page])
  }

  private let long = String(repeating: "x", count: 1_500)

  private func expectViolation(_ context: ManagedObjectContext) {
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    context.rollback()
  }

  @Test(arguments: ["address", "digest"]) func aLongPartThatStaysIsCompared(key: String) throws {
    let stand = try ServerStand(model())
    let (value, short): (Any, Any) =
      key == "address" ? (long, "short") : (Data(long.utf8), Data([1]))
    let writer = stand.context()
    for number in 1...3 { try writer.make("Page", [key: value, "number": Int32(number)]) }
    try writer.make("Page", [key: short, "number": Int32(1)])
    try writer.save()
    let context = stand.context()
    let stored: AttributeValue = key == "address" ? .string(long) : .data(Data(long.utf8))
    let pages = try context.all("Page", by: "number", .comparison(key: key, .equal, stored))
    try #require(pages.count == 3)
    // With a row of the store.
    pages[1].setValue(1, forKey: "number")
    expectViolation(context)
    // With another row of the save.
    pages[1].setValue(9, forKey: "number")
    pages[2].setValue(9, forKey: "number")
    expectViolation(context)
    // What is free is free, and two rows exchange what they have.
    pages[1].setValue(3, forKey: "number")
    pages[2].setValue(2, forKey: "number")
    pages[0].setValue(7, forKey: "number")
    try context.save()
    let numbers = try stand.context().all("Page", by: "number").map { $0.value(forKey: "number") as? Int64 }
    #expect(numbers == [1, 2, 3, 7])
  }
}
