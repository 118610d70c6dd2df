import Foundation
import Strata

/// The whole job, on the main actor: open, count, import, ask, follow the links, delete, edit, reopen, read everything, export, report.
///
/// Import, export and reading of everything run on background contexts; meanwhile the main context goes on counting.
@MainActor
final class FlightLogRun {
  private let source: DataFolder
  private let store: FlightStore
  private let terminal: Terminal
  private let startsFresh: Bool
  let report = RunReport()
  private let clock = ContinuousClock()

  init(source: DataFolder, store: FlightStore, terminal: Terminal, startsFresh: Bool = false) {
    self.source = source
    self.store = store
    self.terminal = terminal
    self.startsFresh = startsFresh
  }

  /// - Throws: the first thing that went wrong, after which the store holds what was saved until then; or a
  ///   `FlightLogError` at the end when an answer was not the expected one.
  func run() async throws {
    var container = try await open()
    let tally = try await countFiles()
    try await importTables(into: container, tally)
    try checkCounts(container.viewContext, tally)
    try ask(container.viewContext, tally)
    try await followLinks(container, tally)
    try await delete(container, tally)
    try await edit(container)
    container = try await reopen(container)
    try checkCounts(container.viewContext, tally)
    try await prove(container)
    try await readEverything(container, tally)
    try await export(container, tally)
    try await importByStacks(tally)
    try store.close(container)
    try conclude()
  }

  // MARK: Steps

  /// Opens the store and says what an earlier run left in it.
  private func open() async throws -> PersistentContainer {
    let start = clock.now
    if startsFresh { try store.destroy() }
    var container = try await store.open()
    let journal = try container.viewContext.fetch(
      FetchRequest<ImportState>(entityName: "ImportState", sortDescriptors: [FetchSort("table")]))
    let foreign = try journal.first { try $0.fingerprint != source.fingerprint(of: $0.table) }?.table
    var rowsFound = 0
    if let foreign {
      terminal.say("Found a log of other data (\(foreign) differ): starting again from nothing.")
      try store.destroy(with: container)
      container = try await store.open()
    } else if !journal.isEmpty {
      rowsFound = journal.reduce(0) { $0 + Int($1.rowCount) }
      try greet(journal, container)
    }
    report.add("open", count: rowsFound, of: "rows found", time: clock.now - start)
    return container
  }

  private func greet(_ journal: [ImportState], _ container: PersistentContainer) throws {
    if let unfinished = journal.first(where: { !$0.isFinished }) {
      terminal.say(
        "Found an unfinished import: \(unfinished.table) up to line \(Int(unfinished.lastLine).grouped); going on after it."
      )
    } else if journal.count < DataFolder.tables.count {
      terminal.say(
        "Found an unfinished import of \(journal.count) of \(DataFolder.tables.count) tables; going on.")
    } else {
      terminal.say("Found a finished import; using it (--fresh starts again from nothing).")
    }
    let edits = try FlightEdits(container: container).takeBack()
    if edits > 0 { terminal.say("Took back \(edits.grouped) edits of the earlier run.") }
  }

  private func countFiles() async throws -> FlightTally {
    let start = clock.now
    let source = source
    terminal.say("Counting what the files in \(source.url.path) say …")
    let tally = try await Task.detached { try FlightTally(of: source) }.value
    report.add("count the CSV files", count: tally.rowCount, of: "rows", time: clock.now - start)
    return tally
  }

  private func importTables(into container: PersistentContainer, _ tally: FlightTally) async throws {
    let start = clock.now
    let terminal = terminal
    let progress = ImportProgress()
    let importer = Importer(source: source, container: container, progress: progress) {
      terminal.complain($0.description)
    }
    let already = try storedRowCount(container.viewContext)
    let (rows, counts) = try await countingMeanwhile(container.viewContext) {
      try await importer.run()
    } onCount: { counts in
      let current = progress.current
      terminal.show(
        ProgressBar(
          title: current.table.isEmpty ? "import" : current.table, done: already + current.rows,
          total: tally.rowCount,
          note: "the main context counts \(counts.last.grouped) flights"))
    }
    terminal.endBar()
    report.add("import", count: rows, of: "rows", time: clock.now - start)
    report.check("main context's counts that went back", counts.setbacks, expected: 0)
    report.add(
      "… counting meanwhile", count: counts.times, of: "counts of all flights, the slowest",
      time: counts.slowest)
  }

