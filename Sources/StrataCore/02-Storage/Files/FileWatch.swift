import Dispatch
import Foundation

/// Reports writes to a file, by any process.
///
/// ```
///   write by any process ─▶ the system ─▶ FileWatch ─▶ handler, a few milliseconds later at most; many writes at once are one
/// ```
///
/// On Linux by inotify, one descriptor for the process; on Apple's systems by a file-system source of Dispatch. It ends with its last
/// reference. May be used from any thread. It says that there was a write, not what was written: the receiver must look.
final class FileWatch: Sendable {
  /// What has happened.
  enum Event: Sendable {
    case written
    /// The file was moved, deleted, or changed its attributes.
    case moved
  }

  #if os(Linux)
    private let hub: InotifyHub
    private let place: InotifyHub.Place

    /// Watches the file at `path`; nil when the system cannot. `handler` is called on a queue of the watch's own and must be quick.
    init?(path: String, _ handler: @escaping @Sendable (Event) -> Void) {
      guard let hub = InotifyHub.shared, let place = hub.add(path, handler) else { return nil }
      self.hub = hub
      self.place = place
    }

    deinit { hub.remove(place) }
  #elseif canImport(Darwin)
    private let source: any DispatchSourceFileSystemObject

    init?(path: String, _ handler: @escaping @Sendable (Event) -> Void) {
      let descriptor = open(path, O_EVTONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return nil }
      let source = DispatchSource.makeFileSystemObjectSource(
        fileDescriptor: descriptor, eventMask: [.write, .extend, .delete, .rename, .attrib],
        queue: DispatchQueue(label: "strata.watch"))
      source.setEventHandler { [unowned source] in
        handler(source.data.isDisjoint(with: [.write, .extend]) ? .moved : .written)
      }
      source.setCancelHandler { close(descriptor) }
      source.activate()
      self.source = source
    }

    deinit { source.cancel() }
  #else
    init?(path: String, _ handler: @escaping @Sendable (Event) -> Void) { return nil }
  #endif
}

#if os(Linux)
  /// The process's one inotify descriptor, and who waits for which file.
  final class InotifyHub: @unchecked Sendable {
    // Unchecked: `watches` is touched under `lock`; the rest are constants.

    /// A handler's place: the number inotify has for the file, and the handler's own.
    struct Place: Sendable {
      let watch: Int32
      let number: Int
    }

    /// Nil when the system has no descriptor left, or in a child of the process that made it: there it is not read.
    static var shared: InotifyHub? {
      guard let hub = made, hub.generation == ForkGuard.generation else { return nil }
      return hub
    }
    private static let made = InotifyHub()

    private typealias Handler = @Sendable (FileWatch.Event) -> Void
    private let descriptor: Int32
    private let generation: Int
    private let source: any DispatchSourceRead
    private let queue = DispatchQueue(label: "strata.watch")
    private let lock = SystemLock()
    private var watches: [Int32: [Int: Handler]] = [:]
    private var nextNumber = 0

    /// After each look it looks away for so long: a thousand commits in a second are a few hundred events.
    private static let pause = DispatchTimeInterval.milliseconds(2)

    private init?() {
      ForkGuard.install()
      generation = ForkGuard.generation
      descriptor = inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC))
      guard descriptor >= 0 else { return nil }
      source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler { [unowned self] in self.look() }
      source.activate()
    }

    fileprivate func add(_ path: String, _ handler: @escaping @Sendable (FileWatch.Event) -> Void) -> Place? {
      lock.withLock {
        // The file that is watched already has the same number again.
        let mask = UInt32(IN_MODIFY) | UInt32(IN_ATTRIB) | UInt32(IN_MOVE_SELF) | UInt32(IN_DELETE_SELF)
        let watch = inotify_add_watch(descriptor, path, mask)
        guard watch >= 0 else { return nil }
        nextNumber += 1
        watches[watch, default: [:]][nextNumber] = handler
        return Place(watch: watch, number: nextNumber)
      }
    }

    fileprivate func remove(_ place: Place) {
      // In a forked child the descriptor is the parent's too.
      if generation != ForkGuard.generation { return }
      // What the handler holds ends outside of the lock.
      let handler = lock.withLock { () -> Handler? in
        let handler = watches[place.watch]?.removeValue(forKey: place.number)
        if watches[place.watch]?.isEmpty == true {
          watches[place.watch] = nil
          inotify_rm_watch(descriptor, place.watch)
        }
        return handler
      }
      withExtendedLifetime(handler) {}
    }

    /// Reads what has happened, reports it once for each file, and pauses.
    private func look() {
      var events: [Int32: FileWatch.Event] = [:]
      var isOverrun = false
      withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: MemoryLayout<inotify_event>.alignment) {
        bytes in
        while case let count = read(descriptor, bytes.baseAddress, bytes.count), count > 0 {
          var place = 0
          while place + MemoryLayout<inotify_event>.size <= count {
            let event = bytes.loadUnaligned(fromByteOffset: place, as: inotify_event.self)
            place += MemoryLayout<inotify_event>.size + Int(event.len)
            if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { isOverrun = true }
            let isWritten = event.mask & UInt32(IN_MODIFY) != 0
            if events[event.wd] != .moved { events[event.wd] = isWritten ? .written : .moved }
          }
        }
      }
      let handlers = lock.withLock { () -> [(Handler, FileWatch.Event)] in
        if isOverrun { for watch in watches.keys where events[watch] == nil { events[watch] = .written } }
        return events.flatMap { event in (watches[event.key] ?? [:]).values.map { ($0, event.value) } }
      }
      for (handler, event) in handlers { handler(event) }
      source.suspend()
      queue.asyncAfter(deadline: .now() + Self.pause) { [weak self] in self?.source.resume() }
    }
  }
#endif
