import Foundation
import GRDB

/// GRDB on SQLite: write-ahead log with `synchronous = FULL`, so that a committed transaction survives a power
/// cut, which is what Strata's `.full` promises. Everything else as the library comes.
final class GRDBPeer: PeerStore {
  enum Idiom: Sendable {
    /// Insert through one prepared statement with unchecked positional arguments.
    case statement
    /// Insert through `PersistableRecord`; read through a `FetchableRecord` by position, by ID `fetchOne(key:)`.
    case record
    /// Both through `Codable`.
    case codable
    /// By ID: a cached statement with the key as its argument (`fetchOne(key:)` compiles its query every time),
    /// each in a read block of a `DatabasePool`, which has less to do there than a `DatabaseQueue`.
    case poolRead
    /// By ID: the cached statement, each in its own access to a `DatabaseQueue`, without a transaction.
    case unsafeRead
    /// By ID: the cached statement, all keys in one read block.
    case oneRead
  }

  let database: any DatabaseWriter
  private let idiom: Idiom
  private var keys: [Int64] = []

  init(directory: URL, idiom: Idiom) throws {
    var configuration = Configuration()
    configuration.journalMode = .wal
    let path = directory.appendingPathComponent("flights.sqlite").path
    self.idiom = idiom
    database =
      idiom == .poolRead
      ? try DatabasePool(path: path, configuration: configuration)
      : try DatabaseQueue(path: path, configuration: configuration)
    // Not in `prepareDatabase`: GRDB turns `synchronous` down to NORMAL after it, when it sets up the log.
    try database.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = FULL")
      guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
        throw BenchmarkError("SQLite did not accept synchronous = FULL")
      }
    }
    try database.write { db in
      try db.create(table: "flight", options: .ifNotExists) { table in
        table.column("id", .integer).primaryKey()
        table.column("number", .integer)
        table.column("distance", .integer)
        table.column("delay", .double)
        table.column("airTime", .double)
        table.column("departure", .double)
        table.column("carrier", .text)
        table.column("tail", .text)
        table.column("location", .text)
        table.column("destination", .text)
        table.column("remark", .text)
      }
      try db.create(index: "byLocation", on: "flight", columns: ["location"], options: .ifNotExists)
      try db.create(index: "byDeparture", on: "flight", columns: ["departure"], options: .ifNotExists)
    }
  }

  func insert(_ flights: [Flight]) throws -> Outcome {
    try database.write { db in
      switch idiom {
      case .codable:
        for flight in flights { try CodableFlight(flight).insert(db) }
      case .statement:
        let statement = try db.makeStatement(sql: "INSERT INTO flight VALUES (?,?,?,?,?,?,?,?,?,?,?)")
        for flight in flights {
          statement.setUncheckedArguments([
            flight.number + 1, flight.number, flight.distance, flight.delay, flight.airTime,
            flight.departure.timeIntervalSinceReferenceDate, flight.carrier, flight.tail, flight.location,
            flight.destination, flight.remark,
          ])
          try statement.execute()
        }
      case .record, .poolRead, .unsafeRead, .oneRead:
        for flight in flights { try FlightRecord(flight: flight).insert(db) }
      }
    }
    return Outcome(touch: Touch(rows: flights.count))
  }

  func fetchAll() throws -> Outcome {
    var touch = Touch()
    if idiom == .codable {
      let records = try database.read { try CodableFlight.fetchAll($0) }
      for record in records { touch.add(record.flight) }
      return Outcome(touch: touch, results: records)
    }
    let records = try database.read { try FlightRecord.fetchAll($0) }
    for record in records { touch.add(record.flight) }
    return Outcome(touch: touch, results: records)
  }

  func prepare(positions: [Int]) {
    keys = positions.map { Int64($0) + 1 }
  }

  func fetchByID() throws -> Outcome {
    var records: [FlightRecord?] = []
    records.reserveCapacity(keys.count)
    switch idiom {
    case .oneRead:
      try database.read { db in
        for key in keys { records.append(try FlightRecord.cached(db, key)) }
      }
    case .poolRead:
      for key in keys { records.append(try database.read { try FlightRecord.cached($0, key) }) }
    case .unsafeRead:
      for key in keys { records.append(try database.unsafeRead { try FlightRecord.cached($0, key) }) }
    case .record, .statement, .codable:
      for key in keys { records.append(try database.read { try FlightRecord.fetchOne($0, key: key) }) }
    }
    var touch = Touch()
    for case let record? in records { touch.add(record.flight) }
    return Outcome(touch: touch, results: records)
  }

  func contents() throws -> ContentChecksum {
    var checksum = ContentChecksum()
    try database.read { db in
      let cursor = try FlightRecord.fetchCursor(db)
      while let record = try cursor.next() { checksum.add(record.flight) }
    }
    return checksum
  }

  func close() throws {
    try database.close()
  }

  static func sqliteVersion() throws -> String {
    try DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") } ?? "unknown"
  }
}

extension Contender {
  static func grdb(
    _ name: String, _ role: Role, _ idiom: GRDBPeer.Idiom, largestSize: Int = .max
  ) -> Contender {
    Contender(name: name, role: role, largestSize: largestSize, library: "grdb") {
      try GRDBPeer(directory: $0, idiom: idiom)
    }
  }
}

/// Reads columns by position, the fastest way GRDB documents, and writes them by name.
struct FlightRecord: FetchableRecord, PersistableRecord {
  static let databaseTableName = "flight"

  var flight: Flight

  init(flight: Flight) {
    self.flight = flight
  }

  init(row: Row) {
    flight = Flight(
      number: row[1], distance: row[2], delay: row[3], airTime: row[4],
      departure: Date(timeIntervalSinceReferenceDate: row[5]), carrier: row[6], tail: row[7],
      location: row[8], destination: row[9], remark: row[10])
  }

  static func cached(_ db: Database, _ key: Int64) throws -> FlightRecord? {
    let statement = try db.cachedStatement(sql: "SELECT * FROM flight WHERE id = ?")
    return try fetchOne(statement, arguments: [key])
  }

  func encode(to container: inout PersistenceContainer) {
    container["id"] = flight.number + 1
    container["number"] = flight.number
    container["distance"] = flight.distance
    container["delay"] = flight.delay
    container["airTime"] = flight.airTime
    container["departure"] = flight.departure.timeIntervalSinceReferenceDate
    container["carrier"] = flight.carrier
    container["tail"] = flight.tail
    container["location"] = flight.location
    container["destination"] = flight.destination
    container["remark"] = flight.remark
  }
}

private struct CodableFlight: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "flight"
  // Numbers rather than GRDB's default text: the faster of the two, and what the other idioms store.
  static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
    .timeIntervalSinceReferenceDate
  }
  static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
    .timeIntervalSinceReferenceDate
  }

  var id: Int64
  var number: Int64
  var distance: Int64
  var delay: Double
  var airTime: Double
  var departure: Date
  var carrier: String
  var tail: String
  var location: String
  var destination: String
  var remark: String

  init(_ flight: Flight) {
    id = flight.number + 1
    number = flight.number
    distance = flight.distance
    delay = flight.delay
    airTime = flight.airTime
    departure = flight.departure
    carrier = flight.carrier
    tail = flight.tail
    location = flight.location
    destination = flight.destination
    remark = flight.remark
  }

  var flight: Flight {
    Flight(
      number: number, distance: distance, delay: delay, airTime: airTime, departure: departure,
      carrier: carrier, tail: tail, location: location, destination: destination, remark: remark)
  }
}
