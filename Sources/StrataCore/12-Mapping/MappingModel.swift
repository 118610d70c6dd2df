import Foundation

/// How a store of one model becomes a store of another, entity by entity. Core Data's `NSMappingModel`.
public final class MappingModel: NSObject, NSCopying {
  /// The mappings, in the order in which they are worked off.
  public var entityMappings: [EntityMapping]! = [] { didSet { isInferred = false } }
  /// Whether it was inferred, and no mapping was added or taken away since. When none of them was changed either, the rows can be carried over without
  /// making objects.
  package private(set) var isInferred = false

  /// A model without mappings.
  public override init() { super.init() }

  /// A model of these mappings.
  public init(entityMappings: [EntityMapping]) {
    super.init()
    self.entityMappings = entityMappings
  }

  /// The mappings by name.
  public var entityMappingsByName: [String: EntityMapping] {
    Dictionary((entityMappings ?? []).map { ($0.name ?? "", $0) }, uniquingKeysWith: { _, last in last })
  }

  /// A model of what the two models tell by themselves (rule 307): a start for one that says more.
  ///
  /// Abstract entities have no objects and get no mapping.
  /// Whether objects lack a value that they must have is found by the migration.
  /// - Throws: ``CoreDataError`` 134190 with the reasons when it cannot be inferred.
  @_disfavoredOverload public static func inferredMappingModel(
    forSourceModel sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel
  ) throws -> MappingModel {
    let pairing = ModelPairing(sourceModel, destinationModel)
    try InferredMappingModel.require(pairing)
    let inferred = InferredMappingModel(pairing)
    let (sources, destinations) = (sourceModel.entitiesByName, destinationModel.entitiesByName)
    let mappings = inferred.entities.compactMap { entity -> EntityMapping? in
      let source = entity.sourceName.flatMap { sources[$0] }
      let destination = entity.destinationName.flatMap { destinations[$0] }
      if destination?.isAbstract ?? source?.isAbstract ?? false { return nil }
      let mapping = EntityMapping(
        "IEM_\(entity.kind)_\(entity.destinationName ?? entity.sourceName ?? "")", from: source?.name,
        to: destination?.name, type: type(entity.kind))
      mapping.sourceEntityVersionHash = source?.versionHash
      mapping.destinationEntityVersionHash = destination?.versionHash
      mapping.attributeMappings = entity.attributes.compactMap { property in
        // Elements come along with the composite attribute that they are part of.
        guard let old = property.sourceName, destination?.attributesByName[property.name] != nil else {
          return nil
        }
        return PropertyMapping(property.name, from: old)
      }
      mapping.relationshipMappings = entity.relationships.compactMap { property in
        property.sourceName.map { PropertyMapping(property.name, fromRelationship: $0) }
      }
      return mapping
    }
    let model = MappingModel(entityMappings: mappings)
    model.isInferred = true
    return model
  }

  private static func type(_ kind: InferredMappingModel.Kind) -> EntityMappingType {
    switch kind {
    case .add: .add
    case .remove: .remove
    case .copy: .copy
    case .transform: .transform
    }
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? MappingModel else { return false }
    return self === other || entityMappings == other.entityMappings
  }

  public override var hash: Int { (entityMappings ?? []).hashValue }

  /// A copy with the same mappings.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = MappingModel(
      entityMappings: (entityMappings ?? []).compactMap { $0.copy() as? EntityMapping })
    copy.isInferred = isInferred
    return copy
  }
}
