import ArgumentParser
import Foundation
import StoreInterposer
import Strata
import StrataCore
import TortureKit

#if os(Linux)

  /// A process that does with a store what it is told, and records its calls together with others.
  ///
  ///     ← open | commit <attempt> <seed> <large> | flush | close | rest | kill <n>
  ///     → done | error …
  ///
  /// `kill` answers at once; the process is killed before its n-th call from then on.
  struct LogCrewMemberCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "log-crew-member", abstract: "Writes to a store with a log as it is told.",
      shouldDisplay: false)

    @Argument var path: String
    @Option(help: "The file of the common record.") var record: String
    @Option(help: "Which member this is.") var number: Int
    @Option(help: "The store's durability.") var durability = "full"
    @Option(help: "By how many pages the file may grow between two checkpoints.") var mostPages: Int
    @Option(help: "How many commits go without a log.") var commitsBefore: Int

    @Option(help: "What is wrong with the log on purpose.") var mutant: String?

    func run() throws {
      Parentage.endWithParent()
      si_watch(URL(fileURLWithPath: path).deletingLastPathComponent().path)
      guard si_record_together(record, 0) == 0 else { throw TortureViolation("there is no common record") }
      var settings = LogProbe.Settings()
      settings.durability = Durability(rawValue: durability) ?? .full
      settings.mostPages = mostPages
      settings.commitsBefore = commitsBefore
      settings.mapSize = 1 << 22
      settings.mutant = mutant.flatMap(LogProbe.Mutant.init)
      var store: LogProbe?
      while let line = Self.readLine() {
        let words = line.split(separator: " ").map(String.init)
        let numbers = words.dropFirst().compactMap(Int.init)
        do {
          switch words.first {
          case "open":
            store = try LogProbe(path, keyspaces: LogStory.keyspaces, settings)
            LogCrewPromises.Mark.opened.note(UInt64(number))
          case "commit":
            guard let store, numbers.count == 3 else { throw TortureViolation("not open: \(line)") }
            try commit(store, numbers[0], seed: UInt64(numbers[1]), isLarge: numbers[2] == 1)
          case "flush":
            LogCrewPromises.Mark.flushing.note(UInt64(number))
            try store?.flush()
            LogCrewPromises.Mark.flushed.note(UInt64(number))
          case "close":
            LogCrewPromises.Mark.closing.note(UInt64(number))
            store?.close()
            store = nil
            LogCrewPromises.Mark.closed.note(UInt64(number))
          case "rest":
            // Long enough for a checkpoint, and then for the end of the pin.
            usleep(1_300_000)
          case "kill":
            let calls =
              SI_OPEN | SI_PWRITE | SI_WRITEV | SI_FDATASYNC | SI_FSYNC | SI_UNLINK | SI_FLOCK | SI_FTRUNCATE
            si_arm(UInt32(calls), Int64(numbers.first ?? 1), UInt32(SI_KILL), 0)
          default: throw TortureViolation("not understood: \(line)")
          }
          Worker.say("done")
        } catch {
          Worker.say("error \(error)")
        }
      }
    }

    private func commit(_ store: LogProbe, _ attempt: Int, seed: UInt64, isLarge: Bool) throws {
      var random = SeededGenerator(seed: seed)
      let here = random.chance(50)
      try store.update(here: here) { value in
        let base = try value(1, LogStory.attemptKey).map { String(decoding: $0, as: UTF8.self) } ?? "0"
        guard let base = Int(base) else { throw TortureViolation("the last attempt is “\(base)”") }
        LogCrewPromises.Mark.built.note(LogCrewPromises.Mark.pair(attempt, on: base))
        return LogCrewStory.changes(attempt, seed: seed, isLarge: isLarge)
      }
      let isFull = durability == Durability.full.rawValue
      (isFull ? LogCrewPromises.Mark.acknowledgedFully : .acknowledged).note(UInt64(attempt))
    }

    /// A line from the process that started this one: standard output is a connection both ways.
    private static func readLine() -> String? {
      var line: [UInt8] = []
      var byte: UInt8 = 0
      while true {
        let count = read(STDOUT_FILENO, &byte, 1)
        if count == 0 || count < 0 && errno != EINTR { return nil }
        if count < 0 { continue }
        if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
        line.append(byte)
      }
    }
  }

#endif
