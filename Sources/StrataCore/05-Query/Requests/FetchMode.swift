/// How much of the matching rows a fetch returns.
public enum FetchMode: Sendable, Hashable {
  /// The rows' values.
  case rows
  /// Primary keys and entities, without the values.
  case identifiers
  /// Only how many there are.
  case count
}
