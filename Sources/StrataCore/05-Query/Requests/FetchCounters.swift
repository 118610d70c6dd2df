/// What a fetch has looked at, counted while it runs.
final class FetchCounters {
  /// Rows whose bytes were looked at.
  var examined = 0
  /// Rows that were handed to a collector of rows of values.
  var collected = 0
  /// Index entries that decided by themselves.
  var entries = 0
  /// Index entries that were stepped over in the order of an index, those that lead to no row of the result included.
  var walked = 0
  /// Whether the plan's alternative was taken.
  var hasScannedInstead = false
}
