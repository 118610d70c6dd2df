import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Who makes an object cannot be told that the server gives no key for it, and goes on; who saves it is told.
@Suite struct KeyRefusalTests {
  @Test func withoutTheRightToTheSequenceTheSaveFails() throws {
    let stand = try ServerStand(Library.make())
    let namespace = Identifier.quoted(stand.store.mapping.namespace)
    let role = "clerk_" + UUID().uuidString.prefix(8).lowercased()
    try stand.sql(
      "CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(namespace) TO \(role); GRANT ALL ON ALL TABLES IN SCHEMA \(namespace) TO \(role)"
    )
    defer { _ = try? stand.sql("DROP OWNED BY \(role); DROP ROLE \(role)") }
    var components = try #require(URLComponents(url: stand.url, resolvingAgainstBaseURL: false))
    components.queryItems = components.queryItems?.map {
      $0.name == "user" ? URLQueryItem(name: "user", value: role) : $0
    }
    let other = try ServerStand(Library.make(), url: components.url)
    let context = other.context()
    let objects = try (0..<3).map { try context.make("Subject", ["name": "\($0)"]) }
    #expect(Set(objects.map(\.objectID)).count == 3)
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused && error?.detail.contains("42501") == true)
    #expect(error?.detail.contains("a new Subject") == true)
    try stand.sql("GRANT USAGE ON ALL SEQUENCES IN SCHEMA \(namespace) TO \(role)")
    // Those have no keys still; new ones have.
    #expect(throws: StorageError.self) { try context.save() }
    for object in objects { context.delete(object) }
    try context.make("Subject", ["name": "last"])
    try context.save()
    #expect(try stand.context().texts("Subject", "name") == ["last"])
  }

  @Test func aSequenceAtItsEndFailsTheSaveOfTheNewAlone() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let author = try context.make("Author", ["name": "Ada"])
    try context.save()
    let sequence = stand.store.mapping.table(
      ofEntity: try #require(stand.store.mapping.schema.entity(named: "Subject")).number
    ).sequence
    try stand.sql("SELECT setval('\(sequence)', 2); ALTER SEQUENCE \(sequence) MAXVALUE 2")
    let subject = try context.make("Subject", ["name": "none"])
    author.setValue("Ada Lovelace", forKey: "name")
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused && error?.detail.contains("2200H") == true)
    context.delete(subject)
    try context.save()
    #expect(try stand.context().texts("Author", "name") == ["Ada Lovelace"])
  }

  @Test func batchesAreRefusedAtOnce() throws {
    let stand = try ServerStand(Library.make())
    let sequence = stand.store.mapping.tables.map(\.sequence).sorted()
    for name in sequence { try stand.sql("SELECT setval('\(name)', 2); ALTER SEQUENCE \(name) MAXVALUE 2") }
    let context = stand.context()
    #expect(throws: (any Error).self) {
      try context.execute(BatchInsertRequest(entityName: "Subject", objects: [["name": "none"]]))
    }
    #expect(try context.all("Subject").isEmpty)
  }
}
