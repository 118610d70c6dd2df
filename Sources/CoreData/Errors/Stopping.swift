import StrataCore

/// Stops the process because of a programmer's error, where Core Data raises an exception. The sentence is printed in release builds
/// too, unlike that of a precondition.
func stop(_ message: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line) -> Never {
  // The one place in the module that stops the process on purpose.
  fatalError("CoreData: " + message(), file: file, line: line)
}

/// The same of what is evaluated, where nothing can be thrown; but a fetch that asks objects in memory fails with the sentence. Then it returns, and what is evaluated further is of no use.
func refuse(_ message: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line) {
  let isNoted = ValueReading.note {
    CoreDataError(.coreData, "A fetch cannot be evaluated in memory: \(message())")
  }
  if !isNoted { stop(message(), file: file, line: line) }
}
