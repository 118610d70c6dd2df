import SwiftData

// What the rows are tried on. This target imports SwiftData and Testing, and nothing else.

enum Mood: String, Codable, CaseIterable { case calm, busy, wild }

struct Place: Codable, Hashable {
  var city: String
  var zip: Int
}

@Model final class Trip {
  #Unique<Trip>([\.code])
  #Index<Trip>([\.name], [\.name, \.begins])

  var name: String
  var code: String
  var begins = Date(timeIntervalSinceReferenceDate: 0)
  var mood = Mood.calm
  var place: Place?
  var tags: [String] = []
  @Attribute(.externalStorage) var picture: Data?
  @Attribute(.ephemeral) var isOpen = false
  @Attribute(.preserveValueOnDeletion) var number = 0
  @Relationship(deleteRule: .cascade, inverse: \Stay.trip) var stays: [Stay] = []
  var guide: Guide?
  @Transient var draws = 0

  init(name: String, code: String? = nil) {
    self.name = name
    self.code = code ?? name
  }
}

@Model final class Stay {
  var hotel: String
  var trip: Trip?
  init(hotel: String, trip: Trip? = nil) {
    self.hotel = hotel
    self.trip = trip
  }
}

@Model final class Guide {
  @Attribute(.unique) var email: String
  var trips: [Trip]?
  init(email: String) { self.email = email }
}

@Model class Vehicle {
  var wheels: Int
  init(wheels: Int) { self.wheels = wheels }
}

@Model final class Lorry: Vehicle {
  var load: Double
  init(load: Double) {
    self.load = load
    super.init(wheels: 6)
  }
}

/// A container in memory for these models.
func makeContainer() throws -> ModelContainer {
  try ModelContainer(
    for: Trip.self, Stay.self, Guide.self, Vehicle.self, Lorry.self,
    configurations: ModelConfiguration(isStoredInMemoryOnly: true))
}

/// A context of a container in memory.
func makeContext() throws -> ModelContext { ModelContext(try makeContainer()) }
