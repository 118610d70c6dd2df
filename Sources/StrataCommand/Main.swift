import Foundation

/// The program `strata`. In a file of its own, so that tests can import everything else.
@main
struct Main {
  static func main() {
    // A reader of the output that has gone is an error of the next write.
    signal(SIGPIPE, SIG_IGN)
    exit(StrataCommand.execute(Array(CommandLine.arguments.dropFirst())))
  }
}
