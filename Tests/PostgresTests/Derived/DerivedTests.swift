import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// Derived attributes on a server are those of LMDB, after whatever has been saved.
@Suite struct DerivedTests {
  /// The same program on both engines.
  private struct Stack {
    let coordinator: PersistentStoreCoordinator
    func context() -> ManagedObjectContext { ManagedObjectContext(.confinement, coordinator: coordinator) }
  }

  private func onBoth(
    recordsHistory: Bool = false, _ body: (Stack) throws -> [String]
  ) throws {
    var options = PostgresStoreOptions()
    options.recordsHistory = recordsHistory
    let stand = try ServerStand(Discography.make(), options: options)
    let twin = PersistentStoreCoordinator(managedObjectModel: Discography.make())
    var description = PersistentStoreDescription.inMemory
    description.recordsHistory = recordsHistory
    try twin.addPersistentStore(description)
    let here = try body(Stack(coordinator: stand.coordinator))
    let there = try body(Stack(coordinator: twin))
    #expect(here == there)
    #expect(here.joined().count > 300)
  }

  private func fill(_ context: ManagedObjectContext) throws {
    let albums = try (0..<3).map {
      try context.make($0 == 2 ? "Live" : "Album", ["title": "Álbum \($0)", "year": Int32(1_990 + $0)])
    }
    albums[2].setValue("Rio", forKey: "venue")
    for number in 0..<9 {
      let track = try context.make(
        "Track",
        [
          "name": "\(number)", "seconds": Int64(number * 10), "weight": 0.1 * Double(number),
          "price": Decimal(number) / 8, "album": albums[number % 3],
        ])
      if number % 2 == 0 {
        albums[0].setValue([track] + albums[0].list("bonus"), forKey: "bonus")
      }
    }
    let tags = try (0..<3).map { try context.make("Tag", ["name": "tag \($0)"]) }
    albums[0].add(tags, to: "tags")
    albums[1].add([tags[1]], to: "tags")
    for tag in tags {
      let note = try context.make("Note", ["text": "n", "author": tag])
      albums[2].add([note], to: "notes")
    }
    albums[1].setValue(try context.make("Cover", ["note": "c"]), forKey: "cover")
    try context.save()
  }

  @Test func valuesAreThoseOfLMDB() throws {
    try onBoth { stack in
      let context = stack.context()
      var lines: [String] = []
      func step(_ name: String, _ body: () throws -> Void) throws {
        try body()
        try context.save()
        // In the objects that were saved, in those that follow from them, and in the store.
        let own = try Discography.told(context)
        let fresh = stack.context()
        #expect(try Discography.told(fresh) == own, "\(name)")
        lines += [name] + own
      }
      func one(_ entity: String, _ key: String, _ text: String) throws -> ManagedObject {
        try #require(try context.all(entity, .comparison(key: key, .equal, .string(text))).first)
      }
      try step("filled") { try fill(context) }
      try step("a title") { try one("Album", "title", "Álbum 0").setValue("Novo", forKey: "title") }
      try step("a long title") {
        try one("Album", "title", "Novo").setValue(String(repeating: "é", count: 3_000), forKey: "title")
      }
      try step("a short one again") {
        try one("Album", "key", String(repeating: "e", count: 3_000)).setValue("Curto", forKey: "title")
      }
      try step("a member moves") {
        try one("Track", "name", "1").setValue(try one("Album", "title", "Curto"), forKey: "album")
      }
      try step("a member's value") { try one("Track", "name", "3").setValue(Int64(7_000), forKey: "seconds") }
      try step("a member's value of nil") { try one("Track", "name", "3").setValue(nil, forKey: "price") }
      try step("a member is nobody's") { try one("Track", "name", "4").setValue(nil, forKey: "album") }
      try step("members go") { context.delete(try one("Track", "name", "6")) }
      try step("links") {
        let tag = try one("Tag", "name", "tag 2")
        tag.setValue(Set(try context.all("Album")), forKey: "albums")
        try one("Album", "title", "Álbum 1").setValue(Set<ManagedObject>(), forKey: "tags")
      }
      try step("a linked one goes") { context.delete(try one("Tag", "name", "tag 0")) }
      try step("an author's name") { try one("Tag", "name", "tag 1").setValue("Ann", forKey: "name") }
      try step("the other end of a pair") {
        try one("Album", "title", "Álbum 1").setValue("Capa", forKey: "title")
      }
      try step("a pair parts") { try one("Album", "title", "Capa").setValue(nil, forKey: "cover") }
      try step("the order of members") {
        let album = try one("Album", "title", "Curto")
        album.setValue(Array(album.list("bonus").reversed()), forKey: "bonus")
      }
      try step("an owner goes with its members") { context.delete(try one("Album", "title", "Curto")) }
      return lines
    }
  }

