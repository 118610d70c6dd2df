import Strata

/// Reads the five tables and saves them in batches on a context of its own.
///
/// Each batch is one save that also writes the table's `ImportState`: killed at any moment, the store holds exactly the rows
/// up to the line its journal names, and the next import goes on after it. Memory: one batch, and the rows of the small
/// tables that flights refer to.
struct Importer: Sendable {
  let source: DataFolder
  let container: PersistentContainer
  let progress: ImportProgress
  /// Called on the importing context's queue for each damaged line not reported by an earlier, interrupted import.
  let report: @Sendable (DamagedLine) -> Void
  /// Rows in one save.
  var batchSize = 5_000

  /// - Returns: the number of rows imported by this call.
  @discardableResult
  func run() async throws -> Int {
    let context = container.newBackgroundContext()
    context.name = "import"
    var count = 0
    count += try await importTable(AirlineRow.self, in: context)
    count += try await importTable(AirportRow.self, in: context)
    count += try await importTable(PlaneRow.self, in: context)
    count += try await importTable(WeatherRow.self, in: context)
    count += try await importTable(FlightRow.self, in: context)
    return count
  }

  private func importTable<Row: ImportableRow>(_ type: Row.Type, in context: ManagedObjectContext)
    async throws -> Int
  {
    progress.start(Row.table)
    let fingerprint = try source.fingerprint(of: Row.table)
    return try await context.perform {
      let state = try ImportState.state(of: Row.table, fingerprint: fingerprint, in: context)
      if state.isFinished { return 0 }
      let links = try Row.links(in: context)
      let firstLine = Int(state.lastLine) + 1
      var reader = try TableReader<Row>(source) { damage in
        if damage.line >= firstLine { report(damage) }
      }
      var count = 0
      var pending = 0

      func saveBatch(isLast: Bool) throws {
        state.lastLine = Int64(reader.line)
        state.rowCount += Int64(pending)
        state.damageCount = Int64(reader.damageCount)
        state.isFinished = isLast
        try context.save()
        progress.add(rows: pending)
        count += pending
        pending = 0
      }

      while let row = try reader.next() {
        if reader.line < firstLine { continue }
        row.insert(into: context, line: reader.line, links)
        pending += 1
        if pending == batchSize { try saveBatch(isLast: false) }
      }
      try saveBatch(isLast: true)
      return count
    }
  }
}

extension ImportState {
  /// The journal's entry for `table`, made when there is none.
  static func state(
    of table: String, fingerprint: String, in context: ManagedObjectContext
  ) throws -> ImportState {
    let request = FetchRequest<ImportState>(entityName: "ImportState", predicate: Attribute("table") == table)
    if let state = try context.fetch(request).first { return state }
    let state = ImportState(context: context)
    state.table = table
    state.fingerprint = fingerprint
    state.lastLine = 1
    state.rowCount = 0
    state.damageCount = 0
    state.isFinished = false
    return state
  }
}
