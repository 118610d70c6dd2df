import SwiftData

struct SightingRepository: Repository {
  let context: ModelContext
  var defaultOrder: [SortDescriptor<Sighting>] { [SortDescriptor(\.date, order: .reverse)] }

  init(_ context: ModelContext) { self.context = context }

  /// What a form has gathered.
  struct Draft: Sendable {
    var note = ""
    var date = Date.now
    var count = 1
    var speciesCode: String?
    var tags: [String] = []
    var weather: Weather?
    var behaviours: [Behaviour] = []
    var photos: [Data] = []
  }

  @discardableResult
  func record(_ draft: Draft, at site: Site, by observer: Observer? = nil) throws -> Sighting {
    let sighting = Sighting(
      note: draft.note, date: draft.date, count: max(1, draft.count), observer: observer)
    context.insert(sighting)
    sighting.site = site
    sighting.weather = draft.weather
    sighting.behaviours = draft.behaviours
    if let code = draft.speciesCode {
      sighting.species = try SpeciesRepository(context).species(coded: code)
    }
    let tags = TagRepository(context)
    sighting.tags = try draft.tags.map { try tags.tag(named: $0) }
    if !draft.photos.isEmpty {
      sighting.photos = draft.photos.enumerated().map { number, data in
        Photo(imageData: data, caption: "Photo \(number + 1)", takenAt: draft.date)
      }
    }
    return sighting
  }

  func sightings(_ filter: SightingFilter, order: SightingOrder = .newest) throws -> [Sighting] {
    var found = try context.fetch(FetchDescriptor.sightings(filter, order: order))
    for predicate in filter.relatedPredicates {
      let related = Set(try context.fetchIdentifiers(FetchDescriptor(predicate: predicate)))
      found.removeAll { !related.contains($0.persistentModelID) }
    }
    return found
  }

  func sightings(of species: Species) throws -> [Sighting] {
    let identifier = species.persistentModelID
    return try find(#Predicate<Sighting> { $0.species?.persistentModelID == identifier })
  }

  func sightings(taggedAny names: [String]) throws -> [Sighting] {
    try find(#Predicate<Sighting> { sighting in sighting.tags.contains { names.contains($0.name) } })
  }

  func sighting(uuid: UUID) throws -> Sighting? {
    try context.first(where: #Predicate<Sighting> { $0.uuid == uuid })
  }

  func verify(_ sightings: some Sequence<Sighting>) {
    for sighting in sightings where !sighting.isVerified { sighting.isVerified = true }
  }

  /// Old sightings that nobody has verified, in one request.
  func discardUnverified(before date: Date) throws {
    try context.delete(model: Sighting.self, where: #Predicate { !$0.isVerified && $0.date < date })
  }

  /// A copy with everything but the identity.
  func duplicate(_ sighting: Sighting, on date: Date) -> Sighting {
    let copy = Sighting(
      note: sighting.note, date: date, count: sighting.count, site: sighting.site, species: sighting.species,
      observer: sighting.observer)
    copy.weather = sighting.weather
    copy.behaviours = sighting.behaviours
    copy.measurements = sighting.measurements
    context.insert(copy)
    copy.tags = sighting.tags
    return copy
  }
}
