import Foundation

/// The saved value of one row: immutable bytes, shared, read in place.
///
/// Copying costs one reference count. Has passed `RowDecoder.checkBounds` with the layout it is read with, so
/// no read leaves the row. Slots are read with the layout of the row's entity.
package struct RowSnapshot: @unchecked Sendable {
  // @unchecked Sendable: the bytes are immutable once a snapshot of them exists, and held by `owner`.

  @usableFromInline let owner: RowSlab
  @usableFromInline let base: UnsafeRawPointer
  @usableFromInline let count: Int32

  @inlinable init(owner: RowSlab, base: UnsafeRawPointer, count: Int32) {
    self.owner = owner
    self.base = base
    self.count = count
  }

  /// A snapshot in memory of its own.
  init(copying bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count >= RowFormat.headerLength, "a row has a header")
    let slab = RowSlab.make(length: bytes.count)
    let base = slab.base
    base.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: bytes.count)
    self.init(owner: slab, base: UnsafeRawPointer(base), count: Int32(bytes.count))
  }

  /// Calls `body` with the row's bytes, valid inside it.
  @inline(__always)
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withExtendedLifetime(owner) { try body(UnsafeRawBufferPointer(start: base, count: Int(count))) }
  }

  // MARK: Header

  /// Counts the saves of the object from 1.
  @inlinable package var version: UInt32 { withExtendedLifetime(owner) { RowBytes.version(base) } }
  /// The store's number of the layout.
  var layoutNumber: UInt16 { withExtendedLifetime(owner) { RowBytes.layoutNumber(base) } }
  /// The store's number of the entity.
  var entityCode: UInt16 { withExtendedLifetime(owner) { RowBytes.entityCode(base) } }
  /// Whether some value lies outside the row.
  @inlinable package var hasExternalValues: Bool {
    withExtendedLifetime(owner) { RowBytes.hasExternalValues(base) }
  }

  // MARK: Values

  /// Whether the slot's value is nil.
  @inlinable package func isNil(_ slot: Int, _ layout: RowLayout) -> Bool {
    _ = layout.entry(of: slot)
    return withExtendedLifetime(owner) { RowBytes.isNil(base, slot) }
  }

  /// The slot's value; `nil` when it is external and must be asked of the store.
  func value(_ slot: Int, _ layout: RowLayout) -> AttributeValue? {
    withExtendedLifetime(owner) { RowBytes.value(base, slot, layout) }
  }

  /// Where the slot's value is, when it is external.
  func externalReference(_ slot: Int, _ layout: RowLayout) -> ExternalReference? {
    let entry = layout.entry(of: slot)
    guard RowBytes.kind(entry).isVariable else { return nil }
    return withExtendedLifetime(owner) { RowBytes.externalReference(base, entry) }
  }
}

extension RowSnapshot: CustomDebugStringConvertible {
  package var debugDescription: String {
    "row of \(count) bytes, version \(version), layout \(layoutNumber), entity \(entityCode)"
  }
}
