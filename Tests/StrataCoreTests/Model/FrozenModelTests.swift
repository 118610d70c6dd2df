import Foundation
import Testing

@testable import StrataCore

/// Rule 298: a model in use does not change.
@Suite struct FrozenModelTests {
  @Test("Setting an attribute's type traps")
  func attributesAreFrozen() async {
    await #expect(processExitsWith: .failure) {
      let model = makeLibrary()
      _ = try model.schema()
      model.entitiesByName["Book"]!.attributesByName["pages"]!.attributeType = .string
    }
  }

  @Test("Setting an inherited property's default traps")
  func defaultsAreFrozen() async {
    await #expect(processExitsWith: .failure) {
      let model = makeLibrary()
      _ = try model.schema()
      model.entitiesByName["Comic"]!.attributesByName["title"]!.defaultValue = "x"
    }
  }

  @Test("Setting an entity's properties, constraints or class traps, and the message names the property")
  func entitiesAreFrozen() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let model = makeLibrary()
      _ = try model.schema()
      model.entitiesByName["Shelf"]!.uniquenessConstraints = [["row"]]
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("Shelf.uniquenessConstraints was set"))
    await #expect(processExitsWith: .failure) {
      let model = makeLibrary()
      _ = try model.schema()
      model.entitiesByName["Shelf"]!.properties.append(AttributeDescription("x", .string))
    }
    await #expect(processExitsWith: .failure) {
      let model = makeLibrary()
      _ = try model.schema()
      model.entitiesByName["Shelf"]!.renamingIdentifier = "Board"
    }
  }

  @Test("Setting an index's elements or direction traps")
  func indexesAreFrozen() async {
    await #expect(processExitsWith: .failure) {
      let model = makeLibrary()
      _ = try model.schema()
      model.entitiesByName["Item"]!.indexes[0].elements = []
    }
    await #expect(processExitsWith: .failure) {
      let model = makeLibrary()
      _ = try model.schema()
      model.entitiesByName["Item"]!.indexes[0].elements[0].isAscending = false
    }
  }

  @Test("Setting the model's entities or a configuration traps")
  func modelsAreFrozen() async {
    await #expect(processExitsWith: .failure) {
      let model = makeLibrary()
      _ = try model.schema()
      model.entities = []
    }
    await #expect(processExitsWith: .failure) {
      let model = makeLibrary()
      _ = try model.schema()
      model.setEntities([], forConfigurationName: "None")
    }
  }

  @Test("A copy of a model in use can be changed")
  func copiesAreMutable() throws {
    let model = makeLibrary()
    let schema = try model.schema()
    let copy: ManagedObjectModel = try model.copy()
    copy.entitiesByName["Shelf"]!.properties.append(AttributeDescription("height", .double))
    #expect(try copy.schema().entity(named: "Shelf")?.attributes.count == 2)
    #expect(
      try model.schema().compiled === schema.compiled && schema.entity(named: "Shelf")?.attributes.count == 1)
  }

  @Test("A model in use goes with its last user: its schema keeps it, it does not keep its schema")
  func modelsAreFreed() throws {
    weak var model: ManagedObjectModel?
    weak var entity: EntityDescription?
    weak var relationship: PropertyDescription?
    weak var compiled: CompiledModel?
    func use() throws -> Schema {
      let (shelf, book) = (EntityDescription("Shelf"), EntityDescription("Book"))
      let books = RelationshipDescription("books", to: book, maxCount: 0)
      let owner = RelationshipDescription("shelf", to: shelf, maxCount: 1)
      (books.inverseRelationship, owner.inverseRelationship) = (owner, books)
      shelf.properties = [books]
      book.properties = [AttributeDescription("title", .string), owner]
      let made = ManagedObjectModel(entities: [shelf, book])
      (model, entity, relationship) = (made, book, owner)
      let schema = try made.schema()
      compiled = schema.compiled
      return schema
    }
    var schema: Schema? = try use()
    #expect(schema?.model === model && model != nil)
    #expect(entity != nil && relationship?.entity != nil && compiled != nil)
    withExtendedLifetime(schema) {}
    schema = nil
    #expect(model == nil && entity == nil && relationship == nil && compiled == nil)
  }
}
