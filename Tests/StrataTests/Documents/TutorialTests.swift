import Foundation
import Strata
import Testing

/// The tutorial's code is the source file `TutorialExample.swift`, and it works.
@MainActor struct TutorialTests {
  private func withLog(_ work: (HikingLog) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    try await work(HikingLog(storedAt: folder.url.appendingPathComponent("Hiking.strata")))
  }

  @Test func codeOfTheTutorialIsTheTestedSource() throws {
    let text = try String(contentsOf: repository.appendingPathComponent("Docs/Tutorial.md"), encoding: .utf8)
    let source = try String(
      contentsOf: repository.appendingPathComponent("Tests/StrataTests/Documents/TutorialExample.swift"),
      encoding: .utf8)
    let blocks = text.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```\n").first
    }
    #expect(blocks.count == 7)
    #expect(blocks.joined(separator: "\n") == source)
  }

  @Test func trailsAndHikesAreSavedAndFound() async throws {
    try await withLog { log in
      let ridge = try log.addTrail("Ridge", kilometers: 24)
      let pond = try log.addTrail("Pond", kilometers: 12)
      try log.hike(ridge, on: Date(timeIntervalSinceReferenceDate: 0), minutes: 400)
      try log.hike(pond, on: Date(timeIntervalSinceReferenceDate: 86_400), minutes: 180)
      #expect(try log.longTrails() == [ridge])
      #expect(try log.numberOfHikes(onTrail: "Pond") == 1)
      #expect(try log.fastHikes().compactMap { $0.trail?.name } == ["Pond"])
      #expect(ridge.hikes.map(\.date) == [Date(timeIntervalSinceReferenceDate: 0)])
      log.context.delete(pond)
      try log.context.save()
      #expect(try log.numberOfHikes(onTrail: "Pond") == 0)
      #expect(try log.fastHikes().isEmpty)
    }
  }

  @Test func whatBreaksARuleIsNotSaved() async throws {
    try await withLog { log in
      #expect(throws: CoreDataError.self) { try log.addTrail("Nowhere", kilometers: 0) }
      #expect(!log.context.hasChanges)
      _ = try log.addTrail("Ridge", kilometers: 24)
      #expect(throws: CoreDataError.self) { try log.addTrail("Ridge", kilometers: 25) }
      #expect(try log.longTrails().map(\.kilometers) == [24])
    }
  }

  @Test func importsAreMergedAndDuplicatesBecomeUpdates() async throws {
    try await withLog { log in
      let ridge = try log.addTrail("Ridge", kilometers: 24)
      try await log.importTrails([("Ridge", 26), ("Coast", 31)])
      #expect(try log.longTrails().map(\.name) == ["Coast", "Ridge"])
      #expect(ridge.kilometers == 26)
    }
  }

  @Test func theListFollowsEditsAndImports() async throws {
    try await withLog { log in
      let ridge = try log.addTrail("Ridge", kilometers: 24)
      var lists = try log.nameLists().makeAsyncIterator()
      #expect(await lists.next() == ["Ridge"])
      ridge.name = "Upper Ridge"
      log.context.processPendingChanges()
      #expect(await lists.next() == ["Upper Ridge"])
      try await log.importTrails([("Coast", 31)])
      #expect(await lists.next() == ["Coast", "Upper Ridge"])
    }
  }
}
