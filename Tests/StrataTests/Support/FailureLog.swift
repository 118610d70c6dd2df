import Strata

/// Writes down what a context could not read.
final class FailureLog {
  private(set) var failures: [ReadFailure] = []

  init(_ context: ManagedObjectContext) {
    context.readFailureHandler = { [unowned self] in failures.append($0) }
  }

  /// How often the handler was called since this was last asked.
  func takeCount() -> Int {
    defer { failures = [] }
    return failures.count
  }
}
