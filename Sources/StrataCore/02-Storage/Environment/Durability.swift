/// What a store promises about a save that has returned when the power fails right afterwards.
///
/// The corruption promises below were measured with simulated power cuts on liblmdb 0.9.24; see
/// `Docs/Reliability.md`. A crash of the process alone loses nothing at any level: the data is with the
/// operating system before a save returns.
public enum Durability: String, Sendable, Hashable, CaseIterable {
  /// A save that returned survives a power failure. Data and its anchor are flushed with every commit.
  case full
  /// A power failure may undo the last saves, all of one or none of it; it never damages the store.
  case relaxed
  /// Nothing is flushed. Where the store keeps a log of small saves, as it does by default, the promise is that of ``relaxed``. Without one a power
  /// failure may damage the store: for scratch data only.
  case none
}

extension Durability {
  /// Whether this promises less than `other`.
  func isLaxer(than other: Durability) -> Bool {
    switch (self, other) {
    case (.relaxed, .full), (.none, .full), (.none, .relaxed): true
    default: false
    }
  }
}
