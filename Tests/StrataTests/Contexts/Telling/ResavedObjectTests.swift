import Foundation
import Strata
import Testing

/// Saves of objects that were set to the values that they had, as programs mark them as changed.
struct ResavedObjectTests {
  private let store: TemporaryStore
  private let writer: ManagedObjectContext
  private let ids: [ManagedObjectID]

  /// Saved words a, b and c, of a model without relationships.
  init() throws {
    let word = EntityDescription("Word", properties: [AttributeDescription("text", .string)])
    store = try TemporaryStore(ManagedObjectModel(entities: [word]))
    let writer = store.context(.privateQueue)
    self.writer = writer
    ids = try writer.performAndWait {
      let words = ["a", "b", "c"].map { writer.new("Word", ["text": $0]) }
      try writer.save()
      return words.map(\.objectID)
    }
  }

  private func merging(_ parent: ManagedObjectContext? = nil) -> ManagedObjectContext {
    let context =
      parent.map { ManagedObjectContext(.privateQueue, parent: $0) } ?? store.context(.privateQueue)
    context.automaticallyMergesChangesFromParent = true
    return context
  }

  /// Sets the word to the text that it has, and saves.
  private func resave(_ id: ManagedObjectID) throws {
    try writer.performAndWait { () throws in
      let word = writer.object(with: id)
      word["text"] = word["text"]
      #expect(word.isUpdated)
      try writer.save()
    }
  }

  /// A list of all words that writes down what it is told. Used on its context's queue.
  private final class Follower: FetchedResultsChangeDelegate {
    typealias Result = ManagedObject
    private let list: FetchedResultsController<ManagedObject>
    private var told: [String] = []

    init(_ context: ManagedObjectContext) throws {
      let request = FetchRequest<ManagedObject>(entityName: "Word", sortDescriptors: [FetchSort("text")])
      list = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
      list.delegate = self
      try list.performFetch()
    }

    func controller(
      _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject,
      at indexPath: IndexPath?, for type: FetchedResultsChangeType, newIndexPath: IndexPath?
    ) { told.append("\(type) \(object["text"] ?? "nil")") }

    func take() -> [String] {
      defer { told = [] }
      return told
    }
  }

  @Test("rule 184: siblings and children are told, as by merging the notification; nothing is written")
  func everybody() throws {
    let (sibling, child, manual) = (merging(), merging(writer), store.context(.privateQueue))
    let contexts = [writer, sibling, child, manual]
    let lists = try contexts.map { context in try context.performAndWait { try Follower(context) } }
    let recorders = [sibling, child, manual].map(NotificationRecorder.init)
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: writer, queue: nil
    ) { note in manual.performAndWait { manual.mergeChanges(fromContextDidSave: note) } }
    defer { NotificationCenter.default.removeObserver(token) }
    let saves = writer.performAndWait { writer.statistics.saves }
    try resave(ids[1])
    for (context, list) in zip(contexts, lists) {
      context.performAndWait { #expect(list.take() == ["update b"], "\(context)") }
    }
    for recorder in recorders {
      #expect(recorder.all(.didMerge).map(\.updatedIDs) == [[ids[1]]])
      #expect(recorder.all(.didChange).isEmpty, "nothing looks different")
    }
    #expect(writer.performAndWait { writer.statistics.saves } == saves)
  }

  @Test("rule 181: beside objects that have changed they are named as well")
  func mixed() throws {
    let (sibling, child, manual) = (merging(), merging(writer), store.context(.privateQueue))
    let recorders = [sibling, child, manual].map(NotificationRecorder.init)
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectIDsNotification, object: writer, queue: nil
    ) { note in manual.performAndWait { manual.mergeChanges(fromContextDidSave: note) } }
    defer { NotificationCenter.default.removeObserver(token) }
    writer.performAndWait { writer.object(with: ids[0])["text"] = "A" }
    try resave(ids[2])
    // What was told comes before this.
    for context in [sibling, child, manual] { context.performAndWait {} }
    for recorder in recorders {
      #expect(recorder.all(.didMerge).map(\.updatedIDs) == [[ids[0], ids[2]]])
    }
  }

  @Test("rule 184: a save that does not stop tells the same")
  func asynchronous() async throws {
    let (sibling, child, saver, id) = (merging(), merging(writer), writer, ids[1])
    let recorders = [sibling, child].map(NotificationRecorder.init)
    await saver.perform {
      let word = saver.object(with: id)
      word["text"] = word["text"]
    }
    try await saver.saveAsynchronously()
    for context in [sibling, child] { await context.perform {} }
    for recorder in recorders { #expect(recorder.all(.didMerge).map(\.updatedIDs) == [[id]]) }
  }
}