  private func checkCounts(_ context: ManagedObjectContext, _ tally: FlightTally) throws {
    let states = try context.fetch(FetchRequest<ImportState>(entityName: "ImportState"))
    report.check("tables in the journal", states.count, expected: DataFolder.tables.count)
    for state in states {
      report.check(
        "the journal's rows of \(state.table)", Int(state.rowCount), expected: tally.rows[state.table])
      report.check(
        "damaged lines of \(state.table)", Int(state.damageCount), expected: tally.damages[state.table])
    }
    for (table, entity) in Self.entities {
      let count = try context.count(for: FetchRequest<ManagedObject>(entityName: entity))
      report.check("rows of \(table)", count, expected: tally.rows[table])
    }
  }

  private func ask(_ context: ManagedObjectContext, _ tally: FlightTally) throws {
    let start = clock.now
    let (lines, answers) = try FlightQueries(context: context, tally: tally).run(report)
    report.add("ask", count: answers, of: "objects and counts", time: clock.now - start)
    for line in lines { terminal.say("  " + line) }
  }

  /// Reads the links of every flight on a background context and compares them with what the codes in the files say.
  private func followLinks(_ container: PersistentContainer, _ tally: FlightTally) async throws {
    let start = clock.now
    let findings = try await container.performBackgroundTask { try FlightLinks(context: $0).follow() }
    report.check("links", findings.tally, expected: tally.links)
    report.check("flights linked to something wrong", findings.wrong, expected: 0)
    report.check("links that lead back", findings.ledBack, expected: tally.links.ofFlights)
    report.check("flights of each plane", findings.flightsByPlane, expected: tally.flightsByPlane)
    report.add(
      "follow the links", count: 2 * findings.tally.ofFlights, of: "links, from both ends",
      time: clock.now - start)
    for line in findings.tally.lines { terminal.say("  " + line) }
    if let plane = findings.busiestPlane { terminal.say("  The busiest plane: \(plane)") }
  }

  private func delete(_ container: PersistentContainer, _ tally: FlightTally) async throws {
    let start = clock.now
    let (lines, count) = try await FlightDeletions(container: container, tally: tally).run(report)
    report.add("delete, in part taken back", count: count, of: "objects", time: clock.now - start)
    for line in lines { terminal.say("  " + line) }
  }

  private func edit(_ container: PersistentContainer) async throws {
    let start = clock.now
    let count = try await FlightEdits(container: container).run(report)
    report.add("edit and save", count: count, of: "objects", time: clock.now - start)
  }

  private func reopen(_ container: PersistentContainer) async throws -> PersistentContainer {
    let start = clock.now
    try store.close(container)
    let reopened = try await store.open()
    let remarks = try reopened.viewContext.count(
      for: FetchRequest<Flight>(
        entityName: "Flight", predicate: Attribute("remark").beginsWith(FlightEdits.remark)))
    report.check(
      "remarks after reopening", remarks, expected: min(FlightEdits.remarkCount, try flightCount(reopened)))
    report.add("close and reopen", count: remarks, of: "remarks still there", time: clock.now - start)
    return reopened
  }

  /// Has the store prove that its rows, indexes and large values agree.
  private func prove(_ container: PersistentContainer) async throws {
    let start = clock.now
    for case let store as LMDBStore in container.persistentStoreCoordinator.persistentStores {
      let check = try await Task.detached { try store.check() }.value
      report.check("problems of the store", check.problems.map(\.description), expected: [])
      report.add(
        "check the store", count: check.rowCount + check.indexEntryCount, of: "rows and index entries",
        time: clock.now - start)
    }
  }

