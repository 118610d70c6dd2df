import CLMDBShim

extension Environment {
  /// So far behind the newest commit a reader is before it is told of. Those of a moment, and the logs of other processes, are mostly nearer.
  static let mostCommitsHeld = 512

  /// Looks for readers of old commits, on the queue of events, and tells.
  func tellHeldPagesLater() {
    StrataObservers.tellLater { [weak self] in
      // A store that is being closed is not looked at.
      (try? self?.heldPages()).flatMap { $0 }.map { .heldPages($0) }
    }
  }

  /// The pages that wait for the oldest reader, of whatever process; nil when none is far behind. Walks over the part of the list of free
  /// pages that is younger than that reader.
  func heldPages() throws -> HeldPagesEvent? {
    let (slot, environment) = try claimSection()
    var readers = ReaderTable.readers(environment)
    pool.leave(slot)
    // The log's own pin moves on by itself when pages run short.
    if let own = log?.pinned, let place = readers.firstIndex(of: own) { readers.remove(at: place) }
    let oldest = readers.min { $0.transactionID < $1.transactionID }
    let oldestPin = lock.withLock { pins.values.map(\.birth).min() }
    guard let oldest else { return nil }
    return try read { view in
      let behind = view.id - oldest.transactionID
      if behind < Self.mostCommitsHeld { return nil }
      var pages = 0
      // LMDB's database 0: by the number of the transaction that freed them, a list of page numbers behind their count. Those of a transaction
      // that is not older than the oldest reader are kept.
      let free = Keyspace(handle: 0, name: "")
      let from = UInt(oldest.transactionID)
      try view.withCursor(free) { cursor in
        // The list is in the order of those numbers.
        var entry = try withUnsafeBytes(of: from) { try cursor.seek(atLeast: $0) }
        while let found = entry {
          if found.key.count >= 8, found.value.count >= 8, found.key.loadUnaligned(as: UInt.self) >= from {
            pages += Int(found.value.loadUnaligned(as: UInt.self))
          }
          entry = try cursor.next()
        }
      }
      // Of this view: the environment may have been opened anew since the readers were looked at.
      let pageSize = try view.statistics(free).ms_psize
      return HeldPagesEvent(
        path: path, process: oldest.process, commitCount: behind,
        byteCount: pages * Int(pageSize),
        oldestGeneration: oldestPin.map { $0.duration(to: options.now()) })
    }
  }
}
