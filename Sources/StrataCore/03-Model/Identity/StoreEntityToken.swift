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
      registry[storeIdentifier, default: TokensOfStore()].token(
        storeIdentifier, entityName: entityName, entityNumber: entityNumber, rootName: rootName)
    }
  }

  /// A token of an entity in a store that has been asked for before, by names; nil when none has.
  static func known(storeIdentifier: UUID, entityName: String) -> StoreEntityToken? {
    registry.withLock { $0[storeIdentifier]?.tokens[entityName]?.first }
  }

  private struct TokensOfStore {
    /// By the names of their root entities.
    var hierarchies: [String: HierarchyToken] = [:]
    /// By the names of their entities. Rarely more than one: models number their entities, and may put them under other roots.
    var tokens: [String: [StoreEntityToken]] = [:]

    mutating func token(_ storeIdentifier: UUID, entityName: String, entityNumber: Int?, rootName: String)
      -> StoreEntityToken
    {
      let known = tokens[entityName]?.first {
        $0.entityNumber == entityNumber && $0.hierarchy.rootName == rootName
      }
      if let known { return known }
      let hierarchy =
        hierarchies[rootName] ?? HierarchyToken(storeIdentifier: storeIdentifier, rootName: rootName)
      hierarchies[rootName] = hierarchy
      let new = StoreEntityToken(entityName: entityName, entityNumber: entityNumber, hierarchy: hierarchy)
      tokens[entityName, default: []].append(new)
      return new
    }
  }

  /// By the UUIDs of the stores. Grows with each store that is made, in memory too: IDs are values that no reference is counted for, so a token may be in use for ever.
  private static let registry = Mutex<[UUID: TokensOfStore]>([:])
}
