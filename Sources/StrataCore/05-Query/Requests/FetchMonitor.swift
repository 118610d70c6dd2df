import Synchronization

/// Watches one fetch from another thread: counts the rows it has looked at and can stop it.
///
/// The executor asks every 1,024 rows, so a fetch ends within that many rows of being stopped. May be used from any thread.
public final class FetchMonitor: Sendable {
  /// How many rows are looked at between two questions.
  static let stride = 1_024

  private let isStopped = Atomic<Bool>(false)
  private let looked = Atomic<Int>(0)
  private let report: @Sendable (Int) -> Void

  /// - Parameter report: Called every 1,024 rows with the number of rows looked at, on the fetching thread, inside a read transaction: it
  ///   must be quick and touch no context.
  public init(report: @escaping @Sendable (_ rowCount: Int) -> Void = { _ in }) { self.report = report }

  /// Ends the fetch with a `CancellationError`.
  public func stop() { isStopped.store(true, ordering: .relaxed) }

  /// Whether the fetch was told to end.
  public var wasStopped: Bool { isStopped.load(ordering: .relaxed) }

  /// How many rows have been looked at.
  public var rowCount: Int { looked.load(ordering: .relaxed) }

  /// Called for every `stride` rows that are looked at, or entries of an index.
  /// - Throws: `CancellationError`.
  @inline(never)
  func tick() throws {
    if wasStopped { throw CancellationError() }
    let count = looked.add(Self.stride, ordering: .relaxed).newValue
    report(count)
  }
}

extension FetchMonitor {
  /// For work that looks at no rows.
  /// - Throws: `CancellationError`.
  func checkWhetherStopped() throws { if wasStopped { throw CancellationError() } }
}

/// Asks the monitor every now and then whether to go on: after so many rows, which it counts, or after so much other work. Used by
/// one thread.
final class FetchTicker {
  private let monitor: FetchMonitor
  private let countsRows: Bool
  private var left = FetchMonitor.stride

  init(_ monitor: FetchMonitor, countsRows: Bool = true) {
    self.monitor = monitor
    self.countsRows = countsRows
  }

  @inline(__always)
  func step() throws {
    left -= 1
    if left == 0 {
      left = FetchMonitor.stride
      if countsRows { try monitor.tick() } else { try monitor.checkWhetherStopped() }
    }
  }
}
