import Foundation
import Strata
import Testing

/// Derived attributes with several writers, in hierarchies, and misused (rules 200, 335–340).
struct DerivedSharingTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let album: ManagedObject

  init() throws {
    store = try TemporaryStore(DerivedModel.make())
    context = store.context()
    album = try context.make("Album", ["title": "Sol"])
    try context.save()
  }

  private func count() throws -> Int64? { try store.fresh { try $0.onlyOf("Album")["trackCount"] as? Int64 } }

  @Test("rule 200: contexts that each add a child do not conflict, and the count is right")
  func twoWriters() throws {
    let contexts = (0..<3).map { _ in store.context() }
    for context in contexts {
      try context.make("Track", ["album": try context.onlyOf("Album"), "seconds": 1])
    }
    for context in contexts { try context.save() }
    #expect(try count() == 3)
    #expect(try contexts[2].onlyOf("Album")["trackCount"] as? Int64 == 3)
    #expect(try store.problems() == [])
  }

  @Test("a row that others have changed in derived values only is no conflict; one that was edited is")
  func conflicts() throws {
    let editor = store.context()
    let edited = try editor.onlyOf("Album")
    #expect(edited["title"] as? String == "Sol")
    try context.make("Track", ["album": album])
    try context.save()
    edited["title"] = "Lua"
    try editor.save()
    #expect(edited["trackCount"] as? Int64 == 1 && edited["upper"] as? String == "LUA")
    #expect(try count() == 1)
    album["title"] = "Mar"
    #expect(#expect(throws: CoreDataError.self) { try context.save() }?.code == .managedObjectMerge)
    context.mergePolicy = .overwrite
    try context.save()
    #expect(album["trackCount"] as? Int64 == 1 && album["upper"] as? String == "MAR")
    // Deleting is based on the same version.
    let other = store.context()
    try other.make("Track", ["album": try other.onlyOf("Album")])
    try other.save()
    context.mergePolicy = .error
    context.delete(album)
    try context.save()
    #expect(try store.fresh { try $0.allOf("Track").count } == 0)
    #expect(try store.problems() == [])
  }

  @Test("two edits of a row that has changed in derived values before are a conflict all the same")
  func conflictsAfterDerivedChanges() throws {
    let early = store.context()
    let readEarly = try early.onlyOf("Album")
    #expect(readEarly["title"] as? String == "Sol")
    try context.make("Track", ["album": album])
    try context.save()
    let (first, second) = (store.context(), store.context())
    let (mine, theirs) = (try first.onlyOf("Album"), try second.onlyOf("Album"))
    #expect(theirs["trackCount"] as? Int64 == 1)
    mine["title"] = "Lua"
    try first.save()
    for (context, object) in [(second, theirs), (early, readEarly)] {
      object["title"] = "Mar"
      #expect(#expect(throws: CoreDataError.self) { try context.save() }?.code == .managedObjectMerge)
    }
    #expect(try store.fresh { try $0.onlyOf("Album")["upper"] as? String } == "LUA")
  }

  @Test("saves at the same time, from many threads")
  func manyThreads() async throws {
    let (store, id) = (store, album.objectID)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          let context = store.context(.privateQueue)
          for round in 0..<5 {
            await context.perform {
              do {
                let album = try context.existingObject(with: id)
                try context.make("Track", ["album": album, "seconds": 2, "name": "\(number) \(round)"])
                try context.save()
              } catch { Issue.record(error) }
            }
          }
        }
      }
    }
    #expect(try count() == 40)
    #expect(try store.fresh { try $0.onlyOf("Album")["seconds"] as? Int64 } == 80)
    #expect(try store.problems() == [])
  }

  @Test("did-save notifications bring derived values to other contexts, also of rows that were not edited")
  func merging() throws {
    let other = store.context()
    let theirs = try other.onlyOf("Album")
    #expect(theirs["trackCount"] as? Int64 == 0)
    theirs["place"] = ["city": "Rio"]
    let saved = Guarded<Notification?>(nil)
    let observer = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: context, queue: nil
    ) { notification in saved.withLock { $0 = notification } }
    defer { NotificationCenter.default.removeObserver(observer) }
    try context.make("Track", ["album": album])
    try context.save()
    other.mergeChanges(fromContextDidSave: try #require(saved.withLock { $0 }))
    #expect(theirs["trackCount"] as? Int64 == 1)
    #expect(theirs.changedValues().keys.sorted() == ["place"])
    try other.save()
    #expect(try count() == 1)
  }

  @Test("a child has the old values until the store has the save; then parent and child have the new ones")
  func children() throws {
    let parent = store.context()
    let child = ManagedObjectContext(.confinement, parent: parent)
    let own = try child.existingObject(with: album.objectID)
    own["title"] = "Lua"
    let track = try child.make("Track", ["album": own, "seconds": 7])
    try child.save()
    #expect(
      own["upper"] as? String == "SOL" && own["trackCount"] as? Int64 == 0 && track["albumTitle"] == nil)
    let middle = try parent.existingObject(with: album.objectID)
    #expect(middle["upper"] as? String == "SOL")
    try parent.save()
    #expect(middle["upper"] as? String == "LUA" && middle["trackCount"] as? Int64 == 1)
    child.refreshAllObjects()
    #expect(own["upper"] as? String == "LUA" && own["trackCount"] as? Int64 == 1)
    #expect(track["albumTitle"] as? String == "Lua")
    own["title"] = "Mar"
    try child.save()
    try parent.save()
    #expect(middle["upper"] as? String == "MAR")
    #expect(try store.problems() == [])
  }

  @Test("rule 336: didSave() sees derived values, after synchronous and asynchronous saves")
  func didSave() async throws {
    let store = try TemporaryStore(
      DerivedModel.make { $0["Cover"]?.managedObjectClass = DerivedWitness.self })
    let context = store.context(.privateQueue)
    try await context.perform {
      let album = try context.make("Album", ["title": "sol"])
      let cover = DerivedWitness(context: context)
      cover["album"] = album
      try context.save()
      #expect(DerivedWitness.seen.withLock { $0 } == ["SOL"])
      album["title"] = "lua"
      cover["note"] = "changed"
    }
    try await context.saveAsynchronously()
    #expect(DerivedWitness.seen.withLock { $0 } == ["SOL", "LUA"])
  }

  @Test("asynchronous saves bring the values into the objects")
  func asynchronous() async throws {
    let context = store.context(.privateQueue)
    let id = album.objectID
    try await context.perform {
      let album = try context.existingObject(with: id)
      album["title"] = "Lua"
      try context.make("Track", ["album": album, "name": "t"])
    }
    try await context.saveAsynchronously()
    try await context.perform {
      let album = try context.existingObject(with: id)
      #expect(album["upper"] as? String == "LUA" && album["trackCount"] as? Int64 == 1)
      #expect(try context.onlyOf("Track")["albumTitle"] as? String == "Lua")
      #expect(!context.hasChanges)
      try context.make("Track", ["album": album, "name": "u"])
    }
    try await context.saveAsynchronously()
    try await context.perform {
      let album = try context.existingObject(with: id)
      #expect(album["trackCount"] as? Int64 == 2)
    }
    #expect(try store.problems() == [])
  }

  @Test("random changes by three contexts: derived values are what the rows say", arguments: 0..<6)
  func random(_ seed: Int) throws {
    var dice = Dice(seed: UInt64(seed) &* 7_919 &+ 3)
    let store = try TemporaryStore(DerivedModel.make())
    let contexts = (0..<3).map { _ in store.context() }
    for context in contexts { context.mergePolicy = .mergeByPropertyObjectTrump }
    for _ in 0..<120 {
      let context = contexts[dice.roll(3)]
      let albums = try context.allOf("Album")
      let tracks = try context.allOf("Track")
      switch dice.roll(8) {
      case 0: try context.make(dice.roll(2) == 0 ? "Album" : "Live", ["title": dice.word()])
      case 1, 2:
        try context.make(
          "Track", ["seconds": dice.roll(100), "album": albums.randomElement(using: &dice) ?? NSNull()])
      case 3:
        albums.randomElement(using: &dice)?["title"] = String(
          repeating: dice.word(), count: dice.roll(2) * 900 + 1)
      case 4: tracks.randomElement(using: &dice)?["seconds"] = dice.roll(100)
      case 5: tracks.randomElement(using: &dice)?["album"] = albums.randomElement(using: &dice)
      case 6:
        if let object = (dice.roll(4) == 0 ? albums : tracks).randomElement(using: &dice) {
          context.delete(object)
        }
      default: try context.save()
      }
    }
    for context in contexts { try context.save() }
    #expect(try store.problems() == [], "seed \(seed)")
    try store.fresh { context in
      for album in try context.allOf("Album") {
        let tracks = album["tracks"] as? Set<ManagedObject> ?? []
        let title = album["title"] as? String
        #expect(album["trackCount"] as? Int64 == Int64(tracks.count), "seed \(seed)")
        #expect(
          album["seconds"] as? Int64 == tracks.reduce(0) { $0 + ($1["seconds"] as? Int64 ?? 0) },
          "seed \(seed)")
        #expect(album["upper"] as? String == title?.uppercased(), "seed \(seed)")
        for track in tracks { #expect(track["albumTitle"] as? String == title, "seed \(seed)") }
        #expect(
          try context.allOf("Album", Attribute("trackCount") == tracks.count).contains { $0 === album },
          "seed \(seed)")
      }
    }
  }

  @Test("a salvaged store has derived values that are right, and takes further saves")
  func salvage() throws {
    for name in ["a", "b"] {
      try context.make("Track", ["name": name, "seconds": 3, "album": album])
    }
    album["tags"] = Set([try context.make("Tag")])
    try context.save()
    let rescued = store.folderURL.appendingPathComponent("Rescued.strata")
    try store.close()
    _ = try LMDBStore.salvage(from: store.url, to: rescued)
    let other = try store.neighbour("Rescued.strata", DerivedModel.make())
    try other.fresh { context in
      let album = try context.onlyOf("Album")
      #expect(album["trackCount"] as? Int64 == 2 && album["seconds"] as? Int64 == 6)
      #expect(album["tagCount"] as? Int64 == 1 && album["upper"] as? String == "SOL")
      #expect(try context.allOf("Track", Attribute("albumTitle") == "Sol").count == 2)
      try context.make("Track", ["album": album])
      try context.save()
      #expect(album["trackCount"] as? Int64 == 3)
    }
    #expect(try other.problems() == [])
  }

  @Test("setting a derived attribute by key, or through a typed accessor, traps with what to do")
  func settingTraps() async {
    let byKey = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer(DerivedModel.make())
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      try context.make("Album")["upper"] = "x"
    }
    expectTrap(byKey, says: "Album.upper", "derived")
    let typed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer(DerivedModel.make())
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      let album = try context.make("Album")
      try context.save()
      album.write(Int64(3), slot: 8)
    }
    expectTrap(typed, says: "Album.trackCount", "derived")
  }

  @Test("a typed accessor that has slipped through fails the save by name")
  func settingFailsTheSave() throws {
    album["title"] = "x"
    album.write(Int64(3), slot: 8)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.userInfo[CoreDataError.Key.validationKey] as? String == "trackCount")
    context.rollback()
    #expect(album["trackCount"] as? Int64 == 0)
  }

  @Test(
    "rule 340: derivations that are not supported, or do not fit the model, are refused when the store is added"
  )
  func unsupported() throws {
    func sentences(_ type: AttributeType, _ expression: String) -> String {
      let model = DerivedModel.make {
        $0["Album"]?.properties.append(DerivedModel.derived("extra", type, expression))
      }
      do {
        _ = try TemporaryStore(model)
        return ""
      } catch {
        return (error as? ModelError)?.sentences.joined(separator: " ") ?? "\(error)"
      }
    }
    #expect(sentences(.string, "title") == "")
    #expect(sentences(.double, "tracks.@sum.seconds") == "")
    for (type, expression, words) in [
      (AttributeType.integer64, "tracks.@max.seconds", "not supported"),
      (.string, "median:(title)", "not supported"),
      (.string, "", "not supported"), (.integer64, "tracks.@count.x", "not supported"),
      (.integer64, "title", "not a integer64"), (.string, "nothing", "has no attribute nothing"),
      (.string, "tracks.name", "tracks"), (.integer64, "cover.@count", "to-many"),
      (.integer64, "tracks.@sum.name", "no sum"), (.integer16, "tracks.@sum.seconds", "is no integer16"),
      (.string, "upper", "derived"), (.composite, "place", "composite"),
      (.double, "tracks.@count", "integer"),
      (.string, "now()", "date"), (.string, "uppercase:(saved)", "derived"),
    ] {
      let found = sentences(type, expression)
      #expect(found.contains(words) && found.contains("Album.extra"), "\(expression): \(found)")
    }
    let unique = DerivedModel.make { $0["Album"]?.uniquenessConstraints = [["upper"]] }
    #expect(throws: ModelError.self) { try TemporaryStore(unique) }
  }
}

/// A cover that notes what it shows when it has been saved.
final class DerivedWitness: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  static let seen = Guarded<[String]>([])
  override func didSave() {
    let title = self["albumTitle"] as? String
    Self.seen.withLock { $0.append(title ?? "nil") }
  }
}
