import ArgumentParser
import Foundation
import Strata
import TortureKit

/// A program that writes to a store until it is killed. Says on standard output, line by line, each with one `write`:
///
///     open        the store is open
///     <w> <n>     save n of worker w returned
///     done        everything asked for was inserted
///
/// Anything else is a complaint.
struct WriterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "writer", abstract: "Writes to a store until it is killed.", shouldDisplay: false)

  @Argument var path: String
  @Option(parsing: .upToNextOption, help: "Each saves on a context and thread of its own, for ever.")
  var workers: [Int] = [1]
  @Option(help: "Inserts so many entries in saves of 50 instead, as the first worker.") var insert: Int?
  @Option(help: "Bytes of address space at first.") var mapSize: Int?

  func run() throws {
    Parentage.endWithParent()
    do {
      let container = try CrashModel.open(URL(fileURLWithPath: path), mapSize: mapSize)
      Worker.say("open")
      if let insert { try self.insert(insert, container) } else { saveForEver(container) }
    } catch {
      Worker.say("error \(error)")
      throw ExitCode.failure
    }
  }

  // MARK: Saving without end

  private func saveForEver(_ container: PersistentContainer) {
    for worker in workers {
      let thread = Thread {
        do {
          try Self.save(container, worker)
        } catch {
          Worker.say("error worker \(worker): \(error)")
          Foundation.exit(1)
        }
      }
      thread.start()
    }
    Self.compactForEver(container)
  }

  /// The file gets shorter again and again, while it is written.
  private static func compactForEver(_ container: PersistentContainer) -> Never {
    while true {
      usleep(20_000)
      do {
        for store in container.persistentStoreCoordinator.persistentStores {
          try (store as? LMDBStore)?.compact()
        }
      } catch let error as StorageError where error.kind == .busy {
        // Another process is at it, or writes.
      } catch {
        Worker.say("error while compacting: \(error)")
        Foundation.exit(1)
      }
    }
  }

  private static func save(_ container: PersistentContainer, _ worker: Int) throws {
    let context = container.newBackgroundContext()
    var plan = try context.performAndWait { try StoredState(context).plan(worker) }
    while true {
      // Objects are fetched again for each save, or held from one to the next.
      let isFresh = plan.lastSave % 3 == 0
      try context.performAndWait {
        if isFresh { context.reset() }
        try makeChanges(plan, context)
        try context.save()
      }
      plan.advance()
      Worker.say("\(worker) \(plan.lastSave)")
    }
  }

  /// The plan's next changes, and the journal's.
  private static func makeChanges(_ plan: WorkerPlan, _ context: ManagedObjectContext) throws {
    for change in plan.nextChanges {
      switch change {
      case .fill(let place):
        let entry = try find(plan.worker, place, context) ?? Entry(context: context)
        entry.fill(plan.worker, place, plan.lastSave + 1)
      case .empty(let place):
        guard let entry = try find(plan.worker, place, context) else {
          throw TortureViolation(
            "place \(place) of worker \(plan.worker) should be full after save \(plan.lastSave)")
        }
        context.delete(entry)
      }
    }
    let journals = try context.fetch(
      FetchRequest<Journal>(entityName: "Journal", predicate: Attribute("worker") == plan.worker))
    let journal = journals.first ?? Journal(context: context)
    journal.worker = plan.worker
    journal.lastSave = plan.lastSave + 1
  }

  private static func find(_ worker: Int, _ place: Int, _ context: ManagedObjectContext) throws -> Entry? {
    let predicate = Attribute("worker") == worker && Attribute("place") == place
    return try context.fetch(FetchRequest<Entry>(entityName: "Entry", predicate: predicate)).first
  }

  // MARK: Inserting

  private func insert(_ count: Int, _ container: PersistentContainer) throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for place in 0..<count {
        Entry(context: context).fill(workers[0], place, place)
        if place % 50 == 49 || place == count - 1 {
          try context.save()
          Worker.say("\(workers[0]) \(place)")
        }
      }
    }
    try CrashModel.close(container)
    Worker.say("done")
  }
}
