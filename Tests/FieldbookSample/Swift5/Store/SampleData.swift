import SwiftData

/// Data for previews and tests: always the same.
enum SampleData {
  static let start = Date(timeIntervalSinceReferenceDate: 700_000_000)

  static func day(_ number: Int) -> Date { start.addingTimeInterval(Double(number) * 86_400) }

  static let speciesList: [(code: String, common: String, scientific: String, status: ConservationStatus)] = [
    ("BLTI", "Blue Tit", "Cyanistes caeruleus", .leastConcern),
    ("CURL", "Curlew", "Numenius arquata", .nearThreatened),
    ("KITE", "Red Kite", "Milvus milvus", .leastConcern),
    ("LAPW", "Lapwing", "Vanellus vanellus", .nearThreatened),
    ("OSPR", "Osprey", "Pandion haliaetus", .leastConcern),
    ("SWIF", "Swift", "Apus apus", .vulnerable),
    ("TURT", "Turtle Dove", "Streptopelia turtur", .endangered),
  ]

  static let siteList: [(name: String, coordinate: Coordinate, habitat: Habitat)] = [
    ("Long Marsh", Coordinate(latitude: 52.1, longitude: 0.3), .wetland),
    ("Old Quarry", Coordinate(latitude: 51.9, longitude: -1.2), .meadow),
    ("Harbour Wall", Coordinate(latitude: 50.7, longitude: -1.8), .coast),
    ("Beech Hill", Coordinate(latitude: 51.4, longitude: -2.1), .forest),
  ]

  @discardableResult
  static func insertSpecies(into context: ModelContext) -> [Species] {
    speciesList.map { entry in
      let species = Species(code: entry.code, commonName: entry.common, scientificName: entry.scientific)
      species.status = entry.status
      context.insert(species)
      return species
    }
  }

  @discardableResult
  static func insertSites(into context: ModelContext) -> [Site] {
    siteList.enumerated().map { number, entry in
      let site = Site(name: entry.name, at: entry.coordinate, habitat: entry.habitat, createdAt: day(number))
      context.insert(site)
      return site
    }
  }

  static func insertSmall(into context: ModelContext) {
    let species = insertSpecies(into: context)
    let sites = insertSites(into: context)
    let ada = Observer(givenName: "Ada", familyName: "Brook", email: "ada@example.org")
    let ben = Observer(givenName: "Ben", familyName: "Hale")
    let rare = Tag(name: "rare", colour: "red")
    let spring = Tag(name: "spring")
    [ada, ben].forEach { context.insert($0) }
    [rare, spring].forEach { context.insert($0) }

    for (number, bird) in species.enumerated() {
      let sighting = Sighting(
        note: "\(bird.commonName) at dawn", date: day(number), count: number + 1,
        site: sites[number % sites.count], species: bird, observer: number.isMultiple(of: 2) ? ada : ben)
      sighting.behaviours =
        number == 0 ? [.feeding(on: "seeds")] : [.flying(towards: "N", height: number * 10)]
      sighting.measurements = ["wing": 10.5 + Double(number)]
      if bird.status >= .vulnerable { sighting.tags.append(rare) }
      if number < 3 { sighting.tags.append(spring) }
      context.insert(sighting)
    }
    sites[0].access = AccessNotes(parking: "North gate", walkInMinutes: 15, isWheelchairAccessible: false)
  }

  static func insertMany(_ count: Int, into context: ModelContext) {
    let species = insertSpecies(into: context)
    let sites = insertSites(into: context)
    for number in 0..<count {
      let sighting = Sighting(
        note: "Number \(number)", date: day(number % 365), count: number % 9 + 1,
        site: sites[number % sites.count], species: species[number % species.count])
      sighting.isVerified = number.isMultiple(of: 3)
      context.insert(sighting)
    }
  }
}
