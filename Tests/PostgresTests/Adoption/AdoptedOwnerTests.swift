import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What the owner of taken-over tables has that the model says nothing of, and rows without what the model asks for.
@Suite struct AdoptedOwnerTests {
  @Test(
    .timeLimit(.minutes(2)),
    arguments: [
      "(lower(full_name))", "(born) WHERE full_name > ''", "(born, full_name)", "(email) WHERE born > 0",
    ])
  func aUniqueIndexThatIsNotTheModelsIsNamed(parts: String) throws {
    let stand = try AdoptedStand()
    try stand.sql("CREATE UNIQUE INDEX owners_index ON \(stand.shop).writer \(parts)")
    if parts.hasPrefix("(email)") {
      // Not the one that the model has: it would refuse the row, too.
      try stand.sql("ALTER TABLE \(stand.shop).writer DROP CONSTRAINT writer_email_key")
    }
    let model = AdoptedStand.model()
    if parts.hasPrefix("(email)") { model.entitiesByName["Writer"]?.uniquenessConstraints = [] }
    let context = stand.context(try stand.open(model))
    _ = try context.make(
      "Writer", ["name": "ada", "born": Int32(1815), "email": "ada@example.org"])
    if !parts.hasPrefix("(email)") { context.insertedObjects.first?.setValue(nil, forKey: "email") }
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused)
    for part in ["“owners_index”", "“writer”", "not a constraint of the model's"] {
      #expect(error?.detail.contains(part) == true, "\(error?.detail ?? "")")
    }
    context.rollback()
    _ = try context.make("Writer", ["name": "other", "born": Int32(7)])
    try context.save()
  }

  @Test func rowsWithoutRequiredValuesAreCounted() throws {
    let stand = try AdoptedStand()
    let model = AdoptedStand.model()
    model.entitiesByName["Writer"]?.attributesByName["born"]?.isOptional = false
    model.entitiesByName["Book"]?.relationshipsByName["writer"]?.isOptional = false
    try stand.sql("INSERT INTO \(stand.shop).writer (full_name) VALUES ('dora')")
    let error = #expect(throws: StorageError.self) { try stand.open(model) }
    #expect(error?.kind == .invalid)
    for part in [
      "“born” of “writer” is NULL in 2 rows", "Writer.born is not optional",
      "“writer_id” of “Book” is NULL in 1 row,", "Book.writer is not optional",
    ] { #expect(error?.detail.contains(part) == true, "\(part)") }
    try stand.sql(
      "UPDATE \(stand.shop).writer SET born = 0 WHERE born IS NULL; UPDATE \(stand.shop).\"Book\" SET writer_id = 1"
    )
    let context = stand.context(try stand.open(model))
    #expect(try context.all("Writer").count == 4)
  }

  /// A whole table is read, which may take longer than the server may keep silent otherwise.
  @Test(.timeLimit(.minutes(2))) func countingMayTakeItsTime() throws {
    let connection = try PostgresConnection(
      ServerAddress(TestServer.required().url("none")), password: nil,
      deadline: ContinuousClock.now + .seconds(30), patience: .milliseconds(200))
    let question = SQLStatement("SELECT 7::bigint FROM pg_catalog.pg_sleep(2)")
    #expect(try TableAdoption.counted(question, on: connection).integer(0, 0) == 7)
    #expect(connection.patience == .milliseconds(200))
    #expect(throws: StorageError.self) { try connection.run(question) }
  }
}
