import ArgumentParser
import Foundation
import StrataCore

/// How two models differ, and what a migration from the one to the other would do.
struct Diff: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Says how two models differ; of a store also what a migration would do and lose, by rows.")

  @Argument(help: ArgumentHelp("What is there. \(ModelSource.help)"), completion: .file()) var old: String
  @Argument(help: ArgumentHelp("What it is compared with, in the same forms."), completion: .file()) var new:
    String
  @Flag(help: "As JSON.") var json = false
  var subject: String? { old }

  func perform() throws {
    let target = try ModelSource.model(new)
    let source = try ModelSource.model(old)
    if Self.isStore(old) {
      let preview = try StorePath.read(old) { try MigrationPreview(of: $0, to: target) }
      if json { try Output.current.json(Comparison.json(preview)) } else { try Comparison.write(preview) }
      return
    }
    let comparison = try ModelComparison(source, target)
    if json {
      return try Output.current.json([
        "isSame": .boolean(comparison.isSame), "differences": .strings(comparison.differences),
        "reasonsAgainst": .strings(comparison.reasons), "entities": .strings(comparison.changes),
      ])
    }
    let output = Output.current
    if comparison.isSame { return try output.line("The models are the same version.") }
    for sentence in comparison.differences { try output.line(sentence) }
    try output.line()
    if comparison.reasons.isEmpty {
      for change in comparison.changes { try output.line(change) }
    } else {
      try output.line("The store cannot be migrated as it is:")
      for reason in comparison.reasons { try output.line("  \(reason)") }
    }
  }

  /// Whether the path is of a store rather than of a model's file.
  private static func isStore(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    let url = StorePath.resolved(path)
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), !isFolder.boolValue else {
      return false
    }
    return (try? LMDBStore.metadata(at: url)) != nil
  }
}

/// What a migration would do, as text and as JSON.
enum Comparison {
  static func write(_ preview: MigrationPreview) throws {
    let output = Output.current
    if preview.isSame { return try output.line("The store is of this version of the model.") }
    for sentence in preview.differences { try output.line(sentence) }
    try output.line()
    if !preview.reasons.isEmpty {
      try output.line("The store cannot be migrated as it is:")
      for reason in preview.reasons { try output.line("  \(reason)") }
      return
    }
    for (change, count) in preview.entities {
      let objects = change.kind == .add ? "" : ": \(Words.counted(count, "object"))"
      try output.line("\(change)\(objects)")
    }
    try output.line()
    try output.line(
      preview.rewriting.map { "All rows would be written anew, because \($0)." } ?? "No row would be touched."
    )
    if preview.losses.isEmpty { return try output.line("Nothing would be lost.") }
    try output.line("Would be lost:")
    for loss in preview.losses {
      try output.line(
        "  \(loss.kind == "order" ? "the order of " : "")\(loss.name): \(Words.counted(loss.objectCount, "object"))"
      )
    }
  }

  static func json(_ preview: MigrationPreview) -> JSONValue {
    [
      "isSame": .boolean(preview.isSame), "differences": .strings(preview.differences),
      "reasonsAgainst": .strings(preview.reasons),
      "entities": .array(
        preview.entities.map { change, count in
          [
            "kind": .string("\(change.kind)"), "from": .optional(change.sourceName),
            "to": .optional(change.destinationName), "objects": .number(count), "words": .string("\(change)"),
          ]
        }),
      "writesAllRows": preview.isSame || !preview.reasons.isEmpty
        ? .null : .boolean(preview.rewriting != nil), "because": .optional(preview.rewriting),
      "losses": .array(
        preview.losses.map {
          ["name": .string($0.name), "what": .string($0.kind), "objects": .number($0.objectCount)]
        }),
    ]
  }
}
