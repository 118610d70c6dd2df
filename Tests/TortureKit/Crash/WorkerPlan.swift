import Foundation

/// What a worker's places hold after a number of its saves, and what its next save changes. Depends only on
/// the numbers, so that every reader of the store can tell what must be in it.
public struct WorkerPlan {
  /// How many places a worker has.
  public static let placeCount = 24

  public enum Change {
    /// Fills the place, which may be empty or full.
    case fill(Int)
    case empty(Int)
  }

  public let worker: Int
  /// How many saves have been made.
  public private(set) var lastSave = 0
  /// The full places, and the save that filled each.
  public private(set) var stamps: [Int: Int] = [:]

  public init(worker: Int) { self.worker = worker }

  /// The state that a reader found in a store.
  public init(worker: Int, lastSave: Int, stamps: [Int: Int]) {
    self.worker = worker
    self.lastSave = lastSave
    self.stamps = stamps
  }

  /// What the next save changes: one to eight places, each once.
  public var nextChanges: [Change] {
    var numbers = Numbers(worker, lastSave + 1, 0)
    var places = Set<Int>()
    for _ in 0...numbers.below(8) { places.insert(numbers.below(Self.placeCount)) }
    return places.sorted().map { place in
      stamps[place] != nil && numbers.below(3) == 0 ? .empty(place) : .fill(place)
    }
  }

  /// Makes the next save.
  public mutating func advance() {
    let changes = nextChanges
    lastSave += 1
    for change in changes {
      switch change {
      case .fill(let place): stamps[place] = lastSave
      case .empty(let place): stamps[place] = nil
      }
    }
  }
}

/// The values of an entry.
struct EntryContent {
  let name: String
  let measure: Double
  let text: String?
  let blob: Data?

  init(worker: Int, place: Int, stamp: Int) {
    var numbers = Numbers(worker, place, stamp)
    name = "worker \(worker), place \(place), save \(stamp)"
    measure = Double(numbers.below(1_000)) / 8
    // Some too long for a key, some too long for a row.
    let length = [0, 10, 200, 260, 1_024, 1_025, 5_000][numbers.below(7)]
    text = length == 0 ? nil : String(repeating: "abcdefghij", count: length / 10 + 1) + "\(stamp)"
    let size = [0, 0, 16, 900, 2_000, 9_000, 70_000][numbers.below(7)]
    blob = size == 0 ? nil : Data(repeating: UInt8(truncatingIfNeeded: numbers.below(256)), count: size)
  }
}

/// A few numbers that depend on three.
private struct Numbers {
  private var state: UInt64

  init(_ a: Int, _ b: Int, _ c: Int) {
    state = 0
    for number in [a, b, c] { state = mix(state ^ UInt64(bitPattern: Int64(number))) }
  }

  mutating func below(_ count: Int) -> Int {
    state = mix(state)
    return Int(truncatingIfNeeded: state % UInt64(count))
  }

  private func mix(_ number: UInt64) -> UInt64 {
    var mixed = number &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
