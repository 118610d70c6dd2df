import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What others have put beside the store's own tables and rows: indexes, triggers, rows. A save ends with an answer.
@Suite struct StrangerTests {
  /// What a save or a batch has answered.
  private func refusal(_ body: () throws -> Void) -> StorageError? {
    do {
      try body()
      return nil
    } catch let error as StorageError {
      return error
    } catch let error as CoreDataError {
      return error.userInfo[NSUnderlyingErrorKey] as? StorageError
    } catch {
      Issue.record(error)
      return nil
    }
  }

  @Test(.timeLimit(.minutes(2))) func anIndexThatIsNotTheModelsIsNamed() throws {
    var options = PostgresStoreOptions()
    // Whoever tried until then would not be through in time.
    options.timeout = .seconds(600)
    let stand = try ServerStand(Library.make(), options: options)
    try stand.sql("CREATE UNIQUE INDEX one_title ON \(stand.table("book")) (title)")
    let writer = stand.context()
    try writer.make("Book", ["title": "same"])
    try writer.save()
    var error = refusal {
      _ = try stand.context().execute(
        BatchInsertRequest(entityName: "Book", objects: [["title": "other"], ["title": "same"]]))
    }
    #expect(error?.kind == .refused)
    #expect(error?.detail.contains("one_title") == true)
    error = refusal {
      _ = try stand.context().execute(
        BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": "same", "code": "c"]))
    }
    #expect(error == nil, "one row has the values already, or takes them")
    let context = stand.context()
    try context.make("Book", ["title": "same"])
    error = refusal { try context.save() }
    #expect(error?.kind == .refused)
    #expect(error?.detail.contains("one_title") == true)
    #expect(try stand.context().texts("Book", "title") == ["same"])
  }

  @Test(.timeLimit(.minutes(2))) func aTriggerThatKeepsRowsIsAnAnswer() throws {
    var options = PostgresStoreOptions()
    options.timeout = .seconds(600)
    let stand = try ServerStand(Library.make(), options: options)
    let context = stand.context()
    let book = try context.make("Book", ["title": "1", "pages": Int32(1)])
    try context.save()
    try stand.sql(
      "CREATE FUNCTION \(stand.table("keep"))() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; CREATE TRIGGER keep BEFORE UPDATE ON \(stand.table("book")) FOR EACH ROW EXECUTE FUNCTION \(stand.table("keep"))()"
    )
    book.setValue("2", forKey: "title")
    var error = refusal { try context.save() }
    #expect(error?.kind == .refused)
    #expect(error?.detail.contains("trigger") == true)
    error = refusal {
      _ = try stand.context().execute(
        BatchUpdateRequest(
          entityName: "Book", propertiesToUpdate: ["title": try FetchExpression(format: "title")]))
    }
    #expect(error == nil, "nothing has to be written")
    error = refusal {
      _ = try stand.context().execute(
        BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": "3"]))
    }
    #expect(error?.kind == .refused)
    #expect(try stand.context().texts("Book", "title") == ["1"])
  }

  /// Somebody has written rows under keys that the sequence gives out later.
  @Test(.timeLimit(.minutes(2))) func keysThatAreTakenAreNamed() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let subject = try context.make("Subject", ["name": "first"])
    try context.save()
    let key = try #require(UInt64(subject.objectID.uriRepresentation().lastPathComponent.dropFirst()))
    let entity = try #require(stand.store.mapping.schema.entity(named: "Subject"))
    try stand.sql(
      "INSERT INTO \(stand.table("subject")) (pk, entity, version, name) SELECT n, \(stand.store.mapping.codes[entity.number]), 1, 'beside' FROM generate_series(\(key + 1), \(key + 10)) n"
    )
    let error = refusal {
      _ = try stand.context().execute(
        BatchInsertRequest(entityName: "Subject", objects: [["name": "second"]]))
    }
    #expect(error?.kind == .refused)
    #expect(error?.detail.contains("p\(key + 1)") == true)
    #expect(try stand.context().all("Subject").count == 11)
  }

  /// A row that is referred to goes between the check and the commit: the next attempt finds it missing.
  @Test func aTargetThatGoesIsMissed() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let author = try context.make("Author", ["name": "Ada"])
    try context.save()
    let key = try #require(UInt64(author.objectID.uriRepresentation().lastPathComponent.dropFirst()))
    // The check finds the row; a trigger takes it away when the book is written.
    try stand.sql(
      "CREATE FUNCTION \(stand.table("rob"))() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM \(stand.table("author")) WHERE pk = \(key); RETURN NEW; END'; CREATE TRIGGER rob BEFORE INSERT ON \(stand.table("book")) FOR EACH ROW EXECUTE FUNCTION \(stand.table("rob"))()"
    )
    try context.make("Book", ["title": "1", "author": author])
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.detail.contains("23503") == true)
    #expect(try stand.context().all("Book").isEmpty)
  }
}
