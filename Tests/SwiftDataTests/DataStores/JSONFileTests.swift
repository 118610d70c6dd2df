import SwiftData
import Testing

@Suite("Stores of one's own: a file of JSON")
struct JSONFileTests {
  private let folder: Folder
  init() throws { folder = try Folder() }

  private func open() throws -> ModelContainer {
    try ModelContainer(
      for: Voyage.self, Leg.self, Guest.self,
      configurations: JSONFileConfiguration(fileURL: folder.file("Voyages.json")))
  }

  private func names(_ models: [Voyage]) -> [String] { models.map(\.name) }

  @Test("What was saved is there when the file is opened again, values and relationships alike")
  func roundTrip() throws {
    do {
      let context = ModelContext(try open())
      let voyage = Voyage("Oslo", begins: Date(timeIntervalSinceReferenceDate: 3_600))
      voyage.mood = .merry
      voyage.home = Residence(street: "Karl Johans gate 1", city: "Oslo", zip: 154)
      voyage.tags = ["north", "cold"]
      voyage.log = Data(repeating: 7, count: 5_000)
      voyage.motto = "Onwards"
      voyage.isOnScreen = true
      voyage.legs = [Leg("Out", miles: 12.5), Leg("Back")]
      voyage.guests = [Guest("Ada")]
      context.insert(voyage)
      try context.save()
      #expect(!context.hasChanges)
    }
    let context = ModelContext(try open())
    let voyage = try #require(try context.fetch(FetchDescriptor<Voyage>()).first)
    #expect(voyage.name == "Oslo")
    #expect(voyage.begins == Date(timeIntervalSinceReferenceDate: 3_600))
    #expect(voyage.mood == .merry)
    #expect(voyage.home == Residence(street: "Karl Johans gate 1", city: "Oslo", zip: 154))
    #expect(voyage.tags == ["north", "cold"])
    #expect(voyage.log == Data(repeating: 7, count: 5_000))
    #expect(voyage.motto == "Onwards")
    #expect(!voyage.isOnScreen)
    #expect(Set(voyage.legs.map(\.title)) == ["Out", "Back"])
    #expect(voyage.legs.allSatisfy { $0.voyage === voyage })
    #expect(voyage.guests.map(\.name) == ["Ada"])
    #expect(try context.fetch(FetchDescriptor<Guest>()).first?.voyages.first === voyage)
  }

