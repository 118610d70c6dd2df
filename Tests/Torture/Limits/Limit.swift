import ArgumentParser
import Foundation
import Strata
import TortureKit

#if os(Linux)

  /// What an operating system may withhold from a process. Each is tried in a process of its own, which nothing else needs.
  enum Limit: String, CaseIterable, ExpressibleByArgument {
    /// RLIMIT_FSIZE.
    case fileSize = "file-size"
    /// RLIMIT_AS.
    case addressSpace = "address-space"
    /// RLIMIT_NOFILE.
    case descriptors
    /// A folder in which nothing may be made.
    case folder
    /// A small file system.
    case smallDisk = "small-disk"
    /// A file system that is mounted read-only.
    case readOnlyDisk = "read-only-disk"

    /// Whether it needs a mount of its own.
    var mounts: Bool { self == .smallDisk || self == .readOnlyDisk }

    /// The program and arguments that try it.
    var command: (program: String, arguments: [String]) {
      let torture = ChildProcess.program("Torture")
      if !mounts { return (torture, ["limit", rawValue]) }
      return ("/usr/bin/unshare", ["-r", "-m", torture, "limit", rawValue])
    }
  }

  /// The process in which a limit is tried. Writes a line of totals; exits with 1 and a sentence when a promise was broken.
  struct LimitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "limit", abstract: "Tries one limit of the system.", shouldDisplay: false)

    @Argument var limit: Limit

    func run() throws {
      var totals = TortureTotals()
      totals.rounds = 1
      do {
        let trial = try LimitTrial(inMemory: limit != .folder)
        switch limit {
        case .fileSize: try trial.fileSize()
        case .addressSpace: try trial.addressSpace()
        case .descriptors: try trial.descriptors()
        case .folder: try trial.folderWithoutPermission()
        case .smallDisk: try trial.smallDisk()
        case .readOnlyDisk: try trial.readOnlyDisk()
        }
        totals.cases = trial.refusals
        Worker.say(totals.line)
      } catch {
        Worker.say("violation: \(limit.rawValue): \(error)")
        throw ExitCode.failure
      }
    }
  }

  /// All limits, each in a process of its own.
  struct Limits: TortureKind {
    static let name = "limits"
    static let cases = "refusals of the system"

    private(set) var details: [String: Int] = [:]

    init(seed: UInt64) {}

    mutating func round() throws -> Int {
      var count = 0
      for limit in Limit.allCases {
        if limit.mounts && !Self.canMount {
          details["\(limit.rawValue) not permitted"] = 1
          continue
        }
        let child = try ChildProcess(limit.command.program, limit.command.arguments)
        let lines = child.readLines()
        let code = child.wait()
        guard code == 0, let totals = lines.last.flatMap({ TortureTotals(line: $0) }) else {
          throw TortureViolation("\(limit.rawValue) ended with \(code): \(lines.joined(separator: "; "))")
        }
        count += totals.cases
        details["by \(limit.rawValue)"] = totals.cases
      }
      return count
    }

    private static let canMount: Bool = {
      (try? ChildProcess("/usr/bin/unshare", ["-r", "-m", "true"]))?.wait() == 0
    }()
  }

#endif
