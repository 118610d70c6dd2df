/// Stops the process because of a programmer's error: the wrong queue, a foreign object, use after close.
///
/// Traps are for programmers, throws are for the world. The message names the rule that was broken and the
/// remedy; it is printed in release builds too.
@usableFromInline
func trap(_ message: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line) -> Never {
  // Trap: the one place in the package that stops the process on purpose.
  fatalError("Strata: " + message(), file: file, line: line)
}
