import Foundation
import Strata
import Testing

/// Two things of a model that both say they were the same one (rules 308, 309).
struct RenamingRivalTests {
  /// An entity of these attributes; a second name is what it was.
  private func model(_ attributes: (String, String?)..., entity: String = "Spot") -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        entity,
        properties: attributes.map { name, old in
          let attribute = AttributeDescription(name, .string)
          attribute.renamingIdentifier = old
          return attribute
        })
    ])
  }

  private func reasons(_ old: ManagedObjectModel, _ new: ManagedObjectModel) -> [String] {
    do {
      _ = try InferredMappingModel(from: old, to: new)
      return []
    } catch let error as CoreDataError {
      #expect(error.code == .inferredMappingModel)
      return error.errorUserInfo[InferredMappingModel.reasonsKey] as? [String] ?? []
    } catch {
      return ["\(error)"]
    }
  }

  @Test("rules 308, 309: two attributes of one renaming identifier are 134190, with both names")
  func twins() {
    let found = reasons(model(("a", nil)), model(("p", "a"), ("q", "a")))
    #expect(found.count == 1)
    #expect(found.first?.hasPrefix("Spot.p and Spot.q both say that they were a") == true, "\(found)")
    // In a later version too, where the one has the name already.
    #expect(reasons(model(("p", "a")), model(("p", "a"), ("q", "a"))).count == 1)
    // Both were there: each stays what it is.
    #expect(reasons(model(("p", "a"), ("q", "a")), model(("p", "a"), ("q", "a"))) == [])
  }

  @Test(
    "rules 308, 309: a name that is kept beside one that was it is 134190; with an identifier of its own it is new"
  )
  func kept() throws {
    let found = reasons(model(("a", nil)), model(("r", "a"), ("a", nil)))
    #expect(found.first?.hasPrefix("Spot.r and Spot.a both say that they were a") == true, "\(found)")
    #expect(found.first?.contains("if Spot.a is new, it needs a renaming identifier of its own") == true)
    #expect(found.first?.contains("another originalName") == true)
    let free = model(("r", "a"), ("a", "new a"))
    #expect(reasons(model(("a", nil)), free) == [])
    let mapping = try InferredMappingModel(from: model(("a", nil)), to: free).entities[0]
    #expect(mapping.attributes.map(\.sourceName) == ["a", nil])
    // Versions that had both already, and those that come from behind the renaming, are plain.
    #expect(reasons(model(("r", "a"), ("a", nil)), model(("r", "a"), ("a", nil))) == [])
    #expect(reasons(model(("r", "a")), model(("r", "a"), ("a", nil))) == [])
  }

  @Test("rules 308, 309: so with entities and relationships")
  func entities() {
    func spot(_ name: String, _ old: String?) -> EntityDescription {
      let entity = EntityDescription(name, properties: [AttributeDescription("x", .string)])
      entity.renamingIdentifier = old
      return entity
    }
    let found = reasons(
      ManagedObjectModel(entities: [spot("Spot", nil)]),
      ManagedObjectModel(entities: [spot("Place", "Spot"), spot("Spot", nil)]))
    #expect(found.first?.hasPrefix("Place and Spot both say that they were Spot") == true, "\(found)")
    func related(_ names: (String, String?)...) -> ManagedObjectModel {
      let entity = spot("Spot", nil)
      for (name, old) in names {
        let relationship = RelationshipDescription(name, to: entity, maxCount: 1)
        relationship.renamingIdentifier = old
        entity.properties.append(relationship)
      }
      return ManagedObjectModel(entities: [entity])
    }
    let members = reasons(related(("next", nil)), related(("after", "next"), ("next", nil)))
    #expect(members.first?.hasPrefix("Spot.after and Spot.next") == true, "\(members)")
  }

  @Test("rule 309: the store stays what it was")
  func store() throws {
    let stand = try MigrationStand()
    let context = try stand.open(model(("a", nil)))
    try context.performAndWait {
      context.newObject("Spot", ["a": "x"])
      try context.save()
    }
    try stand.close()
    let error = #expect(throws: CoreDataError.self) { try stand.open(model(("r", "a"), ("a", nil))) }
    #expect(error?.code == .inferredMappingModel)
    let again = try stand.open(model(("a", nil)))
    let names = try again.performAndWait { try again.objectsByName("Spot", by: "a").keys.sorted() }
    #expect(names == ["x"])
  }
}
