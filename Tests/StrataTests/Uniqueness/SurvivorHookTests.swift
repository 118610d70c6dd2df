import Foundation
import Strata
import Testing

/// What is left after a conflict about uniqueness is about to be saved as any other object: its hooks run (rules 135, 138, 139, 205).
struct SurvivorHookTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(
      SurfModel.make { $0.entitiesByName["Diary"]?.uniquenessConstraints = [["title"]] })
    context = store.context()
  }

  private func diary(_ title: String, _ pages: Int64, in other: ManagedObjectContext? = nil) -> Diary {
    let diary = Diary(context: other ?? context)
    diary.title = title
    diary.pages = pages
    return diary
  }

  /// Saves a diary of that title elsewhere.
  private func stock(_ title: String, _ pages: Int64) throws -> ManagedObjectID {
    let writer = store.context()
    let diary = diary(title, pages, in: writer)
    try writer.save()
    return diary.objectID
  }

  /// Notes in the remark how many pages are about to be saved.
  private func stamp(_ diary: Diary) {
    let remark = "\(diary.pages) pages"
    if diary.remark != remark { diary.remark = remark }
  }

  private func save(_ isAsynchronous: Bool, _ context: ManagedObjectContext) async throws {
    if isAsynchronous { return try await context.saveAsynchronously() }
    try await context.perform { try context.save() }
  }

  @Test(
    "rule 205: the stored record that takes a duplicate's values gets willSave(), and what that sets is saved",
    arguments: [MergePolicyType.mergeByPropertyObjectTrump, .overwrite], [false, true])
  func storedRecord(type: MergePolicyType, isAsynchronous: Bool) async throws {
    let id = try stock("log", 1)
    let context = store.context(.privateQueue)
    context.mergePolicy = MergePolicy(merge: type)
    let stored = try await context.perform {
      let stored = Smuggled(try #require(try context.existingObject(with: id) as? Diary))
      _ = diary("log", 7, in: context)
      stored.value.onWillSave = stamp
      return stored
    }
    try await save(isAsynchronous, context)
    await context.perform {
      #expect(stored.value.count(of: "willSave") == 2, "once, and again for its own change")
      #expect(stored.value.pages == 7 && stored.value.remark == "7 pages" && !context.hasChanges)
    }
    let found = try #require(try store.context().diary())
    #expect(found.pages == 7 && found.remark == "7 pages")
    #expect(try store.problems() == [])
  }

  @Test("rule 205: of twins the one that is kept gets it again", arguments: [false, true])
  func twins(isAsynchronous: Bool) async throws {
    let context = store.context(.privateQueue)
    context.mergePolicy = .mergeByPropertyObjectTrump
    let first = await context.perform {
      let first = Smuggled(diary("log", 1, in: context))
      first.value.onWillSave = stamp
      _ = diary("log", 7, in: context)
      return first
    }
    try await save(isAsynchronous, context)
    await context.perform {
      let hooks = first.value.takeCalls()
      #expect(hooks.lastIndex(of: "willSave")! > hooks.firstIndex(of: "awakeFromSnapshotEvents")!)
      #expect(hooks.last == "didSave" && hooks.count { $0 == "didSave" } == 1)
    }
    #expect(try store.context().diary()?.remark == "7 pages")
  }

  @Test("rule 205: an edited record that has to yield gets it, one that is not written does not")
  func yielding() throws {
    _ = try stock("a", 1)
    let id = try stock("b", 1)
    context.mergePolicy = .mergeByPropertyStoreTrump
    let edited = try #require(try context.existingObject(with: id) as? Diary)
    edited.title = "a"
    edited.pages = 9
    var titles: [String?] = []
    edited.onWillSave = { titles.append($0.title) }
    let duplicate = diary("a", 3)
    try context.save()
    #expect(titles == ["a", "b"])
    #expect(duplicate.managedObjectContext == nil)
    let stored = try #require(
      try context.fetch(FetchRequest<Diary>(entityName: "Diary", predicate: Attribute("title") == "a")).first)
    #expect(stored.count(of: "willSave") == 0)
  }

  @Test("rules 137, 205: a stored record that is dropped gets it, too")
  func going() throws {
    let (a, b) = (try stock("a", 1), try stock("b", 1))
    context.mergePolicy = .mergeByPropertyObjectTrump
    let edited = try #require(try context.existingObject(with: b) as? Diary)
    let gone = try #require(try context.existingObject(with: a) as? Diary)
    edited.title = "a"
    try context.save()
    #expect(gone.count(of: "willSave") == 1 && gone.wasDeletedAtWillSave)
    #expect(edited.count(of: "willSave") == 2)
    #expect(try store.context().fetch(FetchRequest<Diary>(entityName: "Diary")).map(\.title) == ["a"])
  }

  @Test("what its willSave() sets is validated, and may meet another record: that is settled in turn")
  func again() throws {
    let id = try stock("log", 1)
    _ = try stock("other", 2)
    context.mergePolicy = .mergeByPropertyObjectTrump
    let stored = try #require(try context.existingObject(with: id) as? Diary)
    stored.onWillSave = { if $0.title != "other" { $0.title = "other" } }
    stored.onValidate = { if $0.pages > 50 { throw CoreDataError(.managedObjectValidation, "too long") } }
    _ = diary("log", 7)
    try context.save()
    let left = try store.context().fetch(FetchRequest<Diary>(entityName: "Diary"))
    #expect(left.map(\.title) == ["other"] && left.map(\.pages) == [7])
    stored.onWillSave = { if $0.pages != 99 { $0.pages = 99 } }
    _ = diary("other", 8)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.errorDescription?.contains("too long") == true)
    #expect(try store.problems() == [])
  }

  @Test("a child that checks uniqueness calls it as well")
  func child() throws {
    let id = try stock("log", 1)
    let child = ManagedObjectContext(.confinement, parent: context)
    child.checksUniquenessAtParent = true
    child.mergePolicy = .mergeByPropertyObjectTrump
    let stored = try #require(try child.existingObject(with: id) as? Diary)
    stored.onWillSave = stamp
    _ = diary("log", 7, in: child)
    try child.save()
    try context.save()
    #expect(stored.count(of: "willSave") == 2)
    #expect(try store.context().diary()?.remark == "7 pages")
  }
}
