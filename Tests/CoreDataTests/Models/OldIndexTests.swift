import CoreData
import Testing

@Suite("Indexes by their older names")
struct OldIndexTests {
  private func shape(_ entity: NSEntityDescription?) -> [[String]] {
    (entity?.indexes ?? []).map { $0.elements.compactMap(\.propertyName) }
  }

  @Test("isIndexed makes and removes an index, set before or after the attribute has its entity")
  func single() throws {
    let early = NSAttributeDescription()
    early.name = "code"
    early.attributeType = .stringAttributeType
    early.isIndexed = true
    #expect(early.isIndexed)
    let entity = NSEntityDescription()
    entity.name = "Thing"
    entity.properties = [early]
    #expect(shape(entity) == [["code"]])
    entity.properties = [early]
    #expect(shape(entity) == [["code"]])

    let stand = try BirdStand { model in
      let bird = try #require(model.entitiesByName["Bird"])
      let tally = try #require(bird.attributesByName["tally"])
      #expect(!tally.isIndexed)
      tally.isIndexed = true
      tally.isIndexed = true
      #expect(tally.isIndexed && shape(bird) == [["tally"]])
      let weight = try #require(bird.attributesByName["weight"])
      weight.isIndexed = true
      weight.isIndexed = false
      #expect(!weight.isIndexed && shape(bird) == [["tally"]])
      // References are in order anyway.
      bird.relationshipsByName["site"]?.isIndexed = true
      #expect(bird.relationshipsByName["site"]?.isIndexed == true && shape(bird) == [["tally"]])
    }
    let context = stand.context()
    BirdStand.bird("wren", 7, 1, nil, context)
    try context.save()
    #expect(try names(NSPredicate(format: "tally == 7"), in: context) == ["wren"])
    let copy = try #require(stand.coordinator.managedObjectModel.copy() as? NSManagedObjectModel)
    #expect(copy.entitiesByName["Bird"]?.attributesByName["tally"]?.isIndexed == true)
  }

  @Test("compoundIndexes takes names and descriptions, replaces its own and leaves other indexes")
  func compound() throws {
    let model = BirdStand.model()
    let bird = try #require(model.entitiesByName["Bird"])
    bird.indexes = [NSFetchIndexDescription(name: "byName", attributes: ["name"])]
    let weight = try #require(bird.attributesByName["weight"])
    bird.compoundIndexes = [["name", "tally"], [weight, "site"], ["site"]]
    let wanted = [["name", "tally"], ["weight", "site"]]
    #expect(bird.compoundIndexes.map { $0.compactMap { $0 as? String } } == wanted)
    #expect(shape(bird) == [["name"]] + wanted)
    let site = try #require(model.entitiesByName["Site"])
    site.compoundIndexes = [["name", "birds"]]
    #expect(shape(site) == [["name"]])
    bird.compoundIndexes = [["tally", "name"], ["tally", "name"]]
    #expect(shape(bird) == [["name"], ["tally", "name"]])
    bird.compoundIndexes = []
    #expect(shape(bird) == [["name"]] && bird.compoundIndexes.isEmpty)
  }
}
