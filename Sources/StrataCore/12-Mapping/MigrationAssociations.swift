/// Which objects have become which, by the names of mappings. Keeps them all alive.
struct MigrationAssociations {
  private struct Table {
    var sources: [ManagedObject] = []
    var destinations: [ManagedObject] = []
    var bySource: [ObjectIdentifier: [Int]] = [:]
    var byDestination: [ObjectIdentifier: [Int]] = [:]
  }

  private var tables: [String: Table] = [:]
  private var bySource: [ObjectIdentifier: [ManagedObject]] = [:]

  mutating func add(_ source: ManagedObject, _ destination: ManagedObject, _ name: String) {
    let place = tables[name, default: Table()].sources.count
    tables[name, default: Table()].sources.append(source)
    tables[name, default: Table()].destinations.append(destination)
    tables[name, default: Table()].bySource[ObjectIdentifier(source), default: []].append(place)
    tables[name, default: Table()].byDestination[ObjectIdentifier(destination), default: []].append(place)
    bySource[ObjectIdentifier(source), default: []].append(destination)
  }

  /// Whether anything was associated under that name.
  func isKnown(_ name: String) -> Bool { tables[name] != nil }

  func destinations(_ name: String, _ sources: [ManagedObject]?) -> [ManagedObject] {
    guard let table = tables[name] else { return [] }
    guard let sources else { return Self.distinct(table.destinations) }
    return Self.distinct(
      sources.flatMap { table.bySource[ObjectIdentifier($0)] ?? [] }.map { table.destinations[$0] })
  }

  func sources(_ name: String, _ destinations: [ManagedObject]?) -> [ManagedObject] {
    guard let table = tables[name] else { return [] }
    guard let destinations else { return Self.distinct(table.sources) }
    return Self.distinct(
      destinations.flatMap { table.byDestination[ObjectIdentifier($0)] ?? [] }.map { table.sources[$0] })
  }

  func destinations(of sources: [ManagedObject]) -> [ManagedObject] {
    Self.distinct(sources.flatMap { bySource[ObjectIdentifier($0)] ?? [] })
  }

  /// Each object once, where it comes first.
  private static func distinct(_ objects: [ManagedObject]) -> [ManagedObject] {
    var seen = Set<ObjectIdentifier>()
    return objects.filter { seen.insert(ObjectIdentifier($0)).inserted }
  }
}
