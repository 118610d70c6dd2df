import CLMDBShim

/// A named, ordered map from keys to values inside an environment: what LMDB calls a database.
///
/// A handle is opened once per environment and never closed; it is valid in every transaction of that
/// environment that began after `Environment.keyspaces(_:)` returned it.
struct Keyspace: Sendable, Hashable {
  /// LMDB's number for it in this process.
  let handle: MDB_dbi
  /// The name under which the file keeps it.
  let name: String
}
