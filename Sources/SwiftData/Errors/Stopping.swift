/// Stops the process with a message: for programmer errors, which an accessor cannot throw.
func stop(_ message: String) -> Never { fatalError("SwiftData: \(message).") }

/// Writes a line to standard error: for what fails where nobody can catch it.
func report(_ message: String) { FileHandle.standardError.write(Data("SwiftData: \(message).\n".utf8)) }
