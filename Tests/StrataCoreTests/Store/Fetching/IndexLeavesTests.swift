import Foundation
import Testing

@testable import StrataCore

/// Lists that are packed from the pages of an index: that they come from there, and are what a fetch finds.
struct IndexLeavesTests {
  private static func model() -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Note",
        properties: [
          AttributeDescription("text", .string, isOptional: true),
          AttributeDescription("value", .integer64, isOptional: true),
        ],
        indexes: [
          FetchIndexDescription(name: "byText", attributes: ["text"]),
          FetchIndexDescription(name: "byValue", attributes: ["value"]),
        ])
    ])
  }

  private func fixture(_ count: Int, longText: Bool = false) throws -> StoreFixture {
    let fixture = try StoreFixture(model: Self.model())
    try fixture.commit(
      inserts: (0..<count).map { number in
        var values: [String: AttributeValue] = [:]
        let text = "text \(number * 7_919 % 1_009)"
        if number % 41 != 0 { values["text"] = .string(text) }
        if number % 31 != 0 { values["value"] = .integer(Int64(number * 104_729 % 10_007) - 5_000) }
        if longText, number == count / 2 { values["text"] = .string(String(repeating: "z", count: 300)) }
        return try fixture.insert("Note", values)
      })
    return fixture
  }

  /// The primary keys of a list, in order; nil when it cannot be had from an index.
  private func packed(_ sort: String, _ fixture: StoreFixture) throws -> [UInt64]? {
    let request = try fixture.resolve("Note", sort: [FetchSort(sort)])
    let leaves = try fixture.store.withSortKeys(request) {
      IndexLeaves($0, store: 0, code: 0, hasSections: false)?.packed(SectionNames(nil), hasSections: false)
    }
    return leaves?.flatMap { leaf in
      (0..<leaf.count).map { ResultEntry.primaryKey(leaf.identity($0)) }
    }
  }

  @Test(
    "a list comes from the pages of its index, also when several threads pack it",
    arguments: [1, 500, 30_000])
  func comesFromTheIndex(count: Int) throws {
    let fixture = try fixture(count)
    for sort in ["text", "value"] {
      let found = try packed(sort, fixture)
      #expect(found == (try fixture.fetch("Note", sort: [FetchSort(sort)]).rows.map(\.primaryKey)), "\(sort)")
    }
  }

  @Test("an index with a value that is too long for its key leaves its list to a fetch")
  func cutKeys() throws {
    let fixture = try fixture(30_000, longText: true)
    #expect(try packed("text", fixture) == nil)
    #expect(try packed("value", fixture)?.count == 30_000)
  }
}
