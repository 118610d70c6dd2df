//
//  ModelBuilder.swift
//  LedgerKit
//

import CoreData
import Foundation

/// A model that is put together in code.
public struct ModelBuilder {
  public struct Attribute {
    let name: String
    let type: NSAttributeType
    var isOptional = true
    var defaultValue: Any?
    var isTransient = false
    var isIndexed = false

    public init(
      _ name: String, _ type: NSAttributeType, isOptional: Bool = true, defaultValue: Any? = nil,
      isTransient: Bool = false, isIndexed: Bool = false
    ) {
      self.name = name
      self.type = type
      self.isOptional = isOptional
      self.defaultValue = defaultValue
      self.isTransient = isTransient
      self.isIndexed = isIndexed
    }

    func makeDescription() -> NSAttributeDescription {
      let description = NSAttributeDescription()
      description.name = name
      description.attributeType = type
      description.isOptional = isOptional
      description.defaultValue = defaultValue
      description.isTransient = isTransient
      return description
    }
  }

  private var entities: [NSEntityDescription] = []
  private let model = NSManagedObjectModel()

  public init() {}

  @discardableResult
  public mutating func entity(
    _ name: String, class type: NSManagedObject.Type = NSManagedObject.self, attributes: [Attribute],
    unique constraints: [[String]] = []
  ) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    entity.managedObjectClassName = NSStringFromClass(type)
    entity.properties = attributes.map { $0.makeDescription() }
    entity.uniquenessConstraints = constraints
    let indexed = attributes.filter { $0.isIndexed }.compactMap { entity.attributesByName[$0.name] }
    entity.indexes = indexed.map { attribute in
      NSFetchIndexDescription(
        name: "by\(attribute.name)",
        elements: [NSFetchIndexElementDescription(property: attribute, collationType: .binary)])
    }
    entities.append(entity)
    return entity
  }

  /// Two ends of a relationship.
  public func relate(
    _ source: NSEntityDescription, _ name: String, toMany: Bool, deleteRule: NSDeleteRule = .nullifyDeleteRule,
    _ destination: NSEntityDescription, _ inverse: String, inverseToMany: Bool,
    inverseDeleteRule: NSDeleteRule = .nullifyDeleteRule
  ) {
    let there = NSRelationshipDescription()
    there.name = name
    there.destinationEntity = destination
    there.minCount = 0
    there.maxCount = toMany ? 0 : 1
    there.deleteRule = deleteRule
    let back = NSRelationshipDescription()
    back.name = inverse
    back.destinationEntity = source
    back.minCount = 0
    back.maxCount = inverseToMany ? 0 : 1
    back.deleteRule = inverseDeleteRule
    there.inverseRelationship = back
    back.inverseRelationship = there
    source.properties.append(there)
    destination.properties.append(back)
  }

  public func build() -> NSManagedObjectModel {
    model.entities = entities
    return model
  }
}

/// What a model has, as text.
public struct ModelReport {
  public let lines: [String]

  public init(_ model: NSManagedObjectModel) {
    var lines: [String] = []
    for entity in model.entities.sorted(by: { ($0.name ?? "") < ($1.name ?? "") }) {
      lines.append("\(entity.name ?? ""):")
      for property in entity.properties.sorted(by: { $0.name < $1.name }) {
        if let attribute = property as? NSAttributeDescription {
          lines.append("  \(attribute.name) \(ModelReport.name(of: attribute.attributeType))")
        } else if let relationship = property as? NSRelationshipDescription {
          let arrow = relationship.isToMany ? (relationship.isOrdered ? "→→ ordered" : "→→") : "→"
          lines.append("  \(relationship.name) \(arrow) \(relationship.destinationEntity?.name ?? "?")")
        }
      }
    }
    self.lines = lines
  }

  static func name(of type: NSAttributeType) -> String {
    switch type {
    case .undefinedAttributeType: return "undefined"
    case .integer16AttributeType: return "int16"
    case .integer32AttributeType: return "int32"
    case .integer64AttributeType: return "int64"
    case .decimalAttributeType: return "decimal"
    case .doubleAttributeType: return "double"
    case .floatAttributeType: return "float"
    case .stringAttributeType: return "string"
    case .booleanAttributeType: return "bool"
    case .dateAttributeType: return "date"
    case .binaryDataAttributeType: return "data"
    case .UUIDAttributeType: return "uuid"
    case .URIAttributeType: return "uri"
    case .transformableAttributeType: return "transformable"
    case .objectIDAttributeType: return "objectID"
    case .compositeAttributeType: return "composite"
    }
  }
}
