import CoreData

/// A context of the stack, and what the reference says of it: the records it has edited and not saved, as they are there.
final class Place {
  let name: String
  let context: NSManagedObjectContext
  let parent: Place?
  /// Records as they are here; nil for those that are deleted here. All others are as they are below.
  var layer: [Int: PlainRecord?] = [:] {
    didSet { everTouched = layer.isEmpty ? everTouched : everTouched.union(layer.keys) }
  }
  /// Records that were edited since the last save, even if that was taken back: they may count as updated.
  var everTouched: Set<Int> = []
  /// Something below has changed since the context last looked: what it has realized may be older.
  var isBehind = false
  /// Saves of others that have not been merged, when nothing else has changed below.
  var unheard: [Notification]? = []
  /// Objects that the program holds.
  var held: [Int: NSManagedObject] = [:]
  /// Objects may have been deleted here because they are gone below: then there are changes that no step made.
  var mayHaveMissing = false
  /// The layer when the event began.
  var atStart: [Int: PlainRecord?] = [:]
  /// What the layer was before each group that can be undone, and after each that can be redone.
  var undoable: [[Int: PlainRecord?]] = []
  var redoable: [[Int: PlainRecord?]] = []

  init(_ name: String, _ context: NSManagedObjectContext, parent: Place?) {
    self.name = name
    self.context = context
    self.parent = parent
  }

  var undoManager: CoreData.UndoManager? { context.undoManager }

  /// Itself, its parent, and so on.
  var chain: [Place] { [self] + (parent?.chain ?? []) }
  var depth: Int { chain.count }

  func isAbove(_ other: Place) -> Bool { parent.map { $0 === other || $0.isAbove(other) } ?? false }

  /// Records that no other context may touch.
  var claims: Set<Int> {
    var result = Set(layer.keys)
    for layer in undoable + redoable { result.formUnion(layer.keys) }
    return result
  }

  func forgetUndo() {
    undoManager?.removeAllActions()
    undoable = []
    redoable = []
  }
}
