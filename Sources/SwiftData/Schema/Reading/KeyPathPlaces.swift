import Foundation
import Synchronization

/// Leads from the key paths that accessors of a class use to the places of its properties.
///
/// A key path that is written in the source is one object for good, and found by its address; each place in the source has an object of its own. Read from any thread
/// without a lock, filled under one.
final class KeyPathPlaces: @unchecked Sendable {
  // @unchecked Sendable: an address is stored behind its place, and neither changes again; the rest is under the lock.

  /// Open addressing; at most half full.
  // Unsafe: owned by the table and freed with it; `kept` keeps what the addresses are of.
  private let addresses: UnsafeMutablePointer<Atomic<UInt>>
  private let places: UnsafeMutablePointer<Int32>
  private let mask: Int
  private let lock = NSLock()
  /// The key paths in the table: no other object gets their addresses.
  private var kept: [AnyKeyPath] = []

  init(properties: Int) {
    var size = 16
    // An initialiser, a getter, a setter and the metadata name each property, and whoever asks for it.
    while size < properties * 16 { size *= 2 }
    mask = size - 1
    addresses = .allocate(capacity: size)
    for place in 0..<size { (addresses + place).initialize(to: Atomic(0)) }
    places = .allocate(capacity: size)
    places.initialize(repeating: -1, count: size)
  }

  deinit {
    addresses.deinitialize(count: mask + 1)
    addresses.deallocate()
    places.deallocate()
  }

  /// The place of the property; -1 for a key path that is not in the table.
  @inline(__always)
  subscript(_ keyPath: AnyKeyPath) -> Int {
    let address = UInt(bitPattern: ObjectIdentifier(keyPath))
    var index = Int(truncatingIfNeeded: address >> 4) & mask
    while true {
      let found = addresses[index].load(ordering: .acquiring)
      if found == address { return Int(places[index]) }
      if found == 0 { return -1 }
      index = (index + 1) & mask
    }
  }

  /// From now on the key path leads to the place.
  func remember(_ keyPath: AnyKeyPath, _ place: Int) {
    lock.withLock {
      // Key paths that a program makes again and again are found the slow way: the table does not grow without end.
      if (kept.count + 1) * 2 > mask + 1 { return }
      let address = UInt(bitPattern: ObjectIdentifier(keyPath))
      var index = Int(truncatingIfNeeded: address >> 4) & mask
      while true {
        let found = addresses[index].load(ordering: .relaxed)
        if found == address { return }
        if found == 0 { break }
        index = (index + 1) & mask
      }
      places[index] = Int32(truncatingIfNeeded: place)
      kept.append(keyPath)
      addresses[index].store(address, ordering: .releasing)
    }
  }
}
