import ArgumentParser
import Foundation
import StrataAppleSQLite
import StrataCore

/// A store of one that Apple's Core Data has written.
struct ImportStore: StoreTask {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Makes a store of one that Apple's Core Data or SwiftData has written: all of it or nothing.",
    discussion: """
      Apple's store is only read, also while its app has it open, and nothing is left beside it. Objects keep their keys and the store its UUID. The new \
      store is compared with the original, value by value and link by link, before it gets its name.

      The model is taken out of the store unless --model names it; predicates, indexes, fetched properties and derivations come with --model only. What is \
      wrong in the original (links that lead nowhere, values of another type, missing files) is reported by row, becomes nil, and makes the exit \
      code 2; with --strict it ends the import.
      """)

  @Argument(help: "Apple's store, such as App.sqlite or default.store.", completion: .file()) var source:
    String
  @Argument(help: "The new store's file. It must not exist.", completion: .file()) var store: String
  @Option(help: ArgumentHelp("The model of Apple's store. \(ModelSource.help)"), completion: .file())
  var model: String?
  @Flag(help: "Import nothing unless everything comes along as it is.") var strict = false
  @Flag(help: "Record every save to the new store in a history.") var recordHistory = false
  @Flag(help: "Take over the history that Apple's store has recorded, and go on with it.") var history = false
  @Flag(help: "As JSON.") var json = false
  @Flag(help: "Say how long it took, and how much memory, on standard error.") var figures = false

  func perform() throws {
    let measured = figures ? Figures() : nil
    var options = AppleImportOptions()
    options.model = try model.map { try ModelSource.model($0) }
    options.refusesLosses = strict
    options.recordsHistory = recordHistory
    options.importsHistory = history
    let line = ProgressLine()
    defer { line.end() }
    let report = try AppleSQLite.importStore(
      from: StorePath.resolved(source), to: URL(fileURLWithPath: store), options: options
    ) { AppleReport.show($0, on: line) }
    line.end()
    if let measured { try Output.errors.line(measured.line(report.objectCount)) }
    try AppleReport.write(report, "imported into \(store)", json: json)
  }
}

/// A store that Apple's Core Data can open.
struct ExportStore: StoreTask {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Makes a store that Apple's Core Data can open: all of it or nothing.",
    discussion: """
      Core Data opens a store when it knows the version hashes of its entities, which only Apple's framework can make. They come from an empty store that \
      the app has made (--template), or from the file VersionInfo.plist in the app's compiled model (--version-info). Objects keep their keys and the store its UUID.

      What Apple's format cannot keep (decimals of more than fifteen digits, NaN, several owners in a relationship without inverse) is refused \
      unless --permit-losses; then the exit code is 2.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Argument(help: "The new store of Core Data. It must not exist.", completion: .file()) var destination:
    String
  @Option(help: "An empty store that the app has made.", completion: .file()) var template: String?
  @Option(help: "The file VersionInfo.plist of the app's compiled model.", completion: .file())
  var versionInfo: String?
  @Option(help: "Which version of the model in VersionInfo.plist; the current one unless named.")
  var modelVersion: String?
  @Flag(help: "Go on when something has no exact form.") var permitLosses = false
  @Flag(help: "As JSON.") var json = false
  @Flag(help: "Say how long it took, and how much memory, on standard error.") var figures = false
  var subject: String? { store }

  func validate() throws {
    if template != nil && versionInfo != nil {
      throw ValidationError("--template and --version-info say the same: give one of them.")
    }
    if modelVersion != nil && versionInfo == nil {
      throw ValidationError("--model-version names a version in the file of --version-info.")
    }
  }

  func perform() throws {
    let hashes: AppleEntityHashes
    if let template {
      hashes = .template(StorePath.resolved(template))
    } else if let versionInfo {
      hashes = .versionInfo(StorePath.resolved(versionInfo), version: modelVersion)
    } else {
      throw Failure(
        .usage,
        "Core Data opens a store only when it knows the version hashes of its entities, which only Apple's framework can make.",
        advice: Failure.hashAdvice)
    }
    let measured = figures ? Figures() : nil
    let line = ProgressLine()
    defer { line.end() }
    let report: AppleStoreReport
    do {
      report = try AppleSQLite.exportStore(
        from: StorePath.resolved(store), to: URL(fileURLWithPath: destination), hashes: hashes,
        permitsLosses: permitLosses
      ) { AppleReport.show($0, on: line) }
    } catch let error as AppleStoreError where error.kind == .losses && !permitLosses {
      throw Failure(.model, error.description, advice: "--permit-losses goes on.")
    }
    line.end()
    if let measured { try Output.errors.line(measured.line(report.objectCount)) }
    try AppleReport.write(report, "exported to \(destination)", json: json)
  }
}

/// What an import or an export has to say.
enum AppleReport {
  static func show(_ progress: AppleStoreProgress, on line: ProgressLine) {
    switch progress.phase {
    case .objects: line.show(progress.completedCount, of: progress.totalCount ?? 0, "objects")
    case .members: line.show("members of relationships: \(Words.grouped(progress.completedCount)) …")
    case .history: line.show(progress.completedCount, of: progress.totalCount ?? 0, "changes of the history")
    case .checking: line.show("checking …")
    case .comparing: line.show(progress.completedCount, of: progress.totalCount ?? 0, "compared")
    }
  }

  /// Writes the report. What did not come along makes the exit code 2.
  static func write(_ report: AppleStoreReport, _ words: String, json: Bool) throws {
    if json {
      try Output.current.json([
        "isComplete": .boolean(report.isComplete), "objects": .number(report.objectCount),
        "entities": .object(
          report.objectCounts.sorted { $0.key < $1.key }.map { ($0.key, .number($0.value)) }),
        "members": .number(report.memberCount), "files": .number(report.externalFileCount),
        "transactions": .number(report.transactionCount), "changes": .number(report.changeCount),
        "store": .string(report.identifier.uuidString),
        "findings": .array(
          report.findings.map {
            [
              "kind": .string($0.kind.rawValue), "row": .string($0.row), "property": .optional($0.property),
              "message": .string($0.message),
            ]
          }),
        "findingCount": .number(report.findingCount), "remarks": .strings(report.remarks),
      ])
    } else {
      let files =
        report.externalFileCount > 0
        ? ", with \(Words.counted(report.externalFileCount, "file")) of large values" : ""
      let past =
        report.transactionCount > 0
        ? ", with \(Words.counted(report.transactionCount, "transaction")) of the history (\(Words.counted(report.changeCount, "change")))"
        : ""
      try Output.current.line(
        "\(Words.counted(report.objectCount, "object")) and \(Words.counted(report.memberCount, "member")) of relationships \(words)\(files)\(past)."
      )
      for remark in report.remarks { try Output.errors.line("strata: \(remark)") }
      for finding in report.findings { try Output.errors.line("strata: not as it was: \(finding)") }
      if report.findingCount > report.findings.count {
        try Output.errors.line("strata: … and \(report.findingCount - report.findings.count) more")
      }
    }
    if !report.isComplete { throw ExitCode(Failure.Kind.incomplete.rawValue) }
  }
}
