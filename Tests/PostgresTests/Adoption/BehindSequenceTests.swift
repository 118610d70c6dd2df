import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Rows of somebody else's under keys that their sequence has not given yet, as imports and seeds write them.
@Suite struct BehindSequenceTests {
  private func key(_ object: ManagedObject) throws -> Int {
    try #require(Int(object.objectID.uriRepresentation().lastPathComponent.dropFirst()))
  }

  @Test func aSequenceThatIsBehindIsRefusedWithTheRemedy() throws {
    let stand = try AdoptedStand()
    let (shop, before) = (stand.shop, try stand.shape())
    try stand.sql("INSERT INTO \(shop).writer (id, full_name) VALUES (4, 'dan'), (9, 'eve')")
    let error = #expect(throws: StorageError.self) { try stand.open() }
    #expect(error?.kind == .invalid)
    let detail = error?.detail ?? ""
    #expect(detail.contains("“id” of “writer” has keys up to 9, and its sequence gives 4 next"))
    #expect(try stand.shape() == before)
    let remedy = try #require(detail.firstRange(of: "SELECT setval(").map { detail[$0.lowerBound...] })
    try stand.sql(String(remedy.dropLast()))
    let context = try stand.context(stand.open())
    let writer = try context.make("Writer", ["name": "fay"])
    try context.save()
    #expect(try key(writer) == 10)
  }

  @Test func keysThatRowsHaveAlreadyAreLeftOut() throws {
    let stand = try AdoptedStand()
    let context = try stand.context(stand.open())
    // More than one reservation, all of which the sequence has still to give.
    try stand.sql(
      "INSERT INTO \(stand.shop).writer (id, full_name) SELECT n, 'seed' FROM generate_series(4, 50) n")
    let writers = try (0..<20).map { try context.make("Writer", ["name": "own \($0)"]) }
    try context.save()
    let keys = try writers.map(key)
    #expect(keys.allSatisfy { $0 > 50 } && Set(keys).count == 20)
    #expect(
      try stand.texts("SELECT count(*)::text FROM \(stand.shop).writer WHERE full_name = 'seed'") == ["47"])
  }

  @Test(arguments: [
    MergePolicy.error, .overwrite, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .rollback,
  ]) func noMergePolicyDecidesAboutARowOfAStranger(policy: MergePolicy) throws {
    let stand = try AdoptedStand()
    let context = try stand.context(stand.open())
    context.mergePolicy = policy
    let writer = try context.make("Writer", ["name": "own"])
    let key = try key(writer)
    try stand.sql("INSERT INTO \(stand.shop).writer (id, full_name) VALUES (\(key), 'stranger')")
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .refused && error?.detail.contains("p\(key)") == true)
    #expect(
      try stand.texts("SELECT full_name FROM \(stand.shop).writer WHERE id = \(key)") == ["stranger"])
    context.delete(writer)
    try context.make("Writer", ["name": "again"])
    try context.save()
    #expect(
      try stand.texts("SELECT full_name FROM \(stand.shop).writer WHERE id > 3 ORDER BY full_name")
        == ["again", "stranger"])
  }

  /// An object that was deleted elsewhere and is written again keeps its key.
  @Test func anObjectThatIsWrittenAgainIsNoStranger() throws {
    let stand = try AdoptedStand()
    let context = try stand.context(stand.open())
    context.mergePolicy = .overwrite
    let writer = try #require(try context.all("Writer", Attribute("name") == "cem").first)
    writer.setValue("Cem", forKey: "name")
    try stand.sql("DELETE FROM \(stand.shop).writer WHERE id = 3")
    try context.save()
    #expect(try stand.texts("SELECT full_name FROM \(stand.shop).writer WHERE id = 3") == ["Cem"])
  }

  @Test func theSequenceIsFoundWhereverTheTableIs() throws {
    let stand = try AdoptedStand()
    let context = try stand.context(stand.open())
    let other = TestServer.freshNamespace()
    try stand.sql(
      "CREATE SCHEMA \(other); ALTER TABLE \(stand.shop).writer SET SCHEMA \(other); ALTER TABLE \(other).writer RENAME TO author"
    )
    let writer = try context.make("Writer", ["name": "moved"])
    try context.save()
    #expect(
      try stand.texts("SELECT full_name FROM \(other).author WHERE id = \(key(writer))") == ["moved"])
    try stand.sql(
      "ALTER TABLE \(other).author RENAME TO writer; ALTER TABLE \(other).writer SET SCHEMA \(stand.shop); DROP SCHEMA \(other)"
    )
  }
}
