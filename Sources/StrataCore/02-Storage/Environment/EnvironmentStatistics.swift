import CLMDBShim

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
  /// Pages that commits may use again, now or when readers have gone on.
  var freePages: Int
  /// Bytes in the file.
  var fileSize: Int
  /// Reader slots in use, by all processes, parked readers among them.
  var readersInUse: Int
  /// The number of the last commit.
  var transactionID: Int
  /// Every keyspace that was opened, in the order of opening.
  var keyspaces: [KeyspacePart]
}

/// Where the pages of a file are.
struct EnvironmentSpace: Sendable, Hashable {
  /// By keyspace that was opened: its pages, those of its large entries among them.
  var pages: [String: Int] = [:]
  /// Pages that commits may use again.
  var freePages = 0
}

extension Environment {
  /// Where the pages are. Costs a look at each keyspace and a walk over the list of free pages.
  func space() throws -> EnvironmentSpace {
    // Taken before the view begins, which knows no later keyspace.
    let opened = lock.withLock { openKeyspaces }
    return try read { view in
      var space = EnvironmentSpace()
      for keyspace in opened {
        let part = try view.statistics(keyspace)
        space.pages[keyspace.name] = part.ms_branch_pages + part.ms_leaf_pages + part.ms_overflow_pages
      }
      space.freePages = try view.freePageCount()
      return space
    }
  }
}

extension ReadTransaction {
  /// How many pages the list of free pages has. Costs a look at each part of the list.
  func freePageCount() throws -> Int {
    var count = 0
    // LMDB's database 0: lists of page numbers, each behind their count.
    try forEach(in: Keyspace(handle: 0, name: "")) { entry in
      if entry.value.count >= 8 { count += Int(entry.value.loadUnaligned(as: UInt.self)) }
    }
    return count
  }
}
