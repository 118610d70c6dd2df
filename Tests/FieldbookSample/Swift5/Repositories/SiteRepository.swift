import SwiftData

struct SiteRepository: Repository {
  let context: ModelContext
  var defaultOrder: [SortDescriptor<Site>] { [SortDescriptor(\.name)] }

  init(_ context: ModelContext) { self.context = context }

  @discardableResult
  func create(named name: String, at coordinate: Coordinate, habitat: Habitat = .unknown) throws -> Site {
    let trimmed = name.trimmingCharacters(in: .whitespaces)
    guard !trimmed.isEmpty else { throw RepositoryError.emptyName }
    guard coordinate.isValid else { throw RepositoryError.invalidCoordinate }
    guard try !context.exists(where: #Predicate<Site> { $0.name == trimmed }) else {
      throw RepositoryError.duplicateName(trimmed)
    }
    let site = Site(name: trimmed, at: coordinate, habitat: habitat)
    context.insert(site)
    return site
  }

  func site(named name: String) throws -> Site? {
    try context.first(where: #Predicate<Site> { $0.name == name })
  }

  /// Sites in a rectangle of degrees, which the store finds; nearest first, which it does not know.
  func sites(within kilometres: Double, of centre: Coordinate) throws -> [Site] {
    let degrees = kilometres / 111
    let stretched = degrees / max(0.01, cos(centre.latitude * .pi / 180))
    let south = centre.latitude - degrees
    let north = centre.latitude + degrees
    let west = centre.longitude - stretched
    let east = centre.longitude + stretched
    let near = try find(
      #Predicate<Site> { site in
        site.latitude >= south && site.latitude <= north && site.longitude >= west && site.longitude <= east
      })
    return
      near
      .map { (site: $0, distance: $0.coordinate.distance(to: centre)) }
      .filter { $0.distance <= kilometres }
      .sorted { $0.distance < $1.distance }
      .map(\.site)
  }

  func sites(with habitat: Habitat) throws -> [Site] {
    try find(#Predicate<Site> { $0.habitat == habitat })
  }

  /// Sites where nothing was seen yet.
  func unvisited() throws -> [Site] {
    try find(#Predicate<Site> { $0.sightings.isEmpty })
  }

  /// Sites where at least so many sightings were made.
  func busy(atLeast count: Int) throws -> [Site] {
    try find(#Predicate<Site> { $0.sightings.count >= count })
  }

  func rename(_ site: Site, to name: String) throws {
    let trimmed = name.trimmingCharacters(in: .whitespaces)
    guard !trimmed.isEmpty else { throw RepositoryError.emptyName }
    if let other = try self.site(named: trimmed), other != site {
      throw RepositoryError.duplicateName(trimmed)
    }
    site.name = trimmed
  }

  /// Everything of one site goes to the other, and the one goes.
  func merge(_ duplicate: Site, into kept: Site) {
    for sighting in duplicate.sightings { sighting.site = kept }
    if kept.access == nil { kept.access = duplicate.access }
    if kept.habitat == .unknown { kept.habitat = duplicate.habitat }
    context.delete(duplicate)
  }
}
