import CoreData
import Testing

/// Programs compare UUIDs and URLs with their texts.
@Suite("A text beside a UUID or a URL is the one that it spells")
struct SpelledConstantTests {
  private let context: NSManagedObjectContext
  private let first = UUID()
  private let last = UUID()

  /// Two saved things with values, one without, and an unsaved one.
  init() throws {
    let thing = NSEntityDescription()
    thing.name = "Thing"
    let types: [(String, NSAttributeType)] = [
      ("name", .stringAttributeType), ("id", .UUIDAttributeType), ("link", .URIAttributeType),
    ]
    thing.properties = types.map { name, type in
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    let model = NSManagedObjectModel()
    model.entities = [thing]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    make("a", first)
    make("b", UUID())
    make("c", nil)
    try context.save()
    make("d", last)
  }

  private func make(_ name: String, _ id: UUID?) {
    let thing = NSEntityDescription.insertNewObject(forEntityName: "Thing", into: context)
    thing.setValue(name, forKey: "name")
    thing.setValue(id, forKey: "id")
    if id != nil { thing.setValue(URL(string: "https://example.com/\(name)"), forKey: "link") }
  }

  /// What a fetch finds, and what the predicate says of each object in memory.
  private func check(
    _ format: String, _ argument: Any, _ expected: String, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let predicate = NSPredicate(format: format, argumentArray: [argument])
    let request = NSFetchRequest<NSManagedObject>(entityName: "Thing")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let all = try context.fetch(request)
    request.predicate = predicate
    let found = try context.fetch(request)
    func names(_ objects: [NSManagedObject]) -> String {
      objects.compactMap { $0.value(forKey: "name") as? String }.joined()
    }
    #expect(names(found) == expected, "\(format), fetched", sourceLocation: location)
    let matching = all.filter { predicate.evaluate(with: $0) }
    #expect(names(matching) == expected, "\(format), in memory", sourceLocation: location)
  }

  @Test("UUIDs: ==, != and IN")
  func uuids() throws {
    try check("id == %@", first.uuidString, "a")
    try check("id == %@", first.uuidString.lowercased(), "a")
    try check("id == %@", last.uuidString, "d")
    try check("%@ == id", first.uuidString, "a")
    try check("id != %@", first.uuidString, "bcd")
    try check("id IN %@", [first.uuidString, "no UUID", last.uuidString], "ad")
    try check("NOT id IN %@", [first.uuidString, last.uuidString], "bc")
  }

  @Test("A text that spells no UUID equals none, and no nil either")
  func others() throws {
    try check("id == %@", "no UUID", "")
    try check("id == %@", "", "")
    try check("id != %@", "no UUID", "abcd")
    try check("id IN %@", ["no UUID"], "")
  }

  @Test("URLs: ==, != and IN")
  func urls() throws {
    try check("link == %@", "https://example.com/a", "a")
    try check("link == %@", "https://example.com/z", "")
    try check("link != %@", "https://example.com/a", "bcd")
    try check("link IN %@", ["https://example.com/a", "https://example.com/d"], "ad")
  }

  @Test("An order between a text and a UUID is an error")
  func orders() {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Thing")
    request.predicate = NSPredicate(format: "id < %@", argumentArray: [first.uuidString])
    #expect(throws: (any Error).self) { () throws in _ = try context.fetch(request) }
  }
}
