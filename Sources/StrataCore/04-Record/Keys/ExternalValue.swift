import Foundation

/// A value that does not fit into its row, on its way to the store.
///
/// Its value version is the version of the row it was encoded with.
public struct ExternalValue: Sendable {
  /// The attribute's slot.
  public let slot: Int
  /// The value's bytes: UTF-8 for strings and URLs.
  public let bytes: Data

  /// A value for `slot`.
  public init(slot: Int, bytes: Data) {
    self.slot = slot
    self.bytes = bytes
  }
}
