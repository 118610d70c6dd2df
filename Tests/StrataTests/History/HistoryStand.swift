import Foundation
@_spi(Testing) import Strata

/// A store that records a history, with folders and notes; any number of coordinators on its file.
///
///     Folder ──notes──▶▶ Note, with Note.folder; notes keep title and place in tombstones
final class HistoryStand {
  let folder: TemporaryFolder
  let url: URL
  let coordinator: PersistentStoreCoordinator

  init(_ change: (inout PersistentStoreDescription) -> Void = { _ in }) throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("History.strata")
    coordinator = try Self.open(url, change)
  }

  deinit {
    for store in coordinator.persistentStores { try? coordinator.remove(store) }
    folder.remove()
  }

  var store: any PersistentStore { coordinator.persistentStores[0] }

  /// A stack of its own on a file: as another process would have it.
  static func open(
    _ url: URL?, recordsHistory: Bool = true, _ change: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model())
    var description = url.map { PersistentStoreDescription(url: $0) } ?? .inMemory
    description.recordsHistory = recordsHistory
    change(&description)
    try coordinator.addPersistentStore(description)
    return coordinator
  }

  static func model() -> ManagedObjectModel {
    let title = AttributeDescription("title", .string)
    title.preservesValueInHistoryOnDeletion = true
    let number = AttributeDescription("number", .integer64)
    number.preservesValueInHistoryOnDeletion = true
    let note = EntityDescription(
      "Note", properties: [title, number, AttributeDescription("text", .string)])
    let folder = EntityDescription("Folder", properties: [AttributeDescription("name", .string)])
    let home = RelationshipDescription("folder", to: folder, maxCount: 1)
    let notes = RelationshipDescription("notes", to: note, maxCount: 0)
    home.inverseRelationship = notes
    notes.inverseRelationship = home
    note.properties += [home]
    folder.properties += [notes]
    return ManagedObjectModel(entities: [folder, note])
  }

  func context(author: String? = nil, name: String? = nil) -> ManagedObjectContext {
    Self.context(coordinator, author: author, name: name)
  }

  static func context(
    _ coordinator: PersistentStoreCoordinator, author: String? = nil, name: String? = nil
  ) -> ManagedObjectContext {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    context.transactionAuthor = author
    context.name = name
    return context
  }

  /// Saves one new object.
  @discardableResult
  func make(_ entity: String, _ values: [String: Any], in context: ManagedObjectContext) throws
    -> ManagedObject
  {
    let object = ManagedObject(
      entity: context.persistentStoreCoordinator!.managedObjectModel.entitiesByName[entity]!,
      insertInto: context)
    for (key, value) in values { object.setValue(value, forKey: key) }
    try context.save()
    return object
  }

  /// All that is recorded after `token`.
  func transactions(
    after token: PersistentHistoryToken? = nil, _ change: (inout PersistentHistoryRequest) -> Void = { _ in }
  ) throws -> [PersistentHistoryTransaction] {
    var request = PersistentHistoryRequest.fetchHistory(after: token)
    change(&request)
    return try coordinator.history(request).transactions
  }

  /// What the changes of transactions say, in short: `insert Note p1`.
  static func words(_ transactions: [PersistentHistoryTransaction]) -> [[String]] {
    transactions.map { transaction in
      (transaction.changes ?? []).map { change in
        let id = change.changedObjectID
        let names = (change.updatedProperties ?? []).map(\.name).sorted().joined(separator: ",")
        return "\(change.changeType) \(id.entityName) \(id.uriRepresentation().lastPathComponent)"
          + (names.isEmpty ? "" : " \(names)")
      }
    }
  }
}
