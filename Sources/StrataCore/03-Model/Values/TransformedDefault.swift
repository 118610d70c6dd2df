import Foundation

// Default values of transformable attributes: objects in the description, bytes in new objects and in a store's copy of the model.

/// The bytes of a default value whose transformer is not registered, as in a model read from a store by a program that does not have it.
struct EncodedDefault: Sendable {
  let bytes: Data

  /// The value that the bytes stand for; the bytes where it is unknown.
  static func decoded(_ bytes: Data, by transformerName: String?) -> Any {
    let transformer = AttributeTransformers.transformer(forName: transformerName)
    return (try? transformer?.reverse(bytes)) ?? EncodedDefault(bytes: bytes)
  }
}

extension AttributeDescription {
  /// The default value of a transformable attribute as a store keeps it.
  ///
  /// - Throws: What its transformer throws, and when that is not registered.
  func encodedDefault() throws -> AttributeValue {
    guard let defaultValue, !isNilValue(defaultValue) else { return .null }
    if let encoded = defaultValue as? EncodedDefault { return .data(encoded.bytes) }
    guard let transformer else {
      throw UnregisteredTransformer(name: valueTransformerName ?? AttributeTransformers.secureName)
    }
    return .data(try transformer.transform(defaultValue))
  }
}

extension EntitySchema {
  /// What the attributes of a new object start with, by slot: ``defaults`` and, of transformable attributes, the bytes of theirs. The transformers
  /// must have been registered.
  ///
  /// - Throws: `CoreDataError` 134060 naming the attribute, when its transformer refuses the value.
  func storedDefaults() throws -> [AttributeValue] {
    guard hasTransformables else { return defaults }
    var result = defaults
    for attribute in attributes where attribute.type == .transformable && !attribute.isTransient {
      result[attribute.slot] = try storedDefault(slot: attribute.slot)
    }
    return result
  }

  /// The same of one attribute.
  func storedDefault(slot: Int) throws -> AttributeValue {
    let attribute = attributes[slot]
    guard attribute.type == .transformable, !attribute.isTransient,
      let description = entityDescription.slotDescriptions[slot].property as? AttributeDescription
    else { return attribute.defaultValue }
    do { return try description.encodedDefault() } catch {
      throw CoreDataError(
        .coreData,
        "The default value of \(name).\(attribute.name) cannot be stored: the transformer “\(description.valueTransformerName ?? AttributeTransformers.secureName)” refuses it: \(error)",
        userInfo: [CoreDataError.Key.validationKey: attribute.name])
    }
  }
}

extension ManagedObjectModel {
  /// Takes over default values that have no form in a document without their transformers.
  func takeTransformedDefaults(ofEntity name: String, from model: ManagedObjectModel) {
    guard let entity = entitiesByName[name], let source = model.entitiesByName[name] else { return }
    for (own, other) in zip(entity.slotDescriptions, source.slotDescriptions) {
      guard let own = own.property as? AttributeDescription, own.attributeType == .transformable else {
        continue
      }
      own.defaultValue = (other.property as? AttributeDescription)?.defaultValue
      own.declaredTransformer = (other.property as? AttributeDescription)?.declaredTransformer
    }
  }
}

/// A transformer that a default value needs is not registered.
struct UnregisteredTransformer: Error, CustomStringConvertible {
  let name: String
  var description: String { "the transformer “\(name)” is not registered" }
}
