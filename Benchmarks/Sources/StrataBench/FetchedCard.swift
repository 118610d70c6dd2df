import ArgumentParser
import Foundation
import Strata

/// The card “fetched”: what it costs a fetched results controller to open and to follow its context, as its list grows.
struct Fetched: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "A fetched results controller with sections: opening it, one change, a thousand changes.")

  @Option(parsing: .upToNextOption, help: "Row counts, such as 10k 100k 1M.")
  var sizes = [Size(10_000), Size(100_000), Size(1_000_000)]
  @Option(help: "Counted single changes of each kind.") var changes = 200
  @Option(help: "Counted runs of everything else.") var runs = 5
  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"
  @OptionGroup var output: ResultsOptions

  func validate() throws {
    guard runs > 0, changes > 0 else { throw ValidationError("--runs and --changes need positive numbers.") }
  }

  func run() async throws {
    let root = URL(fileURLWithPath: directory).appendingPathComponent("fetched-\(getpid())")
    try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: root) }
    print("## strata-bench fetched\n")
    let machine = try Machine(directory: root)
    print(machine.conditions.map { "- \($0)\n" }.joined())
    var columns: [FetchedTimes] = []
    for size in sizes.map(\.rows).sorted() {
      let folder = root.appendingPathComponent("store")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let stand = try FetchedStand(folder, size: size)
      columns.append(try stand.measure(changes: changes, runs: runs))
      try stand.close()
      try FileManager.default.removeItem(at: folder)
    }
    var table = Table(header: [""] + columns.map { "\($0.size) rows" })
    for (place, name) in FetchedTimes.names.enumerated() {
      table.rows.append([name] + columns.map { "\(($0.values[place] * 100).rounded() / 100)" })
    }
    if let last = columns.last, columns.count > 1 {
      let before = columns[columns.count - 2]
      print(table)
      print("Growth from \(before.size) to \(last.size) rows:\n")
      for place in FetchedTimes.singleChanges {
        let ratio = last.values[place] / before.values[place]
        print("- \(FetchedTimes.names[place]): × \((ratio * 100).rounded() / 100)")
      }
    } else {
      print(table)
    }
    try output.write("fetched", columns.flatMap(\.figures), on: machine)
  }
}

/// What was measured of one size, medians.
struct FetchedTimes {
  let size: Int
  var values: [Double] = []

  static let names = [
    "open, ms", "the first change, ms", "edit here to report: update, µs", "edit here to report: move, µs",
    "edit here to report: insert, µs",
    "edit here to report: delete, µs", "commit of a sibling to report: move, µs",
    "1,000 changes in one commit to report, ms", "fetching all IDs anew, ms",
    "memory of a list, for each row, B",
  ]
  static let singleChanges = 2...6
  /// Of a list of a million rows.
  private static let required: [String: Bound] = [
    "open, ms": .atMost(10), "the first change, ms": .atMost(2),
    "memory of a list, for each row, B": .atMost(24),
  ]

  /// The names end with the unit.
  var figures: [Figure?] {
    zip(Self.names, values).map { name, value in
      guard let comma = name.lastIndex(of: ",") else { return nil }
      let unit = String(name[name.index(comma, offsetBy: 2)...])
      let measure: Figure.Measure = unit == "B" ? .memoryPerObject : .time
      var figure = Figure.measured(
        String(name[..<comma]), size: size, "Strata", as: measure, [value], unit: unit)
      if size >= 1_000_000 { figure?.required = Self.required[name] }
      // Each is a median already, of runs or of changes.
      figure?.counted = nil
      return figure
    }
  }
}

/// A store of flights in sections by airline, a controller over all of them.
private final class FetchedStand {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let writer: ManagedObjectContext
  private let size: Int
  private let listener = ReportListener()
  private static let airlines = 16

  init(_ folder: URL, size: Int) throws {
    self.size = size
    let entity = EntityDescription(
      "Departure",
      properties: [
        AttributeDescription("airline", .string), AttributeDescription("number", .integer64),
        AttributeDescription("delay", .integer32), AttributeDescription("note", .string),
      ])
    entity.indexes = [FetchIndexDescription(name: "byAirline", attributes: ["airline", "number"])]
    container = PersistentContainer(name: "Fetched", model: ManagedObjectModel(entities: [entity]))
    try container.persistentStoreCoordinator.addPersistentStore(
      PersistentStoreDescription.measured(folder.appendingPathComponent("fetched.strata")))
    context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
    writer = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
    var next = 0
    _ = try context.execute(
      BatchInsertRequest(entityName: "Departure") { values in
        if next == size { return true }
        values = [
          "airline": Self.airline(next), "number": Int64(next) * 10, "delay": next % 90,
          "note": "departure number \(next)",
        ]
        next += 1
        return false
      })
  }

  func close() throws {
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }

  private static func airline(_ number: Int) -> String { "airline \(10 + number % airlines)" }

