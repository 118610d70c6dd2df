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
  /// Turns taken since the last check for a waiting process.
  private var turnsInARow = 0

  /// The most saves that go ahead of a process that waits.
  static let mostTurnsInARow = 8

  init(_ file: StoreFile, _ identity: FileSystem.Identity, isNeeded: Bool) {
    self.file = file
    self.identity = identity
    self.isNeeded = isNeeded
  }

  /// Tells other processes that this one knows of logs. Without a descriptor to spare, without permission to write, or where it is unknown what process numbers
  /// mean, they begin no log meanwhile.
  func announce() {
    if !isNeeded { return }
    guard let space = file.system.processSpace(), let descriptor = openedDescriptor() else { return }
    _ = file.system.lockByte(descriptor, Self.knowing(getpid(), in: space), false)
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
  }

  static let writing: Int64 = 0x7FFF_FFFF_FFFF_FF00
  static let waiting: Int64 = writing + 1

  /// The byte of a process that knows of logs and has the store open: by its number, which has 22 bits at most, behind 39 bits for the space of numbers.
  static func knowing(_ process: Int32, in space: UInt64) -> Int64 {
    0x4000_0000_0000_0000 | Int64(space & 0x7F_FFFF_FFFF) << 22 | Int64(process) & 0x3F_FFFF
  }

  /// The data file, opened once more; nil when that cannot be done now, or another file has its name, which the writer finds out by itself.
  private func openedDescriptor() -> Int32? {
    if let descriptor { return descriptor }
    let new = file.system.open(file.path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if new < 0 { return nil }
    guard case .success(let status) = file.system.statusOfDescriptor(new), status.identity == identity,
      let place = InheritedDescriptors.note(new)
    else {
      _ = file.system.close(new)
      return nil
    }
    (descriptor, self.place) = (new, place)
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
