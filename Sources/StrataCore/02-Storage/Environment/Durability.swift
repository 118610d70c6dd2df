import CLMDBShim

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
  /// The same as `relaxed`: with a log beside the store there is nothing more to be had. In earlier versions a power failure could damage such a store.
  case none

  /// The flags for `mdb_env_open` that make LMDB keep this promise for commits that go without a log.
  var environmentFlags: UInt32 { self == .full ? 0 : UInt32(MDB_NOMETASYNC) }
}
