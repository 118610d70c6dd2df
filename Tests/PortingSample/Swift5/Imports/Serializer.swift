//
//  Serializer.swift
//  LedgerKit
//

import CoreData
import Foundation

public enum SerializationError: Error, Equatable {
  case unknownEntity(String)
  case invalidValue(key: String)
  case unsupportedType(String)
}

/// Makes dictionaries of objects, and objects of dictionaries, by what the model says.
public struct Serializer {
  public var dateFormat: DateFormatter
  public var includesRelationships: Bool

  public init(includesRelationships: Bool = false) {
    self.includesRelationships = includesRelationships
    dateFormat = DateFormatter()
    dateFormat.locale = Locale(identifier: "en_US_POSIX")
    dateFormat.timeZone = TimeZone(secondsFromGMT: 0)
    dateFormat.dateFormat = "yyyy-MM-dd'T'HH:mm:ss'Z'"
  }

  // MARK: Objects to dictionaries

  public func dictionary(of object: NSManagedObject) throws -> [String: Any] {
    var result: [String: Any] = ["entity": object.entity.name ?? ""]
    for (name, attribute) in object.entity.attributesByName where !attribute.isTransient {
      guard let value = object.value(forKey: name) else { continue }
      result[name] = try plain(value, attribute)
    }
    if includesRelationships {
      for (name, relationship) in object.entity.relationshipsByName {
        result[name] = identifiers(of: object, relationship)
      }
    }
    return result
  }

  private func plain(_ value: Any, _ attribute: NSAttributeDescription) throws -> Any {
    switch attribute.attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
      return (value as? NSNumber)?.int64Value ?? 0
    case .decimalAttributeType:
      return (value as? NSDecimalNumber)?.stringValue ?? "0"
    case .doubleAttributeType, .floatAttributeType:
      return (value as? NSNumber)?.doubleValue ?? 0
    case .stringAttributeType:
      return value as? String ?? ""
    case .booleanAttributeType:
      return (value as? NSNumber)?.boolValue ?? false
    case .dateAttributeType:
      guard let date = value as? Date else { throw SerializationError.invalidValue(key: attribute.name) }
      return dateFormat.string(from: date)
    case .binaryDataAttributeType:
      return (value as? Data)?.base64EncodedString() ?? ""
    case .UUIDAttributeType:
      return (value as? UUID)?.uuidString ?? ""
    case .URIAttributeType:
      return (value as? URL)?.absoluteString ?? ""
    case .transformableAttributeType, .objectIDAttributeType, .compositeAttributeType, .undefinedAttributeType:
      throw SerializationError.unsupportedType(attribute.name)
    @unknown default:
      throw SerializationError.unsupportedType(attribute.name)
    }
  }

  private func identifiers(of object: NSManagedObject, _ relationship: NSRelationshipDescription) -> Any {
    func uri(_ object: Any) -> String? {
      return (object as? NSManagedObject)?.objectID.uriRepresentation().absoluteString
    }
    guard relationship.isToMany else {
      return object.value(forKey: relationship.name).flatMap(uri) ?? NSNull()
    }
    if relationship.isOrdered {
      return object.mutableOrderedSetValue(forKey: relationship.name).compactMap(uri)
    }
    return object.mutableSetValue(forKey: relationship.name).compactMap(uri).sorted()
  }

  // MARK: Dictionaries to objects

  @discardableResult
  public func insert(_ dictionary: [String: Any], into context: NSManagedObjectContext) throws -> NSManagedObject {
    let name = dictionary["entity"] as? String ?? ""
    guard let entity = NSEntityDescription.entity(forEntityName: name, in: context) else {
      throw SerializationError.unknownEntity(name)
    }
    let object = NSEntityDescription.insertNewObject(forEntityName: name, into: context)
    for (name, attribute) in entity.attributesByName where !attribute.isTransient {
      guard let value = dictionary[name] else { continue }
      object.setValue(try model(value, attribute), forKey: name)
    }
    return object
  }

  private func model(_ value: Any, _ attribute: NSAttributeDescription) throws -> Any? {
    if value is NSNull { return nil }
    switch attribute.attributeType {
    case .dateAttributeType:
      guard let text = value as? String, let date = dateFormat.date(from: text) else {
        throw SerializationError.invalidValue(key: attribute.name)
      }
      return date
    case .decimalAttributeType:
      guard let text = value as? String else { throw SerializationError.invalidValue(key: attribute.name) }
      return NSDecimalNumber(string: text)
    case .binaryDataAttributeType:
      guard let text = value as? String, let data = Data(base64Encoded: text) else {
        throw SerializationError.invalidValue(key: attribute.name)
      }
      return data
    case .UUIDAttributeType:
      return (value as? String).flatMap(UUID.init(uuidString:))
    case .URIAttributeType:
      return (value as? String).flatMap(URL.init(string:))
    default:
      return value
    }
  }
}

/// Copies an object with all that belongs to it.
public final class DeepCopier {
  private var copies: [NSManagedObjectID: NSManagedObject] = [:]
  private let context: NSManagedObjectContext
  private let excluded: Set<String>

  public init(into context: NSManagedObjectContext, excluding keys: Set<String> = []) {
    self.context = context
    excluded = keys
  }

  public func copy(_ object: NSManagedObject) -> NSManagedObject {
    if let known = copies[object.objectID] { return known }
    let entity = object.entity
    let copy = NSEntityDescription.insertNewObject(forEntityName: entity.name!, into: context)
    copies[object.objectID] = copy
    for key in entity.attributesByName.keys where !excluded.contains(key) {
      copy.setValue(object.value(forKey: key), forKey: key)
    }
    for (key, relationship) in entity.relationshipsByName where !excluded.contains(key) {
      guard entity.cascadingKeys.contains(key) else {
        if !relationship.isToMany {
          let target = object.value(forKey: key) as? NSManagedObject
          copy.setValue(target.map { context.object(with: $0.objectID) }, forKey: key)
        }
        continue
      }
      if relationship.isToMany, relationship.isOrdered {
        let members = object.mutableOrderedSetValue(forKey: key).array as? [NSManagedObject] ?? []
        copy.mutableOrderedSetValue(forKey: key).addObjects(from: members.map { self.copy($0) })
      } else if relationship.isToMany {
        let members = object.mutableSetValue(forKey: key).allObjects as? [NSManagedObject] ?? []
        copy.mutableSetValue(forKey: key).addObjects(from: members.map { self.copy($0) })
      } else if let member = object.value(forKey: key) as? NSManagedObject {
        copy.setValue(self.copy(member), forKey: key)
      }
    }
    return copy
  }
}
