import SwiftData
import Testing

/// Models that are inserted a second time.
enum Again {
  @Model final class Item {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Sub.item) var subs: [Sub] = []
    var one: Sub?
    var words: [String] = []
    var note: String?
    init(_ name: String) { self.name = name }
  }
  @Model final class Sub {
    var text: String
    var item: Item?
    init(_ text: String) { self.text = text }
  }

  static func makeContainer() throws -> ModelContainer {
    try ModelContainer(for: Item.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
  }

  /// An item with a member and a to-one relationship; it alone is held.
  static func fill(_ item: Item) {
    item.subs = [Sub("1")]
    item.one = Sub("o")
    item.words = ["a", "b"]
  }

  /// Everything that the container has stored.
  static func stored(_ container: ModelContainer) throws -> [String] {
    let context = ModelContext(container)
    let items = try context.fetch(FetchDescriptor<Item>(sortBy: [SortDescriptor(\.name)]))
    let texts = items.map { item in
      "\(item.name) \(item.subs.map(\.text).sorted()) \(item.one?.text ?? "-") \(item.words) \(item.note ?? "-")"
    }
    return texts + ["\(try context.fetchCount(FetchDescriptor<Sub>()))"]
  }
}

/// A model that has left its context is inserted, there or elsewhere.
@Suite("Models that are inserted again")
struct RepeatedInsertionTests {
  enum Leaving: CaseIterable { case rollback, deletion, end }

  @Test(
    "a model that was never saved brings what it was related to", arguments: Leaving.allCases, [false, true])
  func unsaved(leaving: Leaving, isElsewhere: Bool) throws {
    let container = try Again.makeContainer()
    let item = Again.Item("a")
    var first: ModelContext? = ModelContext(container)
    let other = ModelContext(container)
    first?.autosaveEnabled = false
    first?.insert(item)
    Again.fill(item)
    switch leaving {
    case .rollback: first?.rollback()
    case .deletion:
      first?.delete(item)
      // The cascade, too, has been carried out.
      #expect(first?.insertedModelsArray.count == 1)
    case .end: first = nil
    }
    #expect(item.modelContext == nil)
    #expect(item.subs.map(\.text) == ["1"] && item.words == ["a", "b"])
    if leaving == .deletion, isElsewhere {
      // Its `one` stays in the first context, until that is saved.
      try first?.save()
    }
    let context = isElsewhere ? other : first ?? other
    context.insert(item)
    #expect(item.modelContext === context)
    #expect(item.subs.count == 1 && item.subs.first?.item === item && item.one?.text == "o")
    try context.save()
    #expect(try Again.stored(container) == ["a [\"1\"] o [\"a\", \"b\"] -", "2"])
    item.subs.append(Again.Sub("2"))
    item.name = "b"
    try context.save()
    #expect(try Again.stored(container) == ["b [\"1\", \"2\"] o [\"a\", \"b\"] -", "3"])
    #expect(context.managedObjectContext.hasChanges == false)
  }

  @Test("a member brings its owner, and who is held is who is found")
  func members() throws {
    let container = try Again.makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let (item, sub) = (Again.Item("a"), Again.Sub("1"))
    item.subs = [sub]
    context.insert(item)
    context.rollback()
    #expect(sub.item === item)
    context.insert(sub)
    #expect(item.modelContext === context && sub.item === item && item.subs == [sub])
    try context.save()
    #expect(try Again.stored(container) == ["a [\"1\"] - [] -", "1"])
  }

  @Test("nobody keeps models that have left together")
  func freed() throws {
    final class Known {
      weak var item: Again.Item?
      weak var row: AnyObject?
    }
    let context = ModelContext(try Again.makeContainer())
    context.autosaveEnabled = false
    let known = Known()
    func work() {
      let item = Again.Item("a")
      context.insert(item)
      Again.fill(item)
      context.rollback()
      #expect(item.subs.first?.item === item)
      known.item = item
      known.row = item.subs.first?.persistentBackingData as AnyObject?
      #expect(known.row != nil)
    }
    work()
    #expect(known.item == nil && known.row == nil)
  }

  @Test("a stored model whose context has gone shows the row of the other context, edits included")
  func stored() throws {
    let container = try Again.makeContainer()
    let item = Again.Item("a")
    func fill() throws {
      let context = ModelContext(container)
      context.autosaveEnabled = false
      context.insert(item)
      Again.fill(item)
      try context.save()
      withExtendedLifetime(context) {
        item.note = "edited"
        item.subs.append(Again.Sub("2"))
      }
    }
    try fill()
    item.words = ["c"]
    let context = ModelContext(container)
    let identifier = item.persistentModelID
    context.insert(item)
    #expect(item.modelContext === context && item.persistentModelID == identifier)
    #expect(try context.fetch(FetchDescriptor<Again.Item>()).first === item)
    #expect(item.subs.map(\.text).sorted() == ["1", "2"] && item.one?.text == "o" && item.note == "edited")
    #expect(item.hasChanges)
    try context.save()
    #expect(try Again.stored(container) == ["a [\"1\", \"2\"] o [\"c\"] edited", "3"])
  }

  @Test("a model whose deletion was saved is a new one")
  func deleted() throws {
    let container = try Again.makeContainer()
    let context = ModelContext(container)
    let item = Again.Item("a")
    context.insert(item)
    try context.save()
    let identifier = item.persistentModelID
    context.delete(item)
    try context.save()
    item.subs = [Again.Sub("new")]
    context.insert(item)
    try context.save()
    #expect(item.persistentModelID != identifier)
    #expect(try Again.stored(container) == ["a [\"new\"] - [] -", "1"])
  }

  @Test(
    "samples go from one container into the next, whether they were saved or not", arguments: [false, true])
  func samples(isSaved: Bool) throws {
    let item = Again.Item("a")
    item.note = "n"
    let numbers: Set = [item]
    Again.fill(item)
    for round in 0..<3 {
      let container = try Again.makeContainer()
      let context = ModelContext(container)
      context.autosaveEnabled = false
      context.insert(item)
      #expect(item.modelContext === context && item.name == "a" && item.note == "n")
      #expect(try context.fetch(FetchDescriptor<Again.Item>()).first === item, "\(round)")
      #expect(item.words == ["a", "b"])
      if isSaved {
        try context.save()
        #expect(try Again.stored(container).count == 2)
      } else {
        #expect(item.subs.map(\.text) == ["1"] && item.one?.text == "o", "\(round)")
        #expect(numbers.contains(item))
      }
    }
  }

  @Test("a model of another context that lives is refused with SwiftData's sentence")
  func living() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let item = Again.Item("a")
      let first = ModelContext(try Again.makeContainer())
      first.insert(item)
      let second = ModelContext(try Again.makeContainer())
      withExtendedLifetime(first) { second.insert(item) }
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("of another context was inserted"), "\(text)")
  }
}
