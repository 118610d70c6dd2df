//
//  MappingBuilder.swift
//  LedgerKit
//

import CoreData
import Foundation

/// Makes a mapping model in code, where Xcode's would be too much.
public final class MappingBuilder {
  private let source: NSManagedObjectModel
  private let destination: NSManagedObjectModel
  private var policies: [String: String] = [:]
  private var renamed: [String: String] = [:]
  private var expressions: [String: NSExpression] = [:]

  public init(source: NSManagedObjectModel, destination: NSManagedObjectModel) {
    self.source = source
    self.destination = destination
  }

  @discardableResult
  public func policy(_ policy: NSEntityMigrationPolicy.Type, forEntity name: String) -> MappingBuilder {
    policies[name] = NSStringFromClass(policy)
    return self
  }

  /// An attribute of the destination that had another name.
  @discardableResult
  public func rename(_ entity: String, _ old: String, to new: String) -> MappingBuilder {
    renamed["\(entity).\(new)"] = old
    return self
  }

  /// An attribute of the destination that is made of others.
  @discardableResult
  public func set(_ entity: String, _ attribute: String, to expression: NSExpression) -> MappingBuilder {
    expressions["\(entity).\(attribute)"] = expression
    return self
  }

  public func build() -> NSMappingModel {
    let mapping = NSMappingModel()
    var mappings: [NSEntityMapping] = []
    for (name, entity) in destination.entitiesByName.sorted(by: { $0.key < $1.key }) where !entity.isAbstract {
      mappings.append(entityMapping(name, entity))
    }
    for (name, entity) in source.entitiesByName.sorted(by: { $0.key < $1.key }) {
      guard destination.entitiesByName[name] == nil, !entity.isAbstract else { continue }
      let removal = NSEntityMapping()
      removal.name = "Remove\(name)"
      removal.mappingType = .removeEntityMappingType
      removal.sourceEntityName = name
      removal.sourceEntityVersionHash = entity.versionHash
      mappings.append(removal)
    }
    mapping.entityMappings = mappings
    return mapping
  }

  private func entityMapping(_ name: String, _ entity: NSEntityDescription) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.destinationEntityName = name
    mapping.destinationEntityVersionHash = entity.versionHash
    guard let old = source.entitiesByName[name] else {
      mapping.name = "Add\(name)"
      mapping.mappingType = .addEntityMappingType
      return mapping
    }
    mapping.name = "\(name)To\(name)"
    mapping.sourceEntityName = name
    mapping.sourceEntityVersionHash = old.versionHash
    mapping.mappingType = policies[name] == nil ? .transformEntityMappingType : .customEntityMappingType
    mapping.entityMigrationPolicyClassName = policies[name]
    mapping.attributeMappings = entity.attributesByName.sorted { $0.key < $1.key }.compactMap { attribute in
      guard !attribute.value.isTransient else { return nil }
      let property = NSPropertyMapping()
      property.name = attribute.key
      if let expression = expressions["\(name).\(attribute.key)"] {
        property.valueExpression = expression
      } else {
        let key = renamed["\(name).\(attribute.key)"] ?? attribute.key
        guard old.attributesByName[key] != nil else { return property }
        property.valueExpression = NSExpression(format: "$source.\(key)")
      }
      return property
    }
    mapping.relationshipMappings = entity.relationshipsByName.sorted { $0.key < $1.key }.map { relationship in
      let property = NSPropertyMapping()
      property.name = relationship.key
      guard old.relationshipsByName[relationship.key] != nil,
        let target = relationship.value.destinationEntity?.name
      else { return property }
      property.valueExpression = NSExpression(
        forFunction: NSExpression(forVariable: NSMigrationManagerKey),
        selectorName: "destinationInstancesForEntityMappingNamed:sourceInstances:",
        arguments: [
          NSExpression(forConstantValue: "\(target)To\(target)"),
          NSExpression(format: "$source.\(relationship.key)"),
        ])
      return property
    }
    return mapping
  }
}
