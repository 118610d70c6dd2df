import CoreData
import SwiftData
import Testing

/// What programs that know Apple's JSON of an identifier declare.
private struct IdentifierJSON: Codable {
  struct Implementation: Codable {
    var primaryKey: String
    var uriRepresentation: URL
    var isTemporary: Bool
    var storeIdentifier: String?
    var entityName: String
  }
  var implementation: Implementation

  init(_ identifier: PersistentIdentifier) throws {
    self = try JSONDecoder().decode(Self.self, from: JSONEncoder().encode(identifier))
  }
  init(_ id: NSManagedObjectID) {
    let uri = id.uriRepresentation()
    implementation = Implementation(
      primaryKey: uri.lastPathComponent, uriRepresentation: uri, isTemporary: id.isTemporaryID,
      storeIdentifier: uri.host(), entityName: id.entity.name ?? "")
  }

  func identifier() throws -> PersistentIdentifier {
    try JSONDecoder().decode(PersistentIdentifier.self, from: JSONEncoder().encode(self))
  }
}

/// A model that keeps identifiers, and whose name is spelled in another way in a URI.
@Model
private final class Größe {
  var other: PersistentIdentifier?
  var others: [PersistentIdentifier] = []
  init() {}
}

@Suite("The coding of identifiers")
struct IdentifierCodingTests {
  private let container: ModelContainer
  private let context: ModelContext

