import SwiftData

/// Imports sightings away from the main thread, in batches that are saved one by one.
@ModelActor
actor ImportActor {
  struct Report: Equatable, Sendable {
    var inserted = 0
    var skipped: [Int] = []
    var newSpecies: [String] = []
  }

  private var known: [String: PersistentIdentifier] = [:]

  func importCSV(_ text: String, batchSize: Int = 100) throws -> Report {
    let reader = try CSVReader(text)
    try reader.require(["date", "site", "species", "count"])
    modelContext.autosaveEnabled = false
    modelContext.author = "import"
    var report = Report()
    for (number, record) in reader.records.enumerated() {
      guard let date = Self.date(record.values["date"]), let name = record.values["site"], !name.isEmpty,
        let count = record.values["count"].flatMap({ Int($0) })
      else {
        report.skipped.append(record.line)
        continue
      }
      let sighting = Sighting(note: record.values["note"] ?? "", date: date, count: count)
      modelContext.insert(sighting)
      sighting.site = try site(named: name)
      if let code = record.values["species"], !code.isEmpty {
        sighting.species = try species(coded: code, &report)
      }
      report.inserted += 1
      if (number + 1).isMultiple(of: batchSize) { try modelContext.save() }
    }
    try modelContext.saveIfNeeded()
    return report
  }

  private func site(named name: String) throws -> Site {
    if let identifier = known[name], let site = self[identifier, as: Site.self] { return site }
    let site = try modelContext.firstOrInsert(where: #Predicate<Site> { $0.name == name }) {
      Site(name: name, at: .zero)
    }
    if site.persistentModelID.storeIdentifier != nil { known[name] = site.persistentModelID }
    return site
  }

  private func species(coded code: String, _ report: inout Report) throws -> Species {
    let code = code.uppercased()
    if let found = try modelContext.first(where: #Predicate<Species> { $0.code == code }) { return found }
    report.newSpecies.append(code)
    let species = Species(code: code, commonName: code.capitalized)
    modelContext.insert(species)
    return species
  }

  /// `2024-05-01`.
  private static func date(_ text: String?) -> Date? {
    guard let parts = text?.split(separator: "-").compactMap({ Int($0) }), parts.count == 3 else {
      return nil
    }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
    return calendar.date(from: DateComponents(year: parts[0], month: parts[1], day: parts[2]))
  }
}
