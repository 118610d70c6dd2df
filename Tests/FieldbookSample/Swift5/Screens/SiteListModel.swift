import SwiftData

/// The state of a screen with all sites. The screen reads `rows`; the model fetches anew after each save of any context.
@MainActor
@Observable
final class SiteListModel {
  struct Row: Identifiable, Equatable {
    let id: PersistentIdentifier
    let title: String
    let detail: String
  }

  private(set) var rows: [Row] = []
  private(set) var message: String?
  var searchText = "" { didSet { reload() } }
  var habitat: Habitat? { didSet { reload() } }

  @ObservationIgnored private let context: ModelContext
  @ObservationIgnored private let sites: SiteRepository

  init(_ context: ModelContext) {
    self.context = context
    sites = SiteRepository(context)
    reload()
  }

  func reload() {
    do {
      let text = searchText
      let found: [Site]
      if text.isEmpty {
        found = try sites.all()
      } else {
        found = try sites.find(#Predicate<Site> { $0.name.localizedStandardContains(text) })
      }
      rows = found.filter { habitat == nil || $0.habitat == habitat }.map(Self.row)
      message = nil
    } catch {
      message = "Sites cannot be read."
    }
  }

  private static func row(_ site: Site) -> Row {
    let count = site.sightings.count
    let detail = count == 0 ? "nothing seen yet" : count == 1 ? "1 sighting" : "\(count) sightings"
    return Row(id: site.persistentModelID, title: site.name, detail: "\(site.habitat.label), \(detail)")
  }

  func add(named name: String, latitude: Double, longitude: Double) {
    do {
      try sites.create(named: name, at: Coordinate(latitude: latitude, longitude: longitude))
      try sites.commit()
      reload()
    } catch RepositoryError.emptyName {
      message = "A site needs a name."
    } catch RepositoryError.duplicateName(let name) {
      message = "There is already a site called \(name)."
    } catch RepositoryError.invalidCoordinate {
      message = "This is no place on earth."
    } catch {
      message = "The site cannot be saved."
    }
  }

  func delete(at offsets: [Int]) {
    do {
      try sites.remove(offsets.map { rows[$0].id })
      try sites.commit()
      reload()
    } catch {
      message = "The site cannot be deleted."
    }
  }
}
