import Foundation
@_spi(Testing) import Strata
import Testing

/// Uniqueness constraints while the store cannot be read: checks, conflicts, upserts, batch inserts (rules 203–205, 272).
struct ConstraintReadTests {
  private static let books = [
    "1 t1 10 on a [old] cover", "2 t2 20 on a [new old]", "3 t3 30 on a [new]", "4 t4 40 on b []",
  ]

  private static func stored(_ world: ReadWorld) throws -> [String] {
    try world.picture().filter { $0.contains(" on ") }
  }

  @Test func checkOfNewValuesFailsTheSave() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          try world.holdBooks()
          world.context.new("Book", ["isbn": 5, "title": "new", "shelf": try world.shelf("a")])
        },
        act: { try $0.context.save() },
        failed: { #expect($0.context.insertedObjects.count == 1) },
        finished: { try #expect(Self.stored($0) == Self.books + ["5 new 0 on a []"]) }))
  }

  @Test func conflictUnderTheErrorPolicyIsToldOfAsOneOrTheReadIs() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          try world.holdBooks()
          world.context.new("Book", ["isbn": 1, "title": "new"])
        },
        act: { world in
          do {
            try world.context.save()
            Issue.record("saved in spite of a conflict")
          } catch let error as CoreDataError where error.code == .managedObjectConstraintMerge {}
        },
        finished: { world in
          try #expect(Self.stored(world) == Self.books)
          #expect(world.context.insertedObjects.count == 1)
        }))
  }

  @Test(arguments: settlingPolicies)
  func conflictOfANewObjectIsSettledWhenItCanBeRead(policy: MergePolicyType) throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          world.context.mergePolicy = MergePolicy(merge: policy)
          try world.holdBooks()
          world.held.append(
            world.context.new("Book", ["isbn": 1, "title": "new", "shelf": try world.shelf("b")]))
        },
        act: { try $0.context.save() },
        // A conflict that was settled before the read failed stays settled; the rest of the save is done by the next.
        failed: { #expect($0.context.hasChanges) },
        complete: { try $0.context.save() },
        finished: { world in
          let trumps = [.mergeByPropertyObjectTrump, .overwrite].contains(policy)
          try #expect(Self.stored(world)[0].hasPrefix(trumps ? "1 new" : "1 t1 10 on a [old] cover"))
          #expect(!world.context.hasChanges)
        }, settles: true))
  }

  @Test(arguments: settlingPolicies)
  func conflictOfAnEditedObjectIsSettledWhenItCanBeRead(policy: MergePolicyType) throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          world.context.mergePolicy = MergePolicy(merge: policy)
          let book = try world.book(2)
          world.held = [book]
          book["isbn"] = 1
          book["pages"] = 22
        },
        act: { try $0.context.save() },
        failed: { #expect($0.context.hasChanges && !$0.held[0].isDeleted) },
        finished: { world in
          let stored = try Self.stored(world)
          switch policy {
          case .rollback: #expect(stored == Self.books)
          case .mergeByPropertyStoreTrump: #expect(stored.contains("2 t2 22 on a [new old]"))
          default: #expect(stored.count == 3 && stored[0].hasPrefix("1 t2 22 on a"))
          }
        }, settles: true))
  }

  @Test func conflictsBetweenAndAgainstSubstitutesOfOtherContexts() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          world.context.mergePolicy = .mergeByPropertyObjectTrump
          try world.holdBooks()
          for number in 1...3 { world.context.new("Book", ["isbn": 5, "title": "new", "pages": number]) }
          world.context.new("Shelf", ["name": "b", "books": Set([try world.book(1)])])
          try world.elsewhere { $0.new("Book", ["isbn": 5, "title": "there", "cover": ReadWorld.cover]) }
        },
        act: { try $0.context.save() },
        finished: { world in
          let stored = try Self.stored(world)
          #expect(stored.contains { $0.hasPrefix("5 new ") && $0.hasSuffix(" cover") })
          #expect(stored.contains("1 t1 10 on b [old] cover"))
          #expect(stored.count == 5)
        }, settles: true))
  }

  // MARK: Upserts

  @Test func upsertChangesNothingWhenItCannotRead() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { try $0.holdBooks() },
        act: { world in
          world.found = try world.context.upsert(
            entityName: "Book", by: ["isbn"],
            records: [
              ["isbn": 1, "title": "one", "tags": [try world.tag("new").objectID]],
              ["isbn": 9, "title": "nine", "shelf": try world.shelf("b").objectID],
            ], relationships: ["tags": .merge]
          ).objects
        },
        failed: { #expect(!$0.context.hasChanges) },
        finished: { world in
          #expect(world.found.map { $0["title"] as? String } == ["one", "nine"])
          try world.context.save()
          try #expect(Self.stored(world)[0] == "1 one 10 on a [new old] cover")
          try #expect(Self.stored(world)[4] == "9 nine 0 on b []")
        }))
  }

  /// Reads its shelf, and counts the books there, when it is made.
  final class Curious: ManagedObject {
    override class var declaredSlots: [String]? { [] }
    override func awakeFromInsert() {
      super.awakeFromInsert()
      look()
    }
    override func awakeFromFetch() {
      super.awakeFromFetch()
      look()
    }
    private func look() {
      guard let context = managedObjectContext else { return }
      let first = (try? context.all("Shelf"))?.first
      _ = first?["name"]
      _ = (first?["books"] as? Set<ManagedObject>)?.count
    }
  }

  /// What a hook cannot read does not stop an upsert between two records: it fails as a whole before the first, or is done.
  @Test(arguments: FailingReads.Extent.allCases)
  func upsertIsWholeWhenItsHooksCannotRead(extent: FailingReads.Extent) throws {
    var nth = 1
    var outcomes: Set<String> = []
    while true {
      let world = try ReadWorld(bookClass: Curious.self)
      let target = try world.shelf("b").objectID
      world.context.reset()
      let act = {
        world.found = try world.context.upsert(
          entityName: "Book", by: ["isbn"],
          records: [
            ["isbn": 1, "title": "one"], ["isbn": 8, "title": "eight"],
            ["isbn": 9, "title": "nine", "shelf": target],
          ]
        ).objects
      }
      let place: Comment = "read \(nth)"
      let reads = try FailingReads(below: world.store.folderURL, nth: nth, extent)
      let error = failure(act)
      let fired = reads.mend()
      if let error {
        #expect(fired > 0 && (error as? StorageError)?.kind == .io, place)
        #expect(!world.context.hasChanges && world.context.insertedObjects.isEmpty, place)
        outcomes.insert("thrown")
        try act()
      } else {
        outcomes.insert(world.takeFailures().isEmpty ? "done" : "told")
      }
      try world.context.save()
      let stored = try Self.stored(world)
      #expect(stored[0] == "1 one 10 on a [old] cover", place)
      #expect(stored[4...] == ["8 eight 0 on - []", "9 nine 0 on b []"], place)
      try #expect(world.store.problems() == [], place)
      guard fired > 0 else { break }
      // Each read: which of them a hook makes is not known.
      nth += 1
      try #require(nth < 2_000)
    }
    #expect(outcomes.contains("thrown") && outcomes.contains("told"), "\(outcomes)")
  }

  // MARK: Batches

  @Test(arguments: [MergePolicyType.error] + settlingPolicies, [false, true])
  func batchInsertWritesNothingWhenItCannotRead(policy: MergePolicyType, isStepped: Bool) throws {
    try forEveryFailingRead(
      recordsHistory: true,
      ReadStory(
        prepare: { world in
          world.context.mergePolicy = MergePolicy(merge: policy)
          try world.holdBooks()
        },
        act: { world in
          var request = BatchInsertRequest(
            entityName: "Book",
            objects: [
              ["isbn": 1, "title": "one"], ["isbn": 7, "title": "seven"], ["isbn": 7, "pages": 77],
            ])
          if isStepped { request.step = 1 }
          do {
            _ = try world.context.execute(request)
            if policy == .error { Issue.record("inserted in spite of a conflict") }
          } catch let error as CoreDataError where error.code == .managedObjectConstraintMerge {
            if policy != .error { throw error }
          }
        },
        finished: { world in
          let stored = try Self.stored(world)
          #expect(stored.count == (policy == .error ? 4 : 5))
          if policy == .mergeByPropertyObjectTrump {
            #expect(stored[0] == "1 one 10 on a [old] cover")
            #expect(stored[4] == "7 seven 77 on - []")
          }
        }, edits: policy != .error, mayHaveSaved: true))
  }
}
