import SwiftData

/// Figures about all sightings. They are values, so that they may leave the actor.
struct Statistics: Equatable, Sendable {
  struct PerSpecies: Equatable, Sendable {
    let code: String
    let sightings: Int
    let animals: Int
  }
  var sightings = 0
  var animals = 0
  var verified = 0
  var perSpecies: [PerSpecies] = []
  var perMonth: [Int: Int] = [:]
  var firstDate: Date?
  var lastDate: Date?

  var verifiedShare: Double { sightings == 0 ? 0 : Double(verified) / Double(sightings) }
}

actor StatisticsActor: ModelActor {
  nonisolated let modelContainer: ModelContainer
  nonisolated let modelExecutor: any ModelExecutor

  init(modelContainer: ModelContainer) {
    self.modelContainer = modelContainer
    let context = ModelContext(modelContainer)
    context.autosaveEnabled = false
    modelExecutor = DefaultSerialModelExecutor(modelContext: context)
  }

  func all() throws -> Statistics {
    var statistics = Statistics()
    var perSpecies: [String: (sightings: Int, animals: Int)] = [:]
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
    try modelContext.enumerate(FetchDescriptor<Sighting>(sortBy: [SortDescriptor(\.date)]), batchSize: 200) {
      sighting in
      statistics.sightings += 1
      statistics.animals += sighting.count
      if sighting.isVerified { statistics.verified += 1 }
      statistics.firstDate = statistics.firstDate ?? sighting.date
      statistics.lastDate = sighting.date
      statistics.perMonth[calendar.component(.month, from: sighting.date), default: 0] += 1
      if let code = sighting.species?.code {
        perSpecies[code, default: (0, 0)].sightings += 1
        perSpecies[code, default: (0, 0)].animals += sighting.count
      }
    }
    statistics.perSpecies = perSpecies.map { code, figures in
      Statistics.PerSpecies(code: code, sightings: figures.sightings, animals: figures.animals)
    }.sorted { ($1.animals, $0.code) < ($0.animals, $1.code) }
    return statistics
  }

  /// The sites with most sightings, by name: models stay here.
  func busiestSites(_ limit: Int) throws -> [(name: String, count: Int)] {
    let sites = try modelContext.fetch(FetchDescriptor<Site>())
    return sites.map { ($0.name, $0.sightings.count) }
      .sorted { ($1.1, $0.0) < ($0.1, $1.0) }
      .prefix(limit)
      .map { $0 }
  }
}

/// Tidies the store up from time to time.
@ModelActor
actor CleanupActor {
  struct Result: Equatable, Sendable {
    var tags = 0
    var sites = 0
    var photos = 0
  }

  func run(emptySitesBefore date: Date) throws -> Result {
    modelContext.author = "cleanup"
    var result = Result()
    result.tags = try TagRepository(modelContext).removeUnused()
    result.sites = try modelContext.deleteAll(
      where: #Predicate<Site> { $0.sightings.isEmpty && $0.createdAt < date })
    result.photos = try modelContext.deleteAll(where: #Predicate<Photo> { $0.sighting == nil })
    try modelContext.saveIfNeeded()
    return result
  }

  /// Marks a sighting, wherever its identifier comes from. False when it is gone.
  func verify(_ identifier: PersistentIdentifier) throws -> Bool {
    guard let sighting = self[identifier, as: Sighting.self] else { return false }
    sighting.isVerified = true
    try modelContext.save()
    return true
  }
}
