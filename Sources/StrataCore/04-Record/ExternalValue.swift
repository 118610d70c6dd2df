import Foundation

/// A value that does not fit into its row, on its way to the store.
///
/// Its value version is the version of the row it was encoded with.
struct ExternalValue: Sendable {
  /// The attribute's slot.
  let slot: Int
  /// The value's bytes: UTF-8 for strings and URLs.
  let bytes: Data
}
