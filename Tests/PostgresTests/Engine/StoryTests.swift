import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What programs do with contexts, over a store on a server.
@Suite struct StoryTests {
  @Test func objectsAreSavedFetchedAndChanged() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let author = try context.make(
      "Author", ["name": "Ada", "born": Date(timeIntervalSinceReferenceDate: 1.25)])
    let cover = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
    let text = String(repeating: "long — ", count: 3_000)
    try context.make(
      "Novel",
      [
        "title": "One", "code": "1", "pages": Int32(120), "price": Decimal(string: "12.50") ?? 0,
        "author": author,
        "cover": cover, "text": text, "plot": "none",
      ])
    try context.make("Book", ["title": "Two", "code": "2", "author": author])
    try context.save()

    let other = stand.context()
    let books = try other.all("Book", by: "title")
    #expect(books.map(\.entity.name) == ["Novel", "Book"])
    #expect(books[0].value(forKey: "pages") as? Int64 == 120)
    #expect(books[0].value(forKey: "price") as? Decimal == Decimal(string: "12.50"))
    #expect(books[0].value(forKey: "cover") as? Data == cover)
    #expect(books[0].value(forKey: "text") as? String == text)
    #expect(books[0].value(forKey: "plot") as? String == "none")
    let found = try #require(books[0].value(forKey: "author") as? ManagedObject)
    #expect(found.value(forKey: "born") as? Date == Date(timeIntervalSinceReferenceDate: 1.25))
    #expect((found.value(forKey: "books") as? Set<ManagedObject>)?.count == 2)

