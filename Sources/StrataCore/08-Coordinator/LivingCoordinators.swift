import Foundation
import Synchronization

/// The coordinators there are: for questions that Core Data answers without being told which coordinator is meant.
package enum LivingCoordinators {
  private struct Entry: @unchecked Sendable {
    // Safe: weak references may be loaded from any thread.
    weak var coordinator: PersistentStoreCoordinator?
  }

  private static let entries = Mutex<[Entry]>([])

  static func note(_ coordinator: PersistentStoreCoordinator) {
    entries.withLock { entries in
      entries.removeAll { $0.coordinator == nil }
      entries.append(Entry(coordinator: coordinator))
    }
  }

  /// The newest first.
  package static var all: [PersistentStoreCoordinator] {
    entries.withLock { $0.compactMap(\.coordinator) }.reversed()
  }

  /// The coordinator and the store with that UUID: of one of `preferred`, the first that has it, otherwise of the newest.
  package static func store(_ identifier: UUID, preferring preferred: [PersistentStoreCoordinator]) -> (
    coordinator: PersistentStoreCoordinator, store: any PersistentStore
  )? {
    for coordinator in preferred + all {
      if let store = coordinator.persistentStores.first(where: { $0.identifier == identifier }) {
        return (coordinator, store)
      }
    }
    return nil
  }

  /// The entity of that name in the newest model that has one.
  package static func entity(named name: String) -> EntityDescription? {
    all.lazy.compactMap { $0.managedObjectModel.entitiesByName[name] }.first
  }

  /// The one entity whose objects are of that class, in the newest model that has any. Where none or several are, that is said on standard error, and
  /// the answer is an entity of no model that has the class's name.
  static func entityInUse(of type: AnyClass) -> EntityDescription {
    let found = entities(of: type)
    if let entity = found.first, found.count == 1 { return entity }
    let words =
      found.isEmpty
      ? "no model in use has an entity of this class"
      : "the entities \(found.map { $0.name ?? "?" }.sorted().joined(separator: ", ")) have this class"
    Diagnostics.write("\(type).entity(): \(words).", .warning)
    let entity = EntityDescription()
    entity.name = "\(type)"
    // Not by name: Foundation has none for classes that are private, or in something else.
    entity.managedObjectClass = type
    return entity
  }

  /// The entities, of the newest model that has any, whose objects are of that class.
  package static func entities(of type: AnyClass) -> [EntityDescription] {
    for coordinator in all {
      let found = coordinator.entities(of: type)
      if !found.isEmpty { return found }
    }
    return []
  }
}
