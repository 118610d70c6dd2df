import SwiftData

/// What a list of sightings is narrowed to.
struct SightingFilter: Equatable, Sendable {
  var text = ""
  var isVerifiedOnly = false
  var since: Date?
  var until: Date?
  var minimumCount = 1
  var siteName: String?
  var speciesCodes: [String] = []
  var tagName: String?

  static let everything = SightingFilter()
  var isActive: Bool { self != .everything }

  /// The filter as a predicate. What does not narrow is true for all.
  var predicate: Predicate<Sighting> {
    let text = text
    let isVerifiedOnly = isVerifiedOnly
    let since = since ?? .distantPast
    let until = until ?? .distantFuture
    let minimumCount = minimumCount
    return #Predicate<Sighting> { sighting in
      (text.isEmpty || sighting.note.localizedStandardContains(text))
        && (!isVerifiedOnly || sighting.isVerified)
        && sighting.date >= since
        && sighting.date <= until
        && sighting.count >= minimumCount
    }
  }

  /// The parts that follow relationships, apart: the compiler takes long for big predicates.
  var relatedPredicates: [Predicate<Sighting>] {
    var predicates: [Predicate<Sighting>] = []
    if let siteName {
      predicates.append(#Predicate { $0.site?.name == siteName })
    }
    if !speciesCodes.isEmpty {
      let codes = speciesCodes
      predicates.append(
        #Predicate { sighting in sighting.species.flatMap { codes.contains($0.code) } == true })
    }
    if let tagName {
      predicates.append(#Predicate { sighting in sighting.tags.contains { $0.name == tagName } })
    }
    return predicates
  }
}

enum SightingOrder: String, CaseIterable, Sendable {
  case newest, oldest, mostAnimals, species

  var descriptors: [SortDescriptor<Sighting>] {
    switch self {
    case .newest: [SortDescriptor(\.date, order: .reverse)]
    case .oldest: [SortDescriptor(\.date)]
    case .mostAnimals: [SortDescriptor(\.count, order: .reverse), SortDescriptor(\.date)]
    case .species: [SortDescriptor(\.species?.commonName), SortDescriptor(\.date)]
    }
  }
}

extension FetchDescriptor where T == Sighting {
  /// What a list of sightings shows.
  static func sightings(_ filter: SightingFilter, order: SightingOrder = .newest, limit: Int? = nil)
    -> FetchDescriptor<Sighting>
  {
    var descriptor = FetchDescriptor(predicate: filter.predicate, sortBy: order.descriptors)
    descriptor.fetchLimit = limit
    descriptor.relationshipKeyPathsForPrefetching = [\.species, \.site]
    return descriptor
  }

  /// The sightings of the last days.
  static func recent(days: Int, before now: Date) -> FetchDescriptor<Sighting> {
    let start = now.addingTimeInterval(-Double(days) * 86_400)
    return FetchDescriptor(
      predicate: #Predicate { $0.date >= start && $0.date <= now },
      sortBy: [SortDescriptor(\.date, order: .reverse)])
  }

  /// Sightings without a species, which somebody should look at.
  static var unidentified: FetchDescriptor<Sighting> {
    FetchDescriptor(predicate: #Predicate { $0.species == nil }, sortBy: [SortDescriptor(\.date)])
  }
}
