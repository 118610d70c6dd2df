import StrataModels
import Testing

@Suite("Mistakes that are found when a model is made or taken into use")
struct MistakeTests {
  private func sentences(_ make: () throws -> Void) -> [String] {
    do {
      try make()
      return []
    } catch { return (error as? ModelError)?.sentences ?? ["\(error)"] }
  }

  private func adding(_ model: ManagedObjectModel) -> [String] {
    sentences {
      try PersistentStoreCoordinator(managedObjectModel: model).addPersistentStore(.inMemory)
    }
  }

  @Test("Each sentence about what a class declares names class, property and file")
  func places() throws {
    let found = adding(try ManagedObjectModel(for: Leaf.self))
    for name in ["Leaf.text", "Leaf.code"] { #expect(found.contains { $0.contains(name) }, "\(found)") }
    for sentence in found {
      #expect(sentence.hasSuffix(" Leaf is declared in ModelTests/MistakenModels.swift:5."), "\(sentence)")
    }
  }

  @Test("A relationship to another class cannot be symmetric")
  func symmetric() {
    let found = sentences { _ = try ManagedObjectModel(for: Sum.self) }
    #expect(found.count == 1)
    #expect(
      found.first?.hasPrefix("Relationship Sum.leaf cannot be symmetric: it leads to Leaf") == true,
      "\(found)")
    #expect(
      found.first?.contains("Sum is declared in ModelTests/MistakenModels.swift:10") == true, "\(found)")
  }

  @Test("Stored properties of a subclass that look like attributes or relationships are refused")
  func storedProperties() {
    let found = adding(
      ManagedObjectModel(entities: [
        EntityDescription(
          "Plain", managedObjectClass: PlainWithEnum.self,
          properties: [AttributeDescription("title", .string)])
      ]))
    for name in ["glass", "plants", "beds"] {
      #expect(
        found.contains { $0.contains("Class PlainWithEnum has a stored property \(name) of type") },
        "\(found)")
    }
    #expect(found.count == 3, "\(found)")
  }
}
