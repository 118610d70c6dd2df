import Foundation
import InMemoryTracing
import MetricsTestKit
import Testing
import Tracing

@testable import StrataCore
@testable import StrataTelemetry

extension TelemetryTests {
  /// What becomes metrics and spans.
  struct Figures {
    let club: Club

    init() throws { club = try Club() }

    /// Runs `body` while an observer with `options` gets what is about this test's contexts.
    private func observing(_ change: (inout Telemetry.Options) -> Void, _ body: () throws -> Void) rethrows {
      var options = Telemetry.Options()
      (options.logger, options.metrics, options.tracer) = (nil, nil, nil)
      change(&options)
      let recorder = Recorder(about: club.tag, next: TelemetryObserver(options))
      _ = try recorder.during(.all.subtracting(.messages), body)
    }

    @Test("saves, fetches, faults, conflicts and batches are counted and timed")
    func metrics() throws {
      let metrics = TestMetrics()
      try club.fill(teams: 20, people: 1)
      try observing {
        $0.metrics = metrics
      } _: {
        let (context, other) = (club.context(), club.context())
        let people = try context.fetch(club.people())
        for person in people { _ = person.team?.name }
        _ = try context.count(for: club.people())
        people[0].age = 10
        try other.fetch(club.people(Attribute("name") == people[0].name))[0].age = 11
        try other.save()
        context.mergePolicy = .mergeByPropertyObjectTrump
        try context.save()
        try context.execute(BatchUpdateRequest(entityName: "Person", propertiesToUpdate: ["age": 3]))
      }
      func counter(_ label: String, _ dimensions: [(String, String)]) throws -> Int64 {
        try metrics.expectCounter(label, dimensions).totalValue
      }
      #expect(try counter("strata.saves", [("outcome", "saved")]) == 2)
      #expect(try counter("strata.save.rows", [("operation", "update")]) == 2)
      #expect(try counter("strata.save.retries", []) == 1)
      #expect(try counter("strata.fetches", [("entity", "Person"), ("answer", "objects")]) == 2)
      #expect(try counter("strata.fetches", [("entity", "Person"), ("answer", "count")]) == 1)
      #expect(try counter("strata.fetch.rows.returned", [("entity", "Person")]) == 21)
      #expect(try counter("strata.fetch.rows.examined", [("entity", "Person")]) >= 40)
      #expect(try counter("strata.faults", [("entity", "Team"), ("kind", "row")]) == 20)
      #expect(try counter("strata.faults.repeated", [("entity", "Team")]) == 1)
      #expect(try counter("strata.conflicts", [("kind", "row")]) == 1)
      #expect(try counter("strata.batch.rows", [("operation", "update")]) == 20)
      #expect(try metrics.expectTimer("strata.save.duration", [("outcome", "saved")]).values.count == 2)
      #expect(
        try metrics.expectTimer("strata.fetch.duration", [("entity", "Person")]).values.allSatisfy { $0 > 0 })
      #expect(try metrics.expectTimer("strata.batch.duration", [("operation", "update")]).values.count == 1)
    }

    @Test("held pages are gauges")
    func gauges() throws {
      let metrics = TestMetrics()
      TelemetryMetrics(metrics).note(
        .heldPages(
          HeldPagesEvent(path: "club", process: 1, commitCount: 300, byteCount: 8_192, oldestGeneration: nil))
      )
      #expect(try metrics.expectMeter("strata.held.bytes", [("path", "club")]).values.last == 8_192)
      #expect(try metrics.expectMeter("strata.held.commits", [("path", "club")]).values.last == 300)
    }

    @Test("saves, fetches and batches are spans of what is current, from their beginning to their end")
    func spans() throws {
      let tracer = InMemoryTracer()
      try observing {
        $0.tracer = tracer
      } _: {
        let context = club.context()
        try tracer.withSpan("request") { _ in
          _ = Person(context: context)
          try context.save()
          _ = try context.fetch(club.people(Attribute("age") == 0))
          try context.execute(BatchUpdateRequest(entityName: "Person", propertiesToUpdate: ["age": 3]))
        }
        Person(context: context).code = "x"
        Person(context: context).code = "x"
        #expect(throws: (any Error).self) { try context.save() }
      }
      let spans = tracer.finishedSpans
      try #require(spans.count == 5)
      #expect(
        spans.map(\.operationName) == [
          "strata.save", "strata.fetch", "strata.batch", "request", "strata.save",
        ])
      let request = try #require(spans.first { $0.operationName == "request" })
      #expect(spans[..<3].allSatisfy { $0.parentSpanID == request.spanID })
      #expect(spans[4].parentSpanID == nil)
      #expect(spans[4].status?.code == .error && spans[4].status?.message == "CoreDataError 133021")
      #expect(
        spans.allSatisfy { $0.startInstant.nanosecondsSinceEpoch <= $0.endInstant.nanosecondsSinceEpoch })
      #expect(spans[0].startInstant.nanosecondsSinceEpoch >= request.startInstant.nanosecondsSinceEpoch)
      #expect(spans[1].attributes["strata.entity"]?.toSpanAttribute() == "Person".toSpanAttribute())
      #expect(spans[1].attributes["strata.predicate"] == nil)
      #expect(tracer.activeSpans.isEmpty)
    }
  }
}
