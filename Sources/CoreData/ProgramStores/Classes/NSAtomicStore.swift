import Foundation
import StrataCore

/// A store of the program's own that is read as a whole and written as a whole: a file in a format of its own.
///
/// Subclass it, register the class with `NSPersistentStoreCoordinator.registerStoreClass(_:forStoreType:)`, and add a store of that type. A subclass overrides
/// `loadMetadata()`, `load()` and `save()`; and, where what the methods here do is not enough, `newCacheNode(for:)` and `updateCacheNode(_:from:)`. Requests are
/// decided on the nodes in memory. Its methods are called one at a time, on the queue of the context that asks. When `save()` throws, the nodes become what
/// they were before.
open class NSAtomicStore: NSPersistentStore, @unchecked Sendable {
  // @unchecked Sendable: as its superclass says; the nodes are behind a lock.
  private let nodes = Mutex(Carried<[NSManagedObjectID: NSAtomicStoreCacheNode]>([:]))

  /// A store that is about to be opened at `url`. Coordinators call it; `loadMetadata()` and `load()` come next.
  public override init(
    persistentStoreCoordinator coordinator: NSPersistentStoreCoordinator?, configurationName: String?,
    at url: URL, options: [AnyHashable: Any]? = nil
  ) {
    super.init(
      persistentStoreCoordinator: coordinator, configurationName: configurationName, at: url, options: options
    )
  }

  // MARK: For subclasses

  /// Reads the store at `url` and adds a node for each record. Does nothing here: a store that is new.
  /// - Throws: why the store cannot be read; it is not opened then.
  open func load() throws {}

  /// Writes all nodes, and `metadata`, to `url`.
  /// - Throws: why they cannot be written; here, that it is not overridden.
  open func save() throws {
    throw CoreDataError(
      .persistentStoreOperation, "\(Swift.type(of: self)) is a store that does not override save().")
  }

  /// A node for a new object. This one has the object's values.
  open func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode {
    let node = NSAtomicStoreCacheNode(objectID: managedObject.objectID)
    updateCacheNode(node, from: managedObject)
    return node
  }

  /// Gives a node the values of an object that has changed. All nodes of new objects are there by then.
  open func updateCacheNode(_ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject) {
    for (name, property) in managedObject.entity.propertiesByName {
      switch property {
      case is NSFetchedPropertyDescription: continue
      case let relationship as NSRelationshipDescription where relationship.isTransient: continue
      case let relationship as NSRelationshipDescription:
        node.setValue(related(to: managedObject, relationship), forKey: name)
      case let attribute as NSAttributeDescription where !attribute.isTransient:
        node.setValue(managedObject.value(forKey: name), forKey: name)
      default: continue
      }
    }
  }

  private func related(to object: NSManagedObject, _ relationship: NSRelationshipDescription) -> Any? {
    let value = object.value(forKey: relationship.name)
    func node(_ object: Any) -> NSAtomicStoreCacheNode? {
      (object as? NSManagedObject).flatMap { cacheNode(for: $0.objectID) }
    }
    if !relationship.isToMany { return value.flatMap(node) }
    switch value {
    case let list as NSOrderedSet: return NSMutableOrderedSet(array: list.array.compactMap(node))
    case let list as [NSManagedObject]: return NSMutableOrderedSet(array: list.compactMap(node))
    case let set as NSSet: return NSMutableSet(array: set.allObjects.compactMap(node))
    case let set as Set<NSManagedObject>: return NSMutableSet(array: set.compactMap(node))
    default: return nil
    }
  }

  /// Called with the nodes of deleted objects, before they go.
  open func willRemoveCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {}

  /// What the store is to call the record of a new object: a string, a number, a UUID that no other record of the hierarchy has. This one makes a UUID.
  open func newReferenceObject(for managedObject: NSManagedObject) -> Any { UUID().uuidString }

  // MARK: Nodes

  /// All nodes.
  public final func cacheNodes() -> Set<NSAtomicStoreCacheNode> { Set(nodes.withLock { $0 }.value.values) }

  /// Adds nodes, in place of those that have the same IDs.
  public final func addCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {
    let new = Carried(cacheNodes)
    nodes.withLock { nodes in
      var all = nodes.value
      nodes = Carried([:])
      for node in new.value { all[node.objectID] = node }
      nodes = Carried(all)
    }
  }

  /// The node of a record; nil when there is none.
  public final func cacheNode(for objectID: NSManagedObjectID) -> NSAtomicStoreCacheNode? {
    nodes.withLock { Carried($0.value[objectID]) }.value
  }

  final func replaceNodes(_ new: [NSManagedObjectID: NSAtomicStoreCacheNode]) {
    let new = Carried(new)
    nodes.withLock { $0 = new }
  }

  // MARK: IDs

  /// The ID of the record that the store calls `data`. The ID's URI ends in it: `x-coredata://…/Entity/p<reference>`.
  public final func objectID(for entity: NSEntityDescription, withReferenceObject data: Any)
    -> NSManagedObjectID
  {
    openEngine("objectID(for:withReferenceObject:)").identifier(of: data, entity)
  }

  /// What the store calls the record with that ID. Traps for an object that has no reference yet, and for an ID of another store.
  public final func referenceObject(for objectID: NSManagedObjectID) -> Any {
    openEngine("referenceObject(for:)").reference(of: objectID)
  }
}