  @Test func theHistoryTellsOfThemWhatLMDBTells() throws {
    try onBoth(recordsHistory: true) { stack in
      let context = stack.context()
      try fill(context)
      let album = try #require(try context.all("Album", by: "title").first)
      album.setValue("Novo", forKey: "title")
      try context.save()
      try context.make("Track", ["name": "new", "album": album])
      try context.save()
      context.delete(try #require(try context.all("Track", by: "name").first))
      try context.save()
      return try stack.coordinator.history(.fetchHistory(after: .beginning)).transactions.flatMap {
        transaction in
        ["transaction"]
          + (transaction.changes ?? []).map {
            "\($0.changedObjectID.entityName) \($0.changedObjectID.uriRepresentation().lastPathComponent) \($0.changeType) \($0.updatedPropertyNames.sorted())"
          }.sorted()
      }
    }
  }

  @Test func batchesKeepThemUp() throws {
    try onBoth { stack in
      let context = stack.context()
      try fill(context)
      func lines() throws -> [String] { try Discography.told(stack.context()) }
      var all: [String] = []
      _ = try context.execute(
        BatchUpdateRequest(entityName: "Track", propertiesToUpdate: ["seconds": Int64(5)]))
      all += try lines()
      _ = try context.execute(
        BatchUpdateRequest(
          entityName: "Album", predicate: .comparison(key: "title", .endsWith, "1"),
          propertiesToUpdate: ["title": "Batch", "year": Int32(2_000)]))
      all += try lines()
      _ = try context.execute(
        BatchInsertRequest(
          entityName: "Album", objects: (0..<5).map { ["title": "Neu \($0)", "year": Int32($0)] }))
      all += try lines()
      let request = FetchRequest<ManagedObject>(
        entityName: "Track", predicate: .comparison(key: "name", .less, "4"))
      _ = try context.execute(BatchDeleteRequest(fetchRequest: request))
      all += try lines()
      _ = try context.execute(
        BatchDeleteRequest(
          fetchRequest: FetchRequest<ManagedObject>(
            entityName: "Album", predicate: .comparison(key: "title", .equal, "Álbum 0"))))
      return all + (try lines())
    }
  }

  /// Rows of a later step have got other versions by what was derived from an earlier one.
  @Test func aBatchInSeveralStepsKeepsThemUp() throws {
    func model() -> ManagedObjectModel {
      let node = EntityDescription(
        "Node",
        properties: [
          AttributeDescription("amount", .integer64, isOptional: true),
          AttributeDescription("text", .string, isOptional: true),
          DerivedAttributeDescription("total", .integer64, derivationExpression: "children.@sum.amount"),
        ])
      let parent = RelationshipDescription("parent", to: node, maxCount: 1)
      let children = RelationshipDescription("children", to: node, maxCount: 0)
      parent.inverseRelationship = children
      children.inverseRelationship = parent
      node.properties += [parent, children]
      return ManagedObjectModel(entities: [node])
    }
    var options = PostgresStoreOptions()
    options.batchStep = 7
    let stand = try ServerStand(model(), options: options)
    let context = stand.context()
    var nodes: [ManagedObject] = []
    for number in 0..<60 {
      let node = try context.make(
        "Node", ["amount": Int64(number), "text": String(repeating: "t", count: number * 50)])
      // Leaders come last: what is derived from the first rows is theirs.
      if number >= 50 {
        for other in nodes[(number - 50) * 5..<(number - 49) * 5] { other.setValue(node, forKey: "parent") }
      }
      nodes.append(node)
    }
    try context.save()
    let result = try stand.context().execute(
      BatchUpdateRequest(
        entityName: "Node",
        propertiesToUpdate: ["amount": try FetchExpression(format: "amount + 1"), "text": "new"]))
    #expect(result.count == 60)
    let reader = stand.context()
    for node in try reader.all("Node") {
      let children = node.set("children")
      let sum = children.reduce(Int64(0)) { $0 + ($1.value(forKey: "amount") as? Int64 ?? 0) }
      #expect(node.value(forKey: "total") as? Int64 == sum)
      #expect(node.value(forKey: "text") as? String == "new")
    }
    #expect(
      try reader.all("Node").reduce(0) { $0 + ($1.value(forKey: "amount") as? Int64 ?? 0) } == 60 * 59 / 2
        + 60)
  }

