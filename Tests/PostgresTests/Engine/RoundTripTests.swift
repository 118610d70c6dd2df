import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// How often the server is asked: each question costs the time of the way there and back.
@Suite struct RoundTripTests {
  /// The round trips that `body` makes.
  private func trips(_ stand: ServerStand, _ body: () throws -> Void) rethrows -> Int {
    let before = stand.store.roundTrips
    try body()
    return stand.store.roundTrips - before
  }

  @Test func savesTakeFewRoundTrips() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    func saved() throws -> Int { try trips(stand) { try context.save() } }
    // Keys are reserved once, and the statements prepared.
    let shelf = try context.make("Shelf", ["room": "Hall"])
    let author = try context.make("Author", ["name": "Ada"])
    try context.make("Book", ["title": "0", "author": author])
    try context.make("Subject", ["name": "first"])
    try context.save()
    let subject = try context.make("Subject", ["name": "s"])
    var count = try saved()
    #expect(count == 1, "a new object that nothing is asked about")
    try context.make("Book", ["title": "1", "code": "1", "author": author])
    count = try saved()
    #expect(count == 2, "a new object that must be unique and refers to another")
    shelf.setValue("Cellar", forKey: "room")
    count = try saved()
    #expect(count == 1, "a change")
    author.setValue("Bob", forKey: "name")
    count = try saved()
    #expect(count == 3, "a change of a value that must be unique")
    context.delete(subject)
    count = try saved()
    // The context itself asks whom the object is linked with.
    #expect(count <= 4, "a deletion")
    for number in 0..<200 { try context.make("Subject", ["name": "\(number)"]) }
    count = try saved()
    #expect(count == 1, "many new objects")
  }

  /// Rows that are replaced are not read before, when nothing depends on them but whether they are of the version that the save is based on.
  @Test func changesThatAreNotReadBeforeFindTheirConflicts() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    for number in 0..<6 { try context.make("Shelf", ["room": "\(number)"]) }
    try context.save()
    let (first, second) = (stand.context(), stand.context())
    second.mergePolicy = .error
    let (ours, theirs) = (try first.all("Shelf"), try second.all("Shelf"))
    for (number, shelf) in ours.enumerated() where number < 4 { shelf.setValue("ours", forKey: "room") }
    var count = try trips(stand) { try first.save() }
    #expect(count == 1, "a change of several rows")
    for (number, shelf) in theirs.enumerated() where number > 1 { shelf.setValue("theirs", forKey: "room") }
    let error = #expect(throws: CoreDataError.self) { try second.save() }
    // All rows in conflict are told, and no other; nothing was written.
    #expect((error?.userInfo[CoreDataError.Key.saveConflicts] as? [MergeConflict])?.count == 2)
    #expect(
      try stand.context().all("Shelf").compactMap { $0.value(forKey: "room") as? String }.sorted()
        == ["4", "5", "ours", "ours", "ours", "ours"])
    second.mergePolicy = .mergeByPropertyObjectTrump
    try second.save()
    #expect(
      try stand.context().all("Shelf").compactMap { $0.value(forKey: "room") as? String }.sorted()
        == ["ours", "ours", "theirs", "theirs", "theirs", "theirs"])
    // More rows than have a statement each.
    let third = stand.context()
    for shelf in try third.all("Shelf") { shelf.setValue("last", forKey: "room") }
    count = try trips(stand) { try third.save() }
    #expect(count == 1)
    #expect(try stand.context().all("Shelf").allSatisfy { $0.value(forKey: "room") as? String == "last" })
  }

  @Test func readsTakeOneRoundTrip() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let authors = try (0..<50).map { try context.make("Author", ["name": "\($0)"]) }
    for (number, author) in authors.enumerated() {
      for place in 0..<3 { try context.make("Book", ["title": "\(number) \(place)", "author": author]) }
    }
    try context.save()
    let reader = stand.context()
    let schema = stand.store.mapping.schema
    let entity = try #require(schema.entity(named: "Author"))
    let books = try #require(entity.relationships.first { $0.name == "books" })
    let request = FetchRequest<ManagedObject>(
      entityName: "Book", predicate: .comparison(key: "author.name", .beginsWith, "1"),
      sortDescriptors: [FetchSort("author.name"), FetchSort("title", ascending: false)], fetchLimit: 5)
    var found = 0
    var count = try trips(stand) { found = try reader.fetch(request).count }
    #expect(found == 5)
    #expect(count == 1, "a fetch")
    count = try trips(stand) { found = try reader.count(for: request) }
    #expect(found == 5)
    #expect(count == 1, "a count")
    let all = try ResolvedFetchRequest(FetchRequest<ManagedObject>(entityName: "Author"), schema: schema)
    let keys = try stand.store.fetch(all, mode: .identifiers).rows.map(\.primaryKey)
    #expect(keys.count == 50)
    var members: [[UInt64]] = []
    count = try trips(stand) {
      members = try stand.store.members(EdgeSet(relationship: books.number), of: keys)
    }
    #expect(members.allSatisfy { $0.count == 3 })
    #expect(count == 1, "the members of fifty owners")
    count = try trips(stand) {
      found = try stand.store.rows(hierarchy: entity.hierarchyNumber, primaryKeys: keys).compactMap(\.self)
        .count
    }
    #expect(found == 50)
    #expect(count == 1, "fifty rows by key")
  }
}
