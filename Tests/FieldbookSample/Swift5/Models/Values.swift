import SwiftData

/// A place on the earth, in degrees.
struct Coordinate: Codable, Hashable, Sendable {
  var latitude: Double
  var longitude: Double

  static let zero = Coordinate(latitude: 0, longitude: 0)

  /// The distance along a great circle, in kilometres.
  func distance(to other: Coordinate) -> Double {
    let radius = 6371.0
    let toRadians = Double.pi / 180
    let latitudes = (other.latitude - latitude) * toRadians
    let longitudes = (other.longitude - longitude) * toRadians
    let chord =
      sin(latitudes / 2) * sin(latitudes / 2)
      + cos(latitude * toRadians) * cos(other.latitude * toRadians) * sin(longitudes / 2)
      * sin(longitudes / 2)
    return 2 * radius * atan2(chord.squareRoot(), (1 - chord).squareRoot())
  }

  var isValid: Bool { abs(latitude) <= 90 && abs(longitude) <= 180 }
}

enum Habitat: String, Codable, CaseIterable, Sendable {
  case unknown, forest, wetland, meadow, coast, town

  var label: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
}

enum ConservationStatus: Int, Codable, CaseIterable, Comparable, Sendable {
  case leastConcern = 0
  case nearThreatened = 1
  case vulnerable = 2
  case endangered = 3

  static func < (lhs: ConservationStatus, rhs: ConservationStatus) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// How one gets to a site.
struct AccessNotes: Codable, Hashable, Sendable {
  var parking: String?
  var walkInMinutes: Int
  var isWheelchairAccessible: Bool
}

/// The weather during an sighting.
struct Weather: Codable, Hashable, Sendable {
  enum Sky: String, Codable, Sendable { case clear, cloudy, rain, snow, fog }
  var sky: Sky
  var celsius: Double
  var wind: Wind

  struct Wind: Codable, Hashable, Sendable {
    var beaufort: Int
    var direction: String?
  }
}

/// What an animal did.
enum Behaviour: Codable, Hashable, Sendable {
  case resting
  case feeding(on: String)
  case nesting(eggs: Int)
  case flying(towards: String, height: Int)
}
