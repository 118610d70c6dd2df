import Logging
import StrataCore

/// Makes log lines of events: the message says what happened, the metadata to what. Keys begin with `strata.`, durations are in milliseconds.
struct LogLines: Sendable {
  private let logger: Logger
  private let options: Telemetry.Options

  init(_ logger: Logger, _ options: Telemetry.Options) {
    (self.logger, self.options) = (logger, options)
  }

  func write(_ event: StrataEvent) {
    switch event {
    case .save(let save): write(save)
    case .fetch(let fetch): write(fetch)
    case .fault(let fault): write(fault)
    case .repeatedFaults(let faults): write(faults, at: nil)
    case .conflict(let conflict): write(conflict)
    case .wait(let wait): write(wait)
    case .batch(let batch):
      log(
        .debug, "batch \(batch.operation.rawValue)",
        ["context": batch.context, "rows": "\(batch.rowCount)", "duration_ms": batch.duration.milliseconds])
    case .migration(let migration): write(migration)
    case .heldPages(let held): write(held)
    case .message(let message): write(message)
    }
  }

  private func write(_ save: SaveEvent) {
    var fields: [String: String?] = [
      "context": save.context, "author": save.author, "inserted": "\(save.insertedCount)",
      "updated": "\(save.updatedCount)", "deleted": "\(save.deletedCount)",
      "attempts": "\(save.attemptCount)",
      "duration_ms": save.duration.milliseconds, "in_store_ms": save.timeInStore.milliseconds,
      "waited_ms": save.timeWaited.milliseconds, "to": save.destination == .parent ? "parent" : "store",
    ]
    if let error = save.error {
      fields["error"] = error.spelling(withValues: options.includesValues)
      log(.warning, "save failed", fields)
    } else if save.duration >= options.slowSave {
      log(.notice, "slow save", fields)
    } else {
      log(.debug, "save", fields)
    }
  }

  private func write(_ fetch: FetchEvent) {
    let isSlow = fetch.duration >= options.slowFetch
    let level: Logger.Level = fetch.error != nil ? .warning : isSlow ? .notice : .debug
    // Plans and predicates are texts to be made.
    guard logger.logLevel <= level else { return }
    log(
      level, fetch.error != nil ? "fetch failed" : isSlow ? "slow fetch" : "fetch",
      [
        "context": fetch.context, "entity": fetch.entityName, "answer": fetch.answer.rawValue,
        "plan": fetch.plan, "predicate": options.includesValues ? fetch.predicate : nil,
        "returned": fetch.returnedCount.map { "\($0)" }, "examined": fetch.examinedCount.map { "\($0)" },
        "duration_ms": fetch.duration.milliseconds,
        "error": fetch.error?.spelling(withValues: options.includesValues),
      ])
  }

  private func write(_ fault: FaultEvent) {
    guard logger.logLevel <= .trace else { return }
    log(
      .trace, "fault",
      [
        "context": fault.context, "entity": fault.entityName, "subject": fault.subject.spelling,
        "relationship": fault.relationship, "count": "\(fault.count)",
      ])
  }

  /// `site` is where they are fired; nil when that is not known.
  func write(_ faults: RepeatedFaultsEvent, at site: CallSite?) {
    log(
      .warning,
      "\(faults.count) faults were fired one by one at \(site.map { "\($0)" } ?? "an unknown place"): prefetch them",
      [
        "context": faults.context, "entity": faults.entityName, "subject": faults.subject.spelling,
        "relationship": faults.relationship, "count": "\(faults.count)", "function": site?.function,
        "file": site?.file, "line": site?.line.map { "\($0)" }, "property": site?.property,
        "addresses": site == nil
          ? faults.returnAddresses.map { "0x" + String($0, radix: 16) }.joined(separator: " ") : nil,
      ])
  }

  private func write(_ conflict: ConflictEvent) {
    log(
      .info, conflict.error == nil ? "conflict settled" : "conflict not settled",
      [
        "context": conflict.context, "entities": conflict.entityNames.joined(separator: ","),
        "rows": "\(conflict.rowCount)", "unique_values": "\(conflict.uniquenessCount)",
        "policy": conflict.policy,
        "error": conflict.error?.spelling(withValues: options.includesValues),
      ])
  }

  private func write(_ wait: WaitEvent) {
    let level: Logger.Level = wait.duration >= options.longWait ? .notice : .debug
    var fields: [String: String?] = ["duration_ms": wait.duration.milliseconds, "for": wait.subject.spelling]
    switch wait.subject {
    case .writeTurn(let store): fields["store"] = store.uuidString
    case .otherProcess(let path): fields["path"] = path
    case .contextQueue(let context): fields["context"] = context
    }
    log(level, "waited", fields)
  }

  private func write(_ migration: MigrationEvent) {
    let fields = [
      "url": migration.url.absoluteString, "duration_ms": migration.duration.milliseconds,
      "error": migration.error?.spelling(withValues: options.includesValues),
      "in_place": migration.error == nil ? "\(migration.isInPlace)" : nil,
    ]
    log(
      migration.error == nil ? .notice : .error, migration.error == nil ? "migrated" : "migration failed",
      fields)
  }

  private func write(_ held: HeldPagesEvent) {
    log(
      .notice, "pages are held by an old reader",
      [
        "path": held.path, "process": "\(held.process)", "commits": "\(held.commitCount)",
        "bytes": "\(held.byteCount)", "generation_age_ms": held.oldestGeneration?.milliseconds,
      ])
  }

  private func write(_ message: MessageEvent) {
    // Nobody else gets it any more.
    guard logger.logLevel <= message.level.logLevel else { return Diagnostics.writeToStandardError(message) }
    log(
      message.level.logLevel, options.includesValues ? message.text : message.textWithoutValues,
      ["module": message.module])
  }

  private func log(_ level: Logger.Level, _ text: String, _ fields: [String: String?]) {
    guard logger.logLevel <= level else { return }
    var metadata: Logger.Metadata = [:]
    for case (let key, let value?) in fields { metadata["strata." + key] = .string(value) }
    logger.log(level: level, "\(text)", metadata: metadata, source: "Strata")
  }
}

extension MessageEvent.Level {
  var logLevel: Logger.Level {
    switch self {
    case .debug: .debug
    case .warning: .warning
    case .error: .error
    }
  }
}

extension Error {
  /// What is written of an error.
  func spelling(withValues: Bool) -> String {
    withValues ? "\(self)" : spelledWithoutValues
  }
}

extension FaultEvent.Subject {
  var spelling: String {
    switch self {
    case .row: "row"
    case .members(let relationship): "members of \(relationship)"
    }
  }
}

extension WaitEvent.Subject {
  /// What was waited for, without names.
  var spelling: String {
    switch self {
    case .writeTurn: "write_turn"
    case .otherProcess: "other_process"
    case .contextQueue: "context_queue"
    }
  }
}

extension Duration {
  /// With microseconds behind the point.
  var milliseconds: String {
    let (seconds, attoseconds) = components
    let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    let rest = String(microseconds % 1_000)
    return "\(microseconds / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}
