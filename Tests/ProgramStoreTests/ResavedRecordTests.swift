import CoreData
import Testing

/// Objects that were set to the values that they had, over stores of the program's own: these are asked to save them, as Core Data asks.
@Suite("Stores of the program's own: objects saved as they were")
struct ResavedRecordTests {
  private func touch(_ book: NSManagedObject) { book.setValue(book.value(forKey: "title"), forKey: "title") }

  @Test("An incremental store is told of them among the updated objects, also by a child's save")
  func incremental() throws {
    let stack = try ServerStack()
    stack.plant()
    let id = try stack.context.run {
      let book = try #require(try stack.context.fetch(Shelf.request("Book", by: "title")).first)
      touch(book)
      try stack.context.save()
      #expect(stack.store.saves.map(\.updatedObjects) == [[book]])
      #expect(!stack.context.hasChanges)
      return book.objectID
    }
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = stack.context
    try child.run {
      touch(child.object(with: id))
      try child.save()
    }
    try stack.context.run {
      #expect(stack.context.hasChanges)
      try stack.context.save()
      #expect(stack.store.saves.map { $0.updatedObjects?.map(\.objectID) } == [[id], [id]])
    }
  }

  @Test("What another context has saved meanwhile is not overwritten; what the store counts is no conflict")
  func beside() throws {
    let stack = try ServerStack()
    stack.plant()
    let other = NSManagedObjectContext.on(stack.coordinator)
    func book(_ context: NSManagedObjectContext) throws -> NSManagedObject {
      let book = try #require(try context.fetch(Shelf.request("Book", by: "pages")).first)
      _ = book.value(forKey: "title")
      return book
    }
    try stack.context.run {
      let here = try book(stack.context)
      // The server counts a version, which the other context reads.
      touch(here)
      try stack.context.save()
      try other.run {
        let there = try book(other)
        #expect(there.objectID == here.objectID)
        there.setValue("Theirs", forKey: "title")
        try other.save()
      }
      touch(here)
      try stack.context.save()
      stack.context.refresh(here, mergeChanges: false)
      #expect(here.value(forKey: "title") as? String == "Theirs")
      touch(here)
      try stack.context.save()
      try other.run {
        let there = try book(other)
        other.refresh(there, mergeChanges: false)
        #expect(there.value(forKey: "title") as? String == "Theirs")
      }
      // Read elsewhere since: it is the version that is known here.
      here.setValue("Mine", forKey: "title")
      try stack.context.save()
    }
    try other.run {
      let there = try book(other)
      other.refresh(there, mergeChanges: false)
      #expect(there.value(forKey: "title") as? String == "Mine")
    }
  }

  @Test("An atomic store updates their nodes and writes its file")
  func atomic() throws {
    let stack = try FileStack()
    try stack.context.run {
      let book = Shelf.make("Book", ["title": "One"], in: stack.context)
      try stack.context.save()
      #expect(stack.store.saveCount == 1)
      touch(book)
      try stack.context.save()
      #expect(stack.store.saveCount == 2 && !stack.context.hasChanges)
      #expect(stack.store.cacheNode(for: book.objectID)?.value(forKey: "title") as? String == "One")
    }
  }
}