  private func makeController() -> FetchedResultsController<ManagedObject> {
    var request = FetchRequest<ManagedObject>(
      entityName: "Departure", sortDescriptors: [FetchSort("airline"), FetchSort("number")])
    request.fetchBatchSize = 50
    let controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "airline")
    controller.delegate = listener
    return controller
  }

  private func time(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    return (ContinuousClock.now - start).seconds
  }

  func measure(changes: Int, runs: Int) throws -> FetchedTimes {
    var times = FetchedTimes(size: size)
    let bytesPerRow = try self.bytesPerRow()
    var opened: [Double] = []
    for _ in 0..<runs {
      let controller = makeController()
      opened.append(try time { try controller.performFetch() } * 1e3)
    }
    times.values.append(opened.median)
    let controller = makeController()
    try controller.performFetch()
    guard controller.fetchedObjects?.count == size else { throw BenchmarkError("objects are missing") }
    let ids = try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Departure"))
    var random = SystemRandomNumberGenerator()
    func any() throws -> ManagedObject {
      try context.existingObject(with: ids[Int.random(in: 0..<ids.count, using: &random)])
    }
    func edit(_ body: (ManagedObject) -> Void) throws -> Double {
      let object = try any()
      if object.isDeleted { return try edit(body) }
      body(object)
      return try report { context.processPendingChanges() }
    }
    times.values.append(try edit { $0.setValue(99, forKey: "delay") } * 1e3)
    let kinds: [(ManagedObject) -> Void] = [
      { $0.setValue(Int.random(in: 100..<200), forKey: "delay") },
      { $0.setValue(Self.airline(Int.random(in: 0..<Self.airlines)) + "x", forKey: "airline") },
      { _ in self.insert() },
      { self.context.delete($0) },
    ]
    for kind in kinds {
      times.values.append(try (0..<changes).map { _ in try edit(kind) }.median * 1e6)
      try context.save()
    }
    // Elsewhere, of rows that are no objects here.
    times.values.append(
      try (0..<changes).map { _ in try commit(ids, count: 1) }.median * 1e6)
    times.values.append(try (0..<runs).map { _ in try commit(ids, count: 1_000) }.median * 1e3)
    times.values.append(
      try (0..<runs).map { _ in
        try time {
          _ = try context.fetch(
            FetchRequest<ManagedObjectID>(
              entityName: "Departure", sortDescriptors: [FetchSort("airline"), FetchSort("number")]))
        }
      }.median * 1e3)
    times.values.append(bytesPerRow)
    withExtendedLifetime(controller) {}
    return times
  }

  /// Growth of the private memory by a list, and by what looks up places in it; zero where the system does not tell.
  private func bytesPerRow() throws -> Double {
    let before = ResidentSet.current().anonymous
    let controller = makeController()
    try controller.performFetch()
    // More often than it is searched.
    let ids = controller.fetchedObjects.map { Array($0.objectIDs.prefix(10)) } ?? []
    for id in ids {
      guard controller.indexPath(forID: id) != nil else { throw BenchmarkError("an object is missing") }
    }
    let after = ResidentSet.current().anonymous
    withExtendedLifetime(controller) {}
    return Double(max(after - before, 0)) / Double(size)
  }

  private func insert() {
    // The model has the entity.
    let entity = container.managedObjectModel.entitiesByName["Departure"]!
    let new = ManagedObject(entity: entity, insertInto: context)
    new.setValue(Self.airline(Int.random(in: 0..<Self.airlines)), forKey: "airline")
    new.setValue(Int.random(in: 0..<size * 10), forKey: "number")
    new.setValue(1, forKey: "delay")
    new.setValue("new", forKey: "note")
  }

  /// The time until something is reported.
  private func report(_ body: () throws -> Void) throws -> Double {
    listener.reports = 0
    let seconds = try time(body)
    guard listener.reports == 1 else { throw BenchmarkError("\(listener.reports) reports of one change") }
    return seconds
  }

  private func commit(_ ids: [ManagedObjectID], count: Int) throws -> Double {
    var changed = 0
    while changed < count {
      let object: ManagedObject
      do {
        object = try writer.existingObject(with: ids[Int.random(in: 0..<ids.count)])
      } catch let error as CoreDataError where error.code == .managedObjectReferentialIntegrity {
        // Deleted by an earlier measurement.
        continue
      }
      object.setValue(Int.random(in: 0..<size * 10), forKey: "number")
      changed += 1
    }
    let heard = HeardSave()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: writer, queue: nil
    ) { heard.notification = $0 }
    defer { NotificationCenter.default.removeObserver(token) }
    try writer.save()
    guard let notification = heard.notification else { throw BenchmarkError("no notification of a save") }
    return try report { context.mergeChanges(fromContextDidSave: notification) }
  }
}

/// Unchecked: posted and read on one thread.
private final class HeardSave: @unchecked Sendable {
  var notification: Notification?
}

private final class ReportListener: FetchedResultsChangeDelegate {
  typealias Result = ManagedObject
  var reports = 0
  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) { reports += 1 }
}
