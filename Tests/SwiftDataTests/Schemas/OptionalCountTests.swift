import SwiftData
import Testing

@Model final class Crew {
  var name = ""
  @Relationship(minimumModelCount: 2, maximumModelCount: 3, inverse: \Rower.crew) var rowers: [Rower]?
  init() {}
}

@Model final class Rower {
  var name = ""
  var crew: Crew?
  init() {}
}

/// A crew that has to be there.
@Model final class Watch {
  var name = ""
  @Relationship(minimumModelCount: 1) var lookouts: [Lookout] = []
  init() {}
}

@Model final class Lookout {
  var name = ""
  var watch: Watch?
  init() {}
}

@Suite("Counts of relationships")
struct OptionalCountTests {
  private func code(_ context: ModelContext) -> Int? {
    do {
      try context.save()
      return nil
    } catch { return (error as? CocoaError)?.code.rawValue }
  }

  @Test("rule 220: counts of an optional array bind only when it is not empty")
  func optional() throws {
    let context = ModelContext(
      try ModelContainer(for: Crew.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    context.autosaveEnabled = false
    let crew = Crew()
    context.insert(crew)
    for (count, expected) in [(0, nil), (1, 1580), (2, nil), (4, 1590), (0, nil)] as [(Int, Int?)] {
      crew.rowers = (0..<count).map { _ in Rower() }
      #expect(code(context) == expected, "\(count)")
    }
    crew.rowers = nil
    #expect(code(context) == nil)
  }

  @Test("rule 220: those of an array that is not optional bind always")
  func mandatory() throws {
    let context = ModelContext(
      try ModelContainer(for: Watch.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    context.autosaveEnabled = false
    let watch = Watch()
    context.insert(watch)
    #expect(code(context) == 1580)
    watch.lookouts = [Lookout()]
    #expect(code(context) == nil)
  }
}
