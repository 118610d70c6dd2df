import SwiftData

/// The first version that was shipped: sites, and what was seen there as free text.
enum SchemaV1: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)

  static var models: [any PersistentModel.Type] {
    [Site.self, Sighting.self]
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
    var site: Site?

    init(text: String, date: Date, site: Site? = nil) {
      self.text = text
      self.date = date
      self.site = site
    }
  }
}
