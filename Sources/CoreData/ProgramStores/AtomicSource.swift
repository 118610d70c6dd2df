import Foundation
import StrataCore

/// An atomic store as the engine asks it.
final class AtomicSource: ProgramSource {
  // Unowned: the engine keeps both.
  private unowned let store: NSAtomicStore
  private var engine: ProgramEngine { store.openEngine("a request") }

  init(_ store: NSAtomicStore) { self.store = store }

  func record(_ id: NSManagedObjectID, _ context: NSManagedObjectContext) throws -> ProgramRecord? {
    guard let node = store.cacheNode(for: id) else { return nil }
    // Nobody but contexts changes nodes: their saves count the versions.
    return ProgramRecord(version: 0) { name in
      let value = node.value(forKey: name)
      guard let other = value as? NSAtomicStoreCacheNode else { return value }
      return self.present(other.objectID) ?? NSNull()
    }
  }

  /// The ID of a record that is there.
  private func present(_ id: NSManagedObjectID) -> NSManagedObjectID? {
    store.cacheNode(for: id) == nil ? nil : id
  }

  /// The IDs in a value of a relationship, of those that are there.
  private func identifiers(_ value: Any?) -> [NSManagedObjectID] {
    relatedParts(of: value).compactMap {
      ($0 as? NSAtomicStoreCacheNode)?.objectID ?? $0 as? NSManagedObjectID
    }
    .compactMap(present)
  }

  func related(
    _ relationship: NSRelationshipDescription, _ id: NSManagedObjectID, _ context: NSManagedObjectContext
  ) throws -> Any {
    guard let node = store.cacheNode(for: id) else { return NSNull() }
    if let value = node.value(forKey: relationship.name) { return identifiers(value) }
    // The other end may say it.
    guard let inverse = relationship.inverseRelationship, let destination = relationship.destinationEntity
    else { return [NSManagedObjectID]() }
    return nodes(of: destination.name ?? "").filter {
      identifiers($0.value(forKey: inverse.name)).contains(id)
    }.map(\.objectID)
  }

  /// The nodes of an entity and its subentities, by key.
  private func nodes(of entityName: String) -> [NSAtomicStoreCacheNode] {
    guard let entity = engine.schema.entity(named: entityName) else { return [] }
    let names = Set(entity.subtree.map { engine.schema.entities[$0].name })
    return store.cacheNodes().filter { names.contains($0.objectID.entityName) }.sorted {
      $0.objectID.recordKey < $1.objectID.recordKey
    }
  }

  func referrers(
    _ relationship: RelationshipSchema, to id: NSManagedObjectID, _ context: NSManagedObjectContext
  ) throws -> [NSManagedObjectID] {
    nodes(of: engine.schema.entities[relationship.owner].name).filter {
      identifiers($0.value(forKey: relationship.name)).contains(id)
    }.map(\.objectID)
  }

  func fetch(_ fetch: ProgramFetch, _ context: NSManagedObjectContext) throws -> FetchedRows {
    try fetch.decide(nodes(of: fetch.request.entity.name).map(\.objectID))
  }

  func identifiers(for objects: [NSManagedObject]) throws -> [NSManagedObjectID] {
    objects.map { object in
      engine.identifier(
        of: store.newReferenceObject(for: object), object.entity, NSIncrementalStore.claims)
    }
  }

  func save(_ save: ProgramSave) throws {
    let before = Dictionary(
      uniqueKeysWithValues: store.cacheNodes().map { ($0.objectID, ($0, Self.copy($0.propertyCache))) })
    do {
      try write(save)
    } catch {
      for (node, values) in before.values { node.propertyCache = values }
      store.replaceNodes(before.mapValues(\.0))
      throw error
    }
  }

  private func write(_ save: ProgramSave) throws {
    var new: [(node: NSAtomicStoreCacheNode, object: NSManagedObject)] = []
    for object in save.inserted {
      let node = store.newCacheNode(for: object)
      guard node.objectID == object.objectID else {
        throw CoreDataError(
          .persistentStoreSave,
          "\(type(of: store)) made a node for \(node.objectID) of the object \(object.objectID).")
      }
      new.append((node, object))
    }
    store.addCacheNodes(Set(new.map(\.node)))
    // Once more, now that what they refer to is there.
    for (node, object) in new { store.updateCacheNode(node, from: object) }
    for object in save.updated {
      guard let node = store.cacheNode(for: object.objectID) else {
        throw CoreDataError(
          .managedObjectReferentialIntegrity, "There is no record \(object.objectID) in the store any more.")
      }
      store.updateCacheNode(node, from: object)
    }
    let gone = save.deleted.compactMap { store.cacheNode(for: $0.objectID) }
    if !gone.isEmpty {
      store.willRemoveCacheNodes(Set(gone))
      let ids = Set(gone.map(\.objectID))
      let left = store.cacheNodes().filter { !ids.contains($0.objectID) }
      store.replaceNodes(Dictionary(uniqueKeysWithValues: left.map { ($0.objectID, $0) }))
      forget(ids, in: left)
    }
    try store.save()
  }

  /// Takes records that have gone out of the relationships of others.
  private func forget(_ ids: Set<NSManagedObjectID>, in nodes: Set<NSAtomicStoreCacheNode>) {
    func isGone(_ part: Any) -> Bool {
      ((part as? NSAtomicStoreCacheNode)?.objectID ?? part as? NSManagedObjectID).map(ids.contains) ?? false
    }
    for node in nodes {
      for case let (name as String, value) in node.propertyCache ?? [:] {
        switch value {
        case let list as NSOrderedSet where list.array.contains(where: isGone):
          node.setValue(NSMutableOrderedSet(array: list.array.filter { !isGone($0) }), forKey: name)
        case let set as NSSet where set.allObjects.contains(where: isGone):
          node.setValue(NSMutableSet(array: set.allObjects.filter { !isGone($0) }), forKey: name)
        case let one where isGone(one): node.setValue(nil, forKey: name)
        default: continue
        }
      }
    }
  }

  /// A copy whose collections may be changed without changing the original's.
  private static func copy(_ values: NSMutableDictionary?) -> NSMutableDictionary? {
    guard let values else { return nil }
    let copy = NSMutableDictionary()
    for case let (name as String, value) in values {
      switch value {
      case let list as NSOrderedSet: copy[name] = NSMutableOrderedSet(array: list.array)
      case let set as NSSet: copy[name] = NSMutableSet(array: set.allObjects)
      default: copy[name] = value
      }
    }
    return copy
  }
}
