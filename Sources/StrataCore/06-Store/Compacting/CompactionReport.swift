/// What a compaction has come to, while it runs or at its end. Numbers of bytes.
public struct CompactionReport: Sendable, Hashable {
  /// The file's size when the compaction began.
  public let sizeBefore: Int
  /// The file's size now.
  public let size: Int
  /// Bytes in free pages of the file.
  public let freeBytes: Int
  /// Those of `freeBytes` that may not be used yet, since somebody may still read what was in them: a pinned query generation, or another process.
  public let heldBytes: Int
  /// Bytes of large values that found no place further to the front.
  public let stuckBytes: Int
  /// How many bytes were moved.
  public let movedBytes: Int

  init(_ state: Environment.Compaction) {
    sizeBefore = state.sizeBefore
    size = state.size
    freeBytes = state.freeBytes
    heldBytes = state.heldBytes
    stuckBytes = state.stuckBytes
    movedBytes = state.movedBytes
  }
}

/// A store that can give free room back to the disk while it is in use.
package protocol CompactableStore: StoreEngine {
  /// Makes the file as short as can be now, on the calling thread.
  /// - Parameter step: Called between short transactions; what it throws ends the compaction.
  /// - Throws: ``StorageError``; what `step` throws.
  func compact(_ step: @escaping (CompactionReport) throws -> Void) throws -> CompactionReport
}
