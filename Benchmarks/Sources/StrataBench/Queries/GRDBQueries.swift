import Foundation
import GRDB

/// GRDB on SQLite with the same indexes, `synchronous = FULL`, records by position and cached statements: the fastest way it
/// documents. Where SQL has several ways to ask a question, each is a variant, and the fastest counts.
final class GRDBQueries: QueryPeer {
  private let flights: GRDBPeer
  private let counted: GRDBPeer
  private let graph: GRDBGraph?

  init(directory: URL, flights data: [Flight], graph graphData: GraphData?) throws {
    func folder(_ name: String) throws -> URL {
      let folder = directory.appendingPathComponent(name)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      return folder
    }
    flights = try GRDBPeer(directory: folder("flights"), idiom: .statement)
    counted = try GRDBPeer(directory: folder("counted"), idiom: .statement)
    try counted.database.write { try $0.create(index: "byDistance", on: "flight", columns: ["distance"]) }
    for peer in [flights, counted] { _ = try peer.insert(data) }
    graph = graphData == nil ? nil : try GRDBGraph(directory: directory, traversal: .eachPlane)
    if let graphData { try graph?.importAll(graphData, batch: 50_000) }
    // SQLite plans joins by statistics.
    for peer in [flights, counted] { try peer.database.write { try $0.execute(sql: "ANALYZE") } }
    try graph?.database.write { try $0.execute(sql: "ANALYZE") }
  }

  func variants(_ job: QueryJob) -> Int {
    switch job {
    case .anyRare, .anyCommon, .subquery, .related: 2
    default: 1
    }
  }

  func run(_ job: QueryJob, variant: Int) throws -> QueryAnswer {
    var answer = QueryAnswer()
    if job.isAboutGraph {
      guard let graph else { return answer }
      try graph.database.read { try ask(job, variant, $0, &answer) }
      return answer
    }
    switch job {
    case .update:
      answer.count = try flights.database.write { db in
        let records = try FlightRecord.fetchAll(
          db.cachedStatement(sql: "SELECT * FROM flight WHERE location < ?"), arguments: [QueryValues.tenth])
        let statement = try db.cachedStatement(sql: "UPDATE flight SET delay = ? WHERE id = ?")
        for record in records {
          statement.setUncheckedArguments([record.flight.delay + 1, record.flight.number + 1])
          try statement.execute()
        }
        return records.count
      }
    case .delete:
      answer.count = try flights.database.write { db in
        try db.execute(sql: "DELETE FROM flight WHERE location < ?", arguments: [QueryValues.tenth])
        return db.changesCount
      }
    case .sameIndexCount: try counted.database.read { try ask(.count, variant, $0, &answer) }
    default: try flights.database.read { try ask(job, variant, $0, &answer) }
    }
    return answer
  }

  private func ask(_ job: QueryJob, _ variant: Int, _ db: Database, _ answer: inout QueryAnswer) throws {
    func add(_ sql: String, _ arguments: StatementArguments) throws {
      let records = try FlightRecord.fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
      answer.count += records.count
      for record in records { answer.touch.add(record.flight) }
    }
    switch job {
    case .equality:
      for number in 0..<1_000 {
        try add("SELECT * FROM flight WHERE location = ?", [QueryValues.location(number)])
      }
    case .scan:
      for _ in 0..<10 {
        try add(
          "SELECT * FROM flight WHERE distance < ? AND instr(remark, ?) > 0",
          [QueryValues.fewDistance, QueryValues.part])
      }
    case .count, .coveredCount:
      for _ in 0..<10 {
        answer.count +=
          try Int.fetchOne(
            db.cachedStatement(sql: "SELECT count(*) FROM flight WHERE distance < ?"),
            arguments: [QueryValues.distance]) ?? 0
      }
    case .newest:
      for _ in 0..<1_000 { try add("SELECT * FROM flight ORDER BY departure DESC LIMIT 50", []) }
    case .sort: try add("SELECT * FROM flight ORDER BY delay", [])
    default: try askGraph(job, variant, db, &answer)
    }
  }

  private func askGraph(_ job: QueryJob, _ variant: Int, _ db: Database, _ answer: inout QueryAnswer) throws {
    let late = "FROM flight WHERE planeId = plane.id AND delay > 60 AND distance > 1000"
    let sql: String
    switch (job, variant) {
    case (.anyRare, 0), (.anyCommon, 0):
      sql = "SELECT * FROM plane WHERE EXISTS (SELECT 1 FROM flight WHERE planeId = plane.id AND delay > ?)"
    case (.anyRare, _), (.anyCommon, _):
      sql = "SELECT * FROM plane WHERE id IN (SELECT planeId FROM flight WHERE delay > ?)"
    case (.subquery, 0): sql = "SELECT * FROM plane WHERE (SELECT count(*) \(late)) > ?"
    case (.subquery, _):
      sql = """
        SELECT * FROM plane WHERE id IN
        (SELECT planeId FROM flight WHERE delay > 60 AND distance > 1000 GROUP BY planeId HAVING count(*) > ?)
        """
    case (.related, 0):
      sql = "SELECT count(*) FROM flight JOIN plane ON plane.id = planeId WHERE manufacturer = 'AIRBUS'"
    case (.related, _):
      sql =
        "SELECT count(*) FROM flight WHERE planeId IN (SELECT id FROM plane WHERE manufacturer = 'AIRBUS')"
    default: sql = "SELECT flight.* FROM flight JOIN plane ON plane.id = planeId WHERE plane.tail = 'N711MQ'"
    }
    let statement = try db.cachedStatement(sql: sql)
    for _ in 0..<10 {
      switch job {
      case .related: answer.count += try Int.fetchOne(statement) ?? 0
      case .relatedRows:
        for record in try GraphFlightRecord.fetchAll(statement) {
          let flight = record.flight
          answer.count += 1
          answer.touch.characters += flight.origin.utf8.count + flight.destination.utf8.count
          answer.touch.integers += flight.line + flight.number + flight.scheduled + flight.distance
        }
      default:
        let bound = job == .subquery ? 5 : job == .anyRare ? 600 : 60
        for record in try PlaneRecord.fetchAll(statement, arguments: [bound]) {
          answer.count += 1
          answer.touch.characters += record.plane.tail.utf8.count
        }
      }
    }
  }

  func close() throws {
    try flights.close()
    try counted.close()
    try graph?.close()
  }
}
