/// The program `strata`. In a file of its own, so that tests can import everything else.
@main
struct Main {
  static func main() { StrataCommand.main() }
}
