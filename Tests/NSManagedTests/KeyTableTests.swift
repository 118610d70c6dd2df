import CoreData
import Foundation
import Testing

@testable import NSManagedSample

/// What the plugin writes down for key-value coding.
@Suite("Keys of Swift properties", .serialized)
struct KeyTableTests {
  private let context: NSManagedObjectContext

  init() throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.makeModel())
    _ = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  private static func attribute(
    _ name: String, _ type: NSAttributeDescription.AttributeType, isTransient: Bool = false
  ) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.type = type
    attribute.isTransient = isTransient
    return attribute
  }

  private static func makeModel() -> NSManagedObjectModel {
    func entity(_ name: String, _ type: NSManagedObject.Type) -> NSEntityDescription {
      let entity = NSEntityDescription()
      entity.name = name
      entity.managedObjectClassName = NSStringFromClass(type)
      return entity
    }
    let (edition, reprint) = (entity("Edition", Edition.self), entity("Reprint", Reprint.self))
    let house = entity("House", NSManagedObject.self)
    func link(_ name: String, _ back: String, isToMany: Bool) -> (
      NSRelationshipDescription, NSRelationshipDescription
    ) {
      let (there, here) = (NSRelationshipDescription(), NSRelationshipDescription())
      (there.name, there.destinationEntity, there.maxCount) = (name, house, isToMany ? 0 : 1)
      (here.name, here.destinationEntity, here.maxCount) = (back, edition, 0)
      (there.inverseRelationship, here.inverseRelationship) = (here, there)
      return (there, here)
    }
    let links = [
      link("house", "editions", isToMany: false), link("keeper", "kept", isToMany: false),
      link("copies", "copied", isToMany: true),
    ]
    edition.properties =
      [
        attribute("title", .string), attribute("pages", .integer32), attribute("printed", .date),
        attribute("subtitle", .string), attribute("remark", .string), attribute("genre", .integer16),
        attribute("period", .string, isTransient: true),
      ] + links.map(\.0)
    house.properties = [attribute("name", .string)] + links.map(\.1)
    reprint.properties = [attribute("year", .integer16)]
    edition.subentities = [reprint]
    let model = NSManagedObjectModel()
    model.entities = [edition, reprint, house]
    return model
  }

  private func edition(_ title: String, pages: Int32 = 0) -> Edition {
    let edition = Edition(context: context)
    edition.title = title
    edition.pages = pages
    return edition
  }

  @Test("value(forKey:) and setValue(_:forKey:) find computed and stored properties, also through key paths")
  func keys() throws {
    let edition = edition("emma", pages: 400)
    #expect(edition.value(forKey: "initial") as? String == "E")
    #expect(edition.value(forKey: "note") as? String == "none")
    #expect(edition.value(forKey: "shelf") as? Int == 7)
    #expect(
      edition.value(forKey: "firstMark") as? Int == 1
        && edition.value(forKey: "secondMark") as? String == "two")
    #expect(edition.value(forKey: "thirdMark") as? [String: Int] == ["a": 1, "b": 2])
    #expect(
      edition.value(forKey: "thickness") as? Double == 40 && edition.value(forKey: "thickness") is NSNumber)
    edition.setValue("thin", forKey: "note")
    #expect(edition.note == "thin" && edition.value(forKey: "summary") as? String == "emma – thin")
    edition.setValue(12, forKey: "thickness")
    #expect(edition.pages == 120)
    edition.setValue(NSNumber(value: 1.5), forKey: "thickness")
    #expect(edition.pages == 15)
    #expect(edition.value(forKey: "houseName") == nil)
    let house = NSEntityDescription.insertNewObject(forEntityName: "House", into: context)
    house.setValue("Press", forKey: "name")
    edition.house = house
    #expect(edition.value(forKeyPath: "houseName") as? String == "Press")
    #expect(house.value(forKeyPath: "editions.initial") as? Set<String> == ["E"])
    #expect(
      edition.dictionaryWithValues(forKeys: ["note", "title"]) as? [String: String] == [
        "note": "thin", "title": "emma",
      ])
    let reprint = Reprint(context: context)
    reprint.title = "ulysses"
    reprint.year = 2001
    #expect(
      reprint.value(forKey: "initial") as? String == "RU" && reprint.value(forKey: "isLate") as? Bool == true)
  }

  @Test("Numbers of computed and stored properties can be cast to every number that holds them")
  func castNumbers() {
    let edition = edition("emma", pages: 400)
    #expect(edition.value(forKey: "shelf") as? Double == 7 && edition.value(forKey: "shelf") as? Int32 == 7)
    #expect(edition.value(forKey: "thickness") as? Int == 40)
    #expect(edition.value(forKey: "smallMark") as? Int == 1)
    #expect(edition.value(forKey: "thirdMark") as? [String: Int] == ["a": 1, "b": 2])
    let reprint = Reprint(context: context)
    reprint.year = 2001
    #expect(
      reprint.value(forKey: "isLate") as? Bool == true && reprint.value(forKey: "isLate") as? Int == 1)
    let editions = [edition, reprint] as NSArray
    #expect(editions.value(forKeyPath: "@max.firstMark") as? Double == 1)
  }

  @Test("rule 41: @NSManaged reads a to-many relationship and fires the fault")
  func membersOfFaults() throws {
    let edition = edition("emma")
    try context.save()
    context.refresh(edition, mergeChanges: false)
    #expect(edition.isFault)
    #expect(edition.copies.isEmpty && !edition.isFault)
    context.refresh(edition, mergeChanges: false)
    edition.copies = []
    #expect(!edition.isFault)
  }

  @Test("A custom accessor stands before its attribute, and may ask by its own key")
  func customAccessors() {
    let edition = edition("emma")
    edition.setValue("A Novel", forKey: "subtitle")
    #expect(edition.primitiveValue(forKey: "subtitle") as? String == "a novel")
    #expect(edition.value(forKey: "subtitle") as? String == "A NOVEL")
    edition.setValue("seen", forKey: "remark")
    #expect(edition.remark == "seen" && edition.value(forKey: "remark") as? String == "seen")
    edition.remark = "again"
    #expect(edition.value(forKey: "remark") as? String == "again")
    edition.setValue(2, forKey: "genre")
    #expect(edition.genre == .poetry && edition.value(forKey: "genre") as? Int == 2)
  }

  @Test("A computed enumeration of integers is its number: read, set, sorted by, in predicates and sections")
  func enumerations() throws {
    let editions = [edition("a"), edition("b"), edition("c")]
    for (edition, genre) in zip(editions, [Genre.poetry, .none, .novel]) { edition.shownGenre = genre }
    #expect((editions[0].value(forKey: "shownGenre") as? NSNumber)?.intValue == 2)
    #expect((editions[0].value(forKey: "knownGenre") as? NSNumber)?.intValue == 2)
    #expect(editions[1].value(forKey: "knownGenre") == nil)
    #expect(editions[0].value(forKey: "era") as? Edition.Era == .modern)
    editions[1].setValue(1, forKey: "shownGenre")
    #expect(editions[1].genre == .novel)
    editions[1].setValue(NSNumber(value: 0), forKey: "shownGenre")
    #expect(editions[1].genre == .none)
    let byGenre = NSSortDescriptor(key: "shownGenre", ascending: true)
    let sorted = (editions as NSArray).sortedArray(using: [byGenre]) as? [Edition]
    #expect(sorted?.map { $0.title } == ["b", "c", "a"])
    let predicate = NSPredicate(format: "shownGenre == %d", 1)
    #expect(editions.filter { predicate.evaluate(with: $0) }.map { $0.title } == ["c"])
    try context.save()
    let request = NSFetchRequest<Edition>(entityName: "Edition")
    request.sortDescriptors = [NSSortDescriptor(key: "genre", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "shownGenre", cacheName: nil)
    try controller.performFetch()
    #expect(controller.sections?.map(\.name) == ["0", "1", "2"])
  }

  @Test("A number that the enumeration does not have is refused")
  func unknownCase() async throws {
    let edition = edition("x")
    edition.setValue(2, forKey: "knownGenre")
    #expect(edition.genre == .poetry)
    edition.setValue(nil, forKey: "knownGenre")
    #expect(edition.genre == .none)
    edition.setValue(5, forKey: "smallMark")
    #expect(edition.smallMark == 5)
    await #expect(processExitsWith: .failure) {
      try KeyTableTests().edition("x").setValue(9, forKey: "knownGenre")
    }
    await #expect(processExitsWith: .failure) {
      try KeyTableTests().edition("x").setValue(300, forKey: "smallMark")
    }
    await #expect(processExitsWith: .failure) {
      try KeyTableTests().edition("x").setValue(NSNumber(value: 300), forKey: "smallMark")
    }
    await #expect(processExitsWith: .failure) {
      try KeyTableTests().edition("x").setValue(NSNumber(value: 1.5), forKey: "shownGenre")
    }
    await #expect(processExitsWith: .failure) {
      try KeyTableTests().edition("x").setValue(9, forKey: "shownGenre")
    }
  }

  @Test("Private, static, throwing and deprecated properties have no key")
  func withoutKey() async {
    await #expect(processExitsWith: .failure) {
      try KeyTableTests().edition("x").setValue(1, forKey: "hidden")
    }
    await #expect(processExitsWith: .failure) { _ = try KeyTableTests().edition("x").value(forKey: "number") }
    await #expect(processExitsWith: .failure) {
      _ = try KeyTableTests().edition("x").value(forKey: "failing")
    }
    await #expect(processExitsWith: .failure) { _ = try KeyTableTests().edition("x").value(forKey: "older") }
    await #expect(processExitsWith: .failure) {
      try KeyTableTests().edition("x").setValue("L", forKey: "initial")
    }
    await #expect(processExitsWith: .failure) { try KeyTableTests().edition("x").setValue(5, forKey: "note") }
  }

  @Test("Objects in memory are sorted and filtered by computed keys")
  func inMemory() {
    let editions = [edition("b", pages: 3), edition("a", pages: 20), edition("c", pages: 1)]
    let byThickness = NSSortDescriptor(key: "thickness", ascending: false)
    let sorted = (editions as NSArray).sortedArray(using: [byThickness]) as? [Edition]
    #expect(sorted?.map { $0.title } == ["a", "b", "c"])
    let predicate = NSPredicate(format: "initial == %@ OR thickness < %f", "B", 0.2)
    #expect(editions.filter { predicate.evaluate(with: $0) }.map { $0.title } == ["b", "c"])
  }

  @Test("validate<Key> is called by validateValue(_:forKey:) and by saves")
  func validation() throws {
    let edition = edition("  emma ")
    let house = NSEntityDescription.insertNewObject(forEntityName: "House", into: context)
    edition.keeper = house
    try context.save()
    #expect(edition.title == "emma")
    edition.title = "Forbidden"
    #expect { try context.save() } throws: {
      ($0 as NSError).domain == "Catalogue" && ($0 as NSError).code == 7
    }
    var value: AnyObject? = " ok" as NSString
    try edition.validateValue(&value, forKey: "title")
    #expect(value as? String == "ok")
  }

  @Test("Relationships to NSManagedObject, one and many")
  func plainObjects() throws {
    let edition = edition("emma")
    let houses = (0..<3).map { number in
      let house = NSEntityDescription.insertNewObject(forEntityName: "House", into: context)
      house.setValue("\(number)", forKey: "name")
      return house
    }
    edition.house = houses[0]
    edition.keeper = houses[1]
    edition.copies = [houses[1], houses[2]]
    try context.save()
    context.reset()
    let found = try #require(try context.fetch(NSFetchRequest<Edition>(entityName: "Edition")).first)
    #expect(
      found.house?.value(forKey: "name") as? String == "0"
        && found.keeper.value(forKey: "name") as? String == "1")
    #expect(Set(found.copies.map { $0.value(forKey: "name") as? String }) == ["1", "2"])
    found.house = nil
    #expect(found.house == nil)
  }

  @Test("Accessors of primitive values go past custom accessors and take what the model has")
  func primitives() throws {
    let edition = edition("emma", pages: 3)
    #expect(edition.primitiveTitle == "emma" && edition.primitivePages == 3)
    edition.primitiveTitle = nil
    #expect(edition.title == nil)
    edition.primitivePages = 9
    #expect(edition.pages == 9)
    edition.primitivePrinted = 60
    #expect(edition.printed == Date(timeIntervalSinceReferenceDate: 60) && edition.primitivePrinted == 60)
    edition.primitiveGenre = .poetry
    #expect(edition.primitiveGenre == .poetry && edition.primitiveValue(forKey: "genre") as? Int == 2)
    #expect(edition.primitiveCopies.isEmpty)
  }

  // MARK: Sections

  private final class Receiver: NSObject, NSFetchedResultsControllerDelegate {
    var told: [String] = []
    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChange sectionInfo: any NSFetchedResultsSectionInfo,
      atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
    ) { told.append("\(type == .insert ? "+" : "-")\(sectionInfo.name)") }
    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
      at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) { told.append((anObject as? Edition)?.title ?? "?") }
  }

  private func controller(_ path: String, by key: String) throws -> NSFetchedResultsController<Edition> {
    let request = NSFetchRequest<Edition>(entityName: "Edition")
    request.sortDescriptors = [NSSortDescriptor(key: key, ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: path, cacheName: nil)
    try controller.performFetch()
    return controller
  }

  private func sections(_ controller: NSFetchedResultsController<Edition>) -> [String] {
    (controller.sections ?? []).map { section in
      "\(section.name):" + (section.objects as? [Edition] ?? []).map { $0.title ?? "" }.joined(separator: ",")
    }
  }

  @Test("Sections of a computed property are asked of each object once, and after it has changed")
  func computedSections() throws {
    let editions = ["anna", "bird", "alps", "clay"].map { edition($0) }
    let keeper = NSEntityDescription.insertNewObject(forEntityName: "House", into: context)
    editions.forEach { $0.keeper = keeper }
    try context.save()
    Edition.asked = 0
    let controller = try controller("initial", by: "title")
    #expect(sections(controller) == ["A:alps,anna", "B:bird", "C:clay"] && Edition.asked == 4)
    let receiver = Receiver()
    // With a delegate the list is followed from the fetch on.
    controller.delegate = receiver
    Edition.asked = 0
    try controller.performFetch()
    #expect(Edition.asked == 4)
    _ = edition("cold")
    context.processPendingChanges()
    #expect(sections(controller) == ["A:alps,anna", "B:bird", "C:clay,cold"] && Edition.asked == 5)
    editions[1].title = "azur"
    context.processPendingChanges()
    #expect(sections(controller) == ["A:alps,anna,azur", "C:clay,cold"] && Edition.asked == 6)
    #expect(receiver.told == ["cold", "-B", "azur"])
    editions[3].pages = 3
    context.processPendingChanges()
    #expect(Edition.asked == 7)
    #expect(controller.sectionIndexTitles == ["A", "C"])
  }

  @Test(
    "Sections of a transient attribute with an accessor, of one through a relationship, and of what related objects say"
  )
  func otherSections() throws {
    let (old, new) = (edition("old"), edition("new"))
    (old.printed, new.printed) = (
      Date(timeIntervalSinceReferenceDate: -5), Date(timeIntervalSinceReferenceDate: 5)
    )
    let houses = ["Beta", "Alpha"].map { name in
      let house = NSEntityDescription.insertNewObject(forEntityName: "House", into: context)
      house.setValue(name, forKey: "name")
      return house
    }
    (old.keeper, new.keeper, old.house, new.house) = (houses[0], houses[0], houses[0], houses[1])
    try context.save()
    context.refreshAllObjects()
    #expect(sections(try controller("period", by: "printed")) == ["old:old", "new:new"])
    let byHouse = try controller("houseName", by: "title")
    #expect(sections(byHouse) == ["Alpha:new", "Beta:old"])
    let receiver = Receiver()
    byHouse.delegate = receiver
    houses[1].setValue("Gamma", forKey: "name")
    context.processPendingChanges()
    #expect(sections(byHouse) == ["Gamma:new", "Beta:old"])
    #expect(throws: (any Error).self) { try controller("nothing", by: "title") }
    // Objects of a section must stand together.
    old.title = "x1"
    edition("y").house = houses[0]
    edition("x2").house = houses[1]
    #expect(throws: CocoaError.self) { try controller("houseName", by: "pages") }
  }
}
