import CoreData

extension ModelPlan {
  /// The model that Core Data is given: a new one each time, as after a new start of the program.
  func make() -> NSManagedObjectModel {
    let made = entities.map { plan in
      let entity = NSEntityDescription()
      entity.name = plan.name
      entity.isAbstract = plan.isAbstract
      return entity
    }
    var ends: [String: NSRelationshipDescription] = [:]
    for (number, plan) in entities.enumerated() {
      var properties: [NSPropertyDescription] = plan.attributes.map(Self.attribute)
      for relationship in plan.relationships {
        let end = NSRelationshipDescription()
        end.name = relationship.name
        end.destinationEntity = made[relationship.destination]
        end.isOptional = relationship.isOptional
        end.isOrdered = relationship.isOrdered
        end.minCount = relationship.least
        end.maxCount = relationship.isToMany ? relationship.most : 1
        end.deleteRule = relationship.rule
        ends[relationship.name] = end
        properties.append(end)
      }
      made[number].properties = properties
    }
    for plan in relationship.values {
      if let inverse = plan.inverse { ends[plan.name]?.inverseRelationship = ends[inverse] }
    }
    for (number, plan) in entities.enumerated() {
      made[number].uniquenessConstraints = plan.constraints
      made[number].subentities = entities.indices.filter { entities[$0].parent == number }.map { made[$0] }
      made[number].indexes = plan.indexes.enumerated().map { place, names in
        let elements = names.compactMap { name -> NSFetchIndexElementDescription? in
          guard let property = made[number].propertiesByName[name] else { return nil }
          return NSFetchIndexElementDescription(property: property, collationType: .binary)
        }
        return NSFetchIndexDescription(name: "by\(place)", elements: elements)
      }
    }
    let model = NSManagedObjectModel()
    model.entities = made
    return model
  }

  private static func attribute(_ plan: AttributePlan) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = plan.name
    attribute.attributeType = plan.type
    attribute.isOptional = plan.isOptional
    attribute.isTransient = plan.isTransient
    attribute.allowsExternalBinaryDataStorage = plan.isLarge && plan.type == .binaryDataAttributeType
    attribute.defaultValue = plan.defaultValue.object
    if let least = plan.least {
      attribute.setValidationPredicates(
        [NSPredicate(format: "SELF >= \(least)")], withValidationWarnings: ["too small"])
    }
    return attribute
  }
}
