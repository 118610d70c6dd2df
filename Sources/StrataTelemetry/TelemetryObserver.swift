import StrataCore

/// Gets the events and makes lines, metrics and spans of them.
final class TelemetryObserver: StrataObserver {
  private let lines: LogLines?
  private let metrics: TelemetryMetrics?
  private let spans: Spans?
  let places = CallSites()

  init(_ options: Telemetry.Options) {
    lines = options.logger.map { LogLines($0, options) }
    metrics = options.metrics.map { TelemetryMetrics($0) }
    spans = options.tracer.map { Spans($0, includesValues: options.includesValues) }
  }

  func observe(_ event: StrataEvent) {
    metrics?.note(event)
    spans?.note(event)
    guard let lines else { return }
    guard case .repeatedFaults(let faults) = event else { return lines.write(event) }
    // Here the calling functions are those of the fault.
    places.name(faults.returnAddresses) {
      let stack = CapturedStack(faults.returnAddresses)
      return { stack.callSite() }
    } _: { site in
      lines.write(faults, at: site)
    }
  }

  /// Waits until every call site so far was named: for tests.
  func awaitNaming() { places.awaitNaming() }
}
