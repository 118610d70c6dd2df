import Foundation

/// How the rows of one version of a model become rows of another, as far as the models tell by themselves (rule 307).
///
///     let mapping = try InferredMappingModel(from: old, to: new)
///     for entity in mapping.entities { print(entity) }
///
/// What can be inferred: entities and properties that come and go, or have another name (rule 308); attributes that become optional, or
/// mandatory with a default value; to-one relationships that become to-many; order that comes or goes; properties that move up or
/// down a hierarchy; entities that get another parent, but not so that two hierarchies become one.
///
/// A store is migrated, too, when an attribute without a default value is new and mandatory or becomes so, and none of its rows lacks a value.
/// Models alone do not tell that: such a change is refused here.
///
/// A value; making it costs a walk over both models and touches no store. The models stay changeable.
public struct InferredMappingModel: Sendable, Hashable {
  /// What happens to an entity.
  public enum Kind: Sendable, Hashable {
    /// It is new.
    case add
    /// It is gone, and its objects go with it.
    case remove
    /// It stays what it is.
    case copy
    /// Its objects change.
    case transform
  }

  /// What happens to one entity.
  public struct Entity: Sendable, Hashable {
    public let kind: Kind
    /// The name before; nil for a new one.
    public let sourceName: String?
    /// The name afterwards; nil for one that is gone.
    public let destinationName: String?
    /// The attributes afterwards, inherited ones too; elements of composite attributes by their key paths.
    public let attributes: [Property]
    /// The relationships afterwards, inherited ones too.
    public let relationships: [Property]
  }

  /// Where the values of one property come from.
  public struct Property: Sendable, Hashable {
    /// The name afterwards.
    public let name: String
    /// The name before; nil for a property that is new.
    public let sourceName: String?
  }

  /// The entities that stay, in the order of the later model, then the new ones, then those that go.
  public let entities: [Entity]

  /// Compares the models.
  ///
  /// - Throws: ``CoreDataError`` 134190 with all reasons, also one by one under ``reasonsKey`` of its user info, when the change cannot be
  ///   inferred.
  public init(from source: ManagedObjectModel, to destination: ManagedObjectModel) throws {
    let pairing = ModelPairing(source, destination)
    try Self.refuse(InferenceCheck(pairing).reasons())
    self.init(pairing)
  }

  init(_ pairing: ModelPairing) {
    func properties(_ pairs: [ModelPairing.PropertyPair]) -> [Property] {
      pairs.map { Property(name: $0.destination.name, sourceName: $0.source?.name) }
    }
    let kept = pairing.pairs.map { pair in
      let isSame =
        pair.source.name == pair.destination.name && pair.source.versionHash == pair.destination.versionHash
      return Entity(
        kind: isSame ? .copy : .transform, sourceName: pair.source.name,
        destinationName: pair.destination.name, attributes: properties(pair.attributes),
        relationships: properties(pair.relationships))
    }
    let added = pairing.added.map {
      Entity(kind: .add, sourceName: nil, destinationName: $0.name, attributes: [], relationships: [])
    }
    let removed = pairing.removed.map {
      Entity(kind: .remove, sourceName: $0.name, destinationName: nil, attributes: [], relationships: [])
    }
    entities = kept + added + removed
  }

  /// The key of the reasons, an array of strings, in the user info of error 134190.
  public static let reasonsKey = "NSMigrationReasons"

  /// What can be inferred as long as no row lacks a value that it must have, which `MissingValues` looks for, is let through.
  static func require(_ pairing: ModelPairing) throws {
    try refuse(InferenceCheck(pairing).reasonsBesidesRows())
  }

  private static func refuse(_ reasons: [String]) throws {
    if reasons.isEmpty { return }
    let text = reasons.joined(separator: "; ")
    let advice =
      reasons.contains { $0.contains(InferenceCheck.otherType) }
      ? " To keep the values of an attribute whose type changes, write a mapping model whose property mapping computes them, or give the new attribute another name and fill it in a custom stage."
      : ""
    throw CoreDataError(
      .inferredMappingModel,
      "How the store is to be migrated cannot be inferred from the models: \(text).\(advice)",
      userInfo: ["reason": text, reasonsKey: reasons])
  }
}

extension InferredMappingModel.Entity: CustomStringConvertible {
  public var description: String {
    switch kind {
    case .add: return "\(destinationName ?? "") is new"
    case .remove: return "\(sourceName ?? "") goes"
    case .copy: return "\(destinationName ?? "") stays"
    case .transform:
      let renamed = sourceName == destinationName ? "" : " (was \(sourceName ?? ""))"
      let parts = (attributes + relationships).compactMap { property -> String? in
        guard let old = property.sourceName else { return "\(property.name) is new" }
        return old == property.name ? nil : "\(property.name) was \(old)"
      }
      return
        "\(destinationName ?? "")\(renamed) changes\(parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))"
    }
  }
}
