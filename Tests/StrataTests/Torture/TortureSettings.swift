import Foundation

/// The settings of the torture tests, by environment variables.
enum TortureSettings {
  /// `STRATA_LONG_TESTS=1`: every read fails in turn, and every call of a store with a log, not a choice of them.
  static let isLong = number("STRATA_LONG_TESTS") != nil

  /// `STRATA_SEED=n`: that seed alone. Otherwise fixed ones, of which the last has found a fault: a change is judged by the
  /// same runs as the one before it. New seeds come from `make torture` and `STRATA_SEED=$RANDOM`.
  static let seeds: [UInt64] = {
    if let seed = number("STRATA_SEED") { return [UInt64(bitPattern: Int64(seed))] }
    return [1, 2, 3, 4, 715_170_541]
  }()
  /// `STRATA_STEPS=n`: how many steps each seed takes.
  static let steps = number("STRATA_STEPS") ?? 1_800
  /// `STRATA_CHECK=1`: compares the whole store after every step, to find the step that spoiled it.
  static let checksAlways = number("STRATA_CHECK") == 1
  /// `STRATA_KILLS=n`: how often the crash test kills its child.
  static let kills = number("STRATA_KILLS") ?? 80

  /// Those of trees that one thread drives: the last ones have found differences.
  static let treeSeeds = number("STRATA_SEED") == nil ? seeds + [7, 42, 132, 147, 292, 364] : seeds

  /// `STRATA_TREE_STEPS=n`: how many steps each seed takes in a tree of contexts.
  static let treeSteps = number("STRATA_TREE_STEPS") ?? 800
  /// `STRATA_TREE_SECONDS=n`: how long each seed drives a tree of contexts from many threads at once.
  static let treeSeconds = number("STRATA_TREE_SECONDS") ?? 3

  /// `STRATA_ROUNDS=n`: how often each worker of the stress test saves.
  static let stressRounds = number("STRATA_ROUNDS") ?? 50

  /// `STRATA_CRASH_STATES=n`: how many states after power cuts are opened.
  static let crashStates = number("STRATA_CRASH_STATES") ?? 500
  /// `STRATA_LOG_CRASH_STATES=n`: how many states of a data file and its log after power cuts are opened.
  static let logCrashStates = number("STRATA_LOG_CRASH_STATES") ?? 200
  /// `STRATA_LOG_FAULTS=n`: how many stories of a log are told with each of their calls failing.
  static let logFaults = number("STRATA_LOG_FAULTS") ?? 1
  /// `STRATA_LOG_STORE_CRASH_STATES=n`: how many states after power cuts of stores with a log are opened through contexts.
  static let logStoreCrashStates = number("STRATA_LOG_STORE_CRASH_STATES") ?? 120
  /// `STRATA_LOG_CREW_STATES=n`: how many of them in stories of several processes.
  static let logCrewStates = number("STRATA_LOG_CREW_STATES") ?? 0
  /// `STRATA_LOG_KILLS=n`: how many processes that write to a store with a log are killed.
  static let logKills = number("STRATA_LOG_KILLS") ?? 16
  /// `STRATA_FAULTS=n`: how many calls fail.
  static let faults = number("STRATA_FAULTS") ?? 120
  /// Whether the system lets the torture program stand between liblmdb and libc.
  static let canInterpose: Bool = {
    #if os(Linux)
      true
    #else
      false
    #endif
  }()

  /// `STRATA_DAMAGED_FILES=n`: how many damaged files are tried.
  static let damagedFiles = number("STRATA_DAMAGED_FILES") ?? 200
  /// `STRATA_VALID_FILES=n`: how many sound files are inspected.
  static let validFiles = number("STRATA_VALID_FILES") ?? 150
  /// `STRATA_FUZZ_INPUTS=n`: how many mutated inputs each decoder gets. Without it those whose inputs are whole predicates, each of
  /// which is read, written and read again, get fewer.
  static func fuzzInputs(_ decoder: String) -> Int {
    number("STRATA_FUZZ_INPUTS") ?? (["format", "xcode"].contains(decoder) ? 250 : 2_500)
  }

  /// `STRATA_PROCESS_SAVES=n`: how many saves processes make that share a store.
  static let processSaves = number("STRATA_PROCESS_SAVES") ?? 800

  private static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }
}