    books[0].setValue("Other", forKey: "title")
    books[1].setValue(nil, forKey: "author")
    try other.save()
    // A large value that did not change is still there, and one that did is another.
    let reader = stand.context()
    let again = try reader.all("Book", by: "title")
    #expect(again.map { $0.value(forKey: "title") as? String } == ["Other", "Two"])
    #expect(again.map { ($0.value(forKey: "cover") as? Data)?.count } == [100_000, nil])
    #expect(again[0].value(forKey: "cover") as? Data == cover)
    books[0].setValue(Data(cover.reversed()), forKey: "cover")
    try other.save()
    let third = stand.context()
    let novel = try #require(try third.all("Novel").first)
    #expect(novel.value(forKey: "cover") as? Data == Data(cover.reversed()))
    #expect(novel.value(forKey: "text") as? String == text)
    third.delete(novel)
    try third.save()
    #expect(try stand.context().texts("Book", "title") == ["Two"])
  }

  @Test func peopleReadTheTablesWithSQL() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let author = try context.make("Author", ["name": "Ada"])
    try context.make("Novel", ["title": "One", "pages": Int32(7), "author": author])
    try context.save()
    let found = try stand.sql(
      "SELECT b.title, b.pages, a.name, e.name FROM \(stand.table("book")) b JOIN \(stand.table("author")) a ON a.pk = b.author JOIN \(stand.table("strata_entity")) e ON e.code = b.entity"
    )
    let row = try #require(found)
    #expect(row.rowCount == 1)
    // The simple protocol answers in text.
    #expect(try (0..<4).map { try row.text(0, $0) } == ["One", "7", "Ada", "Novel"])
  }

  @Test func siblingsMergeAndConflictsGoToThePolicy() throws {
    let stand = try ServerStand(Library.make())
    let writer = stand.context()
    try writer.make("Author", ["name": "Ada"])
    try writer.save()
    let (first, second) = (stand.context(), stand.context())
    let mine = try #require(try first.all("Author").first)
    let theirs = try #require(try second.all("Author").first)
    mine.setValue("Mine", forKey: "name")
    theirs.setValue("Theirs", forKey: "name")
    try first.save()
    let error = #expect(throws: CoreDataError.self) { try second.save() }
    #expect(error?.code == .managedObjectMerge)
    second.mergePolicy = .mergeByPropertyObjectTrump
    try second.save()
    #expect(try stand.context().texts("Author", "name") == ["Theirs"])
    mine.setValue("Again", forKey: "name")
    first.mergePolicy = .mergeByPropertyStoreTrump
    try first.save()
    #expect(try stand.context().texts("Author", "name") == ["Theirs"])
  }

  @Test func whatAnotherHasDeletedIsAConflictAndComesBack() throws {
    let stand = try ServerStand(Library.make())
    let writer = stand.context()
    try writer.make("Author", ["name": "Ada"])
    try writer.save()
    let (first, second) = (stand.context(), stand.context())
    let gone = try #require(try first.all("Author").first)
    let kept = try #require(try second.all("Author").first)
    _ = kept.value(forKey: "name")
    first.delete(gone)
    try first.save()
    kept.setValue("Kept", forKey: "name")
    #expect(throws: CoreDataError.self) { try second.save() }
    second.mergePolicy = .overwrite
    try second.save()
    #expect(try stand.context().texts("Author", "name") == ["Kept"])
    kept.setValue("Once more", forKey: "name")
    try second.save()
    #expect(try stand.context().texts("Author", "name") == ["Once more"])
  }

  @Test func childrenSaveToTheirParents() throws {
    let stand = try ServerStand(Library.make())
    let parent = stand.context()
    let child = ManagedObjectContext(.confinement, parent: parent)
    try child.make("Author", ["name": "Ada"])
    try child.save()
    #expect(try stand.context().all("Author").isEmpty)
    try parent.save()
    #expect(try stand.context().texts("Author", "name") == ["Ada"])
  }

  @Test func uniqueValuesAreTheServersToo() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    try context.make("Book", ["title": "One", "code": "1"])
    try context.make("Book", ["title": "Two", "code": "2"])
    try context.make("Book", ["title": "No code"])
    try context.make("Book", ["title": "No code either"])
    try context.save()
    let other = stand.context()
    try other.make("Novel", ["title": "Three", "code": "1"])
    try other.make("Novel", ["title": "Four", "code": "2"])
    try other.make("Novel", ["title": "Five", "code": "5"])
    try other.make("Novel", ["title": "Six", "code": "5"])
    let error = #expect(throws: CoreDataError.self) { try other.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    let conflicts = error?.userInfo[CoreDataError.Key.constraintConflicts] as? [Any]
    #expect(conflicts?.count == 3)
    #expect(try stand.context().all("Book").count == 4)
    // Two rows exchange their values.
    let books = try context.all("Book", by: "title", .comparison(key: "code", .notEqual, .null))
    books[0].setValue("2", forKey: "code")
    books[1].setValue("1", forKey: "code")
    try context.save()
    #expect(throws: SQLError.self) {
      try stand.sql("UPDATE \(stand.table("book")) SET code = '1' WHERE title = 'No code'")
    }
    other.mergePolicy = .mergeByPropertyObjectTrump
    try other.save()
    #expect(try stand.context().texts("Book", "title").contains("Three"))
    #expect(try stand.context().all("Book", .comparison(key: "code", .equal, "1")).count == 1)
  }

  @Test func orderedMembersStayInOrder() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let shelf = try context.make("Shelf", ["room": "Hall"])
    let books = try ["a", "b", "c", "d"].map { try context.make("Book", ["title": $0]) }
    shelf.setValue([books[2], books[0], books[1]], forKey: "books")
    try context.save()
    func titles() throws -> [String] {
      let reader = stand.context()
      let shelf = try #require(try reader.all("Shelf").first)
      let members = try #require(shelf.value(forKey: "books") as? [ManagedObject])
      return members.map { $0.value(forKey: "title") as? String ?? "nil" }
    }
    #expect(try titles() == ["c", "a", "b"])
    shelf.setValue([books[1], books[3], books[2]], forKey: "books")
    try context.save()
    #expect(try titles() == ["b", "d", "c"])
    // Two contexts each append one.
    let other = stand.context()
    let theirs = try #require(try other.all("Shelf").first)
    try other.make("Book", ["title": "e", "shelf": theirs])
    try other.save()
    books[0].setValue(shelf, forKey: "shelf")
    try context.save()
    #expect(try titles() == ["b", "d", "c", "e", "a"])
  }

  @Test func linksAreTheSameFromBothEnds() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let subjects = try ["x", "y"].map { try context.make("Subject", ["name": $0]) }
    let book = try context.make("Book", ["title": "a", "subjects": Set(subjects)])
    let list = try context.make("List", ["name": "l"])
    let others = try ["b", "c"].map { try context.make("Book", ["title": $0]) }
    list.setValue([others[1], book, others[0]], forKey: "entries")
    let people = try ["p", "q", "r"].map { try context.make("Person", ["name": $0]) }
    people[0].setValue(Set([people[1], people[2]]), forKey: "friends")
    people[0].setValue(Set([book]), forKey: "wishes")
    people[1].setValue(book, forKey: "favourite")
    let card = try context.make("Card", ["number": Int64(9)])
    people[2].setValue(card, forKey: "card")
    try context.save()

    let reader = stand.context()
    func names(_ object: ManagedObject?, _ key: String, _ name: String) -> [String] {
      let members = object?.value(forKey: key)
      if let ordered = members as? [ManagedObject] {
        return ordered.compactMap { $0.value(forKey: name) as? String }
      }
      return (members as? Set<ManagedObject> ?? []).compactMap { $0.value(forKey: name) as? String }.sorted()
    }
    let found = try #require(try reader.all("Book", .comparison(key: "title", .equal, "a")).first)
    #expect(names(found, "subjects", "name") == ["x", "y"])
    #expect(names(found, "lists", "name") == ["l"])
    #expect(names(try reader.all("List").first, "entries", "title") == ["c", "a", "b"])
    let persons = try reader.all("Person", by: "name")
    #expect(names(persons[0], "friends", "name") == ["q", "r"])
    #expect(names(persons[1], "friends", "name") == ["p"])
    #expect(names(persons[0], "wishes", "title") == ["a"])
    #expect((persons[2].value(forKey: "card") as? ManagedObject)?.value(forKey: "number") as? Int64 == 9)
    #expect(((try reader.all("Card").first)?.value(forKey: "holder") as? ManagedObject) == persons[2])

    // What is linked goes with the object, and nothing else.
    reader.delete(found)
    persons[1].setValue(Set<ManagedObject>(), forKey: "friends")
    try reader.save()
    let third = stand.context()
    #expect(names(try third.all("List").first, "entries", "title") == ["c", "b"])
    let left = try third.all("Person", by: "name")
    #expect(names(left[0], "friends", "name") == ["r"])
    #expect(names(left[0], "wishes", "title").isEmpty)
    #expect(left[1].value(forKey: "favourite") == nil)
    #expect(try third.all("Subject").count == 2)
  }

  @Test func rulesOfDeletionHold() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let author = try context.make("Author", ["name": "Ada"])
    for title in ["a", "b"] { try context.make("Book", ["title": title, "author": author]) }
    try context.save()
    let (first, second) = (stand.context(), stand.context())
    let theirs = try #require(try first.all("Author").first)
    let mine = try #require(try second.all("Author").first)
    // Another context relates a book to what is deleted here.
    first.delete(theirs)
    try second.make("Book", ["title": "c", "author": mine])
    try second.save()
    first.mergePolicy = .mergeByPropertyObjectTrump
    try first.save()
    #expect(try stand.context().all("Book").isEmpty)
    #expect(try stand.context().all("Author").isEmpty)
    // And to what is gone.
    try second.make("Book", ["title": "d", "author": mine])
    #expect(throws: CoreDataError.self) { try second.save() }
  }

  @Test func undoAndFetchedResultsWorkAsOverEveryEngine() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    context.undoManager = UndoManager()
    for name in ["b", "c"] { try context.make("Author", ["name": name]) }
    try context.save()
    let results = FetchedResultsController<ManagedObject>(
      fetchRequest: FetchRequest(entityName: "Author", sortDescriptors: [FetchSort("name")]),
      managedObjectContext: context)
    try results.performFetch()
    func names() throws -> [String?] {
      // Without anybody who follows them, results are what they were when they were fetched.
      try results.performFetch()
      return results.fetchedObjects?.map { $0.value(forKey: "name") as? String } ?? []
    }
    try context.make("Author", ["name": "a"])
    context.processPendingChanges()
    #expect(try names() == ["a", "b", "c"])
    context.undo()
    context.processPendingChanges()
    #expect(try names() == ["b", "c"])
    try context.save()
    #expect(try stand.context().texts("Author", "name") == ["b", "c"])
  }

  @Test func aPinnedGenerationStaysWhatItIs() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    try context.make("Author", ["name": "a"])
    try context.save()
    let pinned = stand.context()
    try pinned.setQueryGenerationFrom(.current)
    #expect(try pinned.texts("Author", "name") == ["a"])
    try context.make("Author", ["name": "b"])
    try context.save()
    #expect(try pinned.texts("Author", "name") == ["a"])
    try pinned.setQueryGenerationFrom(nil)
    #expect(try pinned.texts("Author", "name") == ["a", "b"])
  }
}
