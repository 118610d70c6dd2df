import StrataCore

extension PersistentIdentifier.Form {
  /// The form of a model that is named by its store, its class and its key as JSON in an array of one.
  ///
  /// A text such as `p1` in a store that is called by a UUID is a row of one of Strata's own stores. A store of the program's own that is called so, too, gets back the identifiers
  /// that it has given in the same form.
  static func of(_ store: String, _ entityName: String, key: String) -> Self {
    if key.hasPrefix("[\"p"), key.hasSuffix("\"]"), let number = UInt64(key.dropFirst(3).dropLast(2)),
      number < 1 << 48, key == "[\"p\(number)\"]", let uuid = UUID(uuidString: store),
      uuid.uuidString == store
    {
      return .named(store: uuid, entityName: entityName, key: number)
    }
    return .foreign(PersistentIdentifier.ForeignKey(store: store, entityName: entityName, key: key))
  }
}

extension PersistentIdentifier.ForeignKey {
  /// The key if it is a text.
  fileprivate var keyText: String? {
    guard key.hasPrefix("[\"") else { return nil }
    // The key was made of an array of texts. One of a file that has been damaged is no text.
    return (try? JSONDecoder().decode([String].self, from: Data(key.utf8)))?.first
  }
}

extension PersistentIdentifier: Codable {
  private enum CodingKeys: String, CodingKey {
    case implementation
    // Of the short form.
    case store, entity, key, temporary, foreignKey
  }

  private enum ImplementationKeys: String, CodingKey {
    case primaryKey, uriRepresentation, isTemporary, storeIdentifier, entityName
    /// The key of a model in a store of the program's own, where that is no text.
    case foreignKey
  }

  /// Writes what SwiftData writes on Apple's systems: an `implementation` with `primaryKey`, `uriRepresentation`, `isTemporary`, `storeIdentifier` and `entityName`.
  ///
  /// The primary key is the last part of the URI, and the URI that of the row's object ID.
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    // The bytes of equal attributes are equal, also when an earlier version has written some of them.
    if CodableBytes.isWriting(encoder) { return try encodeShort(to: encoder) }
    var outer = encoder.container(keyedBy: CodingKeys.self)
    var container = outer.nestedContainer(keyedBy: ImplementationKeys.self, forKey: .implementation)
    try container.encode(primaryKey, forKey: .primaryKey)
    try container.encode(uriRepresentation, forKey: .uriRepresentation)
    try container.encode(isTemporary, forKey: .isTemporary)
    try container.encodeIfPresent(storeIdentifier, forKey: .storeIdentifier)
    try container.encode(entityName, forKey: .entityName)
    if case .foreign(let key) = id.form, key.keyText == nil {
      try container.encode(key.key, forKey: .foreignKey)
    }
  }

  /// Writes store, entity and key: what attributes hold.
  private func encodeShort(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(entityName, forKey: .entity)
    try container.encodeIfPresent(storeIdentifier, forKey: .store)
    switch id.form {
    case .temporary(let number, _): try container.encode(number, forKey: .temporary)
    case .row(let row): try container.encode(row.recordKey, forKey: .key)
    case .named(_, _, let key): try container.encode(key, forKey: .key)
    case .foreign(let key): try container.encode(key.key, forKey: .foreignKey)
    }
  }

  /// The last part of the URI, unescaped.
  private var primaryKey: String {
    switch id.form {
    case .temporary(let number, _): "t\(number)"
    case .row(let row): "p\(row.recordKey)"
    case .named(_, _, let key): "p\(key)"
    case .foreign(let key): key.keyText ?? String(key.key.dropFirst().dropLast())
    }
  }

  private var uriRepresentation: URL {
    let text =
      switch id.form {
      case .row, .named: description
      case .temporary, .foreign:
        "x-swiftdata://"
          + [storeIdentifier ?? "", entityName, primaryKey].map { ManagedObjectID.escaped($0) }
          .joined(separator: "/")
      }
    // Escaped names, UUIDs and digits behind a scheme are a URL.
    return URL(string: text)!
  }

  /// Reads what SwiftData and `encode(to:)` write, and what Strata wrote before, whether or not the store is open. A temporary identifier means something in the process that wrote it only.
  ///
  /// Of the forms of a URI and a primary key the latter counts. The object ID of a row that was not saved yet is final already, and so is the identifier that is read from it.
  /// - Throws: `DecodingError` for anything else, and for a temporary identifier that another library has made.
  public init(from decoder: any Decoder) throws {
    let outer = try decoder.container(keyedBy: CodingKeys.self)
    guard outer.contains(.implementation) else {
      self.init(try Self.shortForm(outer))
      return
    }
    let container = try outer.nestedContainer(keyedBy: ImplementationKeys.self, forKey: .implementation)
    let entity = try container.decode(String.self, forKey: .entityName)
    let primaryKey = try container.decode(String.self, forKey: .primaryKey)
    let store = try container.decodeIfPresent(String.self, forKey: .storeIdentifier)
    let isTemporary = try container.decodeIfPresent(Bool.self, forKey: .isTemporary) ?? false
    if isTemporary, store == nil || !primaryKey.hasPrefix("p") {
      guard store == nil, primaryKey.hasPrefix("t"), let number = UInt64(primaryKey.dropFirst()) else {
        throw DecodingError.dataCorruptedError(
          forKey: .primaryKey, in: container,
          debugDescription: "“\(primaryKey)” is temporary, and was made by another library")
      }
      self.init(.temporary(number: number, entityName: entity))
      return
    }
    guard let store, !entity.isEmpty else {
      throw DecodingError.dataCorruptedError(
        forKey: .storeIdentifier, in: container,
        debugDescription: "“\(primaryKey)” is not temporary, and names no store or no model")
    }
    if let key = try container.decodeIfPresent(String.self, forKey: .foreignKey) {
      self.init(.of(store, entity, key: key))
    } else {
      self = try .identifier(for: store, entityName: entity, primaryKey: primaryKey)
    }
  }

  private static func shortForm(_ container: KeyedDecodingContainer<CodingKeys>) throws -> Form {
    let entity = try container.decode(String.self, forKey: .entity)
    if let number = try container.decodeIfPresent(UInt64.self, forKey: .temporary) {
      return .temporary(number: number, entityName: entity)
    }
    let store = try container.decode(String.self, forKey: .store)
    if let key = try container.decodeIfPresent(String.self, forKey: .foreignKey) {
      return .of(store, entity, key: key)
    }
    let key = try container.decode(UInt64.self, forKey: .key)
    guard let uuid = UUID(uuidString: store) else {
      throw DecodingError.dataCorruptedError(
        forKey: .store, in: container, debugDescription: "“\(store)” is no identifier of a store")
    }
    return .named(store: uuid, entityName: entity, key: key)
  }
}
