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

  /// What is refused by the commit only, of saves that are written together.
  @Test func aConstraintOfTheCommitFailsTheOneThatBreaksIt() throws {
    let stand = try ServerStand(Library.make())
    try stand.sql(
      "CREATE FUNCTION \(stand.table("watch"))() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.name = ''bad'' THEN RAISE EXCEPTION ''no bad names''; END IF; RETURN NEW; END'; CREATE CONSTRAINT TRIGGER watch AFTER INSERT ON \(stand.table("subject")) DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION \(stand.table("watch"))()"
    )
    let entity = try #require(stand.store.mapping.schema.entity(named: "Subject"))
    let slot = try #require(entity.slot(named: "name"))
    var assembler = RowAssembler()
    var sets: [ChangeSet] = []
    for name in ["first", "bad", "last"] {
      var values = [AttributeValue](repeating: .null, count: entity.attributes.count)
      values[slot] = .string(name)
      let key = try stand.store.makePrimaryKey(hierarchy: entity.hierarchyNumber)
      let row = try assembler.row(
        of: entity, stamp: stand.store.rowStamp(entity: entity.number), primaryKey: key, version: 1,
        values: values)
      sets.append(
        ChangeSet(inserts: [
          RowChange(
            entity: entity.number, primaryKey: key, baseVersion: 0, row: row, externals: [],
            changedSlots: SlotBitmap(allBelow: entity.attributes.count))
        ]))
    }
    let answers = Mutex<[Result<CommitResult, any Error>]>([])
    let done = DispatchSemaphore(value: 0)
    stand.store.commit(sets, deadline: nil) { results in
      answers.withLock { $0 = results }
      done.signal()
    }
    done.wait()
    let results = answers.withLock { $0 }
    #expect(results.map { (try? $0.get().commitNumber) } == [1, nil, 2])
    if case .failure(let error) = results[1] {
      #expect((error as? StorageError)?.kind == .refused)
      #expect("\(error)".contains("no bad names"))
    }
    #expect(try stand.context().texts("Subject", "name") == ["first", "last"])
  }

  /// COPY knows no row security; statements do.
  @Test func manyRowsAreWrittenUnderRowSecurity() throws {
    let stand = try ServerStand(Library.make())
    let namespace = Identifier.quoted(stand.store.mapping.namespace)
    let role = "writer_" + UUID().uuidString.prefix(8).lowercased()
    try stand.sql(
      "CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(namespace) TO \(role); GRANT ALL ON ALL TABLES IN SCHEMA \(namespace) TO \(role); GRANT ALL ON ALL SEQUENCES IN SCHEMA \(namespace) TO \(role); ALTER TABLE \(stand.table("subject")) ENABLE ROW LEVEL SECURITY; CREATE POLICY all_rows ON \(stand.table("subject")) USING (true) WITH CHECK (true)"
    )
    var components = try #require(URLComponents(url: stand.url, resolvingAgainstBaseURL: false))
    components.queryItems = components.queryItems?.map {
      $0.name == "user" ? URLQueryItem(name: "user", value: role) : $0
    }
    let other = try ServerStand(Library.make(), url: components.url)
    for round in 1...2 {
      let context = other.context()
      for number in 0..<RowStatements.leastCopied + 1 {
        try context.make("Subject", ["name": "\(round) \(number)"])
      }
      try context.save()
    }
    #expect(try other.context().all("Subject").count == 2 * (RowStatements.leastCopied + 1))
    for store in other.coordinator.persistentStores { try other.coordinator.remove(store) }
    try stand.sql("DROP OWNED BY \(role); DROP ROLE \(role)")
  }

  @Test func aStoreIsDestroyedWhileOthersSave() throws {
    let stand = try ServerStand(Library.make())
    let isDone = Mutex(false)
    let finished = DispatchSemaphore(value: 0)
    let saved = Mutex(0)
    Thread {
      while !isDone.withLock({ $0 }) {
        let context = stand.context()
        if let author = try? context.make("Author", ["name": UUID().uuidString]),
          (try? context.make("Book", ["title": "t", "author": author])) != nil, (try? context.save()) != nil
        {
          saved.withLock { $0 += 1 }
        }
      }
      finished.signal()
    }.start()
    while saved.withLock({ $0 }) < 20 { Thread.sleep(forTimeInterval: 0.002) }
    #expect(throws: Never.self) { try PostgresStores.destroy(at: stand.url) }
    isDone.withLock { $0 = true }
    finished.wait()
    #expect(throws: StorageError.self) { try PostgresStores.metadata(at: stand.url) }
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

  /// "Not supported" of a trigger is nothing that COPY has to do with.
  @Test func onlyARefusedCopyEndsCopying() throws {
    let stand = try ServerStand(Library.make())
    try stand.sql(
      "CREATE FUNCTION \(stand.table("deny"))() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION USING ERRCODE = ''0A000'', MESSAGE = ''not here''; END'; CREATE TRIGGER deny BEFORE INSERT ON \(stand.table("book")) FOR EACH ROW EXECUTE FUNCTION \(stand.table("deny"))()"
    )
    let context = stand.context()
    try context.make("Book", ["title": "1"])
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.detail.contains("not here") == true)
    var isCopying = stand.store.copiesRows.load(ordering: .relaxed)
    #expect(isCopying)
    let many = stand.context()
    for number in 0..<RowStatements.leastCopied { try many.make("Book", ["title": "\(number)"]) }
    #expect(throws: StorageError.self) { try many.save() }
    isCopying = stand.store.copiesRows.load(ordering: .relaxed)
    #expect(!isCopying)
  }

  /// What somebody has made elsewhere of the store's tables is not dropped with them.
  @Test(arguments: [
    "CREATE VIEW %other.report AS SELECT name FROM %store.author",
    "CREATE TABLE %other.note (author bigint REFERENCES %store.author)",
    "CREATE FUNCTION %store.helper() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "CREATE SEQUENCE %store.counter",
  ])
  func whatDependsOnAStoreKeepsItFromBeingDestroyed(statement: String) throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    try context.make("Author", ["name": "Ada"])
    try context.save()
    let other = TestServer.freshNamespace()
    try stand.sql("CREATE SCHEMA \(other)")
    defer { _ = try? stand.sql("DROP SCHEMA \(other) CASCADE") }
    let own = Identifier.quoted(stand.store.mapping.namespace)
    try stand.sql(
      statement.replacingOccurrences(of: "%other", with: other).replacingOccurrences(of: "%store", with: own))
    let error = #expect(throws: StorageError.self) { try PostgresStores.destroy(at: stand.url) }
    #expect(error?.kind == .refused)
    let name = try #require(["report", "note", "helper", "counter"].first { statement.contains("." + $0) })
    #expect(error?.detail.contains(name) == true, "\(error as Any)")
    #expect(try stand.context().texts("Author", "name") == ["Ada"])
    try stand.sql(
      "DROP SCHEMA \(other) CASCADE; DROP FUNCTION IF EXISTS \(own).helper(); DROP SEQUENCE IF EXISTS \(own).counter"
    )
    try PostgresStores.destroy(at: stand.url)
    let left = try stand.sql(
      "SELECT 1 FROM pg_namespace WHERE nspname = '\(stand.store.mapping.namespace)'")
    #expect(left?.rowCount == 0)
  }
}
