import ArgumentParser
import Foundation
import Strata
import Synchronization
import TortureKit
import struct StrataCore.Mutex

/// A program that changes a store of `LiveModel` and ends. Each step is a save of its own, unless it says otherwise:
///
///     insert:<title>       a note            rename:<title>:<title>    sets a title
///     move:<title>:<name>  into a folder     delete:<title>
///     storm:<n>            n saves, each counts a note up that it makes if it is missing
///     many:<n>             n notes in one save
///     update-all:<n>       a batch update of every note's count
///     die:<title>          inserts a note, and is gone before the store is closed
///     churn-until:<title>  inserts, changes and deletes notes, a save each time, until there is a note of that title
///     add-index:<n>        adds an index of the notes' counts, building it n rows at a time
///     die-adding:<n>:<m>   the same, and is gone after m steps
struct LiveWriterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "live-writer", abstract: "Changes a store.", shouldDisplay: false)

  @Argument var path: String
  @Argument var steps: [String]

  func run() throws {
    Parentage.endWithParent()
    let step = steps.lazy.compactMap { Self.rowsPerStep($0) }.first
    let url = URL(fileURLWithPath: path)
    let coordinator = try step.map { try LiveModel.open(url, rowsPerIndexStep: $0) } ?? LiveModel.open(url)
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    for step in steps {
      let words = step.split(separator: ":").map(String.init)
      try take(words, context)
      if words[0] == "die" { kill(getpid(), SIGKILL) }
      Worker.say("done \(step)")
    }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private func take(_ words: [String], _ context: ManagedObjectContext) throws {
    let number = words.count > 1 ? Int(words[1]) ?? 0 : 0
    switch words[0] {
    case "insert", "die": Note(context: context).title = words[1]
    case "rename": try note(words[1], context)?.title = words[2]
    case "delete": if let note = try note(words[1], context) { context.delete(note) }
    case "move":
      let request = FetchRequest<Folder>(entityName: "Folder", predicate: Attribute("name") == words[2])
      let folder = try context.fetch(request).first ?? Folder(context: context)
      folder.name = words[2]
      try note(words[1], context)?.folder = folder
    case "many": for place in 0..<number { Note(context: context).title = "many \(place)" }
    case "storm":
      let counter = try note("storm", context) ?? Note(context: context)
      counter.title = "storm"
      for _ in 0..<number {
        counter.count += 1
        try context.save()
      }
    case "update-all":
      var request = BatchUpdateRequest(entityName: "Note")
      request.propertiesToUpdate = ["count": number]
      _ = try context.execute(request)
    case "churn-until": try churn(until: words[1], context)
    case "add-index": try addIndex(context, stepsToLive: nil)
    case "die-adding": try addIndex(context, stepsToLive: Int(words[2]))
    default: throw ValidationError("unknown step \(words[0])")
    }
    try context.save()
  }

  private static func rowsPerStep(_ step: String) -> Int? {
    let words = step.split(separator: ":")
    return words.count > 1 && ["add-index", "die-adding"].contains(words[0]) ? Int(words[1]) : nil
  }

  private func addIndex(_ context: ManagedObjectContext, stepsToLive: Int?) throws {
    let finished = DispatchSemaphore(value: 0)
    // The worker's context is a container's.
    let coordinator = context.persistentStoreCoordinator!
    let ending = Ending()
    Task {
      do {
        try await coordinator.addIndex(
          FetchIndexDescription(name: "byCount", attributes: ["count"]), toEntityNamed: "Note",
          in: coordinator.persistentStores[0]
        ) { _ in
          if ending.steps.add(1, ordering: .relaxed).newValue == stepsToLive { kill(getpid(), SIGKILL) }
        }
      } catch {
        ending.failure.withLock { $0 = error }
      }
      finished.signal()
    }
    finished.wait()
    if let error = ending.failure.withLock({ $0 }) { throw error }
  }

  private final class Ending: Sendable {
    let steps = Atomic<Int>(0)
    let failure = Mutex<(any Error)?>(nil)
  }

  /// Leaves behind what it inserted last. From four hundred on, one note goes for each that comes: what waits for long has no more to
  /// search through than what does not.
  private func churn(until title: String, _ context: ManagedObjectContext) throws {
    var number = 0
    // Looks every eighth time: to look is to go through all notes.
    while try number % 8 != 0 || note(title, context) == nil {
      let note = Note(context: context)
      (note.title, note.count) = ("churn", Int64(number * 7_919 % 1_000))
      let some = try context.fetch(FetchRequest<Note>(entityName: "Note", fetchLimit: 40))
      for (place, other) in some.enumerated() where place % 13 == number % 13 { other.count += 17 }
      // Never the one it waits for, which may come between the question and here.
      if number % 2 == 0 || number > 400, let last = some.last(where: { $0.title != title }) {
        context.delete(last)
      }
      try context.save()
      // Leaves the processor to the process that is waited for.
      usleep(5_000)
      number += 1
      if number == 1 { Worker.say("churning") }
    }
  }

  private func note(_ title: String, _ context: ManagedObjectContext) throws -> Note? {
    try context.fetch(FetchRequest<Note>(entityName: "Note", predicate: Attribute("title") == title)).first
  }
}
