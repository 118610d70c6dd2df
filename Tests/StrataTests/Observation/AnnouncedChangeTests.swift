import Foundation
import Strata
import Testing

/// Classes that override `willChangeValue(forKey:)` and `didChangeValue(forKey:)`.
@Suite("Changes that a class hears of")
struct AnnouncedChangeTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(HeardBook.makeModel())
    context = store.context()
  }

  @Test("Setters call both methods around each change of an attribute, of new objects and of fetched ones")
  func attributes() throws {
    let book = context.make(HeardBook.self, "Ulysses")
    #expect(book.takeHeard() == ["will name nil", "did name Ulysses"])
    try hear(book)
    try context.save()
    #expect(book.takeHeard() == [])
    let other = store.context()
    let found = try other.find(HeardBook.self, "Ulysses")
    #expect(found.takeHeard() == [])
    found.setValue(nil, forKey: "pages")
    #expect(found.takeHeard() == ["will pages 14", "did pages nil"] && found.isUpdated)
    try hear(found)
    try other.save()
    #expect(try store.fresh { try $0.find(HeardBook.self, "Ulysses").value(forKey: "pages") as? Int64 } == 14)
  }

  private func hear(_ book: HeardBook) throws {
    book.setValue(12, forKey: "pages")
    #expect(book.takeHeard() == ["will pages nil", "did pages 12"])
    let slot = book.slot("pages")
    for pages: Int64 in [13, 14] { book.write(pages, slot: slot) }
    #expect(book.takeHeard() == ["will pages 12", "did pages 13", "will pages 13", "did pages 14"])
    book.setValue("calm", forKey: "mood")
    #expect(book.takeHeard() == ["will mood nil", "did mood calm"])
    book.setValue(nil, forKey: "mood")
    #expect(book.takeHeard() == ["will mood calm", "did mood nil"])
  }

  @Test("They hear of a to-one relationship whichever end is set; afterwards the other end is set as well")
  func relationships() throws {
    let (book, other) = (context.make(HeardBook.self, "Ulysses"), context.make(HeardBook.self, "Emma"))
    let (shelf, card) = (context.make(HeardShelf.self, "Top"), context.make(HeardCard.self, "A 7"))
    _ = (book.takeHeard(), other.takeHeard())
    book.setValue(shelf, forKey: "shelf")
    #expect(book.takeHeard() == ["will shelf nil", "did shelf Top, which has 1"])
    shelf.setValue(Set<ManagedObject>([other]), forKey: "books")
    #expect(book.takeHeard() == ["will shelf Top, which has 1", "did shelf nil"])
    #expect(other.takeHeard() == ["will shelf nil", "did shelf Top, which has 1"])
    card.setValue(book, forKey: "book")
    #expect(book.takeHeard() == ["will card nil", "did card A 7"])
    card.setValue(other, forKey: "book")
    #expect(book.takeHeard() == ["will card A 7", "did card nil"])
    #expect(other.takeHeard() == ["will card nil", "did card A 7"])
    try context.save()
    context.delete(card)
    context.processPendingChanges()
    #expect(other.takeHeard().map { $0.prefix(8) } == ["will car", "did card"])
    #expect(other.value(forKey: "card") == nil)
    try context.save()
    #expect(try store.problems() == [])
  }

  @Test("Accessors written by hand call them once, and do what they do in other classes")
  func writtenByHand() throws {
    let book = context.make(HeardBook.self, "Ulysses")
    try context.save()
    _ = book.takeHeard()
    book.willChangeValue(forKey: "name")
    book.setPrimitiveValue("Emma", forKey: "name")
    book.didChangeValue(forKey: "name")
    #expect(book.takeHeard() == ["will name Ulysses", "did name Emma"])
    #expect(book.changedValues()["name"] as? String == "Emma" && context.hasChanges)
    try context.save()
    #expect(try store.fresh { try $0.find(HeardBook.self, "Emma").name } == "Emma")
  }

  @Test("What they set is a change as well")
  func setInside() throws {
    let book = context.make(HeardBook.self, "Ulysses")
    _ = book.takeHeard()
    book.countsLetters = true
    book.name = "Emma"
    #expect(
      book.takeHeard() == ["will name Ulysses", "will pages nil", "did pages 4", "did name Emma"])
    try context.save()
    #expect(try store.fresh { try $0.find(HeardBook.self, "Emma").value(forKey: "pages") as? Int64 } == 4)
  }

  @Test("Who sets the attribute that is being announced hears of the last value as well")
  func setAgainInside() throws {
    let book = context.make(HeardBook.self, "Ulysses")
    _ = book.takeHeard()
    book.clearsNames = true
    book.name = "Emma"
    #expect(book.takeHeard() == ["will name Ulysses", "did name -", "did name Emma"])
    #expect(book.name == "Emma")
    book.clearsNames = false
    book.name = "Persuasion"
    #expect(book.takeHeard() == ["will name Emma", "did name Persuasion"])
  }

  enum First: CaseIterable { case bracket, child }

  @Test("Fetched objects hear of changes after whatever has made them changed", arguments: First.allCases)
  func afterOthers(_ first: First) throws {
    context.make(HeardBook.self, "Ulysses")
    try context.save()
    let other = store.context()
    try other.performAndWait { () throws in
      let book = try other.find(HeardBook.self, "Ulysses")
      switch first {
      case .bracket:
        book.willChangeValue(forKey: "name")
        book.didChangeValue(forKey: "name")
      case .child:
        let child = ManagedObjectContext(.privateQueue, parent: other)
        try child.performAndWait { () throws in
          try child.existingObject(with: book.objectID).setValue("Emma", forKey: "name")
          try child.save()
        }
      }
      _ = book.takeHeard()
      book.write(5 as Int64, slot: book.slot("pages"))
      #expect(book.takeHeard() == ["will pages nil", "did pages 5"])
    }
  }

  @Test("They do not hear of what an undo, a refresh or a merge changes")
  func unheard() throws {
    context.undoManager = UndoManager()
    let book = context.make(HeardBook.self, "Ulysses")
    try context.save()
    book.name = "Emma"
    context.processPendingChanges()
    _ = book.takeHeard()
    context.undo()
    #expect(book.name == "Ulysses" && book.takeHeard() == [])
    context.redo()
    #expect(book.name == "Emma" && book.takeHeard() == [])
    context.refresh(book, mergeChanges: false)
    #expect(book.name == "Ulysses" && book.takeHeard() == [])
    book.name = "Persuasion"
    #expect(book.takeHeard() == ["will name Ulysses", "did name Persuasion"])
  }

  @Test("An object that is deleted and inserted again goes on to hear of its changes")
  func insertedAgain() throws {
    let book = context.make(HeardBook.self, "Ulysses")
    try context.save()
    context.delete(book)
    try context.save()
    context.insert(book)
    _ = book.takeHeard()
    book.name = "Emma"
    book.name = "Persuasion"
    #expect(
      book.takeHeard() == ["will name Ulysses", "did name Emma", "will name Emma", "did name Persuasion"])
  }
}

