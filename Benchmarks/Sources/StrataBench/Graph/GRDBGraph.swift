import Foundation
import GRDB

/// GRDB on SQLite with foreign keys, and an index on each: without them neither a traversal nor a delete ends in reasonable time.
/// Write-ahead log, `synchronous = FULL`. Rows are inserted through one prepared statement, the fastest of its idioms.
final class GRDBGraph: GraphPeer {
  /// How a traversal gets the flights of all planes.
  enum Traversal: Sendable {
    /// `including(all:)`: GRDB fetches planes, then their flights, and joins them.
    case prefetching
    /// One request for each plane.
    case eachPlane
  }

  let database: DatabaseQueue
  private let traversal: Traversal

  init(directory: URL, traversal: Traversal) throws {
    var configuration = Configuration()
    configuration.journalMode = .wal
    self.traversal = traversal
    database = try DatabaseQueue(
      path: directory.appendingPathComponent("graph.sqlite").path, configuration: configuration)
    // Not in `prepareDatabase`: GRDB turns `synchronous` down to NORMAL after it, when it sets up the log.
    try database.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = FULL")
      guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2,
        try Int.fetchOne(db, sql: "PRAGMA foreign_keys") == 1
      else { throw BenchmarkError("SQLite did not accept synchronous = FULL or foreign keys") }
    }
    try database.write(Self.createTables)
  }

  private static func createTables(_ db: Database) throws {
    try db.create(table: "airline") { table in
      table.column("id", .integer).primaryKey()
      table.column("carrier", .text)
      table.column("name", .text)
    }
    try db.create(table: "airport") { table in
      table.column("id", .integer).primaryKey()
      table.column("faa", .text)
      table.column("name", .text)
      table.column("latitude", .double)
      table.column("longitude", .double)
    }
    try db.create(table: "plane") { table in
      table.column("id", .integer).primaryKey()
      table.column("tail", .text)
      table.column("manufacturer", .text)
      table.column("model", .text)
      table.column("seats", .integer)
    }
    try db.create(table: "weather") { table in
      table.column("id", .integer).primaryKey()
      table.column("origin", .text)
      table.column("start", .double)
      table.column("temperature", .double)
    }
    try db.create(table: "flight") { table in
      table.column("id", .integer).primaryKey()
      for name in ["line", "number", "scheduled", "distance"] { table.column(name, .integer) }
      for name in ["delay", "airTime", "departure"] { table.column(name, .double) }
      for name in ["carrier", "tail", "origin", "destination"] { table.column(name, .text) }
      table.column("airlineId", .integer).indexed().references("airline", onDelete: .restrict)
      table.column("planeId", .integer).indexed().references("plane", onDelete: .cascade)
      table.column("originId", .integer).indexed().references("airport", onDelete: .setNull)
      table.column("destinationId", .integer).indexed().references("airport", onDelete: .setNull)
      table.column("weatherId", .integer).indexed().references("weather", onDelete: .setNull)
    }
  }

  func importAll(_ data: GraphData, batch: Int) throws {
    var airlines: [String: Int64] = [:]
    var airports: [String: Int64] = [:]
    var planes: [String: Int64] = [:]
    var hours: [GraphData.Hour: Int64] = [:]
    try database.write { db in
      var statement = try db.makeStatement(sql: "INSERT INTO airline VALUES (?,?,?)")
      for (index, row) in data.airlines.enumerated() {
        let id = Int64(index + 1)
        airlines[row.carrier] = id
        statement.setUncheckedArguments([id, row.carrier, row.name])
        try statement.execute()
      }
      statement = try db.makeStatement(sql: "INSERT INTO airport VALUES (?,?,?,?,?)")
      for (index, row) in data.airports.enumerated() {
        let id = Int64(index + 1)
        airports[row.faa] = id
        statement.setUncheckedArguments([id, row.faa, row.name, row.latitude, row.longitude])
        try statement.execute()
      }
      statement = try db.makeStatement(sql: "INSERT INTO plane VALUES (?,?,?,?,?)")
      for (index, row) in data.planes.enumerated() {
        let id = Int64(index + 1)
        planes[row.tail] = id
        statement.setUncheckedArguments([id, row.tail, row.manufacturer, row.model, row.seats])
        try statement.execute()
      }
      statement = try db.makeStatement(sql: "INSERT INTO weather VALUES (?,?,?,?)")
      for (index, row) in data.weather.enumerated() {
        let id = Int64(index + 1)
        hours[row.hour] = id
        let start = row.hour.start.timeIntervalSinceReferenceDate
        statement.setUncheckedArguments([id, row.hour.origin, start, row.temperature])
        try statement.execute()
      }
    }
    for first in stride(from: 0, to: data.flights.count, by: batch) {
      try database.write { db in
        let statement = try db.cachedStatement(
          sql: "INSERT INTO flight VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
        for row in data.flights[first..<min(first + batch, data.flights.count)] {
          statement.setUncheckedArguments([
            row.line, row.line, row.number, row.scheduled, row.distance, row.delay, row.airTime,
            row.departure.timeIntervalSinceReferenceDate, row.carrier, row.tail, row.origin, row.destination,
            airlines[row.carrier], row.tail.flatMap { planes[$0] }, airports[row.origin],
            airports[row.destination], hours[row.hour],
          ])
          try statement.execute()
        }
      }
    }
  }

  func traverse() throws -> GraphTouch {
    var touch = GraphTouch()
    func add(_ plane: PlaneRecord, _ flights: [GraphFlightRecord]) {
      touch.planes += 1
      for flight in flights where flight.planeID == plane.id { touch.add(flight.flight) }
    }
    switch traversal {
    case .prefetching:
      let planes = try database.read { db in
        try PlaneInfo.fetchAll(db, PlaneRecord.including(all: PlaneRecord.flights))
      }
      for info in planes { add(info.plane, info.flights) }
    case .eachPlane:
      try database.read { db in
        for plane in try PlaneRecord.fetchAll(db) {
          add(plane, try plane.request(for: PlaneRecord.flights).fetchAll(db))
        }
      }
    }
    return touch
  }

  func delete(tails: [String]) throws {
    try database.write { db in
      _ = try PlaneRecord.filter(tails.contains(Column("tail"))).deleteAll(db)
    }
  }

  func counts() throws -> GraphCounts {
    try database.read { db in
      func linked(_ table: String, _ key: String) throws -> Int {
        let sql = "SELECT count(*) FROM flight JOIN \(table) ON \(table).id = flight.\(key)"
        return try Int.fetchOne(db, sql: sql) ?? 0
      }
      return GraphCounts(
        flights: try GraphFlightRecord.fetchCount(db), toAirlines: try linked("airline", "airlineId"),
        toPlanes: try linked("plane", "planeId"), toOrigins: try linked("airport", "originId"),
        toDestinations: try linked("airport", "destinationId"), toWeather: try linked("weather", "weatherId"))
    }
  }

  func close() throws {
    try database.close()
  }
}

