import FlightLog
import Strata
import StrataPostgres

/// The program `flight-log-postgres`: `flight-log`, whose store may be on a PostgreSQL server.
@main
struct Main {
  static func main() async {
    // From now on stores of the type are known.
    _ = PersistentStoreDescription.StoreType.postgres
    await runFlightLog()
  }
}
