import Foundation
@_spi(Testing) import StrataCore
import Strata
import Testing

/// A store of boats in which indexes are built a few rows at a time, and what its fetches are compared with.
///
///     Vessel   name, length, built, mark        Ferry   a Vessel with seats
final class IndexStand: Sendable {
  let folder: TemporaryFolder
  let url: URL
  let coordinator: PersistentStoreCoordinator

  static func model(indexes: [FetchIndexDescription] = []) -> ManagedObjectModel {
    let ferry = EntityDescription("Ferry", properties: [AttributeDescription("seats", .integer32)])
    let vessel = EntityDescription(
      "Vessel",
      properties: [
        AttributeDescription("name", .string), AttributeDescription("length", .integer32),
        AttributeDescription("built", .date), AttributeDescription("mark", .string),
        AttributeDescription("plan", .transformable),
      ],
      uniquenessConstraints: [["mark"]], indexes: indexes, subentities: [ferry])
    return ManagedObjectModel(entities: [vessel, ferry])
  }

  /// - Parameter count: So many vessels, every seventh a ferry.
  init(
    _ count: Int, step: Int = 10, model: ManagedObjectModel = IndexStand.model(), in other: IndexStand? = nil,
    readOnly: Bool = false
  ) throws {
    folder = try other?.folder ?? TemporaryFolder()
    url = folder.url.appendingPathComponent("Harbour.strata")
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    // On a busy machine a test may take longer than generations live by default.
    coordinator.queryGenerationLimit = .seconds(86_400)
    var options = LMDBStoreOptions()
    options.durability = .none
    options.rowsPerIndexStep = step
    options.isReadOnly = readOnly
    try coordinator.attach(LMDBStore(url: url, schema: model.schema(), options: options))
    guard count > 0 else { return }
    try edit { context in for number in 0..<count { try Self.make(number, context) } }
  }

  deinit { close() }

  /// Closes the store; its file stays as long as a stand has the folder.
  func close() { for store in coordinator.persistentStores { try? coordinator.remove(store) } }

  @discardableResult
  static func make(_ number: Int, _ context: ManagedObjectContext) throws -> ManagedObject {
    let isFerry = number % 7 == 3
    let object = try EntityDescription.insertNewObject(
      forEntityName: isFerry ? "Ferry" : "Vessel", into: context)
    object.setValue(number % 11 == 5 ? nil : "vessel \(number % 23)", forKey: "name")
    object.setValue(number * 37 % 101, forKey: "length")
    object.setValue(Date(timeIntervalSinceReferenceDate: Double(number * 13 % 997)), forKey: "built")
    if isFerry { object.setValue(number, forKey: "seats") }
    return object
  }

  func context() -> ManagedObjectContext { ManagedObjectContext(.privateQueue, coordinator: coordinator) }

  /// Changes something in a context of its own and saves.
  func edit(_ body: (ManagedObjectContext) throws -> Void) throws {
    let context = context()
    try context.performAndWait {
      try body(context)
      try context.save()
    }
  }

  /// How `byLength` is found.
  func explain(_ context: ManagedObjectContext? = nil, _ explaining: FetchExplaining = .planning) throws
    -> FetchExplanation
  {
    let context = context ?? self.context()
    return try context.performAndWait { try context.explain(Self.byLength, explaining) }
  }

  var engine: LMDBStore { coordinator.persistentStores[0] as! LMDBStore }
  var names: [String] {
    get throws {
      try coordinator.indexes(in: engine).map {
        "\($0.entityName).\($0.name)\($0.isComplete ? "" : " growing")"
      }
    }
  }

  func add(
    _ name: String, _ attributes: String..., entity: String = "Vessel",
    progress: (@Sendable (IndexProgress) -> Void)? = nil
  ) async throws {
    try await coordinator.addIndex(
      FetchIndexDescription(name: name, attributes: attributes), toEntityNamed: entity, in: engine,
      progress: progress)
  }

  func remove(_ name: String, entity: String = "Vessel") async throws {
    try await coordinator.removeIndex(named: name, ofEntityNamed: entity, in: engine)
  }

  /// Rows, indexes and everything else agree.
  func requireSound(_ place: Comment? = nil, _ location: SourceLocation = #_sourceLocation) throws {
    let check = try engine.check()
    #expect(check.isSound, "\(place?.rawValue ?? "") \(check.problems)", sourceLocation: location)
  }

  static let byLength = FetchRequest<ManagedObject>(
    entityName: "Vessel", predicate: Attribute("length") >= 20 && Attribute("length") < 60,
    sortDescriptors: [FetchSort("length")])

  /// What `byLength` finds, through an index or without, and what all rows say are the same.
  func requireSameAnswers(
    _ context: ManagedObjectContext? = nil, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let context = context ?? self.context()
    try context.performAndWait {
      let found = try context.fetch(Self.byLength).map(Self.length)
      let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Vessel")).map(Self.length)
      let matching = all.filter { $0 >= 20 && $0 < 60 }.sorted()
      #expect(found == matching, sourceLocation: location)
      #expect(try context.count(for: Self.byLength) == matching.count, sourceLocation: location)
    }
  }

  static func length(_ object: ManagedObject) -> Int {
    (object.value(forKey: "length") as? NSNumber)?.intValue ?? -1
  }
}
