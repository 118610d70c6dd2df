import Foundation

extension ManagedObjectContext {
  /// The names, joined by dots, of the stored properties that a Swift key path reads from objects of an entity: `\Flight.plane?.code` is
  /// `plane.code`. It is followed on an object that belongs to no context; see `ProbeRecording`.
  ///
  /// - Throws: ``PredicateTranslationError`` for a key path that reads no stored property, several that do not lead to each other, or
  ///   computes something of what it reads.
  package func name(of keyPath: AnyKeyPath, fromEntity name: String) throws -> String {
    guard let entity = schema.entity(named: name) else {
      throw FetchError(reason: .unknownEntity, entityName: name, key: nil)
    }
    return try KeyPathNames.name(of: keyPath, from: entity, schema)
  }

  /// The name of the one entity of the model that has a class.
  ///
  /// - Throws: `CoreDataError` 134060 when it is the class of none or of several.
  package func nameOfEntity(ofClass type: ManagedObject.Type) throws -> String { try entityName(of: type) }
}

enum KeyPathNames {
  static func name(of keyPath: AnyKeyPath, from entity: EntitySchema, _ schema: Schema) throws -> String {
    func fault(_ reason: String) -> PredicateTranslationError {
      PredicateTranslationError(
        expression: "key path from \(type(of: keyPath).rootType) to \(type(of: keyPath).valueType)",
        reason: reason)
    }
    var rounds: [[ProbeRecording.Read]] = []
    for isSecondRound in [false, true] {
      let recording = ProbeRecording(schema, isSecondRound: isSecondRound)
      let probe: Any = ManagedObject.probe(entity)
      let result = ProbeRecording.$current.withValue(recording) { probe[keyPath: keyPath] }
      guard let result else { throw fault("the entity \(entity.name) has objects of another class") }
      if let last = recording.reads.last, !recording.opaque.contains(last) {
        let attribute = schema.entities[last.entity].attributes[last.slot]
        let given = ProbeRecording.value(attribute.type, isSecondRound: isSecondRound)
        if !given.isNull, AttributeValue(result, type: attribute.type) != given {
          throw fault("it computes something of \(attribute.name)")
        }
      }
      rounds.append(recording.reads)
    }
    guard let reads = rounds.first, !reads.isEmpty, reads == rounds[1] else {
      throw fault("it reads no stored property, or several")
    }
    var names: [String] = []
    var current = entity
    for (place, read) in reads.enumerated() {
      guard read.entity == current.number else { throw fault("it reads several stored properties") }
      names.append(current.attributes[read.slot].name)
      if place == reads.count - 1 { break }
      guard let relationship = current.relationship(slot: read.slot) else {
        throw fault("it reads several stored properties")
      }
      current = schema.entities[relationship.destination]
    }
    return names.joined(separator: ".")
  }
}
