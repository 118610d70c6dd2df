import ArgumentParser
import Foundation
import Strata
import TortureKit

/// A program that changes a store of `LiveModel` and ends. Each step is a save of its own, unless it says otherwise:
///
///     insert:<title>       a note            rename:<title>:<title>    sets a title
///     move:<title>:<name>  into a folder     delete:<title>
///     storm:<n>            n saves, each counts a note up that it makes if it is missing
///     many:<n>             n notes in one save
///     update-all:<n>       a batch update of every note's count
///     die:<title>          inserts a note, and is gone before the store is closed
struct LiveWriterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "live-writer", abstract: "Changes a store.", shouldDisplay: false)

  @Argument var path: String
  @Argument var steps: [String]

  func run() throws {
    let coordinator = try LiveModel.open(URL(fileURLWithPath: path))
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
    default: throw ValidationError("unknown step \(words[0])")
    }
    try context.save()
  }

  private func note(_ title: String, _ context: ManagedObjectContext) throws -> Note? {
    try context.fetch(FetchRequest<Note>(entityName: "Note", predicate: Attribute("title") == title)).first
  }
}
