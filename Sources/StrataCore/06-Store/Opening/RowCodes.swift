/// What the first bytes of a row mean, in flat memory: for loops over many rows, which must not touch a
/// reference count per row.
///
/// Belongs to the catalogue and is valid as long as that.
struct RowCodes {
  /// What an entity code stands for.
  struct Entry {
    /// The number of the entity in the schema; -1 for codes the schema does not know.
    var entity: Int32
    /// The number of the entity's hierarchy.
    var hierarchy: Int32
    /// The layout the entity's rows have now.
    var layoutNumber: UInt16
    var fixedEnd: Int32
    var layout: Unmanaged<RowLayout>
    var table: UnsafePointer<UInt32>

    /// Whether every value lies inside the row.
    @inline(__always)
    func isInBounds(_ bytes: UnsafeRawBufferPointer) -> Bool {
      layout._withUnsafeGuaranteedRef { (try? RowDecoder.checkBounds(bytes, $0)) != nil }
    }
  }

  let entries: UnsafePointer<Entry>
  let count: Int

  /// What the code of these bytes stands for; nil unless they are a row of a known entity in the layout it has
  /// now, as far as the header and the length tell. Values in the tail have not been looked at.
  @inline(__always)
  func entry(_ bytes: UnsafeRawBufferPointer) -> UnsafePointer<Entry>? {
    guard bytes.count >= RowFormat.headerLength, bytes.count <= RowFormat.maximumRowLength,
      let base = bytes.baseAddress
    else { return nil }
    let code = Int(RowBytes.entityCode(base))
    guard code < count else { return nil }
    let entry = entries + code
    guard entry.pointee.entity >= 0, RowBytes.layoutNumber(base) == entry.pointee.layoutNumber,
      bytes.count >= Int(entry.pointee.fixedEnd), RowBytes.fixedLength(base) == Int(entry.pointee.fixedEnd),
      base.load(fromByteOffset: 4, as: UInt8.self) == RowFormat.format
    else { return nil }
    return entry
  }
}
