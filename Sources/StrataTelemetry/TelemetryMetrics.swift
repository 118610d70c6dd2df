import CoreMetrics
import StrataCore
import Synchronization

/// Makes metrics of events. Names of entities, operations and outcomes are dimensions; names of contexts, which a program may make without end, are not.
final class TelemetryMetrics: Sendable {
  private let factory: any MetricsFactory
  private let made = Mutex(Made())

  private struct Made {
    var counters: [Key: Counter] = [:]
    var timers: [Key: CoreMetrics.Timer] = [:]
    var meters: [Key: Meter] = [:]
  }

  private struct Key: Hashable {
    let label: String
    let dimensions: [String]
  }

  init(_ factory: any MetricsFactory) { self.factory = factory }

  func note(_ event: StrataEvent) {
    switch event {
    case .save(let save): note(save)
    case .fetch(let fetch): note(fetch)
    case .fault(let fault):
      let kind = fault.subject == .row ? "row" : "members"
      count("strata.faults", fault.count, ("entity", fault.entityName), ("kind", kind))
      count("strata.fault.reads", 1, ("entity", fault.entityName), ("kind", kind))
    case .repeatedFaults(let faults): count("strata.faults.repeated", 1, ("entity", faults.entityName))
    case .conflict(let conflict):
      if conflict.rowCount > 0 { count("strata.conflicts", conflict.rowCount, ("kind", "row")) }
      if conflict.uniquenessCount > 0 {
        count("strata.conflicts", conflict.uniquenessCount, ("kind", "uniqueness"))
      }
    case .wait(let wait): time("strata.wait.duration", wait.duration, ("for", wait.subject.spelling))
    case .batch(let batch):
      time("strata.batch.duration", batch.duration, ("operation", batch.operation.rawValue))
      count("strata.batch.rows", batch.rowCount, ("operation", batch.operation.rawValue))
    case .migration(let migration):
      time(
        "strata.migration.duration", migration.duration,
        ("outcome", migration.error == nil ? "migrated" : "failed"))
    case .heldPages(let held):
      set("strata.held.bytes", held.byteCount, ("path", held.path))
      set("strata.held.commits", held.commitCount, ("path", held.path))
    case .message(let message): count("strata.messages", 1, ("level", message.level.rawValue))
    }
  }

  private func note(_ save: SaveEvent) {
    let outcome = save.error == nil ? "saved" : "failed"
    count("strata.saves", 1, ("outcome", outcome))
    time("strata.save.duration", save.duration, ("outcome", outcome))
    if save.attemptCount > 1 { count("strata.save.retries", save.attemptCount - 1) }
    if save.error != nil { return }
    time("strata.save.store.duration", save.timeInStore)
    for (operation, number) in [
      ("insert", save.insertedCount), ("update", save.updatedCount), ("delete", save.deletedCount),
    ] where number > 0 { count("strata.save.rows", number, ("operation", operation)) }
  }

  private func note(_ fetch: FetchEvent) {
    count("strata.fetches", 1, ("entity", fetch.entityName), ("answer", fetch.answer.rawValue))
    time("strata.fetch.duration", fetch.duration, ("entity", fetch.entityName))
    if let returned = fetch.returnedCount, fetch.answer != .count {
      count("strata.fetch.rows.returned", returned, ("entity", fetch.entityName))
    }
    if let examined = fetch.examinedCount {
      count("strata.fetch.rows.examined", examined, ("entity", fetch.entityName))
    }
  }

  // MARK: Metrics, each made once

  private func count(_ label: String, _ number: Int, _ dimensions: (String, String)...) {
    made.withLock { made in
      Self.find(label, dimensions, in: &made.counters) {
        Counter(label: label, dimensions: dimensions, factory: factory)
      }
    }.increment(by: number)
  }

  private func time(_ label: String, _ duration: Duration, _ dimensions: (String, String)...) {
    made.withLock { made in
      Self.find(label, dimensions, in: &made.timers) {
        CoreMetrics.Timer(label: label, dimensions: dimensions, factory: factory)
      }
    }.recordNanoseconds(duration.nanoseconds)
  }

  private func set(_ label: String, _ value: Int, _ dimensions: (String, String)...) {
    made.withLock { made in
      Self.find(label, dimensions, in: &made.meters) {
        Meter(label: label, dimensions: dimensions, factory: factory)
      }
    }.set(value)
  }

  private static func find<Metric>(
    _ label: String, _ dimensions: [(String, String)], in table: inout [Key: Metric], _ make: () -> Metric
  ) -> Metric {
    let key = Key(label: label, dimensions: dimensions.map(\.1))
    if let known = table[key] { return known }
    let new = make()
    table[key] = new
    return new
  }
}
