import Foundation
import Strata

/// Writes all flights as CSV on a background context.
enum FlightExport {
  /// - Returns: the number of flights written.
  static func run(from container: PersistentContainer, to url: URL) async throws -> Int {
    try await container.performBackgroundTask { context in
      var writer = try CSVWriter(url, header: FlightRow.Column.allCases.map(\.name))
      do {
        let count = try FlightPages.forEach(in: context) { try writer.write(FlightRow($0).fields) }
        try writer.finish()
        return count
      } catch {
        writer.abandon()
        throw error
      }
    }
  }

  /// Reads an exported file again.
  static func digest(of file: URL) throws -> Digest {
    var reader = try TableReader<FlightRow>(file: file)
    var digest = Digest()
    while let row = try reader.next() { digest.add(row) }
    return digest
  }
}

extension FlightRow {
  /// The row as text, in the order of its columns.
  var fields: [String?] {
    [
      String(year), String(month), String(day), departureTime.map { String($0) },
      String(scheduledDepartureTime),
      departureDelay.map { String($0) }, arrivalTime.map { String($0) }, String(scheduledArrivalTime),
      arrivalDelay.map { String($0) }, carrier, String(number), tailNumber, origin, destination,
      airTime.map { String($0) }, String(distance), String(hour), String(minute),
      scheduledHour.ISO8601Format(),
    ]
  }
}