  @Test("a row that changed in derived values alone is no conflict", arguments: [true, false])
  func derivedChangesAreNoConflict(isLarge: Bool) throws {
    let stand = try ServerStand(Discography.make())
    let context = stand.context()
    let title = isLarge ? String(repeating: "x", count: 5_000) : "Title"
    let album = try context.make("Album", ["title": title])
    let track = try context.make("Track", ["name": "1", "album": album])
    try context.save()
    let stale = stand.context()
    let (same, member) = (
      try #require(try stale.all("Album").first), try #require(try stale.all("Track").first)
    )
    _ = (same.value(forKey: "title"), member.value(forKey: "name"))
    // Others add members, and give the album another title.
    for number in 2...4 {
      try context.make("Track", ["name": "\(number)", "album": album])
      try context.save()
    }
    album.setValue("Y" + title, forKey: "title")
    try context.save()
    member.setValue("uno", forKey: "name")
    try stale.save()
    #expect(member.value(forKey: "albumTitle") as? String == ("Y" + title).lowercased())
    same.setValue(Int32(5), forKey: "year")
    let error = #expect(throws: CoreDataError.self) { try stale.save() }
    #expect(error?.code == .managedObjectMerge, "the title has changed, which is a value of its own")
    stale.refresh(same, mergeChanges: false)
    for number in 5...6 {
      try context.make("Track", ["name": "\(number)", "album": album])
      try context.save()
    }
    same.setValue(Int32(5), forKey: "year")
    for number in 7...8 {
      try context.make("Track", ["name": "\(number)", "album": album])
      try context.save()
    }
    try stale.save()
    #expect(same.value(forKey: "trackCount") as? Int64 == 8)
    // The row's version is behind all that there were: the next save of whoever has seen it succeeds.
    same.setValue(Int32(6), forKey: "year")
    try stale.save()
    let fresh = stand.context()
    #expect(try Discography.told(fresh).contains { $0.contains("trackCount=8") && $0.contains("year=6") })
    withExtendedLifetime(track) {}
  }

