import StrataCore

/// The values of one model by the names of its properties.
///
/// As JSON or the like it is an object with the identifier and each property that is not nil. Decoding asks the container's schema for the types of the properties: first that of the
/// container whose store is being called, then that of whichever container with a store of the program's own has a class of that name.
public struct DefaultSnapshot: DataStoreSnapshot, @unchecked Sendable {
  // @unchecked Sendable: values of attributes, which nobody else has, and identifiers.

  /// The model.
  public let persistentIdentifier: PersistentIdentifier
  /// By name, without optionals around them: a value, bytes of a transformed one, a `PersistentIdentifier`, a `[PersistentIdentifier]`.
  let values: [String: Any]

  init(_ identifier: PersistentIdentifier, _ values: [String: Any]) {
    persistentIdentifier = identifier
    self.values = values
  }

  /// The values that `backingData` has now. It is that of a model in a context; of any other one there is only the identifier.
  public init(
    from backingData: any BackingData,
    relatedBackingDatas: inout [PersistentIdentifier: any BackingData]
  ) {
    guard let row = backingData as? ModelRow, let identifier = row.rowIdentifier else {
      guard let identifier = backingData.persistentModelID else {
        stop("a snapshot was made of backing data without an identifier")
      }
      self.init(identifier, [:])
      return
    }
    self.init(identifier, SnapshotValues.values(of: row))
  }

  /// The same values of a model with another identifier; of relationships, too, to models that `remappedIdentifiers` renames.
  public func copy(
    persistentIdentifier: PersistentIdentifier,
    remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier]? = nil
  ) -> DefaultSnapshot {
    guard let remappedIdentifiers, !remappedIdentifiers.isEmpty else {
      return DefaultSnapshot(persistentIdentifier, values)
    }
    return DefaultSnapshot(
      persistentIdentifier,
      values.mapValues { value in
        if let one = value as? PersistentIdentifier { return remappedIdentifiers[one] ?? one }
        if let many = value as? [PersistentIdentifier] { return many.map { remappedIdentifiers[$0] ?? $0 } }
        return value
      })
  }

  // MARK: Coding

  /// Writes the identifier and the values.
  /// - Throws: what the encoder and the values throw; `EncodingError` for a property that is called `persistentIdentifier`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: DataStoreSnapshotCodingKey.self)
    try container.encode(persistentIdentifier, forKey: .persistentIdentifier)
    func encode<Value: Encodable>(_ value: Value, _ key: DataStoreSnapshotCodingKey) throws {
      try container.encode(value, forKey: key)
    }
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      guard let key = DataStoreSnapshotCodingKey(stringValue: name), key != .persistentIdentifier,
        let value = value as? any Encodable
      else {
        throw EncodingError.invalidValue(
          value,
          .init(
            codingPath: encoder.codingPath,
            debugDescription:
              "\(persistentIdentifier.entityName).\(name) cannot be encoded by that name, or is not Codable"))
      }
      try encode(value, key)
    }
  }

  /// Reads what `encode(to:)` has written. Keys that are no properties of the model are left alone.
  /// - Throws: `DecodingError`, also where no container has a class of that name.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: DataStoreSnapshotCodingKey.self)
    let identifier = try container.decode(PersistentIdentifier.self, forKey: .persistentIdentifier)
    guard let type = DataStoreModels.type(of: identifier) else {
      throw DecodingError.dataCorruptedError(
        forKey: .persistentIdentifier, in: container,
        debugDescription:
          "no open container with a store of the program's own has a model \(identifier.entityName)")
    }
    var values: [String: Any] = [:]
    for property in ModelDescriptor.of(type).properties {
      let key = DataStoreSnapshotCodingKey.modeledProperty(property.name)
      guard container.contains(key), try !container.decodeNil(forKey: key) else { continue }
      switch property.kind {
      case .toOne: values[property.name] = try container.decode(PersistentIdentifier.self, forKey: key)
      case .toMany: values[property.name] = try container.decode([PersistentIdentifier].self, forKey: key)
      case .attribute(let storage):
        if case .transformable = storage.form {
          values[property.name] = try container.decode(Data.self, forKey: key)
        } else if let type = storage.valueType as? any Decodable.Type {
          values[property.name] = try container.decode(type, forKey: key)
        }
      }
    }
    self.init(identifier, values)
  }
}

/// The values of rows as snapshots have them.
enum SnapshotValues {
  /// All stored properties that are not nil.
  static func values(of row: ModelRow) -> [String: Any] {
    var values: [String: Any] = [:]
    for property in row.plan.properties {
      switch property.descriptor.kind {
      case .toOne: values[property.name] = row.relatedRow(property)?.rowIdentifier
      case .toMany: values[property.name] = row.memberRows(property).compactMap(\.rowIdentifier)
      case .attribute(let storage):
        if property.descriptor.attribute?.isTransient == true { continue }
        guard let value = AttributeStorage.flattened(property.codec.readAny(row, property)) else { continue }
        if case .transformable(let name) = storage.form {
          values[property.name] = transformed(value, name, property, row)
        } else {
          values[property.name] = value
        }
      }
    }
    return values
  }

  private static func transformed(
    _ value: Any, _ transformer: String, _ property: ModelProperty, _ row: ModelRow
  ) -> Data? {
    do { return try AttributeTransformers.transformer(forName: transformer)?.transform(value) } catch {
      report("\(type(of: row).modelType).\(property.name) cannot be transformed", error)
      return nil
    }
  }

  /// The values that a snapshot has, by name, without optionals.
  /// - Throws: what it throws when it encodes itself, and `EncodingError` when it does not encode key by key.
  static func values<Snapshot: DataStoreSnapshot>(in snapshot: Snapshot) throws -> [String: Any] {
    if let known = snapshot as? DefaultSnapshot { return known.values }
    let encoder = SnapshotEncoder()
    try snapshot.encode(to: encoder)
    if let failure = encoder.failure { throw failure }
    return encoder.values
  }
}
