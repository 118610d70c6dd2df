import Foundation
import Strata
import Testing

/// Says nothing of what its slot number means.
private final class Undeclared: ManagedObject {
  var title: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
}

private class Titled: ManagedObject {
  override class var declaredSlots: [String]? { ["title"] }

  var title: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
}

/// Has hooks and no slot numbers.
private final class Hooked: ManagedObject {
  override class var declaredSlots: [String]? { [] }
}

/// A stored property that has an attribute's name.
private final class Shadowing: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  var title: String?
}

private class ShadowingBase: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  lazy var count: Int64 = 3
  final var remark = "of its own"
}

private final class InheritsShadows: ShadowingBase {
  final var members: [Int] = []
}

/// Declares what the program's newest version has: one test changes that, as a new version of the program does. Found by its name.
final class GrowingBook: ManagedObject {
  static let names = Guarded(["title"])
  override class var declaredSlots: [String]? { names.withLock { $0 } }

  func text(_ slot: Int) -> String? { readString(slot: slot) }
}

@Suite("What the slots of a class mean is checked when the model is taken into use")
struct SlotDeclarationTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func model(_ type: AnyClass, _ attributes: [AttributeDescription]) -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription("Book", managedObjectClass: type, properties: attributes)
    ])
  }

  /// The sentences that refuse a store of the model.
  private func refusal(of model: ManagedObjectModel) throws -> [String] {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let url = folder.url.appendingPathComponent("\(UUID().uuidString).strata")
    do {
      let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: url))
      try coordinator.remove(store)
      return []
    } catch let error as ModelError {
      #expect(coordinator.persistentStores.isEmpty && !FileManager.default.fileExists(atPath: url.path))
      return error.sentences
    }
  }

  @Test("A class that does not declare its slots is refused with the line to add, and no file is made")
  func undeclaredSlotsAreRefused() throws {
    defer { folder.remove() }
    let model = model(Undeclared.self, [AttributeDescription("title", .string)])
    let sentences = try refusal(of: model)
    #expect(sentences.count == 1)
    #expect(
      sentences.first?.contains("override class var declaredSlots: [String]? { [\"title\"] }") == true)
    #expect(sentences.first?.contains("Undeclared of entity Book") == true)
  }

  @Test("An attribute put first in the model is refused instead of written into")
  func attributePutFirstIsRefused() throws {
    defer { folder.remove() }
    let attributes = [AttributeDescription("subtitle", .string), AttributeDescription("title", .string)]
    let sentences = try refusal(of: model(Titled.self, attributes))
    #expect(sentences.count == 1 && sentences.first?.contains("has subtitle, title") == true)
    #expect(try refusal(of: model(Titled.self, [attributes[1].copied()])).isEmpty)
    // Neither a class without slot numbers, nor the plain one, nor one whose entity has no properties has anything to say.
    #expect(try refusal(of: model(Hooked.self, attributes.map { $0.copied() })).isEmpty)
    #expect(try refusal(of: model(ManagedObject.self, attributes.map { $0.copied() })).isEmpty)
    #expect(try refusal(of: model(Undeclared.self, [])).isEmpty)
  }

  @Test(
    "A new version of a program has other slots: the store of the old one is migrated, whose model names the same class"
  )
  func migrationAsksTheOldModelForNoClass() throws {
    defer { folder.remove() }
    func open(_ names: [String]) throws -> PersistentStoreCoordinator {
      GrowingBook.names.withLock { $0 = names }
      let model = model(GrowingBook.self, names.map { AttributeDescription($0, .string) })
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(
        PersistentStoreDescription(url: folder.url.appendingPathComponent("grows.strata")))
      return coordinator
    }
    let old = try open(["title"])
    let writer = ManagedObjectContext(.confinement, coordinator: old)
    GrowingBook(context: writer)["title"] = "Middlemarch"
    try writer.save()
    try old.remove(try #require(old.persistentStores.first))
    let new = try open(["subtitle", "title"])
    let reader = ManagedObjectContext(.confinement, coordinator: new)
    let books = try reader.fetch(FetchRequest<GrowingBook>(entityName: "Book"))
    #expect(books.map { $0.text(0) } == [nil] && books.map { $0.text(1) } == ["Middlemarch"])
    try new.remove(try #require(new.persistentStores.first))
  }

  @Test(
    "A class that a superentity and its subentities share declares the superentity's slots, as they come first"
  )
  func sharedClassDeclaresTheSuperentitysSlots() throws {
    defer { folder.remove() }
    func model(_ type: AnyClass) -> ManagedObjectModel {
      let novel = EntityDescription(
        "Novel", managedObjectClass: type, properties: [AttributeDescription("genre", .string)])
      return ManagedObjectModel(entities: [
        EntityDescription(
          "Book", managedObjectClass: Titled.self, properties: [AttributeDescription("title", .string)],
          subentities: [novel]), novel,
      ])
    }
    #expect(try refusal(of: model(Titled.self)).isEmpty)
    // A subclass may have accessors of its own: what it inherits does not speak for them.
    final class Novel: Titled {}
    #expect(try refusal(of: model(Novel.self)).count == 1)
  }

  @Test("A stored property named like an attribute, which would never be kept, is refused")
  func storedPropertyNamedLikeAnAttributeIsRefused() throws {
    defer { folder.remove() }
    let title = [AttributeDescription("title", .string)]
    let sentences = try refusal(of: model(Shadowing.self, title))
    #expect(sentences.count == 1)
    #expect(sentences.first?.contains("stored property title") == true)
    // Transient values are never stored, so nothing is lost when they are elsewhere.
    #expect(
      try refusal(of: model(Shadowing.self, [AttributeDescription("title", .string, isTransient: true)]))
        .isEmpty)
    #expect(try refusal(of: model(Shadowing.self, [AttributeDescription("name", .string)])).isEmpty)
  }

  @Test("So is a lazy one, one of a superclass, and one named like a relationship")
  func inheritedStoredPropertiesAreRefused() throws {
    defer { folder.remove() }
    let book = EntityDescription(
      "Book", managedObjectClass: InheritsShadows.self,
      properties: [AttributeDescription("count", .integer64), AttributeDescription("remark", .string)])
    let members = RelationshipDescription("members", to: book, maxCount: 0)
    members.inverseRelationship = members
    book.properties.append(members)
    let sentences = try refusal(of: ManagedObjectModel(entities: [book]))
    #expect(sentences.count == 3)
    for name in ["count", "remark", "members"] {
      #expect(sentences.contains { $0.contains("stored property \(name),") })
    }
  }
}

extension AttributeDescription {
  fileprivate func copied() -> AttributeDescription { AttributeDescription(name, attributeType) }
}
