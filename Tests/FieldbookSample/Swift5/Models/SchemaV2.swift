import SwiftData

/// Adds species, and how many animals were seen. Everything that is new has a default value or is optional.
enum SchemaV2: VersionedSchema {
  static let versionIdentifier = Schema.Version(2, 0, 0)

  static var models: [any PersistentModel.Type] {
    [Site.self, Sighting.self, Species.self]
  }

  @Model
  final class Site {
    var name: String
    var latitude: Double
    var longitude: Double

    @Relationship(deleteRule: .cascade, inverse: \Sighting.site)
    var sightings: [Sighting] = []

    init(name: String, latitude: Double, longitude: Double) {
      self.name = name
      self.latitude = latitude
      self.longitude = longitude
    }
  }

  @Model
  final class Sighting {
    var text: String
    var date: Date
    var count: Int = 1
    var site: Site?
    var species: Species?

    init(text: String, date: Date, count: Int = 1, site: Site? = nil) {
      self.text = text
      self.date = date
      self.count = count
      self.site = site
    }
  }

  @Model
  final class Species {
    @Attribute(.unique) var code: String
    var commonName: String

    @Relationship(inverse: \Sighting.species)
    var sightings: [Sighting] = []

    init(code: String, commonName: String) {
      self.code = code
      self.commonName = commonName
    }
  }
}
