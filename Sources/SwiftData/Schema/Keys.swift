extension Schema {
  /// What `#Unique` says: groups of properties, in all of which no two objects agree.
  public final class Unique<T: PersistentModel>: SchemaProperty, @unchecked Sendable {
    // @unchecked Sendable: key paths of models capture nothing; the rest is changed only by the code that makes it.

    public var name = "SwiftData.Schema.Unique"
    public var originalName = ""
    public var valueType: any Any.Type = T.self
    public var isAttribute: Bool { false }
    public var isRelationship: Bool { false }
    public var isUnique: Bool { true }
    /// The groups.
    public let constraints: [[PartialKeyPath<T>]]

    /// Each argument is one group.
    public init(_ constraints: [PartialKeyPath<T>]...) { self.constraints = constraints }

    public enum CodingKeys: CodingKey { case constraints }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      constraints = try KeyPathCoding.keyPaths(
        try container.decode([[String]].self, forKey: .constraints), decoder)
    }

    /// Properties are encoded by name.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(try KeyPathCoding.names(of: constraints, encoder), forKey: .constraints)
    }

    public static func == (lhs: Unique, rhs: Unique) -> Bool { lhs.constraints == rhs.constraints }
    public func hash(into hasher: inout Hasher) { hasher.combine(constraints) }
  }

  /// What `#Index` says: groups of properties that the store keeps indexes of.
  public final class Index<T: PersistentModel>: SchemaProperty, @unchecked Sendable {
    // @unchecked Sendable: see Unique.

    /// What kind of index the properties are kept in.
    public enum Types<P: PersistentModel> {
      /// A list in order.
      case binary([PartialKeyPath<P>])
      /// The dimensions of a space, numbers or dates: each is kept in order by itself.
      case rtree([PartialKeyPath<P>])
    }

    public var name = "SwiftData.Schema.Index"
    public var originalName = ""
    public var valueType: any Any.Type = T.self
    public var isAttribute: Bool { false }
    public var isRelationship: Bool { false }
    public var isUnique: Bool { false }
    /// The groups, those of spatial indexes last.
    public let indices: [[PartialKeyPath<T>]]
    let spatialIndices: [[PartialKeyPath<T>]]

    /// Each argument is one index.
    public init(_ indices: [PartialKeyPath<T>]...) {
      self.indices = indices
      spatialIndices = []
    }

    /// Each argument is one index.
    public init(_ indices: Types<T>...) {
      var ordered: [[PartialKeyPath<T>]] = []
      var spatial: [[PartialKeyPath<T>]] = []
      for index in indices {
        switch index {
        case .binary(let keyPaths): ordered.append(keyPaths)
        case .rtree(let keyPaths): spatial.append(keyPaths)
        }
      }
      self.indices = ordered + spatial
      spatialIndices = spatial
    }

    public enum CodingKeys: CodingKey { case indices, spatialIndices }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      indices = try KeyPathCoding.keyPaths(try container.decode([[String]].self, forKey: .indices), decoder)
      spatialIndices = try KeyPathCoding.keyPaths(
        try container.decode([[String]].self, forKey: .spatialIndices), decoder)
    }

    /// Properties are encoded by name.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(try KeyPathCoding.names(of: indices, encoder), forKey: .indices)
      try container.encode(try KeyPathCoding.names(of: spatialIndices, encoder), forKey: .spatialIndices)
    }

    public static func == (lhs: Index, rhs: Index) -> Bool {
      lhs.indices == rhs.indices && lhs.spatialIndices == rhs.spatialIndices
    }
    public func hash(into hasher: inout Hasher) { hasher.combine(indices) }
  }
}

/// Key paths of a model as names, and back.
private enum KeyPathCoding {
  static func names<T: PersistentModel>(of groups: [[PartialKeyPath<T>]], _ encoder: any Encoder) throws
    -> [[String]]
  {
    let descriptor = ModelDescriptor.of(T.self)
    return try groups.map { group in
      try group.map { keyPath in
        guard let name = descriptor.path(for: keyPath) else {
          throw EncodingError.invalidValue(
            keyPath,
            .init(
              codingPath: encoder.codingPath,
              debugDescription: "\(T.self) stores no property at this key path: \(keyPath)"))
        }
        return name
      }
    }
  }

  static func keyPaths<T: PersistentModel>(_ groups: [[String]], _ decoder: any Decoder) throws
    -> [[PartialKeyPath<T>]]
  {
    let descriptor = ModelDescriptor.of(T.self)
    return try groups.map { group in
      try group.map { name in
        guard let keyPath = descriptor.keyPath(at: name) as? PartialKeyPath<T> else {
          throw DecodingError.dataCorrupted(
            .init(
              codingPath: decoder.codingPath, debugDescription: "\(T.self) stores no property “\(name)”."))
        }
        return keyPath
      }
    }
  }
}
