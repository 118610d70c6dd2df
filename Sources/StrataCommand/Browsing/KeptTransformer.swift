import Foundation
import StrataCore

/// Stands for a transformer that only another program has: the bytes of its values stay as they are.
struct KeptTransformer: AttributeTransformer {
  /// A value of which nothing but its bytes is known.
  struct Kept: Sendable, CustomStringConvertible {
    let bytes: Data
    var description: String { "\(bytes.count) bytes" }
  }

  func reverse(_ data: Data) throws -> Any { Kept(bytes: data) }

  func transform(_ value: Any) throws -> Data {
    guard let kept = value as? Kept else {
      throw Failure(.model, "Only the program that has the transformer can make values for it.")
    }
    return kept.bytes
  }

  /// Registers it under the names of a model that nothing is registered under: a store with such attributes cannot be opened otherwise.
  static func register(for model: ManagedObjectModel) {
    for entity in model.entities { register(for: entity.attributesByName.values) }
  }

  private static func register(for attributes: some Sequence<AttributeDescription>) {
    for attribute in attributes {
      if let composite = attribute as? CompositeAttributeDescription { register(for: composite.elements) }
      guard let name = attribute.valueTransformerName,
        AttributeTransformers.transformer(forName: name) == nil
      else { continue }
      AttributeTransformers.set(KeptTransformer(), forName: name)
    }
  }

  /// Why the page does not edit an attribute; nil for one that is no transformable.
  static func reason(_ attribute: AttributeDescription?) -> String? {
    guard let attribute, attribute.attributeType == .transformable else { return nil }
    let name = attribute.valueTransformerName
    let transformer = AttributeTransformers.transformer(forName: name)
    if let name, transformer == nil || transformer is KeptTransformer {
      return
        "It stays as it is: only the program that has the transformer “\(name)” knows what these bytes are."
    }
    return "It stays as it is: what it holds is made by the program’s own code."
  }
}

extension Schema {
  /// The description of an attribute; nil for an element of a composite.
  func attribute(_ name: String, of entity: EntitySchema) -> AttributeDescription? {
    model.entitiesByName[entity.name]?.attributesByName[name]
  }
}
