import Foundation
import Strata
import Testing

/// What an object says of itself.
private func words(_ object: ManagedObject) -> String {
  var words: [String] = []
  if object.isInserted { words.append("inserted") }
  if object.isUpdated { words.append("updated") }
  if object.isDeleted { words.append("deleted") }
  if object.hasChanges { words.append("changed") }
  if object.managedObjectContext != nil { words.append("here") }
  return words.joined(separator: " ")
}

@Suite("The state of objects in didSave()")
struct DidSaveStateTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  /// Saves an insertion, an edit and a deletion, and checks what the hook sees of each.
  private func check(_ context: ManagedObjectContext) throws {
    let diary = Diary(context: context)
    var seen: [String] = []
    diary.onDidSave = { diary in
      seen.append(words(diary))
      #expect(diary.managedObjectContext === context)
      #expect(diary.changedValues().isEmpty && !context.hasChanges)
    }
    try context.save()
    #expect(seen == ["inserted changed here"] && words(diary) == "here")
    diary.pages = 2
    try context.save()
    #expect(seen.last == "updated changed here" && words(diary) == "here")
    context.delete(diary)
    try context.save()
    #expect(seen.last == "deleted changed here" && words(diary) == "")
    #expect(seen.count == 3)
  }

  @Test("rule 143: a save tells each object what it did to it, a deleted one with its context, then no more")
  func ownSave() throws { try check(context) }

  @Test("So does a save to a parent")
  func saveOfAChild() throws { try check(ManagedObjectContext(.confinement, parent: context)) }

  @Test("rules 142, 143: observers of the did-save notification find the objects as they are after the save")
  func observers() throws {
    let log = Log<String>()
    let token = NotificationCenter.default.addObserver(forName: .didSave, object: context, queue: nil) {
      notification in
      for key in ["inserted", "updated", "deleted"] {
        for object in notification.userInfo?[key] as? Set<ManagedObject> ?? [] {
          log.add("\(key): \(words(object))")
        }
      }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    let diary = Diary(context: context)
    try context.save()
    diary.pages = 2
    try context.save()
    context.delete(diary)
    try context.save()
    #expect(log.list == ["inserted: here", "updated: here", "deleted: "])
  }

  @Test("A hook sees what the save did to others, too, also to those of classes without the hook")
  func others() throws {
    let entry = Entry.make("Bells", in: context)
    let (first, last) = (Diary(context: context), Diary(context: context))
    var seen: [String] = []
    for diary in [first, last] {
      diary.onDidSave = { _ in seen += [words(entry), words(first), words(last)] }
    }
    try context.save()
    #expect(seen == Array(repeating: "inserted changed here", count: 6))
    #expect(words(entry) == "here" && words(first) == "here" && words(last) == "here")
  }

  @Test("rule 140: what a hook edits is a new change, which the next save tells of")
  func edits() throws {
    let diary = Diary(context: context)
    var seen: [String] = []
    diary.onDidSave = {
      seen.append(words($0))
      if $0.pages == 0 { $0.pages = 1 }
    }
    try context.save()
    #expect(words(diary) == "updated changed here" && context.updatedObjects == [diary])
    try context.save()
    #expect(seen == ["inserted changed here", "updated changed here"] && words(diary) == "here")
  }

  @Test("A save inside of a hook tells what it did; the outer one goes on with what it did")
  func saveInside() throws {
    let context = context
    let (first, second) = (Diary(context: context), Diary(context: context))
    var seen: [String] = []
    first.onDidSave = { diary in
      seen.append("first: \(words(diary))")
      if diary.pages > 0 { return }
      diary.pages = 1
      #expect(throws: Never.self) { try context.save() }
      seen.append("back: \(words(diary))")
    }
    second.onDidSave = { seen.append("second: \(words($0))") }
    try context.save()
    #expect(
      seen == [
        "first: inserted changed here", "first: updated changed here", "back: inserted changed here",
        "second: inserted changed here",
      ])
    #expect(words(first) == "here" && words(second) == "here" && !context.hasChanges)
  }

  @Test("The hook of a deleted object works in its context, where the object is not found any more")
  func deletedAtWork() throws {
    let diary = Diary(context: context)
    try context.save()
    let id = diary.objectID
    var isRegistered = true
    diary.onDidSave = { diary in
      guard let context = diary.managedObjectContext else { return }
      isRegistered = context.registeredObject(for: id) != nil
      Entry.make("Winki", in: context)
      context.delete(diary)
    }
    context.delete(diary)
    try context.save()
    #expect(!isRegistered && context.insertedObjects.count == 1 && context.deletedObjects.isEmpty)
    #expect(diary.managedObjectContext == nil && !diary.isDeleted)
    try context.save()
    #expect(try store.savedEntries() == ["Winki 3"])
  }
}

@MainActor @Suite("The state of objects in didSave() of asynchronous saves")
struct AsynchronousDidSaveStateTests {
  let store: TemporaryStore
  let main: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    main = store.context(.mainQueue)
  }

  @Test(
    "An asynchronous save tells each object what it did to it, and then no more", arguments: [false, true])
  func told(isChilds: Bool) async throws {
    let context = isChilds ? ManagedObjectContext(.mainQueue, parent: main) : main
    let diary = Diary(context: context)
    var seen: [String] = []
    diary.onDidSave = { seen.append(words($0)) }
    try await context.saveAsynchronously()
    #expect(seen == ["inserted changed here"] && words(diary) == "here")
    diary.pages = 2
    try await context.saveAsynchronously()
    #expect(seen.last == "updated changed here" && words(diary) == "here")
    context.delete(diary)
    try await context.saveAsynchronously()
    #expect(seen.last == "deleted changed here" && words(diary) == "")
    #expect(seen.count == 3)
  }

  @Test("So does one of many objects, once each")
  func many() async throws {
    var seen: [String] = []
    let diaries = (0..<300).map { _ in Diary(context: main) }
    for diary in diaries { diary.onDidSave = { seen.append(words($0)) } }
    try await main.saveAsynchronously()
    #expect(seen == Array(repeating: "inserted changed here", count: 300))
    #expect(diaries.allSatisfy { words($0) == "here" })
  }
}
