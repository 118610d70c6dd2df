import CoreData
import Testing

@Suite("Identity")
struct IdentityTests {
  @Test(
    "Contexts, coordinators, models, descriptions and undo managers are NSObjects, equal to themselves only")
  func objects() throws {
    let model = BirdStand.model()
    let bird = try #require(model.entitiesByName["Bird"])
    let name = try #require(bird.attributesByName["name"])
    let element = NSFetchIndexElementDescription(property: name, collationType: .binary)
    let one: [NSObject] = [
      NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType),
      NSPersistentStoreCoordinator(managedObjectModel: BirdStand.model()), model, bird, name,
      try #require(bird.relationshipsByName["site"]), NSFetchIndexDescription(name: "i", elements: nil),
      element,
      UndoManager(), NSMergePolicy.error, NSQueryGenerationToken.current,
    ]
    for (place, object) in one.enumerated() {
      for (other, another) in one.enumerated() {
        #expect((object == another) == (place == other), "\(object) \(another)")
        #expect(object.isEqual(another) == (place == other))
      }
    }
    #expect(Set(one).count == one.count && Set(one + one).count == one.count)
    let context = NSManagedObjectContext()
    context.name = "one"
    #expect("\(context)" == "<context “one” (confinement)>")
  }

  @Test("They are keys of dictionaries and members of sets, and can be compared with ==")
  func keys() throws {
    let stand = try BirdStand()
    let (first, second) = (stand.context(), stand.context())
    #expect(first == first && first != second)
    var titles: [NSManagedObjectContext: String] = [first: "first"]
    titles[second] = "second"
    #expect(titles[first] == "first" && titles[second] == "second")
    let model = stand.coordinator.managedObjectModel
    #expect([stand.coordinator: 1][stand.coordinator] == 1 && Set([model, model]).count == 1)
    #expect(Set(model.entities).count == model.entities.count)
    let bird = try #require(model.entitiesByName["Bird"])
    #expect(bird == model.entitiesByName["Bird"] && bird != model.entitiesByName["Site"])
    // As the keys of an update.
    let tally = try #require(bird.attributesByName["tally"])
    let context = try stand.stocked()
    let request = NSBatchUpdateRequest(entity: bird)
    request.propertiesToUpdate = [tally: 1]
    request.resultType = .updatedObjectsCountResultType
    #expect((try context.execute(request) as? NSBatchUpdateResult)?.result as? Int == 5)
  }

  @Test("Conflicts are NSObjects")
  func conflicts() throws {
    let context = try BirdStand().stocked()
    let bird = try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))[0]
    let merge = NSMergeConflict(
      source: bird, newVersion: 2, oldVersion: 1, cachedSnapshot: nil, persistedSnapshot: nil)
    let constraint = NSConstraintConflict(
      constraint: ["name"], database: nil, databaseSnapshot: nil, conflicting: [bird],
      conflictingSnapshots: [])
    let all: [NSObject] = [merge, constraint]
    #expect(Set(all + all).count == 2)
    #expect("\(constraint)".contains("have the same name"))
  }

  @Test("Models and descriptions are copied: the copies are changeable, and belong to nothing")
  func copies() throws {
    let stand = try BirdStand { model in
      let bird = try #require(model.entitiesByName["Bird"])
      let tally = try #require(bird.attributesByName["tally"])
      tally.defaultValue = 3
      tally.userInfo = ["unit": "birds"]
      tally.renamingIdentifier = "count"
      tally.setValidationPredicates(
        [NSPredicate(format: "SELF < 100")], withValidationWarnings: ["Too many."])
      bird.relationshipsByName["site"]?.deleteRule = .denyDeleteRule
      bird.indexes = [NSFetchIndexDescription(name: "byName", attributes: ["name"])]
    }
    let model = stand.coordinator.managedObjectModel
    let copied = try #require((model as NSCopying).copy(with: nil) as? NSManagedObjectModel)
    #expect(copied !== model && copied == model)
    #expect(copied.entityVersionHashesByName == model.entityVersionHashesByName)
    let bird = try #require(model.entitiesByName["Bird"])

    let tally = try #require(bird.attributesByName["tally"])
    let copy = try #require(tally.copy() as? NSAttributeDescription)
    #expect(copy.entity == nil && copy.name == "tally" && copy.attributeType == .integer64AttributeType)
    #expect(copy.defaultValue as? Int == 3 && copy.userInfo?["unit"] as? String == "birds")
    #expect(copy.renamingIdentifier == "count" && copy.versionHash == tally.versionHash)
    #expect(copy.validationPredicates.count == 1)
    copy.name = "other"
    let site = try #require(bird.relationshipsByName["site"])
    let link = try #require(site.copy() as? NSRelationshipDescription)
    #expect(link.destinationEntity == site.destinationEntity && link.deleteRule == .denyDeleteRule)
    #expect(link.maxCount == 1 && link.inverseRelationship == site.inverseRelationship)
    let index = try #require(bird.indexes[0].copy() as? NSFetchIndexDescription)
    #expect(index.name == "byName" && index.entity == nil && index.elements.map(\.propertyName) == ["name"])
    index.name = "other"
    let heavy = try #require(model.entitiesByName["Site"]?.propertiesByName["heavyBirds"])
    let fetched = try #require(heavy.copy() as? NSFetchedPropertyDescription)
    #expect(fetched.fetchRequest?.entityName == "Bird")
    let column = NSExpressionDescription()
    column.expression = NSExpression(format: "max:(tally)")
    column.expressionResultType = .integer64AttributeType
    let other = try #require(column.copy() as? NSExpressionDescription)
    #expect(other.expression == column.expression && other.expressionResultType == .integer64AttributeType)

    let derived = NSDerivedAttributeDescription()
    derived.name = "loud"
    derived.attributeType = .stringAttributeType
    derived.derivationExpression = NSExpression(format: "uppercase:(name)")
    let composite = NSCompositeAttributeDescription()
    composite.name = "address"
    composite.elements = [derived]
    let address = try #require(composite.copy() as? NSCompositeAttributeDescription)
    #expect(address.attributeType == .compositeAttributeType && address.elements[0] !== derived)
    #expect(
      (address.elements[0] as? NSDerivedAttributeDescription)?.derivationExpression
        == derived.derivationExpression)
    let token = NSQueryGenerationToken.current
    #expect(token.copy() as? NSQueryGenerationToken == token)
  }

  @Test("A copy of an entity has its own properties, indexes and constraints, and belongs to no model")
  func entities() throws {
    let model = BirdStand.model()
    let bird = try #require(model.entitiesByName["Bird"])
    let mate = NSRelationshipDescription()
    mate.name = "mate"
    mate.destinationEntity = bird
    mate.maxCount = 1
    mate.inverseRelationship = mate
    bird.properties.append(mate)
    bird.indexes = [NSFetchIndexDescription(name: "byName", attributes: ["name"])]
    bird.uniquenessConstraints = [["name", "tally"]]
    bird.userInfo = ["kind": "animal"]
    bird.versionHashModifier = "2"
    bird.renamingIdentifier = "Fowl"
    let site = try #require(model.entitiesByName["Site"])
    let owl = NSEntityDescription()
    owl.name = "Owl"
    owl.isAbstract = true
    bird.subentities = [owl]
    model.entities = [bird, site, owl]

    let copy = try #require((bird as NSCopying).copy(with: nil) as? NSEntityDescription)
    #expect(copy !== bird && copy == bird)
    #expect(copy.managedObjectModel == nil && copy.superentity == nil && copy.subentities.isEmpty)
    #expect(copy.name == "Bird" && copy.managedObjectClass == Bird.self)
    #expect(copy.managedObjectClassName == bird.managedObjectClassName)
    #expect(copy.properties.map(\.name) == bird.properties.map(\.name))
    #expect(
      copy.properties.allSatisfy { $0.entity === copy } && bird.properties.allSatisfy { $0.entity === bird })
    #expect(
      copy.indexes.map(\.name) == ["byName"] && copy.indexes[0].entity === copy
        && bird.indexes[0].entity === bird)
    #expect(copy.uniquenessConstraints as? [[String]] == [["name", "tally"]])
    #expect(copy.userInfo?["kind"] as? String == "animal" && copy.versionHashModifier == "2")
    #expect(copy.renamingIdentifier == "Fowl" && copy.versionHash == bird.versionHash)
    let own = try #require(copy.relationshipsByName["mate"])
    #expect(own.destinationEntity === copy && own.inverseRelationship === own && own !== mate)
    let home = try #require(copy.relationshipsByName["site"])
    #expect(home.destinationEntity === site)
    #expect(home.inverseRelationship === site.relationshipsByName["birds"])

    let small = try #require(owl.copy() as? NSEntityDescription)
    #expect(small.isAbstract && small.properties.isEmpty && small.managedObjectClassName == "NSManagedObject")
    // Of a model in use, the copy can be changed.
    let stand = try BirdStand()
    let used = try #require(stand.coordinator.managedObjectModel.entitiesByName["Bird"])
    let changeable = try #require(used.copy() as? NSEntityDescription)
    changeable.name = "Other"
    changeable.properties.removeLast()
    #expect(used.name == "Bird" && used.properties.count == changeable.properties.count + 1)
  }
}
