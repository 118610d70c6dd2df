import SwiftData
import Testing

enum NoteBefore {
  @Model final class Note {
    var text = ""
    init() {}
  }
}

enum NoteAfter {
  @Model final class Note {
    var text = ""
    var more = 0
    init() {}
  }
}

@ModelActor
actor NoteTaker {
  func add() throws {
    modelContext.insert(NoteBefore.Note())
    try modelContext.save()
  }
}

@Suite("Containers that have ended")
struct EndedContainerTests {
  @Test("A store can be opened with another version as soon as the actor that used it has gone")
  func actors() async throws {
    let folder = try Folder()
    for round in 0..<40 {
      let url = folder.file("\(round).store")
      do {
        let container = try ModelContainer(
          for: NoteBefore.Note.self, configurations: ModelConfiguration(url: url))
        try await NoteTaker(modelContainer: container).add()
      }
      let context = ModelContext(
        try ModelContainer(for: NoteAfter.Note.self, configurations: ModelConfiguration(url: url)))
      #expect(try context.fetchCount(FetchDescriptor<NoteAfter.Note>()) == 1)
    }
  }

  @Test("While a container of another version lives, the error of a new one says who has the store")
  func held() throws {
    let folder = try Folder()
    let configuration = ModelConfiguration(url: folder.file())
    var context: ModelContext? = ModelContext(
      try ModelContainer(for: NoteBefore.Note.self, configurations: configuration))
    context?.insert(NoteBefore.Note())
    try context?.save()
    #expect {
      try ModelContainer(for: NoteAfter.Note.self, configurations: configuration)
    } throws: { error in
      error as? SwiftDataError == .loadIssueModelContainer
        && "\(error)".contains("A ModelContainer, ModelContext or ModelActor of another version still has it")
    }
    context = nil
    let after = ModelContext(try ModelContainer(for: NoteAfter.Note.self, configurations: configuration))
    #expect(try after.fetchCount(FetchDescriptor<NoteAfter.Note>()) == 1)
  }
}
