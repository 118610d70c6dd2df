import Foundation

/// A moment in a store's history: how many commits it has had.
///
/// A value: it may be kept, encoded and compared with later ones of the same store, also in another process and after copying the file.
public struct PersistentHistoryToken: Sendable, Hashable, Codable {
  /// The store's UUID.
  public let storeIdentifier: UUID
  /// The store's own count of its commits.
  public let commitNumber: UInt64

  init(storeIdentifier: UUID, commitNumber: UInt64) {
    self.storeIdentifier = storeIdentifier
    self.commitNumber = commitNumber
  }
}
