import CoreData
import Testing

/// A context that counts its saves, may refuse them, and looks at records that are gone.
private class CountingContext: NSManagedObjectContext, @unchecked Sendable {
  // Touched on the context's queue only.
  var saves = 0
  var refuses = false
  var gone: [NSManagedObjectID] = []

  override func save() throws {
    if refuses { throw NSError(domain: "Refusal", code: 3) }
    saves += 1
    try super.save()
  }

  override func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool {
    gone.append(oid)
    return super.shouldHandleInaccessibleFault(fault, for: oid, triggeredByProperty: property)
  }
}

/// A context with a designated initialiser of its own.
private final class NamedContext: CountingContext, @unchecked Sendable {
  let purpose: String

  init(purpose: String, below parent: NSManagedObjectContext) {
    self.purpose = purpose
    super.init(concurrencyType: .privateQueueConcurrencyType)
    self.parent = parent
  }

  override init(concurrencyType: NSManagedObjectContextConcurrencyType) {
    purpose = "none"
    super.init(concurrencyType: concurrencyType)
  }
}

/// A coordinator that remembers what it is for.
private final class NamedCoordinator: NSPersistentStoreCoordinator, @unchecked Sendable {
  let purpose: String

  init(purpose: String, model: NSManagedObjectModel) {
    self.purpose = purpose
    super.init(managedObjectModel: model)
  }
}

private final class Container: NSPersistentContainer, @unchecked Sendable {
  override func newBackgroundContext() -> NSManagedObjectContext {
    let context = CountingContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }
}

@Suite("Subclasses of contexts, coordinators and containers")
struct SubclassTests {
  @Test("save() of a subclass is called by everyone who saves the context, and its super saves")
  func saving() throws {
    let stand = try BirdStand()
    let context = CountingContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = stand.coordinator
    let bird = BirdStand.bird("wren", 3, 1, nil, context)
    let plain: NSManagedObjectContext = context
    try plain.save()
    bird.tally = 4
    try bird.managedObjectContext?.save()
    #expect(context.saves == 2 && !bird.hasChanges)
    #expect(try names(nil, in: stand.context()) == ["wren"])
    context.refuses = true
    bird.tally = 5
    #expect { try plain.save() } throws: { ($0 as NSError).domain == "Refusal" }
    #expect(bird.hasChanges)
  }

  @Test("Errors of super.save() are those of Core Data")
  func errors() throws {
    let stand = try BirdStand { $0.entitiesByName["Bird"]?.attributesByName["name"]?.isOptional = false }
    let context = CountingContext(.privateQueue)
    context.persistentStoreCoordinator = stand.coordinator
    context.performAndWait {
      BirdStand.bird(nil, 1, 1, nil, context)
      #expect { try context.save() } throws: { error in
        (error as? CocoaError)?.code.rawValue == NSValidationMissingMandatoryPropertyError
      }
    }
  }

  @Test("Contexts with initialisers of their own, above and below others")
  func initialisers() throws {
    let stand = try BirdStand()
    let parent = NamedContext(concurrencyType: .privateQueueConcurrencyType)
    parent.persistentStoreCoordinator = stand.coordinator
    let child = NamedContext(purpose: "import", below: parent)
    #expect(parent.purpose == "none" && child.purpose == "import" && child.parent === parent)
    #expect(child.concurrencyType == .privateQueueConcurrencyType)
    try child.performAndWait {
      BirdStand.bird("owl", 1, 1, nil, child)
      try child.save()
    }
    try parent.performAndWait { try parent.save() }
    #expect(child.saves == 1 && parent.saves == 1)
    #expect(CountingContext().concurrencyType == .confinementConcurrencyType)
  }

  @Test("A record that is gone is told to the context, which decides")
  func inaccessible() async throws {
    let stand = try BirdStand()
    _ = try stand.stocked()
    let context = CountingContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = stand.coordinator
    let birds = try context.fetch(Bird.fetchRequest())
    let other = stand.context()
    try other.fetch(Bird.fetchRequest()).forEach { other.delete($0) }
    try other.save()
    let bird = birds[0]
    context.refresh(bird, mergeChanges: false)
    let id = bird.objectID
    #expect(bird.name == nil && bird.isDeleted && context.gone == [id])
    await #expect(processExitsWith: .failure) {
      let stand = try BirdStand()
      let context = CountingContext(concurrencyType: .confinementConcurrencyType)
      context.persistentStoreCoordinator = stand.coordinator
      context.shouldDeleteInaccessibleFaults = false
      let bird = BirdStand.bird("wren", 1, 1, nil, context)
      try context.save()
      let other = stand.context()
      other.delete(other.object(with: bird.objectID))
      try other.save()
      context.refresh(bird, mergeChanges: false)
      _ = bird.name
    }
  }

  @Test("A coordinator of another class serves contexts and containers hand out contexts of another class")
  func coordinators() throws {
    let coordinator = NamedCoordinator(purpose: "cache", model: BirdStand.model())
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    BirdStand.bird("owl", 1, 1, nil, context)
    try context.save()
    #expect((context.persistentStoreCoordinator as? NamedCoordinator)?.purpose == "cache")
    let container = Container(name: "Birds", managedObjectModel: BirdStand.model())
    let description = NSPersistentStoreDescription()
    description.type = NSInMemoryStoreType
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { _, error in #expect(error == nil) }
    let background = try #require(container.newBackgroundContext() as? CountingContext)
    try background.performAndWait {
      BirdStand.bird("owl", 1, 1, nil, background)
      try background.save()
      #expect(background.saves == 1)
    }
  }

  @Test("IDs and conflicts of nothing")
  func empty() {
    let (id, other) = (NSManagedObjectID(), NSManagedObjectID())
    #expect(id == id && id != other && id.isTemporaryID && id.persistentStore == nil)
    #expect(NSConstraintConflict().conflictingObjects.isEmpty && NSConstraintConflict().constraint.isEmpty)
  }
}