  @Test func aSumThatDoesNotFitFailsTheSaveAndNothingIsLost() throws {
    let stand = try ServerStand(Discography.make())
    let context = stand.context()
    let album = try context.make("Album", ["title": "t"])
    let tracks = try (0..<2).map {
      try context.make("Track", ["seconds": Int64.max - Int64($0), "album": album])
    }
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationNumberTooLarge)
    #expect(try stand.context().all("Album").isEmpty)
    tracks[0].setValue(Int64(1), forKey: "seconds")
    try context.save()
    #expect(album.value(forKey: "seconds") as? Int64 == .max)
  }

  @Test func whatFollowsFromARowAloneTakesNoRoundTrip() throws {
    let stand = try ServerStand(Discography.make())
    let context = stand.context()
    func trips(_ body: () throws -> Void) throws -> Int {
      try body()
      let before = stand.store.roundTrips
      try context.save()
      return stand.store.roundTrips - before
    }
    let album = try context.make("Album", ["title": "t"])
    try context.make("Track", ["name": "0"])
    try context.save()
    #expect(try trips { try context.make("Album", ["title": "u"]) } == 1, "a new row that nothing refers to")
    #expect(try trips { album.setValue(Int32(1), forKey: "year") } == 3, "a value that others look at")
    #expect(try trips { try context.make("Track", ["name": "1", "album": album]) } == 3, "a new member")
    #expect(album.value(forKey: "trackCount") as? Int64 == 1)
    #expect(
      try trips { for _ in 0..<300 { try context.make("Track", ["name": "2", "album": album]) } } == 3,
      "many new members")
  }

  /// Two programs at once: each adds and takes away members of the same owners.
  @Test func countsAreRightWhoeverWrites() throws {
    let stand = try ServerStand(Discography.make())
    let stands = [stand, try stand.neighbour(Discography.make())]
    let context = stand.context()
    for number in 0..<3 { try context.make("Album", ["title": "\(number)"]) }
    try context.save()
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      var random = SeededGenerator(seed: UInt64(thread) + 1)
      for number in 0..<30 {
        do {
          let context = stands[thread % 2].context()
          let albums = try context.all("Album", by: "title")
          if number % 5 == 4 {
            let tracks = try context.all("Track", .comparison(key: "name", .equal, .string("\(thread)")))
            if let track = tracks.first { context.delete(track) }
          } else {
            try context.make(
              "Track",
              [
                "name": "\(thread)", "seconds": Int64(number), "weight": 0.5,
                "album": albums[random.below(3)],
              ])
          }
          try context.save()
        } catch { Issue.record(error) }
      }
    }
    let reader = stands[1].context()
    for album in try reader.all("Album", by: "title") {
      let tracks = album.set("tracks")
      #expect(album.value(forKey: "trackCount") as? Int64 == Int64(tracks.count))
      let seconds = tracks.reduce(0) { $0 + ($1.value(forKey: "seconds") as? Int64 ?? 0) }
      #expect(album.value(forKey: "seconds") as? Int64 == seconds)
      #expect(album.value(forKey: "weight") as? Double == 0.5 * Double(tracks.count))
    }
    #expect(try reader.all("Track").count == 4 * 18)
  }

  @Test func aMigrationComputesThem() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("der-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = try TestServer.required().url(TestServer.freshNamespace())
    defer { try? PostgresStores.destroy(at: url) }
    var all: [[String]] = []
    for url in [url, folder.appendingPathComponent("Music.strata")] {
      func open(_ derives: Bool) throws -> PersistentStoreCoordinator {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: Discography.make(derives: derives))
        try coordinator.addPersistentStore(
          url.isFileURL
            ? PersistentStoreDescription(url: url) : PersistentStoreDescription(type: .postgres, url: url))
        return coordinator
      }
      let old = try open(false)
      let writer = ManagedObjectContext(.confinement, coordinator: old)
      try fill(writer)
      try writer.make("Album", ["title": String(repeating: "Ü", count: 2_000)])
      try writer.save()
      try old.remove(old.persistentStores[0])
      let new = try open(true)
      let context = ManagedObjectContext(.confinement, coordinator: new)
      var lines = try Discography.told(context)
      let album = try #require(try context.all("Album", by: "title").last)
      try context.make("Track", ["name": "later", "album": album])
      try context.save()
      lines += try Discography.told(ManagedObjectContext(.confinement, coordinator: new))
      all.append(lines)
      try new.remove(new.persistentStores[0])
    }
    #expect(all[0] == all[1])
    #expect(all[0].contains { $0.contains("trackCount=3") && $0.contains("noteCount=3") })
  }
}