/// Reads columns by position, the fastest way GRDB documents.
struct GraphFlightRecord: FetchableRecord, TableRecord {
  static let databaseTableName = "flight"

  var flight: GraphData.Flight
  var planeID: Int64?

  init(row: Row) {
    flight = GraphData.Flight(
      line: row[1], number: row[2], scheduled: row[3], distance: row[4], delay: row[5], airTime: row[6],
      departure: Date(timeIntervalSinceReferenceDate: row[7]), carrier: row[8], tail: row[9], origin: row[10],
      destination: row[11])
    planeID = row[13]
  }
}

struct PlaneRecord: FetchableRecord, TableRecord, EncodableRecord {
  static let databaseTableName = "plane"
  static let flights = hasMany(GraphFlightRecord.self)

  var id: Int64
  var plane: GraphData.Plane

  init(row: Row) {
    id = row[0]
    plane = GraphData.Plane(tail: row[1], manufacturer: row[2], model: row[3], seats: row[4])
  }

  func encode(to container: inout PersistenceContainer) {
    container["id"] = id
  }
}

private struct PlaneInfo: FetchableRecord {
  var plane: PlaneRecord
  var flights: [GraphFlightRecord]

  init(row: Row) {
    plane = PlaneRecord(row: row)
    flights = row["flights"]
  }
}
