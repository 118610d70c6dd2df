import SwiftData
import Testing

/// A deletion of many wins over edits, as that of another context does.
@Suite("Deletions of many, and edits")
struct EditedDeletionTests {
  enum Deleting: CaseIterable { case here, batchElsewhere, saveElsewhere }

  private func fill(_ context: ModelContext) throws -> Author {
    let author = Author(name: "Ann")
    author.books = [Book("One")]
    context.insert(author)
    context.insert(Author(name: "Bob"))
    try context.save()
    return author
  }

  private func delete(_ author: Author, _ context: ModelContext, _ deleting: Deleting) throws {
    let other = ModelContext(context.container)
    switch deleting {
    case .here: try context.delete(model: Author.self, where: #Predicate { $0.name == "Ann" })
    case .batchElsewhere: try other.delete(model: Author.self, where: #Predicate { $0.name == "Ann" })
    case .saveElsewhere:
      other.delete(other.model(for: author.persistentModelID))
      try other.save()
    }
  }

  @Test(
    "S48: an edited model goes, with what the rules delete, and nothing is left behind",
    arguments: Deleting.allCases, [false, true])
  func edited(deleting: Deleting, isMemberEdited: Bool) throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let author = try fill(context)
    let book = try #require(author.books.first)
    author.born = Date(timeIntervalSinceReferenceDate: 1)
    if isMemberEdited { book.title = "Two" }
    try delete(author, context, deleting)
    #expect(try context.fetch(FetchDescriptor<Author>()).map(\.name) == ["Bob"])
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 0)
    try context.save()
    #expect(!context.hasChanges && author.modelContext == nil && book.modelContext == nil)
    let fresh = ModelContext(container)
    #expect(try fresh.fetch(FetchDescriptor<Author>()).map(\.name) == ["Bob"])
    #expect(try fresh.fetchCount(FetchDescriptor<Book>()) == 0)
  }

  @Test("S48: an edit behind the deletion does not bring the model back", arguments: Deleting.allCases)
  func editedLate(deleting: Deleting) throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let author = try fill(context)
    author.born = Date(timeIntervalSinceReferenceDate: 1)
    try delete(author, context, deleting)
    #expect(context.hasChanges)
    author.born = Date(timeIntervalSinceReferenceDate: 2)
    try context.save()
    #expect(try ModelContext(container).fetch(FetchDescriptor<Author>()).map(\.name) == ["Bob"])
    #expect(author.modelContext == nil)
  }

  @Test("S46: erase takes edited models as well")
  func erased() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let author = try fill(context)
    author.born = Date(timeIntervalSinceReferenceDate: 1)
    try container.erase()
    try context.save()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Author>()) == 0)
  }
}
