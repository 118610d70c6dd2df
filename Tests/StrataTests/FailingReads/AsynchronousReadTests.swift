import Foundation
import Strata
import Testing

/// Fetches, saves and merges off the context's queue while the store cannot be read.
struct AsynchronousReadTests {
  /// Tells the story again and again, until it ends before a read fails. `act` answers whether it failed; the story is told once more
  /// when reads succeed.
  ///
  /// With `settles` a conflict may have been settled before a read fails: what the policy has decided for the objects then stays decided.
  private func forEveryFailingRead(
    settles: Bool = false, _ prepare: @Sendable (ReadWorld) async throws -> Void,
    _ act: @Sendable (ReadWorld) async throws -> Void, _ finished: @Sendable (ReadWorld) async throws -> Void
  ) async throws {
    for extent in FailingReads.Extent.allCases {
      var didFail = true
      var nth = 0
      while didFail {
        nth = FailingReads.next(after: nth, extent)
        try #require(nth < 2_000)
        let world = try ReadWorld(.privateQueue)
        try await prepare(world)
        let (before, shown, edits) = (try world.picture(), world.look(), world.edits())
        let reads = try FailingReads(below: world.store.folderURL, nth: nth, extent)
        var error: (any Error)?
        do { try await act(world) } catch let found { error = found }
        didFail = reads.mend() > 0
        if let error {
          #expect(didFail && (error as? StorageError)?.kind == .io, "read \(nth), \(extent): \(error)")
          if !settles {
            #expect(world.changed(since: shown) == [], "read \(nth), \(extent)")
            #expect(world.edits() == edits, "read \(nth), \(extent)")
          }
          #expect(world.deleted().isEmpty, "read \(nth), \(extent)")
          try #expect(world.picture() == before, "read \(nth), \(extent)")
          _ = world.takeFailures()
          try await act(world)
        }
        #expect(didFail || world.takeFailures() == [])
        try await finished(world)
        try #expect(world.store.problems() == [])
      }
    }
  }

  @Test func asynchronousFetchesThrow() async throws {
    try await forEveryFailingRead { world in
      try await world.context.perform {
        try world.holdFaults()
        world.held[0]["pages"] = 99
      }
    } _: { world in
      let request = FetchRequest<ManagedObject>(
        entityName: "Book", predicate: Attribute("shelf.name") == "a" && Attribute("pages") > 15,
        sortDescriptors: [FetchSort("title")])
      let found = try await world.context.fetchAsynchronously(request) { books in
        books.compactMap { $0["isbn"] as? Int64 }
      }
      #expect(found == [1, 2, 3])
    } _: { world in
      try await world.context.perform { try world.context.save() }
    }
  }

  @Test func asynchronousFetchRequestsTellTheErrorInTheirResult() async throws {
    try await forEveryFailingRead { _ in
    } _: { world in
      var request = FetchRequest<ManagedObject>(entityName: "Book", sortDescriptors: [FetchSort("title")])
      request.relationshipKeyPathsForPrefetching = ["tags"]
      let books = request
      let count: Int = try await withCheckedThrowingContinuation { continuation in
        world.context.perform {
          do {
            let fetch = AsynchronousFetchRequest(books) { result in
              if let error = result.operationError {
                continuation.resume(throwing: error)
              } else {
                continuation.resume(returning: result.finalResult?.count ?? -1)
              }
            }
            _ = try world.context.execute(fetch)
          } catch { continuation.resume(throwing: error) }
        }
      }
      #expect(count == 4)
    } _: { _ in
    }
  }

  @Test(arguments: [MergePolicyType.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump])
  func asynchronousSavesLandOrKeepTheirEdits(policy: MergePolicyType) async throws {
    try await forEveryFailingRead(settles: policy != .error) { world in
      try await world.context.perform {
        world.context.mergePolicy = MergePolicy(merge: policy)
        try world.holdBooks()
        world.held[0]["title"] = "mine"
        world.held[1]["shelf"] = try world.shelf("b")
        world.context.new("Book", ["isbn": policy == .error ? 5 : 4, "title": "new"])
      }
      if policy != .error { try world.elsewhere { try world.book(1, $0)["pages"] = 11 } }
    } _: { world in
      try await world.context.saveAsynchronously()
    } _: { world in
      #expect(await world.context.perform { !world.context.hasChanges })
      let picture = try world.picture()
      #expect(picture.contains("1 mine \(policy == .error ? 10 : 11) on a [old] cover"))
      #expect(picture.contains(policy == .error ? "b(2): 2 4" : "b(2): 2 4"))
    }
  }

  @Test func commitOfAnotherCoordinatorIsMergedWhenItCanBeRead() async throws {
    for extent in FailingReads.Extent.allCases {
      for nth in sequence(first: 1, next: { FailingReads.next(after: $0, extent) }).prefix(while: { $0 <= 24 }
      ) {
        let place: Comment = "read \(nth), \(extent)"
        let world = try ReadWorld(.privateQueue)
        try await world.context.perform {
          world.context.automaticallyMergesChangesFromParent = true
          try world.holdBooks()
          world.held[3]["title"] = "edited"
        }
        let other = PersistentStoreCoordinator(managedObjectModel: ReadWorld.model())
        try other.addPersistentStore(PersistentStoreDescription(url: world.store.url))
        let reads = try FailingReads(below: world.store.folderURL, nth: nth, extent)
        // Made and used on one queue, whichever thread goes on after a suspension.
        let context = ManagedObjectContext(.privateQueue, coordinator: other)
        let error = await context.perform {
          failure {
            try world.book(1, context)["title"] = "theirs"
            context.delete(try world.book(2, context))
            try context.save()
          }
        }
        await world.context.perform {
          for (number, book) in world.held.enumerated() where number != 1 {
            #expect(!book.isDeleted, place)
            #expect(book["isbn"] as? Int64 == Int64(number + 1), place)
          }
        }
        _ = reads.mend()
        let didFail = error != nil
        try await context.perform {
          if didFail { try context.save() }
          if try context.all("Book").contains(where: { $0["isbn"] as? Int64 == 2 }) {
            try world.book(1, context)["title"] = "theirs"
            context.delete(try world.book(2, context))
            try context.save()
          }
          // Whatever was missed, the next commit is merged behind it.
          try world.book(3, context)["title"] = "third"
          try context.save()
        }
        #expect(
          await eventually {
            await world.context.perform { world.held[2]["title"] as? String == "third" }
          }, place)
        try await world.context.perform {
          world.context.refresh(world.held[0], mergeChanges: false)
          #expect(world.held[0]["title"] as? String == "theirs", place)
          #expect(!world.held[3].isDeleted && world.held[3]["title"] as? String == "edited", place)
          try world.context.save()
        }
        for store in other.persistentStores { try other.remove(store) }
      }
    }
  }
}
