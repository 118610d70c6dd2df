import Foundation
import StrataModels

@Composite struct Spot: Codable, Hashable, Sendable {
  var latitude = 0.0
  var longitude = 0.0
  var label: String?
  var isKnown = false
  var isSeen = false
  var kind: Kind = .town

  enum Kind: String, Codable, CaseIterable, Sendable { case town, hill, lake }

  var isNorth: Bool { latitude > 0 }
}

@Composite struct Route: Codable, Hashable, Sendable {
  var name: String
  var end: Spot
}

@Managed final class Trip: ManagedObject {
  var number = 0
  var start = Spot()
  var stop: Spot?
  var route: Route
  @Relationship(inverse: \Trip.next) var previous: Trip?
  @Relationship var next: Trip?

  var mirrored: Spot { Spot(latitude: -start.latitude) }
  var either: Bool { start.isKnown || start.isSeen }
  var northern: Double { max(start.latitude, start.longitude) }
  var startLatitude: Double { start.latitude }
}
