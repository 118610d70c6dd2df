import Foundation
import StrataBrowse

/// The program `strata-browse`. In a target of its own, so that tests can import everything else.
@main
struct Main {
  static func main() {
    // A reader of the output that has gone is an error of the next write.
    signal(SIGPIPE, SIG_IGN)
    exit(runBrowse(Array(CommandLine.arguments.dropFirst())))
  }
}
