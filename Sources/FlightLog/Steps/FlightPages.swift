import Strata

/// All flights in the order of their lines, a page at a time: constant memory for any number of them.
enum FlightPages {
  /// Flights fetched at once.
  static let pageSize = 5_000

  /// Calls `body` for each flight. To be called on the queue of `context`.
  ///
  /// - Returns: the number of flights.
  @discardableResult
  static func forEach(in context: ManagedObjectContext, _ body: (Flight) throws -> Void) throws -> Int {
    var lastLine: Int64 = 0
    var count = 0
    while true {
      let page = try context.fetch(
        FetchRequest<Flight>(
          entityName: "Flight", predicate: Attribute("line") > lastLine, sortDescriptors: [FetchSort("line")],
          fetchLimit: pageSize))
      for flight in page { try body(flight) }
      count += page.count
      guard page.count == pageSize, let last = page.last else { return count }
      lastLine = last.line
    }
  }
}
