import CLibPQ
import Foundation
import Strata
import StrataPostgres

// Strata's stores on a PostgreSQL server against libpq alone, on the same server in the same run.
//
//     swift run -c release PostgresBench 'postgres:///postgres?host=/tmp/server&user=me' [rows, default 100000]

@main
enum PostgresBench {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count > 1, let base = URLComponents(string: arguments[1]) else {
      print("PostgresBench needs the address of a database: postgres:///postgres?host=/tmp/server&user=me")
      exit(64)
    }
    let count = arguments.count > 2 ? Int(arguments[2]) ?? 100_000 : 100_000
    var address = base
    address.queryItems = (base.queryItems ?? []) + [URLQueryItem(name: "namespace", value: "strata_bench")]
    guard let url = address.url else { exit(64) }
    try PostgresStores.destroy(at: url)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model())
    try coordinator.addPostgresStore(at: url)
    let plain = Plain(base)
    print("\(count) rows of ten columns; best of three")
    try insert(count, coordinator, plain)
    try fetch(count, coordinator, plain)
    try byKey(min(count, 10_000), coordinator, plain)
    try saves(300, coordinator, plain)
    try PostgresStores.destroy(at: url)
  }

  static func model() -> ManagedObjectModel {
    let entity = EntityDescription(
      "Item",
      properties: [
        AttributeDescription("a", .integer64, isOptional: true),
        AttributeDescription("b", .integer32, isOptional: true),
        AttributeDescription("c", .double, isOptional: true),
        AttributeDescription("d", .string, isOptional: true),
        AttributeDescription("e", .string, isOptional: true),
        AttributeDescription("f", .boolean, isOptional: true),
        AttributeDescription("g", .date, isOptional: true),
      ])
    return ManagedObjectModel(entities: [entity])
  }

  static func best(_ times: Int = 3, _ body: () throws -> Void) rethrows -> Double {
    var best = Double.infinity
    for _ in 0..<times {
      let start = ContinuousClock.now
      try body()
      let time = ContinuousClock.now - start
      best = min(best, Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18)
    }
    return best
  }

  static func report(_ name: String, _ ours: Double, _ theirs: Double) {
    func text(_ seconds: Double) -> String { String(format: "%9.3f ms", seconds * 1_000) }
    print(
      "\(name.padding(toLength: 44, withPad: " ", startingAt: 0)) Strata \(text(ours))   libpq \(text(theirs))   \(String(format: "%.2f", ours / theirs)) ×"
    )
  }

  static func fill(_ context: ManagedObjectContext, _ count: Int) throws {
    guard let entity = context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Item"] else {
      return
    }
    for number in 0..<count {
      let object = ManagedObject(entity: entity, insertInto: context)
      object.setValue(Int64(number), forKey: "a")
      object.setValue(Int32(number % 1_000), forKey: "b")
      object.setValue(Double(number) / 3, forKey: "c")
      object.setValue("text number \(number)", forKey: "d")
      object.setValue("another text", forKey: "e")
      object.setValue(number % 2 == 0, forKey: "f")
      object.setValue(Date(timeIntervalSinceReferenceDate: Double(number)), forKey: "g")
    }
  }

  static func insert(_ count: Int, _ coordinator: PersistentStoreCoordinator, _ plain: Plain) throws {
    var ours = Double.infinity
    var whole = Double.infinity
    for _ in 0..<3 {
      let all = try best(1) {
        let context = ManagedObjectContext(.confinement, coordinator: coordinator)
        try fill(context, count)
        ours = min(ours, try best(1) { try context.save() })
      }
      whole = min(whole, all)
    }
    plain.run("DROP TABLE IF EXISTS pg_temp.plain")
    plain.run(
      "CREATE TEMPORARY TABLE plain (pk bigint PRIMARY KEY, entity smallint, version int, outside bytea, a bigint, b int, c float8, d text, e text, f bool, g float8)"
    )
    let theirs = best {
      plain.run("TRUNCATE plain")
      plain.copy(count)
    }
    report("insert \(count), save alone against COPY", ours, theirs)
    report("insert \(count), objects made as well", whole, theirs)
  }

  static func fetch(_ count: Int, _ coordinator: PersistentStoreCoordinator, _ plain: Plain) throws {
    var request = FetchRequest<ManagedObject>(entityName: "Item")
    request.fetchLimit = count
    let ours = try best {
      let context = ManagedObjectContext(.confinement, coordinator: coordinator)
      var sum: Int64 = 0
      for object in try context.fetch(request) { sum &+= object.value(forKey: "a") as? Int64 ?? 0 }
      if sum == 0 { print("nothing was read") }
    }
    let theirs = best { plain.read("SELECT * FROM strata_bench.item ORDER BY pk LIMIT \(count)") }
    report("fetch \(count) and touch", ours, theirs)
    let counted = try best {
      let context = ManagedObjectContext(.confinement, coordinator: coordinator)
      _ = try context.count(for: FetchRequest<ManagedObject>(entityName: "Item"))
    }
    report("count", counted, best { plain.read("SELECT count(*) FROM strata_bench.item") })
  }

  static func byKey(_ count: Int, _ coordinator: PersistentStoreCoordinator, _ plain: Plain) throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    var request = FetchRequest<ManagedObjectID>(entityName: "Item")
    request.fetchLimit = count
    let identifiers = try context.fetch(request)
    let keys = identifiers.compactMap { $0.uriRepresentation().lastPathComponent.dropFirst().description }
    let list = keys.joined(separator: ",")
    let ours = try best {
      let context = ManagedObjectContext(.confinement, coordinator: coordinator)
      var request = FetchRequest<ManagedObject>(entityName: "Item")
      request.predicate = .selfIn(identifiers)
      _ = try context.fetch(request)
    }
    report(
      "\(count) by identifier, in one fetch", ours,
      best { plain.read("SELECT * FROM strata_bench.item WHERE pk = ANY('{\(list)}')") })
  }

  static func saves(_ count: Int, _ coordinator: PersistentStoreCoordinator, _ plain: Plain) throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    try fill(context, 1)
    try context.save()
    let ours = try best {
      for _ in 0..<count {
        try fill(context, 1)
        try context.save()
      }
    }
    var key = 1_000_000_000
    plain.run("CREATE TABLE IF NOT EXISTS strata_bench.single (LIKE strata_bench.item INCLUDING ALL)")
    let theirs = best {
      for _ in 0..<count {
        key += 1
        plain.run("BEGIN")
        plain.run(
          "INSERT INTO strata_bench.single (pk, entity, version, a, b, c, d, e, f, g) VALUES (\(key), 1, 1, 1, 1, 1, 'text', 'text', true, 1)"
        )
        plain.run("COMMIT")
      }
    }
    plain.run("DROP TABLE strata_bench.single")
    report("save of one new object", ours / Double(count), theirs / Double(count))
  }
}

