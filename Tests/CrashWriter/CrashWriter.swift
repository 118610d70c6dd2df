import Foundation
import Strata

/// A program that writes to a store until it is killed: the child of the crash tests.
///
///     CrashWriter <store> save <worker>…              each worker saves on a context and thread of its own, for ever
///     CrashWriter <store> insert <worker> <n> <map>   inserts n entries in saves of 50, from a map of `map` bytes
///
/// It writes a line to standard output when the store is open (`open`) and after each save that returned
/// (`<worker> <number of the save>`), each with one `write`, so that a line is whole or not there. Anything unexpected is a
/// line that begins with `error`.
@main
struct CrashWriter {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      guard arguments.count >= 3 else { throw Complaint("usage: CrashWriter <store> save|insert <worker>…") }
      let url = URL(fileURLWithPath: arguments[0])
      let numbers = arguments.dropFirst(2).compactMap { Int($0) }
      switch arguments[1] {
      case "save": try save(url, workers: numbers)
      case "insert": try insert(url, worker: numbers[0], count: numbers[1], mapSize: numbers[2])
      default: throw Complaint("unknown verb \(arguments[1])")
      }
    } catch {
      say("error \(error)")
      exit(1)
    }
  }

  struct Complaint: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  static func say(_ line: String) {
    let bytes = Array((line.replacingOccurrences(of: "\n", with: " ") + "\n").utf8)
    // Lines of a pipe are short and written at once. When nobody listens any more there is nobody to tell.
    _ = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
  }

  // MARK: Saving for ever

  private static func save(_ url: URL, workers: [Int]) throws {
    let container = try CrashModel.open(url)
    say("open")
    for worker in workers {
      let thread = Thread {
        do {
          try save(container, worker)
        } catch {
          say("error worker \(worker): \(error)")
          exit(1)
        }
      }
      thread.start()
    }
    while true { sleep(1_000) }
  }

  private static func save(_ container: PersistentContainer, _ worker: Int) throws {
    let context = container.newBackgroundContext()
    var plan = try context.performAndWait { try StoredState(context).plan(worker) }
    while true {
      // Objects are fetched anew for each save, or held from one to the next.
      let isFresh = plan.lastSave % 3 == 0
      try context.performAndWait {
        if isFresh { context.reset() }
        try makeChanges(plan, context)
        try context.save()
      }
      plan.advance()
      say("\(worker) \(plan.lastSave)")
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
          throw Complaint(
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

  private static func insert(_ url: URL, worker: Int, count: Int, mapSize: Int) throws {
    let container = try CrashModel.open(url, mapSize: mapSize)
    say("open")
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for place in 0..<count {
        Entry(context: context).fill(worker, place, place)
        if place % 50 == 49 || place == count - 1 {
          try context.save()
          say("\(worker) \(place)")
        }
      }
    }
    try CrashModel.close(container)
    say("done")
  }
}
