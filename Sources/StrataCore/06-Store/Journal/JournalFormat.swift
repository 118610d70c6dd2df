/// The bytes of the commit journal: which rows each of the last commits has changed, for other processes that show them.
///
/// ```
///   key     commit number, u64 big-endian
///   entry   u8 format, 1 │ 8 bytes that name the writer │ lists
///   list    u16 entity code │ u8 kind │ varint, the number of runs │ runs
///   run     varint of 2 · (its first key − the key after the run before), + 1 when it has several keys;
///           then varint of their number − 2
///   varint  seven bits a byte, the lowest first; the highest bit says that more follow
/// ```
///
/// Keys ascend in a list; kind `any` has no runs: some rows of the entity have changed, too many to name. An import of rows side
/// by side costs a few bytes, changes here and there one or two bytes each.
enum JournalFormat {
  static let keyspaceName = "journal"
  static let format: UInt8 = 1
  /// Format and writer.
  static let headerLength = 9

  /// What has happened to the rows of a list.
  enum Kind: UInt8, CaseIterable {
    case inserted = 1
    case updated = 2
    case deleted = 3
    /// Relationships have changed, but not the row.
    case related = 4
    /// Anything, to any rows of the entity.
    case any = 5
  }

  /// How much a journal keeps.
  struct Limits: Sendable {
    /// Commits.
    var commits = 2_048
    /// Commits that may be there beyond that before the oldest go: they go together.
    var slack = 128
    /// Bytes, as whole pages.
    var bytes = 1 << 20
    /// Bytes of one entry; what is longer names entities only.
    var entryBytes = 32 << 10
    /// Rows of one list that are read one by one; a longer one is taken for `any`.
    var listedRows = 262_144
  }
}

/// A commit of the journal's, as far as this process's model knows the entities.
package struct JournaledCommit: Sendable {
  /// The store's own count of its commits.
  package let number: UInt64
  /// Whether this store object has made it.
  package let isOwn: Bool
  /// The rows it has changed.
  package internal(set) var changes: BatchChanges
  /// Whether anything at all may have changed: the changes were not recorded.
  package internal(set) var isUnknown = false

  package init(number: UInt64, isOwn: Bool, changes: BatchChanges, isUnknown: Bool = false) {
    self.number = number
    self.isOwn = isOwn
    self.changes = changes
    self.isUnknown = isUnknown
  }
}

/// What the journal has about the time since a commit.
package struct JournalReading: Sendable {
  /// Commits in order. One of unknown contents stands for all those before its number that are not listed.
  package var commits: [JournaledCommit] = []
  /// The newest commit of the store.
  package internal(set) var newest: UInt64

  package init(commits: [JournaledCommit] = [], newest: UInt64) {
    self.commits = commits
    self.newest = newest
  }
}
