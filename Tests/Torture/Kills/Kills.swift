import Foundation
import Strata
import TortureKit

/// Kills programs (kill -9) while they make a store, open it and save to it, and looks at what they left.
///
/// A round is the life of one store. In every fourth another program saves on beside those that are killed.
struct Kills: TortureKind {
  static let name = "kills"
  static let cases = "kills"

  private var random: SeededGenerator
  private let hasSurvivor: Bool
  private let witness: KillWitness
  private let folder: ScratchFolder
  /// From start to open, in microseconds.
  private var startTime = 20_000
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    hasSurvivor = random.chance(25)
    // On the disk: there a save takes longest, so that most kills meet one.
    folder = try ScratchFolder(inMemory: random.chance(30))
    witness = KillWitness(folder.url("crash.strata"))
  }

  mutating func round() throws -> Int {
    var kills = 0
    if hasSurvivor {
      kills = try killBesideSurvivor()
    } else {
      // A store lives for some kills, then there is a new one: creating it is a moment like others.
      for _ in 0...random.below(20) {
        try killOnce()
        kills += 1
        do { try witness.examine() } catch { throw TortureViolation("after kill \(kills): \(error)") }
      }
    }
    details["saves found"] = witness.promised.values.reduce(0, +)
    details["saves in flight found"] = witness.surprises
    return kills
  }

  private mutating func count(_ name: String) { details[name, default: 0] += 1 }

  private func start(_ workers: [Int]) throws -> ChildProcess {
    try ChildProcess(
      ChildProcess.program("Torture"), ["writer", witness.url.path, "--workers"] + workers.map { "\($0)" })
  }

  /// Starts a writer on the store and kills it at some moment.
  private mutating func killOnce() throws {
    let isNew = !witness.exists
    let workers = Array(1...random.pick([1, 2, 4]))
    let start = ContinuousClock.now
    let child = try self.start(workers)
    var lines: [String] = []
    if random.chance(isNew ? 70 : 30) {
      // While the program starts, creates, opens, recovers: most of its start is spent before it touches the file.
      let part = random.chance(70) ? 60 + random.below(60) : random.below(120)
      usleep(UInt32(startTime * part / 100))
    } else {
      for count in 0...random.below(60) {
        guard let line = child.readLine() else { break }
        lines.append(line)
        if count == 0 { startTime = min(Int((ContinuousClock.now - start) / .microseconds(1)), 5_000_000) }
      }
      usleep(UInt32(random.below(3_000)))
    }
    try end(child, lines)
    if isNew && !hasOpened { count("killed while creating") }
    if !isNew && !hasOpened { count("killed while opening") }
  }
  /// Whether the last one that was killed had said that the store is open.
  private var hasOpened = false

  /// Kills a writer and records everything it has reported, of which `lines` were read before.
  private mutating func end(_ child: ChildProcess, _ lines: [String]) throws {
    let code = child.kill()
    let lines = lines + child.readLines()
    for line in lines { try witness.hear(line) }
    hasOpened = lines.first == "open"
    guard code == 128 + SIGKILL else { throw TortureViolation("a writer has ended by itself, with \(code)") }
  }

  /// A writer that dies while it holds the store's lock stops no other process.
  private mutating func killBesideSurvivor() throws -> Int {
    let survivor = try start([1])
    guard survivor.readLine() == "open" else { throw TortureViolation("the store could not be made") }
    let kills = 1 + random.below(12)
    for kill in 1...kills {
      let victim = try start([2, 3])
      var lines: [String] = []
      for _ in 0...random.below(40) {
        guard let line = victim.readLine() else { break }
        lines.append(line)
      }
      usleep(UInt32(random.below(3_000)))
      try end(victim, lines)
      // The survivor continues: it saves ten times more than it had reported before.
      for line in survivor.linesAtHand() { try witness.hear(line) }
      for _ in 0..<10 {
        guard let line = survivor.readLine() else {
          throw TortureViolation("the survivor has ended with kill \(kill)")
        }
        try witness.hear(line)
      }
      do { try witness.examine(only: [2, 3]) } catch {
        throw TortureViolation("after kill \(kill), beside a survivor: \(error)")
      }
      count("killed beside a survivor")
    }
    try end(survivor, [])
    try witness.examine()
    return kills + 1
  }
}
