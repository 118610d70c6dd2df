import Foundation
import StrataModels
import Testing
import TortureKit

private final class HandWrittenOne: HandWrittenNote {}

private final class HandWrittenFirst: HandWrittenNote {
  static let subtitle = Slot<HandWrittenFirst, String?>("subtitle")
  override class var added: [PropertyDeclaration] { [subtitle.attribute()] }
  var subtitle: String? {
    get { read(HandWrittenFirst.subtitle) }
    set { write(newValue, HandWrittenFirst.subtitle) }
  }
}

private final class HandWrittenMiddle: HandWrittenNote {
  static let rank = Slot<HandWrittenMiddle, Int>("rank")
  override class var added: [PropertyDeclaration] { [rank.attribute(default: 5)] }
  override class var place: Int { 1 }
  var rank: Int {
    get { read(HandWrittenMiddle.rank) }
    set { write(newValue, HandWrittenMiddle.rank) }
  }
}

private final class HandWrittenLast: HandWrittenNote {
  static let keywords = Slot<HandWrittenLast, [String]>("keywords")
  override class var added: [PropertyDeclaration] { [keywords.attribute(default: [])] }
  override class var place: Int { 3 }
  var keywords: [String] {
    get { read(HandWrittenLast.keywords) }
    set { write(newValue, HandWrittenLast.keywords) }
  }
}

@Suite("An attribute put anywhere into a class and its model, over an existing store")
struct GrowingTests {
  private let folder: ScratchFolder
  private let moment = Date(timeIntervalSinceReferenceDate: 800_000_000.5)

  init() throws { folder = try ScratchFolder() }

  /// Opens the store as the program's next version does, reads and changes its one note.
  private func open<Note: ManagedObject>(
    _ type: Note.Type, _ check: @escaping @Sendable (Note) throws -> Void
  ) async throws {
    let container = try await PersistentContainer(for: type, at: folder.url("notes.strata"))
    try await container.performBackgroundTask { context in
      let note = try #require(try context.fetch(FetchRequest<Note>(entityName: "Note")).first)
      try check(note)
      try context.save()
      // What was written is read back from the row.
      context.refresh(note, mergeChanges: false)
      try check(note)
    }
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }

  private func begin<Note: ManagedObject>(_ type: Note.Type, _ fill: @escaping @Sendable (Note) -> Void)
    async throws
  {
    let container = try await PersistentContainer(for: type, at: folder.url("notes.strata"))
    try await container.performBackgroundTask { context in
      let entity = try #require(container.managedObjectModel.entitiesByName["Note"])
      let note = try #require(ManagedObject(entity: entity, insertInto: context) as? Note)
      fill(note)
      try context.save()
    }
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }

  @Test("Right values with @Managed, first, in the middle and last")
  func managed() async throws {
    let moment = moment
    try await begin(NoteOne.self) { note in
      (note.title, note.size, note.written) = ("Tea", 42, moment)
    }
    try await open(NoteFirst.self) { note in
      #expect(note.title == "Tea" && note.size == 42 && note.written == moment)
      #expect(note.subtitle == nil || note.subtitle == "green")
      note.subtitle = "green"
    }
    try await begin2()
  }

  /// From the middle on, in stores of their own: a migration may take nothing away.
  private func begin2() async throws {
    let moment = moment
    for version in ["middle", "last"] {
      let other = try GrowingTests()
      try await other.begin(NoteOne.self) { note in
        (note.title, note.size, note.written) = ("Tea", 42, moment)
      }
      if version == "middle" {
        try await other.open(NoteMiddle.self) { note in
          #expect(note.title == "Tea" && note.size == 42 && note.written == moment)
          #expect([5, 6].contains(note.rank) && ["plain", "bright"].contains(note.mood))
          note.rank = 6
          note.mood = "bright"
        }
      } else {
        try await other.open(NoteLast.self) { note in
          #expect(note.title == "Tea" && note.size == 42 && note.written == moment)
          #expect(note.keywords == [] || note.keywords == ["warm", "wet"])
          note.keywords = ["warm", "wet"]
        }
      }
    }
  }

  @Test("Right values by hand, first, in the middle and last")
  func byHand() async throws {
    let moment = moment
    func begin() async throws -> GrowingTests {
      let other = try GrowingTests()
      try await other.begin(HandWrittenOne.self) { note in
        (note.title, note.size, note.written) = ("Tea", 42, moment)
      }
      return other
    }
    try await begin().open(HandWrittenFirst.self) { note in
      #expect(note.title == "Tea" && note.size == 42 && note.written == moment)
      #expect(note.subtitle == nil || note.subtitle == "green")
      note.subtitle = "green"
    }
    try await begin().open(HandWrittenMiddle.self) { note in
      #expect(note.title == "Tea" && note.size == 42 && note.written == moment && [5, 6].contains(note.rank))
      note.rank = 6
    }
    try await begin().open(HandWrittenLast.self) { note in
      #expect(note.title == "Tea" && note.size == 42 && note.written == moment)
      #expect(note.keywords == [] || note.keywords == ["warm", "wet"])
      note.keywords = ["warm", "wet"]
    }
  }

  @Test("One class in two models of different order, used by turns, reads its own property in each")
  func oneClassInTwoModels() throws {
    let text = AttributeDescription("title", .string)
    let number = AttributeDescription("size", .integer64)
    func context(_ attributes: [AttributeDescription]) throws -> ManagedObjectContext {
      let model = ManagedObjectModel(entities: [
        EntityDescription("Shared", managedObjectClass: Shared.self, properties: attributes)
      ])
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(.inMemory)
      return ManagedObjectContext(.confinement, coordinator: coordinator)
    }
    let one = try context([text, number])
    let two = try context([
      AttributeDescription("size", .integer64), AttributeDescription("flag", .boolean),
      AttributeDescription("title", .string),
    ])
    let objects = [one, two].map { Shared(context: $0) }
    for round in 0..<4 {
      for (number, object) in objects.enumerated() {
        object.title = "\(round) \(number)"
        object.size = round * 10 + number
      }
      try one.save()
      try two.save()
      for (number, object) in objects.enumerated() {
        #expect(object.title == "\(round) \(number)" && object.size == round * 10 + number)
      }
    }
  }
}

private final class Shared: ManagedObject {
  static let title = Slot<Shared, String?>("title")
  static let size = Slot<Shared, Int>("size")
  // Finds everything by name, in models that have more.
  override class var declaredSlots: [String]? { [] }
  var title: String? {
    get { read(Shared.title) }
    set { write(newValue, Shared.title) }
  }
  var size: Int {
    get { read(Shared.size) }
    set { write(newValue, Shared.size) }
  }
}
