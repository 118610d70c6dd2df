import CoreData
import Testing

/// What moods saw in `prepareForDeletion()`.
private final class Seen {
  var lines: [String] = []
}

/// Deletes its country with the last mood of it.
final class Mood: NSManagedObject {
  var country: Country? {
    get { value(forKey: "country") as? Country }
    set { setValue(newValue, forKey: "country") }
  }
  override func prepareForDeletion() {
    super.prepareForDeletion()
    guard let country, let context = managedObjectContext else { return }
    (context.userInfo["seen"] as? Seen)?.lines.append("\(isDeleted) \(country.isDeleted)")
    if context.userInfo["again"] != nil { context.delete(self) }
    if country.moods.filter({ !$0.isDeleted }).isEmpty { context.delete(country) }
  }
}

final class Country: NSManagedObject {
  var moods: Set<Mood> { value(forKey: "moods") as? Set<Mood> ?? [] }
}

@Suite("What hooks and observers see of a change")
struct HookStateTests {
  let coordinator: NSPersistentStoreCoordinator
  let context: NSManagedObjectContext

  init() throws {
    let (mood, country) = (NSEntityDescription(), NSEntityDescription())
    mood.name = "Mood"
    mood.managedObjectClass = Mood.self
    country.name = "Country"
    country.managedObjectClass = Country.self
    mood.properties = [
      CompanyStand.attribute("name", .stringAttributeType),
      CompanyStand.attribute("hue", .stringAttributeType),
      CompanyStand.attribute("nick", .stringAttributeType, transient: true),
    ]
    country.properties = [CompanyStand.attribute("name", .stringAttributeType)]
    CompanyStand.relate(country, "moods", 0, mood, "country", 1, rule: .cascadeDeleteRule)
    let model = NSManagedObjectModel()
    model.entities = [mood, country]
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  private func moods(_ count: Int) -> (Country, [Mood]) {
    let country = Country(context: context)
    let moods = (0..<count).map { _ in Mood(context: context) }
    for mood in moods { mood.country = country }
    return (country, moods)
  }

  private func count(_ name: String) throws -> Int {
    try context.count(for: NSFetchRequest<NSManagedObject>(entityName: name))
  }

  // MARK: prepareForDeletion()

  @Test(
    "rule 147: an object is deleted in its prepareForDeletion(): the last one takes its owner along",
    arguments: [false, true])
  func lastOne(isSaved: Bool) throws {
    let (_, moods) = moods(2)
    if isSaved { try context.save() }
    let seen = Seen()
    context.userInfo["seen"] = seen
    context.delete(moods[0])
    #expect(moods[0].isDeleted && seen.lines == ["true false"])
    try context.save()
    #expect(try count("Country") == 1 && count("Mood") == 1)
    context.delete(moods[1])
    try context.save()
    #expect(try count("Country") == 0 && count("Mood") == 0)
  }

  @Test("rule 147: a cascade's members see their owner deleted, saved or new", arguments: [false, true])
  func cascade(isSaved: Bool) throws {
    let (country, _) = moods(2)
    if isSaved { try context.save() }
    let seen = Seen()
    context.userInfo["seen"] = seen
    context.delete(country)
    context.processPendingChanges()
    #expect(seen.lines == ["true true", "true true"])
    try context.save()
    #expect(try count("Country") == 0 && count("Mood") == 0)
  }

  @Test("An object that deletes itself again in its hook is deleted once", arguments: [false, true])
  func again(isSaved: Bool) throws {
    let (_, moods) = moods(2)
    if isSaved { try context.save() }
    let seen = Seen()
    context.userInfo["seen"] = seen
    context.userInfo["again"] = true
    context.delete(moods[0])
    #expect(seen.lines == ["true false"])
    try context.save()
    #expect(try count("Country") == 1 && count("Mood") == 1)
  }

  // MARK: changedValuesForCurrentEvent()

  private static func keys(_ objects: Any?) -> [String] {
    (objects as? Set<NSManagedObject> ?? []).flatMap { $0.changedValuesForCurrentEvent().keys }.sorted()
  }

  // Unchecked: contexts post on the thread that runs the test.
  private final class Heard: @unchecked Sendable { var lines: [String] = [] }

  /// Runs `body` and returns the changed keys of inserted and updated objects that observers of did-change found.
  private func heard(_ body: () throws -> Void) rethrows -> [String] {
    let heard = Heard()
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
    ) {
      let info = $0.userInfo
      for key in [NSInsertedObjectsKey, NSUpdatedObjectsKey] { heard.lines += Self.keys(info?[key]) }
      heard.lines.append(".")
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try body()
    return heard.lines
  }

  @Test("rule 74: observers of did-change find the keys of the event they are told of, and no one later")
  func observers() throws {
    let mood = Mood(context: context)
    let first = heard {
      mood.setValue("a", forKey: "name")
      context.processPendingChanges()
    }
    #expect(first == ["name", "."])
    #expect(mood.changedValuesForCurrentEvent().isEmpty)
    try context.save()
    let lines = try heard {
      mood.setValue("b", forKey: "name")
      context.processPendingChanges()
      mood.setValue("red", forKey: "hue")
      try context.save()
    }
    #expect(lines == ["name", ".", "hue", "."])
    #expect(mood.changedValuesForCurrentEvent().isEmpty)
  }

  @Test("Relationships are among them, and what an earlier event has set is not")
  func relationships() throws {
    let (country, moods) = moods(1)
    try context.save()
    country.setValue("x", forKey: "name")
    context.processPendingChanges()
    moods[0].country = nil
    #expect(Set(country.changedValuesForCurrentEvent().keys) == ["moods"])
    let lines = heard { context.processPendingChanges() }
    #expect(lines == ["country", "moods", "."])
    moods[0].setValue("y", forKey: "name")
    context.processPendingChanges()
    moods[0].setValue("z", forKey: "nick")
    #expect(moods[0].changedValuesForCurrentEvent()["name"] == nil)
  }

  @Test("rule 74: what an observer edits is an event of its own")
  func editingObserver() throws {
    let mood = Mood(context: context)
    try context.save()
    let heard = Heard()
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
    ) {
      let objects = $0.userInfo?[NSUpdatedObjectsKey] as? Set<NSManagedObject> ?? []
      heard.lines.append(Self.keys(objects).joined(separator: " "))
      if let mood = objects.first, mood.value(forKey: "hue") == nil {
        mood.setValue("red", forKey: "hue")
        heard.lines.append(Self.keys(objects).joined(separator: " "))
      }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    mood.setValue("b", forKey: "name")
    context.processPendingChanges()
    #expect(heard.lines == ["name", "hue", "hue"])
    #expect(mood.changedValuesForCurrentEvent().isEmpty)
  }

  private final class Listener: NSFetchedResultsControllerDelegate {
    var told: [String] = []
    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
      at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
      let keys = (anObject as? NSManagedObject)?.changedValuesForCurrentEvent().keys.sorted() ?? []
      told.append("\(type) \(keys.joined(separator: " "))")
    }
  }

  @Test("So do delegates of fetched results controllers")
  func results() throws {
    let mood = Mood(context: context)
    try context.save()
    let request = NSFetchRequest<Mood>(entityName: "Mood")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    mood.setValue("red", forKey: "hue")
    context.processPendingChanges()
    #expect(listener.told == ["update hue"])
    #expect(mood.changedValuesForCurrentEvent().isEmpty)
  }
}
