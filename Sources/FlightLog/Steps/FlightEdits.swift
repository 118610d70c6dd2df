import Strata

/// What a person does with the log: writes remarks, adds a flight and takes it out again, changes a mind.
///
/// Ends with the imported values as they were; what remains are remarks. `takeBack` removes what an earlier run left.
@MainActor
struct FlightEdits {
  let container: PersistentContainer

  static let remark = "among the longest delays"
  static let remarkCount = 100

  private var context: ManagedObjectContext { container.viewContext }

  /// - Returns: how many objects were changed and saved.
  func run(_ report: RunReport) async throws -> Int {
    var changes = try remarkLongestDelays(report)
    changes += try addAndDeleteFlight(report)
    try changeMind(report)
    changes += try await editInBackground(report)
    return changes
  }

  /// Removes what the edits of an earlier, perhaps interrupted run left. Returns how many objects that were.
  func takeBack() throws -> Int {
    let remarked = try context.fetch(
      FetchRequest<Flight>(entityName: "Flight", predicate: Attribute("remark") != nil))
    for flight in remarked { flight.remark = nil }
    let added = try context.fetch(
      FetchRequest<Flight>(entityName: "Flight", predicate: Attribute("line") < 1))
    for flight in added { context.delete(flight) }
    // Its weather goes with it.
    let fields = try context.fetch(
      FetchRequest<Airport>(entityName: "Airport", predicate: Attribute("faa") == FlightDeletions.airfield))
    for field in fields { context.delete(field) }
    if context.hasChanges { try context.save() }
    return remarked.count + added.count + fields.count
  }

  private func remarkLongestDelays(_ report: RunReport) throws -> Int {
    let flights = try context.fetch(
      FetchRequest<Flight>(
        entityName: "Flight", sortDescriptors: [FetchSort("departureDelay", ascending: false)],
        fetchLimit: Self.remarkCount))
    for flight in flights { flight.remark = Self.remark }
    report.check("changed objects before the save", context.updatedObjects.count, expected: flights.count)
    try context.save()
    report.check("changes left after the save", context.hasChanges, expected: false)
    return flights.count
  }

  private func addAndDeleteFlight(_ report: RunReport) throws -> Int {
    let all = FetchRequest<Flight>(entityName: "Flight")
    let before = try context.count(for: all)
    guard let model = try context.fetch(FetchRequest<Flight>(entityName: "Flight", fetchLimit: 1)).first
    else { return 0 }
    FlightRow(model).insert(into: context, line: 0, LinkTables())
    report.check("flights with one that is not saved", try context.count(for: all), expected: before + 1)
    try context.save()
    report.check("flights with one added", try context.count(for: all), expected: before + 1)

    let added = try context.fetch(
      FetchRequest<Flight>(entityName: "Flight", predicate: Attribute("line") == 0))
    for flight in added { context.delete(flight) }
    report.check("flights before the deletion is saved", try context.count(for: all), expected: before)
    try context.save()
    report.check("flights after the deletion", try context.count(for: all), expected: before)
    return 2
  }

  private func changeMind(_ report: RunReport) throws {
    guard let flight = try context.fetch(FetchRequest<Flight>(entityName: "Flight", fetchLimit: 1)).first
    else { return }
    let distance = flight.distance
    flight.distance = distance + 1
    context.rollback()
    report.check("a distance after rollback", flight.distance, expected: distance)
  }

  /// A sibling context edits what the main context holds; the main context takes the change over by itself.
  private func editInBackground(_ report: RunReport) async throws -> Int {
    guard
      let flight = try context.fetch(
        FetchRequest<Flight>(
          entityName: "Flight", sortDescriptors: [FetchSort("departureDelay", ascending: false)],
          fetchLimit: 1)
      ).first
    else { return 0 }
    let remark = "\(Self.remark), seen in the background"
    let id = flight.objectID
    try await container.performBackgroundTask { context in
      let twin = try context.existingObject(with: id) as? Flight
      twin?.remark = remark
      try context.save()
    }
    // The merge was enqueued on the main queue before the save returned.
    await context.perform {}
    report.check("a remark written in the background", flight.remark, expected: remark)
    return 1
  }
}
