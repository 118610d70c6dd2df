import SwiftData

// A module in which everything is the main actor's that says nothing else. Models are not: they belong to their contexts.

@Model
final class Line {
  var name: String
  var colour: String?
  @Relationship(deleteRule: .cascade, inverse: \Stop.line) var stops: [Stop] = []

  init(name: String) { self.name = name }
}

@Model
class Stop {
  var name: String
  var zone = 1
  var line: Line?

  init(_ name: String, zone: Int = 1) {
    self.name = name
    self.zone = zone
  }
}

@Model
final class Terminus: Stop {
  var platforms: Int

  init(_ name: String, platforms: Int) {
    self.platforms = platforms
    super.init(name)
  }
}

/// On the main actor, as it says nothing.
final class Timetable {
  let context: ModelContext
  var lines: [Line] = []

  init(_ container: ModelContainer) { context = container.mainContext }

  func load() throws { lines = try context.fetch(FetchDescriptor<Line>(sortBy: [SortDescriptor(\.name)])) }
}

@ModelActor
actor Surveyor {
  func add(_ name: String, stops: [String]) throws -> PersistentIdentifier {
    let line = Line(name: name)
    modelContext.insert(line)
    for stop in stops { line.stops.append(Stop(stop)) }
    line.stops.append(Terminus("End", platforms: 2))
    try modelContext.save()
    return line.persistentModelID
  }

  func platforms(of id: PersistentIdentifier) -> [Int] {
    self[id, as: Line.self]?.stops.compactMap { ($0 as? Terminus)?.platforms } ?? []
  }
}

/// Belongs to nobody, and takes models of whichever context.
nonisolated func names(of line: Line) -> [String] { line.stops.map(\.name).sorted() }
