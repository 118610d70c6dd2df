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
    #expect(try model.schema() === schema && schema.entity(named: "Shelf")?.attributes.count == 1)
  }
}
