import CoreData

/// What Core Data and the reference do not agree about.
struct Disagreement: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// One story: a stack over one store file, random steps on it, and a reference that says what each context must show.
///
/// The reference is a dictionary of records for the store and one of edited records for each context. A record that a context has
/// edited is left alone by all others but the contexts above it until the edit is saved or given up: so no two edits ever meet by
/// accident, and what must be seen is plain. Edits that do meet are steps of their own (`Steps+Conflicts`).
final class GraphRun {
  let seed: UInt64
  let model: ModelPlan
  let folder: URL
  var dice: Dice
  /// What the store holds.
  var store: [Int: PlainRecord] = [:]
  var places: [Place] = []
  var ids: [Int: NSManagedObjectID] = [:]
  var numbers: [NSManagedObjectID: Int] = [:]
  var nextNumber = 1
  var nextName = 1
  var nextUnique: Int64 = 1
  var step = 0
  var coordinator: NSPersistentStoreCoordinator
  let hands = [Hand("hand 1"), Hand("hand 2"), Hand("hand 3")]
  /// Lets calls of the operating system fail; nil in processes without such an intermediate.
  let disk: (any FailingDisk)?
  let settings: StorySettings
  private(set) var counts: [String: Int] = [:]
  private(set) var log: [String] = []

  init(_ settings: StorySettings, folder: URL, disk: (any FailingDisk)?) throws {
    self.settings = settings
    seed = settings.seed
    model = .random(seed: settings.seed)
    self.folder = folder
    self.disk = disk
    dice = Dice(seed: settings.seed)
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model.make())
    try open()
    addRoot()
  }

  var url: URL { folder.appendingPathComponent("Stack.sqlite") }

  func open() throws {
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model.make())
    try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url)
  }

  // MARK: Telling

  func note(_ text: String) {
    log.append("\(step) \(text)")
    if log.count > 8_000 { log.removeFirst(4_000) }
    if settings.isLoud { print("\(step) \(text)") }
  }

  func count(_ kind: String) { counts[kind, default: 0] += 1 }

  func expect(_ condition: Bool, _ complaint: @autoclosure () -> String) throws {
    if !condition { throw Disagreement(complaint()) }
  }

  // MARK: What must be seen

  /// What a context shows, itself included.
  func view(_ place: Place?) -> PlainGraph {
    var records = store
    for below in (place?.chain ?? []).reversed() {
      for (number, record) in below.layer { records[number] = record }
    }
    return PlainGraph(model, records)
  }

  /// What lies below a context.
  func below(_ place: Place) -> PlainGraph { view(place.parent) }

  /// Whether a context may edit these records.
  func mayTouch(_ wanted: Set<Int>, _ place: Place) -> Bool {
    places.allSatisfy { other in
      other === place || place.isAbove(other) || other.claims.isDisjoint(with: wanted)
    }
  }

  /// The edits `change` makes become those of the context, unless another context has edited what they touch.
  func plan(_ place: Place, _ change: (inout PlainGraph) -> Void) -> PlainGraph? {
    var graph = view(place)
    change(&graph)
    return mayTouch(graph.touched, place) ? graph : nil
  }

  func adopt(_ graph: PlainGraph, _ place: Place) {
    let below = below(place)
    for number in graph.touched {
      if let record = graph[number] {
        place.layer[number] = .some(record)
      } else if below[number] != nil {
        place.layer[number] = .some(nil)
      } else {
        place.layer[number] = nil
      }
    }
    for other in places where other.isAbove(place) {
      other.isBehind = true
      other.unheard = nil
    }
  }

  // MARK: Going into a context

  /// Runs `body` as one event of the context, on a thread that may be in it.
  func enter<T>(_ place: Place, _ body: () throws -> T) throws -> T {
    let result = try inside(place) {
      place.atStart = place.layer
      let result = try body()
      try endEvent(place)
      return result
    }
    drain()
    return result
  }

  /// Ends the event that edits belong to: what was done in it is one group that can be undone.
  func endEvent(_ place: Place) throws {
    place.context.processPendingChanges()
    try noteUndo(place, place.atStart)
    place.atStart = place.layer
  }

  /// Runs `body` in the context and waits for it.
  func inside<T>(_ place: Place, _ body: () throws -> T) throws -> T {
    let context = place.context
    switch context.concurrencyType {
    case .confinementConcurrencyType: return try body()
    default:
      let hand = hands[dice.roll(hands.count)]
      if dice.chance(30) {
        return try hand.run { try Self.perform(context, body) }
      }
      if dice.chance(50) { return try hand.run { try context.performAndWait { try body() } } }
      return try context.performAndWait { try body() }
    }
  }

  /// `perform`, waited for.
  private static func perform<T>(_ context: NSManagedObjectContext, _ body: () throws -> T) throws -> T {
    try withoutActuallyEscaping(body) { body in
      var result: Result<T, any Error>?
      let done = DispatchSemaphore(value: 0)
      context.perform {
        result = Result { try body() }
        done.signal()
      }
      done.wait()
      // The event ends after the block.
      context.performAndWait {}
      guard let result else { throw Disagreement("a block was not run") }
      return try result.get()
    }
  }

  /// What was enqueued on queues has had its turn.
  func drain() {
    for place in places where place.context.concurrencyType != .confinementConcurrencyType {
      place.context.performAndWait {}
    }
  }

  // MARK: Objects and numbers

  func number(_ object: NSManagedObject?) throws -> Int? {
    guard let object else { return nil }
    guard let number = numbers[object.objectID] else { throw Disagreement("nobody knows \(object.objectID)") }
    return number
  }

  /// The object for a record that the context shows, by one way or another.
  func object(_ number: Int, _ place: Place) throws -> NSManagedObject {
    guard let id = ids[number] else { throw Disagreement("#\(number) has no ID") }
    let context = place.context
    let object: NSManagedObject
    switch dice.roll(5) {
    case 0: object = try context.existingObject(with: id)
    case 1:
      let request = NSFetchRequest<NSManagedObject>(entityName: id.entity.name ?? "")
      request.predicate = NSPredicate(format: "number == %d", number)
      let found = try context.fetch(request)
      try expect(found.count == 1, "\(place.name): #\(number) is found \(found.count) times")
      object = found[0]
    case 2: object = context.registeredObject(for: id) ?? context.object(with: id)
    default: object = context.object(with: id)
    }
    try expect(object.objectID == id, "\(place.name): asked for #\(number), \(id), got \(object.objectID)")
    if dice.chance(30) { place.held[number] = object }
    return object
  }

  func label(_ numbers: [Int]) -> String { numbers.map { "#\($0)" }.joined(separator: " ") }
}

/// The parameters of a story.
struct StorySettings {
  var seed: UInt64
  var operations: Int
  /// Steps that are left out.
  var skipped: Set<Int> = []
  var isLoud = false
}

/// Something that lets calls of the operating system fail.
protocol FailingDisk {
  /// From now on the `nth` call that writes fails.
  func failWrites(nth: Int, code: Int32)
  /// From now on all calls that a read needs fail.
  func failReads(nth: Int)
  /// All is well again; how many calls have failed.
  func heal() -> Int
}