  @Test("Predicates and orders that the store leaves to others are worked out in memory, windows too")
  func filters() throws {
    let context = ModelContext(try open())
    for (place, name) in ["Delta", "alpha", "Charlie", "Bravo", "echo"].enumerated() {
      let voyage = Voyage(name, begins: Date(timeIntervalSinceReferenceDate: Double(place)))
      voyage.legs = (0..<place).map { Leg("\(name) \($0)", miles: Double($0)) }
      context.insert(voyage)
    }
    try context.save()
    for context in [context, ModelContext(try open())] {
      let byDate = [SortDescriptor(\Voyage.begins, order: .reverse)]
      var descriptor = FetchDescriptor<Voyage>(sortBy: byDate)
      #expect(names(try context.fetch(descriptor)) == ["echo", "Bravo", "Charlie", "alpha", "Delta"])
      descriptor.fetchOffset = 1
      descriptor.fetchLimit = 2
      #expect(names(try context.fetch(descriptor)) == ["Bravo", "Charlie"])
      #expect(try context.fetchCount(descriptor) == 2)
      #expect(try context.fetchIdentifiers(descriptor).count == 2)
      descriptor = FetchDescriptor(
        predicate: #Predicate { $0.legs.count > 1 }, sortBy: [SortDescriptor(\.name)])
      #expect(names(try context.fetch(descriptor)) == ["Bravo", "Charlie", "echo"])
      #expect(try context.fetchCount(descriptor) == 3)
      descriptor = FetchDescriptor(predicate: #Predicate { $0.legs.contains { $0.miles > 2 } })
      #expect(names(try context.fetch(descriptor)) == ["echo"])
      var plain = FetchDescriptor<Voyage>()
      plain.fetchLimit = 2
      #expect(try context.fetch(plain).count == 2)
      plain.fetchOffset = 4
      #expect(try context.fetch(plain).count == 1)
      var seen: [String] = []
      try context.enumerate(FetchDescriptor<Voyage>(sortBy: byDate), batchSize: 2) { seen.append($0.name) }
      #expect(seen == ["echo", "Bravo", "Charlie", "alpha", "Delta"])
      var stored = FetchDescriptor<Voyage>(sortBy: byDate)
      stored.includePendingChanges = false
      #expect(try context.fetch(stored, batchSize: 2).map(\.name) == seen)
    }
  }

  @Test("A model that gains a leg here and a name there has both, though it is handed over whole")
  func relationshipsAndValues() throws {
    let container = try open()
    let (here, there) = (ModelContext(container), ModelContext(container))
    here.insert(Voyage("Old"))
    try here.save()
    let mine = try #require(try here.fetch(FetchDescriptor<Voyage>()).first)
    let theirs = try #require(try there.fetch(FetchDescriptor<Voyage>()).first)
    #expect(mine.name == "Old" && theirs.name == "Old")
    mine.legs.append(Leg("Out"))
    theirs.name = "New"
    try there.save()
    try here.save()
    #expect(mine.name == "New")
    for context in [ModelContext(container), ModelContext(try open())] {
      let voyage = try #require(try context.fetch(FetchDescriptor<Voyage>()).first)
      #expect(voyage.name == "New" && voyage.legs.map(\.title) == ["Out"])
    }
  }

  @Test("What another program writes after a save is not written over by the next")
  func changedOutside() throws {
    let context = ModelContext(try open())
    let mine = Voyage("Oslo")
    context.insert(mine)
    try context.save()
    let other = ModelContext(try open())
    let theirs = try #require(try other.fetch(FetchDescriptor<Voyage>()).first)
    theirs.motto = "Theirs"
    try other.save()
    mine.tags = ["mine"]
    // A sibling learns what the other program has written.
    #expect(try ModelContext(context.container).fetch(FetchDescriptor<Voyage>()).first?.motto == "Theirs")
    try context.save()
    let voyage = try #require(try ModelContext(try open()).fetch(FetchDescriptor<Voyage>()).first)
    #expect(voyage.motto == "Theirs" && voyage.tags == ["mine"])
  }

  @Test("Unsaved changes lie over what the store gives")
  func pending() throws {
    let context = ModelContext(try open())
    let (a, b) = (Voyage("a"), Voyage("b"))
    context.insert(a)
    context.insert(b)
    try context.save()
    a.name = "z"
    context.delete(b)
    context.insert(Voyage("c"))
    let descriptor = FetchDescriptor<Voyage>(
      predicate: #Predicate { $0.name > "b" }, sortBy: [SortDescriptor(\.name)])
    #expect(names(try context.fetch(descriptor)) == ["c", "z"])
    var stored = descriptor
    stored.predicate = #Predicate { $0.name <= "b" }
    stored.includePendingChanges = false
    #expect(try context.fetchCount(stored) == 2)
    context.rollback()
    #expect(
      names(try context.fetch(FetchDescriptor<Voyage>(sortBy: [SortDescriptor(\.name)]))) == ["a", "b"])
  }

  @Test(
    "Identifiers are the store's: temporary before the save, then final, and the same in every context and when decoded"
  )
  func identifiers() throws {
    let container = try open()
    let context = ModelContext(container)
    let voyage = Voyage("Oslo")
    context.insert(voyage)
    let temporary = voyage.persistentModelID
    #expect(temporary.isTemporary)
    #expect(temporary.storeIdentifier == nil)
    try context.save()
    let id = voyage.persistentModelID
    #expect(id != temporary)
    #expect(!id.isTemporary)
    #expect(id.storeIdentifier == folder.file("Voyages.json").path)
    #expect(id.entityName == "Voyage")
    let decoded = try JSONDecoder().decode(PersistentIdentifier.self, from: JSONEncoder().encode(id))
    #expect(decoded == id)
    #expect(Set([id]).contains(decoded))
    let other = ModelContext(try open())
    let same = try #require(other.model(for: decoded) as? Voyage)
    #expect(same.name == "Oslo")
    #expect(try other.fetchIdentifiers(FetchDescriptor<Voyage>()) == [id])
    #expect(
      try other.fetch(FetchDescriptor<Voyage>(predicate: #Predicate { $0.persistentModelID == decoded }))
        .count
        == 1)
    let registered: Voyage? = other.registeredModel(for: id)
    #expect(registered === same)
  }

  @Test("Siblings see what one of them saves; two that change one model are settled property by property")
  func siblings() throws {
    let container = try open()
    let (first, second) = (ModelContext(container), ModelContext(container))
    let voyage = Voyage("Oslo")
    first.insert(voyage)
    try first.save()
    let same = try #require(try second.fetch(FetchDescriptor<Voyage>()).first)
    #expect(same.persistentModelID == voyage.persistentModelID)
    voyage.name = "Bergen"
    voyage.legs.append(Leg("Out"))
    try first.save()
    #expect(try second.fetch(FetchDescriptor<Voyage>()).map(\.name) == ["Bergen"])
    #expect(same.legs.map(\.title) == ["Out"])
    voyage.name = "Tromsø"
    same.mood = .sad
    try first.save()
    try second.save()
    let third = try #require(try ModelContext(try open()).fetch(FetchDescriptor<Voyage>()).first)
    #expect(third.name == "Tromsø")
    #expect(third.mood == .sad)
  }

  @Test("A deletion carries out its rules and reaches the file and the siblings")
  func deletion() throws {
    let container = try open()
    let (context, sibling) = (ModelContext(container), ModelContext(container))
    let voyage = Voyage("Oslo")
    voyage.legs = [Leg("Out"), Leg("Back")]
    let guest = Guest("Ada")
    voyage.guests = [guest]
    context.insert(voyage)
    context.insert(Voyage("Bergen"))
    try context.save()
    #expect(try sibling.fetchCount(FetchDescriptor<Leg>()) == 2)
    context.delete(voyage)
    try context.save()
    #expect(voyage.modelContext == nil)
    #expect(guest.voyages.isEmpty)
    for context in [context, sibling, ModelContext(try open())] {
      #expect(try context.fetchCount(FetchDescriptor<Leg>()) == 0)
      #expect(try context.fetch(FetchDescriptor<Voyage>()).map(\.name) == ["Bergen"])
      #expect(try context.fetch(FetchDescriptor<Guest>()).first?.voyages.isEmpty == true)
    }
  }

  @Test(
    "K7: a new model that is related to one that a sibling has deleted leads nowhere, and undo does not bring it back"
  )
  func newMemberOfDeleted() throws {
    let container = try open()
    let (context, sibling) = (ModelContext(container), ModelContext(container))
    context.autosaveEnabled = false
    context.undoManager = UndoManager()
    let voyage = Voyage("Oslo")
    context.insert(voyage)
    try context.save()
    let leg = Leg("Out")
    voyage.legs.append(leg)
    sibling.delete(sibling.model(for: voyage.persistentModelID))
    try sibling.save()
    try context.save()
    #expect(voyage.modelContext == nil && leg.voyage == nil)
    #expect(try ModelContext(try open()).fetch(FetchDescriptor<Leg>()).map(\.voyage) == [nil])
    context.undoManager?.undo()
    try context.save()
    #expect(try ModelContext(try open()).fetchCount(FetchDescriptor<Voyage>()) == 0)
  }

  @Test("Deletion by a condition and erase() work model by model where the store has no way of its own")
  func batches() throws {
    let container = try open()
    let (context, sibling) = (ModelContext(container), ModelContext(container))
    for name in ["a", "b", "c"] {
      let voyage = Voyage(name)
      voyage.legs = [Leg(name)]
      context.insert(voyage)
    }
    try context.save()
    let kept = try #require(try sibling.fetch(FetchDescriptor<Voyage>()).first { $0.name == "c" })
    try context.delete(model: Voyage.self, where: #Predicate { $0.name < "c" })
    #expect(try sibling.fetch(FetchDescriptor<Voyage>()) == [kept])
    #expect(try context.fetch(FetchDescriptor<Leg>()).map(\.title) == ["c"])
    try container.erase()
    #expect(try context.fetchCount(FetchDescriptor<Voyage>()) == 0)
    #expect(try ModelContext(try open()).fetchCount(FetchDescriptor<Leg>()) == 0)
  }

  @Test("A relationship that is set to a new model of a saved one, and taken away again")
  func relationships() throws {
    let context = ModelContext(try open())
    let voyage = Voyage("Oslo")
    context.insert(voyage)
    try context.save()
    let leg = Leg("Out", voyage: voyage)
    #expect(voyage.legs == [leg])
    try context.save()
    let other = ModelContext(try open())
    let read = try #require(try other.fetch(FetchDescriptor<Leg>()).first)
    #expect(read.voyage?.name == "Oslo")
    #expect(read.voyage?.legs.map(\.title) == ["Out"])
    read.voyage = nil
    try other.save()
    let third = ModelContext(try open())
    #expect(try third.fetch(FetchDescriptor<Leg>()).first?.voyage == nil)
    #expect(try third.fetch(FetchDescriptor<Voyage>()).first?.legs.isEmpty == true)
  }

  @Test("An actor saves, and other contexts show it")
  func actors() async throws {
    let container = try open()
    let navigator = Navigator(modelContainer: container)
    let id = try await navigator.add("Oslo", legs: ["Out", "Back"])
    let context = ModelContext(container)
    let voyage = try #require(context.model(for: id) as? Voyage)
    #expect(voyage.legs.count == 2)
    try await navigator.rename(id, to: "Bergen")
    #expect(try context.fetch(FetchDescriptor<Voyage>()).map(\.name) == ["Bergen"])
    #expect(voyage.name == "Bergen")
  }

  @Test(
    "A file that cannot be read is an error of the container; one that is gone later, of the fetch and the save"
  )
  func errors() throws {
    try Data("no JSON".utf8).write(to: folder.file("Voyages.json"))
    let error = #expect(throws: SwiftDataError.self) { try open() }
    #expect(error == .loadIssueModelContainer)
    #expect(error?.underlyingError is DecodingError)
    try FileManager.default.removeItem(at: folder.file("Voyages.json"))
    let context = ModelContext(try open())
    context.insert(Voyage("Oslo"))
    try context.save()
    try Data("no JSON".utf8).write(to: folder.file("Voyages.json"))
    #expect(throws: DecodingError.self) { try context.fetch(FetchDescriptor<Voyage>()) }
    context.insert(Voyage("Bergen"))
    #expect(throws: DecodingError.self) { try context.save() }
    #expect(context.insertedModelsArray.count == 1)
    try FileManager.default.removeItem(at: folder.file("Voyages.json"))
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test("Stores of several kinds in one container, each with models of its own")
  func severalStores() throws {
    func open() throws -> ModelContainer {
      try ModelContainer(
        for: Schema([Voyage.self, Stamp.self]),
        configurations: [
          JSONFileConfiguration(name: "json", fileURL: folder.file("Voyages.json")),
          ModelConfiguration("stamps", schema: Schema([Stamp.self]), url: folder.file("Stamps.store")),
        ] as [any DataStoreConfiguration])
    }
    do {
      let context = ModelContext(try open())
      context.insert(Voyage("Oslo"))
      context.insert(Stamp("NO", 1))
      try context.save()
    }
    let container = try open()
    let context = ModelContext(container)
    #expect(try context.fetch(FetchDescriptor<Voyage>()).map(\.name) == ["Oslo"])
    #expect(try context.fetchCount(FetchDescriptor<Stamp>()) == 1)
    #expect(container.configurations.map(\.name) == ["stamps"])
    try container.erase()
    #expect(try context.fetchCount(FetchDescriptor<Voyage>()) == 0)
    #expect(try context.fetchCount(FetchDescriptor<Stamp>()) == 0)
    #expect(throws: SwiftDataError.duplicateConfiguration) {
      try ModelContainer(
        for: Schema([Voyage.self]),
        configurations: [
          JSONFileConfiguration(fileURL: folder.file("a.json")),
          JSONFileConfiguration(fileURL: folder.file("b.json")),
        ] as [any DataStoreConfiguration])
    }
    #expect(throws: SwiftDataError.unknownDataStoreSchema) {
      try ModelContainer(
        for: Schema([Voyage.self, Stamp.self]),
        configurations: [JSONFileConfiguration(schema: Schema([Stamp.self]), fileURL: folder.file("c.json"))]
          as [any DataStoreConfiguration])
    }
  }
}
