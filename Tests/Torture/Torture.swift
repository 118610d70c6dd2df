import ArgumentParser
import TortureKit

/// The long mode of the torture tests.
@main
struct Torture: ParsableCommand {
  /// Everything there is to suffer. Add kinds here.
  static let kinds: [any TortureKind.Type] = {
    var kinds: [any TortureKind.Type] = [
      DamageKind.self, ValidStoresKind.self, FuzzKind<RowDecoding>.self, FuzzKind<KeyDecoding>.self,
      FuzzKind<URIDecoding>.self, FuzzKind<ModelDecoding>.self, FuzzKind<MetadataDecoding>.self,
      FuzzKind<PredicateDecoding>.self, FuzzKind<FormatDecoding>.self,
      FuzzKind<XcodeDecoding>.self, FuzzKind<HistoryDecoding>.self, FuzzKind<LogDecoding>.self, Kills.self,
      FetchedResultsKind.self,
    ]
    #if os(Linux)
      // They stand between liblmdb and libc, or use what only Linux has.
      kinds += [
        PowerCuts.self, LyingDisk.self, LogPowerCuts.self, LogCuts.self, LogMutants.self, LogFaults.self,
        LogProcesses.self, LogCrewCuts.self, LogCrewSample.self, LogCrewMutants.self,
        Faults.self,
        Limits.self,
        Processes.self,
      ]
    #endif
    return kinds
  }()

  private static let workers: [any ParsableCommand.Type] = {
    var commands: [any ParsableCommand.Type] = [
      Run.self, Worker.self, WriterCommand.self, LiveWriterCommand.self,
    ]
    #if os(Linux)
      commands += [
        LimitCommand.self, MemberCommand.self, LogMemberCommand.self, LogLookCommand.self,
        LogCrewMemberCommand.self,
        ShutDownCommand.self,
      ]
    #endif
    return commands
  }()

  static let configuration = CommandConfiguration(
    commandName: "torture",
    abstract: "Cuts the power, breaks disks and kills writers until the time is over.",
    discussion: """
      Each kind of torture runs in processes of its own, in slices, by turns. A violation is printed with the seed that \
      repeats it: torture --only <kind> --seed <seed> --rounds 1. The exit code is 1 when there was one.
      """,
    subcommands: workers, defaultSubcommand: Run.self)

  static func kind(_ name: String) throws -> any TortureKind.Type {
    if let kind = kinds.first(where: { $0.name == name }) { return kind }
    let names = kinds.map { $0.name }.joined(separator: ", ")
    throw ValidationError("“\(name)” is none of: \(names).")
  }
}
