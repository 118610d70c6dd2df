import CLMDBShim
import Foundation

/// LMDB's table of readers in the lock file, shared by all processes that use the store.
///
/// LMDB tells processes apart by their numbers. With its first read of an environment a process locks the byte of its number in the lock file: slots of a number whose byte is not
/// locked are a dead process's. It never looks at slots of its own number that way, which are another's all the same where a number comes again: in a restarted container, whose
/// program has the number 1 mostly, and in two containers that share a folder. See `takeOwnNumber(_:path:)`.
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

  /// Whether there are slots of this process's number. Where no environment of this process has read with that lock file, they are another's.
  static func hasOwnNumber(_ environment: OpaquePointer) -> Bool { processes(environment).contains(getpid()) }

  /// Sees to it that slots of this process's number are a dead process's, and makes LMDB take them for its own: closing the environment frees them. Only where no
  /// environment of this process has read with that lock file.
  ///
  /// - Throws: ``StorageError`` `.busy` when another process of the number lives; `.readersFull` when all slots are taken. Closing the environment frees nobody's slot then.
  static func takeOwnNumber(_ environment: OpaquePointer, path: String) throws {
    var transaction: OpaquePointer?
    var code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction)
    if code == MDB_READERS_FULL {
      check(environment)
      code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction)
    }
    if let transaction, code == 0 { mdb_txn_abort(transaction) }
    // Of a file that has outgrown the map LMDB finds out last, with the byte locked and a slot.
    if code != 0 && code != MDB_MAP_RESIZED { throw refusal(code, path: path) }
  }

  /// The error for a code with which LMDB did not begin a read. Only another process of this number can have the byte of the number locked.
  static func refusal(_ code: Int32, path: String) -> StorageError {
    guard code == EAGAIN || code == EACCES else { return StorageError(code, "mdb_txn_begin", path: path) }
    return StorageError(
      .busy, code: code, operation: "mdb_txn_begin", path: path,
      detail: """
        Another process with the number \(getpid()), in another container, has the store open. Processes that \
        use a store tell each other apart by their numbers: give the containers one PID namespace \
        (for example docker run --pid=container:NAME, or shareProcessNamespace in a Kubernetes pod).
        """)
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
