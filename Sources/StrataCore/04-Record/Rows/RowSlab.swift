/// Memory for immutable rows: one chunk, filled from the front.
///
/// Written by one `RowSlabWriter` before the rows in it are shared; a written row never changes. Each snapshot
/// holds its slab, so a slab lives as long as any of its rows is needed. Not `Sendable` itself (a `ManagedBuffer`
/// cannot be): snapshots are.
@usableFromInline final class RowSlab: ManagedBuffer<Int, UInt64> {
  /// The size of a full chunk. Longer rows get a slab of their own.
  static let chunkLength = 16_384

  /// A slab of at least `length` bytes.
  static func make(length: Int) -> RowSlab {
    let slab = create(minimumCapacity: (length + 7) / 8) { _ in length }
    // `create` makes an instance of the class it is called on.
    return unsafeDowncast(slab, to: RowSlab.self)
  }

  /// The first byte. Valid as long as the slab lives.
  var base: UnsafeMutableRawPointer {
    withUnsafeMutablePointerToElements { UnsafeMutableRawPointer($0) }
  }
}

/// Puts rows into slabs, one after the other. Used by one thread; not copyable, so that no two writers share
/// the free end of a slab.
///
/// The first slab is small and each next one twice as large up to 16 KiB, so that a save of one row does not
/// hold on to a whole chunk.
struct RowSlabWriter: ~Copyable {
  private var slab: RowSlab?
  private var next: UnsafeMutableRawPointer?
  private var free = 0
  private var nextLength: Int

  /// `expectedLength` is about how many bytes of rows there will be, if known. What else is taken at first is, with its head, just small enough for
  /// the C library to have it at hand (1,032 bytes).
  init(expectedLength: Int = 960) {
    nextLength = min(max(expectedLength, 256), RowSlab.chunkLength)
  }

  /// Room for a row of at most `count` bytes, 8-byte aligned. Nothing is taken until `commit`.
  @inline(__always)
  mutating func reserve(_ count: Int) -> UnsafeMutableRawPointer {
    if count > free { startSlab(count) }
    // `startSlab` has set it if it was nil.
    return next.unsafelyUnwrapped
  }

  /// Takes the first `count` of the reserved bytes, which are written now, as a row.
  @inline(__always)
  mutating func commit(_ count: Int) -> RowSnapshot {
    // Only after `reserve`, which has set both.
    let base = next.unsafelyUnwrapped
    let taken = (count + 7) & ~7
    next = base + taken
    free -= taken
    return RowSnapshot(owner: slab.unsafelyUnwrapped, base: UnsafeRawPointer(base), count: Int32(count))
  }

  /// Copies a row's bytes.
  @inline(__always)
  mutating func append(copying bytes: UnsafeRawBufferPointer) -> RowSnapshot {
    let target = reserve(bytes.count)
    // A row is never empty: callers pass bytes that have passed `RowDecoder.checkBounds`.
    target.copyMemory(from: bytes.baseAddress.unsafelyUnwrapped, byteCount: bytes.count)
    return commit(bytes.count)
  }

  @inline(never)
  private mutating func startSlab(_ count: Int) {
    let length = (max(count, nextLength) + 7) & ~7
    nextLength = min(nextLength * 2, RowSlab.chunkLength)
    let slab = RowSlab.make(length: length)
    self.slab = slab
    next = slab.base
    free = length
  }
}
