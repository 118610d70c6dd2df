import Foundation
import Synchronization

/// One hierarchy of one store: what equal IDs have in common.
///
/// Uniqued in the process and immortal, so identity is equality and references need not be counted.
@usableFromInline final class HierarchyToken: Sendable {
  /// The store's UUID.
  let storeIdentifier: UUID
  /// The name of the hierarchy's root entity.
  let rootName: String

  fileprivate init(storeIdentifier: UUID, rootName: String) {
    self.storeIdentifier = storeIdentifier
    self.rootName = rootName
  }
}

/// One entity of one store, as IDs refer to it.
///
/// Uniqued in the process and immortal: a few words per store and entity. Ask for it once per store and entity,
/// not once per object: `token(…)` takes a lock.
@usableFromInline final class StoreEntityToken: Sendable {
  /// The entity's name.
  let entityName: String
  /// The entity's number in the schema that asked for the token; nil when it was unknown.
  let entityNumber: Int?
  /// The hierarchy the entity belongs to.
  @usableFromInline let hierarchy: HierarchyToken

  private init(entityName: String, entityNumber: Int?, hierarchy: HierarchyToken) {
    self.entityName = entityName
    self.entityNumber = entityNumber
    self.hierarchy = hierarchy
  }

  /// The token of a schema's entity in a store.
  static func token(storeIdentifier: UUID, entity: EntitySchema, in schema: Schema) -> StoreEntityToken {
    token(
      storeIdentifier: storeIdentifier, entityName: entity.name, entityNumber: entity.number,
      rootName: schema.hierarchies[entity.hierarchyNumber].rootName)
  }

  /// The token of an entity in a store, by names.
  static func token(
    storeIdentifier: UUID, entityName: String, entityNumber: Int?, rootName: String
  ) -> StoreEntityToken {
    registry.withLock { registry in
      let hierarchyKey = HierarchyKey(storeIdentifier: storeIdentifier, rootName: rootName)
      let key = Key(hierarchy: hierarchyKey, entityName: entityName, entityNumber: entityNumber)
      if let token = registry.tokens[key] { return token }
      let hierarchy =
        registry.hierarchies[hierarchyKey]
        ?? HierarchyToken(storeIdentifier: storeIdentifier, rootName: rootName)
      let token = StoreEntityToken(entityName: entityName, entityNumber: entityNumber, hierarchy: hierarchy)
      registry.hierarchies[hierarchyKey] = hierarchy
      registry.tokens[key] = token
      return token
    }
  }

  /// A token of an entity in a store that has been asked for before, by names; nil when none has.
  static func known(storeIdentifier: UUID, entityName: String) -> StoreEntityToken? {
    registry.withLock { registry in
      registry.tokens.values.first {
        $0.entityName == entityName && $0.hierarchy.storeIdentifier == storeIdentifier
      }
    }
  }

  private struct HierarchyKey: Hashable {
    let storeIdentifier: UUID
    let rootName: String
  }

  private struct Key: Hashable {
    let hierarchy: HierarchyKey
    let entityName: String
    let entityNumber: Int?
  }

  private struct Registry {
    var hierarchies: [HierarchyKey: HierarchyToken] = [:]
    var tokens: [Key: StoreEntityToken] = [:]
  }

  private static let registry = Mutex(Registry())
}
