/// What an environment holds and uses at one moment.
struct EnvironmentStatistics: Sendable, Hashable {
  /// One keyspace's part of it.
  struct KeyspacePart: Sendable, Hashable {
    var name: String
    var entries: Int
    var depth: Int
  }

  /// Bytes in a page.
  var pageSize: Int
  /// Bytes of address space reserved for the file.
  var mapSize: Int
  /// The number of the last page ever used.
  var lastPage: Int
  /// Bytes in the file.
  var fileSize: Int
  /// Reader slots in use, by all processes, parked readers among them.
  var readersInUse: Int
  /// The number of the last commit.
  var transactionID: Int
  /// Every keyspace that was opened, in the order of opening.
  var keyspaces: [KeyspacePart]
}
