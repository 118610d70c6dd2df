import CoreData
import Testing

/// What applications keep with descriptions.
@Suite("User info of descriptions")
struct UserInfoTests {
  @Test("Every description's user info is a dictionary from the start")
  func neverNil() {
    #expect(NSEntityDescription().userInfo?.isEmpty == true)
    for property: NSPropertyDescription in [
      NSAttributeDescription(), NSRelationshipDescription(), NSFetchedPropertyDescription(),
      NSExpressionDescription(), NSDerivedAttributeDescription(), NSCompositeAttributeDescription(),
    ] {
      #expect(property.userInfo?.isEmpty == true, "\(type(of: property))")
      property.userInfo?["colour"] = "red"
      #expect(property.userInfo?["colour"] as? String == "red", "\(type(of: property))")
      property.userInfo = nil
      #expect(property.userInfo?["colour"] == nil, "\(type(of: property))")
    }
  }

  @Test(
    "User info may be changed while the model is in use, by several threads, and is no part of version hashes"
  )
  func changedInUse() async throws {
    let stand = try BirdStand()
    let model = stand.coordinator.managedObjectModel
    let bird = try #require(model.entitiesByName["Bird"])
    let heavy = try #require(model.entitiesByName["Site"]?.propertiesByName["heavyBirds"])
    let (name, site) = (
      try #require(bird.propertiesByName["name"]), try #require(bird.propertiesByName["site"])
    )
    let hashes = model.entityVersionHashesByName
    struct Places: @unchecked Sendable {
      // @unchecked Sendable: user info may be used from any thread, which is what is tested.
      let entity: NSEntityDescription
      let properties: [NSPropertyDescription]
    }
    let places = Places(entity: bird, properties: [heavy, name, site])
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for round in 0..<500 {
            places.entity.userInfo = ["task": task, "round": round]
            for property in places.properties {
              property.userInfo = ["task": task, "round": round]
              let seen = property.userInfo
              if seen?.count != 2 { Issue.record("half a dictionary: \(seen ?? [:])") }
            }
            if places.entity.userInfo?.count != 2 { Issue.record("half a dictionary") }
          }
        }
      }
    }
    #expect(bird.userInfo?["round"] as? Int == 499)
    #expect(model.entityVersionHashesByName == hashes)
    let context = stand.context()
    BirdStand.bird("wren", 7, 1, nil, context)
    try context.save()
    #expect(try names(nil, in: stand.context()) == ["wren"])
  }

  @Test("A fetched property's predicate sees the user info of the moment")
  func fetchedProperty() throws {
    let stand = try BirdStand { model in
      let property =
        model.entitiesByName["Site"]?.propertiesByName["heavyBirds"] as? NSFetchedPropertyDescription
      let request = property?.fetchRequest
      request?.predicate = NSPredicate(format: "tally > $FETCHED_PROPERTY.userInfo.least")
      property?.fetchRequest = request
    }
    let context = try stand.stocked()
    let site = try #require(try context.fetch(NSFetchRequest<Site>(entityName: "Site")).first)
    let property = try #require(site.entity.propertiesByName["heavyBirds"])
    func found() -> [String] { (site.value(forKey: "heavyBirds") as? [Bird] ?? []).compactMap(\.name) }
    property.userInfo = ["least": 6]
    #expect(found() == ["wren", "coot"])
    property.userInfo = ["least": 10]
    context.refresh(site, mergeChanges: true)
    #expect(found() == ["coot"])
  }
}
