import SwiftData

@Model
final class Voyage {
  var name: String
  var begins: Date
  var mood = Mood.calm
  var home: Residence?
  var tags: [String] = []
  var log: Data?
  var motto: String?
  @Attribute(.ephemeral) var isOnScreen = false
  @Relationship(deleteRule: .cascade, inverse: \Leg.voyage) var legs: [Leg] = []
  @Relationship(inverse: \Guest.voyages) var guests: [Guest] = []

  init(_ name: String, begins: Date = Date(timeIntervalSinceReferenceDate: 0)) {
    self.name = name
    self.begins = begins
  }
}

@Model
final class Leg {
  var title: String
  var miles: Double
  var voyage: Voyage?
  init(_ title: String, miles: Double = 0, voyage: Voyage? = nil) {
    self.title = title
    self.miles = miles
    self.voyage = voyage
  }
}

@Model
final class Guest {
  var name: String
  var voyages: [Voyage] = []
  init(_ name: String) { self.name = name }
}

@ModelActor
actor Navigator {
  func add(_ name: String, legs: [String]) throws -> PersistentIdentifier {
    let voyage = Voyage(name)
    modelContext.insert(voyage)
    for title in legs { voyage.legs.append(Leg(title)) }
    try modelContext.save()
    return voyage.persistentModelID
  }
  func rename(_ id: PersistentIdentifier, to name: String) throws {
    guard let voyage = self[id, as: Voyage.self] else { throw CocoaError(.featureUnsupported) }
    voyage.name = name
    try modelContext.save()
  }
}
