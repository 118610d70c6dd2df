import Foundation
import GRDB

/// The same in SQL: write-ahead log, `synchronous = FULL`, one transaction for each job.
struct GRDBBatches: BatchPeer {
  private let database: DatabaseQueue

  init(_ folder: URL) throws {
    var configuration = Configuration()
    configuration.journalMode = .wal
    database = try DatabaseQueue(
      path: folder.appendingPathComponent("batches.sqlite").path, configuration: configuration)
    try database.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE flight (
            id INTEGER PRIMARY KEY, number INTEGER, distance INTEGER, delay DOUBLE, airTime DOUBLE,
            departure DOUBLE, carrier TEXT, tail TEXT, location TEXT, destination TEXT, remark TEXT);
          CREATE INDEX byLocation ON flight(location);
          CREATE INDEX byDeparture ON flight(departure);
          """)
    }
  }

  func run(_ job: BatchJob, _ flights: [Flight]) throws -> Int {
    try database.write { db in
      switch job {
      case .insert:
        let statement = try db.makeStatement(sql: "INSERT INTO flight VALUES (?,?,?,?,?,?,?,?,?,?,?)")
        for flight in flights {
          statement.setUncheckedArguments([
            flight.number + 1, flight.number, flight.distance, flight.delay, flight.airTime,
            flight.departure.timeIntervalSinceReferenceDate, flight.carrier, flight.tail, flight.location,
            flight.destination, flight.remark,
          ])
          try statement.execute()
        }
        return flights.count
      case .update:
        try db.execute(sql: "UPDATE flight SET delay = 1.5, carrier = 'XX' WHERE number % 10 = 0")
      case .compute:
        try db.execute(sql: "UPDATE flight SET location = lower(location) WHERE number % 10 = 0")
      case .delete: try db.execute(sql: "DELETE FROM flight WHERE number % 10 = 0")
      }
      return db.changesCount
    }
  }

  func count() throws -> Int {
    try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM flight") ?? 0 }
  }

  func close() throws { try database.close() }
}
