import CLMDBShim
import Foundation

/// The number of the last commit, which a store has twice: in the newest anchor of its data file, and in its lock file.
///
/// LMDB believes the lock file: by the parity of its number it chooses the anchor that a transaction begins with, and never looks whether the anchor has that number. The lock
/// file goes by name. So with the lock file of another data file a transaction begins with an older commit, or in an empty store, and writing ends what came after.
///
/// A commit writes the anchor first, then the number in the lock file. So the anchor is ahead by one while a commit is under way, and also after one that was cut off, until the next one.
/// Every other difference says that the lock file belongs to another file, or that other bytes were written into the data file.
///
/// That costs a read some 45 instructions and no call of the system.
enum LastCommit {
  /// What the newest anchor says.
  @inline(__always)
  static func number(_ environment: OpaquePointer?) -> Int {
    var information = MDB_envinfo()
    mdb_env_info(environment, &information)
    return information.me_last_txnid
  }

  /// Whether a transaction that only reads, and has just begun, has begun with a commit of the data file. More than one commit since then looks as if it had not.
  @inline(__always)
  static func isBase(of transaction: OpaquePointer?, _ environment: OpaquePointer?) -> Bool {
    isUsual(number(environment) &- mdb_txn_id(transaction))
  }

  /// Whether the anchor may be ahead by so much.
  @inline(__always)
  private static func isUsual(_ lead: Int) -> Bool { UInt(bitPattern: lead) <= 1 }

  /// By how much the anchor is ahead, at a moment at which nobody has committed to the file. It waits for nobody. Nil where no transaction can be begun: whoever begins one
  /// finds out why.
  static func lead(_ environment: OpaquePointer) -> Int? {
    for _ in 0..<mostMoments {
      let before = number(environment)
      var transaction: OpaquePointer?
      guard mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction) == 0, let transaction else {
        return nil
      }
      let begun = mdb_txn_id(transaction)
      mdb_txn_abort(transaction)
      if number(environment) == before { return before &- begun }
    }
    return nil
  }
  private static let mostMoments = 1_000

  /// Whether the lock file is not that of the data file, or that file has other bytes than it had.
  static func isForeign(_ environment: OpaquePointer) -> Bool {
    for _ in 0..<mostDoubts {
      guard let lead = Self.lead(environment), !isUsual(lead) else { return false }
      usleep(pause)
    }
    return true
  }

  /// Refuses to go on with a transaction that writes, and has just begun, on anything but the last commit of the data file.
  ///
  /// - Throws: ``StorageError`` `.replaced`.
  static func requireBase(ofWriting transaction: OpaquePointer, path: String) throws {
    if isUsual(number(mdb_txn_env(transaction)) &- (mdb_txn_id(transaction) &- 1)) { return }
    throw refusal(path)
  }

  /// Refuses what LMDB would read in a transaction of its own.
  ///
  /// - Throws: ``StorageError`` `.replaced`.
  static func require(_ environment: OpaquePointer, path: String) throws {
    if isForeign(environment) { throw refusal(path) }
  }

  /// How often in a row the two must differ.
  static let mostDoubts = 3
  /// Microseconds in between.
  static let pause: UInt32 = 200

  /// The error of an open store whose data file and lock file do not belong together.
  static func refusal(_ path: String) -> StorageError {
    StorageError(
      .replaced, operation: "mdb_txn_begin", path: path,
      detail: """
        The store's file was replaced while it was open, or other bytes were written into it: its last commit is \
        not the one that its lock file names. Nothing was read or written; close the store and open it again.
        """)
  }
}
