import StrataCore

/// Where the slots of an entity's rows come from in snapshots.
struct SnapshotPlan {
  private enum Source {
    case none
    case attribute(String, AttributeStorage)
    /// An element of a composite value: the property and the way within it.
    case element(String, [String], AttributeStorage)
    case toOne(String)
  }
  private let sources: [Source]
  let entity: EntitySchema

  init(_ entity: EntitySchema, _ descriptor: ModelDescriptor) {
    self.entity = entity
    sources = entity.attributes.map { attribute in
      if attribute.isTransient { return .none }
      if attribute.relationship != nil { return .toOne(attribute.name) }
      let path = attribute.name.split(separator: ".").map(String.init)
      let name = attribute.composite == nil ? attribute.name : path[0]
      guard case .attribute(let storage)? = descriptor.property(named: name)?.kind else { return .none }
      return attribute.composite == nil
        ? .attribute(name, storage) : .element(name, Array(path.dropFirst()), storage)
    }
  }

  /// What a row holds in each slot for the values of a snapshot.
  ///
  /// - Parameter reference: The reference to a model that a relationship leads to; nil where it leads to none.
  /// - Throws: `CoreDataError` 1550 for a value that the property cannot have; what encoding and `reference` throw.
  func values(
    of content: SnapshotContent, reference: (_ name: String, PersistentIdentifier) throws -> UInt64?
  ) throws -> [AttributeValue] {
    var composites: [String: [String: Any]] = [:]
    return try sources.enumerated().map { slot, source in
      switch source {
      case .none: return .null
      case .toOne(let name):
        guard let value = content.values[name] else { return .null }
        guard let identifier = value as? PersistentIdentifier else { throw refusal(name, value) }
        return try reference(name, identifier).map { .reference($0) } ?? .null
      case .attribute(let name, let storage):
        guard let value = content.values[name] else { return .null }
        return try stored(value, storage, name, slot)
      case .element(let name, let path, let storage):
        guard let whole = content.values[name] else { return .null }
        if composites[name] == nil {
          do { composites[name] = try storage.elements(whole) ?? [:] } catch is UnsuitableValue {
            throw refusal(name, whole)
          }
        }
        var value: Any? = composites[name]
        for step in path { value = (value as? [String: Any])?[step] }
        return try entity.storedValue(value, slot: slot)
      }
    }
  }

  private func stored(_ value: Any, _ storage: AttributeStorage, _ name: String, _ slot: Int) throws
    -> AttributeValue
  {
    if case .transformable = storage.form {
      // Snapshots of ours have the bytes, those of others perhaps the value.
      if let bytes = value as? Data { return .data(bytes) }
      return try entity.storedValue(value, slot: slot)
    }
    do { return try storage.stored(value) } catch is UnsuitableValue {
      // The raw value of an enum, or a number of another width.
      if case .scalar(let type) = storage.form, let plain = AttributeValue(value, type: type) { return plain }
      throw refusal(name, value)
    }
  }

  private func refusal(_ name: String, _ value: Any) -> CoreDataError {
    CoreDataError(
      .managedObjectValidation,
      "The store has a snapshot with \(type(of: value)) \(value) for \(entity.name).\(name), which has values of another type.",
      userInfo: [CoreDataError.Key.validationKey: name])
  }
}
