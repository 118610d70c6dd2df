/// A value of a property in a snapshot.
public typealias DataStoreSnapshotValue = Codable & Sendable

/// The keys by which a snapshot encodes what it has.
public enum DataStoreSnapshotCodingKey: CodingKey, Hashable {
  /// The identifier.
  case persistentIdentifier
  /// The property of that name: a value, an identifier for a to-one relationship, an array of identifiers for a to-many one.
  case modeledProperty(String)

  private static let identifierName = "persistentIdentifier"

  public var stringValue: String {
    switch self {
    case .persistentIdentifier: Self.identifierName
    case .modeledProperty(let name): name
    }
  }

  public init?(stringValue: String) {
    self = stringValue == Self.identifierName ? .persistentIdentifier : .modeledProperty(stringValue)
  }

  public var intValue: Int? { nil }
  public init?(intValue: Int) { nil }
}

/// The values of one model, apart from any context.
///
/// A container learns the values of a snapshot that a store gives by having it encode itself: each property by a key whose text is the property's name, as
/// ``DataStoreSnapshotCodingKey`` has it. Models that a relationship leads to are given by their identifiers. What a snapshot does not encode is nil; of a to-many relationship
/// that it does not encode the members are those that refer to the model.
public protocol DataStoreSnapshot: Decodable, Encodable, Sendable {
  /// The model.
  var persistentIdentifier: PersistentIdentifier { get }

  /// The values that `backingData` has now.
  /// - Parameter relatedBackingDatas: Those of the other models of the same save, by identifier.
  init(
    from backingData: any BackingData,
    relatedBackingDatas: inout [PersistentIdentifier: any BackingData])

  /// The same values of a model with another identifier.
  /// - Parameter remappedIdentifiers: What the models that relationships lead to are called from now on; nil where nothing is.
  func copy(
    persistentIdentifier: PersistentIdentifier,
    remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier]?
  ) -> Self
}

extension DataStoreSnapshot {
  /// The same values of a model with another identifier.
  public func copy(persistentIdentifier: PersistentIdentifier) -> Self {
    copy(persistentIdentifier: persistentIdentifier, remappedIdentifiers: nil)
  }
}
