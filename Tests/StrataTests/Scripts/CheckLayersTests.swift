import Foundation
import Testing

/// `Scripts/check-layers` on small floor trees of three floors.
struct CheckLayersTests {
  let script = repository.appendingPathComponent("Scripts/check-layers").path

  private func makeFloors() throws -> TemporaryFolder {
    let floors = try TemporaryFolder()
    try floors.write("struct Page { var number = 0 }\n", to: "01-Storage/Page.swift")
    try floors.write("struct Row { var page = Page() }\n", to: "02-Record/Row.swift")
    try floors.write("struct Store { var rows: [Row] = [] }\n", to: "03-Store/Store.swift")
    return floors
  }

  @Test func floorsInOrderStand() throws {
    let floors = try makeFloors()
    defer { floors.remove() }
    let result = try Command.run(script, [floors.url.path])
    #expect(result.exitCode == 0, "\(result.errors)")
    #expect(result.output.contains("03-Store stands"))
  }

  @Test func anUpwardReferenceFailsNamingFileAndSymbol() throws {
    let floors = try makeFloors()
    defer { floors.remove() }
    try floors.write(
      "struct Page { var number = 0; var owner: Store? { nil } }\n", to: "01-Storage/Page.swift")
    let result = try Command.run(script, [floors.url.path])
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("01-Storage/Page.swift"))
    #expect(result.errors.contains("'Store'"))
  }

  @Test func anUpwardCallOfAMethodAddedAboveFails() throws {
    let floors = try makeFloors()
    defer { floors.remove() }
    try floors.write("extension Page { func check() {} }\n", to: "03-Store/Page+Check.swift")
    try floors.write(
      "struct Row { var page = Page(); func check() { page.check() } }\n", to: "02-Record/Row.swift")
    let result = try Command.run(script, [floors.url.path])
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("02-Record/Row.swift"))
    #expect(result.errors.contains("'check'"))
  }

  @Test func aFileOutsideTheFloorsFails() throws {
    let floors = try makeFloors()
    defer { floors.remove() }
    try floors.write("struct Stray {}\n", to: "Stray.swift")
    let result = try Command.run(script, [floors.url.path])
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("Stray.swift"))
  }
}