/// libpq alone.
final class Plain {
  private let handle: OpaquePointer

  init(_ components: URLComponents) {
    var text = ""
    for item in components.queryItems ?? [] { text += "\(item.name)='\(item.value ?? "")' " }
    text += "dbname='\(components.path.drop { $0 == "/" })'"
    guard let handle = PQconnectdb(text), PQstatus(handle) == CONNECTION_OK else {
      print("The server takes no connection.")
      exit(69)
    }
    self.handle = handle
  }

  deinit { PQfinish(handle) }

  func run(_ text: String) {
    let result = PQexec(handle, text)
    let status = PQresultStatus(result)
    if status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK {
      print(String(cString: PQerrorMessage(handle)))
      exit(70)
    }
    PQclear(result)
  }

  /// Binary rows into a list of plain structs.
  func read(_ text: String) {
    struct Row {
      var numbers = (Int64(0), Int64(0))
      var texts: (start: Int, count: Int) = (0, 0)
    }
    let result = PQexecParams(handle, text, 0, nil, nil, nil, nil, 1)
    guard PQresultStatus(result) == PGRES_TUPLES_OK else {
      print(String(cString: PQerrorMessage(handle)))
      exit(70)
    }
    let (rows, columns) = (PQntuples(result), PQnfields(result))
    var list: [Row] = []
    var bytes: [UInt8] = []
    list.reserveCapacity(Int(rows))
    for row in 0..<rows {
      var value = Row()
      value.texts.start = bytes.count
      for column in 0..<columns where PQgetisnull(result, row, column) == 0 {
        let length = Int(PQgetlength(result, row, column))
        let buffer = UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: length)
        if length == 8 {
          value.numbers.0 &+= Int64(bigEndian: buffer.loadUnaligned(as: Int64.self))
        } else {
          bytes.append(contentsOf: buffer)
        }
      }
      value.texts.count = bytes.count - value.texts.start
      list.append(value)
    }
    PQclear(result)
  }

  /// Rows by binary COPY.
  func copy(_ count: Int) {
    var bytes: [UInt8] = Array("PGCOPY\n".utf8) + [255, 13, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    func add<Word: FixedWidthInteger>(_ word: Word) {
      withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }
    func field<Word: FixedWidthInteger>(_ word: Word) {
      add(Int32(MemoryLayout<Word>.size))
      add(word)
    }
    func field(_ text: String) {
      add(Int32(text.utf8.count))
      bytes.append(contentsOf: text.utf8)
    }
    for number in 0..<count {
      add(Int16(11))
      field(Int64(number + 1))
      field(Int16(1))
      field(Int32(1))
      add(Int32(-1))
      field(Int64(number))
      field(Int32(number % 1_000))
      field((Double(number) / 3).bitPattern)
      field("text number \(number)")
      field("another text")
      field(UInt8(number % 2))
      field(Double(number).bitPattern)
    }
    add(Int16(-1))
    PQclear(PQexec(handle, "COPY plain FROM STDIN (FORMAT binary)"))
    let isSent = bytes.withUnsafeBytes {
      PQputCopyData(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
    }
    guard isSent == 1, PQputCopyEnd(handle, nil) == 1 else { exit(70) }
    while let result = PQgetResult(handle) {
      if PQresultStatus(result) != PGRES_COMMAND_OK { print(String(cString: PQerrorMessage(handle))) }
      PQclear(result)
    }
  }
}
