import Foundation
import Strata
import Testing

/// Fetches, faults, prefetching, batches of rows, refreshing and derived values while the store cannot be read.
struct ReadingTests {
  // MARK: Fetching

  @Test func fetchesThrow() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          let book = try world.holdFaults()[1]
          book["pages"] = 99
        },
        act: { world in
          var request = FetchRequest<ManagedObject>(
            entityName: "Book", predicate: Attribute("shelf.name") == "a" && Attribute("pages") > 15,
            sortDescriptors: [FetchSort("shelf.name"), FetchSort("title", ascending: false)])
          request.returnsObjectsAsFaults = false
          world.found = try world.context.fetch(request)
        },
        finished: { world in
          #expect(world.found.map { $0["isbn"] as? Int64 } == [3, 2])
          #expect(world.found[1]["pages"] as? Int64 == 99)
          try world.context.save()
        }))
  }

  /// Which calls of liblmdb are made to fail, by the names in their errors: not only the lookups, also what a read begins with.
  @Test func everyCallOfAReadIsMadeToFail() throws {
    let world = try ReadWorld()
    var calls: Set<String> = []
    var nth = 1
    while true {
      world.context.reset()
      var request = FetchRequest<ManagedObject>(
        entityName: "Book", predicate: Attribute("title") >= "t1", sortDescriptors: [FetchSort("title")])
      request.returnsObjectsAsFaults = false
      let reads = try FailingReads(below: world.store.folderURL, nth: nth, .all)
      let error = failure {
        for book in try world.context.fetch(request) {
          _ = try world.context.existingObject(with: book.objectID)
        }
      }
      guard reads.mend() > 0 else { break }
      let told = try #require(error as? StorageError, "read \(nth)")
      #expect(told.kind == .io)
      calls.insert(told.operation)
      nth += 1
    }
    #expect(calls.isSuperset(of: ["mdb_txn_begin", "mdb_cursor_open", "mdb_cursor_get"]), "\(calls)")
  }

  @Test func prefetchesThrow() throws {
    try forEveryFailingRead(
      ReadStory(
        act: { world in
          var request = FetchRequest<ManagedObject>(
            entityName: "Shelf", sortDescriptors: [FetchSort("name")])
          request.relationshipKeyPathsForPrefetching = ["books.tags"]
          world.found = try world.context.fetch(request)
          world.held = world.found
        },
        finished: { world in
          let books = world.found[0]["books"] as? Set<ManagedObject> ?? []
          #expect(books.count == 3 && books.allSatisfy { !($0["tags"] as? Set<ManagedObject> ?? []).isEmpty })
        }, edits: true))
  }

  @Test func countsAndDictionariesThrow() throws {
    try forEveryFailingRead(
      ReadStory(
        act: { world in
          #expect(
            try world.context.count(
              for: FetchRequest<ManagedObject>(
                entityName: "Book", predicate: Attribute("shelf.name") == "a")) == 3)
          var request = FetchRequest<FetchedDictionary>(entityName: "Book")
          request.propertiesToGroupBy = ["shelf.name"]
          request.propertiesToFetch = ["shelf.name", .sum("pages")]
          let rows = try world.context.fetch(request)
          #expect(rows.count == 2)
        }))
  }

  @Test func batchesOfRowsGoOnWhenTheyCanBeRead() throws {
    try forEveryFailingRead(
      ReadStory(
        act: { world in
          var request = FetchRequest<ManagedObject>(
            entityName: "Book", sortDescriptors: [FetchSort("title")])
          request.fetchBatchSize = 2
          request.relationshipKeyPathsForPrefetching = ["tags"]
          let batches = try world.context.fetchInBatches(request)
          world.found = Array(batches)
          #expect(world.found.allSatisfy { !$0.isDeleted })
        },
        failed: { world in
          // Those that were handed out are read when they are used.
          for (place, book) in world.found.enumerated() {
            #expect(book["isbn"] as? Int64 == Int64(place + 1))
          }
        },
        finished: { #expect($0.found.map { $0["isbn"] as? Int64 } == [1, 2, 3, 4]) }))
  }

  @Test func batchesOfRowsGoOnInTheMiddle() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          var request = FetchRequest<ManagedObject>(
            entityName: "Book", sortDescriptors: [FetchSort("title")])
          request.fetchBatchSize = 1
          let batches = Batches(try world.context.fetchInBatches(request))
          #expect(batches.list[0]["title"] as? String == "t1")
          world.found = [batches.list[0]]
          world.kept = batches
        },
        act: { world in
          let list = (world.kept as? Batches)?.list
          for place in 1..<4 {
            let book = try #require(list?[place])
            #expect(!book.isDeleted)
            world.found.append(book)
          }
        },
        failed: { _ in },
        finished: { #expect($0.found.suffix(3).map { $0["title"] as? String } == ["t2", "t3", "t4"]) }))
  }

  private final class Batches {
    let list: FetchedBatches<ManagedObject>
    init(_ list: FetchedBatches<ManagedObject>) { self.list = list }
  }

  // MARK: Faults

  @Test func faultsFireWhenTheyCanBeRead() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { try $0.holdFaults() },
        act: { world in
          for book in world.held {
            _ = book["title"]
            _ = book["cover"]
            _ = (book["shelf"] as? ManagedObject)?["name"]
            _ = (book["tags"] as? Set<ManagedObject>)?.map { $0["name"] as? String }
          }
        },
        finished: { world in
          #expect(world.held.map { $0["title"] as? String } == ["t1", "t2", "t3", "t4"])
          #expect((world.held[0]["cover"] as? Data)?.count == 40_000)
          #expect((world.held[1]["tags"] as? Set<ManagedObject>)?.count == 2)
        }))
  }

  @Test func existingObjectThrows() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { try $0.holdFaults() },
        act: { world in
          for book in world.held {
            try #expect(world.context.existingObject(with: book.objectID) === book)
          }
        }))
  }

  @Test(arguments: [false, true])
  func refreshedObjectsKeepTheirEdits(isAll: Bool) throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { world in
          let books = try world.holdBooks()
          books[1]["title"] = "edited"
          (books[2]["tags"] as? Set<ManagedObject>).map { books[2]["tags"] = $0.union([]) }
          books[0]["tags"] = Set([try world.tag("new")])
          try world.elsewhere { context in
            for number in 1...4 { try world.book(number, context)["pages"] = number }
          }
        },
        act: { world in
          if isAll {
            world.context.refreshAllObjects()
          } else {
            for book in world.held { world.context.refresh(book, mergeChanges: true) }
          }
          for book in world.held { _ = book["title"] }
        },
        failed: { world in
          #expect(world.held.allSatisfy { !$0.isDeleted && !$0.isInserted })
          #expect(world.held[1]["title"] as? String == "edited")
          #expect(world.context.updatedObjects.count >= 2)
        },
        finished: { world in
          #expect(world.held.map { $0["pages"] as? Int64 } == [1, 2, 3, 4])
          #expect(world.held[1]["title"] as? String == "edited")
          try world.context.save()
        }, edits: true))
  }

  @Test func committedValuesAndMembersAreReadWhenTheyCanBe() throws {
    try forEveryFailingRead(
      ReadStory(
        prepare: { try $0.holdBooks() },
        act: { world in
          for book in world.held { _ = book.committedValues(forKeys: nil) }
          for book in world.held {
            #expect(book.managedObjectContext === world.context)
            _ = ((book["shelf"] as? ManagedObject)?["books"] as? Set<ManagedObject>)?.count
          }
        }))
  }

  // MARK: Saving

  @Test func savesWithDerivedValuesAndMembersWriteNothing() throws {
    try forEveryFailingRead(
      recordsHistory: true,
      ReadStory(
        prepare: { world in
          let books = try world.holdBooks()
          books[0]["shelf"] = try world.shelf("b")
          books[1]["tags"] = Set<ManagedObject>()
          books[2]["cover"] = ReadWorld.cover
          world.context.new("Book", ["isbn": 8, "shelf": try world.shelf("b")])
        },
        act: { try $0.context.save() },
        finished: { world in
          #expect(!world.context.hasChanges)
          try #expect(world.picture().contains("b(3): 1 4 8"))
          try #expect(world.shelf("b")["size"] as? Int64 == 3)
        }))
  }

  @Test func cascadesAreWholeOrNot() throws {
    try forEveryFailingRead(
      recordsHistory: true,
      ReadStory(
        prepare: { world in world.held = [try world.shelf("a")] },
        act: { world in
          world.context.delete(world.held[0])
          try world.context.save()
        },
        // A read that was told of while the event ended may succeed in the save.
        complete: { try $0.context.save() },
        finished: { world in
          try #expect(
            world.picture() == ["4 t4 40 on b []", "b(1): 4", "new of ", "old of "])
        }, edits: true, mayHaveSaved: true))
  }

}
