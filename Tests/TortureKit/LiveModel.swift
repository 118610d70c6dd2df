import Foundation
@_spi(Testing) import StrataCore
import Strata

/// The store that one process writes to while another shows it.
public enum LiveModel {
  public static func make() -> ManagedObjectModel {
    let note = EntityDescription(
      "Note", managedObjectClass: Note.self,
      properties: [AttributeDescription("title", .string), AttributeDescription("count", .integer64)])
    let folder = EntityDescription(
      "Folder", managedObjectClass: Folder.self, properties: [AttributeDescription("name", .string)])
    let home = RelationshipDescription("folder", to: folder, maxCount: 1)
    let notes = RelationshipDescription("notes", to: note, maxCount: 0)
    home.inverseRelationship = notes
    notes.inverseRelationship = home
    note.properties.append(home)
    folder.properties.append(notes)
    return ManagedObjectModel(entities: [note, folder])
  }

  /// Opens the store at `url`, making it when there is none.
  public static func open(_ url: URL, _ change: (inout PersistentStoreDescription) -> Void = { _ in }) throws
    -> PersistentStoreCoordinator
  {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: make())
    var description = PersistentStoreDescription(url: url)
    description.durability = .none
    change(&description)
    try coordinator.addPersistentStore(description)
    return coordinator
  }

  /// Opens the store at `url` so that indexes are built in steps of so many rows.
  public static func open(_ url: URL, rowsPerIndexStep: Int) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: make())
    var options = LMDBStoreOptions()
    options.durability = .none
    options.rowsPerIndexStep = rowsPerIndexStep
    try coordinator.attach(
      LMDBStore(url: url, schema: coordinator.managedObjectModel.schema(), options: options))
    return coordinator
  }
}

public final class Note: ManagedObject {
  public override class var declaredSlots: [String]? { ["title", "count", "folder"] }
  public var title: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  public var count: Int64 {
    get { readInt64(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  public var folder: Folder? {
    get { readObject(slot: 2) }
    set { write(newValue, slot: 2) }
  }
}

public final class Folder: ManagedObject {
  public override class var declaredSlots: [String]? { ["name", "notes"] }
  public var name: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  public var notes: Set<Note> {
    get { readObjects(slot: 1) }
    set { write(newValue, slot: 1) }
  }
}
