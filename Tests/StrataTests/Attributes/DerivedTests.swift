import Foundation
import Strata
import Testing

/// Derived attributes: what they are, when they change, where that shows (rules 335–340, 232).
struct DerivedTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let album: ManagedObject

  init() throws {
    store = try TemporaryStore(DerivedModel.make())
    context = store.context()
    album = try context.make("Album", ["title": "Água Viva"])
    album["place"] = ["city": "RIO"]
    for (name, seconds) in [("one", 100), ("two", 200)] {
      try context.make(
        "Track", ["name": name, "seconds": seconds, "price": Decimal(string: "0.10") ?? 0, "album": album])
    }
    try context.save()
  }

  /// What another context reads.
  private func stored(_ entity: String, _ key: String, _ predicate: FetchPredicate? = nil) throws -> String {
    try store.fresh { context in
      try context.allOf(entity, predicate).map { $0[key].map { "\($0)" } ?? "nil" }.sorted().joined(
        separator: " ")
    }
  }

  @Test("rules 335, 336: every form is right in the saving object right after the save, and in every other")
  func allForms() throws {
    let expected: [String: String] = [
      "titleCopy": "Água Viva", "key": "agua viva", "upper": "ÁGUA VIVA", "lower": "água viva",
      "trackCount": "2",
      "seconds": "300", "price": "0.2", "tagCount": "0", "noteCount": "0",
    ]
    for (key, value) in expected {
      #expect(album[key].map { "\($0)" } == value, "\(key)")
      #expect(try stored("Album", key) == value, "\(key)")
    }
    let saved = try #require(album["saved"] as? Date)
    #expect(abs(saved.timeIntervalSinceNow) < 3_600)
    #expect(try stored("Track", "albumTitle") == "Água Viva Água Viva")
    #expect(try stored("Track", "city") == "rio rio")
    #expect(!context.hasChanges)
    #expect(album.committedValues(forKeys: ["trackCount"])["trackCount"] as? Int64 == 2)
    context.refresh(album, mergeChanges: false)
    #expect(album["trackCount"] as? Int64 == 2)
    let reopened = try store.reopened(DerivedModel.make())
    #expect(try reopened.fresh { try $0.onlyOf("Album")["key"] } as? String == "agua viva")
    #expect(try reopened.problems() == [])
  }

  @Test("a default value, which model editors leave behind, is not used")
  func defaultValue() throws {
    let model = DerivedModel.make { entities in
      entities["Album"]?.attributesByName["seconds"]?.defaultValue = 5
      entities["Album"]?.attributesByName["upper"]?.defaultValue = 0
    }
    let own = try TemporaryStore(model)
    let context = own.context()
    let fresh = try context.make("Album", ["title": "x"])
    #expect(fresh["seconds"] == nil && fresh["upper"] == nil)
    try context.save()
    #expect(fresh["seconds"] as? Int64 == 0 && fresh["upper"] as? String == "X")
  }

  @Test("rule 336: before the save a derived value is the old one, and no change by itself")
  func beforeTheSave() throws {
    album["title"] = "New"
    #expect(album["upper"] as? String == "ÁGUA VIVA")
    #expect(album.changedValues().keys.sorted() == ["title"])
    let fresh = try context.make("Album", ["title": "x"])
    #expect(fresh["upper"] == nil && fresh["trackCount"] == nil)
    try context.save()
    #expect(album["upper"] as? String == "NEW" && fresh["upper"] as? String == "X")
    #expect(fresh["trackCount"] as? Int64 == 0)
    #expect(!album.hasPersistentChangedValues && !context.hasChanges)
  }

  @Test("rule 337: fetched by, sorted by, indexed like stored attributes")
  func queries() throws {
    try context.make("Album", ["title": "Bossa"])
    try context.make("Live", ["title": "ÁGUA viva", "venue": "hall"])
    try context.save()
    try store.fresh { context in
      #expect(try context.allOf("Album", Attribute("key") == "agua viva").count == 2)
      #expect(try context.allOf("Album", Attribute("trackCount") == 2).count == 1)
      #expect(try context.allOf("Album", Attribute("trackCount") == 0).count == 2)
      #expect(try context.onlyOf("Live", Attribute("loudVenue") == "HALL")["key"] as? String == "agua viva")
      #expect(try context.allOf("Track", Attribute("albumTitle") == "Água Viva").count == 2)
      let sorted = try context.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Album",
          sortDescriptors: [FetchSort("trackCount", ascending: false), FetchSort("upper")]))
      #expect(sorted.map { $0["title"] as? String } == ["Água Viva", "Bossa", "ÁGUA viva"])
    }
    #expect(try store.problems() == [])
  }

  @Test("rule 338: aggregates follow members that come, go, move and are deleted")
  func members() throws {
    func check(_ count: Int64, _ seconds: Int64, _ place: String) throws {
      #expect(album["trackCount"] as? Int64 == count, "\(place)")
      #expect(album["seconds"] as? Int64 == seconds, "\(place)")
      #expect(try stored("Album", "trackCount", Attribute("title") == "Água Viva") == "\(count)", "\(place)")
      #expect(try store.problems() == [], "\(place)")
    }
    let third = try context.make("Track", ["name": "three", "seconds": 5, "album": album])
    try context.save()
    try check(3, 305, "added")
    let other = try context.make("Album", ["title": "Other"])
    third["album"] = other
    try context.save()
    try check(2, 300, "moved")
    #expect(other["trackCount"] as? Int64 == 1 && third["albumTitle"] as? String == "Other")
    context.delete(third)
    try context.save()
    #expect(other["trackCount"] as? Int64 == 0)
    context.delete(try context.onlyOf("Track", Attribute("name") == "one"))
    try context.save()
    try check(1, 200, "deleted")
    album["tracks"] = Set<ManagedObject>()
    try context.save()
    try check(0, 0, "emptied")
    #expect(try stored("Track", "albumTitle") == "nil")
  }

  @Test("rule 338: sums follow the members' values, also when another context changes them")
  func memberValues() throws {
    let other = store.context()
    let track = try other.onlyOf("Track", Attribute("name") == "one")
    track["seconds"] = 101
    track["price"] = Decimal(string: "1.05")
    try other.save()
    #expect(try stored("Album", "seconds") == "301")
    #expect(try stored("Album", "price") == "1.15")
    track["seconds"] = nil
    try other.save()
    #expect(try stored("Album", "seconds") == "200")
    #expect(try store.problems() == [])
  }

  @Test(
    "rule 338: copies across to-one relationships follow the other end: to-many, one-to-one and no inverse")
  func copiesAcross() throws {
    let cover = try context.make("Cover", ["album": album])
    let author = try context.make("Tag", ["name": "Ann"])
    let note = try context.make("Note", ["author": author])
    try context.save()
    #expect(cover["albumTitle"] as? String == "ÁGUA VIVA" && note["authorName"] as? String == "Ann")
    let other = store.context()
    try other.onlyOf("Album")["title"] = "Sol"
    try other.onlyOf("Tag")["name"] = "Bea"
    try other.save()
    #expect(try stored("Cover", "albumTitle") == "SOL")
    #expect(try stored("Note", "authorName") == "Bea")
    #expect(try stored("Track", "albumTitle") == "Sol Sol")
    #expect(try store.fresh { try $0.allOf("Track", Attribute("albumTitle") == "Sol").count } == 2)
    other.delete(try other.onlyOf("Tag"))
    try other.save()
    #expect(try stored("Note", "authorName") == "nil")
    #expect(try store.problems() == [])
  }

  @Test("rule 338: many-to-many relationships and those without inverse are counted")
  func otherRelationships() throws {
    let tags = try (0..<3).map { try context.make("Tag", ["name": "\($0)"]) }
    album["tags"] = Set(tags)
    album["notes"] = Set([try context.make("Note"), try context.make("Note")])
    try context.save()
    #expect(album["tagCount"] as? Int64 == 3 && album["noteCount"] as? Int64 == 2)
    tags[0]["albums"] = Set<ManagedObject>()
    context.delete(tags[1])
    context.delete(try context.allOf("Note")[0])
    try context.save()
    #expect(album["tagCount"] as? Int64 == 1 && album["noteCount"] as? Int64 == 1)
    #expect(try stored("Album", "tagCount") == "1")
    #expect(try stored("Album", "noteCount") == "1")
    #expect(try store.problems() == [])
  }

  @Test("objects of the saving context that were not saved show new values, and are reported as refreshed")
  func otherObjects() throws {
    let tracks = try context.allOf("Track")
    #expect(tracks.map { $0["albumTitle"] as? String } == ["Água Viva", "Água Viva"])
    let log = NotificationRecorder(context)
    album["title"] = "Mar"
    try context.save()
    #expect(tracks.map { $0["albumTitle"] as? String } == ["Mar", "Mar"])
    #expect(log.all.contains { $0.refreshed == Set(tracks.map(\.objectID)) })
    #expect(!context.hasChanges)
  }

  @Test("rule 335: now() is the moment of the object's own saves, not of those of others")
  func now() throws {
    let first = try #require(album["saved"] as? Date)
    try context.make("Track", ["album": album])
    try context.save()
    #expect(album["trackCount"] as? Int64 == 3)
    #expect(album["saved"] as? Date == first)
    album["title"] = "Later"
    try context.save()
    #expect(try #require(album["saved"] as? Date) > first)
  }

  @Test("rule 232: required derived attributes are not validated")
  func required() throws {
    let fresh = try context.make("Album")
    try fresh.validateForInsert()
    try context.save()
    #expect(fresh["trackCount"] as? Int64 == 0)
  }

  @Test("rollback, undo and an undone deletion: the store derives again")
  func undo() throws {
    let undo = UndoManager()
    context.undoManager = undo
    album["title"] = "Sol"
    try context.save()
    undo.undo()
    #expect(album["title"] as? String == "Água Viva" && album["upper"] as? String == "SOL")
    try context.save()
    #expect(album["upper"] as? String == "ÁGUA VIVA")
    album["title"] = "Lua"
    context.rollback()
    #expect(album["upper"] as? String == "ÁGUA VIVA")
    context.delete(album)
    try context.save()
    undo.undo()
    try context.save()
    #expect(album["trackCount"] as? Int64 == 2 && album["key"] as? String == "agua viva")
    #expect(try stored("Track", "albumTitle") == "Água Viva Água Viva")
    #expect(try store.problems() == [])
  }

  @Test("large values are copied, replaced and removed")
  func largeValues() throws {
    let long = String(repeating: "á", count: 5_000)
    album["title"] = long
    try context.save()
    #expect(album["upper"] as? String == long.uppercased())
    #expect(try stored("Track", "albumTitle") == "\(long) \(long)")
    let stale = store.context()
    let track = try stale.onlyOf("Track", Attribute("name") == "one")
    let shorter = String(long.dropLast())
    album["title"] = shorter
    try context.save()
    track["name"] = "uno"
    try stale.save()
    #expect(track["albumTitle"] as? String == shorter)
    #expect(try stored("Track", "albumTitle") == "\(shorter) \(shorter)")
    #expect(
      try store.fresh {
        try $0.allOf("Album", Attribute("key") == String(repeating: "a", count: 4_999)).count
      }
        == 1)
    album["title"] = "short"
    try context.save()
    #expect(try stored("Track", "albumTitle") == "short short")
    #expect(try store.problems() == [])
  }

  @Test("a large import: every row is right, in the objects too")
  func largeImport() throws {
    for number in 0..<5_000 {
      try context.make("Track", ["seconds": 1, "name": "n\(number)", "album": album])
    }
    try context.save()
    #expect(album["trackCount"] as? Int64 == 5_002 && album["seconds"] as? Int64 == 5_300)
    let tracks = try context.allOf("Track")
    #expect(tracks.allSatisfy { $0["albumTitle"] as? String == "Água Viva" })
    #expect(try store.fresh { try $0.allOf("Track", Attribute("albumTitle") == "Água Viva").count } == 5_002)
    #expect(try store.problems() == [])
  }

  @Test("a sum that does not fit fails the save, and nothing is lost")
  func overflow() throws {
    let store = try TemporaryStore(
      DerivedModel.make {
        let seconds = $0["Track"]?.attributesByName["seconds"]
        seconds?.attributeType = .integer64
      })
    let context = store.context()
    let album = try context.make("Album")
    let tracks = try (0..<2).map { _ in try context.make("Track", ["seconds": Int64.max, "album": album]) }
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationNumberTooLarge)
    #expect(context.insertedObjects.count == 3)
    tracks[0]["seconds"] = 0
    try context.save()
    #expect(album["seconds"] as? Int64 == .max)
    // What the parts come to does not matter.
    tracks[0]["seconds"] = 1
    _ = try context.make("Track", ["seconds": -1, "album": album])
    try context.save()
    #expect(album["seconds"] as? Int64 == .max)
  }
}
