import ArgumentParser
import Foundation
import NSManagedGenerator

/// Makes the edits that source for Apple's Core Data needs on other systems.
struct PortCoreData: StoreTask {
  static let configuration = CommandConfiguration(
    commandName: "port-core-data",
    abstract:
      "Edits sources written for Apple's Core Data so that they build here, and lists what is left to do by hand.",
    discussion: """
      Says what it would do, and writes nothing without --apply. Keep the sources under version control.
      """)

  @Argument(help: "A folder of Swift sources, or one file.") var sources: String

  @Flag(help: "Write the edits.") var apply = false

  @Flag(help: "Keep @objc and its like for Apple's systems, between #if canImport(ObjectiveC) and #endif.")
  var keepAttributes = false

  @Flag(help: "As JSON.") var json = false

  func perform() throws {
    if access(sources, F_OK) != 0 { throw Failure(.missing, "There is no file or folder \(sources).") }
    let folder: SourceFolder
    do { folder = try SourceFolder(URL(fileURLWithPath: sources), keepsAttributes: keepAttributes) } catch {
      throw Self.failure(error)
    }
    var unwritten: [(url: URL, failure: Failure)] = []
    for file in folder.files where apply {
      do { try Interruption.uninterrupted { try SourceFolder.apply(file) } } catch {
        unwritten.append((file.url, Self.failure(error)))
      }
    }
    let changed = folder.files.filter { file in
      file.isChanged && !unwritten.contains { $0.url == file.url }
    }
    let edits = changed.flatMap { file in
      file.ported.edits.map { "\(name(of: file.url)):\($0.line): \($0.message)" }
    }
    let remarks =
      folder.files.flatMap { file in
        file.ported.remarks.map { "\(name(of: file.url)):\($0.line): \($0.message)" }
      }
      + folder.unreadable.map { "\(name(of: $0)): no UTF-8 text; left as it is" }
      + folder.dangling.map { "\(name(of: $0)): a link that leads nowhere; left out" }
      + folder.models.map { "\(name(of: $0)): \(Self.advice(for: $0))" }
    let output = Output.current
    if json {
      try output.json([
        "isApplied": .boolean(apply), "files": .number(folder.files.count), "edits": .strings(edits),
        "byHand": .strings(remarks), "notWritten": .strings(unwritten.map(\.failure.sentence)),
      ])
      return try report(unwritten.map(\.failure))
    }
    for edit in edits { try output.line(edit) }
    if !remarks.isEmpty {
      try output.line("\nTo do by hand:")
      for remark in remarks { try output.line(remark) }
    }
    let verb = apply ? "made" : "to make, none made yet (--apply makes them)"
    let count = edits.count
    try output.line(
      "\n\(count) \(count == 1 ? "edit" : "edits") in \(changed.count) of \(folder.files.count) \(folder.files.count == 1 ? "file" : "files") \(verb); "
        + "\(remarks.count) \(remarks.count == 1 ? "thing" : "things") to do by hand.")
    try report(unwritten.map(\.failure))
  }

  /// All other files are written: what is wrong is told at the end, behind what was done.
  private func report(_ failures: [Failure]) throws {
    guard let first = failures.first else { return }
    try Output.current.flush()
    throw Failure(first.kind, "Not written: " + failures.map(\.sentence).joined(separator: "; "))
  }

  private static func failure(_ error: any Error) -> Failure {
    guard let error = error as? SourceFolder.FileError else { return Failure(error) }
    return Failure(error.cause.map { Failure($0).kind } ?? .other, error.description)
  }

  private func name(of url: URL) -> String {
    let base = URL(fileURLWithPath: sources).path
    return url.path.hasPrefix(base + "/") ? String(url.path.dropFirst(base.count + 1)) : url.lastPathComponent
  }

  private static func advice(for model: URL) -> String {
    switch model.pathExtension {
    case "momd", "mom": "a compiled model cannot be read; ship its source, the .xcdatamodeld"
    case "xcmappingmodel":
      "name it in the target's resources: .copy(\"\(model.lastPathComponent)\")"
    default:
      "name it in the target's resources, .copy(\"\(model.lastPathComponent)\"), and the plugin CoreDataPlugin in its plugins"
    }
  }
}
