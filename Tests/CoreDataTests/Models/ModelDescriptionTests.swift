import CoreData
import Testing

@Suite("What descriptions know")
struct ModelDescriptionTests {
  @Test("What descriptions are before anything is set")
  func defaults() {
    let attribute = NSAttributeDescription()
    #expect(
      attribute.isOptional && !attribute.isTransient && attribute.attributeType == .undefinedAttributeType)
    #expect(
      attribute.defaultValue == nil && attribute.validationPredicates.isEmpty
        && !attribute.allowsExternalBinaryDataStorage)
    attribute.name = "a"
    #expect(attribute.renamingIdentifier == "a")
    attribute.renamingIdentifier = "b"
    #expect(attribute.renamingIdentifier == "b" && attribute.versionHashModifier == nil)
    let relationship = NSRelationshipDescription()
    #expect(
      relationship.deleteRule == .nullifyDeleteRule && relationship.minCount == 0 && !relationship.isOrdered)
    #expect(relationship.inverseRelationship == nil && relationship.isOptional)
    let entity = NSEntityDescription()
    entity.name = "E"
    #expect(entity.managedObjectClassName == "NSManagedObject" && !entity.isAbstract)
    #expect(entity.renamingIdentifier == "E" && entity.superentity == nil && entity.subentities.isEmpty)
    #expect(entity.uniquenessConstraints.isEmpty && entity.properties.isEmpty)
  }

  @Test("Entities know properties, those that are inherited, kinds and destinations")
  func entities() throws {
    let model = CompanyStand.model()
    let (employee, manager) = (
      try #require(model.entitiesByName["Employee"]), try #require(model.entitiesByName["Manager"])
    )
    let chore = try #require(model.entitiesByName["Chore"])
    #expect(manager.superentity === employee && employee.subentitiesByName["Manager"] === manager)
    #expect(manager.isKindOf(entity: employee) && !employee.isKindOf(entity: manager))
    #expect(manager.attributesByName["name"] != nil && manager.attributesByName["title"] != nil)
    #expect(employee.attributesByName["title"] == nil && employee.relationshipsByName["chores"] != nil)
    #expect(Set(manager.relationshipsByName.keys) == Set(employee.relationshipsByName.keys))
    #expect(employee.relationships(forDestination: chore).map(\.name) == ["chores"])
    let chores = try #require(employee.relationshipsByName["chores"])
    #expect(chores.isToMany && chores.deleteRule == .cascadeDeleteRule && chores.destinationEntity === chore)
    #expect(chores.inverseRelationship?.name == "owner" && chores.inverseRelationship?.isToMany == false)
    #expect(chores.entity === employee && chore.managedObjectModel === model)
    #expect(model.entities.count == 6 && model.entitiesByName.count == 6)
  }

  @Test("Models are merged; entities of one name that differ are not")
  func merging() throws {
    func model(_ entity: String, _ attribute: String) -> NSManagedObjectModel {
      let description = NSEntityDescription()
      description.name = entity
      description.properties = [CompanyStand.attribute(attribute, .stringAttributeType)]
      let model = NSManagedObjectModel()
      model.entities = [description]
      return model
    }
    let merged = try #require(NSManagedObjectModel(byMerging: [model("A", "a"), model("B", "b")]))
    #expect(Set(merged.entitiesByName.keys) == ["A", "B"])
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: merged)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    CompanyStand.make("B", context).setValue("x", forKey: "b")
    try context.save()
    let metadata = coordinator.metadata(for: coordinator.persistentStores[0])
    #expect(merged.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(!model("A", "a").isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
    #expect(
      NSManagedObjectModel(
        byMerging: [model("A", "a"), model("B", "b"), model("C", "c")], forStoreMetadata: metadata)?.entities
        .count == 2)
  }

  @Test("A modifier changes the hash of its entity only; versions and hashes by name")
  func hashes() throws {
    let (one, two) = (CompanyStand.model(), CompanyStand.model())
    #expect(one.entityVersionHashesByName == two.entityVersionHashesByName)
    two.entitiesByName["Chore"]?.attributesByName["title"]?.versionHashModifier = "2"
    two.versionIdentifiers = ["2.0"]
    let differing = one.entityVersionHashesByName.filter { two.entityVersionHashesByName[$0.key] != $0.value }
    #expect(Set(differing.keys) == ["Chore"])
    #expect(one.entityVersionHashesByName["Desk"]?.count == 32)
    #expect(one.entitiesByName["Desk"]?.versionHash == one.entityVersionHashesByName["Desk"])
  }

  @Test("A localization dictionary names things in validation errors")
  func localization() throws {
    let stand = try CompanyStand {
      $0.localizationDictionary = ["Entity/Chore": "Arbeit", "Property/title/Entity/Chore": "Titel"]
    }
    let context = stand.context()
    _ = CompanyStand.make("Chore", context)
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect(error?.localizedDescription.contains("Titel") == true)
  }

  @Test("An entity without a class of its own is an NSManagedObject that key-value coding serves")
  func withoutClass() throws {
    let context = try CompanyStand().stocked()
    let chore = try context.all("Chore", NSPredicate(format: "title == 'mail'"))[0]
    #expect(type(of: chore) == NSManagedObject.self && chore.entity.name == "Chore")
    #expect(chore.value(forKeyPath: "owner.department.name") as? String == "Sales")
    chore.setValue("letters", forKeyPath: "title")
    #expect(chore.changedValues()["title"] as? String == "letters")
    #expect(NSEntityDescription.entity(forEntityName: "Nothing", in: context) == nil)
  }
}
