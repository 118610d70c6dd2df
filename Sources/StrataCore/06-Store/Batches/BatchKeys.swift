/// Primary keys by entity, in the order in which they were added.
package struct BatchKeys: Sendable {
  /// By entity number.
  package private(set) var lists: [KeyList]

  init(entityCount: Int) { lists = Array(repeating: KeyList(), count: entityCount) }

  /// How many there are.
  package var count: Int { lists.reduce(0) { $0 + $1.count } }

  @inline(__always)
  package mutating func append(_ key: UInt64, of entity: Int) { lists[entity].append(key) }

  /// Keys that follow each other.
  mutating func append(_ run: ClosedRange<UInt64>, of entity: Int) { lists[entity].append(run) }

  /// Each key once, in ascending order.
  package mutating func settle() {
    for entity in lists.indices { lists[entity].settle() }
  }
}

/// Primary keys in an order of their own: eight bytes for each at most, next to nothing for those that follow each other, as those of new rows do.
///
/// ```
///   runs  [place, first key] [place, first key] …      while there are few of them
///   keys  [key, key, key, key …]                       otherwise
/// ```
package struct KeyList: RandomAccessCollection, Sendable {
  private struct Run {
    let place: Int
    let first: UInt64
  }

  private var runs: [Run] = []
  private var keys: [UInt64] = []
  /// The key that continues the last run.
  private var next: UInt64 = 0
  package private(set) var count = 0

  package init() {}

  /// What the keys take.
  var byteCount: Int {
    runs.capacity * MemoryLayout<Run>.stride + keys.capacity * MemoryLayout<UInt64>.stride
  }

  package var startIndex: Int { 0 }
  package var endIndex: Int { count }

  /// A run takes as much as two keys.
  private static let mostRunsAnyway = 64

  package subscript(place: Int) -> UInt64 {
    precondition(place >= 0 && place < count, "a place outside the list")
    if !keys.isEmpty { return keys[place] }
    let number = runs.count == 1 ? 1 : (0..<runs.count).partitioningIndex { runs[$0].place > place }
    let run = runs[number - 1]
    return run.first + UInt64(place - run.place)
  }

  @inline(__always)
  package mutating func append(_ key: UInt64) {
    if key == next, keys.isEmpty, count > 0 {
      (next, count) = (next &+ 1, count + 1)
    } else {
      begin(key)
    }
  }

  mutating func append(_ run: ClosedRange<UInt64>) {
    append(run.lowerBound)
    if !keys.isEmpty {
      for key in run.dropFirst() { append(key) }
      return
    }
    count += Int(run.upperBound - run.lowerBound)
    next = run.upperBound &+ 1
  }

  @inline(never)
  private mutating func begin(_ key: UInt64) {
    if keys.isEmpty {
      if runs.count < Swift.max(Self.mostRunsAnyway, count / 2) {
        runs.append(Run(place: count, first: key))
        (next, count) = (key &+ 1, count + 1)
        return
      }
      keys = Array(self)
      runs = []
    }
    keys.append(key)
    count += 1
  }

  /// Each key once, in ascending order.
  mutating func settle() {
    if count < 2 || runs.count == 1 { return }
    let sorted = sorted()
    self = KeyList()
    var last: UInt64?
    for key in sorted where key != last {
      append(key)
      last = key
    }
  }
}
