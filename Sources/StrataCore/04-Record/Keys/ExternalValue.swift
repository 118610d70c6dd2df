import Foundation

/// A value that does not fit into its row, on its way to the store.
///
/// Its value version is the version of the row it was encoded with.
package struct ExternalValue: Sendable {
  /// The attribute's slot.
  package let slot: Int
  /// The value's bytes: UTF-8 for strings and URLs.
  package let bytes: Data

  /// A value for `slot`.
  package init(slot: Int, bytes: Data) {
    self.slot = slot
    self.bytes = bytes
  }

  /// What the bytes are of an attribute of a kind; nil when they are no value of it.
  package func value(as kind: SlotKind) -> AttributeValue? { RowBytes.externalValue(bytes, kind: kind) }
}
