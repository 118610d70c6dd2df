/// The other end of a relationship as a store writes it: primary key and entity in one word.
///
/// ```
///   63            16 15        0
///   ┌───────────────┬───────────┐
///   │ primary key   │ entity    │   the store's code of the entity, so that a fault of the right class can be made unread
///   └───────────────┴───────────┘
/// ```
///
/// Never 0. Sorts by primary key. Means something only in the store it comes from: relationships do not cross stores
/// (rule 146).
enum Reference {
  @inline(__always)
  static func bits(_ primaryKey: UInt64, entityCode: UInt16) -> UInt64 {
    primaryKey << 16 | UInt64(entityCode)
  }

  /// The primary key, unique in the destination's hierarchy.
  @inline(__always)
  static func primaryKey(_ bits: UInt64) -> UInt64 { bits >> 16 }

  /// The store's code of the concrete entity.
  @inline(__always)
  static func entityCode(_ bits: UInt64) -> UInt16 { UInt16(truncatingIfNeeded: bits) }
}
