import Synchronization

/// The source of primary keys of one hierarchy in one open store.
///
/// Keys come from blocks that were reserved in the store: a counter in the file is raised in a committed
/// transaction before any key below it is given away, so a key is never given twice, by no process, not after a
/// crash and not after every row was deleted. Taking a key is one atomic step. May be used from any thread.
final class PrimaryKeyAllocator: Sendable {
  /// Keys a commit adds ahead of time; also what the first slow path reserves.
  static let smallestBlock: UInt64 = 256
  /// The most keys reserved at once.
  static let largestBlock: UInt64 = 1 << 20
  /// Keys are below this.
  static let limit: UInt64 = 1 << 48
  /// Keys that are given are below this. What is above stands for new objects that have none, see ``UnkeyedObjects``.
  static let end: UInt64 = (1 << 48) - (1 << 24)
  /// The largest key with which an object is taken in from elsewhere: nearly 2^32 are left for new ones.
  static let largestTaken: UInt64 = (1 << 48) - (1 << 32)

  /// The current block: the next key in the upper 48 bits, how many are left in the lower 16.
  private let current = Atomic<UInt64>(0)

  private struct Spare {
    /// Reserved keys that follow the current block.
    var blocks: [Range<UInt64>] = []
    /// How many keys the next reservation asks for.
    var size = PrimaryKeyAllocator.smallestBlock
    /// Keys below this may have been given away although no commit has reserved them.
    var unsecuredEnd: UInt64 = 0
    /// The store's counter when it was last known: at opening, then the end of the last keys that were reserved.
    var knownCounter: UInt64?
  }
  private let spare: Mutex<Spare>
  /// Held while a slow path reserves, so that threads that run dry together reserve once.
  private let refill = Mutex<Void>(())

  /// - Parameter counter: the store's when it was opened; nil when that could not be told.
  init(counter: UInt64?) { spare = Mutex(Spare(knownCounter: counter)) }

  /// A key, from the block at hand or, when none is left, from one that `reserve` gets.
  ///
  /// - Parameter reserve: Raises the counter in the store by a number and returns the keys gained; or adds unsecured keys
  ///   and returns nil.
  func next(reserve: (UInt64) throws -> Range<UInt64>?) throws -> UInt64 {
    while true {
      if let key = take() { return key }
      if installSpare() { continue }
      try refill.withLock { _ in
        if !isDry { return }
        let size = spare.withLock { state in
          let size = state.size
          state.size = min(size * 4, Self.largestBlock)
          return size
        }
        if let keys = try reserve(size) { add(keys) }
      }
    }
  }

  /// How many keys a commit should reserve along with its rows, so that the next ones need no write of their own.
  var wanted: UInt64 {
    spare.withLock { state in
      let left = remaining(state)
      // The size is what the last burst needed: half of it in hand is enough.
      return left < max(state.size / 8, 64) ? max(state.size / 4, Self.smallestBlock) : 0
    }
  }

  /// Adds keys that a committed transaction has reserved.
  func add(_ keys: Range<UInt64>) {
    if keys.isEmpty { return }
    spare.withLock { state in
      state.blocks.append(keys)
      state.knownCounter = max(state.knownCounter ?? 0, keys.upperBound)
    }
  }

  /// Adds keys that could not be reserved: `counter` is the store's, which could be read but not be raised; nil when it could
  /// not even be read, and what was last known of it tells where new ones may begin.
  ///
  /// Objects can so be made while the disk is full or another process is writing; only saving them needs the store.
  /// The keys begin beyond a random gap, where another process does not come by counting: near the end of all keys a smaller one. The next commit
  /// raises the counter above all of them (`unsecuredEnd`); one that finds a row under such a key is a conflict.
  /// - Returns: False when there are none.
  func addUnsecured(after counter: UInt64?) -> Bool {
    spare.withLock { state in
      guard let counter = counter ?? state.knownCounter else { return false }
      let first = max(counter, state.unsecuredEnd)
      guard first < Self.end else { return false }
      // As many behind the gap as before it.
      let gap = UInt64.random(in: 0..<min(Self.widestGap, (Self.end - first + 1) / 2))
      let start = first + gap
      let end = min(start + state.size, Self.end)
      state.unsecuredEnd = end
      state.blocks.append(start..<end)
      return true
    }
  }

  private static let widestGap: UInt64 = 1 << 32

  /// No reservation may begin below this.
  var unsecuredEnd: UInt64 { spare.withLock { $0.unsecuredEnd } }

  /// Ends the giving of keys and returns the unused ones, in no particular order.
  func close() -> [Range<UInt64>] {
    spare.withLock { state in
      let rest = current.exchange(0, ordering: .acquiringAndReleasing)
      let next = rest >> 16
      var blocks = state.blocks
      if rest & 0xFFFF != 0 { blocks.append(next..<next + (rest & 0xFFFF)) }
      state.blocks = []
      return blocks
    }
  }

  private func take() -> UInt64? {
    var old = current.load(ordering: .relaxed)
    while old & 0xFFFF != 0 {
      // One key more, one left less.
      let (exchanged, found) = current.weakCompareExchange(
        expected: old, desired: old &+ 0xFFFF, ordering: .acquiringAndReleasing)
      if exchanged { return old >> 16 }
      old = found
    }
    return nil
  }

  /// Whether there are no keys at all. Asked under the lock: another thread may be making spare keys the current block.
  private var isDry: Bool {
    spare.withLock { $0.blocks.isEmpty && current.load(ordering: .relaxed) & 0xFFFF == 0 }
  }

  /// Makes up to 65,535 spare keys the current block; false when there are none.
  private func installSpare() -> Bool {
    spare.withLock { state in
      if current.load(ordering: .relaxed) & 0xFFFF != 0 { return true }
      guard let first = state.blocks.first else { return false }
      let count = min(UInt64(first.count), 0xFFFF)
      if count == UInt64(first.count) {
        state.blocks.removeFirst()
      } else {
        state.blocks[0] = (first.lowerBound + count)..<first.upperBound
      }
      // Only this method makes a dry block a full one, and it holds the lock.
      current.store(first.lowerBound << 16 | count, ordering: .releasing)
      return true
    }
  }

  private func remaining(_ state: Spare) -> UInt64 {
    state.blocks.reduce(current.load(ordering: .relaxed) & 0xFFFF) { $0 + UInt64($1.count) }
  }
}
