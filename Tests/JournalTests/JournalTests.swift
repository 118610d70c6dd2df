import SwiftData
import Testing

@testable import JournalApp

@Suite("The journal, a command-line app over SwiftData")
struct JournalTests {
  /// A folder that goes with the test.
  final class Folder {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }
    var journal: String { url.appendingPathComponent("journal.store").path }
  }

  @Test("Entries are written, listed, searched and deleted, each command with the store anew")
  func commands() async throws {
    let folder = try Folder()
    func run(_ arguments: String...) async throws -> [String] {
      try await JournalCommand.run([folder.journal] + arguments)
    }
    #expect(try await run("add", "Rain\nAll day long", "low", "weather", "home") == ["Wrote “Rain”."])
    #expect(try await run("add", "Snow on the hill", "glad", "weather") == ["Wrote “Snow on the hill”."])
    #expect(try await run("add", "Accounts") == ["Wrote “Accounts”."])
    #expect(try await run("list").count == 3)
    #expect(
      try await run("list", "weather") == ["Rain (low) #home #weather", "Snow on the hill (glad) #weather"])
    #expect(try await run("search", "LONG") == ["Rain (low) #home #weather"])
    #expect(try await run("delete", "1") == ["Deleted entry 1."])
    #expect(try await run("list", "home") == [])
    #expect(try await run("figures") == ["2 entries, 5 words", "calm: 1", "glad: 1", "#weather: 1"])
  }

  @Test("History says who has done what, with the title of what was deleted")
  func history() async throws {
    let folder = try Folder()
    let url = URL(fileURLWithPath: folder.journal)
    let journal = try Journal(at: url)
    let entry = try journal.add("One", on: Date(timeIntervalSinceReferenceDate: 0))
    entry.mood = .busy
    try journal.context.save()
    try journal.delete(1)
    #expect(
      try journal.history() == [
        "journal wrote Entry", "journal changed 1 of Entry", "journal deleted “One”, Entry",
      ])
  }

  @Test("Entries are imported by an actor and seen by the context that was there before")
  func importing() async throws {
    let folder = try Folder()
    let journal = try Journal(at: URL(fileURLWithPath: folder.journal))
    #expect(try journal.list().isEmpty)
    let worker = JournalWorker(modelContainer: journal.container)
    let count = try await worker.take(
      "One\nmore\n---\nTwo\n---\n\n", from: Date(timeIntervalSinceReferenceDate: 0))
    #expect(count == 2)
    #expect(try journal.list().map(\.title) == ["One", "Two"])
    #expect(try await worker.figures().words == 3)
    #expect(try journal.history() == ["import wrote Entry", "import wrote Entry"])
  }

  @Test("A journal of the first version is migrated when it is opened")
  func migration() async throws {
    let folder = try Folder()
    let url = URL(fileURLWithPath: folder.journal)
    do {
      let container = try ModelContainer(
        for: Schema(versionedSchema: JournalV1.self), configurations: ModelConfiguration("Journal", url: url))
      let context = ModelContext(container)
      let day = Date(timeIntervalSinceReferenceDate: 0)
      context.insert(JournalV1.Entry(text: "First\nline", date: day, words: ["a", "b"]))
      context.insert(JournalV1.Entry(text: "Second", date: day + 1, words: ["b"]))
      try context.save()
    }
    let journal = try Journal(at: url)
    let entries = try journal.list()
    #expect(entries.map(\.title) == ["First", "Second"])
    #expect(entries.map(\.body) == ["First\nline", "Second"])
    #expect(entries.map { $0.tags.map(\.name).sorted() } == [["a", "b"], ["b"]])
    #expect(entries.allSatisfy { $0.words.isEmpty && $0.mood == .calm })
    #expect(try journal.context.fetchCount(FetchDescriptor<JournalV2.Tag>()) == 2)
  }

  @Test("Wrong commands say what is wrong and change nothing")
  func wrong() async throws {
    let folder = try Folder()
    let journal = try Journal(at: URL(fileURLWithPath: folder.journal))
    #expect(throws: Journal.Failure.unknownMood("odd")) { try journal.add("One", mood: "odd") }
    #expect(throws: Journal.Failure.emptyText) { try journal.add("") }
    #expect(throws: Journal.Failure.noEntry(1)) { try journal.delete(1) }
    await #expect(throws: JournalCommand.Usage.self) {
      try await JournalCommand.run([folder.journal, "sing"])
    }
    #expect(try journal.list().isEmpty && !journal.context.hasChanges)
  }
}
