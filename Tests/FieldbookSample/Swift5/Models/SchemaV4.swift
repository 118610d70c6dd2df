import SwiftData

/// The present version.
enum SchemaV4: VersionedSchema {
  static let versionIdentifier = Schema.Version(4, 0, 0)

  static var models: [any PersistentModel.Type] {
    [Site.self, Sighting.self, Species.self, Observer.self, Tag.self, Photo.self]
  }

  @Model
  final class Site {
    #Index<Site>([\.name])

    @Attribute(.unique) var name: String
    var latitude: Double
    var longitude: Double
    var habitat: Habitat = Habitat.unknown
    var access: AccessNotes?
    var createdAt: Date = Date(timeIntervalSinceReferenceDate: 0)

    @Relationship(deleteRule: .cascade, inverse: \Sighting.site)
    var sightings: [Sighting] = []

    init(name: String, at coordinate: Coordinate, habitat: Habitat = .unknown, createdAt: Date = .now) {
      self.name = name
      self.latitude = coordinate.latitude
      self.longitude = coordinate.longitude
      self.habitat = habitat
      self.createdAt = createdAt
    }

    var coordinate: Coordinate {
      get { Coordinate(latitude: latitude, longitude: longitude) }
      set {
        latitude = newValue.latitude
        longitude = newValue.longitude
      }
    }

    var latestSighting: Sighting? {
      sightings.max { $0.date < $1.date }
    }
  }

  @Model
  final class Sighting {
    #Index<Sighting>([\.date], [\.isVerified, \.date])

    @Attribute(.preserveValueOnDeletion) var uuid: UUID = UUID()
    @Attribute(originalName: "text") var note: String
    var date: Date
    var count: Int = 1
    var isVerified: Bool = false
    var weather: Weather?
    var behaviours: [Behaviour] = []
    var measurements: [String: Double] = [:]

    var site: Site?
    var species: Species?
    var observer: Observer?

    @Relationship(inverse: \Tag.sightings)
    var tags: [Tag] = []

    @Relationship(deleteRule: .cascade, inverse: \Photo.sighting)
    var photos: [Photo]?

    /// Not stored: set while a row of a list is open.
    @Transient var isExpanded = false

    init(
      note: String = "", date: Date = .now, count: Int = 1, site: Site? = nil, species: Species? = nil,
      observer: Observer? = nil, uuid: UUID = UUID()
    ) {
      self.note = note
      self.date = date
      self.count = count
      self.site = site
      self.species = species
      self.observer = observer
      self.uuid = uuid
    }
  }

  @Model
  final class Species {
    @Attribute(.unique) var code: String
    var commonName: String
    var scientificName: String?
    var status: ConservationStatus = ConservationStatus.leastConcern

    @Relationship(deleteRule: .deny, inverse: \Sighting.species)
    var sightings: [Sighting] = []

    init(code: String, commonName: String, scientificName: String? = nil) {
      self.code = code
      self.commonName = commonName
      self.scientificName = scientificName
    }
  }

  @Model
  final class Observer {
    #Unique<Observer>([\.givenName, \.familyName])

    var givenName: String
    var familyName: String
    var email: String?
    var joined: Date = Date(timeIntervalSinceReferenceDate: 0)

    @Relationship(inverse: \Sighting.observer)
    var sightings: [Sighting] = []

    init(givenName: String, familyName: String, email: String? = nil) {
      self.givenName = givenName
      self.familyName = familyName
      self.email = email
    }

    var fullName: String { "\(givenName) \(familyName)" }
  }

  @Model
  final class Tag {
    @Attribute(.unique) var name: String
    var colour: String?
    var sightings: [Sighting] = []

    init(name: String, colour: String? = nil) {
      self.name = name
      self.colour = colour
    }
  }

  @Model
  final class Photo {
    var caption: String = ""
    @Attribute(.externalStorage) var imageData: Data
    @Attribute(.ephemeral) var isSelected: Bool = false
    var takenAt: Date?
    var sighting: Sighting?

    init(imageData: Data, caption: String = "", takenAt: Date? = nil) {
      self.imageData = imageData
      self.caption = caption
      self.takenAt = takenAt
    }
  }
}

typealias Site = SchemaV4.Site
typealias Sighting = SchemaV4.Sighting
typealias Species = SchemaV4.Species
typealias Observer = SchemaV4.Observer
typealias Tag = SchemaV4.Tag
typealias Photo = SchemaV4.Photo
