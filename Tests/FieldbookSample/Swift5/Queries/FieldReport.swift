import SwiftData

/// A report of some days, as it is printed or sent: values only, made of models that stay in their context.
struct FieldReport: Codable, Equatable, Sendable {
  struct Line: Codable, Equatable, Sendable {
    let species: String
    let status: ConservationStatus
    let animals: Int
    let sites: [String]
  }

  let from: Date
  let until: Date
  let lines: [Line]
  let observers: [String]
  let unidentified: Int

  init(_ context: ModelContext, from: Date, until: Date) throws {
    self.from = from
    self.until = until
    let sightings = try context.all(
      where: #Predicate<Sighting> { $0.date >= from && $0.date < until }, sortBy: [SortDescriptor(\.date)])
    let bySpecies = Dictionary(grouping: sightings) { $0.species }
    unidentified = bySpecies[nil]?.count ?? 0
    lines = bySpecies.compactMap { species, sightings in
      guard let species else { return nil }
      return Line(
        species: species.commonName,
        status: species.status,
        animals: sightings.map(\.count).reduce(0, +),
        sites: Set(sightings.compactMap { $0.site?.name }).sorted())
    }.sorted { ($1.status, $0.species) < ($0.status, $1.species) }
    observers = Set(sightings.compactMap { $0.observer?.fullName }).sorted()
  }

  /// The report as a text with columns.
  var text: String {
    var rows = lines.map { line in
      let name = line.species.padding(toLength: 16, withPad: " ", startingAt: 0)
      let mark = line.status >= .vulnerable ? "!" : " "
      return "\(mark) \(name)\(line.animals)  \(line.sites.joined(separator: ", "))"
    }
    if unidentified > 0 { rows.append("? \(unidentified) not identified") }
    if !observers.isEmpty { rows.append("Seen by " + observers.joined(separator: ", ")) }
    return rows.joined(separator: "\n")
  }
}
