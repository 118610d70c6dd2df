import Foundation
import Strata

/// An object of three attributes.
final class Note: ManagedObject {
  override class var declaredSlots: [String]? { ["number", "title", "changed"] }

  var number: Int64 {
    get { readInt64(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var title: String? {
    get { readString(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var changed: Date? {
    get { readDate(slot: 2) }
    set { write(newValue, slot: 2) }
  }

  /// Made once each: an entity's class belongs to one model.
  static func model(isIndexed: Bool) -> ManagedObjectModel {
    let attributes = [
      AttributeDescription("number", .integer64), AttributeDescription("title", .string),
      AttributeDescription("changed", .date),
    ]
    let indexes = [
      FetchIndexDescription(name: "byNumber", attributes: ["number"]),
      FetchIndexDescription(name: "byTitle", attributes: ["title"]),
    ]
    return ManagedObjectModel(entities: [
      EntityDescription(
        "Note", managedObjectClass: Note.self, properties: attributes, indexes: isIndexed ? indexes : [])
    ])
  }

  func fill(_ number: Int) {
    self.number = Int64(number)
    title = NoteText.title(number)
    changed = Date(timeIntervalSinceReferenceDate: Double(number))
  }
}

/// What every contender stores.
enum NoteText {
  static func title(_ number: Int) -> String { "a note of some length, number \(number)" }
}

/// Saves by contexts, through the public API alone.
final class StrataSaves: SavePeer, @unchecked Sendable {
  // Unchecked: the stack is made before the threads are.
  private let container: PersistentContainer
  private let job: SaveJob
  private let stack: AsynchronousStack?

  init(_ folder: URL, _ job: SaveJob, keepsLog: Bool = false) async throws {
    self.job = job
    container = PersistentContainer(name: "Notes", model: Note.model(isIndexed: job.isIndexed))
    var description = PersistentStoreDescription(url: folder.appendingPathComponent("notes.strata"))
    description.durability =
      switch job.promise {
      case .durable: .full
      case .relaxed: .relaxed
      case .none: .none
      }
    description.recordsHistory = job.isIndexed
    description.keepsLog = keepsLog
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
    stack = job.place == .asynchronous ? AsynchronousStack(container, autosaveDelay: nil) : nil
  }

  func makeSaver(_ thread: Int) throws -> Saver {
    let root = stack?.newWorker() ?? container.newBackgroundContext()
    var contexts = [root]
    if job.place == .grandchild {
      for _ in 0..<2 { contexts.insert(ManagedObjectContext(.privateQueue, parent: contexts[0]), at: 0) }
    }
    let context = contexts[0]
    let uppers = contexts.dropFirst()
    let edited = job.work == .edit ? try makeEdited(in: contexts) : nil
    let (rows, first) = (job.work.rows, thread * 1_000_000)
    // Unsafe: used in its context's queue only.
    nonisolated(unsafe) let object = edited
    let change: @Sendable (Int) throws -> Void = { place in
      if let object {
        object.number = Int64(first + place)
        object.title = NoteText.title(first + place)
      } else {
        for row in 0..<rows { Note(context: context).fill(first + place * rows + row) }
      }
      try context.save()
    }
    if let stack {
      return .suspending { place in
        try await context.perform { try change(place) }
        try await stack.save()
      }
    }
    return .blocking { place in
      try context.performAndWait { try change(place) }
      for upper in uppers { try upper.performAndWait { try upper.save() } }
    }
  }

  private func makeEdited(in contexts: [ManagedObjectContext]) throws -> Note {
    let context = contexts[0]
    if stack != nil {
      throw BenchmarkError("Only inserts are measured through an asynchronous stack.")
    }
    let object = try context.performAndWait {
      let object = Note(context: context)
      object.fill(0)
      try context.save()
      // Unsafe: handed out to be used in its context's queue only.
      nonisolated(unsafe) let result = object
      return result
    }
    for upper in contexts.dropFirst() { try upper.performAndWait { try upper.save() } }
    return object
  }

  func count() throws -> Int {
    let context = container.newBackgroundContext()
    return try context.performAndWait { try context.count(for: FetchRequest<Note>(entityName: "Note")) }
  }

  func close() throws {
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }
}

extension SaveContender {
  /// Without a log of small saves, and with one.
  static let strata = [
    SaveContender(name: "Strata", isStrata: true) { try await StrataSaves($0, $1) },
    SaveContender(name: "Strata, log", isStrata: true) { try await StrataSaves($0, $1, keepsLog: true) },
  ]
}
