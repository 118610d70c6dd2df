/// The keyspace "journal", see `JournalFormat`.
struct JournalKeyspace: Sendable {
  let keyspace: Keyspace
  let limits: JournalFormat.Limits

  /// Writes down a commit and releases the oldest.
  ///
  /// One append; every `slack` commits a few deletions. The journal is never larger than its limits and that slack, whatever
  /// a program does.
  func write(
    _ number: UInt64, _ entry: ContiguousArray<UInt8>, _ transaction: borrowing WriteTransaction
  ) throws {
    try PrimaryKeyBytes.with(number) { key in
      try entry.withUnsafeBytes { try transaction.put(keyspace, key, $0) }
    }
    try trim(transaction)
  }

  private func trim(_ transaction: borrowing WriteTransaction) throws {
    let statistics = try transaction.read.statistics(keyspace)
    var surplus =
      statistics.ms_entries > limits.commits + limits.slack ? statistics.ms_entries - limits.commits : 0
    let pageLimit = max(limits.bytes / Int(statistics.ms_psize), 8)
    var pages = statistics.ms_leaf_pages + statistics.ms_overflow_pages
    if surplus == 0, pages <= pageLimit { return }
    // By bytes to three quarters of what is allowed, so that it is not done again at once. The newest entry stays.
    if pages <= pageLimit { pages = 0 }
    try transaction.withCursor(keyspace) { cursor in
      var entry = try cursor.first()
      var rest = statistics.ms_entries - 1
      while entry != nil, rest > 0, surplus > 0 || pages > pageLimit * 3 / 4 {
        try cursor.delete()
        rest -= 1
        surplus = max(surplus - 1, 0)
        if pages > 0 {
          let now = try transaction.read.statistics(keyspace)
          pages = now.ms_leaf_pages + now.ms_overflow_pages
        }
        entry = try cursor.next()
      }
    }
  }

  /// Calls `body` with each commit after `number`, in order.
  func forEach(
    after number: UInt64, _ transaction: borrowing ReadTransaction,
    _ body: (_ number: UInt64, _ entry: UnsafeRawBufferPointer) throws -> Void
  ) throws {
    try transaction.withCursor(keyspace) { cursor in
      var entry = try PrimaryKeyBytes.with(number + 1) { try cursor.seek(atLeast: $0) }
      while let found = entry {
        if let number = PrimaryKeyBytes.whole(found.key) { try body(number, found.value) }
        entry = try cursor.next()
      }
    }
  }
}
