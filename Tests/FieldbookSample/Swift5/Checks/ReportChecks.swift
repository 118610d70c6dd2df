import SwiftData
import Testing

@Suite("Fieldbook: reports")
struct ReportChecks {
  @Test("A report groups by species, the rarest first, and is a value")
  func report() throws {
    let context = try makeSampleContext()
    context.insert(Sighting(note: "?", date: SampleData.day(5)))
    let report = try FieldReport(context, from: SampleData.day(2), until: SampleData.day(7))
    #expect(report.lines.map(\.species) == ["Turtle Dove", "Swift", "Lapwing", "Osprey", "Red Kite"])
    #expect(report.lines.map(\.animals) == [7, 6, 4, 5, 3])
    #expect(report.unidentified == 1 && report.observers == ["Ada Brook", "Ben Hale"])
    #expect(report.text.hasPrefix("! Turtle Dove     7  Harbour Wall\n! Swift           6  Old Quarry\n"))
    let copy = try JSONDecoder().decode(FieldReport.self, from: JSONEncoder().encode(report))
    #expect(copy == report)
  }

  @Test("A report of no days is empty")
  func nothing() throws {
    let report = try FieldReport(try makeSampleContext(), from: SampleData.day(50), until: SampleData.day(60))
    #expect(report.lines.isEmpty && report.text.isEmpty)
  }
}
