/// The program `flight-log`. In a file of its own, so that tests can import everything else.
@main
struct Main {
  static func main() async {
    await FlightLogCommand.main()
  }
}
