//
//  ModelDescriber.swift
//  LedgerKit
//

import CoreData
import Foundation

/// Writes a model down as text, for reviews and for tests.
public struct ModelDescriber {
  private let model: NSManagedObjectModel

  public init(model: NSManagedObjectModel) {
    self.model = model
  }

  public var lines: [String] {
    return model.entities.sorted { ($0.name ?? "") < ($1.name ?? "") }.flatMap { describe($0) }
  }

  private func describe(_ entity: NSEntityDescription) -> [String] {
    var lines = ["entity \(entity.name ?? "?")\(entity.isAbstract ? " (abstract)" : "")"]
    if let parent = entity.superentity?.name {
      lines[0] += ": \(parent)"
    }
    for property in entity.properties.sorted(by: { $0.name < $1.name }) {
      switch property {
      case let derived as NSDerivedAttributeDescription:
        lines.append("  derived \(derived.name)")
      case let attribute as NSAttributeDescription:
        lines.append("  \(describe(attribute))")
      case let relationship as NSRelationshipDescription:
        lines.append("  \(describe(relationship))")
      case let fetched as NSFetchedPropertyDescription:
        lines.append("  fetched \(fetched.name)")
      default:
        lines.append("  ? \(property.name)")
      }
    }
    for index in entity.indexes.sorted(by: { $0.name < $1.name }) {
      lines.append("  \(describe(index))")
    }
    for constraint in entity.uniquenessConstraints {
      let names = constraint.map { ($0 as? String) ?? ($0 as? NSPropertyDescription)?.name ?? "?" }
      lines.append("  unique \(names.joined(separator: ","))")
    }
    return lines
  }

  private func describe(_ attribute: NSAttributeDescription) -> String {
    let optional = attribute.isOptional ? "?" : ""
    let transient = attribute.isTransient ? " transient" : ""
    return "\(attribute.name): \(ModelDescriber.name(of: attribute.attributeType))\(optional)\(transient)"
  }

  private func describe(_ relationship: NSRelationshipDescription) -> String {
    let destination = relationship.destinationEntity?.name ?? "?"
    let kind: String
    switch (relationship.isToMany, relationship.isOrdered) {
    case (false, _): kind = destination
    case (true, false): kind = "{\(destination)}"
    case (true, true): kind = "[\(destination)]"
    }
    return "\(relationship.name): \(kind) \(ModelDescriber.name(of: relationship.deleteRule))"
  }

  private func describe(_ index: NSFetchIndexDescription) -> String {
    let elements = index.elements.map { element -> String in
      let sign = element.isAscending ? "+" : "-"
      switch element.collationType {
      case .binary: return sign + (element.property?.name ?? "?")
      case .rTree: return sign + (element.property?.name ?? "?") + " spatial"
      @unknown default: return "?"
      }
    }
    let predicate = index.partialIndexPredicate.map { " where \($0.description)" } ?? ""
    return "index \(index.name) \(elements.joined(separator: " "))\(predicate)"
  }

  /// Exhaustive: the compiler says when there is a new one.
  public static func name(of type: NSAttributeType) -> String {
    switch type {
    case .undefinedAttributeType: return "undefined"
    case .integer16AttributeType: return "Int16"
    case .integer32AttributeType: return "Int32"
    case .integer64AttributeType: return "Int64"
    case .decimalAttributeType: return "Decimal"
    case .doubleAttributeType: return "Double"
    case .floatAttributeType: return "Float"
    case .stringAttributeType: return "String"
    case .booleanAttributeType: return "Bool"
    case .dateAttributeType: return "Date"
    case .binaryDataAttributeType: return "Data"
    case .UUIDAttributeType: return "UUID"
    case .URIAttributeType: return "URL"
    case .transformableAttributeType: return "transformable"
    case .objectIDAttributeType: return "objectID"
    case .compositeAttributeType: return "composite"
    @unknown default: return "unknown"
    }
  }

  public static func name(of rule: NSDeleteRule) -> String {
    switch rule {
    case .noActionDeleteRule: return "no action"
    case .nullifyDeleteRule: return "nullify"
    case .cascadeDeleteRule: return "cascade"
    case .denyDeleteRule: return "deny"
    @unknown default: return "unknown"
    }
  }

  public static func name(of type: NSFetchedResultsChangeType) -> String {
    switch type {
    case .insert: return "insert"
    case .delete: return "delete"
    case .move: return "move"
    case .update: return "update"
    @unknown default: return "unknown"
    }
  }

  public static func name(of type: NSManagedObjectContextConcurrencyType) -> String {
    switch type {
    case .confinementConcurrencyType: return "confinement"
    case .privateQueueConcurrencyType: return "private"
    case .mainQueueConcurrencyType: return "main"
    @unknown default: return "unknown"
    }
  }

  public static func name(of type: NSEntityMappingType) -> String {
    switch type {
    case .undefinedEntityMappingType: return "undefined"
    case .customEntityMappingType: return "custom"
    case .addEntityMappingType: return "add"
    case .removeEntityMappingType: return "remove"
    case .copyEntityMappingType: return "copy"
    case .transformEntityMappingType: return "transform"
    @unknown default: return "unknown"
    }
  }

  /// The differences of two models, by entity.
  public static func differences(_ old: NSManagedObjectModel, _ new: NSManagedObjectModel) -> [String] {
    let (before, after) = (old.entityVersionHashesByName, new.entityVersionHashesByName)
    var lines: [String] = []
    for name in Set(before.keys).union(after.keys).sorted() {
      switch (before[name], after[name]) {
      case (nil, _): lines.append("+ \(name)")
      case (_, nil): lines.append("- \(name)")
      case (let first?, let second?) where first != second: lines.append("~ \(name)")
      default: break
      }
    }
    return lines
  }
}
