import ArgumentParser
import Foundation
import StoreInterposer
import Strata
import StrataCore
import TortureKit

#if os(Linux)

  /// One of the processes that write to a store with a log by turns. Says on standard output:
  ///
  ///     saved <n>   commit n of this member returned
  ///     done        everything was done and the store is closed
  ///
  /// Anything else is a complaint.
  struct LogMemberCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "log-member", abstract: "Writes to a store with a log together with others.",
      shouldDisplay: false)

    @Argument var path: String
    @Option(help: "Which member this is.") var number: Int
    @Option var seed: UInt64
    @Option(help: "How many commits it makes.") var commits: Int
    @Option(help: "The store's durability.") var durability = "full"
    @Option(help: "Is killed before its n-th call on the files.") var killAt: Int?

    func run() throws {
      Parentage.endWithParent()
      var random = SeededGenerator(seed: seed)
      var settings = LogProbe.Settings()
      settings.durability = Durability(rawValue: durability) ?? .full
      settings.commitsBefore = random.below(2)
      settings.mostPages = random.pick([6, 40, 400])
      if let killAt {
        si_watch(URL(fileURLWithPath: path).deletingLastPathComponent().path)
        let calls = SI_PWRITE | SI_WRITEV | SI_FDATASYNC | SI_FSYNC | SI_UNLINK | SI_FLOCK | SI_FTRUNCATE
        si_arm(UInt32(calls), Int64(killAt), UInt32(SI_KILL), 0)
      }
      do {
        var left = commits
        while left > 0 {
          let store = try LogProbe(path, keyspaces: LogCrew.keyspaces, settings)
          for _ in 0..<min(left, 1 + random.below(12)) {
            try save(store, &random)
            left -= 1
          }
          store.close()
        }
      } catch {
        Worker.say("error \(error)")
        throw ExitCode.failure
      }
      Worker.say("done")
    }

    private func save(_ store: LogProbe, _ random: inout SeededGenerator) throws {
      let (number, filler) = (number, random.pick([10, 300, 3_000]))
      let isLarge = random.chance(1)
      try store.update(here: random.chance(50)) { value in
        let own = LogCrew.number(try value(0, LogCrew.key(number))) + 1
        let total = LogCrew.number(try value(0, LogCrew.totalKey)) + 1
        let row =
          Array("\(number) \(own) ".utf8) + [UInt8](repeating: 0x2E, count: isLarge ? 1_100_000 : filler)
        return [
          .put(keyspace: 0, key: LogCrew.key(number), value: Array("\(own)".utf8)),
          .put(keyspace: 0, key: LogCrew.totalKey, value: Array("\(total)".utf8)),
          .put(keyspace: 1, key: LogCrew.rowKey(total), value: row),
          // Rows are few: pages become free and are used again.
          .delete(keyspace: 1, key: LogCrew.rowKey(total - LogCrew.rowCount)),
        ]
      }
      let own = LogCrew.number(try store.contents()[0][LogCrew.key(number)])
      Worker.say("saved \(own)")
      if random.chance(6) { try store.flush() }
      if random.chance(6) {
        // Another member may be at it.
        do { try store.compact() } catch let error as StorageError where error.kind == .busy {}
      }
      // A process that writes nothing for a while gives up its pin.
      if random.chance(1) { usleep(700_000) }
    }
  }

  /// What members and those who look after them agree on.
  enum LogCrew {
    static let keyspaces = ["counters", "rows"]
    static let totalKey = Array("total".utf8)
    static let rowCount = 12

    static func key(_ number: Int) -> [UInt8] { Array("member \(number)".utf8) }
    static func rowKey(_ total: Int) -> [UInt8] { Array("row \(total)".utf8) }
    static func number(_ bytes: [UInt8]?) -> Int {
      bytes.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    }
  }

#endif
