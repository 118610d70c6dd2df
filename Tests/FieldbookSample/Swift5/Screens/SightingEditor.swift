import SwiftData

/// Edits one sighting, with undo, in a context of its own: what is cancelled was never in the main one.
@MainActor
final class SightingEditor {
  let context: ModelContext
  let sighting: Sighting
  let undoManager = UndoManager()

  enum Failure: Error, Equatable { case gone }

  init(_ identifier: PersistentIdentifier, in container: ModelContainer) throws {
    context = ModelContext(container)
    context.autosaveEnabled = false
    guard let found = try context.existing(Sighting.self, identifier) else { throw Failure.gone }
    sighting = found
    undoManager.groupsByEvent = false
    context.undoManager = undoManager
  }

  /// One step that undo takes back as a whole.
  func edit(_ name: String, _ change: (Sighting) -> Void) {
    undoManager.beginUndoGrouping()
    change(sighting)
    context.processPendingChanges()
    undoManager.setActionName(name)
    undoManager.endUndoGrouping()
  }

  func setNote(_ note: String) { edit("Note") { $0.note = note } }

  func setCount(_ count: Int) { edit("Count") { $0.count = max(1, count) } }

  func addTag(_ name: String) throws {
    let tag = try TagRepository(context).tag(named: name)
    edit("Add Tag") { sighting in
      if !sighting.tags.contains(tag) { sighting.tags.append(tag) }
    }
  }

  func removeTag(_ name: String) {
    edit("Remove Tag") { $0.tags.removeAll { $0.name == name } }
  }

  func addPhoto(_ data: Data, caption: String) {
    edit("Add Photo") { sighting in
      var photos = sighting.photos ?? []
      photos.append(Photo(imageData: data, caption: caption, takenAt: sighting.date))
      sighting.photos = photos
    }
  }

  var canUndo: Bool { undoManager.canUndo }
  var canRedo: Bool { undoManager.canRedo }
  func undo() { undoManager.undo() }
  func redo() { undoManager.redo() }

  var hasChanges: Bool { context.hasChanges }

  func save() throws { try context.save() }

  func cancel() { context.rollback() }
}
