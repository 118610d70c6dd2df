import ArgumentParser
import Foundation
import Strata
import StrataCore
import TortureKit

#if os(Linux)

  /// Looks at the store of a crew after a power cut: for `Tests/PowerCut/run`.
  struct LogLookCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "log-look", abstract: "Says what a power cut has left of a store with a log.",
      shouldDisplay: false)

    @Argument var path: String
    @Option(help: "How many commits each member was told of.") var saved: [Int] = []
    @Flag(help: "The last commits may be undone.") var relaxed = false

    func run() throws {
      do {
        let store = try LogProbe(path, keyspaces: LogCrew.keyspaces, LogProbe.Settings())
        defer { store.close() }
        let found = try LogCrew.counts(try store.contents())
        for (number, told) in saved.enumerated() {
          let count = number < found.count ? found[number] : 0
          guard count <= told + 1, relaxed || count >= told else {
            throw TortureViolation("member \(number) has \(count) commits, told were \(told)")
          }
        }
        Worker.say("found \(found.map(String.init).joined(separator: " "))")
      } catch {
        Worker.say("violation \(error)")
        throw ExitCode.failure
      }
    }
  }

  /// Has the file system of a folder stop at once, without writing anything more: what a power cut is to it. ext4 and xfs can do that.
  struct ShutDownCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "shut-down", abstract: "Stops a file system as a power cut does.", shouldDisplay: false)

    @Argument var folder: String

    /// FS_IOC_SHUTDOWN, and the flag that its own log is not flushed first.
    private static let request: UInt = 0x8004_587D
    private static let withoutFlush: UInt32 = 2

    func run() throws {
      let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      var flags = Self.withoutFlush
      guard descriptor >= 0, ioctl(descriptor, Self.request, &flags) == 0 else {
        Worker.say("violation \(folder) cannot be shut down: \(String(cString: strerror(errno)))")
        throw ExitCode.failure
      }
    }
  }

  extension LogCrew {
    /// How many commits each of three members has made, in a store whose rows and total agree with that.
    static func counts(_ contents: LogProbe.Contents) throws -> [Int] {
      let counts = (0..<3).map { LogCrew.number(contents[0][LogCrew.key($0)]) }
      let total = LogCrew.number(contents[0][LogCrew.totalKey])
      let sum = counts.reduce(0, +)
      guard total == sum else { throw TortureViolation("\(sum) commits, but the total is \(total)") }
      let expected = Set((max(1, total - LogCrew.rowCount + 1)..<max(1, total + 1)).map(LogCrew.rowKey))
      guard total == 0 || Set(contents[1].keys) == expected else {
        throw TortureViolation("the rows are not those of \(total) commits")
      }
      return counts
    }
  }

#endif
