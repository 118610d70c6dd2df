import Foundation

/// The turn to write to a store's file, among processes: a lock that can be tried, taken before LMDB's own, which cannot.
///
///     writer thread   waiting ─▶ writing ─▶ LMDB's lock ─▶ commit ─▶ back
///     saving thread   writing, if it is free ─▶ LMDB's lock ─▶ commit ─▶ back
///
/// LMDB waits for its lock as long as another process keeps it, and cannot be called back: a thread that saves must not get into that wait, since
/// it has promised to wait no longer than its deadline. A thread that holds this lock finds LMDB's free. The locks are two bytes far beyond the end of
/// the data file, held by the open file (`F_OFD_SETLK`): they end with the process, and closing another descriptor does not release them.
///
/// *waiting* keeps processes from starving each other: a writer thread holds that byte while it waits for the other one. Saving
/// threads check it every now and then, and queue up behind it.
///
/// A child made by `fork` would keep the locks of a parent that is killed; so it closes the descriptors at once.
final class FileTurn: @unchecked Sendable {
  // Unchecked: everything is used by the one thread that writes, or is about to (`WriterQueue` ensures that), and by the thread that closes the environment
  // when there are no writes any more.

  private let file: StoreFile
  private let identity: FileSystem.Identity
  /// A store without a name has no other process.
  private let isNeeded: Bool
  private var descriptor: Int32?
  /// Where the descriptor is noted for children.
  private var place: Int?
  /// Whether this process has the store open. It announces that as soon as there is a descriptor to spare.
  private var isOpen = false
  /// Whether others can see that.
  private(set) var hasAnnounced = false
  /// Turns taken since the last check for a waiting process.
  private var turnsInARow = 0

  /// The most saves that go ahead of a process that waits.
  static let mostTurnsInARow = 8

  init(_ file: StoreFile, _ identity: FileSystem.Identity, isNeeded: Bool) {
    self.file = file
    self.identity = identity
    self.isNeeded = isNeeded
  }

  /// Tells other processes that this one has the store open, and knows of logs. Without a descriptor to spare, without permission to write, or where it is
  /// unknown what process numbers mean, they begin no log meanwhile.
  ///
  /// Whoever opens a store that has a log holds the turn at it (`LogTurn`) meanwhile.
  func announce() {
    isOpen = true
    if isNeeded, let descriptor = openedDescriptor() { announce(descriptor) }
  }

  private func announce(_ descriptor: Int32) {
    hasAnnounced = file.system.shareByte(descriptor, Self.using) == 0
    guard let space = file.system.processSpace() else { return }
    _ = file.system.lockByte(descriptor, Self.knowing(getpid(), in: space), false)
  }

  /// The store is not open any more, or must be opened again.
  func withdraw() {
    isOpen = false
    hasAnnounced = false
    guard let descriptor else { return }
    _ = file.system.unlockByte(descriptor, Self.using)
    guard let space = file.system.processSpace() else { return }
    _ = file.system.unlockByte(descriptor, Self.knowing(getpid(), in: space))
  }

  /// Whether a process that knows of logs has announced that it has the data file open: then it has found the file whole, or made it so.
  ///
  /// Whoever locks the lock file alone need not have: LMDB's own tools, or a process that exchanges the store.
  /// - Throws: ``StorageError`` when that is unknown.
  static func isInUse(_ file: StoreFile, _ data: Int32) throws -> Bool {
    // Where nobody can announce anything, everybody counts.
    try isAnnounced(file, data) ?? true
  }

  /// Whether such a process has announced itself; nil where none can. It may be about to open the store, and not have LMDB's lock yet.
  /// - Throws: ``StorageError`` when that is unknown.
  static func isAnnounced(_ file: StoreFile, _ data: Int32) throws -> Bool? {
    for places in [using...using, firstKnowing...lastKnowing] {
      switch file.system.isAnyByteLocked(data, places) {
      case .success(true): return true
      case .success(false): continue
      case .failure(let code) where code.number == EINVAL: return nil
      case .failure(let code): throw StorageError(code.number, "fcntl", path: file.path)
      }
    }
    return false
  }

  /// Whether other processes have announced themselves, as far as that is known. One that has not opened the store yet may do so at any moment.
  var areOthersAnnounced: Bool {
    // Its own locks do not count for a descriptor.
    guard let descriptor = openedDescriptor() else { return false }
    do { return try Self.isAnnounced(file, descriptor) ?? false } catch { return true }
  }

  /// Whether another process has announced itself; nil where that cannot be known.
  /// - Throws: ``StorageError`` when the system does not say.
  func isAnnouncedByOthers() throws -> Bool? {
    guard let descriptor = openedDescriptor() else { return nil }
    return try Self.isAnnounced(file, descriptor)
  }

