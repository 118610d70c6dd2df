import Foundation

/// Random numbers that depend on the seed alone (SplitMix64), and the choices random tests make with them.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from 0 up to, not including, `count`.
  mutating func below(_ count: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(count)) }
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
  mutating func pick<C: RandomAccessCollection>(_ values: C) -> C.Element {
    values[values.index(values.startIndex, offsetBy: below(values.count))]
  }
  mutating func pickAny<C: RandomAccessCollection>(_ values: C) -> C.Element? {
    values.isEmpty ? nil : pick(values)
  }
}

/// What a run of the torture tests can be told by environment variables.
enum TortureSettings {
  /// `STRATA_SEED=n`: that seed alone. Otherwise some fixed seeds and one that nobody knew before.
  static let seeds: [UInt64] = {
    if let seed = number("STRATA_SEED") { return [UInt64(bitPattern: Int64(seed))] }
    return [1, 2, 3, 4, UInt64.random(in: 1_000...999_999_999)]
  }()
  /// `STRATA_STEPS=n`: how many steps each seed takes.
  static let steps = number("STRATA_STEPS") ?? 10_000
  /// `STRATA_CHECK=1`: compares the whole store after every step, to find the step that spoiled it.
  static let checksAlways = number("STRATA_CHECK") == 1
  /// `STRATA_KILLS=n`: how often the crash test kills its child.
  static let kills = number("STRATA_KILLS") ?? 200

  /// `STRATA_ROUNDS=n`: how often each worker of the stress test saves.
  static let stressRounds = number("STRATA_ROUNDS") ?? 100

  private static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }
}
