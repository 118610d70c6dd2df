import CoreMetrics
import Logging
import StrataCore
import Tracing

/// Log lines, metrics and spans of what Strata does in this process.
///
///     LoggingSystem.bootstrap(…)               // as the program does anyway, and the same for metrics and tracing
///     let telemetry = Telemetry.start()
///
/// Everything is made of the events of ``StrataObservers``. Lines, metrics and spans are made on the thread where something happened, at its end; backends that are slow there
/// make Strata slow. May be used from any thread.
public final class Telemetry: Sendable {
  /// What is written, and from when on.
  public struct Options: Sendable {
    /// Where lines go; nil for nowhere. Default: a logger with the label `strata`.
    public var logger: Logger? = Logger(label: "strata")
    /// Where metrics go; nil for nowhere. Default: the factory that `MetricsSystem` was given.
    public var metrics: (any MetricsFactory)? = MetricsSystem.factory
    /// Where spans go; nil for nowhere. Default: the tracer that `InstrumentationSystem` was given.
    public var tracer: (any Tracer)? = InstrumentationSystem.tracer
    /// A fetch that takes a store this long is told at level notice, others at debug. Default: 100 ms.
    public var slowFetch = Duration.milliseconds(100)
    /// The same for saves. Default: 1 s.
    public var slowSave = Duration.seconds(1)
    /// The same for waits. Default: 1 s.
    public var longWait = Duration.seconds(1)
    /// Whether lines and spans have predicates with the values that are asked for, and the texts of errors, which may be somebody's data. Default: false: errors are named by
    /// type and code, in messages of the library as well.
    public var includesValues = false
    /// Whether messages of the library become lines, instead of going to standard error. Counts only with a logger; messages of levels that it does not take go to standard
    /// error all the same. Default: true.
    public var takesMessages = true
    /// From how many faults of one place on a line says so; nil for never, which saves looking at the calling functions: at each fault that is
    /// read alone, some fifteen times as many instructions as reading its row. Default: 16.
    public var repeatedFaultThreshold: Int? = 16
    /// Whether each fault is counted, and a line of level trace. Default: true.
    public var countsFaults = true

    /// What a program wants that has set up logging, metrics and tracing for itself.
    public init() {}
  }

  private let installation: StrataObservers.Installation
  let observer: TelemetryObserver

  private init(_ observer: TelemetryObserver, _ installation: StrataObservers.Installation) {
    (self.observer, self.installation) = (observer, installation)
  }

  /// Begins, until `stop()`; also when nobody keeps the result. Logging, metrics and tracing are bootstrapped before.
  @discardableResult
  public static func start(_ options: Options = Options()) -> Telemetry {
    let observer = TelemetryObserver(options)
    var events = StrataObservers.Options()
    if let threshold = options.repeatedFaultThreshold { events.repeatedFaultThreshold = threshold }
    return Telemetry(
      observer, StrataObservers.install(observer, for: options.kinds, options: events))
  }

  /// The same with lines alone.
  @discardableResult
  public static func start(logger: Logger) -> Telemetry {
    var options = Options()
    (options.logger, options.metrics, options.tracer) = (logger, nil, nil)
    return start(options)
  }

  /// Ends it. What another thread is telling may still be written afterwards. Calling it again does nothing.
  public func stop() { installation.remove() }
}

extension Telemetry.Options {
  /// The events that are needed.
  fileprivate var kinds: StrataEvent.Kinds {
    var kinds = StrataEvent.Kinds.all
    if repeatedFaultThreshold == nil { kinds.remove(.repeatedFaults) }
    if !countsFaults { kinds.remove(.faults) }
    // Else nobody would say them.
    if logger == nil || !takesMessages { kinds.remove(.messages) }
    return kinds
  }
}
