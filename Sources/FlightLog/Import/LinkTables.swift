import Foundation
import Strata

/// The objects that weather and flights refer to, by the codes with which the files name them: fetched once, then each link
/// costs a look-up in memory. Full data: 31,000 objects, whatever the number of flights. Belongs to its context's queue.
struct LinkTables {
  /// The weather's key.
  struct Hour: Hashable {
    let origin: String
    let hour: Date
  }

  private(set) var airlines: [String: Airline] = [:]
  private(set) var airports: [String: Airport] = [:]
  private(set) var planes: [String: Plane] = [:]
  private(set) var weather: [Hour: Weather] = [:]

  /// Nothing: what is inserted with these tables stays without links.
  init() {}

  init(airportsIn context: ManagedObjectContext) throws {
    airports = try Self.all("Airport", in: context, by: \.faa)
  }

  init(allIn context: ManagedObjectContext) throws {
    try self.init(airportsIn: context)
    airlines = try Self.all("Airline", in: context, by: \.carrier)
    planes = try Self.all("Plane", in: context, by: \.tailNumber)
    weather = try Self.all("Weather", in: context) { Hour(origin: $0.origin, hour: $0.hour) }
  }

  private static func all<Key: Hashable, Object: ManagedObject>(
    _ entity: String, in context: ManagedObjectContext, by key: (Object) -> Key
  ) throws -> [Key: Object] {
    let objects = try context.fetch(FetchRequest<Object>(entityName: entity))
    // The store keeps the keys unique.
    return Dictionary(uniqueKeysWithValues: objects.map { (key($0), $0) })
  }
}