  init() throws {
    container = try ModelContainer(
      for: Book.self, Größe.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    context = ModelContext(container)
  }

  private func saved<Model: PersistentModel>(_ model: Model) throws -> PersistentIdentifier {
    context.insert(model)
    try context.save()
    return model.persistentModelID
  }

  private func read(_ json: String) throws -> PersistentIdentifier {
    try JSONDecoder().decode(PersistentIdentifier.self, from: Data(json.utf8))
  }

  @Test("K2, K9: the JSON of an identifier is Apple's, with the URI of the row's object ID")
  func appleShape() throws {
    let id = try saved(Book("One"))
    let store = try #require(id.storeIdentifier)
    let json = try IdentifierJSON(id).implementation
    #expect(json.primaryKey == "p1" && json.entityName == "Book" && !json.isTemporary)
    #expect(json.storeIdentifier == store)
    let request = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
    request.resultType = .managedObjectIDResultType
    let objectID = try #require(try context.managedObjectContext.fetch(request).first)
    #expect(json.uriRepresentation == objectID.uriRepresentation())
    #expect(json.uriRepresentation.absoluteString == "x-coredata://\(store)/Book/p1")
    #expect(try IdentifierJSON(objectID).identifier() == id)
    #expect(context.model(for: try IdentifierJSON(objectID).identifier()).persistentModelID == id)
  }

  @Test("K9: an identifier is read from Apple's JSON, and written again, also while its store is not open")
  func appleLiteral() throws {
    let json =
      #"{"implementation":{"primaryKey":"p12","uriRepresentation":"x-coredata:\/\/0E2C5F0B-5B4C-4F3B-9E35-5A7C31C3E5A1\/Book\/p12","isTemporary":false,"storeIdentifier":"0E2C5F0B-5B4C-4F3B-9E35-5A7C31C3E5A1","entityName":"Book"}}"#
    let id = try read(json)
    #expect(id.storeIdentifier == "0E2C5F0B-5B4C-4F3B-9E35-5A7C31C3E5A1" && id.entityName == "Book")
    let again = try IdentifierJSON(id).implementation
    #expect(again.primaryKey == "p12" && json.contains(again.uriRepresentation.lastPathComponent))
    #expect(id.description == again.uriRepresentation.absoluteString)
    let list = try PropertyListDecoder().decode(
      [PersistentIdentifier].self, from: PropertyListEncoder().encode([id]))
    #expect(list == [id])
  }

  @Test("K9: what earlier versions of Strata have written is read")
  func earlierForm() throws {
    let id = try saved(Book("One"))
    let store = try #require(id.storeIdentifier)
    #expect(try read(#"{"store":"\#(store)","key":1,"entity":"Book"}"#) == id)
    let own = try read(##"{"foreignKey":"[7]","entity":"Book","store":"\/a\/b"}"##)
    #expect(own == (try .identifier(for: "/a/b", entityName: "Book", primaryKey: 7)))
    let temporary = Book("Two").persistentModelID
    let number = try IdentifierJSON(temporary).implementation.primaryKey.dropFirst()
    #expect(try read(#"{"temporary":\#(number),"entity":"Book"}"#) == temporary)
  }

  @Test("The identifier of a row is made of its store, its class and its key")
  func byNames() throws {
    let id = try saved(Book("One"))
    let store = try #require(id.storeIdentifier)
    let made = try PersistentIdentifier.identifier(for: store, entityName: "Book", primaryKey: "p1")
    #expect(made == id && made.hashValue == id.hashValue)
    #expect(context.model(for: made).persistentModelID == id)
    for other in ["p2", "p01", "1", "q1", "p", "p281474976710656"] {
      #expect(try .identifier(for: store, entityName: "Book", primaryKey: other) != id)
    }
  }

  @Test("Temporary identifiers and those of stores of one's own come back as they were")
  func otherForms() throws {
    let temporary = Book("One").persistentModelID
    let json = try IdentifierJSON(temporary).implementation
    #expect(json.isTemporary && json.storeIdentifier == nil && json.entityName == "Book")
    func own<Key>(_ key: Key) throws -> PersistentIdentifier
    where Key: Comparable & CustomStringConvertible & Codable & Hashable {
      try .identifier(for: "/a b/c", entityName: "Größe", primaryKey: key)
    }
    let texts = try ["x/1", "7", "", #"["p1"]"#].map { try own($0) }
    let all = try [temporary, own(7), own(1.5)] + texts
    for id in all {
      #expect(try JSONDecoder().decode(PersistentIdentifier.self, from: JSONEncoder().encode(id)) == id)
    }
    #expect(Set(all).count == all.count)
    #expect(try IdentifierJSON(own("x/1")).implementation.primaryKey == "x/1")
    #expect(try IdentifierJSON(own(7)).implementation.primaryKey == "7")
    // Another library's means nothing here, and JSON without a key or a store is none.
    for key in ["t8AE4C7F0-6D2B-4E0F-8B51-7C6E3C9F0A112", "x"] {
      #expect(throws: DecodingError.self) {
        try read(
          #"{"implementation":{"primaryKey":"\#(key)","uriRepresentation":"x-coredata:///Book/t1","isTemporary":true,"entityName":"Book"}}"#
        )
      }
    }
    #expect(throws: DecodingError.self) {
      try read(#"{"implementation":{"primaryKey":"p1","isTemporary":false,"entityName":"Book"}}"#)
    }
  }

  @Test("An object ID of a row that was not saved yet leads to the row's identifier")
  func unsavedObject() throws {
    let objects = context.managedObjectContext
    let book = try #require(
      NSEntityDescription.insertNewObject(forEntityName: "Book", into: objects) as NSManagedObject?)
    book.setValue("One", forKey: "title")
    let json = IdentifierJSON(book.objectID)
    #expect(json.implementation.isTemporary)
    let early = try json.identifier()
    try context.save()
    #expect(try context.fetch(FetchDescriptor<Book>()).map(\.persistentModelID) == [early])
  }

  @Test("Identifiers that a model keeps come back, in stores of earlier versions as well")
  func keptIdentifiers() throws {
    let id = try saved(Book("One"))
    let model = Größe()
    model.other = id
    model.others = [id]
    let own = try saved(model)
    let json = try IdentifierJSON(own).implementation
    #expect(json.uriRepresentation.absoluteString.hasSuffix("/Gr%C3%B6%C3%9Fe/p1"))
    #expect(json.entityName == "Größe")
    let found = try #require(try ModelContext(container).fetch(FetchDescriptor<Größe>()).first)
    #expect(found.other == id && found.others == [id])
    // Equal values have the bytes that they always had.
    let request = NSFetchRequest<NSManagedObject>(entityName: "Größe")
    let row = try #require(try context.managedObjectContext.fetch(request).first)
    let store = try #require(id.storeIdentifier)
    #expect(
      row.value(forKey: "other") as? Data
        == Data(#"[{"entity":"Book","key":1,"store":"\#(store)"}]"#.utf8))
  }
}
