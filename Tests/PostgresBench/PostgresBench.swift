import Foundation
import Strata
import StrataPostgres

// Strata's stores on a PostgreSQL server against libpq alone, on the same server in the same run.
//
//     swift run -c release PostgresBench 'postgres:///postgres?host=/tmp/server&user=me' [rows, default 100000 | saves | copies]

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
    defer { try? PostgresStores.destroy(at: url) }
    let plain = Plain(base)
    switch arguments.count > 2 ? arguments[2] : "" {
    case "saves": return try saves(300, coordinator, plain)
    case "copies": return try copies(url, [10, 30, 100, 200, 300, 500, 1_000, 2_000, 5_000])
    default: break
    }
    print("\(count) rows of ten columns; best of three")
    try insert(count, coordinator, plain)
    try fetch(count, coordinator, plain)
    try byKey(min(count, 10_000), coordinator, plain)
    try saves(300, coordinator, plain)
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
    // An ordinary table that grows, as the store's does: a temporary one would be written without a log.
    plain.run("SET client_min_messages = warning")
    plain.run("DROP SCHEMA IF EXISTS strata_plain CASCADE")
    plain.run("CREATE SCHEMA strata_plain")
    defer { plain.run("DROP SCHEMA strata_plain CASCADE") }
    plain.run(
      "CREATE TABLE strata_plain.plain (pk bigint PRIMARY KEY, entity smallint, version int, outside bytea, a bigint, b int, c float8, d text, e text, f bool, g float8)"
    )
    var start = 0
    let theirs = best {
      plain.copy(count, into: "strata_plain.plain", after: start)
      start += count
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

  /// One new object in each save, against what somebody would write by hand: a plain insert, and the same work in the fewest messages. By turns, since the machine may be
  /// busy with something else.
  static func saves(_ count: Int, _ coordinator: PersistentStoreCoordinator, _ plain: Plain) throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    try fill(context, 1)
    try context.save()
    let floor = SaveFloor(plain)
    defer { floor.end() }
    var (ours, simple, same) = (Double.infinity, Double.infinity, Double.infinity)
    for _ in 0..<10 {
      ours = min(
        ours,
        try best(1) {
          for _ in 0..<count {
            try fill(context, 1)
            try context.save()
          }
        })
      simple = min(simple, best(1) { for _ in 0..<count { floor.insert() } })
      same = min(same, best(1) { for _ in 0..<count { floor.save() } })
    }
    let each = Double(count)
    report("save of one new object, against an insert", ours / each, simple / each)
    report("the same, against the same work", ours / each, same / each)
    let object = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item", fetchLimit: 1))
    let changed = try best(5) {
      for number in 0..<count {
        object.first?.setValue(Int64(number), forKey: "a")
        try context.save()
      }
    }
    report("save of one changed object, against an insert", changed / each, simple / each)
  }

  /// So many new objects in one save, copied and in statements of many rows.
  static func copies(_ url: URL, _ counts: [Int]) throws {
    func coordinator(leastCopied: Int) throws -> PersistentStoreCoordinator {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model())
      var options = PostgresStoreOptions()
      options.leastCopied = leastCopied
      try coordinator.addPostgresStore(at: url, options: options)
      return coordinator
    }
    let copying = try coordinator(leastCopied: 1)
    let stating = try coordinator(leastCopied: .max)
    func time(_ coordinator: PersistentStoreCoordinator, _ count: Int) throws -> Double {
      let context = ManagedObjectContext(.confinement, coordinator: coordinator)
      try fill(context, count)
      return try best(1) { try context.save() }
    }
    for count in counts {
      var (copied, stated) = (Double.infinity, Double.infinity)
      for _ in 0..<15 {
        copied = min(copied, try time(copying, count))
        stated = min(stated, try time(stating, count))
      }
      print(
        String(
          format: "save of %6d new objects   COPY %9.3f ms   statements %9.3f ms   %.2f ×", count,
          copied * 1_000,
          stated * 1_000, copied / stated))
    }
  }
}
