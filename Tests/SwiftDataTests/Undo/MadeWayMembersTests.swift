import Foundation
import SwiftData
import Testing

/// Models with unique values that own others.
enum KeyedMarks {
  @Model final class Mark {
    @Attribute(.unique) var code: String
    @Relationship(deleteRule: .cascade) var notes: [Note] = []
    @Relationship(deleteRule: .cascade, inverse: \Kid.mark) var kids: [Kid] = []
    init(_ code: String) { self.code = code }
  }
  @Model final class Note {
    var text: String
    init(_ text: String) { self.text = text }
  }
  @Model final class Kid {
    var text: String
    var mark: Mark?
    init(_ text: String) { self.text = text }
  }
}

@Suite("What belonged to a row that makes way for a changed model with the same unique values")
struct MadeWayMembersTests {
  @Test("All members join the model that stays, with an inverse or without, and undo gives them back")
  func joined() throws {
    let container = try ModelContainer(
      for: KeyedMarks.Mark.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let (first, second) = (KeyedMarks.Mark("a"), KeyedMarks.Mark("b"))
    context.insert(first)
    context.insert(second)
    first.notes = [KeyedMarks.Note("note")]
    first.kids = [KeyedMarks.Kid("kid")]
    try context.save()
    let manager = UndoManager()
    context.undoManager = manager
    second.code = "a"
    try context.save()
    try withExtendedLifetime(ModelContext(container)) { reader in
      let saved = try #require(try reader.fetch(FetchDescriptor<KeyedMarks.Mark>()).first)
      #expect(saved.code == "a")
      #expect(saved.notes.map(\.text) == ["note"] && saved.kids.map(\.text) == ["kid"])
    }
    manager.undo()
    try context.save()
    let reader = ModelContext(container)
    let marks = try reader.fetch(FetchDescriptor<KeyedMarks.Mark>(sortBy: [SortDescriptor(\.code)]))
    #expect(marks.map(\.code) == ["a", "b"])
    #expect(marks.map { $0.notes.map(\.text) } == [["note"], []])
    #expect(marks.map { $0.kids.map(\.text) } == [["kid"], []])
    withExtendedLifetime(reader) {}
  }
}
