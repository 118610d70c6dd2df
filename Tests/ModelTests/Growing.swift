import Foundation
import StrataModels

// Versions of one entity, `Note`: what a program's class is in one release after the other. Macro and by hand.

@Managed(.named("Note")) final class NoteOne: ManagedObject {
  var title = ""
  var size: Int
  var written: Date?
}

@Managed(.named("Note")) final class NoteFirst: ManagedObject {
  var subtitle: String?
  var title = ""
  var size: Int
  var written: Date?
}

@Managed(.named("Note")) final class NoteMiddle: ManagedObject {
  var title = ""
  var rank: Int = 5
  var size: Int
  var mood = "plain"
  var written: Date?
}

@Managed(.named("Note")) final class NoteLast: ManagedObject {
  var title = ""
  var size: Int
  var written: Date?
  var keywords: [String] = []
}

class HandWrittenNote: ManagedObject {
  static let title = Slot<HandWrittenNote, String>("title")
  static let size = Slot<HandWrittenNote, Int>("size")
  static let written = Slot<HandWrittenNote, Date?>("written")
  class var added: [PropertyDeclaration] { [] }
  /// Where the new ones stand among those that were there.
  class var place: Int { 0 }

  override class var entityDeclaration: EntityDeclaration? {
    if self == HandWrittenNote.self { return nil }
    var properties = [title.attribute(default: ""), size.attribute(), written.attribute()]
    properties.insert(contentsOf: added, at: place)
    return EntityDeclaration(self, properties, .named("Note"))
  }

  var title: String {
    get { read(HandWrittenNote.title) }
    set { write(newValue, HandWrittenNote.title) }
  }
  var size: Int {
    get { read(HandWrittenNote.size) }
    set { write(newValue, HandWrittenNote.size) }
  }
  var written: Date? {
    get { read(HandWrittenNote.written) }
    set { write(newValue, HandWrittenNote.written) }
  }
}
