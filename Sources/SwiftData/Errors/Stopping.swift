import StrataCore

/// Stops the process with a message: for programmer errors, which an accessor cannot throw.
func stop(_ message: String) -> Never { fatalError("SwiftData: \(message).") }

/// Says what fails where nobody can catch it, to the observers of messages or to standard error.
func report(_ message: String, _ error: any Error) {
  Diagnostics.write(
    "\(message): \(error).", withoutValues: "\(message): \(error.spelledWithoutValues).", .error,
    module: "SwiftData")
}