/// A book that notes what it hears.
final class HeardBook: Named {
  private var heard: [String] = []
  /// Whether a book has as many pages as its name has letters.
  var countsLetters = false
  /// Whether a name is first replaced by a stroke.
  var clearsNames = false

  override func willChangeValue(forKey key: String) {
    super.willChangeValue(forKey: key)
    heard.append("will \(key) \(described(key))")
    if clearsNames, key == "name", name != "-" { name = "-" }
  }

  override func didChangeValue(forKey key: String) {
    super.didChangeValue(forKey: key)
    if countsLetters, key == "name" { setValue(name?.count, forKey: "pages") }
    heard.append("did \(key) \(described(key))")
  }

  private func described(_ key: String) -> String {
    switch primitiveValue(forKey: key) {
    case let shelf as HeardShelf:
      "\(shelf.name ?? "?"), which has \((shelf.value(forKey: "books") as? Set<ManagedObject>)?.count ?? -1)"
    case let object as Named: object.name ?? "?"
    case let value?: "\(value)"
    case nil: "nil"
    }
  }

  func takeHeard() -> [String] {
    defer { heard = [] }
    return heard
  }

  /// Books that stand on shelves, each with a card.
  static func makeModel() -> ManagedObjectModel {
    let mood = AttributeDescription("mood", .string)
    mood.isTransient = true
    let book = EntityDescription(
      "HeardBook", managedObjectClass: HeardBook.self,
      properties: [AttributeDescription("name", .string), AttributeDescription("pages", .integer64), mood])
    let shelf = EntityDescription(
      "HeardShelf", managedObjectClass: HeardShelf.self, properties: [AttributeDescription("name", .string)])
    let card = EntityDescription(
      "HeardCard", managedObjectClass: HeardCard.self, properties: [AttributeDescription("name", .string)])
    for (name, end, inverseName, inverseCount) in [("shelf", shelf, "books", 0), ("card", card, "book", 1)] {
      let relationship = RelationshipDescription(name, to: end, maxCount: 1)
      let inverse = RelationshipDescription(inverseName, to: book, maxCount: inverseCount)
      relationship.inverseRelationship = inverse
      inverse.inverseRelationship = relationship
      book.properties.append(relationship)
      end.properties.append(inverse)
    }
    return ManagedObjectModel(entities: [book, shelf, card])
  }
}

final class HeardShelf: Named {}
final class HeardCard: Named {}
