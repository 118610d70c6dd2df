import Foundation
import Strata
import Testing

/// Batch inserts whose rows are filled by column (rules 270–273). `BatchUpsertTests` has uniqueness.
struct BatchRowTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  private func error(
    _ columns: [String], _ entity: String = "Entry", in context: ManagedObjectContext? = nil,
    _ fill: @escaping (inout BatchRow) -> Void
  ) -> String {
    var isDone = false
    let request = BatchInsertRequest(entityName: entity, columns: columns) { row in
      defer { isDone = true }
      if !isDone { fill(&row) }
      return isDone
    }
    do {
      try (context ?? self.context).execute(request)
      return "none"
    } catch {
      return "\(error)"
    }
  }

  @Test("rule 272, beyond: rows are filled by column, defaults for what is not set, nil for nil")
  func rowsAreFilled() throws {
    var number = 0
    var request = BatchInsertRequest(
      entityName: "Entry", columns: ["location", "rating", "height", "notes"]
    ) { row in
      if number == 10 { return true }
      row.set(0, "Reef \(number)")
      if number.isMultiple(of: 2) { row.set(1, Int16(1)) }
      row.set(2, number == 3 ? nil : 2.5)
      row.set(3, .string("note \(number)"))
      number += 1
      return false
    }
    request.resultType = .count
    #expect(try context.execute(request).count == 10)
    let entries = try store.context().entries()
    #expect(entries.map(\.rating) == [1, 3, 1, 3, 1, 3, 1, 3, 1, 3])
    #expect(entries.map(\.location) == (0..<10).map { "Reef \($0)" })
    #expect(entries.map(\.notes) == (0..<10).map { "note \($0)" })
    #expect(entries[3].value(forKey: "height") == nil)
    #expect(entries[4].height == 2.5)
    #expect(try store.problems() == [])
  }

  @Test("numbers are taken as setValue takes them, when nothing is lost")
  func numbersAreConverted() throws {
    var isDone = false
    try context.execute(
      BatchInsertRequest(entityName: "Entry", columns: ["location", "rating", "height"]) { row in
        if isDone { return true }
        isDone = true
        row.set(0, "x")
        row.set(1, 4)
        row.set(2, 3)
        return false
      })
    let entry = try #require(try store.context().entries().first)
    #expect(entry.rating == 4)
    #expect(entry.height == 3)
  }

  @Test("rule 270: what would break the model is refused with the record's number, and nothing is inserted")
  func brokenValuesAreRefused() throws {
    #expect(error(["location", "waves"]) { $0.set(0, "x") }.contains("Entry has no property “waves”"))
    #expect(error(["location", "location"]) { $0.set(0, "x") }.contains("lists the column “location” twice"))
    #expect(error(["location", "mood"]) { $0.set(0, "x") }.contains("is transient"))
    let wrongType = error(["location"]) { $0.set(0, 7) }
    #expect(wrongType.contains("is of type string and cannot take Int64 7"))
    #expect(wrongType.contains("Record 1"))
    #expect(
      error(["location", "rating"]) {
        $0.set(0, "x")
        $0.set(1, 70_000)
      }.contains("integer16"))
    // The first refusal counts, whatever is set afterwards.
    #expect(
      error(["location"]) {
        $0.set(0, 7)
        $0.set(0, "x")
      }.contains("cannot take"))
    let nothing: String? = nil
    #expect(error(["location"]) { $0.set(0, nothing) }.contains("required"))
    #expect(error(["location"]) { $0.setValue(NSNull(), forColumn: 0) }.contains("required"))
    #expect(try context.entryCount() == 0)
  }

  @Test("composites by dictionary or by element, transformables by their value")
  func richValues() throws {
    let store = try TemporaryStore(ParcelModel.make())
    let context = store.context()
    var number = 0
    try context.execute(
      BatchInsertRequest(entityName: "Parcel", columns: ["label", "tint", "address", "address.city", "seal"])
      {
        row in
        number += 1
        switch number {
        case 1:
          row.set(0, "one")
          row.setValue(Tint(red: 0.5, green: 1), forColumn: 1)
          row.setValue(["city": "Torquay", "place": ["latitude": -38.3]], forColumn: 2)
        case 2:
          row.set(0, "two")
          row.set(3, "Lorne")
          row.setValue(Seal("wax"), forColumn: 4)
        default: return true
        }
        return false
      })
    var request = FetchRequest<Parcel>(entityName: "Parcel")
    request.sortDescriptors = [FetchSort("label")]
    let parcels = try store.context().fetch(request)
    try #require(parcels.count == 2)
    #expect(parcels[0].tint == Tint(red: 0.5, green: 1))
    #expect(parcels[0].value(forKeyPath: "address.place.latitude") as? Double == -38.3)
    #expect(parcels[1].address?["city"] as? String == "Lorne")
    #expect(parcels[1].seal == Seal("wax"))
    #expect(
      error(["label", "seal"], "Parcel", in: context) {
        $0.set(0, "three")
        $0.setValue(Seal("refused"), forColumn: 1)
      }.contains("this is no seal"))
  }

  @Test("many rows go through the file beside the store, in their order")
  func manyRows() throws {
    let notes = String(repeating: "long ", count: 100)
    var number = 0
    var request = BatchInsertRequest(entityName: "Entry", columns: ["location", "notes"]) { row in
      if number == 50_000 { return true }
      row.set(0, .string("\(100_000 + number)"))
      row.set(1, notes)
      number += 1
      return false
    }
    request.mergesIntoContext = false
    try context.execute(request)
    let entries = try store.context().entries()
    #expect(entries.map(\.location) == (0..<50_000).map { "\(100_000 + $0)" })
    #expect(entries.last?.notes == notes)
    #expect(try store.problems() == [])
  }
}
