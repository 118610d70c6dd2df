import Foundation

/// A failure that ends the program: one sentence for the person who started it.
struct FlightLogError: Error, CustomStringConvertible, LocalizedError {
  let description: String
  var errorDescription: String? { description }

  init(_ sentence: String) {
    description = sentence
  }
}
