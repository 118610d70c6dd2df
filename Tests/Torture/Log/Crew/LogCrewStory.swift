import Foundation
import StoreInterposer
import Strata
import StrataCore
import TortureKit

#if os(Linux)

  /// Has two and three processes open, write, flush, and close a store, by turns and now and then at once, and kills them at any call.
  ///
  /// The steps follow from the seed. What two processes do at once, and what happens after a quiet moment, does not.
  struct LogCrewStory {
    let path: String
    let record: String
    private var random: SeededGenerator
    private var members: [Member] = []
    private var memberCount = 0
    private(set) var details: [String: Int] = [:]
    /// By attempt, its seed, and whether it is a large one.
    private(set) var attempts: [Int: (seed: UInt64, isLarge: Bool)] = [:]
    private let hasLargeCommits: Bool
    private let mostPages: Int
    private let commitsBefore: Int
    private let durabilities: [Durability]

    private struct Member {
      let number: Int
      let child: ChildProcess
      var isOpen = false
      var attempts = 0
      var isAlive = true
    }

    private let mutant: LogProbe.Mutant?

    init(path: String, record: String, seed: UInt64, mutant: LogProbe.Mutant?) {
      self.mutant = mutant
      self.path = path
      self.record = record
      random = SeededGenerator(seed: seed)
      hasLargeCommits = random.chance(30)
      mostPages = random.pick([12, 40, 200])
      commitsBefore = random.below(3)
      durabilities = random.pick([[.full], [.relaxed], [.full, .relaxed]])
    }

    mutating func tell() throws {
      defer {
        for index in members.indices where members[index].isAlive { end(index) }
        members = []
      }
      for _ in 0..<2 + random.below(2) {
        for _ in 0..<2 + random.below(2) { try addMember() }
        for _ in 0..<25 + random.below(30) where members.contains(where: \.isAlive) { try step() }
        if random.chance(50) {
          // All are killed where they are, between two calls; the next ones recover the store.
          for index in members.indices where members[index].isAlive {
            end(index)
            details["killed between calls", default: 0] += 1
          }
        } else {
          for index in members.indices where members[index].isAlive && members[index].isOpen {
            try tell(index, "close")
          }
          for index in members.indices where members[index].isAlive { end(index) }
        }
        members = []
      }
    }

    /// Kills a member that waits for a word. Threads of its own may be in a call.
    private mutating func end(_ index: Int) {
      si_hold(1)
      members[index].child.kill()
      si_hold(0)
      members[index].isAlive = false
    }

    private mutating func addMember() throws {
      memberCount += 1
      let arguments =
        [
          "log-crew-member", path, "--record", record, "--number", "\(memberCount)",
          "--durability", random.pick(durabilities).rawValue, "--most-pages", "\(mostPages)",
          "--commits-before", "\(commitsBefore)",
        ] + (mutant.map { ["--mutant", $0.rawValue] } ?? [])
      let child = try ChildProcess(ChildProcess.program("Torture"), arguments)
      members.append(Member(number: memberCount, child: child))
    }

    private mutating func step() throws {
      let alive = members.indices.filter { members[$0].isAlive }
      guard let one = random.pickAny(alive) else { return }
      // Of a process that is killed another one takes the place.
      if alive.count < 2 && random.chance(30) { return try addMember() }
      if random.chance(9) {
        // The first calls of a commit are those that concern its record.
        try tell(one, "kill \(1 + random.below(random.pick([4, 12, 60])))")
        return
      }
      if random.chance(15), alive.count > 1, let other = random.pickAny(alive.filter { $0 != one }) {
        // Both at once.
        let words = [(one, next(one)), (other, next(other))]
        for (index, word) in words { members[index].child.say(word) }
        for (index, word) in words { try listen(index, word) }
        details["steps at once", default: 0] += 1
        return
      }
      try tell(one, next(one))
    }

    /// What a member is to do.
    private mutating func next(_ index: Int) -> String {
      if !members[index].isOpen { return "open" }
      switch random.below(200) {
      case 0..<14: return "flush"
      case 14..<24: return "close"
      case 24: return "rest"
      default:
        members[index].attempts += 1
        let attempt = members[index].number * 1_000 + members[index].attempts
        let isLarge = hasLargeCommits && random.chance(6)
        let seed = random.next() >> 2
        attempts[attempt] = (seed, isLarge)
        return "commit \(attempt) \(seed) \(isLarge ? 1 : 0)"
      }
    }

    private mutating func tell(_ index: Int, _ word: String) throws {
      members[index].child.say(word)
      try listen(index, word)
    }

    private mutating func listen(_ index: Int, _ word: String) throws {
      guard let answer = members[index].child.readLine() else {
        let code = members[index].child.wait()
        guard code == 128 + SIGKILL else {
          throw TortureViolation("member \(members[index].number) ended with \(code) at “\(word)”")
        }
        members[index].isAlive = false
        let kind = word.split(separator: " ").first ?? ""
        details["killed in \(kind)", default: 0] += 1
        return
      }
      guard answer == "done" else {
        throw TortureViolation("member \(members[index].number) at “\(word)”: \(answer)")
      }
      if word == "open" { members[index].isOpen = true }
      if word == "close" { members[index].isOpen = false }
    }

    // MARK: What attempts do

    static func changes(_ attempt: Int, seed: UInt64, isLarge: Bool) -> [LogProbe.Change] {
      var random = SeededGenerator(seed: seed ^ 0xFACE)
      return LogStory.changes(attempt, isLarge: isLarge, &random)
    }
  }

#endif
