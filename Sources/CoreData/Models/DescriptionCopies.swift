import StrataCore

// Copies of what a model is made of: changeable, whether or not the original is in use, and part of nothing.

extension NSManagedObjectModel: NSCopying {
  /// A changeable copy of the model and all its descriptions. Traps for a model that no store would take.
  public func copy(with zone: NSZone? = nil) -> Any {
    guard let copy = try? NSManagedObjectModel.make(byMerging: [self]) else {
      stop("A model that cannot be stored cannot be copied.")
    }
    return copy
  }
}

extension NSPropertyDescription: NSCopying {
  /// A changeable copy that belongs to no entity. That of a relationship leads to the same entity and has the same inverse.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = shell()
    copy.name = name
    copy.isOptional = isOptional
    copy.isTransient = isTransient
    copy.validationRules = validationRules
    copy.userInfo = userInfo
    if renamingIdentifier != name { copy.renamingIdentifier = renamingIdentifier }
    copy.versionHashModifier = versionHashModifier
    copy.wantsIndex = wantsIndex
    return copy
  }

  /// A description of this kind with what only this kind has.
  private func shell() -> NSPropertyDescription {
    switch self {
    case let relationship as NSRelationshipDescription:
      let copy = NSRelationshipDescription()
      copy.destinationEntity = relationship.destinationEntity
      copy.inverseRelationship = relationship.inverseRelationship
      copy.minCount = relationship.minCount
      copy.maxCount = relationship.maxCount
      copy.isOrdered = relationship.isOrdered
      copy.deleteRule = relationship.deleteRule
      return copy
    case let fetched as NSFetchedPropertyDescription:
      let copy = NSFetchedPropertyDescription()
      copy.StrataCore::fetchRequest = fetched.StrataCore::fetchRequest
      return copy
    case let column as NSExpressionDescription:
      let copy = NSExpressionDescription()
      copy.expression = column.expression
      copy.expressionResultType = column.expressionResultType
      return copy
    case let attribute as NSAttributeDescription: return attribute.attributeShell()
    default: stop("There is no copy of a \(type(of: self)).")
    }
  }
}

extension NSAttributeDescription {
  fileprivate func attributeShell() -> NSAttributeDescription {
    let copy: NSAttributeDescription
    if let derived = self as? NSDerivedAttributeDescription {
      let new = NSDerivedAttributeDescription()
      new.StrataCore::derivationExpression = derived.StrataCore::derivationExpression
      copy = new
    } else if let composite = self as? NSCompositeAttributeDescription {
      let new = NSCompositeAttributeDescription()
      new.elements = composite.elements.compactMap { $0.copy() as? NSAttributeDescription }
      copy = new
    } else {
      copy = NSAttributeDescription()
    }
    copy.attributeType = attributeType
    copy.StrataCore::defaultValue = self.StrataCore::defaultValue
    copy.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
    copy.valueTransformerName = valueTransformerName
    copy.attributeValueClassName = attributeValueClassName
    copy.preservesValueInHistoryOnDeletion = preservesValueInHistoryOnDeletion
    return copy
  }
}

extension NSFetchIndexDescription: NSCopying {
  /// A changeable copy that belongs to no entity.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSFetchIndexDescription(
      name: name, elements: elements.compactMap { $0.copy() as? NSFetchIndexElementDescription })
    copy.condition = condition
    return copy
  }
}

extension NSFetchIndexElementDescription: NSCopying {
  /// A changeable copy that belongs to no index.
  public func copy(with zone: NSZone? = nil) -> Any {
    NSFetchIndexElementDescription(
      propertyName: propertyName, collationType: collationType, isAscending: isAscending)
  }
}

extension NSEntityDescription: NSCopying {
  /// A changeable copy that belongs to no model: the properties that this entity declares itself, indexes, constraints and everything else. It inherits from
  /// nothing and nothing inherits from it. A relationship leads to the same entity, or to the copy where it led to this one.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSEntityDescription()
    copy.name = name
    copy.isAbstract = isAbstract
    copy.properties = ownProperties.compactMap { $0.copy() as? NSPropertyDescription }
    for case let relationship as NSRelationshipDescription in copy.properties
    where relationship.destinationEntity === self {
      relationship.destinationEntity = copy
      guard let inverse = relationship.inverseRelationship, inverse.entity === self else { continue }
      relationship.inverseRelationship = copy.relationshipsByName[inverse.name]
    }
    copy.indexes = indexes.compactMap { $0.copy() as? NSFetchIndexDescription }
    copy.uniquenessConstraints = uniquenessConstraints
    copy.userInfo = userInfo
    copy.versionHashModifier = versionHashModifier
    if renamingIdentifier != name { copy.renamingIdentifier = renamingIdentifier }
    // Setting either forgets the other: the class is found again by a name.
    if managedObjectClassName != "NSManagedObject" { copy.managedObjectClassName = managedObjectClassName }
    if let managedObjectClass, copy.managedObjectClass != managedObjectClass {
      copy.managedObjectClass = managedObjectClass
    }
    return copy
  }
}