// MARK: Closures

/// What generic repositories do: a closure that the caller hands in runs in a block of the context's.
private final class Repository: Sendable {
  private let context: NSManagedObjectContext
  init(_ context: NSManagedObjectContext) { self.context = context }

  func write<Result>(_ body: @escaping @Sendable (NSManagedObjectContext) throws -> Result) async throws
    -> Result
  {
    try await context.perform {
      let result = try body(self.context)
      try self.context.save()
      return result
    }
  }

  func counted() async throws -> Int {
    try await write { context in
      let names = NSMutableArray()
      for bird in try context.fetch(Bird.fetchRequest()) { names.add(bird.name ?? "") }
      return names.count
    }
  }
}

@MainActor private final class Screen {
  private let repository: Repository
  private(set) var count = 0
  init(_ repository: Repository) { self.repository = repository }
  func load() async throws { count = try await repository.counted() }
}

@Suite("Closures that take along what they like")
struct PerformClosureTests {
  @Test("await perform runs a closure that was handed in, of main-actor code, too")
  func captured() async throws {
    let stand = try BirdStand()
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = stand.coordinator
    let repository = Repository(context)
    let added = try await repository.write { context in
      ["owl", "wren"].map { BirdStand.bird($0, 1, 1, nil, context).objectID }
    }
    #expect(added.count == 2)
    let screen = await Screen(repository)
    try await screen.load()
    #expect(await screen.count == 2)
  }

  @Test("await perform takes along what is no Sendable, and brings its result back")
  func capturedObjects() async throws {
    let stand = try BirdStand()
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = stand.coordinator
    let names = NSMutableArray(array: ["owl", "wren"])
    let saved = try await context.perform {
      names.add("robin")
      for case let name as String in names { BirdStand.bird(name, 1, 1, nil, context) }
      try context.save()
      return names
    }
    #expect(saved.count == 3)
    let container = NSPersistentContainer(
      name: "Birds", managedObjectModel: stand.coordinator.managedObjectModel)
    let count = NSMutableArray()
    let made = await container.performBackgroundTask { context in
      count.add(context.concurrencyType.rawValue)
      return count
    }
    #expect(made.count == 1)
  }

  @Test("The handler of a batch insertion counts in a variable outside")
  func batch() throws {
    let stand = try BirdStand()
    let context = stand.context()
    var index = 0
    let request = NSBatchInsertRequest(entityName: "Bird") { (row: NSMutableDictionary) -> Bool in
      if index == 100 { return true }
      row["name"] = "bird \(index)"
      index += 1
      return false
    }
    try context.execute(request)
    #expect(index == 100)
    #expect(try context.count(for: Bird.fetchRequest()) == 100)
  }
}

@Suite("Observers with methods")
struct ObservingByMethodsTests {
  private final class Observer {
    var told: [String] = []
    func heard(_ note: Notification) { told.append(note.name.rawValue) }
  }

  @Test("A method is called until the observer is removed, or gone; the observer is not held")
  func observing() {
    let center = NotificationCenter()
    let (one, two) = (Notification.Name("one"), Notification.Name("two"))
    let source = NSObject()
    var observer: Observer? = Observer()
    let isHeld = { [weak observer] in observer != nil }
    center.addObserver(observer!, name: one, object: nil) { $0.heard($1) }
    center.addObserver(observer!, name: two, object: source) { $0.heard($1) }
    center.post(name: one, object: nil)
    center.post(name: two, object: nil)
    center.post(name: two, object: source)
    #expect(observer?.told == ["one", "two"])
    center.removeObserver(observer!, name: one, object: nil)
    center.post(name: one, object: nil)
    center.post(name: two, object: source)
    #expect(observer?.told == ["one", "two", "two"])
    center.removeObserver(observer!)
    center.post(name: two, object: source)
    #expect(observer?.told.count == 3)
    center.addObserver(observer!, name: one, object: nil) { $0.heard($1) }
    observer = nil
    #expect(!isHeld())
    center.post(name: one, object: nil)
  }

  @Test("Foundation's tokens are removed as before")
  func tokens() {
    let center = NotificationCenter()
    let heard = Observer()
    nonisolated(unsafe) let listener = heard
    let token = center.addObserver(forName: nil, object: nil, queue: nil) { listener.heard($0) }
    center.post(name: Notification.Name("one"), object: nil)
    center.removeObserver(token)
    center.post(name: Notification.Name("two"), object: nil)
    #expect(heard.told == ["one"])
    var sum = 0
    for number in 1...3 { autoreleasepool { sum += number } }
    #expect(sum == 6)
  }
}
