import Foundation
import StrataCore

/// The locks of `lock()`, `tryLock()` and `unlock()`: from the time before `perform`. One for each context and coordinator that was
/// ever locked; nothing in the library takes them.
private enum Locks {
  private struct Entry: @unchecked Sendable {
    // Safe: weak references may be loaded from any thread, and locks are made for several.
    weak var owner: AnyObject?
    let lock = NSRecursiveLock()
  }

  private static let entries = Mutex<[ObjectIdentifier: Entry]>([:])

  static func lock(of owner: AnyObject & Sendable) -> NSRecursiveLock {
    entries.withLock { entries in
      if let known = entries[ObjectIdentifier(owner)], known.owner === owner { return known.lock }
      entries = entries.filter { $0.value.owner != nil }
      let new = Entry(owner: owner)
      entries[ObjectIdentifier(owner)] = new
      return new.lock
    }
  }
}

extension NSManagedObjectContext: NSLocking {
  /// Takes the context's recursive lock, which other callers of `lock()` wait for. Use `performAndWait`.
  public func lock() { Locks.lock(of: self).lock() }
  /// Releases the context's lock.
  public func unlock() { Locks.lock(of: self).unlock() }
  /// Takes the context's lock if it is free.
  public func tryLock() -> Bool { Locks.lock(of: self).try() }
}

extension NSPersistentStoreCoordinator: NSLocking {
  /// Takes the coordinator's recursive lock, which other callers of `lock()` wait for. Use `performAndWait`.
  public func lock() { Locks.lock(of: self).lock() }
  /// Releases the coordinator's lock.
  public func unlock() { Locks.lock(of: self).unlock() }
  /// Takes the coordinator's lock if it is free.
  public func tryLock() -> Bool { Locks.lock(of: self).try() }
}
