import Foundation
import Strata
import StrataCore
import TortureKit

#if os(Linux)

  /// Two and three processes write to one store with a log by turns, open and close it, and are killed at any call: between the record and the commit, in a
  /// checkpoint, in a recovery. Nothing that was acknowledged is lost, and nothing that was not comes back later.
  struct LogProcesses: TortureKind {
    static let name = "log-processes"
    static let cases = "kills of processes with a log"

    private let seed: UInt64
    private var random: SeededGenerator
    private(set) var details: [String: Int] = [:]

    init(seed: UInt64) {
      self.seed = seed
      random = SeededGenerator(seed: seed)
    }

    mutating func round() throws -> Int {
      let folder = try ScratchFolder()
      let path = folder("Log.strata")
      let durability = Durability.full.rawValue
      let other = Durability.relaxed.rawValue
      var saved: [Int: Int] = [:]
      var kills = 0
      // By member, how often it was killed since it told of a commit: each time it may have made one more.
      var untold: [Int: Int] = [:]
      for chapter in 0..<6 {
        var crew: [(number: Int, child: ChildProcess)] = []
        let count = 2 + random.below(2)
        let killed = random.below(count + 1)
        // Of all processes, or of some beside others that go on.
        let dieAll = random.chance(40)
        for number in 0..<count {
          var arguments = [
            "log-member", path, "--number", "\(number)", "--seed", "\(random.next() >> 1)", "--commits",
            "\(8 + random.below(20))", "--durability", random.chance(50) ? durability : other,
          ]
          if dieAll || number < killed {
            // The first calls are those of a recovery.
            arguments += ["--kill-at", "\(1 + random.below(random.chance(40) ? 24 : 260))"]
          }
          crew.append((number, try ChildProcess(ChildProcess.program("Torture"), arguments)))
        }
        var dead = 0
        for (number, child) in crew {
          for line in child.readLines() {
            let words = line.split(separator: " ")
            if words.first == "saved", words.count == 2, let n = Int(words[1]) {
              saved[number] = n
              untold[number] = 0
              details["commits", default: 0] += 1
            } else if line != "done" {
              throw TortureViolation("chapter \(chapter), member \(number): \(line)")
            }
          }
          switch child.wait() {
          case 0: break
          case 128 + SIGKILL:
            kills += 1
            dead += 1
            untold[number, default: 0] += 1
          case let code: throw TortureViolation("chapter \(chapter): member \(number) ended with \(code)")
          }
        }
        if dead == crew.count { details["chapters without survivor", default: 0] += 1 }
        if access(path + "-log", F_OK) == 0 { details["logs left behind", default: 0] += 1 }
        // Now and then the next members recover the store.
        guard chapter == 5 || random.chance(50) else { continue }
        try examine(path, &saved, untold, chapter)
        untold = [:]
      }
      return kills
    }

    private func examine(
      _ path: String, _ saved: inout [Int: Int], _ untold: [Int: Int], _ chapter: Int
    ) throws {
      let store = try LogProbe(path, keyspaces: LogCrew.keyspaces, LogProbe.Settings())
      defer { store.close() }
      for (number, found) in try LogCrew.counts(try store.contents()).enumerated() {
        let told = saved[number] ?? 0
        guard (told...told + (untold[number] ?? 0)).contains(found) else {
          throw TortureViolation(
            "chapter \(chapter): member \(number) has \(found) commits, told were \(told)")
        }
        saved[number] = found
      }
    }
  }

#endif
