import CLMDBShim

/// LMDB's table of readers in the lock file, shared by all processes that use the store.
enum ReaderTable {
  /// Frees the slots of processes that died; how many there were. Safe at any time, from any thread.
  ///
  /// The corresponding LMDB function is `mdb_reader_check`.
  @discardableResult
  static func check(_ environment: OpaquePointer) -> Int {
    var dead: Int32 = 0
    mdb_reader_check(environment, &dead)
    return Int(dead)
  }

  /// How many slots are taken, in all processes together, parked readers among them.
  static func slotsInUse(_ environment: OpaquePointer) -> Int {
    // The callback gets a heading, then one line per slot, or one line that says there are none.
    var lines = 0
    withUnsafeMutablePointer(to: &lines) { counter in
      _ = mdb_reader_list(
        environment,
        { message, context in
          // Neither is nil: LMDB passes its text and our own pointer.
          guard let message, let context else { return 0 }
          let first = UnsafeRawPointer(message).loadUnaligned(as: UInt8.self)
          if first != UInt8(ascii: "(") { context.assumingMemoryBound(to: Int.self).pointee += 1 }
          return 0
        }, counter)
    }
    return max(0, lines - 1)
  }

  /// The processes that have slots, as good as all that have the store open: each keeps parked readers.
  static func processes(_ environment: OpaquePointer) -> Set<Int32> {
    var processes: Set<Int32> = []
    withUnsafeMutablePointer(to: &processes) { found in
      _ = mdb_reader_list(
        environment,
        { message, context in
          // Neither is nil: LMDB passes its text and our own pointer.
          guard let message, let context else { return 0 }
          // A line begins with the number of the process; the heading has none.
          if let first = String(cString: message).split(separator: " ").first, let number = Int32(first) {
            context.assumingMemoryBound(to: Set<Int32>.self).pointee.insert(number)
          }
          return 0
        }, found)
    }
    return processes
  }

  struct Reader: Hashable {
    let process: Int32
    /// The commit that is read.
    let transactionID: Int
  }

  /// The readers that are inside a commit, of all processes.
  static func readers(_ environment: OpaquePointer) -> [Reader] {
    var readers: [Reader] = []
    withUnsafeMutablePointer(to: &readers) { found in
      _ = mdb_reader_list(
        environment,
        { message, context in
          // Neither is nil: LMDB passes its text and our own pointer.
          guard let message, let context else { return 0 }
          // Process, thread, transaction; a parked reader has a dash for the last, and the heading has no numbers.
          let words = String(cString: message).split(whereSeparator: \.isWhitespace)
          guard words.count == 3, let process = Int32(words[0]), let transaction = Int(words[2]) else {
            return 0
          }
          context.assumingMemoryBound(to: [Reader].self).pointee.append(
            Reader(process: process, transactionID: transaction))
          return 0
        }, found)
    }
    return readers
  }
}
