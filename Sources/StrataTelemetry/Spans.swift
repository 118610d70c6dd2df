import StrataCore
import Tracing

/// Makes spans of events: begun and ended when the event is told, with the moment at which it began. What was current on the thread is the parent.
struct Spans: Sendable {
  private let tracer: any Tracer
  private let includesValues: Bool

  init(_ tracer: any Tracer, includesValues: Bool) {
    (self.tracer, self.includesValues) = (tracer, includesValues)
  }

  func note(_ event: StrataEvent) {
    switch event {
    case .save(let save):
      make("strata.save", save.duration, save.error) { attributes in
        attributes["strata.context"] = save.context
        attributes["strata.rows.inserted"] = save.insertedCount
        attributes["strata.rows.updated"] = save.updatedCount
        attributes["strata.rows.deleted"] = save.deletedCount
        attributes["strata.attempts"] = save.attemptCount
        if let author = save.author { attributes["strata.author"] = author }
      }
    case .fetch(let fetch):
      make("strata.fetch", fetch.duration, fetch.error) { attributes in
        attributes["strata.context"] = fetch.context
        attributes["strata.entity"] = fetch.entityName
        attributes["strata.answer"] = fetch.answer.rawValue
        if let plan = fetch.plan { attributes["strata.plan"] = plan }
        if let returned = fetch.returnedCount { attributes["strata.rows.returned"] = returned }
        if let examined = fetch.examinedCount { attributes["strata.rows.examined"] = examined }
        if includesValues, let predicate = fetch.predicate { attributes["strata.predicate"] = predicate }
      }
    case .batch(let batch):
      make("strata.batch", batch.duration, nil) { attributes in
        attributes["strata.context"] = batch.context
        attributes["strata.operation"] = batch.operation.rawValue
        attributes["strata.rows"] = batch.rowCount
      }
    case .migration(let migration):
      make("strata.migrate", migration.duration, migration.error) { attributes in
        attributes["strata.url"] = migration.url.absoluteString
        attributes["strata.in_place"] = migration.isInPlace
      }
    default: return
    }
  }

  private func make(
    _ name: String, _ duration: Duration, _ error: (any Error)?, _ describe: (inout SpanAttributes) -> Void
  ) {
    let end = DefaultTracerClock.now
    let length = UInt64(clamping: duration.nanoseconds)
    let start = DefaultTracerClock.Timestamp(
      nanosecondsSinceEpoch: end.nanosecondsSinceEpoch - min(length, end.nanosecondsSinceEpoch))
    let span = tracer.startSpan(
      name, context: ServiceContext.current ?? .topLevel, ofKind: .internal, at: start, function: #function,
      file: #fileID, line: #line)
    if !span.isRecording { return span.end(at: end) }
    span.updateAttributes(describe)
    if let error {
      // Tracers write the text of an error that they are given.
      if includesValues { span.recordError(error) }
      span.setStatus(SpanStatus(code: .error, message: error.spelling(withValues: includesValues)))
    }
    span.end(at: end)
  }
}
