import FlightLog

/// The program `flight-log`. In a target of its own, so that tests and other programs can import everything else.
@main
struct Main {
  static func main() async {
    await runFlightLog()
  }
}
