import SwiftData

struct SpeciesRepository: Repository {
  let context: ModelContext
  var defaultOrder: [SortDescriptor<Species>] { [SortDescriptor(\.commonName), SortDescriptor(\.code)] }

  init(_ context: ModelContext) { self.context = context }

  /// The species of a code, which is made when there is none.
  func species(coded code: String) throws -> Species {
    let code = code.uppercased()
    return try context.firstOrInsert(where: #Predicate<Species> { $0.code == code }) {
      Species(code: code, commonName: code.capitalized)
    }
  }

  func search(_ text: String) throws -> [Species] {
    guard !text.isEmpty else { return try all() }
    return try find(
      #Predicate<Species> { species in
        species.commonName.localizedStandardContains(text)
          || (species.scientificName?.localizedStandardContains(text) ?? false)
          || species.code.starts(with: text)
      })
  }

  func species(atLeast status: ConservationStatus) throws -> [Species] {
    try all().filter { $0.status >= status }
  }

  /// Deletes a species that nobody has seen; the store would refuse the others.
  func removeUnused(_ species: Species) throws {
    guard species.sightings.isEmpty else { throw RepositoryError.inUse(by: species.sightings.count) }
    context.delete(species)
  }
}

struct TagRepository: Repository {
  let context: ModelContext
  var defaultOrder: [SortDescriptor<Tag>] { [SortDescriptor(\.name)] }

  init(_ context: ModelContext) { self.context = context }

  func tag(named name: String) throws -> Tag {
    try context.firstOrInsert(where: #Predicate<Tag> { $0.name == name }) { Tag(name: name) }
  }

  /// Tags with the number of their sightings, the most used first.
  func usage() throws -> [(name: String, count: Int)] {
    try all().map { ($0.name, $0.sightings.count) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
  }

  @discardableResult
  func removeUnused() throws -> Int {
    try context.deleteAll(where: #Predicate<Tag> { $0.sightings.isEmpty })
  }
}

struct ObserverRepository: Repository {
  let context: ModelContext
  var defaultOrder: [SortDescriptor<Observer>] {
    [SortDescriptor(\.familyName), SortDescriptor(\.givenName)]
  }

  init(_ context: ModelContext) { self.context = context }

  func observer(givenName: String, familyName: String) throws -> Observer? {
    try context.first(
      where: #Predicate<Observer> { $0.givenName == givenName && $0.familyName == familyName })
  }

  /// Who has seen most kinds of animals.
  func ranking() throws -> [(name: String, species: Int)] {
    try all().map { observer in
      (observer.fullName, Set(observer.sightings.compactMap { $0.species?.code }).count)
    }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
  }

  func withoutEmail() throws -> [Observer] {
    try find(#Predicate<Observer> { $0.email == nil })
  }
}
