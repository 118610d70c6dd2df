import Foundation
import Testing

@testable import StrataCore

@Suite struct ModelMergingTests {
  @Test("Merging takes all entities, configurations and identifiers; the parts stay as they are")
  func modelsMerge() throws {
    let library = makeLibrary()
    library.versionIdentifiers = ["library"]
    library.setEntities([library.entitiesByName["Shelf"]!], forConfigurationName: "Shared")
    let other = ManagedObjectModel(entities: [
      EntityDescription("Shelf", properties: [AttributeDescription("row", .integer16)]),
      EntityDescription("Lamp", managedObjectClass: PlainObject.self, properties: []),
    ])
    other.versionIdentifiers = ["light"]
    other.setEntities(other.entities, forConfigurationName: "Shared")
    let merged = try ManagedObjectModel(byMerging: [library, other])
    #expect(merged.entities.compactMap(\.name) == ["Item", "Shelf", "Book", "Comic", "Lamp"])
    #expect(merged.versionIdentifiers == ["library", "light"])
    #expect(merged.entities(forConfigurationName: "Shared")?.map(\.name) == ["Shelf", "Lamp"])
    #expect(merged.entitiesByName["Lamp"]?.managedObjectClass == PlainObject.self)
    #expect(merged.entitiesByName["Comic"]?.superentity?.superentity === merged.entitiesByName["Item"])
    #expect(merged.entities.allSatisfy { $0.managedObjectModel === merged })
    #expect(library.entities.allSatisfy { $0.managedObjectModel === library })
    _ = try merged.schema()
    library.entitiesByName["Shelf"]!.isAbstract = true
    _ = try library.schema()
  }

  @Test("Entities of one name in two versions are refused, all of them (rule 319)")
  func conflictsAreRefused() {
    let other = ManagedObjectModel(entities: [
      EntityDescription("Shelf", properties: [AttributeDescription("row", .string)]),
      EntityDescription("Item"),
    ])
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(byMerging: [makeLibrary(), other])
    }
    #expect(
      error?.sentences == [
        "Two models define entity Shelf differently.", "Two models define entity Item differently.",
      ])
  }

  @Test("Copies of everything a description can say are equal")
  func copiesAreEqual() throws {
    let model = makeFullModel()
    #expect(try ModelDocument(try model.copy()) == ModelDocument(model))
    #expect(try ManagedObjectModel(byMerging: []).entities.isEmpty)
  }
}
