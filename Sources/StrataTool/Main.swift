import Foundation
import StrataCommand

/// The program `strata`. In a target of its own, so that tests and other programs can import everything else.
@main
struct Main {
  static func main() {
    // A reader of the output that has gone is an error of the next write.
    signal(SIGPIPE, SIG_IGN)
    exit(runStrata(Array(CommandLine.arguments.dropFirst())))
  }
}
