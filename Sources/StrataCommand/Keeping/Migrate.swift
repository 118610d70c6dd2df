import ArgumentParser
import Foundation
import StrataCore

/// A store of another version of its model.
struct Migrate: StoreTask {
  static let configuration = CommandConfiguration(
    abstract:
      "Brings a store to another version of its model, as far as the models tell how; or says what that would do.",
    discussion: """
      With --dry-run nothing is written: what happens to each entity is listed, and what would be lost, by rows. With --rehearse a copy of the store is \
      migrated as well and thrown away, which finds everything that can go wrong. What takes something away needs --permit for each thing that is named \
      as lost; the file from before is then kept as “Name.strata-before-1” until the next save.

      Ends with exit code 9 when the migration cannot be inferred, when objects lack values that they must have, or when something would be lost \
      that is not permitted.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Argument(help: ArgumentHelp("The model it is to be of. \(ModelSource.help)"), completion: .file())
  var model: String
  @Flag(help: "Write nothing: only say what would happen.") var dryRun = false
  @Flag(help: "As --dry-run, and migrate a copy too.") var rehearse = false
  @Option(
    help: "What may be lost: Entity, Entity.attribute or Entity.relationship; may be given several times.")
  var permit: [String] = []
  @Flag(help: "As JSON.") var json = false
  var subject: String? { store }

  func perform() throws {
    let target = try ModelSource.model(model)
    let preview = try StorePath.read(store) { try MigrationPreview(of: $0, to: target) }
    if json { try Output.current.json(Comparison.json(preview)) } else { try Comparison.write(preview) }
    let unpermitted = preview.losses.filter { !isPermitted($0.name) }
    if !preview.reasons.isEmpty {
      throw Failure(
        .model, "The store cannot be migrated to this model by inference. Nothing was changed.")
    }
    if !unpermitted.isEmpty {
      let names = Set(unpermitted.map(\.name)).sorted()
      throw Failure(
        .model, "Something would be lost. Nothing was changed.",
        advice: "To permit it: \(names.map { "--permit \(Words.quoted($0))" }.joined(separator: " ")).")
    }
    if preview.isSame { return }
    if rehearse { try runRehearsal(target) }
    if dryRun || rehearse { return }
    let line = ProgressLine()
    try run(on: StorePath.resolved(store), target, line)
    line.end()
    if !json { try Output.current.line("Migrated.") }
  }

  /// By its name, or by that of a composite attribute that it is an element of.
  private func isPermitted(_ loss: String) -> Bool {
    permit.contains { loss == $0 || $0.contains(".") && loss.hasPrefix($0 + ".") }
  }

  private func run(on url: URL, _ target: ManagedObjectModel, _ line: ProgressLine) throws {
    var permission = MigrationPermission()
    permission.permittedLosses = Set(permit)
    // Reports come from the thread that migrates, which is this one.
    nonisolated(unsafe) let line = line
    let progress = BatchProgress { progress in
      line.show(progress.completedCount, of: progress.totalCount ?? 0, "rows")
    }
    try LMDBStore.migrate(at: url, to: target, permission: permission, progress: progress)
  }

  /// Migrates a copy, beside the store since there must be room there anyway.
  private func runRehearsal(_ target: ManagedObjectModel) throws {
    let url = StorePath.resolved(store)
    Leftovers.remove(beside: url.path, prefix: Leftovers.rehearsals)
    let folder = URL(fileURLWithPath: Leftovers.name(Leftovers.rehearsals, beside: url.path))
    try Interruption.makeDraft(folder.path) {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    }
    Leftovers.hold(folder.path)
    defer { Interruption.discard(folder.path) }
    let copy = folder.appendingPathComponent("copy.strata")
    let opened = try StorePath.open(store)
    defer { opened.close() }
    try opened.backup(to: copy)
    let line = ProgressLine()
    defer { line.end() }
    try run(on: copy, target, line)
    if !json { try Output.current.line("The rehearsal on a copy went well.") }
  }
}
