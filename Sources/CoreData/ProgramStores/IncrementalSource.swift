import Foundation
import StrataCore

/// An incremental store as the engine asks it.
final class IncrementalSource: ProgramSource {
  // Unowned: the engine keeps both.
  private unowned let store: NSIncrementalStore
  private var registrations: [Registration] = []

  init(_ store: NSIncrementalStore) { self.store = store }

  func record(_ id: NSManagedObjectID, _ context: NSManagedObjectContext) throws -> ProgramRecord? {
    let node: NSIncrementalStoreNode
    do {
      node = try store.newValuesForObject(with: id, with: context)
    } catch let error where Self.saysGone(error) {
      return nil
    }
    register([id], context)
    let properties = context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[id.entityName]?
      .propertiesByName
    return ProgramRecord(version: node.version) { name in
      properties?[name].flatMap { node.value(for: $0) }
    }
  }

  /// Core Data's codes for a record that does not exist.
  private static func saysGone(_ error: any Error) -> Bool {
    if let error = error as? CoreDataError { return error.code == .managedObjectReferentialIntegrity }
    let error = error as NSError
    return error.domain == NSCocoaErrorDomain
      && error.code == CoreDataError.Code.managedObjectReferentialIntegrity.rawValue
  }

  func related(
    _ relationship: NSRelationshipDescription, _ id: NSManagedObjectID, _ context: NSManagedObjectContext
  ) throws -> Any {
    try store.newValue(forRelationship: relationship, forObjectWith: id, with: context)
  }

  /// Nobody but the store can know; no request asks it.
  func referrers(
    _ relationship: RelationshipSchema, to id: NSManagedObjectID, _ context: NSManagedObjectContext
  ) throws -> [NSManagedObjectID] { [] }

  func fetch(_ fetch: ProgramFetch, _ context: NSManagedObjectContext) throws -> FetchedRows {
    let (request, isWhole) = fetch.spelled
    request.affectedStores = [store]
    let answer = try store.execute(request, with: context)
    let found = answer as? [Any] ?? (answer as? NSArray).map { Array($0) } ?? [answer]
    if isWhole, fetch.mode == .count {
      if found.count == 1, let number = found[0] as? NSNumber { return fetch.counted(number.intValue) }
      if found.count == 1, let number = found[0] as? Int { return fetch.counted(number) }
    }
    let ids = try found.map { element in
      if let id = element as? NSManagedObjectID { return id }
      if let object = element as? NSManagedObject { return object.objectID }
      throw CoreDataError(
        .persistentStoreOperation,
        "\(type(of: store)) answers a fetch of \(request.entityName ?? "?") with \(type(of: element)), where objects or their IDs belong."
      )
    }
    if isWhole, fetch.mode == .count { return fetch.counted(ids.count) }
    if fetch.mode == .rows { register(ids, context) }
    return isWhole ? try fetch.named(ids) : try fetch.decide(ids)
  }

  func identifiers(for objects: [NSManagedObject]) throws -> [NSManagedObjectID] {
    try store.obtainPermanentIDs(for: objects)
  }

  func save(_ save: ProgramSave) throws {
    let request = NSSaveChangesRequest(
      inserted: Set(save.inserted), updated: Set(save.updated), deleted: Set(save.deleted),
      locked: Set(save.locked))
    request.affectedStores = [store]
    _ = try store.execute(request, with: save.context)
    register(save.inserted.map(\.objectID), save.context)
  }

  // MARK: Who uses what

  private final class Registration {
    weak var context: NSManagedObjectContext?
    var ids: Set<NSManagedObjectID> = []
    /// At how many IDs to look next which of them are still in use.
    var limit = 1_024

    init(_ context: NSManagedObjectContext) { self.context = context }
  }

  private func register(_ ids: [NSManagedObjectID], _ context: NSManagedObjectContext) {
    for registration in registrations where registration.context == nil {
      store.managedObjectContextDidUnregisterObjects(with: Array(registration.ids))
    }
    registrations.removeAll { $0.context == nil }
    let registration: Registration
    if let known = registrations.first(where: { $0.context === context }) {
      registration = known
    } else {
      registration = Registration(context)
      registrations.append(registration)
    }
    let new = ids.filter { registration.ids.insert($0).inserted }
    if !new.isEmpty { store.managedObjectContextDidRegisterObjects(with: new) }
    guard registration.ids.count > registration.limit else { return }
    let asked = Set(new)
    let unused = registration.ids.filter {
      !asked.contains($0) && context.registeredObject(for: $0) == nil
    }
    registration.ids.subtract(unused)
    registration.limit = max(1_024, registration.ids.count * 2)
    if !unused.isEmpty { store.managedObjectContextDidUnregisterObjects(with: Array(unused)) }
  }
}