  /// Whether a process has announced itself, as one whose number is of that space.
  func isAnnounced(_ process: Int32, in space: UInt64) -> Bool {
    guard let descriptor = openedDescriptor() else { return false }
    return file.system.isByteLocked(descriptor, Self.knowing(process, in: space))
  }

  /// Takes the turn if it is free and no other process has waited too long. Never waits.
  func tryTake() -> Bool {
    if !isNeeded { return true }
    guard let descriptor = openedDescriptor() else { return false }
    turnsInARow += 1
    if turnsInARow >= Self.mostTurnsInARow {
      if file.system.isByteLocked(descriptor, Self.waiting) { return false }
      turnsInARow = 0
    }
    return file.system.lockByte(descriptor, Self.writing, false) == 0
  }

  /// Waits for the turn as long as it takes. Only for the writer thread.
  ///
  /// Continues without it where the system has no such locks, or no descriptor to spare: then no thread of this process saves by itself, and one of
  /// another process may come to wait for LMDB's lock as long as this one writes.
  ///
  /// - Returns: whether another process had it.
  func take() -> Bool {
    if !isNeeded { return false }
    turnsInARow = 0
    guard let descriptor = openedDescriptor() else { return false }
    let isWaitedFor = file.system.isByteLocked(descriptor, Self.waiting)
    if !isWaitedFor, file.system.lockByte(descriptor, Self.writing, false) == 0 { return false }
    guard file.system.lockByte(descriptor, Self.waiting, true) == 0 else { return false }
    _ = file.system.lockByte(descriptor, Self.writing, true)
    _ = file.system.unlockByte(descriptor, Self.waiting)
    return true
  }

  /// Gives the turn back.
  func leave() {
    if let descriptor { _ = file.system.unlockByte(descriptor, Self.writing) }
  }

  /// There are no writes any more.
  func close() {
    if let place { InheritedDescriptors.forget(place) }
    if let descriptor { _ = file.system.close(descriptor) }
    (descriptor, place) = (nil, nil)
    hasAnnounced = false
  }

  static let writing: Int64 = 0x7FFF_FFFF_FFFF_FF00
  static let waiting: Int64 = writing + 1
  /// Shared by all that have the store open.
  static let using: Int64 = writing + 2

  /// The byte of a process that knows of logs and has the store open: by its number, which has 22 bits at most, behind 39 bits for the space of numbers.
  static func knowing(_ process: Int32, in space: UInt64) -> Int64 {
    firstKnowing | Int64(space & 0x7F_FFFF_FFFF) << 22 | Int64(process) & 0x3F_FFFF
  }
  private static let firstKnowing: Int64 = 0x4000_0000_0000_0000
  private static let lastKnowing: Int64 = firstKnowing | 0x1FFF_FFFF_FFFF_FFFF

  /// The data file, opened once more; nil when that cannot be done now, or another file has its name, which the writer finds out by itself.
  private func openedDescriptor() -> Int32? {
    if let descriptor { return descriptor }
    let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    var new = file.system.open(file.path, O_RDWR | flags, 0)
    // Enough to share a byte. The turn cannot be taken with it, nor is there anything to write.
    if [EACCES, EPERM, EROFS, ETXTBSY].contains(-new) {
      new = file.system.open(file.path, O_RDONLY | flags, 0)
    }
    if new < 0 { return nil }
    guard case .success(let status) = file.system.statusOfDescriptor(new), status.identity == identity,
      let place = InheritedDescriptors.note(new)
    else {
      _ = file.system.close(new)
      return nil
    }
    (descriptor, self.place) = (new, place)
    if isOpen { announce(new) }
    return new
  }
}

/// Descriptors that a child made by `fork` must close at once. Their places are fixed memory, since the child may call next to nothing.
enum InheritedDescriptors {
  private static let count = 4_096
  // Unsafe: places are given out and taken back under `lock`; the child, which has one thread, only reads.
  nonisolated(unsafe) private static let places: UnsafeMutablePointer<Int32> = {
    let places = UnsafeMutablePointer<Int32>.allocate(capacity: count)
    places.initialize(repeating: -1, count: count)
    return places
  }()
  private static let lock = SystemLock()

  /// Makes the memory, so that no child has to.
  static func prepare() { _ = places }

  /// Has children close `descriptor`; where it is noted, nil when there are too many.
  static func note(_ descriptor: Int32) -> Int? {
    lock.withLock {
      guard let place = (0..<count).first(where: { places[$0] < 0 }) else { return nil }
      places[place] = descriptor
      return place
    }
  }

  static func forget(_ place: Int) { lock.withLock { places[place] = -1 } }

  /// In the child, before anything else. The lock may never be released there: it is not taken.
  static func close() {
    for place in 0..<count where places[place] >= 0 {
      _ = Foundation.close(places[place])
      places[place] = -1
    }
  }
}
