/// Stops the process because of a programmer's error, where Core Data raises an exception. The sentence is printed in release builds
/// too, unlike that of a precondition.
func stop(_ message: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line) -> Never {
  // The one place in the module that stops the process on purpose.
  fatalError("CoreData: " + message(), file: file, line: line)
}
