import SwiftData
import Testing

enum CellarBefore {
  struct Jar: Codable, Equatable { var label: String }
  enum Kind: String, Codable { case jam, honey }
  struct Mark: Codable, Equatable { var kind: Kind }
  @Model final class Cellar {
    var name = ""
    var jars: [Jar] = []
    var jarsByName: [String: Jar] = [:]
    var kinds: [Kind] = []
    var kind = Kind.jam
    var spare: Kind?
    var mark = Mark(kind: .jam)
    init() {}
  }
}

/// What was stored cannot be decoded: jars have a weight, and there is no honey.
enum CellarAfter {
  struct Jar: Codable, Equatable {
    var label: String
    var grams = 100
  }
  enum Kind: String, Codable { case jam, plum }
  struct Mark: Codable, Equatable { var kind: Kind }
  @Model final class Cellar {
    var name = ""
    var jars: [Jar] = []
    var jarsByName: [String: Jar] = [:]
    var kinds: [Kind] = []
    var kind = Kind.jam
    var spare: Kind?
    var mark = Mark(kind: .jam)
    init() {}
  }
}

@Suite("Values that cannot be decoded")
struct UndecodedValueTests {
  private typealias Cellar = CellarAfter.Cellar

  private let folder: Folder
  private var configuration: ModelConfiguration {
    ModelConfiguration(schema: Schema([Cellar.self]), url: folder.file())
  }

  init() throws {
    folder = try Folder()
    let context = ModelContext(
      try ModelContainer(
        for: CellarBefore.Cellar.self, configurations: ModelConfiguration(url: folder.file())))
    let cellar = CellarBefore.Cellar()
    cellar.jars = [CellarBefore.Jar(label: "a"), CellarBefore.Jar(label: "b")]
    cellar.jarsByName = ["a": CellarBefore.Jar(label: "a")]
    cellar.kinds = [.honey, .jam]
    cellar.kind = .honey
    cellar.spare = .honey
    cellar.mark = CellarBefore.Mark(kind: .honey)
    context.insert(cellar)
    try context.save()
  }

  /// That the store has what it had.
  private func expectAll() throws {
    let context = ModelContext(
      try ModelContainer(
        for: CellarBefore.Cellar.self, configurations: ModelConfiguration(url: folder.file())))
    let cellar = try #require(try context.fetch(FetchDescriptor<CellarBefore.Cellar>()).first)
    #expect(cellar.jars.map(\.label) == ["a", "b"] && cellar.jarsByName.keys.sorted() == ["a"])
    #expect(cellar.kinds == [.honey, .jam] && cellar.kind == .honey && cellar.spare == .honey)
    #expect(cellar.mark == CellarBefore.Mark(kind: .honey))
  }

  private func open() throws -> (context: ModelContext, cellar: Cellar) {
    let context = ModelContext(try ModelContainer(for: Cellar.self, configurations: configuration))
    context.autosaveEnabled = false
    return (context, try #require(try context.fetch(FetchDescriptor<Cellar>()).first))
  }

  /// Edits that begin with reading, by property.
  private var edits: [(name: String, edit: (Cellar) -> Void)] {
    [
      ("jars", { $0.jars.append(CellarAfter.Jar(label: "new")) }),
      ("jarsByName", { $0.jarsByName["new"] = CellarAfter.Jar(label: "new") }),
      ("kinds", { $0.kinds.append(.plum) }),
      ("kind", { $0.kind = $0.kind == .plum ? .jam : .plum }),
      ("spare", { $0.spare = $0.spare ?? .plum }),
      ("mark", { $0.mark.kind = .plum }),
    ]
  }

  @Test("A save that would replace what could not be decoded is refused, with model and property")
  func refused() throws {
    for (name, edit) in edits {
      let (context, cellar) = try open()
      for _ in 0..<2 {
        edit(cellar)
        let error = #expect(throws: CocoaError.self) { try context.save() }
        #expect(error?.code.rawValue == 1550, "\(name)")
        #expect(error?.userInfo["NSValidationErrorKey"] as? String == name)
        let text = error?.userInfo[NSLocalizedDescriptionKey] as? String ?? ""
        #expect(text.contains("Cellar.\(name)") && text.contains("/Cellar/p1"), "\(text)")
      }
      context.rollback()
      cellar.name = name
      try context.save()
      // It was read, and is what it was: the same again.
      edit(cellar)
      #expect(throws: CocoaError.self) { try context.save() }
    }
    try expectAll()
  }

  @Test("What could not be decoded reads as the initial value or nil, and other edits are saved beside it")
  func read() throws {
    let (context, cellar) = try open()
    #expect(cellar.jars.isEmpty && cellar.jarsByName.isEmpty && cellar.kinds.isEmpty)
    #expect(cellar.kind == .jam && cellar.spare == nil && cellar.mark.kind == .jam)
    cellar.name = "edited"
    try context.save()
    try expectAll()
  }

  @Test("An undo takes the refused value back")
  func undo() throws {
    for (name, edit) in edits {
      let (context, cellar) = try open()
      let manager = UndoManager()
      context.undoManager = manager
      edit(cellar)
      context.processPendingChanges()
      manager.undo()
      cellar.name = name
      try context.save()
    }
    try expectAll()
  }

  @Test("A value that is set without reading takes the place of what could not be decoded")
  func givenUp() throws {
    let (context, cellar) = try open()
    cellar.jars = [CellarAfter.Jar(label: "new")]
    cellar.jarsByName = [:]
    cellar.kinds = [.plum]
    cellar.kind = .plum
    cellar.spare = nil
    cellar.mark = CellarAfter.Mark(kind: .plum)
    try context.save()
    let (_, again) = try open()
    #expect(again.jars == [CellarAfter.Jar(label: "new")] && again.jarsByName.isEmpty)
    #expect(again.kinds == [.plum] && again.kind == .plum && again.spare == nil && again.mark.kind == .plum)
  }

  @Test("A snapshot does not have what could not be decoded, and leaves it where it is")
  func snapshots() throws {
    let store = try DefaultStore(configuration, migrationPlan: nil)
    let state = try open().context.editingState
    let found = try store.fetch(
      DataStoreFetchRequest<Cellar>(editingState: state, descriptor: FetchDescriptor()))
    _ = try store.save(
      DataStoreSaveChangesRequest(
        editingState: state, inserted: [], updated: found.fetchedSnapshots, deleted: []))
    try expectAll()
  }
}