  /// Reads every attribute of every flight and compares the digest with that of the CSV file.
  private func readEverything(_ container: PersistentContainer, _ tally: FlightTally) async throws {
    let start = clock.now
    let (digest, distance, count) = try await container.performBackgroundTask { context in
      var digest = Digest()
      var distance = 0
      let count = try FlightPages.forEach(in: context) { flight in
        digest.add(FlightRow(flight))
        distance += Int(flight.distance)
      }
      return (digest, distance, count)
    }
    report.check("digest of all flights", digest, expected: tally.flightDigest)
    report.check("miles flown", distance, expected: tally.distanceFlown)
    report.add("read every attribute", count: count, of: "flights", time: clock.now - start)
    terminal.say("  All flights together: \(distance.grouped) miles, digest \(digest)")
  }

  private func export(_ container: PersistentContainer, _ tally: FlightTally) async throws {
    let start = clock.now
    let file = store.exportURL
    let (count, counts) = try await countingMeanwhile(container.viewContext) {
      try await FlightExport.run(from: container, to: file)
    }
    report.add("export in the background", count: count, of: "flights", time: clock.now - start)
    report.add(
      "… counting meanwhile", count: counts.times, of: "counts of all flights, the slowest",
      time: counts.slowest)
    let reread = try await Task.detached { try FlightExport.digest(of: file) }.value
    report.check("digest of the exported file", reread, expected: tally.flightDigest)
  }

  /// Imports the flights again by contexts above contexts, and says how long the main thread was held at a stretch.
  private func importByStacks(_ tally: FlightTally) async throws {
    let imports = StackImports(source: source, log: store)
    for stack in StackImports.Stack.allCases {
      let start = clock.now
      let result = try await imports.run(stack)
      let expected = tally.rows[FlightRow.table]
      report.check("flights imported by stack \(stack)", result.rows, expected: expected)
      report.check("flights stored by stack \(stack)", result.stored, expected: expected)
      report.add("stack \(stack.rawValue)", count: result.rows, of: "flights", time: clock.now - start)
      report.add(
        "… scrolling meanwhile", count: result.windows, of: "windows, the main thread's longest stall",
        time: result.stall)
    }
  }

  private func conclude() throws {
    terminal.say("")
    for line in report.lines { terminal.say(line) }
    guard report.failures.isEmpty else {
      for failure in report.failures { terminal.complain("wrong: \(failure)") }
      throw FlightLogError("\(report.failures.count) of \(report.checkCount) checks failed.")
    }
    terminal.say("All \(report.checkCount) checks agree with the CSV files. Store: \(store.words)")
  }

  // MARK: -

  private static let entities = [
    AirlineRow.table: "Airline", AirportRow.table: "Airport", PlaneRow.table: "Plane",
    WeatherRow.table: "Weather", FlightRow.table: "Flight",
  ]

  /// Does `work` while the main context counts all flights, fifty times a second.
  private func countingMeanwhile<Result: Sendable>(
    _ context: ManagedObjectContext, _ work: () async throws -> Result,
    onCount: @escaping @MainActor (MainContextCounts) -> Void = { _ in }
  ) async throws -> (Result, MainContextCounts) {
    let counting = Task { @MainActor in
      var counts = MainContextCounts(context)
      while !Task.isCancelled {
        try counts.count()
        onCount(counts)
        try? await Task.sleep(for: .milliseconds(20))
      }
      return counts
    }
    defer { counting.cancel() }
    let result = try await work()
    counting.cancel()
    return (result, try await counting.value)
  }

  private func storedRowCount(_ context: ManagedObjectContext) throws -> Int {
    try context.fetch(FetchRequest<ImportState>(entityName: "ImportState")).reduce(0) {
      $0 + Int($1.rowCount)
    }
  }

  private func flightCount(_ container: PersistentContainer) throws -> Int {
    try container.viewContext.count(for: FetchRequest<Flight>(entityName: "Flight"))
  }
}
