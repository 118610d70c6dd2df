import Foundation
import Testing

@testable import StrataCore

@Suite struct SchemaTests {
  @Test("Entities are numbered by name; slots are inherited first, then own in declaration order")
  func slotsFollowInheritance() throws {
    let schema = try makeLibrary().schema()
    #expect(schema.entities.map(\.name) == ["Book", "Comic", "Item", "Shelf"])
    let comic = try #require(schema.entity(named: "Comic"))
    #expect(comic.attributes.map(\.name) == ["title", "bought", "pages", "scratch", "isbn", "artist"])
    #expect(comic.attributes.map(\.slot) == Array(0..<6))
    #expect(comic.slot(named: "isbn") == 4 && comic.slot(named: "nothing") == nil)
    #expect(
      comic.superNumber == 0 && schema.entities[0].superNumber == 2 && schema.entities[2].superNumber == nil)
    #expect(schema.entities[2].subtree == [0, 1, 2] && comic.subtree == [1] && schema.entities[2].isAbstract)
    #expect(comic.defaults == [.null, .null, 100, .null, .null, .null])
    let kinds = (0..<6).map { comic.layout.kind(of: $0) }
    #expect(kinds == [.string, .date, .int32, .transient, .string, .string])
  }

  @Test("Hierarchies share their root's number; the others stand alone")
  func hierarchiesHaveOneRoot() throws {
    let schema = try makeLibrary().schema()
    #expect(schema.hierarchies.map(\.rootName) == ["Item", "Shelf"])
    #expect(schema.hierarchies[0].memberNumbers == [0, 1, 2] && schema.hierarchies[0].root == 2)
    #expect(schema.entities.map(\.hierarchyNumber) == [0, 0, 0, 1])
  }

  @Test("Indexes and uniqueness constraints cover the subtree, with the owner's slots")
  func indexesCoverTheSubtree() throws {
    let schema = try makeLibrary().schema()
    #expect(schema.indexes.map(\.name) == ["Book.unique(isbn)", "Comic.byArtist", "Item.byTitle"])
    #expect(
      schema.indexes.map(\.number) == [0, 1, 2] && schema.indexes.map(\.isUnique) == [true, false, false])
    #expect(schema.entities[1].indexes.map(\.number) == [0, 1, 2])
    #expect(schema.entities[0].indexes.map(\.number) == [0, 2])
    #expect(schema.entities[2].indexes.map(\.number) == [2] && schema.entities[3].indexes.isEmpty)
    let byArtist = schema.indexes[1]
    #expect(
      byArtist.parts.map(\.slot) == [5, 0] && byArtist.slots.contains(5) && !byArtist.slots.contains(1))
    #expect(byArtist.signature == "index\n+S248artist\n+S248title\n")
  }

  @Test("The fixed part packs by descending width, in slot order")
  func layoutsPackByWidth() throws {
    let layout = try RowLayout.of([
      .boolean, .int16, .string, .int64, .uuid, .transient, .double, .int32, .int16,
    ])
    #expect(layout.fixedEnd == 16 + 2 + 16 + 8 + 8 + 4 + 4 + 2 + 2 + 1)
    let offsets = (0..<9).map { RowBytes.offset(layout.entry(of: $0)) }
    #expect(offsets == [62, 58, 50, 34, 18, 63, 42, 54, 60])
  }

  @Test("Names of indexes that have room in a store stay, longer ones end with a hash")
  func longNamesOfIndexes() throws {
    let longest = String(repeating: "a", count: 505)
    #expect(StoredName.ofIndex(longest) == longest)
    let (one, two) = (StoredName.ofIndex(longest + "b"), StoredName.ofIndex(longest + "c"))
    #expect(one.utf8.count == 505 && two.utf8.count == 505 && one != two)
    // Stores that versions before have made are found by it.
    #expect(one == String(repeating: "a", count: 472) + "~" + Self.hash(longest + "b"))
    #expect(StoredName.ofIndex(String(repeating: "ä", count: 300)).utf8.count <= 505)
    #expect(StoredName.ofRelationship(longest).utf8.count == 479)
  }

  private static func hash(_ text: String) -> String {
    SHA256.digest(of: Array(text.utf8)).prefix(16).map { byte in
      let text = String(byte, radix: 16)
      return text.count < 2 ? "0" + text : text
    }.joined()
  }

  @Test("The same schema for every caller, also at the same time")
  func schemaIsCompiledOnce() async throws {
    let model = makeLibrary()
    let schemas = try await withThrowingTaskGroup(of: Schema.self) { group in
      for _ in 0..<8 { group.addTask { try model.schema() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(schemas.allSatisfy { $0.compiled === schemas[0].compiled && $0.model === model })
  }

  @Test("Inherited properties come first; setting properties keeps own ones")
  func propertiesIncludeInheritedOnes() {
    let model = makeLibrary()
    let book = model.entitiesByName["Book"]!
    #expect(book.properties.map(\.name) == ["title", "bought", "pages", "scratch", "isbn"])
    book.properties.append(AttributeDescription("shelfMark", .string))
    #expect(book.ownProperties.map(\.name) == ["pages", "scratch", "isbn", "shelfMark"])
    #expect(book.attributesByName.count == 6 && book.propertiesByName["title"]?.entity?.name == "Item")
    #expect(model.entitiesByName["Comic"]!.isKindOf(entity: model.entitiesByName["Item"]!))
    #expect(!model.entitiesByName["Item"]!.isKindOf(entity: book))
  }

  @Test("A class that is no managed object's is reported with the model's other mistakes")
  func classesMustBeOfManagedObjects() throws {
    let model = ManagedObjectModel(entities: [
      EntityDescription("Text", managedObjectClass: NSString.self),
      EntityDescription("Plain", managedObjectClass: ManagedObject.self), EntityDescription(""),
    ])
    let error = #expect(throws: ModelError.self) { try model.schema() }
    #expect(
      error?.sentences.sorted() == [
        "An entity has no name.", "Class NSString of entity Text is no subclass of ManagedObject.",
      ])
  }

  @Test("A class that declares its slots must declare the entity's (SlotDeclaring)")
  func declaredSlotsMustMatch() throws {
    func model(_ type: AnyClass) -> ManagedObjectModel {
      ManagedObjectModel(entities: [
        EntityDescription(
          "Person", managedObjectClass: type,
          properties: ["name", "age", "nickname"].map { AttributeDescription($0, .string) })
      ])
    }
    #expect(try model(TrueSlots.self).schema().entities[0].managedObjectClass == TrueSlots.self)
    #expect(try model(PlainObject.self).schema().entities[0].managedObjectClass == PlainObject.self)
    let error = #expect(throws: ModelError.self) { try model(WrongSlots.self).schema() }
    #expect(
      error?.sentences == [
        """
        Class WrongSlots declares the slots name, nickname, but entity Person has name, age, nickname; its accessors must use the \
        numbers of: override class var declaredSlots: [String]? { ["name", "age", "nickname"] }.
        """
      ])
  }
}
