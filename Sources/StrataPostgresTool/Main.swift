import Foundation
import StrataCommand
import StrataCore
import StrataPostgres

/// The program `strata-postgres`: `strata`, which opens stores on PostgreSQL servers as well.
@main
struct Main {
  static func main() {
    // A reader of the output that has gone is an error of the next write.
    signal(SIGPIPE, SIG_IGN)
    // From now on addresses that begin with postgres:// are known.
    _ = PersistentStoreDescription.StoreType.postgres
    exit(runStrata(Array(CommandLine.arguments.dropFirst())))
  }
}
